"""Keeps keys and passwords out of messages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_memory.redaction.secret_forms import PASSWORD_WORDS, URL_PASSWORD, compile_key_forms

KEY_PATTERN = compile_key_forms(in_facts=False)
_ASSIGNED_SECRET = re.compile(
    rf"(?P<before>(?:(?:api|access|private)[ _-]?key|token|secret|(?:{PASSWORD_WORDS}|passw)\w*)[\"']?\s*"
    r"(?P<sign>[:=\uff1a])\s*[\"']?)(?P<secret>[^\s\"',;&}]+)",
    re.IGNORECASE,
)
_BEARER_TOKEN = re.compile(r"(?P<before>\bbearer\s+)[A-Za-z0-9._~+/=-]{16,}", re.IGNORECASE)

_SECRET_VARIABLE_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY")
_MIN_VALUE_CHARACTERS = 8

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_SECRET_WORDS = {
    *("apikey", "apikeys", "auth", "authorization", "bearer", "credential", "credentials", "passkey", "passphrase"),
    *("passwd", "password", "passwords", "pwd", "secret", "secrets", "token"),
}
_HARMLESS_ENDINGS = {
    *("count", "dir", "endpoint", "env", "file", "host", "id", "length", "limit", "method", "name", "path", "port"),
    *("provider", "size", "ttl", "type", "url"),
}
_HARMLESS_KEYS = {"cache", "foreign", "hash", "metadata", "partition", "primary", "sort", "text", "vector"}

MASK = "***"
_MAX_DISPLAY_CHARACTERS = 80


def is_secret_name(name: str) -> bool:
    """Return whether a setting of this name is a secret: `api_key`, `dbPassword`, `token`; not `max_tokens`."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _HARMLESS_ENDINGS:
        return False
    if words[-1] in {"key", "keys"}:
        return len(words) == 1 or words[-2] not in _HARMLESS_KEYS
    return not _SECRET_WORDS.isdisjoint(words)


def mask_secrets(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Return `text` with everything that looks like a key or a password replaced by `***`.

    The values of key-like variables in `environ` are replaced by `[NAME]`, whatever they look like.
    """
    for name, value in (environ or {}).items():
        if name.upper().endswith(_SECRET_VARIABLE_ENDINGS) and len(value) >= _MIN_VALUE_CHARACTERS:
            text = text.replace(value, f"[{name}]")
    text = KEY_PATTERN.sub(MASK, text)
    text = URL_PASSWORD.sub(rf"\g<before>{MASK}@", text)
    text = _BEARER_TOKEN.sub(rf"\g<before>{MASK}", text)
    return _ASSIGNED_SECRET.sub(rf"\g<before>{MASK}", text)


def display_value(value: object) -> str:
    """Return a value as a message may show it: on one line, short, without keys and passwords."""
    text = mask_secrets(repr(value))
    return text if len(text) <= _MAX_DISPLAY_CHARACTERS else text[: _MAX_DISPLAY_CHARACTERS - 1] + "…"


def assigns_secret(text: str) -> bool:
    """Return whether `text` sets a secret with an equals sign: `password=…`."""
    return any(found["sign"] == "=" for found in _ASSIGNED_SECRET.finditer(text))
