"""A third-party Runner with its own Gemini object and a MemoryPlugin: the host sees the same as without memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.models.google_llm import Gemini
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from support.plugin_host import SCOPE, build_agent, events_text, open_plugin_host
from support.servers.fake_gemini import facts
from support.servers.gemini_scenarios import AGENT_SCENARIOS

if TYPE_CHECKING:
    from support.plugin_host import PluginHost
    from support.servers.fake_gemini import FakeGemini

# google-genai subclasses aiohttp's session, which aiohttp discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

MOODS = (
    "429, back in a minute",
    "503 always",
    "a wrong key",
    "dropped in the body",
    "no JSON",
    "an empty body",
    "a blocked prompt",
    "SAFETY",
    "SAFETY after some words",
    "no candidate",
    "only thoughts",
    "cut",
    "split",
    "thoughts first",
    "words beside a call and none after",
)
"""One of each kind; a hang is a time-out of the host's own choice."""

CONFIG: dict[str, Any] = {"memory": {"embedder": {"provider": "offline"}}}


def own_gemini() -> Gemini:
    """Return the host's model, which does not retry."""
    return Gemini(model="gemini-flash", retry_options=types.HttpRetryOptions(attempts=1))


async def outcome(host: PluginHost, text: str) -> str:
    """Return the text of a turn, or the name of the error that ends it."""
    try:
        return events_text([event for event in await host.run_turn(text) if event.author != "user"])
    except Exception as error:
        return type(error).__name__


def marked(name: str) -> str:
    """Return a unique word for a scenario."""
    return "Q" + "".join(letter for letter in name.title() if letter.isalnum())


@pytest.mark.slow
async def test_every_scenario_reaches_the_host_as_without_memory_and_is_learned_once(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    """The same error or text, turn after turn; then a sweep learns each message once."""
    moods = {name: AGENT_SCENARIOS[name] for name in MOODS}
    seen: dict[str, dict[str, str]] = {"without": {}, "with": {}}
    for how in seen:
        home = tmp_path / how
        home.mkdir()
        bare: dict[str, Any] = {"plugins": [BasePlugin(name="none")]} if how == "without" else {}
        model = own_gemini()
        async with open_plugin_host(home, build_agent(model), config=CONFIG, **bare) as host:
            for name, mood in moods.items():
                gemini.recover("agent")
                gemini.add("agent", *mood.answers)
                seen[how][name] = await outcome(host, f"My word is {marked(name)}")
            gemini.recover("agent", "fine")
            last = await outcome(host, "And now?")
            if how == "with":
                gemini.set_default("extractor", facts("has many words"))
                engine = await host.engine()
                await engine.sweep(force=True)
                again = await engine.sweep(force=True)
                learned = [fact.text for fact in await engine.memory.facts(SCOPE)]
            await model.api_client.aio.aclose()
        assert last == "fine"
    shown = "\n".join(_new_messages(request.body) for request in gemini.requests_of("extractor"))

    assert seen["with"] == seen["without"]
    assert again.consolidated == 0
    assert learned == ["has many words"]
    assert {name: shown.count(f'{marked(name)}"') for name in MOODS} == dict.fromkeys(MOODS, 1)


def _new_messages(body: dict[str, Any]) -> str:
    prompt = str(body["contents"][-1]["parts"][0]["text"])
    return prompt.partition("## New Messages")[2].partition("## Observation Date")[0]
