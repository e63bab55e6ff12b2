"""Slash commands among the events of a session."""

from __future__ import annotations

import pytest
from google.adk.events._rewind_events import _apply_rewinds
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types

from gaia_memory.adk.plugins.slash_commands import drop_commands, parse_command
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
