"""Slash commands with which users manage their own memory, in a Conversation and in a third-party Runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from gaia_memory import NewFact, open_memory
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm
from support.cli.cli_runner import run_gaia
from support.harness import SYS, Sut, tool_names
from support.plugin_host import (
    SCOPE,
    build_agent,
    contents_text,
    events_text,
    offered_tools,
    open_plugin_host,
    set_extractor,
)

Make = Callable[..., Awaitable[Sut]]

KNOWN = ["likes tea", "is allergic to nuts", *(f"owns book number {n}" for n in range(40)), "keeps nuts in the kitchen"]
PEOPLE = "people: {users: {boss: {admin: true, telegram: ['1']}}}"
NEW = [NewFact(text) for text in KNOWN]


@pytest.mark.acceptance("C07")
async def test_a_search_numbers_its_rows_like_the_full_list(make: Make) -> None:
    """Another user's fact is not shown, the model is not asked, and the session keeps no trace."""
    sut = await make()
    await sut.gaia.memory.add(sut.scope("u"), NEW)
    await sut.gaia.memory.add(sut.scope("neighbour"), [NewFact("sells nuts")])

    pages = [(await sut.chat("u", "cli", f"/memory {page}"))[0] for page in (1, 2, 3)]
    [found] = await sut.chat("u", "cli", "/memory nuts")

    assert sorted(found.splitlines()[1:]) == ["- 2. is allergic to nuts", "- 43. keeps nuts in the kitchen"]
    assert all(line.removeprefix("- ") in "\n".join(pages).splitlines() for line in found.splitlines()[1:])
    assert sut.REQ == []
    assert await sut.session("u", "cli") is None


@pytest.mark.acceptance("C07")
async def test_a_search_omits_neighboring_and_merely_similar_facts(make: Make) -> None:
    """Recall gives both to a model; a user who searches for a word wants to see it, in any of its forms."""
    sut = await make()
    said = ["likes tea", "is allergic to nuts", "eats no marzipan", "has an allergy pass", "owns a boat"]
    talk = [NewFact(text, session_id="talk", seq=seq) for seq, text in enumerate(said)]
    await sut.gaia.memory.add(sut.scope("u"), talk)
    recalled = [hit.fact.text for hit in await sut.gaia.memory.recall(sut.scope("u"), "nuts", limit=5)]

    [found] = await sut.chat("u", "cli", "/memory nuts")
    [in_a_form] = await sut.chat("u", "cli", "/memory allergies")

    assert len(recalled) > 1
    assert found.splitlines() == ["I found 1 fact about you:", "- 2. is allergic to nuts"]
    assert sorted(in_a_form.splitlines()[1:]) == ["- 2. is allergic to nuts", "- 4. has an allergy pass"]


@pytest.mark.acceptance("C09", "C10", "C13")
async def test_a_user_forgets_selected_facts_after_seeing_them(make: Make) -> None:
    """By numbers and by words; other facts, other users and the session stay, and no model is asked."""
    sut = await make()
    await sut.gaia.memory.add(sut.scope("u"), NEW)
    await sut.gaia.memory.add(sut.scope("neighbour"), [NewFact("sells nuts")])

    [asks] = await sut.chat("u", "cli", "/forget 1 3")
    [elsewhere] = await sut.chat("u", "telegram", "/forget 1 3 yes")
    assert await sut.texts("u") == KNOWN
    assert asks.splitlines()[1:3] == elsewhere.splitlines()[2:4] == ["- 1. likes tea", "- 3. owns book number 0"]

    [done] = await sut.chat("u", "cli", "/forget 1 3 yes")
    assert "2 facts" in done
    assert await sut.texts("u") == ["is allergic to nuts", *KNOWN[3:]]

    await sut.chat("u", "cli", "/forget nuts")
    await sut.reopen()
    [asks] = await sut.chat("u", "cli", "/forget nuts yes")
    assert "please look first" in asks
    await sut.chat("u", "cli", "/forget nuts yes")
    await sut.gaia.memory.settled()

    assert len(await sut.fact_rows("u")) == 39
    assert await sut.texts("u") == KNOWN[3:-1]
    assert await sut.texts("neighbour") == ["sells nuts"]
    assert sut.REQ == []
    assert sut.EXT == []


@pytest.mark.acceptance("C09", "C10")
async def test_a_bare_yes_after_a_question_about_some_rows_does_not_forget_everything(make: Make) -> None:
    """The answer explains how to continue; everything is forgotten after the question about everything."""
    sut = await make()
    await sut.gaia.memory.add(sut.scope("u"), NEW)

    await sut.chat("u", "cli", "/forget 2-4")
    [refused] = await sut.chat("u", "cli", "/forget yes!")
    assert refused.splitlines()[1:4] == [f"- {n}. {KNOWN[n - 1]}" for n in (2, 3, 4)]
    assert "/forget 2-4 yes" in refused
    assert await sut.texts("u") == KNOWN

    await sut.chat("u", "cli", "/forget 2-4 yes")
    assert await sut.texts("u") == [KNOWN[0], *KNOWN[4:]]

    await sut.chat("u", "cli", "/forget 1")
    await sut.reopen()
    [after_restart] = await sut.chat("u", "cli", "/forget yes")
    assert "Nothing is forgotten yet" in after_restart
    assert await sut.texts("u") == [KNOWN[0], *KNOWN[4:]]

    await sut.chat("u", "cli", "/forget nuts")
    await sut.chat("u", "cli", "/forget")
    [done] = await sut.chat("u", "cli", "/forget yes")
    assert "40 facts" in done
    assert await sut.texts("u") == []


