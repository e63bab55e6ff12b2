"""Slash commands among the events of a session."""

from __future__ import annotations

import pytest
from google.adk.events._rewind_events import _apply_rewinds
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types

from gaia_memory.adk.plugins.slash_commands import drop_commands, drop_hidden, parse_command
from gaia_memory.adk.sessions.event_mapping import COMMAND_KEY

pytestmark = pytest.mark.heavy


def said(invocation: str, text: str, *, author: str = "user", command: bool = False) -> Event:
    return Event(
        author=author,
        invocation_id=invocation,
        content=types.Content(role="user", parts=[types.Part(text=text)]),
        custom_metadata={COMMAND_KEY: "memory"} if command else None,
    )


def texts(events: list[Event]) -> list[str]:
    return [event.content.parts[0].text for event in events if event.content]


@pytest.mark.parametrize(
    "parts",
    [
        [types.Part(text="/nope")],
        [types.Part(text="and/or")],
        [types.Part.from_bytes(data=b"x", mime_type="image/png")],
        [types.Part.from_function_response(name="ask", response={"answer": "/memory"})],
        [],
    ],
)
def test_only_a_known_command_that_is_the_whole_text_counts(parts: list[types.Part]) -> None:
    """Unknown commands belong to the host; files and answers to calls are not commands."""
    assert parse_command(types.Content(role="user", parts=parts)) is None


@pytest.mark.parametrize("text", ["/forget yes", " /Forget: yes ", "/forget@gaia_bot yes"])
def test_a_command_is_recognised(text: str) -> None:
    """The argument follows, in any spelling."""
    assert parse_command(types.Content(parts=[types.Part(text=text)])) == ("forget", "yes")


def test_a_command_with_an_attached_file_counts() -> None:
    """A user who sends `/forget yes` with a picture wants to be forgotten, and the model must not see it."""
    picture = types.Part.from_bytes(data=b"x", mime_type="image/png")

    assert parse_command(types.Content(parts=[types.Part(text="/forget yes"), picture])) == ("forget", "yes")
    assert parse_command(None) is None


@pytest.mark.acceptance("I07")
def test_commands_and_their_replies_are_not_replayed() -> None:
    """The reply is dropped together with its marked question."""
    events = [
        said("1", "hi"),
        said("2", "/memory", command=True),
        said("2", "1. tea", author="model"),
        said("3", "bye"),
    ]

    assert texts(drop_commands(events)) == ["hi", "bye"]


def test_a_rewind_to_a_command_still_undoes_what_followed() -> None:
    """Otherwise the cleared messages would return: ADK ignores a rewind without its target."""
    rewind = Event(author="user", invocation_id="9", actions=EventActions(rewind_before_invocation_id="1"))
    events = [said("1", "/help", command=True), said("2", "old"), rewind, said("3", "new")]

    assert texts(_apply_rewinds(drop_commands(events))) == ["new"]


def at(second: float, event: Event) -> Event:
    """Return an event at a time."""
    event.timestamp = second
    return event


def test_a_call_from_before_a_reset_stays_if_it_is_answered_after_it() -> None:
    """Without what was said beside it, and without another call of the same event, which was answered before."""
    calls = [types.Part(function_call=types.FunctionCall(id=name, name=name, args={})) for name in ("ask", "look")]
    answers = [types.Part(function_response=types.FunctionResponse(id=name, name=name)) for name in ("look", "ask")]
    parts = [types.Part(text="I ask her"), *calls]
    events = [
        at(1, said("1", "old")),
        at(2, Event(author="shop", invocation_id="1", content=types.Content(role="model", parts=parts))),
        at(3, Event(author="shop", invocation_id="1", content=types.Content(role="user", parts=answers[:1]))),
        at(5, Event(author="user", invocation_id="2", content=types.Content(role="user", parts=answers[1:]))),
    ]
    [call, answer] = drop_hidden(events, 4, "")

    assert call.content is not None
    assert call.content.parts == [parts[1]]
    assert answer is events[3]
    assert drop_hidden(events, 4, "1") == events


def test_neither_a_summary_nor_a_rewind_brings_back_what_a_reset_ended() -> None:
    """A summary that is made later may be about it, and a rewind may go back to before it."""
    content = types.Content(role="model", parts=[types.Part(text="they said old")])
    summary = EventActions(compaction=EventCompaction(start_timestamp=1, end_timestamp=5, compacted_content=content))
    back = EventActions(rewind_before_invocation_id="1")
    events = [
        at(1, said("1", "old")),
        at(5, said("2", "new")),
        at(6, Event(author="user", invocation_id="3", actions=summary)),
        at(7, said("4", "newer")),
    ]
    rewound = [*events, at(8, Event(author="user", invocation_id="5", actions=back)), at(9, said("6", "newest"))]

    assert texts(drop_hidden(events, 1, "")) == ["new", "newer"]
    assert texts(drop_hidden(rewound, 1, "")) == ["newest"]
