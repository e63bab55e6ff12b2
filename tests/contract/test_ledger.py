"""The contract of the ledger for turns, leases and clearing, on each database."""

from __future__ import annotations

import pytest

from gaia_memory.ledger import Ledger, is_owner_dead, new_owner, process_name
from gaia_memory.models import (
    EventPosition,
    FrozenProfile,
    LearningProgress,
    LedgerRow,
    SessionKey,
    TurnRequest,
    TurnState,
    WindowAnchor,
)
from support.databases import database

__all__ = ["database"]

ledger = Ledger()
KEY = SessionKey("gaia", "itay", "itay:cli")
OTHER = SessionKey("gaia", "noa", "noa:cli")
FROZEN = FrozenProfile(block="- tea", key="k", made_at=7.5, made_by="fallback")
ME = "elsewhere:1:1.00"
YOU = "elsewhere:2:2.00"
HOSTILE = ["*", " pad ", "%", "i\x00", "\ud800"]


async def speak(database, key=KEY, *, at=0.0):
    """Begin and end a turn."""
    async with database.transaction() as tx:
        row = await ledger.begin_turn(tx, key, TurnRequest(), now=at, lease_seconds=900)
        await ledger.end_turn(tx, key, now=at)
    return row


async def claim(database, owner=ME, key=KEY, *, now=100.0, lease=30.0):
    """Try to take a lease."""
    async with database.transaction() as tx:
        return await ledger.claim(tx, key, owner, now=now, lease_seconds=lease)


async def advance(database, owner=ME, *, read=None, to=None, turns=1):
    """Try to move the watermark."""
    async with database.transaction() as tx:
        to = to or EventPosition(50.0, "e9")
        return await ledger.advance_watermark(tx, KEY, owner, expected=read, new_watermark=to, turn_count=turns)


async def due(database, *, now=100.0, quiet_since=70.0, limit=10, apps=("gaia",), **rest):
    """Return the due conversations."""
    async with database.transaction() as tx:
        await ledger.expire(tx, now=now)
    async with database.read_transaction() as tx:
        found = await ledger.due(tx, quiet_since=quiet_since, limit=limit, apps=apps, **rest)
    return [one.key for one in found]


async def row(database, key=KEY):
    """Return the row of a conversation."""
    async with database.read_transaction() as tx:
        return await ledger.row(tx, key)


async def test_turns_are_counted_and_mark_the_conversation_active_while_they_run(database):
    """The end of a turn sets the time since which the conversation is quiet."""
    async with database.transaction() as tx:
        assert await ledger.row(tx, KEY) is None
        first = await ledger.begin_turn(tx, KEY, TurnRequest(), now=10.0, lease_seconds=900)
        await ledger.renew_turn(tx, KEY, now=500.0, lease_seconds=900)
        renewed = await ledger.row(tx, KEY)
        await ledger.end_turn(tx, KEY, now=600.0)
        second = await ledger.begin_turn(tx, KEY, TurnRequest(), now=700.0, lease_seconds=900)
        await ledger.end_turn(tx, KEY, now=710.0)
        quiet = await ledger.row(tx, KEY)

    assert (first.turn.turn_no, first.turn.active_until) == (1, 910.0)
    assert renewed.turn.active_until == 1400.0
    assert second.turn.turn_no == 2
    assert (quiet.turn.turn_no, quiet.turn.active_until, quiet.turn.touched) == (2, None, 710.0)
    assert quiet == LedgerRow(
        key=KEY, turn=TurnState(turn_no=2, touched=710.0), progress=LearningProgress(unlearned_turns=2)
    )


async def test_reserving_a_turn_for_a_load_counts_no_turn(database):
    """There is nothing to learn from it either."""
    async with database.transaction() as tx:
        held = await ledger.reserve_turn(tx, KEY, TurnRequest(), now=10.0, lease_seconds=900)
        await ledger.end_turn(tx, KEY, now=20.0)

    assert (held.turn.turn_no, held.turn.active_until) == (0, 910.0)
    assert await due(database, quiet_since=None) == []


