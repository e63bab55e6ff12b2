"""What is said when `auto` chose an offline part, and the settings that change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_memory.backend.builder import Backend
from gaia_memory.model_calls import asking_about
from support.storage.scripted_backend import backend_config

pytestmark = pytest.mark.heavy

VERTEX_WITHOUT_PROJECT = {"GOOGLE_GENAI_USE_VERTEXAI": "true"}
OFFLINE = {"provider": "offline"}
OFFLINE_VECTORS = "offline/use-multilingual-3/512"


def built(environ: dict[str, str], *, stored: str | None = None, **memory: Any) -> Backend:
    """Return a backend for an environment; nothing is opened."""
    return Backend(backend_config(Path("/nowhere"), **memory), environ=environ, stored_embedder=stored)


@pytest.mark.parametrize(
    ("environ", "memory", "agent_model", "setting", "reason"),
    [
        ({}, {}, "claude-5", "llm: {provider: agent}", "there is no GEMINI_API_KEY and no project on Vertex AI"),
        (
            VERTEX_WITHOUT_PROJECT,
            {},
            "gemini-2.5-pro",
            "llm: {provider: gemini, vertexai: true, project: YOUR-PROJECT, location: global}",
            "GOOGLE_GENAI_USE_VERTEXAI is set without GOOGLE_CLOUD_PROJECT",
        ),
        (
            {"OPENAI_API_KEY": "no-real-key"},
            {"llm": {"provider": "openai"}},
            "gpt-5",
            "embedder: {provider: openai}",
            "there is no GEMINI_API_KEY and no project on Vertex AI",
        ),
    ],
)
def test_the_setting_fits_what_is_known(
    environ: dict[str, str], memory: dict[str, Any], agent_model: str, setting: str, reason: str
) -> None:
    """The agent's own model always works; a better setting is named where the environment shows one."""
    fallback = built(environ, **memory).offline_fallback(agent_model)

    assert fallback is not None
    assert (fallback.setting, fallback.reason) == (setting, reason)
    assert f"\n  memory:\n    {setting}\n" in fallback.describe(agent_model)


def test_offline_vectors_from_before_there_was_a_key_are_pointed_out() -> None:
    """They win over the key until they are embedded again."""
    fallback = built({"GEMINI_API_KEY": "no-real-key"}, stored=OFFLINE_VECTORS).offline_fallback("gemini-2.5-pro")

    assert fallback is not None
    assert not fallback.replaces_llm
    assert fallback.setting == "embedder: {provider: gemini}"
    assert "most stored vectors are its own" in fallback.describe("gemini-2.5-pro")
    assert "run `gaia memory reindex`" in fallback.describe("gemini-2.5-pro")


@pytest.mark.parametrize(
    ("environ", "memory"), [({"GEMINI_API_KEY": "no-real-key"}, {}), ({}, {"llm": OFFLINE, "embedder": OFFLINE})]
)
def test_what_is_chosen_is_no_fallback(environ: dict[str, str], memory: dict[str, Any]) -> None:
    """An explicit `offline` is a choice."""
    assert built(environ, **memory).offline_fallback("gpt-5") is None


class NamedModel:
    """An agent's model that is only recognised."""

    is_offline = False

    def __init__(self, name: str) -> None:
        self.name = name

    async def complete(self, prompt: str, *, system: str, json: bool) -> str:
        raise AssertionError("not asked")


def test_users_of_an_app_are_only_shown_to_the_model_of_its_agent() -> None:
    """Another app's agent may run on another provider's model; memory shared by all apps uses the last one."""
    models = built({}, llm={"provider": "agent"}).agent_models
    first, second = NamedModel("first"), NamedModel("second")
    models.adopt("shop", first)
    models.adopt("desk", second)

    with asking_about("shop"):
        assert models.current() is first
    with asking_about(None):
        assert models.current() is second
    assert models.get("unknown") is None
