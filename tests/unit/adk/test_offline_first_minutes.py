"""What a newcomer says in the first minutes is answered rightly or honestly, now and in the next conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gaia_memory.adk.models.offline.offline_phrases import PHRASES
from support.offline.first_minutes import CORRECTED, FIRST_MINUTES, RESCHEDULED, SMALL_TALK
from support.offline.offline_conversations import Case, is_right
from support.offline.offline_requests import answer_after_conversation, answer_of, facts_of

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("answer", [answer_of, answer_after_conversation], ids=["said", "learned"])
@pytest.mark.parametrize("case", FIRST_MINUTES, ids=lambda case: f"{case.said[-1]} {case.question}")
async def test_a_newcomer_is_answered_rightly(case: Case, answer: Callable[[Case], Awaitable[str]]) -> None:
    """Each question, not most of them."""
    found = await answer(case)

    assert is_right(case, found), found


@pytest.mark.parametrize("said", [case.said for case in (*CORRECTED[:2], *CORRECTED[5:9], *RESCHEDULED[:7])])
def test_a_correction_leaves_one_fact(said: tuple[str, ...]) -> None:
    """Not the old one beside it, and not none."""
    assert len(facts_of(said)) == 1


@pytest.mark.parametrize("said", SMALL_TALK)
async def test_how_a_day_was_is_small_talk(said: str) -> None:
    """Nothing is kept of it, and the reply does not say so."""
    assert facts_of((said,)) == []
    assert await answer_of(Case((), said, "")) in {phrases.all_right for phrases in PHRASES.values()}


@pytest.mark.parametrize("said", ["I had a day off.", "I had a terrible day at the hospital with my son."])
def test_what_happened_on_a_day_is_kept(said: str) -> None:
    """It is more than how the day was."""
    assert len(facts_of((said,))) == 1


@pytest.mark.parametrize(
    "said",
    [
        "I dreamed that Tom is rich and Anna is poor.",
        "Je rêve que Paul est riche et Anna est célèbre.",
        "Sueño que Pablo es rico y Anna es famosa.",
        "Meine Mutter und der Hund ist krank.",
        "I like Tom and Anna.",
    ],
)
def test_what_goes_on_in_one_clause_is_one_fact(said: str) -> None:
    """The second clause of a dream is as much of a dream as the first."""
    assert len(facts_of((said,))) == 1
