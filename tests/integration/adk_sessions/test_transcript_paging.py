"""A transcript read page by page equals a complete read, in every session service of ADK."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from hypothesis import strategies as st

from gaia_memory.adk.sessions import turn_reader
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.models import EventPosition, SessionKey
from support.hosts.session_services import APP, SERVICE_KINDS, append_to_session, session_service
from support.oracles.transcript_oracle import TranscriptOracle
from support.oracles.transcript_strategies import transcript_events
from support.property_testing import case_counts, run_cases

Run = Callable[[Coroutine[Any, Any, None]], None]

Look = tuple[int, int, int]
"""A page's size, how many events there are behind the mark to read on from, and how many invocations a query takes."""

BEHIND = st.integers(0, 3) | st.integers(0, 80)
LOOKS = st.lists(st.tuples(st.sampled_from([1, 2, 3, 7, 20]), BEHIND, st.integers(1, 4)), min_size=1, max_size=2)


@pytest.fixture(scope="module", params=SERVICE_KINDS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session service that stays open over all examples, and its event loop."""
    with asyncio.Runner() as loop:
        opened = session_service(request.param, tmp_path_factory.mktemp("sessions"))
        yield loop.run, loop.run(opened.__aenter__())
        loop.run(opened.__aexit__(None, None, None))


async def stored(service: BaseSessionService, events: list[Event]) -> tuple[SessionKey, list[Event]]:
    """Store a session and return its events as ADK loads all of them."""
    session = await service.create_session(app_name=APP, user_id="itay", session_id=uuid.uuid4().hex)
    await append_to_session(service, session, events)
    whole = await service.get_session(app_name=APP, user_id="itay", session_id=session.id)
    assert whole is not None
    assert {event.id for event in whole.events} == {event.id for event in events}
    return SessionKey(APP, "itay", session.id), whole.events


async def compare(service: BaseSessionService, events: list[Event], looks: list[Look]) -> None:
    """Read a session after several marks, in pages of several sizes."""
    key, whole = await stored(service, events)
    transcript = SessionTranscript(service, APP, clear_method="keep")
    for size, behind, at_once in looks:
        last = whole[-1 - behind] if behind < len(whole) else None
        mark = None if last is None else EventPosition(last.timestamp, last.id)
        expected = TranscriptOracle(whole, mark, lookback_events=turn_reader.MAX_LEAD_EVENTS)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(turn_reader, "PAGE_SIZE", size)
            patch.setattr(turn_reader, "_MAX_INVOCATIONS_PER_QUERY", at_once)
            talk = await transcript.read(key, after=mark, turns_before=7)
            assert talk is not None
            turns = [turn async for turn in talk.turns]
        assert turns == expected.turns(turns_before=7)
        assert talk.end == expected.end
        assert [message for turn in talk.before for message in turn.messages] == expected.context_messages()


@case_counts(default_cases=5, slow_cases=1_000)
def test_pages_contain_the_same_as_a_complete_read(cases: int, stage: tuple[Run, BaseSessionService]) -> None:
    """For any messages, rewinds, exclusions, timestamps and marks."""
    run, service = stage
    run_cases(cases, lambda events, looks: run(compare(service, events, looks)), transcript_events(), LOOKS)
