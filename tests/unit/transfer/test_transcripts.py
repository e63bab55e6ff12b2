"""Conversations held elsewhere are read with their dates: exports, lists of messages, plain text."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.transfer.transcripts import ImportedConversation, read_conversations

NOW = datetime(2026, 11, 23, tzinfo=UTC)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def node(
    name: str, parent: str | None, role: str, text: Any, *, at: float | None = None, **more: Any
) -> dict[str, Any]:
    """Return a node of ChatGPT's tree."""
    content = {"content_type": "text", "parts": [text]} if isinstance(text, str) else text
    message = {"id": f"m-{name}", "author": {"role": role}, "create_time": at, "content": content, **more}
    return {"id": name, "parent": parent, "message": message}


CHATGPT = [
    {
        "title": "Moving",
        "create_time": NOON.timestamp(),
        "conversation_id": "c-1",
        "current_node": "e",
        "mapping": {
            "root": {"id": "root", "parent": None, "message": None},
            "s": node("s", "root", "system", "You are helpful.", at=NOON.timestamp()),
            "h": node("h", "s", "user", "secret setup", metadata={"is_visually_hidden_from_conversation": True}),
            "a": node("a", "h", "user", "I live in Rome", at=NOON.timestamp() + 1),
            "b": node("b", "a", "assistant", "Nice.", at=NOON.timestamp() + 2),
            "x": node("x", "a", "assistant", "An answer that was replaced.", at=NOON.timestamp() + 1.5),
            "c": node("c", "b", "assistant", {"content_type": "code", "text": "print()"}),
            "d": node("d", "c", "tool", "42"),
            "e": node("e", "d", "user", "Tomorrow I move", at=NOON.timestamp() + 86_400),
        },
    },
    {"title": "Empty", "create_time": NOON.timestamp(), "mapping": {}},
]
CLAUDE = [
    {
        "uuid": "c-2",
        "name": "Pets",
        "created_at": "2026-03-01T12:00:00.000000Z",
        "chat_messages": [
            {"uuid": "m-1", "sender": "human", "text": "I have a dog", "created_at": "2026-03-01T12:00:01Z"},
            {
                "uuid": "m-2",
                "sender": "assistant",
                "text": "",
                "content": [{"type": "text", "text": "What is it called?"}],
            },
        ],
    }
]


def read(content: Any, **options: Any) -> list[ImportedConversation]:
    """Read a transcript of the user ada, written at noon of another day, in UTC."""
    text = content if isinstance(content, str) else json.dumps(content)
    return read_conversations(text, **{"user": "ada", "speaker": None, "default_time": NOW, "zone": UTC, **options})


def spoken(conversation: ImportedConversation) -> list[tuple[str, str, datetime]]:
    """Return the role, text and time of each message."""
    return [(each.role, each.text, each.said_at) for each in conversation.messages]


def test_an_export_of_chatgpt_gives_what_both_sides_saw_last() -> None:
    """Replaced answers, tools, code and hidden messages are left out, and conversations without a user."""
    [found] = read(CHATGPT)

    assert (found.id, found.title) == ("c-1", "Moving")
    assert spoken(found) == [
        ("user", "I live in Rome", NOON + timedelta(seconds=1)),
        ("assistant", "Nice.", NOON + timedelta(seconds=2)),
        ("user", "Tomorrow I move", NOON + timedelta(days=1)),
    ]
    assert [turn.event_ids for turn in found.turns()] == [("m-a", "m-b"), ("m-e",)]


def test_an_export_without_a_current_node_follows_the_last_branch() -> None:
    """Older exports do not name it."""
    [found] = read([{key: value for key, value in CHATGPT[0].items() if key != "current_node"}])

    assert [each.text for each in found.messages] == ["I live in Rome", "Nice.", "Tomorrow I move"]


def test_a_tree_that_runs_in_a_circle_ends() -> None:
    """The file may come from anywhere."""
    mapping = {"a": node("a", "b", "user", "one"), "b": node("b", "a", "user", "two")}

    [found] = read([{"mapping": mapping, "current_node": "a"}])

    assert [each.text for each in found.messages] == ["two", "one"]


def test_an_export_of_claude_is_read() -> None:
    """A message without a time has that of the one before."""
    [found] = read(CLAUDE)

    assert (found.id, found.title) == ("c-2", "Pets")
    said_at = NOON + timedelta(seconds=1)
    assert spoken(found) == [("user", "I have a dog", said_at), ("assistant", "What is it called?", said_at)]


@pytest.mark.parametrize(
    "content",
    [
        [
            {"role": "user", "content": "I like tea", "timestamp": "2026-03-01T12:00:00Z"},
            {"role": "model", "content": "ok"},
        ],
        {"messages": [{"role": "human", "content": [{"type": "text", "text": "I like tea"}], "timestamp": 1772366400}]},
        [{"created_at": 1772366400000, "messages": [{"author": {"role": "user"}, "parts": [{"text": "I like tea"}]}]}],
        '{"messages": [{"role": "user", "text": "I like tea", "date": "2026-03-01T13:00:00+01:00"}]}\n{"messages": []}',
    ],
)
def test_lists_of_messages_are_read(content: Any) -> None:
    """Roles, texts and times have several names."""
    [found] = read(content)

    assert spoken(found)[0] == ("user", "I like tea", NOON)


