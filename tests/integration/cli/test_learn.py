"""`gaia learn`: facts from transcripts, with their dates, each message once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.cli.cli_runner import CommandResult, gaia_home, run_gaia, write_offline_config
from support.servers.fake_gemini import Failure, facts

if TYPE_CHECKING:
    from support.servers.fake_gemini import FakeGemini

CHAT = """\
[2026-03-02 15:00] Ada: I moved to Lisbon.
[2026-03-02 15:01] Tom: I hate rain.
[2026-03-03 09:00] Ada: My sister is called Noa.
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return a configuration that learns by rules, in UTC."""
    return str(write_offline_config(tmp_path, "memory: {time_zone: UTC}"))


def learn(config: str, *arguments: str, user: str = "ada", typed: str | None = None) -> CommandResult:
    return run_gaia("learn", "--user", user, "--config", config, *arguments, stdin=typed)


def memories(config: str, user: str = "ada") -> list[dict[str, Any]]:
    """Return the facts of a user."""
    return list(run_gaia("memory", "list", "-u", user, "-c", config, "--json").json_output["memories"])


def claude_export(*conversations: str) -> str:
    """Return an export in which the user writes one message per conversation."""
    return json.dumps(
        [
            {
                "uuid": f"c-{text}",
                "name": text,
                "chat_messages": [
                    {"uuid": f"m-{text}", "sender": "human", "text": text, "created_at": "2026-03-02T12:00:00Z"}
                ],
            }
            for text in conversations
        ]
    )


def test_a_transcript_is_learned_with_its_dates_and_not_stored(config: str, tmp_path: Path) -> None:
    """Only what the user says is learned, and `--dry-run` learns nothing."""
    file = tmp_path / "chat.txt"
    file.write_text(CHAT, encoding="utf-8")
    shown = learn(config, str(file), "--dry-run")
    assert not gaia_home().exists()
    learned = learn(config, str(file))
    found = memories(config)

    assert shown.out.endswith("1 conversation of ada, 3 messages; nothing was learned.\n")
    assert learned.out == "2 facts about ada learned from 1 conversation.\n"
    assert [each["said_at"] for each in found] == ["2026-03-02T15:00:00+00:00", "2026-03-03T09:00:00+00:00"]
    assert "Lisbon" in found[0]["text"]
    assert "Noa" in found[1]["text"]
    assert {each["source"] for each in found} == {"conversation"}
    assert not (tmp_path / "sessions.db").exists()


def test_a_chat_that_is_marked_as_not_to_be_remembered_is_left_out(config: str, tmp_path: Path) -> None:
    """ChatGPT writes the mark into its export; the command says how many it left out."""
    file = tmp_path / "conversations.json"
    chats = [
        {"messages": [{"role": "user", "content": "I live in Bergen"}], "is_do_not_remember": False},
        {"messages": [{"role": "user", "content": "I have a brother called Tom"}], "is_do_not_remember": True},
    ]
    file.write_text(json.dumps(chats), encoding="utf-8")
    learned = learn(config, str(file))

    assert "1 conversation left out: marked as not to be remembered in the export" in learned.err
    assert [each["text"] for each in memories(config) if "Tom" in each["text"]] == []
    assert [each["text"] for each in memories(config) if "Bergen" in each["text"]]


def test_a_second_run_asks_the_model_only_about_new_messages(tmp_path: Path, gemini: FakeGemini) -> None:
    """A conversation of which nothing is new is not sent at all."""
    gemini.set_default("extractor", facts("User moved to Lisbon", "User's sister is called Noa", "User has a cat"))
    config, file = str(write_offline_config(tmp_path)), tmp_path / "chat.txt"
    file.write_text(CHAT, encoding="utf-8")
    assert learn(config, str(file)).code == 0
    first = len(gemini.requests_of("extractor"))
    again = learn(config, str(file))
    second = len(gemini.requests_of("extractor"))
    file.write_text(f"{CHAT}[2026-03-05 10:00] Ada: I have a cat.\n", encoding="utf-8")
    assert learn(config, str(file)).code == 0
    third = gemini.requests_of("extractor")[second:]

    assert again.out == "0 facts about ada learned from 1 conversation (1 read before: only new messages count).\n"
    assert (first > 0, second) == (True, first)
    assert len(third) == 1
    assert "I have a cat." in third[0].contents
    assert "Noa" not in third[0].contents


@pytest.mark.slow
def test_an_outage_ends_the_run_and_the_next_one_resumes(tmp_path: Path, gemini: FakeGemini) -> None:
    """What was learned before the outage is kept, and not asked about again."""
    gemini.add("extractor", facts("User likes tea"))
    gemini.set_default("extractor", Failure(503))
    config, file = str(write_offline_config(tmp_path)), tmp_path / "export.json"
    file.write_text(claude_export("I like tea", "I like figs", "I like plums"), encoding="utf-8")
    broken = learn(config, str(file))
    kept = [each["text"] for each in memories(config)]
    gemini.set_default("extractor", facts("User likes figs", "User likes plums"))
    before = len(gemini.requests_of("extractor"))
    resumed = learn(config, str(file), "--json").json_output
    asked = [request.contents for request in gemini.requests_of("extractor")[before:]]

    assert broken.code == 1
    assert "2 of 3 conversations are left: run the command again to resume" in broken.err
    assert kept == ["User likes tea"]
    assert (resumed["learned"], resumed["failed"]) == (3, [])
    assert not any("I like tea" in contents for contents in asked)
    assert len(asked) == 2


def test_what_was_said_before_everything_was_forgotten_is_not_learned(config: str) -> None:
    """An old export would otherwise bring it back."""
    assert learn(config, "-", typed=CHAT).code == 0
    assert run_gaia("memory", "forget", "-u", "ada", "-c", config, "-y").code == 0
    again = learn(config, "-", typed=f"[2026-03-01 10:00] Ada: I live in Rome.\n{CHAT}")

    assert again.code == 0
    assert memories(config) == []


def test_a_forgotten_fact_is_not_learned_again_from_the_same_file(config: str) -> None:
    """Its messages are not read again."""
    assert learn(config, "-", typed=CHAT).code == 0
    lisbon = memories(config)[0]["id"]
    assert run_gaia("memory", "forget", "-u", "ada", "-c", config, "-y", "--id", lisbon).code == 0
    assert learn(config, "-", typed=CHAT).code == 0

    assert [each["text"] for each in memories(config)] == ["My sister is called Noa."]


def test_users_learn_from_the_same_file_apart(config: str) -> None:
    """The conversation belongs to whom `--user` names."""
    assert learn(config, "-", typed=CHAT).code == 0
    assert learn(config, "-", "--speaker", "Tom", user="tom", typed=CHAT).code == 0

    assert len(memories(config)) == 2
    assert ["rain" in each["text"] for each in memories(config, "tom")] == [True]


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ("Tom: hi\nZoe: hi\n", 1, "pass --speaker with one of these: Tom, Zoe; nothing was learned"),
        ('[{"messages": [{"role": "assistant", "content": "hi"}]}]', 1, "no conversation in which the user says"),
        ("a diary", 1, "mark who speaks"),
    ],
)
def test_an_unclear_file_is_refused_in_one_line(config: str, content: str, code: int, message: str) -> None:
    """The message says what to do."""
    done = learn(config, "-", typed=content)

    assert (done.code, message in done.err) == (code, True), done.err


def test_an_archive_is_refused_with_the_way_to_its_content(config: str, tmp_path: Path) -> None:
    """Both products send a ZIP file."""
    (tmp_path / "export.zip").write_bytes(b"PK\x03\x04")
    done = learn(config, str(tmp_path / "export.zip"))

    assert (done.code, "conversations.json" in done.err) == (2, True)
