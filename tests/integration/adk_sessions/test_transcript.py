"""Conversations read from, and cleared in, ADK's three session services."""

from __future__ import annotations

from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.genai import types

from gaia_memory.adk.sessions.event_mapping import PRIVATE_KEY, live_events
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.models import EventPosition, SessionKey, TranscriptSlice

KEY = SessionKey("app", "itay", "itay:cli")
START = 1_700_000_000.0


@pytest.fixture
def transcript(service: BaseSessionService) -> SessionTranscript:
    return SessionTranscript(service, "app", clear_method="keep")


async def load(service: BaseSessionService) -> Session | None:
    return await service.get_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)


async def say(service: BaseSessionService, *texts: str, at: float | None = None) -> Session:
    """Append a user turn and its reply for each text, one event per second from `at` on."""
    session = await load(service) or await service.create_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    for text in texts:
        invocation_id = Event.new_id()
        for author, role, line in [("user", "user", text), ("root", "model", f"re {text}")]:
            event = Event(
                invocation_id=invocation_id,
                author=author,
                content=types.Content(role=role, parts=[types.Part(text=line)]),
            )
            if at is not None:
                event.timestamp = at
                at += 1
            await service.append_event(session, event)
    return session


async def read(
    transcript: SessionTranscript, after: EventPosition | None = None, turns_before: int = 0
) -> TranscriptSlice:
    talk = await transcript.read(KEY, after=after, turns_before=turns_before)
    assert talk is not None
    return talk


async def texts(talk: TranscriptSlice) -> list[str]:
    return [turn.messages[0].text async for turn in talk.turns]


async def visible(service: BaseSessionService) -> list[str]:
    session = await load(service)
    return [part.text or "" for event in live_events(session.events) for part in event.content.parts] if session else []


async def test_sessions_are_listed_with_their_last_update_time(
    service: BaseSessionService, transcript: SessionTranscript
):
    """Only the sessions of the app are listed."""
    session = await say(service, "hi")
    await service.create_session(app_name="other", user_id="itay", session_id="x")

    assert await transcript.sessions() == {KEY: pytest.approx(session.events[-1].timestamp)}


async def test_a_read_after_a_mark_excludes_the_mark(service: BaseSessionService, transcript: SessionTranscript):
    """A second read continues after the last event of the first, and numbering continues."""
    await say(service, "one", "two")
    first = await read(transcript)
    await say(service, "three")
    second = await read(transcript, after=first.end, turns_before=2)

    assert await texts(first) == ["one", "two"]
    assert await texts(second) == ["three"]
    [turn] = [turn async for turn in second.turns]
    assert turn.seq == 3
    assert second.end == turn.end


async def test_without_new_events_a_read_has_no_turns_and_the_same_end(
    service: BaseSessionService, transcript: SessionTranscript
):
    """The mark stays the end."""
    await say(service, "one")
    first = await read(transcript)
    second = await read(transcript, after=first.end)

    assert (await texts(second), second.end) == ([], first.end)


async def test_events_with_the_timestamp_of_the_mark_are_read_once(
    transcript: SessionTranscript, service: BaseSessionService
):
    """Two events of the same timestamp on either side of a mark are neither lost nor read twice."""
    session = await say(service)
    for text in ["a", "b", "c"]:
        await service.append_event(
            session,
            Event(
                id=text,
                invocation_id=text,
                author="user",
                timestamp=START,
                content=types.Content(role="user", parts=[types.Part(text=text)]),
            ),
        )

    assert await texts(await read(transcript, after=EventPosition(START, "a"))) == ["b", "c"]
    assert await texts(await read(transcript, after=EventPosition(START, "c"))) == []
    assert await texts(await read(transcript, after=EventPosition(START, "gone"))) == []
    assert await texts(await read(transcript, after=EventPosition(START - 1, "gone"))) == ["a", "b", "c"]


@pytest.mark.parametrize("seconds", [0.0, -5.0])
async def test_the_last_appended_event_is_read_even_if_its_timestamp_is_not_later(
    service: BaseSessionService, transcript: SessionTranscript, seconds: float
):
    """With the timestamp of the mark, or an earlier one where the service keeps the order of appending."""
    for number, at in enumerate([START, START + seconds]):
        await say(service, f"text {number}", at=at)
    session = await load(service)
    assert session is not None
    *ahead, last = session.events
    talk = await read(transcript, after=EventPosition(ahead[-1].timestamp, ahead[-1].id))

    assert talk.end == EventPosition(last.timestamp, last.id)
    assert [message.event_id async for turn in talk.turns for message in turn.messages] == [last.id]


async def test_private_events_are_no_context_even_without_an_invocation(
    service: BaseSessionService, transcript: SessionTranscript
):
    """A host may append events that belong to no run."""
    session = await say(service)
    for text, stamp in [("private", {PRIVATE_KEY: True}), ("open", None)]:
        content = types.Content(role="user", parts=[types.Part(text=text)])
        await service.append_event(session, Event(author="user", content=content, custom_metadata=stamp))
    end = (await read(transcript)).end
    await say(service, "next")
    talk = await read(transcript, after=end)

    assert [message.text for turn in talk.before for message in turn.messages] == ["open"]


async def test_reading_an_unknown_session_returns_none(transcript: SessionTranscript):
    """A missing conversation is None, not empty."""
    assert await transcript.read(KEY, after=None, turns_before=0) is None


