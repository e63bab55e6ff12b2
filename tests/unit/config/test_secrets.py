"""Secrets are recognised by name and by form."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gaia_memory.config.secrets import PROVIDER_VARIABLES
from gaia_memory.redaction.mask import is_secret_name, mask_secrets


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "API-KEY",
        "key",
        "keys",
        "openai_api_key",
        "token",
        "authToken",
        "aws_secret_access_key",
        "password",
        "db_password",
        "passwd",
        "client_secret",
        "credentials",
        "vertex_credentials_json",
        "http_auth",
    ],
)
def test_names_of_secrets_are_recognised(name):
    """Case and separators make no difference."""
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "max_tokens",
        "tokenizer",
        "partition_key",
        "keyspace",
        "credentials_path",
        "author",
        "model",
        "",
        "monkey",
        "token_limit",
        "secret_name",
        "auth_type",
        "api_version",
        "collection_name",
        "embedding_dims",
    ],
)
def test_names_that_only_resemble_a_secret_are_accepted(name):
    """Most of these are keys of mem0."""
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:p@ss@h/d", "postgresql://u:***@ss@h/d"),
        ("key sk-abcdefgh and more", "key *** and more"),
        ("risk-assessment", "risk-assessment"),
        ("?password=abc&x=1", "?password=***&x=1"),
        ('{"api_key": "abc"', '{"api_key": "***"'),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "***"),
    ],
)
def test_secrets_are_masked_in_text(text, shown):
    """The rest of the text stays readable."""
    assert mask_secrets(text) == shown


def sources(package: str) -> str:
    """Return the source code of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    files = Path(spec.submodule_search_locations[0]).rglob("*.py")
    return "".join(file.read_text(encoding="utf-8") for file in files)


def test_the_named_variables_are_those_the_providers_read():
    """Otherwise the advice in an error would not work."""
    read = sources("mem0") + sources("google.genai")
    named = {name for names in PROVIDER_VARIABLES.values() for name in names.split(" or ")}
    named |= {"LLM_AZURE_OPENAI_API_KEY", "EMBEDDING_AZURE_OPENAI_API_KEY"}

    assert {name for name in named if f'"{name}"' not in read and f"'{name}'" not in read} == set()
