"""When a statement was said, at the borders of the calendar and in different zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from gaia_memory.truth.claims import read_statement
from gaia_memory.truth.reconcile_by_rule import Statement, decide_by_rule, searches_for_rivals

LAST, FIRST = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)


@pytest.mark.parametrize("said_at", [LAST, FIRST, LAST.replace(tzinfo=timezone(timedelta(hours=-10)))], ids=str)
@pytest.mark.parametrize("text", ["I moved to Berlin", "I moved to Oslo last year", "My birthday is 5 May"])
def test_a_date_at_the_end_of_the_calendar_is_no_error(said_at: datetime, text: str) -> None:
    """A host may use it for "for ever"."""
    assert read_statement(text, said_at)
    stored = Statement(text="I lived in Rome since May 2000", said_at=FIRST, id="rome")
    decide_by_rule(Statement(text=text, said_at=said_at), [stored])


def test_the_same_moment_in_two_zones_may_be_two_days() -> None:
    """Yesterday is another day then."""
    moment = datetime(2026, 3, 2, 1, tzinfo=UTC)
    days = {
        claim.happened_by
        for zone in (UTC, timezone(timedelta(hours=-10)))
        for claim in read_statement("I moved to Berlin yesterday", moment.astimezone(zone))
        if claim.slot == "home"
    }

    assert len(days) == 2


def test_the_searches_for_rivals_find_every_wording_of_a_slot() -> None:
    """In all four languages, however many words that are."""
    words = set(" ".join(searches_for_rivals(Statement(text="I moved to Berlin", said_at=FIRST))[1:]).split())

    assert {"lives", "reside", "wohnt", "lebe", "habite", "vit", "vive", "mudado"} <= words
    assert words.isdisjoint({"in", "user", "der", "de", "the"})
