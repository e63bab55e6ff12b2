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
def test_names_of_secrets(name):
    """However they are written."""
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
def test_names_that_only_resemble_them(name):
    """mem0 knows most of these."""
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
    """What is left tells enough."""
    assert mask_secrets(text) == shown


def sources(package: str) -> str:
    """All Python of an installed package, unread by Python."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    files = Path(spec.submodule_search_locations[0]).rglob("*.py")
    return "".join(file.read_text(encoding="utf-8") for file in files)


def test_the_variables_we_name_are_the_ones_that_the_providers_read():
    """A remedy that nothing reads would send people in circles."""
    read = sources("mem0") + sources("google.genai")
    named = {name for names in PROVIDER_VARIABLES.values() for name in names.split(" or ")}
    named |= {"LLM_AZURE_OPENAI_API_KEY", "EMBEDDING_AZURE_OPENAI_API_KEY"}

    assert {name for name in named if f'"{name}"' not in read and f"'{name}'" not in read} == set()
