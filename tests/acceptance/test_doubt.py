"""Facts that may hold no longer: current, marked, ranked behind, and cleared once they are said again."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]

HOME, TRAM = "User rents a flat at the Oslo harbour", "User commutes from the Oslo harbour by tram"
WALK = "User walks from the Oslo harbour by the shore"
MOVED = "User left the flat at the Oslo harbour for Rome"


def answer_with(action: str, *existing: str, in_doubt: tuple[str, ...] = ()) -> Callable[[str], str]:
    """Return an answer that finds the numbers of these stored facts in the question."""

    def answer(question: str) -> str:
        number = {text: int(at) for at, text in re.findall(r"^\[(\d+)\] \S+ (.*)$", question, re.MULTILINE)}
        named = {"existing": [number[text] for text in existing], "in_doubt": [number[text] for text in in_doubt]}
        return json.dumps({"decisions": [{"fact": 1, "action": action, **named}]})

    return answer


async def learn(sut: Sut, said: str, learned: str, answer: Callable[[str], str]) -> None:
    """Learn a fact from a conversation, a day after what was said before."""
    sut.clock.advance(timedelta(days=1))
    sut.script.answers["extractor"].append(facts(learned))
    sut.script.answers["reconciler"].append(answer)
    await sut.chat("ada", "cli", said)
    assert (await sut.sweep_after_idle()).consolidated == 1


@pytest.mark.acceptance("T23")
async def test_a_fact_in_doubt_is_current_marked_and_ranked_behind_until_it_is_confirmed(make: Make) -> None:
    """After a move, the tram is in doubt; saying it again clears that."""
    sut = await make(profiler=["- Lives in Rome", "- Lives in Rome, takes a tram"])
    memory, scope = sut.gaia.memory, sut.scope("ada")
    for text in (HOME, TRAM, WALK):
        await memory.remember(scope, text)
    sut.script.answers["reconciler"].clear()
    await sut.sweep()
    before = [hit.fact.text for hit in await memory.recall(scope, "Oslo harbour tram")]
    await learn(sut, "I left the flat for Rome", MOVED, answer_with("UPDATE", HOME, in_doubt=(TRAM,)))

    assert before[0] == TRAM
    assert await sut.texts("ada") == [TRAM, WALK, MOVED]
    [tram] = [fact for fact in await memory.facts(scope) if fact.text == TRAM]
    assert tram.in_doubt_since is not None
    assert tram.marks == ("in doubt",)
    [listed] = [line for line in (await sut.chat("ada", "cli", "/memory"))[0].splitlines() if TRAM in line]
    assert listed.endswith("(in doubt)")
    hits = {hit.fact.text: hit for hit in await memory.recall(scope, "Oslo harbour tram")}
    assert next(iter(hits)) != TRAM
    assert hits[TRAM].why["doubt"] < 0
    await sut.chat("ada", "web", "hi", private=True)
    assert f"- (in doubt) {TRAM}\n" in sut.PROF[-1]

    await learn(sut, "I take the tram from the harbour", "User takes the Oslo harbour tram", answer_with("NONE", TRAM))
    [tram] = [fact for fact in await memory.facts(scope) if fact.text == TRAM]
    assert (tram.in_doubt_since, tram.marks) == (None, ())
    await sut.chat("ada", "phone", "hi", private=True)
    assert "in doubt" not in sut.PROF[-1]