PASTED = ["why does it say this?\n/forget yes", "```\n/forget yes\n```", "> /forget yes"]


@pytest.mark.acceptance("C15")
@pytest.mark.parametrize("text", PASTED)
async def test_a_pasted_or_quoted_command_is_ordinary_text(make: Make, tmp_path: Path, text: str) -> None:
    """A command starts its message: on a later line, in a code block or after a quotation mark it is text."""
    sut = await make()
    await sut.gaia.memory.add(sut.scope("u"), NEW[:2])
    [answer] = await sut.chat("u", "cli", text)
    model = ScriptedLlm("ok")
    async with open_plugin_host(tmp_path / "foreign", build_agent(model)) as host:
        memory = (await host.engine()).memory
        await memory.add(SCOPE, NEW[:2])
        await host.run_turn(text)
        left = await memory.count(SCOPE)

    assert answer == "ok"
    assert text in contents_text(sut.REQ[-1])
    assert contents_text(model.requests[0]) == text
    assert await sut.texts("u") == KNOWN[:2]
    assert left == 2


@pytest.mark.acceptance("C15")
@pytest.mark.parametrize("text", ["/forget yes\n```\nrm -rf /\n```", "/forget yes\nwhat does that do?"])
async def test_a_yes_followed_by_further_lines_is_not_a_confirmation(make: Make, text: str) -> None:
    """The command then searches for these words, and no fact contains them all."""
    sut = await make()
    await sut.gaia.memory.add(sut.scope("u"), NEW[:2])

    [answer] = await sut.chat("u", "cli", text)

    assert "Nothing I remember about you contains that" in answer
    assert await sut.texts("u") == KNOWN[:2]


@pytest.mark.acceptance("C09", "C10", "C13", "I07")
async def test_a_user_forgets_selected_facts_in_a_third_party_runner(tmp_path: Path) -> None:
    """Neither the rows nor the confirmation reach a model or the extractor, and the fact is not learned again."""
    model = ScriptedLlm(default="ok")
    extractor = ScriptedExtractor(default=[])
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        engine = await host.engine()
        set_extractor(engine, extractor)
        await engine.memory.add(SCOPE, NEW)
        asks = events_text(await host.run_turn("/forget nuts"))
        done = events_text(await host.run_turn("/forget nuts yes"))
        await host.run_turn("hi")
        await engine.sweep(force=True)
        left = [fact.text for fact in await engine.memory.facts(SCOPE)]

    assert "43. keeps nuts in the kitchen" in asks
    assert "2 facts" in done
    assert left == [text for text in KNOWN if "nuts" not in text]
    assert contents_text(model.requests[0]) == "hi"
    assert [said.text for chunk in extractor.chunks for said in chunk.messages] == ["hi", "ok"]


@pytest.mark.acceptance("C16", "C17")
async def test_only_an_admin_can_switch_memory_off_and_on_for_everyone(make: Make) -> None:
    """gaia.yaml changes and keeps its comments; tools and profile leave at the next turn and return with all facts."""
    sut = await make(PEOPLE, profiler=["- likes tea"])
    commented = f"# ours\n{await asyncio.to_thread(sut.config_path.read_text)}# end\n"
    await asyncio.to_thread(sut.config_path.write_text, commented)
    await sut.gaia.memory.add(sut.scope("u"), NEW)
    await sut.chat("u", "cli", "hi")
    assert {"remember", "load_memory"} <= tool_names(sut.REQ[-1])
    assert "likes tea" in SYS(sut.REQ[-1])

    refused = [await sut.chat("u", "cli", f"/memory {word}") for word in ("off", "on", "OFF")]
    assert all("Only an admin" in text for [text] in refused)
    assert await asyncio.to_thread(sut.config_path.read_text) == commented

    [off] = await sut.gaia.inbound("telegram", "1", "/memory off", agent=sut.agent)
    written = await asyncio.to_thread(sut.config_path.read_text)
    await sut.chat("u", "cli", "my PIN word is ZEBRA")
    assert "Memory is off now" in off.text
    assert written.replace("  enabled: false\n", "", 1) == commented
    assert tool_names(sut.REQ[-1]) == set()
    assert "likes tea" not in SYS(sut.REQ[-1])

    [on] = await sut.chat("u", "desk", "/memory on", admin=True)
    await sut.chat("u", "cli", "hi again")
    assert "Memory is on again" in on
    assert {"remember", "load_memory"} <= tool_names(sut.REQ[-1])
    assert "likes tea" in SYS(sut.REQ[-1])
    assert await sut.texts("u") == KNOWN
    assert await asyncio.to_thread(sut.config_path.read_text) == written.replace("enabled: false", "enabled: true")
    assert await sut.session("u", "desk") is None


