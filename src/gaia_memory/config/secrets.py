"""Finds keys and passwords in a configuration and names the environment variables they belong in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_memory.config.database_urls import unsupported_database
from gaia_memory.config.key_path import value_at
from gaia_memory.redaction.mask import (
    assigns_secret,
    has_key,
    has_url_password,
    is_secret_name,
    mask_secrets,
    variable_for_key,
)

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
"""The variables that mem0's providers read. `azure_openai` reads a different one for each role."""

_FREE_TEXT_PATH = ("memory", "extraction_instructions")
AUTH_METHOD_PATH = ("server", "auth")
"""Its name is that of a secret, and its value the name of a method."""


def drop_secrets(data: Mapping[Any, Any]) -> tuple[dict[Any, Any], list[tuple[tuple[str, ...], str]]]:
    """Return a copy of `data` without secret entries, and the path and the remedy of each.

    Neither paths nor remedies contain a secret.
    """
    scanner = _SecretScanner(data)
    return scanner.scan_mapping(data, ()), scanner.found


class _SecretScanner:
    """One walk through the data. YAML aliases may form a cycle, which is followed once."""

    def __init__(self, data: Mapping[Any, Any]) -> None:
        self.data = data
        self.found: list[tuple[tuple[str, ...], str]] = []
        self._active_ids: set[int] = set()

    def scan_mapping(self, data: Mapping[Any, Any], path: tuple[str, ...]) -> dict[Any, Any]:
        clean = {}
        for key, value in data.items():
            child_path = (*path, mask_secrets(str(key)))
            has_secret_name = is_secret_name(str(key)) and not isinstance(value, bool)
            has_secret_name = has_secret_name and child_path != AUTH_METHOD_PATH
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
        if has_key(value):
            return True
        return path != _FREE_TEXT_PATH and (has_url_password(value) or assigns_secret(value))

    def _remedy(self, path: tuple[str, ...], value: Any) -> str:
        problem = unsupported_database(value) if path[-1] == "database_url" and isinstance(value, str) else None
        if problem is not None:
            return f"it {problem}"
        variable = self._variable(path, value if isinstance(value, str) else "")
        if variable:
            return f"remove this entry and set the environment variable {variable}"
        return "remove this entry: keys come from the provider's environment variable, such as GEMINI_API_KEY"

    def _variable(self, path: tuple[str, ...], value: str) -> str:
        name = path[-1].upper()
        section, role = (*path, "", "")[:2]
        if section in {"memory", "sessions"} and "://" in value and len(path) == 2:
            return f"GAIA_{section.upper()}__{name}"
        if names := next((names for names in PROVIDER_VARIABLES.values() if name in names.split(" or ")), ""):
            return names
        if section != "memory" or role not in {"llm", "embedder", "vector_store", "reranker"}:
            return variable_for_key(value)
        provider = self._provider(role)
        if provider == "azure_openai":
            return "LLM_AZURE_OPENAI_API_KEY" if role == "llm" else "EMBEDDING_AZURE_OPENAI_API_KEY"
        if provider in {"", "auto", "none"}:
            return variable_for_key(value) or (PROVIDER_VARIABLES["gemini"] if role in {"llm", "embedder"} else "")
        parts = [part for part in path[2:] if part != "config" and not part.isdigit()]
        return PROVIDER_VARIABLES.get(provider) or "__".join(["GAIA_MEMORY", role, *parts]).upper()

    def _provider(self, role: str) -> str:
        provider = value_at(self.data, ("memory", role, "provider"))
        return provider.lower() if isinstance(provider, str) else ""
