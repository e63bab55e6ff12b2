"""`gaia memory forget` in difficult cases: memory off, a receipt that cannot be written, an earlier forget killed."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gaia_memory import open_memory
from gaia_memory.forget.delete import HOST_SESSION_NOTE
from gaia_memory.testing import ScriptedLlm
from support.cli.cli_runner import CommandResult, gaia_home, run_gaia, run_gaia_process, write_offline_config
from support.plugin_host import APP, build_agent, open_plugin_host

OFF = "memory: {enabled: false}"
WORD = "zebrawood"

_KILLED = """
import asyncio, os, signal, sys
from gaia_memory.config.sources.load import load
from gaia_memory.engine import Engine

async def forget(config, user, fact_id):
    engine = await Engine.open(load(config))
    await engine.memory.forget(engine.scope(engine.config.app, user), fact_id=fact_id or None)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(forget(*sys.argv[1:]))
"""

IS_OFF = "gaia: nothing to forget about {!r} (memory is off, `memory.enabled: false`)\n"


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration for a home with facts about two users."""
    path = str(write_offline_config(tmp_path))
    memory(path, "add", "itay", f"likes {WORD}", "likes tea")
    memory(path, "add", "noa", "likes coffee")
    return path


def memory(config: str, command: str, user: str, *arguments: str) -> CommandResult:
    """Run one of the memory commands in this process."""
    return run_gaia("memory", command, "--user", user, "--config", config, *arguments)


def forget(config: str, *arguments: str) -> CommandResult:
    """Forget itay in a child process, without a confirmation."""
    return run_gaia_process("memory", "forget", "--user", "itay", "--config", config, "-y", *arguments)


def rows(config: str, user: str) -> dict[str, str]:
    """Return a user's facts: text and id."""
    return {row["text"]: row["id"] for row in memory(config, "list", user, "--json").json_output["memories"]}


def files_with(word: str) -> list[str]:
    """Return the files of the home that contain a word."""
    found = [path for path in gaia_home().rglob("*") if path.is_file()]
    return [str(path) for path in found if word.encode() in path.read_bytes()]


def switched_off(config: str) -> str:
    """Return the path of a configuration of the same home with memory off."""
    folder = Path(config).parent / "off"
    folder.mkdir(exist_ok=True)
    return str(write_offline_config(folder, OFF))