async def test_a_reservation_is_released_unless_a_turn_has_begun(database):
    """The turn keeps the conversation from being learned and cleared."""
    async with database.transaction() as tx:
        held = await ledger.reserve_turn(tx, KEY, TurnRequest(), now=10.0, lease_seconds=900)
        await ledger.release_turn(tx, KEY, expires_at=held.turn.active_until)
        free = await ledger.row(tx, KEY)
        held = await ledger.reserve_turn(tx, KEY, TurnRequest(), now=20.0, lease_seconds=900)
        await ledger.begin_turn(tx, KEY, TurnRequest(), now=30.0, lease_seconds=900)
        await ledger.release_turn(tx, KEY, expires_at=held.turn.active_until)
        talking = await ledger.row(tx, KEY)

    assert (free.turn.active_until, free.turn.touched) == (None, 10.0)
    assert talking.turn.active_until == 930.0


@pytest.mark.parametrize("odd", HOSTILE)
async def test_any_ids_identify_a_separate_conversation(database, odd):
    """They are returned unchanged."""
    keys = [SessionKey(odd, "u", "s"), SessionKey("a", odd, "s"), SessionKey("a", "u", odd), SessionKey("a", "u", "s")]
    for key in keys:
        await speak(database, key)
    async with database.transaction() as tx:
        await ledger.skip_events(tx, keys[0], [odd])

        assert [(await ledger.row(tx, key)).key for key in keys] == keys
        assert await ledger.skipped_events(tx, keys[0], event_ids=[odd, "other"]) == {odd}
        assert [one.key for one in await ledger.pending(tx, user=odd, app=None)] == [keys[1]]
    assert set(await due(database, apps=[odd, "a"])) == set(keys)


@pytest.mark.acceptance("I03")
async def test_a_conversation_is_due_once_it_has_been_quiet_long_enough(database):
    """Results are limited, oldest first, and restricted to the requested apps."""
    await speak(database, OTHER, at=60.0)
    await speak(database, KEY, at=50.0)
    await speak(database, SessionKey("elsewhere", "itay", "s"), at=10.0)

    assert await due(database, quiet_since=49.9) == []
    assert await due(database, quiet_since=50.0) == [KEY]
    assert await due(database, quiet_since=70.0) == [KEY, OTHER]
    assert await due(database, quiet_since=70.0, limit=1) == [KEY]
    assert await due(database, apps=[]) == []


async def test_due_conversations_are_paged_and_can_exclude_users(database):
    """Conversations that have been quiet since the same moment are returned once each, too."""
    persons = ["noa", "itay", "dan", "noa", "gil", "noa"]
    keys = [SessionKey("gaia", person, f"s{number}") for number, person in enumerate(persons)]
    for number, key in enumerate(keys):
        await speak(database, key, at=10.0 + number // 3)

    async def paged(limit, **rest):
        found, after = [], None
        while True:
            async with database.read_transaction() as tx:
                page = await ledger.due(tx, quiet_since=70.0, limit=limit, apps=["gaia"], after=after, **rest)
            if not page:
                return found
            found += page
            after = page[-1]

    whole = await paged(10)
    assert [one.touched for one in whole] == [10.0, 10.0, 10.0, 11.0, 11.0, 11.0]
    assert {one.key for one in whole} == set(keys)
    assert await paged(1) == await paged(2) == whole
    assert {one.key.user for one in await paged(1, excluded_users=["noa", "gil"])} == {"itay", "dan"}


async def test_an_active_conversation_is_not_due_until_its_turn_expires(database):
    """A cancelled turn fires no hook at its end."""
    async with database.transaction() as tx:
        await ledger.begin_turn(tx, KEY, TurnRequest(), now=0.0, lease_seconds=900)

    assert await due(database, now=899.0, quiet_since=None) == []
    assert await claim(database, now=899.0) is None
    assert await due(database, now=900.0, quiet_since=800.0) == [KEY]
    assert await claim(database, now=900.0) is not None


async def test_only_one_owner_at_a_time_holds_the_lease(database):
    """A lease lasts until it expires; only its owner can renew it."""
    await speak(database)
    taken = await claim(database, ME, now=100.0)
    async with database.transaction() as tx:
        assert await ledger.renew(tx, KEY, ME, now=120.0, lease_seconds=30)
        assert not await ledger.renew(tx, KEY, YOU, now=120.0, lease_seconds=30)

    assert (taken.lease.owner, taken.lease.expires_at, taken.turn.turn_no) == (ME, 130.0, 1)
    assert await due(database, now=149.0) == []
    assert await claim(database, YOU, now=149.0) is None
    assert await claim(database, ME, now=149.0) is None
    assert (await claim(database, YOU, now=150.0)).lease.owner == YOU
    async with database.transaction() as tx:
        assert not await ledger.renew(tx, KEY, ME, now=151.0, lease_seconds=30)


async def test_a_released_lease_is_free_at_once(database):
    """An owner can release one or all of its leases, but no one else's."""
    for key in (KEY, OTHER):
        await speak(database, key)
        await claim(database, ME, key)
    async with database.transaction() as tx:
        await ledger.release(tx, KEY, YOU)
        assert (await ledger.row(tx, KEY)).lease.owner == ME
        await ledger.release(tx, KEY, ME)
        await ledger.release_all(tx, YOU)
        assert (await ledger.row(tx, OTHER)).lease.owner == ME
        await ledger.release_all(tx, ME)

    assert set(await due(database)) == {KEY, OTHER}


async def test_the_lease_of_a_dead_process_on_this_host_is_taken_over_at_once(database):
    """Its clear ends as well; a lease of another host lasts until it expires."""
    dead = process_name().rpartition("-")[0] + "-1/a1b2"
    await speak(database)
    await claim(database, dead)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, dead, turn_no=1, now=100.0, seconds=60)

    assert is_owner_dead(dead)
    assert not is_owner_dead(process_name())
    assert not is_owner_dead(new_owner())
    assert new_owner() != new_owner()
    assert not is_owner_dead(ME)
    assert await due(database, now=101.0) == [KEY]
    taken = await claim(database, ME, now=101.0)
    assert (taken.lease.owner, taken.clearing.owner) == (ME, None)
    assert await claim(database, YOU, now=102.0) is None


