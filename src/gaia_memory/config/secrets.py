"""Keys and passwords: how they are recognised, kept out of messages, and where they belong instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PROVIDER_VARIABLES: Mapping[str, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "aws_bedrock": "AWS_SECRET_ACCESS_KEY",
    "cohere": "COHERE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "gemini": "GEMINI_API_KEY or GOOGLE_API_KEY",
    "groq": "GROQ_API_KEY",
    "huggingface": "HUGGINGFACE_API_KEY",
    "minimax": "MINIMAX_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai_structured": "OPENAI_API_KEY",
    "pinecone": "PINECONE_API_KEY",
    "sarvam": "SARVAM_API_KEY",
    "together": "TOGETHER_API_KEY",
    "turbopuffer": "TURBOPUFFER_API_KEY",
    "upstash_vector": "UPSTASH_VECTOR_REST_TOKEN",
    "vllm": "VLLM_API_KEY",
    "xai": "XAI_API_KEY",
    "zero_entropy": "ZERO_ENTROPY_API_KEY",
}
"""What mem0's providers read by themselves; `azure_openai` reads one variable a role."""

_VENDOR_KEY_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"sk-ant-[\w-]{4,}", "ANTHROPIC_API_KEY"),
    (r"sk-or-[\w-]{4,}", "OPENROUTER_API_KEY"),
    (r"sk-[\w-]{6,}", "OPENAI_API_KEY"),
    (r"AIza[\w-]{6,}", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    (r"AQ\.[\w-]{20,}", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    (r"gsk_\w{8,}", "GROQ_API_KEY"),
    (r"xai-\w{16,}", "XAI_API_KEY"),
    (r"hf_[A-Za-z0-9]{16,}", "HUGGINGFACE_API_KEY"),
    (r"(?:AKIA|ASIA)[A-Z0-9]{12,}", "AWS_ACCESS_KEY_ID"),
    (r"(?:ghp|gho|ghs|github_pat)_\w{16,}", ""),
    (r"glpat-[\w-]{16,}", ""),
    (r"xox[abprs]-[\w-]{10,}", ""),
    (r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+", ""),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", ""),
)
_VENDOR_KEY = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(form for form, _ in _VENDOR_KEY_PATTERNS) + ")", re.DOTALL)
_URL_PASSWORD = re.compile(r"(?P<before>(?P<scheme>\w[\w+.-]*)://[^:/@\s]*:)(?P<secret>[^@\s]+)@")
_ASSIGNED_SECRET = re.compile(
    r"(?P<before>(?:api[_-]?key|token|secret|passw\w*|passphrase|pwd)[\"']?\s*(?P<sign>[:=])\s*[\"']?)(?P<secret>[^\s\"',;&}]+)",
    re.IGNORECASE,
)
_FREE_TEXT_PATH = ("memory", "extraction_instructions")

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

_MASK = "***"
_MAX_DISPLAY_CHARACTERS = 80


