"""The configuration selects the providers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import resolve_provider
from gaia_memory.config.api_keys import gemini_client_arguments, missing_key_variable
from gaia_memory.redaction.mask import mask_secrets
from support.storage.scripted_backend import backend_config

pytestmark = pytest.mark.heavy

HOME = Path("/nowhere")
KEY = {"GEMINI_API_KEY": "no-real-key"}
VERTEX = {
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_CLOUD_PROJECT": "garden",
    "GOOGLE_CLOUD_LOCATION": "europe-west4",
}


def built(environ: dict[str, str], *, stored: str | None = None, model: str = "auto", **memory: Any) -> Backend:
    """Return a backend for an environment; nothing is opened."""
    settings = backend_config(HOME, **memory).model_copy(update={"model": model})
    return Backend(settings, environ=environ, stored_embedder=stored)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "offline"),
        ({"GEMINI_API_KEY": ""}, "offline"),
        ({"OPENAI_API_KEY": "x"}, "offline"),
        ({"GEMINI_API_KEY": "x"}, "gemini"),
        ({"GOOGLE_API_KEY": "x"}, "gemini"),
        (VERTEX, "gemini"),
        ({"GOOGLE_GENAI_USE_ENTERPRISE": "True", "GOOGLE_CLOUD_PROJECT": "p"}, "gemini"),
        ({**VERTEX, "GOOGLE_GENAI_USE_ENTERPRISE": "false"}, "offline"),
        ({**VERTEX, "GOOGLE_CLOUD_PROJECT": " "}, "offline"),
    ],
)
def test_auto_selects_gemini_if_it_can_be_reached_and_otherwise_offline(environ: dict[str, str], name: str) -> None:
    """By key or through Vertex AI with a project, alike for model and embedder; blank values do not count."""
    backend = built(environ)

    assert (backend.llm.provider.name, backend.embedder_provider.name) == (name, name)


def test_a_single_line_describes_the_providers_and_the_reason() -> None:
    """It is checked with a key, without one, and for explicit providers."""
    with_key = built(KEY).describe()
    without = built({}).describe()
    chosen = built(KEY, llm={"provider": "offline"}, embedder={"provider": "offline"}).describe()
    kept = built(KEY, stored="offline/use-multilingual-3/512").describe()

    openai = {"llm": {"provider": "openai", "model": "m"}, "embedder": {"provider": "offline"}}
    lost = built(KEY, **openai).describe()
    own = built({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, **openai).describe()

    assert lost == "m + offline embedder (no OPENAI_API_KEY)"
    assert own == "m + offline embedder"
    assert "+ offline embedder (the embedder is that of the stored vectors)" in kept
    assert with_key == "gemini-3.5-flash + models/gemini-embedding-2 embedder"
    assert without == "offline + offline embedder (no GEMINI_API_KEY)"
    assert chosen == "offline + offline embedder"
    assert "no-real-key" not in with_key


@pytest.mark.acceptance("L02")
@pytest.mark.parametrize(
    ("app_model", "used"),
    [
        ("auto", "gemini-3.5-flash"),
        ("gemini-2.5-pro", "gemini-2.5-pro"),
        ("openai/gpt-5", "gemini-3.5-flash"),
        ("offline", "gemini-3.5-flash"),
    ],
)
def test_gemini_learns_with_the_model_of_the_app(app_model: str, used: str) -> None:
    """If that is no Gemini model, ADK's default is used."""
    backend = built(KEY, model=app_model)

    assert backend.llm.provider.config == {"model": used}
    assert backend.embedder_provider.config == {"model": "models/gemini-embedding-2"}


def test_the_default_model_is_that_of_adk() -> None:
    """It must change together with ADK's."""
    assert LlmAgent.DEFAULT_MODEL == resolve_provider.DEFAULT_APP_MODEL