def killed(config: str, fact_id: str = "") -> None:
    """Forget itay in a process that is killed once the facts are gone, before any file is rewritten."""
    done = subprocess.run([sys.executable, "-c", _KILLED, config, "itay", fact_id], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert files_with(WORD) != []


def erasures(config: str) -> int:
    """Return the number of erasures that `status` reports."""

    async def ask() -> int:
        async with open_memory(switched_off(config)) as memory:
            return (await memory.memory.status(memory.scope(user_id="itay"))).erasures

    return asyncio.run(ask())


@pytest.mark.slow
@pytest.mark.parametrize("what", ["everything", "fact", "conversation"])
def test_a_user_is_forgotten_while_memory_is_off(config: str, what: str) -> None:
    """The user leaves the files too; others stay."""
    run_gaia("chat", "--user", "itay", "--channel", "trip", "--config", config, stdin=f"My boat is made of {WORD}.\n")
    run_gaia("sweep", "--force", "--config", config)
    arguments = {
        "everything": [],
        "fact": ["--id", rows(config, "itay")[f"likes {WORD}"]],
        "conversation": ["--session", "itay:trip"],
    }[what]
    done = forget(switched_off(config), "--json", *arguments)

    assert (done.code, done.err) == (0, "")
    assert (done.json_output["forgotten"], done.json_output["files"]) == (what, "rewritten")
    assert done.json_output["count"] == done.json_output["removed"]["vectors"] == (3 if what == "everything" else 1)
    assert rows(config, "noa").keys() == {"likes coffee"}
    boat = f"My boat is made of {WORD}."
    left = {"everything": set(), "fact": {"likes tea", boat}, "conversation": {"likes tea", f"likes {WORD}"}}
    assert rows(config, "itay").keys() == left[what]
    assert bool(files_with(WORD)) == (what != "everything")
    if what == "everything":
        again = run_gaia_process("memory", "forget", "--user", "itay", "--config", switched_off(config), "-y")
        assert (again.code, again.err) == (1, IS_OFF.format("itay"))


def test_while_memory_is_off_an_unknown_user_is_reported_along_with_that_fact(config: str) -> None:
    """Otherwise the user might be looked for in the wrong memory."""
    done = run_gaia_process("memory", "forget", "--user", "nobody", "--config", switched_off(config), "-y")

    assert (done.code, done.out) == (1, "")
    assert done.err == IS_OFF.format("nobody")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "arguments", "stays"),
    [
        pytest.param("", (), False, id="everything"),
        pytest.param(OFF, (), False, id="while memory is off"),
        pytest.param("memory: {llm: {provider: agent}}", (), False, id="learned elsewhere"),
        pytest.param("", ("--session", "itay:cli"), False, id="the conversation"),
        pytest.param("", ("--session", "itay:trip"), True, id="another conversation"),
        pytest.param("", ("--id", "fact"), True, id="one fact"),
        pytest.param("sessions: {clear: keep}", (), True, id="kept"),
        pytest.param("sessions: {clear: rewind}", (), False, id="to be rewound"),
    ],
)
def test_an_open_conversation_is_deleted_with_what_was_forgotten(
    tmp_path: Path, setting: str, arguments: tuple[str, ...], stays: bool
) -> None:
    """Where it stays, a note says so, and only then."""
    config = str(write_offline_config(tmp_path))
    memory(config, "add", "itay", "likes tea")
    for channel in ("cli", "trip")[: 1 + ("itay:trip" in arguments)]:
        run_gaia("chat", "--user", "itay", "--channel", channel, "--config", config, stdin=f"I like {WORD}.\n")
    chosen = [rows(config, "itay")["likes tea"] if each == "fact" else each for each in arguments]
    done = forget(str(write_offline_config(tmp_path, setting)), *chosen)

    assert (done.code, done.err) == (0, "")
    assert bool(files_with(WORD)) == stays
    assert ("messages in an open session stay there" in done.out) == stays


@pytest.mark.slow
def test_a_conversation_that_a_rewind_hides_is_deleted_with_what_was_forgotten(tmp_path: Path) -> None:
    """As in a folder that `gaia init` made; forgetting one fact leaves it, and says so."""
    config = str(write_offline_config(tmp_path, "sessions: {clear: rewind}"))
    chat = ("chat", "--user", "itay", "--channel", "cli", "--config", config)
    run_gaia(*chat, stdin=f"I like {WORD}.\nI like tea.\n/reset\n")
    one = forget(config, "--id", rows(config, "itay")["I like tea."])
    hidden = bool(files_with(WORD))
    everything = forget(config)

    told = "Note: messages of earlier conversations stay in the session database, hidden"
    assert [told in done.out for done in (one, everything)] == [True, False]
    assert hidden
    assert not files_with(WORD)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "is_meant"),
    [
        pytest.param((), True, id="everything"),
        pytest.param(("--session", "s1"), True, id="the conversation"),
        pytest.param(("--session", "itay:cli"), False, id="a conversation of `gaia chat`"),
        pytest.param(("--id", f"I like {WORD}."), True, id="the fact that it taught"),
        pytest.param(("--id", "likes tea"), False, id="a fact of the terminal"),
    ],
)
def test_a_conversation_in_the_hosts_own_runner_is_named_as_what_stays(
    tmp_path: Path, arguments: tuple[str, ...], is_meant: bool
) -> None:
    """Memory cannot delete what the host's session database holds, so the command and the receipt say so."""

    async def talk() -> None:
        agent, home = build_agent(ScriptedLlm(default="ok")), {"home": str(gaia_home())}
        async with open_plugin_host(tmp_path, agent, config=home) as host:
            for text in (f"I like {WORD}.", "/reset"):
                await host.run_turn(text)

    asyncio.run(talk())
    config = str(write_offline_config(tmp_path, f"app: {APP}"))
    run_gaia("chat", "--user", "itay", "--channel", "cli", "--config", config, stdin="I like teal.\n/reset\n")
    memory(config, "add", "itay", "likes tea")
    chosen = [rows(config, "itay").get(each, each) for each in arguments]
    done = forget(config, "--receipt", str(tmp_path / "receipt.json"), *chosen)

    assert (done.code, done.err) == (0, "")
    told = "Note: a conversation in your own Runner, or in an earlier session database, stays there until it is deleted"
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    assert [told in done.out, any("own Runner" in note for note in receipt["notes"])] == [is_meant, is_meant]