@pytest.mark.parametrize("owner", ["", "a:b:c", "host:-1:x"])
def test_an_owner_that_names_no_process_does_not_count_as_dead(owner):
    """Its state is unknown, so its lease has to expire."""
    assert not is_owner_dead(owner)


async def test_the_watermark_advances_only_from_its_expected_value_and_under_the_lease(database):
    """Otherwise another worker has learned in the meantime, and nothing is written."""
    await speak(database)
    assert not await advance(database)
    await claim(database)
    assert not await advance(database, YOU)
    assert not await advance(database, read=EventPosition(1.0, "e1"))
    assert await advance(database, to=EventPosition(50.0, "e\x009"), turns=2)
    assert not await advance(database)
    assert not await advance(database, read=EventPosition(50.0, "e8"), to=EventPosition(60.0, "e10"))
    assert await advance(database, read=EventPosition(50.0, "e\x009"), to=EventPosition(60.0, "e10"))

    learned = await row(database)
    assert learned.progress.watermark == EventPosition(60.0, "e10")
    assert learned.progress.learned_turns == 3


async def test_a_pending_conversation_names_the_owner_of_its_lease(database):
    """A host can then say which process learns it."""
    await speak(database)
    async with database.read_transaction() as tx:
        (waiting,) = await ledger.pending(tx, user=None, app=None)
    await claim(database, ME, now=101.0)
    async with database.read_transaction() as tx:
        (leased,) = await ledger.pending(tx, user=None, app=None)

    assert (waiting.lease_owner, waiting.lease_until) == (None, None)
    assert leased.lease_owner == ME
    assert leased.lease_until > 101.0


async def test_a_learned_but_uncleared_conversation_is_due_and_no_longer_pending(database):
    """If a process dies in between, the next one does the clear."""
    await speak(database)
    await claim(database)
    async with database.read_transaction() as tx:
        assert [one.key for one in await ledger.pending(tx, user="itay", app="gaia")] == [KEY]
    await advance(database)
    async with database.transaction() as tx:
        await ledger.release(tx, KEY, ME)

        assert await ledger.pending(tx, user=None, app=None) == []
    assert await due(database) == [KEY]


async def test_a_conversation_released_as_done_is_due_again_with_the_next_turn(database):
    """If sessions are kept, nothing is left to do."""
    await speak(database)
    await claim(database)
    await advance(database)
    async with database.transaction() as tx:
        await ledger.release(tx, KEY, ME, is_done=True)

    assert await due(database, quiet_since=None) == []
    await speak(database, at=10.0)
    assert await due(database) == [KEY]


async def test_a_turn_during_learning_makes_the_conversation_due_again(database):
    """Its messages were not read."""
    await speak(database)
    await claim(database)
    await speak(database, at=60.0)
    await advance(database)
    async with database.transaction() as tx:
        assert not await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=101.0, seconds=5)
        await ledger.release(tx, KEY, ME, is_done=True)

        assert [one.key for one in await ledger.pending(tx, user=None, app=None)] == [KEY]
    assert await due(database) == [KEY]


