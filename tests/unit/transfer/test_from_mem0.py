"""What of mem0's rows becomes a fact, and what is left out and counted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gaia_memory.transfer.from_mem0 import Mem0Rows, read_rows

ROW_ID = "6f0a4f0e-6d3c-4a57-9a55-5f4c2f1d8b11"


def read(*payloads: dict[str, Any], row_id: str = ROW_ID) -> Mem0Rows:
    """Read rows of Ada."""
    rows = [(row_id, {"user_id": "ada", "data": "Likes tea", **payload}) for payload in payloads]
    return read_rows(rows, user=None, allow_numbers=False)


def test_times_and_metadata_are_those_of_the_row() -> None:
    """A time without a zone is in UTC; what has no place of its own keeps its name, or gets `mem0_` before it."""
    row = {"created_at": "2025-01-02T03:04:05", "updated_at": "2025-06-01T00:00:00+02:00", "hash": "f", "role": "user"}
    [fact] = read(row | {"expiration_date": "2027-01-31", "level": 3, "session_id": "s"}).facts["ada"]
    draft = fact.drafts[0]

    assert (draft.fact_id, draft.origin_id, draft.source) == (ROW_ID, ROW_ID, "import")
    assert draft.created_at == draft.fact.first_said_at == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert draft.updated_at == draft.fact.said_at == datetime(2025, 5, 31, 22, tzinfo=UTC)
    assert draft.fact.valid_until == datetime(2027, 2, 1, tzinfo=UTC)
    assert draft.fact.metadata == {"mem0_role": "user", "level": 3, "mem0_session_id": "s"}


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        ({"tags": ["a"]}, "metadata tags"),
        ({"note": "x" * 20_000}, "metadata note"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"expiration_date": "9999-12-31"}, "expiration_date"),
    ],
)
def test_what_does_not_fit_is_left_out_and_counted(payload: dict[str, Any], name: str) -> None:
    """The fact is kept without it."""
    read_twice = read(payload, {**payload, "data": "Likes coffee"})

    assert read_twice.left_out == {name: 2}
    assert [fact.drafts[0].fact.metadata for fact in read_twice.facts["ada"]] == [{}, {}]


def test_rows_that_may_not_be_kept_or_have_no_user_are_named() -> None:
    """No owner is guessed, and a credential alone is no fact; the same words at the same time are one."""
    rows = read({}, {}, {"data": " "}, {"data": None}, {"user_id": None, "run_id": "r"}, row_id="7")

    assert rows.counts["ada"] == {"rows": 4, "facts": 1}
    assert rows.left_out == {"rows without user_id, run_id=r": 1}
    assert [place for place, _ in rows.refused] == ["row 7 of ada"] * 2
    assert rows.facts["ada"][0].drafts[0].fact_id is None