@pytest.mark.parametrize("how", ["delete", "rewind"])
async def test_clearing_removes_everything_that_was_read(
    service: BaseSessionService, transcript: SessionTranscript, how: str
):
    """After a clear no event of the read is visible, and later messages are read alone."""
    await say(service, "one", "two")
    talk = await read(transcript)

    assert await transcript.clear(talk, how=how) is True
    assert await visible(service) == []

    await say(service, "three")

    assert await visible(service) == ["three", "re three"]
    assert await texts(await read(transcript, after=talk.end)) == ["three"]


@pytest.mark.parametrize("how", ["delete", "rewind"])
async def test_nothing_is_cleared_if_a_message_arrived_since_the_read(
    service: BaseSessionService, transcript: SessionTranscript, how: str
):
    """A message after the read leaves everything unchanged."""
    await say(service, "one")
    talk = await read(transcript)
    await say(service, "two")

    assert await transcript.clear(talk, how=how) is False
    assert await visible(service) == ["one", "re one", "two", "re two"]


@pytest.fixture
async def lasting(service: BaseSessionService) -> BaseSessionService:
    """The services that check a session for changes themselves."""
    if isinstance(service, InMemorySessionService):
        pytest.skip("the in-memory service has no check of its own")
    return service


async def _clear_without_looking(
    service: BaseSessionService, transcript: SessionTranscript, talk: TranscriptSlice, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Clear by rewind as if the changes since the read happened just after the check."""
    read_then = talk.host_session

    async def outdated(**_: object) -> object:
        return read_then

    with monkeypatch.context() as patch:
        patch.setattr(service, "get_session", outdated)
        return await transcript.clear(talk, how="rewind")


async def test_the_service_refuses_a_rewind_after_a_concurrent_message(
    lasting: BaseSessionService, transcript: SessionTranscript, monkeypatch: pytest.MonkeyPatch
):
    """Between the check and the append, the service compares the session that was read with the stored one."""
    await say(lasting, "one")
    talk = await read(transcript)
    await say(lasting, "two")

    assert await _clear_without_looking(lasting, transcript, talk, monkeypatch) is False
    assert await visible(lasting) == ["one", "re one", "two", "re two"]


async def test_a_rewind_of_a_just_deleted_session_counts_as_done(
    lasting: BaseSessionService, transcript: SessionTranscript, monkeypatch: pytest.MonkeyPatch
):
    """A session deleted between the check and the append holds nothing more to clear."""
    await say(lasting, "one")
    talk = await read(transcript)
    await lasting.delete_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)

    assert await _clear_without_looking(lasting, transcript, talk, monkeypatch) is True


async def test_a_later_rewind_does_not_read_events_rewound_before(
    service: BaseSessionService, transcript: SessionTranscript, monkeypatch: pytest.MonkeyPatch
):
    """A repeatedly cleared session is not read from its beginning each time."""
    await say(service, "one", "two", "three")
    first = await read(transcript)
    await transcript.clear(first, how="rewind")
    await say(service, "four")
    second = await read(transcript, after=first.end)
    counts: list[int] = []
    get_session = service.get_session

    async def counting(**wanted: Any) -> Session | None:
        session = await get_session(**wanted)
        counts.append(len(session.events) if session else 0)
        return session

    with monkeypatch.context() as patch:
        patch.setattr(service, "get_session", counting)
        await transcript.clear(second, how="rewind")

    # The rewind, and the two events of the turn after it.
    assert counts == [3]
    assert await visible(service) == []


async def test_a_repeated_clear_by_rewind_covers_only_new_messages_and_writes_nothing_without(
    service: BaseSessionService, transcript: SessionTranscript
):
    """A cleared session is left alone; new messages in it are cleared by a separate rewind."""
    await say(service, "one")
    first = await read(transcript)
    await transcript.clear(first, how="rewind")
    nothing = await read(transcript, after=first.end)
    cleared_again = await transcript.clear(nothing, how="rewind")
    session = await load(service)
    assert session is not None

    assert await texts(nothing) == []
    assert cleared_again is True
    assert len(session.events) == 3

    await say(service, "two", "three")
    second = await read(transcript, after=nothing.end)

    assert await transcript.clear(second, how="rewind") is True
    assert await visible(service) == []


async def test_a_rewind_follows_events_of_a_host_whose_clock_is_ahead(
    service: BaseSessionService, transcript: SessionTranscript
):
    """An event from the future is rewound too."""
    await say(service, "one", at=4_000_000_000.0)
    talk = await read(transcript)

    assert await transcript.clear(talk, how="rewind") is True
    assert await visible(service) == []


async def test_state_survives_a_rewind(service: BaseSessionService, transcript: SessionTranscript):
    """Only messages are cleared: the agent's data in the session's state stays."""
    await service.create_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session, state={"language": "Hebrew"}
    )
    await say(service, "one")
    await transcript.clear(await read(transcript), how="rewind")
    session = await load(service)
    assert session is not None

    assert session.state["language"] == "Hebrew"


@pytest.mark.parametrize("how", ["delete", "rewind"])
async def test_a_deleted_session_counts_as_cleared(
    service: BaseSessionService, transcript: SessionTranscript, how: str
):
    """If the host deleted the session, nothing is left to clear."""
    await say(service, "one")
    talk = await read(transcript)
    await service.delete_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)

    assert await transcript.clear(talk, how=how) is True