@pytest.mark.acceptance("I12")
async def test_a_turn_waits_while_its_conversation_is_cleared(database):
    """No turn is counted during the clear; a clear that hangs blocks only until it expires."""
    await speak(database)
    await claim(database)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=100.0, seconds=5)
        waiting = await ledger.begin_turn(tx, KEY, TurnRequest(), now=104.0, lease_seconds=900)
        held = await ledger.reserve_turn(tx, KEY, TurnRequest(), now=104.0, lease_seconds=900)
        late = await ledger.begin_turn(tx, KEY, TurnRequest(), now=105.0, lease_seconds=900)

    assert (waiting.clearing.owner, waiting.turn.turn_no, waiting.turn.active_until) == (ME, 1, None)
    assert held.clearing.owner == ME
    assert (late.clearing.owner, late.turn.turn_no, late.turn.active_until) == (None, 2, 1005.0)


@pytest.mark.parametrize("case", ["not mine", "another turn", "active", "never claimed"])
async def test_a_clear_begins_only_if_nothing_has_changed(database, case):
    """If the user has returned or another worker has taken over, everything is kept."""
    await speak(database)
    if case != "never claimed":
        await claim(database, YOU if case == "not mine" else ME)
    if case == "active":
        async with database.transaction() as tx:
            await ledger.reserve_turn(tx, KEY, TurnRequest(), now=100.0, lease_seconds=900)
    async with database.transaction() as tx:
        turn_no = 2 if case == "another turn" else 1

        assert not await ledger.begin_clearing(tx, KEY, ME, turn_no=turn_no, now=101.0, seconds=5)
        assert (await ledger.row(tx, KEY)).clearing.owner is None


async def test_a_cleared_conversation_starts_afresh_and_is_not_due(database):
    """Its profile and window anchor are dropped; turn numbers continue."""
    await speak(database)
    async with database.transaction() as tx:
        await ledger.freeze_profile(tx, KEY, FROZEN)
        await ledger.set_anchor(tx, KEY, WindowAnchor(turn_no=1, timestamp=0.5))
    before = await claim(database)
    await advance(database)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=101.0, seconds=5)
        await ledger.end_clearing(tx, KEY, ME, cleared_at=102.0)
        await ledger.release(tx, KEY, ME)

    after = await row(database)
    assert (before.session.profile, before.session.anchor) == (FROZEN, WindowAnchor(turn_no=1, timestamp=0.5))
    assert (after.session.profile, after.session.anchor) == (None, None)
    assert (after.clearing.cleared_at, after.clearing.owner, after.clearing.expires_at, after.turn.turn_no) == (
        102.0,
        None,
        None,
        1,
    )
    assert after.progress.watermark == EventPosition(50.0, "e9")
    assert await due(database, quiet_since=None) == []


async def test_a_refused_clear_leaves_everything_unchanged(database):
    """The conversation stays due."""
    await speak(database)
    await claim(database)
    async with database.transaction() as tx:
        await ledger.freeze_profile(tx, KEY, FROZEN)
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=1, now=101.0, seconds=5)
        await ledger.end_clearing(tx, KEY, ME, cleared_at=None)
        await ledger.release(tx, KEY, ME)

    after = await row(database)
    assert (after.clearing.owner, after.clearing.cleared_at, after.session.profile) == (None, None, FROZEN)
    assert await due(database) == [KEY]


@pytest.mark.acceptance("I08")
async def test_a_failure_is_counted_reported_and_retried_later(database):
    """The lease is released; a later success resets the count."""
    await speak(database)
    await claim(database)
    await advance(database)
    async with database.transaction() as tx:
        await ledger.record_failure(tx, KEY, YOU, error="x", now=100.0, retry_at=0.0, is_parked=True)
        await ledger.record_failure(tx, KEY, ME, error="no JSON \x00", now=100.0, retry_at=160.0)
        (waiting,) = await ledger.pending(tx, user="itay", app=None)

    assert (waiting.attempts, waiting.reason, waiting.retry_at, waiting.parked) == (1, "no JSON \ufffd", 160.0, False)
    assert await due(database, now=159.0) == []
    assert await due(database, now=159.0, quiet_since=None) == [KEY]
    assert await due(database, now=160.0) == [KEY]
    await claim(database, now=160.0)
    await advance(database, read=EventPosition(50.0, "e9"), to=EventPosition(60.0, "e10"))
    learned = await row(database)
    assert (learned.failures.attempts, learned.failures.retry_at, learned.failures.last_error) == (0, None, None)