@pytest.mark.slow
@pytest.mark.parametrize("message", ["I like tea.", "/reset"], ids=["open", "rewound"])
def test_a_conversation_in_the_hosts_own_runner_is_deleted_once_its_database_is_read(
    tmp_path: Path, message: str
) -> None:
    """Before that one note says how; afterwards nothing stays, and no note says that something does."""

    async def talk() -> None:
        agent, home = build_agent(ScriptedLlm(default="ok")), {"home": str(gaia_home())}
        async with open_plugin_host(tmp_path, agent, config=home) as host:
            for text in (f"/remember I like {WORD}", f"My boat is made of {WORD}.", message):
                await host.run_turn(text)

    def read_receipt(extra: str) -> tuple[list[str], int, str]:
        receipt = tmp_path / "receipt.json"
        done = forget(str(write_offline_config(tmp_path, extra)), "--receipt", str(receipt), "--force")
        assert (done.code, done.err) == (0, "")
        paper = json.loads(receipt.read_text())
        return paper["notes"], paper["removed"].get("conversations", 0), done.out

    asyncio.run(talk())
    database = tmp_path / "host.db"
    unread = [read_receipt(f"app: {APP}") for _ in range(2)]
    had_word = WORD.encode() in database.read_bytes()
    read = [read_receipt(f"app: {APP}\nsessions: {{database_url: sqlite:///{database}}}") for _ in range(2)]

    assert [receipt[:2] for receipt in unread] == [([HOST_SESSION_NOTE], 0)] * 2
    assert "`sessions.database_url`" in HOST_SESSION_NOTE
    assert had_word
    assert [receipt[:2] for receipt in read] == [([], 1), ([], 0)]
    assert "\nDeleted 1 conversation with all messages.\n" in read[0][2]
    assert WORD.encode() not in database.read_bytes()


@pytest.mark.slow
def test_a_receipt_that_cannot_be_written_is_printed_after_the_facts_are_reported_gone(config: str) -> None:
    """Then the failed file and the reason; the files are still rewritten."""
    done = forget(config, "--receipt", "/dev/full")

    assert done.code == 1
    assert done.out.splitlines()[:2] == [
        "Forgot 2 facts about itay.",
        "The files are rewritten: nothing of what was deleted is in them.",
    ]
    receipt = json.loads(done.out.partition("The receipt:\n")[2])
    assert (receipt["user"], receipt["count"], receipt["files"]) == ("itay", 2, "rewritten")
    assert "the facts are deleted" in done.err
    assert "/dev/full cannot be used (No space left on device)" in done.err
    assert len(done.err.splitlines()) == 1
    assert (rows(config, "itay"), files_with(WORD)) == ({}, [])


@pytest.mark.slow
@pytest.mark.parametrize("end", ["-wal", "-shm"])
def test_a_receipt_does_not_replace_a_database_file(config: str, end: str) -> None:
    """Nothing is forgotten, and the memory is not damaged."""
    done = forget(config, "--receipt", f"{gaia_home() / 'memory.db'}{end}", "--force")

    assert (done.code, done.out) == (1, "")
    assert "is part of a database, which would be damaged" in done.err
    assert len(rows(config, "itay")) == 2


