"""A live session: typed commands are answered, what is private is not learned, and memory says what it does not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.genai import types

from gaia_memory import MemoryToolset
from gaia_memory.adk.plugins.slash_commands import NOT_ALONE
from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY
from support.hosts.live_model import LiveModel, Said, talk_live
from support.plugin_host import KEY, SCOPE, SESSION, USER, PluginHost, events_text, open_plugin_host


async def live(host: PluginHost, *said: Said, **options: Any) -> list[str]:
    """Talk in a live session and return the answers."""
    events = await talk_live(host.runner, said, user=USER, session=SESSION, **options)
    return [text for event in events if event.author != "user" and (text := events_text([event]))]


async def learned(host: PluginHost) -> str:
    """Learn everything and return all that the person's facts say."""
    engine = await host.engine()
    await engine.sweep(force=True)
    return "\n".join(fact.text for fact in await engine.memory.facts(SCOPE))


def agent_of(model: LiveModel, **arguments: Any) -> LlmAgent:
    """Return an agent with a live model."""
    return LlmAgent(name="a", model=model, instruction="x", **arguments)


async def test_typed_commands_are_answered_and_what_is_private_is_not_learned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Typed or spoken; no command reaches the model, and speech after a command is learned. Memory warns once."""
    model = LiveModel()
    async with open_plugin_host(tmp_path, agent_of(model)) as host:
        answers = await live(
            host,
            ("say", "I live in Hamburg."),
            ("type", "/private on"),
            ("type", "My brother Tom is ill."),
            ("say", "My sister is called Zebra."),
            ("type", "/private off"),
            ("type", "I like chess."),
            ("type", "/remember I hate jazz"),
            ("say", "My dog is called Rex."),
            ("type", "/private my aunt is called Yak"),
        )
        facts = await learned(host)
        is_private = await (await host.engine()).conversations.is_private(KEY)

    assert all(word in facts for word in ("Hamburg", "chess", "Rex", "hate jazz"))
    assert not any(word in facts for word in ("Tom", "Zebra", "Yak"))
    assert not any("/" in text for text in model.heard)
    assert [answer for answer in answers if answer != "ok"][-2:] == ["I will remember: I hate jazz", NOT_ALONE]
    assert caplog.text.count("a live session has no profile, notes or tools") == 1
    assert "<USER_PROFILE>" not in str(model.connects[0].config.system_instruction)
    assert not is_private


@pytest.mark.parametrize("is_private_before", [False, True])
async def test_a_private_text_is_not_learned_if_all_ends_before_its_answer(
    tmp_path: Path, is_private_before: bool
) -> None:
    """ADK has stored it by then, without any metadata, and calls no hook at the end of a cancelled run."""
    model = LiveModel(lambda text: None if "Tom" in text else "ok")
    async with open_plugin_host(tmp_path, agent_of(model)) as host:
        await host.run_turn("I live in Hamburg.")
        if is_private_before:
            await host.run_turn("/private on")
        else:
            await live(host, ("type", "/private on"))
        await live(host, ("type", "My brother Tom is ill."), ends=False)
        facts = await learned(host)

    assert model.heard == ["My brother Tom is ill."]
    assert "Hamburg" in facts
    assert "Tom" not in facts


async def test_a_private_text_is_not_learned_if_all_ends_right_after_adk_stored_it(tmp_path: Path) -> None:
    """Before memory has seen it; a text that was said before, and answered, is learned."""
    async with open_plugin_host(tmp_path, agent_of(LiveModel())) as host:
        await live(host, ("type", "I live in Hamburg."), ("type", "/private on"))
        session = await host.load_session()
        assert session is not None
        unseen = Event(author="user", invocation_id="killed", content=types.UserContent("My brother Tom is ill."))
        await host.sessions.append_event(session, unseen)
        facts = await learned(host)

    assert "Hamburg" in facts
    assert "Tom" not in facts


async def test_a_run_that_the_host_made_private_stays_private(tmp_path: Path) -> None:
    """A person's `/private off` ends what `/private` began."""
    async with open_plugin_host(tmp_path, agent_of(LiveModel())) as host:
        said: list[Said] = [("type", "/private off"), ("type", "My brother is Tom."), ("say", "My sister is Ann.")]
        await live(host, *said, custom_metadata={PRIVATE_KEY: True})

        assert await learned(host) == ""


async def test_a_toolset_gives_a_live_agent_tools_that_heed_private(tmp_path: Path) -> None:
    """They are part of the connection, and write nothing while the session is private."""

    def answer(text: str) -> str | types.Part:
        call = types.FunctionCall(id=text, name="remember", args={"fact": text})
        return types.Part(function_call=call) if text.startswith("I ") else "ok"

    model = LiveModel(answer)
    async with open_plugin_host(tmp_path, agent_of(model, tools=[MemoryToolset(config=tmp_config(tmp_path))])) as host:
        await live(
            host, ("type", "I like tea"), ("type", "/private on"), ("type", "I like ZEBRA"), ("type", "/private off")
        )
        facts = [fact.text for fact in await (await host.engine()).memory.facts(SCOPE)]

    assert "load_memory" in str(model.connects[0].config.tools)
    assert facts == ["I like tea"]


def tmp_config(tmp_path: Path) -> dict[str, str]:
    """Return the configuration of the host in this folder."""
    return {"home": str(tmp_path / "gaia")}