async def test_bad_answers_are_counted_separately_until_something_is_learned(database):
    """Outages in between neither count nor reset the count; the time of the first failure is kept."""
    await speak(database)
    for now, is_bad_answer in [(100.0, False), (200.0, True), (300.0, False), (400.0, True)]:
        await claim(database, now=now)
        async with database.transaction() as tx:
            await ledger.record_failure(tx, KEY, ME, error="x", now=now, retry_at=now, is_bad_answer=is_bad_answer)
    failing = await row(database)
    async with database.read_transaction() as tx:
        (waiting,) = await ledger.pending(tx, user=None, app=None)
    await claim(database, now=500.0)
    await advance(database)
    learned = await row(database)

    assert (failing.failures.attempts, failing.failures.bad_answers, failing.failures.failing_since) == (4, 2, 100.0)
    assert (waiting.attempts, waiting.failing_since) == (4, 100.0)
    assert (learned.failures.attempts, learned.failures.bad_answers, learned.failures.failing_since) == (0, 0, None)


async def test_a_parked_conversation_is_not_due_until_its_next_turn(database):
    """A forced sweep includes it as well."""
    await speak(database)
    await claim(database)
    async with database.transaction() as tx:
        await ledger.record_failure(tx, KEY, ME, error="x", now=100.0, retry_at=0.0, is_parked=True)

    assert await due(database) == []
    assert await due(database, quiet_since=None) == [KEY]
    await speak(database, at=60.0)
    assert await due(database) == [KEY]
    assert (await row(database)).failures.attempts == 1


async def test_profiles_are_frozen_per_session_and_dropped_per_user(database):
    """They can be dropped for one app or for all; other users keep theirs."""
    elsewhere = SessionKey("other", "itay", "s")
    keys = KEY, OTHER, elsewhere
    for key in keys:
        await speak(database, key)
    async with database.transaction() as tx:
        for key in keys:
            await ledger.freeze_profile(tx, key, FrozenProfile(block=f"- of {key.user}", key="k"))

        assert await ledger.drop_profiles(tx, user="itay", app="gaia") == 1
        assert (await ledger.row(tx, KEY)).session.profile is None
        assert (await ledger.row(tx, elsewhere)).session.profile.block == "- of itay"
        assert await ledger.drop_profiles(tx, user="itay", app=None) == 1
        assert (await ledger.row(tx, OTHER)).session.profile.block == "- of noa"


async def test_skipped_events_are_stored_for_their_conversation(database):
    """This works before the first turn, and with the same event twice."""
    async with database.transaction() as tx:
        await ledger.skip_events(tx, KEY, ["e1", "e2"])
        await ledger.skip_events(tx, KEY, ["e2"])
        await ledger.skip_events(tx, OTHER, [])

        assert await ledger.skipped_events(tx, KEY, event_ids=["e1", "e2", "e3"]) == {"e1", "e2"}
        assert await ledger.skipped_events(tx, KEY, event_ids=[f"e{number}" for number in range(2, 2_000)]) == {"e2"}
        assert await ledger.skipped_events(tx, OTHER, event_ids=["e1", "e2"]) == set()


@pytest.mark.acceptance("I16", "I17")
async def test_existing_sessions_are_entered_once_per_app(database):
    """They become due, including one that was only reserved so far; a known one keeps its state."""
    await speak(database, OTHER, at=5.0)
    held = SessionKey("gaia", "held", "s")
    async with database.transaction() as tx:
        await ledger.reserve_turn(tx, held, TurnRequest(), now=1.0, lease_seconds=1)
        assert not await ledger.is_bootstrapped(tx, "gaia")
        assert await ledger.bootstrap(tx, "gaia", {KEY: 7.0, OTHER: 99.0, held: 3.0}) == 2
        assert await ledger.is_bootstrapped(tx, "gaia")
        assert not await ledger.is_bootstrapped(tx, "other")
        assert await ledger.bootstrap(tx, "gaia", {SessionKey("gaia", "new", "s"): 1.0}) == 0
        assert (await ledger.row(tx, OTHER)).turn.touched == 5.0
        assert len(await ledger.pending(tx, user=None, app="gaia")) == 3

    assert set(await due(database)) == {held, OTHER, KEY}


