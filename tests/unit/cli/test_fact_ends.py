"""What another store says of the life of a fact."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gaia_memory.cli.memory.files.fact_ends import read_end
from gaia_memory.errors import InvalidInputError

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"expiration_date": "2026-11-27"}, "expired"),
        ({"expired_at": 1_700_000_000}, "expired"),
        ({"invalid_at": "2026-11-28T11:00:00Z"}, "no longer valid"),
        ({"state": "paused"}, "paused"),
        ({"status": "DELETED"}, "deleted"),
        ({"deleted_at": "2026-01-01T00:00:00"}, "deleted"),
        ({"isForgotten": True}, "forgotten"),
        ({"is_active": False}, "not active"),
        ({"isLatest": False}, "not latest"),
    ],
)
def test_a_fact_that_is_over_has_a_reason(entry: dict[str, Any], reason: str) -> None:
    """Whatever the case, the underscores and the `is` of a name."""
    assert read_end(entry, NOW) == (reason, None)


@pytest.mark.parametrize(
    ("entry", "end"),
    [
        ({"state": "active", "deleted_at": None, "is_deleted": False, "is_latest": True, "status": "done"}, None),
        ({"expiration_date": "2026-11-28"}, datetime(2026, 11, 29, tzinfo=UTC)),
        ({"invalid_at": "2027-02-01T08:00:00+01:00"}, datetime.fromisoformat("2027-02-01T08:00:00+01:00")),
    ],
)
def test_a_fact_that_counts_keeps_the_end_to_come(entry: dict[str, Any], end: datetime | None) -> None:
    """A day counts to its end."""
    assert read_end(entry, NOW) == ("", end)


def test_an_end_that_is_no_time_is_refused() -> None:
    """A fact that is over would become current otherwise."""
    with pytest.raises(InvalidInputError, match="its invalid_at is 'soon': pass an ISO 8601 time"):
        read_end({"invalid_at": "soon"}, NOW)
