"""The throttle of the follower: short batches with pauses in between."""

from __future__ import annotations

import pytest

from gaia_memory.backend.mem0_store.throttle import (
    MAX_BATCH_FACTS,
    MAX_REST_SECONDS,
    PACED_BATCH_FACTS,
    PACED_REST_SECONDS,
    QUIET_SECONDS,
    REBUILD_BATCH_FACTS,
    WriteThrottle,
)


def held_up(seconds_a_fact: float, facts: int, *, awaited: bool) -> tuple[list[float], float]:
    """Write so many facts at this cost; return how long each batch held everybody up, and the time in all."""
    pace, left, writes, took = WriteThrottle(), facts, [], 0.0
    while left > 0:
        size = min(left, pace.batch_size(awaited=awaited, rebuilding=True))
        writes.append(size * seconds_a_fact)
        pace.record_write(size, writes[-1], awaited=awaited)
        took += writes[-1] + pace.rest_seconds(awaited=awaited, rebuilding=True)
        left -= size
    return writes, took


@pytest.mark.parametrize("milliseconds", [0.3, 1.0, 3.0])
def test_nobody_is_held_up_for_seconds_by_a_pass_that_somebody_waits_for(milliseconds: float) -> None:
    """Of 500 facts at once each write takes a second and a half in a large store, and a turn meets several."""
    writes, took = held_up(milliseconds / 1000, 20_000, awaited=True)

    assert max(writes) <= 0.3
    assert took <= 1.3 * sum(writes)


@pytest.mark.parametrize("milliseconds", [0.3, 1.0, 3.0])
def test_a_pass_that_nobody_waits_for_leaves_half_of_the_time_to_others(milliseconds: float) -> None:
    """A turn is many steps, and each may meet a write."""
    writes, took = held_up(milliseconds / 1000, 20_000, awaited=False)

    assert max(writes[1:]) <= 0.1
    assert took >= 2 * sum(writes)


def test_batches_grow_where_a_write_is_quick_and_somebody_waits() -> None:
    """A small store is written in a few large pieces."""
    pace = WriteThrottle()
    for _ in range(5):
        pace.record_write(pace.batch_size(awaited=True, rebuilding=True), 0.01, awaited=True)

    assert pace.batch_size(awaited=True, rebuilding=False) == MAX_BATCH_FACTS
    assert pace.batch_size(awaited=False, rebuilding=True) == REBUILD_BATCH_FACTS
    assert pace.batch_size(awaited=False, rebuilding=False) == PACED_BATCH_FACTS


def test_what_nobody_waits_for_rests_long_after_each_write() -> None:
    """However short the write was, and at least as long as a long one took."""
    pace = WriteThrottle()
    pace.record_write(PACED_BATCH_FACTS, 0.02, awaited=False)
    assert pace.rest_seconds(awaited=False, rebuilding=False) == PACED_REST_SECONDS

    pace.record_write(PACED_BATCH_FACTS, 2 * PACED_REST_SECONDS, awaited=False)
    assert pace.rest_seconds(awaited=False, rebuilding=False) == 2 * PACED_REST_SECONDS
    assert pace.batch_size(awaited=False, rebuilding=False) < PACED_BATCH_FACTS


def test_while_facts_come_in_the_next_batch_waits_for_a_pause_though_not_for_ever(monkeypatch) -> None:
    """Chroma would take the processor from those who bring them."""
    now = [100.0]
    monkeypatch.setattr("gaia_memory.backend.mem0_store.throttle.time.monotonic", lambda: now[0])
    pace, waited = WriteThrottle(), 0.0
    pace.rest_seconds(awaited=False, rebuilding=False)
    assert pace.extra_rest_seconds() <= 0

    pace.note_change()
    pace.rest_seconds(awaited=False, rebuilding=False)
    assert pace.extra_rest_seconds() == pytest.approx(QUIET_SECONDS)
    while pace.extra_rest_seconds() > 0:
        now[0] += 0.1
        waited += 0.1
        pace.note_change()
    assert waited == pytest.approx(MAX_REST_SECONDS, abs=0.2)
