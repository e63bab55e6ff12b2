"""Turns that were said while the clock was behind, found by their invocations in ADK's three session services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService
from google.genai import types

from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY, PRIVATE_KEY
from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.models import EventPosition, SessionKey

KEY = SessionKey("app", "itay", "itay:cli")
NOON = 1_700_000_000.0
HOUR = 3600.0


@pytest.fixture
def transcript(service: BaseSessionService) -> SessionTranscript:
    return SessionTranscript(service, "app", clear_method="rewind")


async def append(service: BaseSessionService, invocation: str, at: float, **fields: Any) -> Event:
    session = await service.get_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    if session is None:
        session = await service.create_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    event = Event(invocation_id=invocation, timestamp=at, **{"author": "user", **fields})
    await service.append_event(session, event)
    return event


async def say(service: BaseSessionService, text: str, at: float, **fields: Any) -> EventPosition:
    """Append a message and, a second later, its reply, in an invocation named after it; return where they end."""
    said = types.Content(role="user", parts=[types.Part(text=text)])
    reply = types.Content(role="model", parts=[types.Part(text=f"re {text}")])
    await append(service, text, at, content=said, **fields)
    last = await append(service, text, at + 1, author="root", content=reply, **fields)
    return EventPosition(last.timestamp, last.id)


async def rewind(service: BaseSessionService, to: str, at: float) -> None:
    """Take everything since an invocation back, as a person does."""
    await append(service, Event.new_id(), at, actions=EventActions(rewind_before_invocation_id=to))


async def late(
    transcript: SessionTranscript, began: Mapping[str, float], *, after: EventPosition | None, turns_before: int = 0
) -> list[str]:
    turns = await transcript.read_out_of_order(KEY, began, after=after, turns_before=turns_before)
    assert turns is not None
    assert [turn.seq for turn in turns] == [turns_before + number for number in range(1, len(turns) + 1)]
    return [message.text for turn in turns for message in turn.messages]


async def test_what_lies_before_the_mark_is_found_whole_and_in_order(
    service: BaseSessionService, transcript: SessionTranscript
):
    """Numbered on; what lies behind it is met by whoever reads on."""
    mark = await say(service, "first", NOON)
    began = {"behind": NOON - HOUR, "at the border": mark.timestamp - 0.5, "right again": NOON + HOUR}
    for text, at in began.items():
        await say(service, text, at)
    await say(service, "never noted", NOON - 2 * HOUR)

    found = await late(transcript, began, after=mark, turns_before=7)
    assert found == ["behind", "re behind", "at the border", "re at the border"]


async def test_of_an_invocation_only_what_was_said_since_it_began_again(
    service: BaseSessionService, transcript: SessionTranscript
):
    """What was said in it before was learned."""
    await say(service, "asks", NOON - HOUR)
    mark = await say(service, "first", NOON)
    answer = types.Content(role="model", parts=[types.Part(text="and more")])
    await append(service, "asks", NOON - 60, author="root", content=answer)

    assert await late(transcript, {"asks": NOON - 61}, after=mark) == ["and more"]


async def test_a_clear_of_ours_does_not_take_it_back(service: BaseSessionService, transcript: SessionTranscript):
    """In ADK's order it lies before the event that rewound; without a mark, that event is the border."""
    await say(service, "first", NOON)
    await say(service, "second", NOON + 10)
    talk = await transcript.read(KEY, after=None, turns_before=0)
    assert talk is not None
    assert await transcript.clear(talk, how="rewind")
    await say(service, "behind", NOON + 5)

    assert await late(transcript, {"behind": NOON + 5}, after=talk.end) == ["behind", "re behind"]
    assert await late(transcript, {"behind": NOON + 5}, after=None) == ["behind", "re behind"]


async def test_a_rewind_of_the_person_takes_it_back(service: BaseSessionService, transcript: SessionTranscript):
    """Made while the clock was behind, or when it was right again; one to another turn does not."""
    mark = await say(service, "first", NOON)
    began = {text: NOON - HOUR + at for at, text in enumerate(["kept", "gone", "gone later"])}
    await say(service, "kept", began["kept"])
    await say(service, "gone", NOON - HOUR + 10)
    await rewind(service, "gone", NOON - HOUR + 20)
    await say(service, "gone later", NOON - HOUR + 30)
    await rewind(service, "gone later", NOON + HOUR)
    await rewind(service, "never there", NOON + HOUR)

    assert await late(transcript, began, after=mark) == ["kept", "re kept"]


@pytest.mark.parametrize("stamp", [COMMAND_KEY, PRIVATE_KEY])
async def test_what_is_not_learned_is_not_found(service: BaseSessionService, transcript: SessionTranscript, stamp: str):
    """Commands and what is private, like in any turn."""
    mark = await say(service, "first", NOON)
    await say(service, "left out", NOON - HOUR, custom_metadata={stamp: True})
    await say(service, "open", NOON - HOUR + 10)

    began = {"left out": NOON - HOUR, "open": NOON - HOUR}
    assert await late(transcript, began, after=mark) == ["open", "re open"]


async def test_without_a_session_or_a_border_there_is_nothing(
    service: BaseSessionService, transcript: SessionTranscript
):
    """None says that nobody has the session; before anything was learned, reading finds everything."""
    assert await transcript.read_out_of_order(KEY, {"x": NOON}, after=None, turns_before=0) is None
    await say(service, "first", NOON)

    assert await transcript.read_out_of_order(KEY, {"first": NOON}, after=None, turns_before=0) == ()


async def test_very_many_are_found_too(service: BaseSessionService, transcript: SessionTranscript):
    """More than one query takes."""
    mark = await say(service, "first", NOON)
    began = {f"behind {number}": NOON - HOUR + 3 * number for number in range(130)}
    for text, at in began.items():
        await append(service, text, at, content=types.Content(role="user", parts=[types.Part(text=text)]))

    assert await late(transcript, began, after=mark) == list(began)