def is_secret_name(name: str) -> bool:
    """Say whether an entry of this name holds a secret: `api_key`, `dbPassword`, `token`; not `max_tokens`."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _HARMLESS_ENDINGS:
        return False
    if words[-1] in {"key", "keys"}:
        return len(words) == 1 or words[-2] not in _HARMLESS_KEYS
    return not _SECRET_WORDS.isdisjoint(words)


def mask_secrets(text: str) -> str:
    """The text with everything that looks like a key or a password replaced by `***`."""
    text = _VENDOR_KEY.sub(_MASK, text)
    text = _URL_PASSWORD.sub(rf"\g<before>{_MASK}@", text)
    return _ASSIGNED_SECRET.sub(rf"\g<before>{_MASK}", text)


def display_value(value: object) -> str:
    """The value as a message may show it: on one line, short, without keys and passwords."""
    text = mask_secrets(repr(value))
    return text if len(text) <= _MAX_DISPLAY_CHARACTERS else text[: _MAX_DISPLAY_CHARACTERS - 1] + "…"


def drop_secrets(data: Mapping[Any, Any]) -> tuple[dict[Any, Any], list[tuple[tuple[str, ...], str]]]:
    """A copy of `data` without the entries that hold a secret, and for each of those its path and the remedy.

    Neither the paths nor the remedies hold a secret.
    """
    scanner = _SecretScanner(data)
    return scanner.scan_mapping(data, ()), scanner.found


class _SecretScanner:
    """One walk through the data; entries met twice (YAML aliases may form a ring) are copied once."""

    def __init__(self, data: Mapping[Any, Any]) -> None:
        self.data = data
        self.found: list[tuple[tuple[str, ...], str]] = []
        self._active_ids: set[int] = set()

    def scan_mapping(self, data: Mapping[Any, Any], path: tuple[str, ...]) -> dict[Any, Any]:
        clean = {}
        for key, value in data.items():
            child_path = (*path, mask_secrets(str(key)))
            has_secret_name = is_secret_name(str(key)) and not isinstance(value, bool)
            if has_secret_name or child_path[-1] != str(key) or self._is_secret(value, child_path):
                self.found.append((child_path, self._remedy(child_path, value)))
            else:
                clean[key] = self._copy(value, child_path)
        return clean

    def _copy(self, value: Any, path: tuple[str, ...]) -> Any:
        if not isinstance(value, Mapping | list) or id(value) in self._active_ids:
            return value
        self._active_ids.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self.scan_mapping(value, path)
            items = self.scan_mapping(dict(enumerate(value)), path)
            return list(items.values())
        finally:
            self._active_ids.discard(id(value))

    def _is_secret(self, value: Any, path: tuple[str, ...]) -> bool:
        if not isinstance(value, str):
            return False
        if _VENDOR_KEY.search(value):
            return True
        return path != _FREE_TEXT_PATH and (_has_url_password(value) or _has_assigned_secret(value))

    def _remedy(self, path: tuple[str, ...], value: Any) -> str:
        variable = self._variable(path, value if isinstance(value, str) else "")
        if variable:
            return f"remove this entry and set the environment variable {variable}"
        return "remove this entry: keys come from the provider's environment variable, such as GEMINI_API_KEY"

    def _variable(self, path: tuple[str, ...], value: str) -> str:
        name = path[-1].upper()
        section, role = (*path, "", "")[:2]
        if section in {"memory", "sessions"} and "://" in value and len(path) == 2:
            return f"GAIA_{section.upper()}__{name}"
        known = {known for names in PROVIDER_VARIABLES.values() for known in names.split(" or ")}
        if name in known:
            return next(names for names in PROVIDER_VARIABLES.values() if name in names.split(" or "))
        if section != "memory" or role not in {"llm", "embedder", "vector_store", "reranker"}:
            return _variable_for_key(value)
        provider = self._provider(role)
        if provider == "azure_openai":
            return "LLM_AZURE_OPENAI_API_KEY" if role == "llm" else "EMBEDDING_AZURE_OPENAI_API_KEY"
        if provider in {"", "auto", "none"}:
            return _variable_for_key(value) or (PROVIDER_VARIABLES["gemini"] if role in {"llm", "embedder"} else "")
        parts = [part for part in path[2:] if part != "config" and not part.isdigit()]
        return PROVIDER_VARIABLES.get(provider) or "__".join(["GAIA_MEMORY", role, *parts]).upper()

    def _provider(self, role: str) -> str:
        memory = self.data.get("memory")
        part = memory.get(role) if isinstance(memory, Mapping) else None
        provider = part.get("provider", "") if isinstance(part, Mapping) else ""
        return provider.lower() if isinstance(provider, str) else ""


def _variable_for_key(value: str) -> str:
    return next((name for form, name in _VENDOR_KEY_PATTERNS if re.match(form, value, re.DOTALL)), "")


def _has_url_password(value: str) -> bool:
    # http://host:8000/models/name@001 holds no password: what follows the colon is a port.
    return any(
        not (found["scheme"].startswith("http") and re.match(r"\d+/", found["secret"]))
        for found in _URL_PASSWORD.finditer(value)
    )


def _has_assigned_secret(value: str) -> bool:
    return any(found["sign"] == "=" for found in _ASSIGNED_SECRET.finditer(value))
