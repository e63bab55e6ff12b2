"""The end of a fact's life that its metadata give."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gaia_memory.drafts.lifetime import take_lifetime
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact

NOW = datetime(2026, 3, 16, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        *(
            ({"ttl": ttl}, r"metadata\['ttl'\] is .*'3600s'")
            for ttl in ("1h", "0s", "-5s", "s", 3600, True, "9" * 12 + "s")
        ),
        *(
            ({"expire_time": time}, r"metadata\['expire_time'\] is .*ISO 8601")
            for time in ("tomorrow", "2026-04-01", "2026-04-01T00:00:00", 1_775_000_000, "")
        ),
        ({"ttl": "1s", "expire_time": "2026-04-01T00:00:00Z"}, "pass one of them"),
    ],
)
def test_a_wrong_lifetime_is_refused_by_name(metadata: dict[str, str], named: str) -> None:
    """The message names the key, the value and the form."""
    with pytest.raises(InvalidInputError, match=named):
        take_lifetime(NewFact("Has a guest", metadata=metadata), NOW)


def test_an_end_is_given_once() -> None:
    """As `valid_until` or in the metadata."""
    fact = NewFact("Has a guest", metadata={"ttl": "1s"}, valid_until=NOW)
    with pytest.raises(InvalidInputError, match=r"metadata\['ttl'\] and valid_until"):
        take_lifetime(fact, NOW)