async def test_an_existing_session_is_done_once_it_is_cleared(database):
    """This holds although no turn was ever counted."""
    async with database.transaction() as tx:
        await ledger.bootstrap(tx, "gaia", {KEY: 7.0})
    await claim(database)
    await advance(database)
    async with database.transaction() as tx:
        assert await ledger.begin_clearing(tx, KEY, ME, turn_no=0, now=101.0, seconds=5)
        await ledger.end_clearing(tx, KEY, ME, cleared_at=102.0)
        await ledger.release(tx, KEY, ME)

    assert await due(database, quiet_since=None) == []


async def test_more_sessions_than_fit_one_statement_are_entered_at_once(database):
    """There are 1,201 of them."""
    sessions = {SessionKey("gaia", f"user {number}", "s"): float(number) for number in range(1201)}
    async with database.transaction() as tx:
        assert await ledger.bootstrap(tx, "gaia", sessions) == 1201


async def test_a_conversation_stays_private_until_privacy_is_turned_off(database):
    """This holds before the first turn, and across turns and a clear."""
    async with database.transaction() as tx:
        await ledger.set_private(tx, KEY, is_private=True)
        begun = await ledger.begin_turn(tx, KEY, TurnRequest(), now=10.0, lease_seconds=900)
        await ledger.end_turn(tx, KEY, now=20.0)
        claimed = await ledger.claim(tx, KEY, ME, now=100.0, lease_seconds=30.0)
        await ledger.end_clearing(tx, KEY, ME, cleared_at=101.0)
        cleared = await ledger.row(tx, KEY)
        await ledger.set_private(tx, KEY, is_private=False)
        ended = await ledger.row(tx, KEY)

    assert begun.session.is_private
    assert claimed is not None
    assert cleared.session.is_private
    assert cleared.clearing.cleared_at == 101.0
    assert not ended.session.is_private
    assert await row(database, OTHER) is None


async def test_a_pending_confirmation_is_kept_until_it_is_answered(database):
    """It works before the first turn; it adds nothing to learn and keeps no turn active."""
    async with database.transaction() as tx:
        await ledger.set_pending_confirmation(tx, KEY, is_pending=True)
        asked = await ledger.row(tx, KEY)
        await ledger.begin_turn(tx, KEY, TurnRequest(), now=10.0, lease_seconds=900)
        begun = await ledger.row(tx, KEY)
        await ledger.set_pending_confirmation(tx, OTHER, is_pending=True)
        await ledger.set_pending_confirmation(tx, KEY, is_pending=False)
        answered = await ledger.row(tx, KEY)
        waits = await ledger.row(tx, OTHER)

    assert (asked.session.has_pending_confirmation, asked.progress.is_done, asked.turn.turn_no) == (True, True, 0)
    assert begun.session.has_pending_confirmation
    assert not answered.session.has_pending_confirmation
    assert waits.session.has_pending_confirmation


async def test_uncounted_messages_enter_a_conversation_into_the_queue_once(database):
    """A new or done conversation gets the given time; one that is already waiting keeps its place."""
    new, known, waits = (SessionKey("gaia", "itay", name) for name in ("new", "known", "waits"))
    async with database.transaction() as tx:
        for key in (known, waits):
            await ledger.begin_turn(tx, key, TurnRequest(), now=10.0, lease_seconds=900)
            await ledger.end_turn(tx, key, now=10.0)
        assert await ledger.claim(tx, known, "me", now=11.0, lease_seconds=30)
        await ledger.release(tx, known, "me", is_done=True)
        for key in (new, known, waits):
            await ledger.enqueue(tx, key, touched=20.0)
        found = await ledger.rows_for(tx, [new, known, waits, SessionKey("gaia", "itay", "nowhere")])
        due = await ledger.due(tx, quiet_since=20.0, limit=9, apps=["gaia"])
        elsewhere = await ledger.sessions_of_other_apps(tx, apps=["other"])

    assert {key: row.turn.touched for key, row in found.items()} == {new: 20.0, known: 20.0, waits: 10.0}
    assert [row.turn.turn_no for row in found.values() if row.key == known] == [1]
    assert [one.key.session for one in due] == ["waits", "known", "new"]
    assert [key.app for key in elsewhere] == ["gaia"]
