"""`LearnedFacts` counts and names the new facts of conversations that still hold."""

from __future__ import annotations

from gaia_memory.models import AddResult, LearnedFacts
from gaia_memory.models.ledger_state import MAX_LEARNED_FACTS
from support.factories import make_fact


def test_what_a_later_part_of_a_conversation_replaced_is_dropped() -> None:
    """Also if it was not named; the end of what was known before, or ended twice, drops nothing else."""
    facts = tuple(make_fact(f"id{number}", f"User likes tea {number}") for number in range(MAX_LEARNED_FACTS + 2))
    learned = LearnedFacts()
    learned.add(AddResult(facts, (True,) * len(facts)))
    learned.add(AddResult((make_fact("new", "User likes jazz"),), (True,)), past_ids={"id0", "id11", "known before"})
    learned.add(AddResult(), past_ids={"id0"})

    assert learned.count == len(facts) + 1 - 2
    assert [fact.id for fact in learned.first] == [*(fact.id for fact in facts[1:MAX_LEARNED_FACTS]), "new"]
