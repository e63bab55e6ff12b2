"""A conversation is not lost for a model's answer with nothing of the conversation in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from gaia_memory.model_calls import ATTEMPT_TEMPERATURES
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]

SAID = "I moved from Berlin to Lisbon last week, and my sister Noa is a nurse there"
PLACEHOLDER = facts("First extracted memory")
GROUNDED = "memory: {grounded: true}"
MEM0_PROMPT = "memory: {grounded: true, extraction_prompt: mem0}"
EXAMPLE = facts("User's brother Tomasz opens his bakery on 2031-03-05")
COPY = "User's brother Tomasz opens his bakery on 2026-11-23"


async def is_kept(sut: Sut) -> bool:
    """Return whether the conversation is still in the session database."""
    session = await sut.session("ada", "cli")
    return session is not None and SAID in str(session.events)


@pytest.mark.parametrize(
    ("answer", "config"),
    [
        (EXAMPLE, GROUNDED),
        (PLACEHOLDER, MEM0_PROMPT),
        (facts("..."), GROUNDED),
        (facts("User", "assistant"), GROUNDED),
    ],
)
async def test_a_conversation_answered_with_placeholders_is_neither_learned_nor_deleted(
    make: Make, answer: str, config: str
) -> None:
    """Small models copy examples, such as "First extracted memory" of mem0; the status says what is wrong."""
    sut = await make(config, extractor=[answer] * 2 * len(ATTEMPT_TEMPERATURES) + [facts("User moved to Lisbon")])
    await sut.chat("ada", "cli", SAID)
    for _ in range(2):
        sut.clock.advance(timedelta(hours=2))
        report = await sut.sweep()
        assert (report.consolidated, report.failed) == (0, 1)
    status = await sut.gaia.memory.status(sut.scope("ada"))

    assert len(sut.EXT) == 2 * len(ATTEMPT_TEMPERATURES)
    assert "only repeats the prompt" in sut.EXT[1].removeprefix(sut.EXT[0])
    assert status.state == "degraded"
    assert "the answer only repeats the prompt, or states nothing: choose a larger model" in status.reason
    assert await sut.texts("ada") == []
    assert await is_kept(sut)

    sut.clock.advance(timedelta(hours=2))
    assert (await sut.sweep()).consolidated == 1
    assert await sut.texts("ada") == ["User moved to Lisbon"]


async def test_placeholders_and_copies_beside_others_are_dropped(make: Make) -> None:
    """The rest is learned, what a model may have inferred as unverified, and nothing is asked again."""
    mixed = facts(COPY, "User moved to Lisbon", "...", "User plays the cello in an orchestra")
    sut = await make(GROUNDED, extractor=[mixed])
    await sut.chat("ada", "cli", SAID)
    report = await sut.sweep_after_idle()

    assert report.consolidated == 1
    learned = await sut.gaia.memory.facts(sut.scope("ada"))
    assert [(fact.text, fact.metadata.get("unverified")) for fact in learned] == [
        ("User moved to Lisbon", None),
        ("User plays the cello in an orchestra", True),
    ]
    found = await sut.gaia.memory.browse(sut.scope("ada"), filters={"unverified": True})
    assert [each.id for each in found.facts] == [learned[1].id]
    assert not await is_kept(sut)


async def test_copies_keep_the_conversation_and_the_status_names_the_way_out(make: Make) -> None:
    """With `memory.grounded: false` the same answer is learned."""
    sut = await make(GROUNDED, extractor=[facts(COPY)] * (len(ATTEMPT_TEMPERATURES) + 1))
    await sut.chat("ada", "cli", SAID)
    report = await sut.sweep_after_idle()
    status = await sut.gaia.memory.status(sut.scope("ada"))

    assert (report.consolidated, report.failed) == (0, 1)
    assert "take facts only from there" in sut.EXT[1].removeprefix(sut.EXT[0])
    assert status.state == "degraded"
    assert "`memory.grounded: false`" in status.reason
    assert await sut.texts("ada") == []
    assert await is_kept(sut)

    sut.write_config("memory: {grounded: false}")
    await sut.reopen()
    assert (await sut.sweep(force=True)).consolidated == 1
    assert await sut.texts("ada") == [COPY]


async def test_the_status_counts_unverified_facts_until_they_are_said_again(make: Make) -> None:
    """`/memory` marks and counts them; a conversation that has their words removes the mark."""
    again = "User moved to Portugal"
    sut = await make(GROUNDED, extractor=[facts("Der Nutzer ist nach Portugal gezogen", again), facts(again)])
    await sut.chat("ada", "cli", "Ich bin nach Lissabon gezogen und habe noch keine Möbel.")
    await sut.sweep_after_idle()
    before = await sut.gaia.memory.status(sut.scope("ada"))
    [listed] = await sut.chat("ada", "cli", "/memory")
    await sut.chat("ada", "cli", "I moved to Portugal.")
    await sut.sweep_after_idle()
    after = await sut.gaia.memory.status(sut.scope("ada"))

    assert (before.facts, before.unverified, before.unconfirmed) == (2, 1, 0)
    assert f"{again} (unverified)" in listed
    assert "1 of these facts is unverified: say so if it is true, or /forget it." in listed
    assert (after.facts, after.unverified) == (2, 0)
