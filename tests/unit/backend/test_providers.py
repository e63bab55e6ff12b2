"""The configuration selects the providers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.providers import provider_specs
from gaia_memory.redaction.mask import mask_secrets
from support.storage.scripted_backend import backend_config

pytestmark = pytest.mark.heavy

HOME = Path("/nowhere")
KEY = {"GEMINI_API_KEY": "no-real-key"}


def built(environ: dict[str, str], *, stored: str | None = None, model: str = "auto", **memory: Any) -> Backend:
    """Return a backend in an environment; nothing is opened."""
    settings = backend_config(HOME, **memory).model_copy(update={"model": model})
    return Backend(settings, environ=environ, stored_embedder=stored)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "offline"),
        ({"GEMINI_API_KEY": ""}, "offline"),
        ({"GOOGLE_API_KEY": "  "}, "offline"),
        ({"OPENAI_API_KEY": "x"}, "offline"),
        ({"GEMINI_API_KEY": "x"}, "gemini"),
        ({"GOOGLE_API_KEY": "x"}, "gemini"),
        ({"GOOGLE_API_KEY": "", "GEMINI_API_KEY": "x"}, "gemini"),
    ],
)
def test_auto_is_gemini_where_its_key_is_set_and_not_empty_else_offline(environ: dict[str, str], name: str) -> None:
    """Both the model and the embedder go by the same rule."""
    backend = built(environ)

    assert (backend.llm_provider.name, backend.embedder_provider.name) == (name, name)


def test_one_line_says_what_is_used_and_why() -> None:
    """With and without a key, and where nothing is automatic."""
    with_key = built(KEY).describe()
    without = built({}).describe()
    chosen = built(KEY, llm={"provider": "offline"}, embedder={"provider": "offline"}).describe()
    kept = built(KEY, stored="offline/hashed-ngrams-1/384").describe()

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
def test_gemini_learns_with_the_apps_model(app_model: str, used: str) -> None:
    """Where the app's model is none of Gemini's, with ADK's default."""
    backend = built(KEY, model=app_model)

    assert backend.llm_provider.config == {"model": used}
    assert backend.embedder_provider.config == {"model": "models/gemini-embedding-2"}


def test_the_default_model_is_adks() -> None:
    """When ADK moves on, so do we."""
    assert LlmAgent.DEFAULT_MODEL == provider_specs.DEFAULT_APP_MODEL


@pytest.mark.parametrize(
    ("app_model", "llm", "used"),
    [
        ("openai:qwen2.5:7b", {}, {"model": "qwen2.5:7b"}),
        ("openai:qwen2.5:7b", {"model": "gpt-5"}, {"model": "gpt-5"}),
        ("gemini-2.5-pro", {}, {}),
    ],
)
def test_openai_learns_with_the_apps_model_where_that_is_asked_the_same_way(
    app_model: str, llm: dict[str, str], used: dict[str, str]
) -> None:
    """Unless `memory.llm.model` names another."""
    backend = built({}, model=app_model, llm={"provider": "openai", **llm})

    assert backend.llm_provider.config == used


@pytest.mark.acceptance("L03")
def test_a_provider_that_is_named_gets_what_was_written() -> None:
    """The model's configuration exactly, the embedder's with OpenAI's small model where none was named."""
    backend = built(KEY, llm={"provider": "openai", "model": "m"}, embedder={"provider": "openai"})

    assert backend.llm_provider == provider_specs.Provider("openai", {"model": "m"})
    assert backend.embedder_provider == provider_specs.Provider("openai", {"model": "text-embedding-3-small"})
    assert backend.embedder.identity == "openai/text-embedding-3-small/?"


@pytest.mark.parametrize(
    ("stored", "environ", "identity"),
    [
        ("offline/hashed-ngrams-1/384", KEY, "offline/hashed-ngrams-1/384"),
        ("gemini/models/gemini-embedding-2/768", {}, "gemini/models/gemini-embedding-2/768"),
        ("gemini/models/gemini-embedding-001/1536", KEY, "gemini/models/gemini-embedding-001/1536"),
        ("openai/text-embedding-3-small/1536", {}, "offline/hashed-ngrams-1/384"),
        (None, KEY, "gemini/models/gemini-embedding-2/768"),
    ],
)
def test_stored_vectors_decide_what_auto_means_before_the_environment(
    stored: str | None, environ: dict[str, str], identity: str
) -> None:
    """A key that comes or goes leaves the facts their vectors; only `auto` is decided so."""
    assert built(environ, stored=stored).embedder.identity == identity
    assert built(environ, stored=stored, embedder={"provider": "offline"}).embedder.identity.startswith("offline/")


def test_nothing_is_imported_or_made_by_building(tmp_path: Path) -> None:
    """Constructors do no work: no folder, no thread."""
    home = tmp_path / "home"
    Backend(backend_config(home), environ={}).describe()

    assert not home.exists()


def test_secrets_of_the_environment_are_struck_out_of_messages() -> None:
    """An SDK that quotes the key does not make us log it."""
    said = mask_secrets("401: bad key sk-12345678", {"OPENAI_API_KEY": "sk-12345678", "HOME": "/root", "X_TOKEN": "a"})

    assert said == "401: bad key [OPENAI_API_KEY]"
    assert mask_secrets("plain", os.environ) == "plain"
