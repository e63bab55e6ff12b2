"""Each learned fact keeps what the person said, until it is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gaia_memory.models import Origin
from gaia_memory.testing import call
from support.cli.cli_runner import CommandResult, run_gaia
from support.harness import Sut, facts
from support.storage.residual_data import SearchTerms, find_residual_data

Make = Callable[..., Awaitable[Sut]]

WORDS = ("qumbasaltkrone", "vexplinthomarid")
SAID = f"I play the {WORDS[0]} and I collect {WORDS[1]}s"
LEARNED = facts(f"User plays the {WORDS[0]}", f"User collects {WORDS[1]}s")


async def origins(sut: Sut, user: str = "u") -> dict[str, list[Origin]]:
    """Return the sources of each fact by its text."""
    memory, scope = sut.gaia.memory, sut.scope(user)
    return {fact.text: await memory.sources(scope, fact.id) for fact in await memory.facts(scope)}


async def test_a_claim_resolves_to_what_was_said_after_the_talk_is_gone(make: Make) -> None:
    """The conversation is deleted after learning; `/remember` and the tool leave evidence, too."""
    model = ["Nice.", call("remember", fact="Likes tea"), "ok"]
    sut = await make("sessions: {clear: delete}", main=model, extractor=[facts("User has a sister Noa"), facts()])
    await sut.chat("u", "telegram", "My sister is called Noa")
    await sut.sweep_after_idle()
    await sut.chat("u", "telegram", "I like tea")
    await sut.chat("u", "telegram", "/remember I like plums")
    found = await origins(sut)

    assert await sut.session("u", "telegram") is None or "Noa" not in str(await sut.session("u", "telegram"))
    assert {text: each[0].excerpt for text, each in found.items()} == {
        "User has a sister Noa": "My sister is called Noa",
        "Likes tea": "I like tea",
        "I like plums": "I like plums",
    }
    assert {each[0].channel for each in found.values()} == {"telegram"}
    assert await sut.gaia.memory.sources(sut.scope("other"), "unknown") == []


async def test_a_private_message_is_no_evidence(make: Make) -> None:
    """Neither of what is learned later nor of what is remembered in private."""
    sut = await make(main=["ok"] * 3, extractor=[facts("User has a sister Noa")])
    await sut.chat("u", "cli", "/private My sister Noa is ill")
    await sut.chat("u", "cli", "My sister is Noa")
    await sut.chat("u", "cli", "/private on")
    await sut.chat("u", "cli", "/remember I like plums")
    await sut.sweep(force=True)
    found = await origins(sut)

    assert {text: each[0].excerpt for text, each in found.items()} == {
        "User has a sister Noa": "My sister is Noa",
        "I like plums": None,
    }


@pytest.mark.parametrize("way", ["fact", "session", "user", "command"])
async def test_a_forgotten_fact_leaves_its_words_in_no_excerpt(make: Make, way: str) -> None:
    """Not even in those of other facts that the same message taught; no file of the home holds the words."""
    sut = await make("sessions: {clear: delete}", main=["Nice.", "ok", "ok"], extractor=[LEARNED])
    await sut.chat("u", "cli", SAID)
    await sut.sweep(force=True)
    assert [origin.excerpt for each in (await origins(sut)).values() for origin in each] == [SAID, SAID]
    home = sut.gaia.config.home
    await sut.gaia.memory.settled()
    assert await find_residual_data(home, SearchTerms([WORDS[0]]))

    memory, scope = sut.gaia.memory, sut.scope("u")
    [first, _] = await memory.facts(scope)
    if way == "command":
        await sut.chat("u", "cli", f"/forget {WORDS[0]}")
        # The open conversation holds the command itself.
        await sut.chat("u", "cli", f"/forget {WORDS[0]} yes")
        await sut.chat("u", "cli", "/reset")
    else:
        await memory.forget(
            scope, **{"fact": {"fact_id": first.id}, "session": {"session_id": "u:cli"}, "user": {}}[way]
        )
    await memory.settled()

    remaining = [f"User collects {WORDS[1]}s"] if way in ("fact", "command") else []
    assert {text: [each.excerpt for each in found] for text, found in (await origins(sut)).items()} == {
        text: [None] for text in remaining
    }
    assert await find_residual_data(home, SearchTerms([WORDS[0]], excluded_prefixes=["sessions.db"])) == []


async def test_an_import_keeps_excerpts_and_none_with_forgotten_words(make: Make) -> None:
    """Of a fact that is forgotten here, neither text nor excerpt comes back."""
    sut = await make(main=["Nice."], extractor=[LEARNED])
    await sut.chat("u", "cli", SAID)
    await sut.sweep(force=True)
    memory = sut.gaia.memory
    data = await memory.export(sut.scope("u"))
    await memory.import_(sut.scope("copy"), data)
    copied = await origins(sut, "copy")
    [first, _] = await memory.facts(sut.scope("u"))
    await memory.forget(sut.scope("u"), fact_id=first.id)
    await memory.import_(sut.scope("u"), data)
    await memory.merge(sut.scope("copy"), sut.scope("u"))

    assert [row["sources"][0]["excerpt"] for row in data["facts"]] == [SAID, SAID]
    assert [(each.excerpt, each.is_imported) for found in copied.values() for each in found] == [(SAID, True)] * 2
    [(text, found)] = (await origins(sut)).items()
    assert text == f"User collects {WORDS[1]}s"
    assert {each.excerpt for each in found} == {None}


async def test_gaia_memory_why_prints_the_sources(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly these keys; an imported source is called so, whatever it claims."""
    sut = await make(main=["Nice."], extractor=[facts("User has a sister Noa")])
    await sut.chat("u", "telegram", "My sister is called Noa")
    await sut.sweep(force=True)
    [fact] = await sut.gaia.memory.facts(sut.scope("u"))
    claim: dict[str, Any] = {"text": "Likes tea", "sources": [{"source": "remember", "excerpt": "tea!"}]}
    await sut.gaia.memory.import_(sut.scope("v"), {"format": "gaia-memory", "version": 2, "facts": [claim]})
    [imported] = await sut.gaia.memory.facts(sut.scope("v"))
    await sut.close()
    monkeypatch.setenv("GAIA_HOME", str(sut.home))

    async def why(fact_id: str, user: str, *options: str) -> CommandResult:
        return await asyncio.to_thread(
            run_gaia, "memory", "why", fact_id, "--user", user, "--config", str(sut.config_path), *options
        )

    printed = (await why(fact.id[:6], "u", "--json")).json_output
    assert fact.said_at is not None
    assert printed == {
        "id": fact.id,
        "text": "User has a sister Noa",
        "sources": [
            {
                "source": "conversation",
                "said_at": fact.said_at.isoformat(),
                "channel": "telegram",
                "agent": fact.agent,
                "session_id": "u:telegram",
                "excerpt": "My sister is called Noa",
            }
        ],
    }
    foreign = (await why(imported.id, "v", "--json")).json_output
    assert (foreign["sources"][0]["source"], foreign["sources"][0]["excerpt"]) == ("import", "tea!")
    table = (await why(fact.id, "u")).out
    assert "My sister is called Noa" in table
    for user, fact_id in (("v", fact.id), ("u", "0" * 36)):
        unknown = await why(fact_id, user)
        assert unknown.code == 1
        assert f"has no fact with the id '{fact_id}'" in unknown.err