def test_a_folder_as_receipt_is_refused_and_nothing_is_forgotten(config: str, tmp_path: Path) -> None:
    """Also with `--force`, which replaces only files."""
    done = forget(config, "--receipt", str(tmp_path), "--force")

    assert (done.code, done.out) == (1, "")
    assert done.err == f"gaia: {tmp_path} is a folder: name a file in it for the receipt\n"
    assert rows(config, "itay").keys() == {f"likes {WORD}", "likes tea"}


@pytest.mark.slow
def test_a_receipt_folder_deleted_meanwhile_loses_no_receipt(config: str, tmp_path: Path) -> None:
    """It exists before anything is forgotten, and is gone when the receipt is written."""
    folder = tmp_path / "papers"
    folder.mkdir()
    arguments = ["memory", "forget", "--user", "itay", "--config", config, "--receipt", str(folder / "itay.json")]
    command = [sys.executable, "-m", "gaia_memory.cli", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        asked = process.stderr.read(len("Forget 2 facts about itay"))
        (folder / "itay.json").unlink()
        folder.rmdir()
        out, err = process.communicate(b"y\n", timeout=60)

    assert asked == b"Forget 2 facts about itay"
    assert process.returncode == 1
    assert out.decode().splitlines()[0].strip() == "Forgot 2 facts about itay."
    assert json.loads(out.decode().partition("The receipt:\n")[2])["count"] == 2
    assert f"{folder / 'itay.json'} cannot be used" in err.decode()
    assert rows(config, "itay") == {}


@pytest.mark.slow
@pytest.mark.parametrize("is_off", [False, True])
def test_a_second_forget_after_a_kill_reports_that_it_finished_the_first(
    config: str, tmp_path: Path, is_off: bool
) -> None:
    """Only files are left to clean: the message says so, in JSON and in the receipt too."""
    killed(config)
    paper = tmp_path / "receipt.json"
    done = forget(switched_off(config) if is_off else config, "--receipt", str(paper))
    receipt = json.loads(paper.read_text(encoding="utf-8"))

    assert done.code == 0
    assert done.out.splitlines() == [
        "Forgot 0 facts about itay.",
        "The files are rewritten: nothing of what was deleted is in them.",
        "Note: an earlier forget, whose files were still to be rewritten, is finished.",
    ]
    assert (receipt["count"], receipt["earlier_erasures"], receipt["files"]) == (0, 1, "rewritten")
    assert any("an earlier forget" in remark for remark in receipt["notes"])
    assert (erasures(config), files_with(WORD)) == (0, [])


@pytest.mark.slow
def test_forgetting_a_fact_again_after_a_kill_still_cleans_the_files(config: str) -> None:
    """The fact no longer exists, which is an error, but the files are cleaned."""
    fact_id = rows(config, "itay")[f"likes {WORD}"]
    killed(config, fact_id)
    done = forget(config, "--id", fact_id)

    assert (done.code, done.out) == (1, "")
    assert f"itay has no fact with the id '{fact_id}'" in done.err
    assert "an earlier forget, whose files were still to be rewritten, is finished\n" in done.err
    assert (erasures(config), files_with(WORD)) == (0, [])


@pytest.mark.slow
def test_copies_stay_until_they_are_asked_for(config: str) -> None:
    """Even if the fact that they were made from is gone."""
    tea = rows(config, "itay")["likes tea"]
    data = memory(config, "export", "itay").out
    run_gaia("memory", "import", "--user", "noa", "--config", config, "-", stdin=data)
    first = forget(config, "--json", "--id", tea[:8])
    left = rows(config, "noa")
    second = forget(config, "--copies", "--id", tea)
    third = forget(config, "--copies", "--json")

    assert (first.json_output["count"], first.json_output["copies"]) == (1, 1)
    assert "1 copy that imports made stays in the memory of others" in first.json_output["notes"][0]
    assert list(left) == ["likes coffee", f"likes {WORD}", "likes tea"]
    assert second.out.startswith("Forgot 0 facts about itay. 1 of the copies that others had is deleted.\n")
    assert (third.json_output["count"], third.json_output["removed"]["copies"]) == (1, 1)
    assert list(rows(config, "noa")) == ["likes coffee"]
    assert files_with(WORD) == []
