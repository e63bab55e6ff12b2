"""`gaia memory forget` in difficult cases: memory off, open conversations, an earlier forget killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gaia_memory import open_memory
from gaia_memory.backend.providers.sentence_encoder import load_model
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

NOTHING = "gaia: nothing to forget about {!r}\n"


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration for a home with facts about two users."""
    load_model()  # What is written before gets its vectors later.
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
        assert (again.code, again.err) == (1, NOTHING.format("itay"))


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
    done = forget(config, *chosen)

    assert (done.code, done.err) == (0, "")
    told = "Note: a conversation in your own Runner, or in an earlier session database, stays there until it is deleted"
    assert (told in done.out) == is_meant


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

    def read_receipt(extra: str) -> tuple[list[str], int]:
        done = forget(str(write_offline_config(tmp_path, extra)), "--json")
        assert (done.code, done.err) == (0, "")
        receipt = done.json_output
        return receipt["notes"], receipt["removed"].get("conversations", 0)

    asyncio.run(talk())
    database = tmp_path / "host.db"
    unread = [read_receipt(f"app: {APP}") for _ in range(2)]
    had_word = WORD.encode() in database.read_bytes()
    read = [read_receipt(f"app: {APP}\nsessions: {{database_url: sqlite:///{database}}}") for _ in range(2)]

    assert unread == [([HOST_SESSION_NOTE], 0)] * 2
    assert "`sessions.database_url`" in HOST_SESSION_NOTE
    assert had_word
    assert read == [([], 1), ([], 0)]
    assert WORD.encode() not in database.read_bytes()


@pytest.mark.slow
def test_a_second_forget_after_a_kill_finishes_the_first(config: str) -> None:
    """Only files are left to clean."""
    killed(config)
    done = forget(config)

    assert (done.code, done.out) == (0, "Forgot 0 facts about itay.\n")
    assert (erasures(config), files_with(WORD)) == (0, [])


@pytest.mark.slow
def test_forgetting_a_fact_again_after_a_kill_still_cleans_the_files(config: str) -> None:
    """The fact no longer exists, which is an error, but the files are cleaned."""
    fact_id = rows(config, "itay")[f"likes {WORD}"]
    killed(config, fact_id)
    done = forget(config, "--id", fact_id)

    assert (done.code, done.out) == (1, "")
    assert f"itay has no fact with the id '{fact_id}'" in done.err
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
    assert second.out.startswith("Forgot 0 facts about itay. Deleted 1 of the copies that others had.\n")
    assert (third.json_output["count"], third.json_output["removed"]["copies"]) == (1, 1)
    assert list(rows(config, "noa")) == ["likes coffee"]
    assert files_with(WORD) == []