@pytest.mark.parametrize(
    ("line", "said_at"),
    [
        ("[2026-03-01 12:00] Ada: I like tea", NOON),
        ("2026-03-01T12:00:00Z Ada: I like tea", NOON),
        ("2026-03-01 12:00 - Ada: I like tea", NOON),
        ("[01.03.26, 12:00:00] Ada: I like tea", NOON),
        ("31/12/2025, 23:59 - Tom: hi\n01/03/2026, 12:00 - Ada: I like tea", NOON),
        ("12/31/25, 11:59 PM - Tom: hi\n3/1/26, 12:00 PM - Ada: I like tea", NOON),
        ("Ada: I like tea", NOW),
    ],
)
def test_plain_lines_have_a_speaker_and_perhaps_a_time(line: str, said_at: datetime) -> None:
    """WhatsApp's exports in several languages among them."""
    [found] = read(line)

    assert spoken(found)[-1] == ("user", "I like tea", said_at)


def test_lines_without_a_speaker_continue_a_message_and_notices_are_dropped() -> None:
    """A colon inside a continued line is no speaker where other lines have times."""
    [found] = read(
        "[2026-03-01 11:00] Messages are encrypted.\n"
        "[2026-03-01 12:00] Ada: Shopping:\n- tea\nNote: no milk\n\n[2026-03-01 12:01] Tom: ok\n"
    )

    assert [(each.role, each.text) for each in found.messages] == [
        ("user", "Shopping:\n- tea\nNote: no milk"),
        ("assistant", "ok"),
    ]
    assert [message.speaker for message in found.turns()[0].messages] == ["user", "Tom"]


@pytest.mark.parametrize(
    ("speakers", "options", "user_text"),
    [
        (("User", "Assistant"), {}, "User"),
        (("Grace", "Ada"), {}, "Ada"),
        (("Grace", "Tom"), {"speaker": "grace"}, "Grace"),
        (("User", "Ada"), {"speaker": "User"}, "User"),
    ],
)
def test_the_user_is_named_or_has_a_usual_name(
    speakers: tuple[str, str], options: dict[str, str], user_text: str
) -> None:
    """The user id itself is the first guess."""
    [found] = read("\n".join(f"{name}: this is {name}" for name in speakers), **options)

    assert [each.text for each in found.messages if each.role == "user"] == [f"this is {user_text}"]


def test_times_without_a_zone_are_in_the_configured_one() -> None:
    """Dates in the text are resolved by them."""
    [found] = read("[2026-03-01 13:00] Ada: hi", zone=ZoneInfo("Europe/Rome"))

    assert found.began_at == NOON


@pytest.mark.parametrize("grown", ["[2026-03-01 12:01] Tom: ok\n[2026-03-02 08:00] Ada: I moved", ""])
def test_a_grown_transcript_keeps_the_ids_of_its_conversation_and_messages(grown: str) -> None:
    """So a second run learns only what is new; equal messages have different ids."""
    text = "[2026-03-01 12:00] Ada: hi\n[2026-03-01 12:00] Ada: hi\n"
    [before], [after] = read(text), read(text + grown)
    ids = [event for conversation in (before, after) for turn in conversation.turns() for event in turn.event_ids]

    assert before.id == after.id
    assert ids[:2] == ids[2:4]
    assert len(set(ids[2:])) == len(ids[2:])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Just a diary entry.", "it has no line such as `Ada: …`"),
        ("Tom: hi\nZoe: hi", "does not say which speaker is the user: pass --speaker with one of these: Tom, Zoe"),
        ("User: hi\nHuman: hi", "does not say which speaker is the user"),
        ("03/04/26, 12:00 - Ada: hi", "line 1: 03/04 may be a day and a month"),
        ("[31.02.2026, 12:00] Ada: hi", "line 1: the date does not exist"),
        ('{"messages": [', "it is not valid JSON"),
        ('{"people": []}', "conversation 1 has no messages: pass conversations.json"),
        ('[{"messages": [5]}]', "message 1 of conversation 1 is 5"),
        (
            '[{"role": "user", "content": "hi", "timestamp": "soon"}]',
            "the time of message 1 of conversation 1 is 'soon'",
        ),
        ("[{" * 100_000, "not valid JSON|nested too deeply"),
    ],
)
def test_an_unclear_file_is_an_error_that_names_the_place(content: str, message: str) -> None:
    """A guess would put wrong dates or another person's words into memory."""
    with pytest.raises(InvalidInputError, match=message):
        read(content)


def test_an_unknown_speaker_is_an_error_that_lists_them() -> None:
    """The option is checked against the file."""
    with pytest.raises(InvalidInputError, match=r"nobody in it is called that: .*: Ada, Tom"):
        read("Ada: hi\nTom: hi", speaker="Zoe")