@pytest.mark.parametrize(
    ("app_model", "llm", "used"),
    [
        ("openai:qwen2.5:7b", {}, {"model": "qwen2.5:7b"}),
        ("openai:qwen2.5:7b", {"model": "gpt-5"}, {"model": "gpt-5"}),
        ("gemini-2.5-pro", {}, {}),
    ],
)
def test_openai_learns_with_the_model_of_the_app_if_it_is_an_openai_model(
    app_model: str, llm: dict[str, str], used: dict[str, str]
) -> None:
    """`memory.llm.model` overrides it."""
    backend = built({}, model=app_model, llm={"provider": "openai", **llm})

    assert backend.llm.provider.config == used


@pytest.mark.acceptance("L03")
def test_an_explicit_provider_gets_its_configuration_unchanged() -> None:
    """Only a missing embedding model is filled in, with OpenAI's small one."""
    backend = built(KEY, llm={"provider": "openai", "model": "m"}, embedder={"provider": "openai"})

    assert backend.llm.provider == resolve_provider.Provider("openai", {"model": "m"})
    assert backend.embedder_provider == resolve_provider.Provider("openai", {"model": "text-embedding-3-small"})
    assert backend.embedder.identity == "openai/text-embedding-3-small/?"


@pytest.mark.parametrize(
    ("given", "environ", "arguments"),
    [
        ({}, KEY, {"vertexai": False, "api_key": "no-real-key"}),
        ({}, VERTEX | KEY, {"vertexai": True, "project": "garden", "location": "europe-west4"}),
        ({}, KEY | {"GOOGLE_GENAI_USE_VERTEXAI": "1"}, {"vertexai": True, "api_key": "no-real-key"}),
        ({"vertexai": False}, VERTEX | KEY, {"vertexai": False, "api_key": "no-real-key"}),
        (
            {"vertexai": True, "project": "p", "location": "us-east1"},
            KEY,
            {"vertexai": True, "project": "p", "location": "us-east1"},
        ),
    ],
)
def test_gemini_is_reached_as_google_s_own_client_would_reach_it(
    given: dict[str, Any], environ: dict[str, str], arguments: dict[str, Any]
) -> None:
    """The configuration wins over the environment and a project over a key, which alone means express mode."""
    assert gemini_client_arguments(environ, **given) == arguments


@pytest.mark.parametrize(
    ("config", "environ", "variable"),
    [
        ({}, {}, "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ({}, VERTEX, None),
        ({"vertexai": True}, {}, "GOOGLE_CLOUD_PROJECT"),
        ({"vertexai": True}, KEY, None),
    ],
)
def test_the_variable_that_gemini_lacks_is_named(
    config: dict[str, Any], environ: dict[str, str], variable: str | None
) -> None:
    """On Vertex AI that is the project."""
    assert missing_key_variable("gemini", config, environ) == variable


@pytest.mark.parametrize(
    ("stored", "environ", "identity"),
    [
        ("offline/use-multilingual-3/512", KEY, "offline/use-multilingual-3/512"),
        ("gemini/models/gemini-embedding-2/768", {}, "gemini/models/gemini-embedding-2/768"),
        ("openai/text-embedding-3-small/1536", {}, "offline/use-multilingual-3/512"),
        (None, KEY, "gemini/models/gemini-embedding-2/768"),
        (None, VERTEX, "gemini/gemini-embedding-001/768"),
    ],
)
def test_stored_vectors_decide_the_automatic_embedder(
    stored: str | None, environ: dict[str, str], identity: str
) -> None:
    """Facts keep their vectors when a key appears or disappears; an explicit embedder is not affected."""
    assert built(environ, stored=stored).embedder.identity == identity
    assert built(environ, stored=stored, embedder={"provider": "offline"}).embedder.identity.startswith("offline/")


def test_secrets_of_the_environment_are_masked_in_messages() -> None:
    """An SDK may quote the key."""
    said = mask_secrets("401: bad key sk-12345678", {"OPENAI_API_KEY": "sk-12345678", "HOME": "/root", "X_TOKEN": "a"})

    assert said == "401: bad key [OPENAI_API_KEY]"
    assert mask_secrets("plain", os.environ) == "plain"
