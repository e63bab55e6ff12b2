"""Keeps keys and passwords out of messages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gaia_memory.redaction.forms import ADDRESS, KEY_FORMS, PASSWORD_NAMES, PRIVATE_KEY
from gaia_memory.redaction.linear import compile_linear

_KEY = compile_linear(rf"(^|[^A-Za-z0-9])(?:{'|'.join(form.pattern for form in KEY_FORMS)}|{PRIVATE_KEY})")
_ASSIGNED_SECRET = (
    r"(?i)((?:(?:api|access|private)[ _-]?key|token|secret|(?:" + PASSWORD_NAMES + r"|passw)\w*)[\"']?\s*"
    r"(?:SIGN)\s*[\"']?)[^\s\"',;&}]+"
)
_STATED_SECRET = compile_linear(_ASSIGNED_SECRET.replace("SIGN", "[:=]|\uff1a"))
_SET_SECRET = compile_linear(_ASSIGNED_SECRET.replace("SIGN", "="))
_BEARER_TOKEN = compile_linear(r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{16,}")
_ADDRESS = compile_linear(ADDRESS)

_SECRET_VARIABLE_ENDINGS, _MIN_VALUE_CHARACTERS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY"), 8
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

MASK, _MASK_REPLACEMENT = "***", rb"\1***"
_MAX_DISPLAY_CHARACTERS = 80
_VARIABLES = {form.name: compile_linear(form.pattern) for form in KEY_FORMS if "_KEY" in form.name}


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
    data = _ADDRESS.sub(rf"\1{MASK}@".encode(), _KEY.sub(_MASK_REPLACEMENT, text.encode(errors="surrogatepass")))
    data = _STATED_SECRET.sub(_MASK_REPLACEMENT, _BEARER_TOKEN.sub(_MASK_REPLACEMENT, data))
    return str(data.decode(errors="surrogatepass"))


def display_value(value: object) -> str:
    """Return a value as a message may show it: on one line, short, without keys and passwords."""
    text = mask_secrets(repr(value))
    return text if len(text) <= _MAX_DISPLAY_CHARACTERS else text[: _MAX_DISPLAY_CHARACTERS - 1] + "…"


def assigns_secret(text: str) -> bool:
    """Return whether `text` sets a secret with an equals sign: `password=…`."""
    return _SET_SECRET.search(text.encode(errors="surrogatepass")) is not None


def has_key(text: str) -> bool:
    """Return whether `text` contains a key of a known form."""
    return _KEY.search(text.encode(errors="surrogatepass")) is not None


def has_url_password(text: str) -> bool:
    """Return whether an address in `text` contains a password; `http://host:8000/models/name@001` has a port."""
    addresses = _ADDRESS.finditer(text.encode(errors="surrogatepass"))
    return any(not (each[0].startswith(b"http") and re.match(rb"\d+/", each[2])) for each in addresses)


def variable_for_key(value: str) -> str:
    """Return the environment variable that a key belongs in; empty when its form does not tell."""
    return next(
        (name for name, pattern in _VARIABLES.items() if pattern.match(value.encode(errors="surrogatepass"))), ""
    )