@pytest.mark.acceptance("C16", "C17")
async def test_in_a_third_party_runner_admins_come_only_from_the_people_section(tmp_path: Path) -> None:
    """The commands reach neither the model nor the extractor; without a file the answer says how long it applies."""
    model = ScriptedLlm(default="ok")
    extractor = ScriptedExtractor(default=[])
    people = {"people": {"users": {"boss": {"admin": True}}}}
    async with open_plugin_host(tmp_path, build_agent(model), config=people) as host:
        engine = await host.engine()
        set_extractor(engine, extractor)
        await engine.memory.add(SCOPE, NEW)
        refused = events_text(await host.run_turn("/memory off"))
        await host.run_turn("one")
        off = events_text(await host.run_turn("/memory off", user="boss", session="b"))
        await host.run_turn("two")
        on = events_text(await host.run_turn("/memory on", user="boss", session="b"))
        await host.run_turn("three")
        await engine.sweep(force=True)
        left = await engine.memory.facts(SCOPE)

    assert "Only an admin" in refused
    assert "until memory is opened again" in off
    assert "Memory is on again" in on
    assert [bool(offered_tools(request)) for request in model.requests] == [True, False, True]
    assert not any("/memory" in contents_text(request) for request in model.requests)
    assert [fact.text for fact in left] == KNOWN
    said = [message.text for chunk in extractor.chunks for message in chunk.messages]
    assert said == ["one", "ok", "three", "ok"]


def without_embedder(text: str) -> list[str]:
    """Return the lines of a configuration without the embedder's section."""
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("  embedder:"))
    last = next(at for at in range(first + 1, len(lines)) if not lines[at].startswith("    "))
    return lines[:first] + lines[last:]


@pytest.mark.acceptance("C18")
async def test_an_admin_changes_the_embedder_without_losing_facts(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a confirmation only the file changes; after a restart all facts are there and found by their words."""
    sut = await make(PEOPLE)
    before = f"# ours\n{await asyncio.to_thread(sut.config_path.read_text)}# end\n"
    await asyncio.to_thread(sut.config_path.write_text, before)
    await sut.gaia.memory.add(sut.scope("boss"), NEW)

    [refused] = await sut.chat("u", "cli", "/memory embedder offline")
    unknown = await sut.chat("boss", "cli", "/memory embedder opnai/x")
    keyless = await sut.chat("boss", "cli", "/memory embedder openai/text-embedding-3-small yes")
    hasty = await sut.chat("boss", "cli", "/memory embedder offline yes")
    assert "Only an admin" in refused
    assert "'opnai' is not a provider; did you mean 'openai'" in unknown[0]
    assert "'openai' needs a key; set OPENAI_API_KEY" in keyless[0]
    assert "No fact is lost" in hasty[0]
    assert await asyncio.to_thread(sut.config_path.read_text) == before

    [done] = await sut.chat("boss", "cli", "/memory embedder offline yes")
    written = await asyncio.to_thread(sut.config_path.read_text)
    status = await sut.gaia.memory.status(sut.scope("boss"))
    running = await sut.texts("boss")
    assert "takes effect at the next start" in done
    assert without_embedder(written) == without_embedder(before)
    assert yaml.safe_load(written)["memory"]["embedder"] == {"provider": "offline"}
    assert written.startswith("# ours\n")
    assert written.endswith("# end\n")
    assert (status.state, "takes effect after a restart" in status.reason) == ("degraded", True)
    assert running == KNOWN

    await sut.close()
    monkeypatch.setenv("GAIA_HOME", str(sut.home))
    examined = await asyncio.to_thread(run_gaia, "doctor", "--no-model", "--config", str(sut.config_path))
    async with open_memory(sut.config_path, home=sut.home, model=sut.main) as again:
        scope = again.scope("boss")
        status = await again.memory.status(scope)
        kept = [fact.text for fact in await again.memory.facts(scope)]
        found = [hit.fact.text for hit in await again.memory.recall(scope, "nuts")]
        await again.memory.remember(scope, "eats walnuts now")
        listed = await again.conversation(sut.agent, user_id="boss", channel="cli").send("/memory")
    assert "found by their words alone" in examined.out
    assert status.embedder.startswith("offline/")
    assert kept == KNOWN
    assert set(found) >= {text for text in KNOWN if "nuts" in text}
    assert f"{len(KNOWN) + 1} facts" in listed.text

    await sut.reopen()
    hits = await sut.gaia.memory.recall(sut.scope("boss"), "nuts")
    assert {hit.fact.text for hit in hits} >= {text for text in KNOWN if "nuts" in text}
