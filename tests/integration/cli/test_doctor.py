"""`gaia doctor` on sound and on broken installations."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from gaia_memory.cli.doctor import checks, database_checks, model_checks
from support.cli.cli_runner import CommandResult, gaia_home, run_gaia, run_gaia_process, write_offline_config
from support.cli.doctor_homes import (
    build_home,
    file_stats,
    findings_of,
    opened_by_another_process,
    run_doctor,
    worst_states,
)
from support.cli.terminal import TerminalScreen, running_command
from support.databases import memory_url
from support.servers.fake_gemini import Blocked, Failure, FakeGemini, Hang, call, facts, invalid_key
from support.servers.fake_openai import CHAT_MODEL, FakeOpenAI

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

SAMPLE_FACTS = facts("User's sister Noa lives in Lisbon", "User is allergic to peanuts")
PARTS = [
    "config",
    "environment",
    "versions",
    "agents",
    "home",
    "memory database",
    "session database",
    "store",
    "conversations",
    "tokens",
    "memory's model",
    "embedder",
    "agents' model",
]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a configuration with keyless defaults."""
    return write_offline_config(tmp_path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a home once, to be copied."""
    return build_home(tmp_path_factory.mktemp("filled") / "home")


@pytest.fixture
def used(config: Path, filled: Path) -> Path:
    """Return the configuration of a home with a fact and a pending conversation."""
    shutil.copytree(filled, gaia_home(), symlinks=True)
    return config


def database(name: str = "memory.db") -> Path:
    """Return the path of a database of the home."""
    return gaia_home() / name


def test_a_new_installation_passes(config: Path) -> None:
    """Every part is reported, no file is created, and no key is needed."""
    done = run_doctor(config)

    assert done.code == 0, done.out
    assert list(dict.fromkeys(each["part"] for each in done.json_output["findings"])) == PARTS
    assert done.json_output["ok"] is True
    assert set(worst_states(done).values()) == {"ok", "skipped"}
    assert findings_of(done, "store") == [("skipped", "there are no facts yet", "")]
    assert "offline" in findings_of(done, "memory's model")[0][1]
    assert not gaia_home().exists()


@pytest.mark.slow
def test_an_installation_in_use_passes(used: Path) -> None:
    """Store, pending conversations and databases are reported, also in the readable output."""
    done = run_doctor(used)
    shown = run_gaia("doctor", "--config", str(used))

    assert done.code == shown.code == 0, done.out
    assert set(worst_states(done).values()) == {"ok", "skipped"}
    assert re.search(r"store/\w{32} is intact, and no process has it open", findings_of(done, "store")[0][1])
    assert "1 conversation not learned yet" in findings_of(done, "conversations")[0][1]
    assert re.search(r"^OK   memory database   \S+memory\.db is intact$", shown.out, re.MULTILINE)
    assert re.search(r"\n\d+ passed, 0 warnings, 0 failures, 1 skipped\n$", shown.out)


@pytest.mark.slow
def test_doctor_changes_no_file(used: Path, gemini: FakeGemini) -> None:
    """No file, timestamp or permission, even if models are asked and mem0 is loaded for the first time."""
    used.write_text("model: gemini-3.5-flash\n", encoding="utf-8")
    gemini.set_default("extractor", SAMPLE_FACTS)
    shutil.rmtree(gaia_home() / "mem0")
    before = file_stats(gaia_home())
    done = run_gaia_process("doctor", "--config", str(used), "--json")

    assert done.code == 0, done.out + done.err
    assert [request.kind for request in gemini.requests] == ["extractor", "agent"]
    assert file_stats(gaia_home()) == before


def test_neither_secrets_nor_user_messages_are_printed(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is checked, and whatever is wrong."""
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza-not-to-be-seen")
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-nor-this")
    monkeypatch.setenv("GAIA_SESSIONS__DATABASE_URL", "postgresql://me:hush-hush@127.0.0.1:1/talk")
    done = run_doctor(used, "--no-model")

    assert done.code == 1
    for secret in ("not-to-be-seen", "nor-this", "hush-hush", "nuts", "Noa"):
        assert secret not in done.out + done.err


def test_problems_of_the_configuration_are_listed_and_other_checks_still_run(tmp_path: Path) -> None:
    """Each problem is a finding; checks that need a configuration are reported as skipped."""
    config = write_offline_config(tmp_path, "memory: {recall_limit: 500, enabled: perhaps}")
    done = run_doctor(config)

    assert done.code == 1
    assert [state for state, _, _ in findings_of(done, "config")] == ["fail", "fail"]
    assert any("memory.recall_limit: 500" in message for _, message, _ in findings_of(done, "config"))
    assert str(config) in findings_of(done, "config")[0][2]
    assert worst_states(done) | {"config": "fail", "environment": "ok", "versions": "ok"} == worst_states(done)
    assert {state for part, state in worst_states(done).items() if part not in PARTS[:3]} == {"skipped"}
    assert run_doctor(tmp_path / "none.yaml").code == 1


def test_variables_are_listed_and_unknown_ones_found(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only their names are shown; an unknown name is a warning."""
    monkeypatch.setenv("GAIA_MEMORY__LLM__MODEL", "some-model")
    monkeypatch.setenv("GAIA_RECALL_LIMIT", "3")
    done = run_doctor(config)
    (_, in_force, _), (unknown, says, remedy), *_ = findings_of(done, "environment")

    assert "GAIA_HOME, GAIA_MEMORY__LLM__MODEL" in in_force
    assert (unknown, "GAIA_RECALL_LIMIT" in says, bool(remedy)) == ("warn", True, True)


def test_agents_beside_the_configuration_are_checked(config: Path) -> None:
    """The remedy is what `gaia init` would do; an agent set up by `gaia init` passes."""
    folder = config.parent
    (folder / "shop").mkdir()
    (folder / "shop" / "agent.py").write_text("root_agent = None\n", encoding="utf-8")
    missing = findings_of(run_doctor(config), "agents")
    run_gaia("init", str(folder))
    right = findings_of(run_doctor(config), "agents")
    (folder / "shop" / "services.yaml").write_text("services:\n- {scheme: mem0, type: memory, class: a.B}\n")
    wrong = findings_of(run_doctor(config), "agents")

    assert [state for state, _, _ in missing] == ["warn", "warn"]
    assert missing[0][2] == f"run `gaia init {folder}`"
    assert [state for state, _, _ in right] == ["ok"]
    assert "shop" in right[0][1]
    assert [state for state, _, _ in wrong] == ["fail"]


def test_a_home_that_is_a_file_is_reported(config: Path) -> None:
    """A home below a file is reported too."""
    gaia_home().write_text("x", encoding="utf-8")
    done = run_doctor(config)
    below = run_gaia("doctor", "-c", str(write_offline_config(config.parent)), "--json")

    assert (done.code, worst_states(done)["home"], below.code) == (1, "fail", 1)
    assert f"{gaia_home()} is no folder that this user may read and write" in findings_of(done, "home")[0][1]
    assert "GAIA_HOME" in findings_of(done, "home")[0][2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_unreadable_home_is_reported(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to another user; nothing of its content is shown, and no check fails unexpectedly."""
    run_doctor(used)
    # Where everybody may look: the tests' own folder may be closed to others.
    with tempfile.TemporaryDirectory(dir="/tmp") as public:
        os.chmod(public, 0o777)
        monkeypatch.setattr(tempfile, "tempdir", public)
        config = write_offline_config(Path(public), f"home: {public}/home")
        shutil.copytree(gaia_home(), Path(public, "home"))
        Path(public, "home").chmod(0o700)
        monkeypatch.delenv("GAIA_HOME")
        os.seteuid(65534)
        try:
            done = run_doctor(config)
        finally:
            os.seteuid(0)

    assert done.code == 1
    assert findings_of(done, "home")[0][0] == "fail"
    assert "is no folder that this user may read and write" in findings_of(done, "home")[0][1]
    assert worst_states(done)["memory database"] == worst_states(done)["session database"] == "fail"


def test_a_nearly_full_disk_is_reported(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First as a warning, then as a failure."""
    usage = namedtuple("usage", "total used free")
    found = []
    for megabytes in (100, 10):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=megabytes: usage(0, 0, free * 1024**2))
        found.append(findings_of(run_doctor(config), "home")[1][:2])

    assert found == [("warn", "100 MB are free"), ("fail", "10 MB are free")]


def test_files_readable_by_others_are_reported_with_the_command_that_fixes_them(used: Path) -> None:
    """Their permissions stay unchanged until someone runs it."""
    database().chmod(0o644)
    *_, (state, says, remedy) = findings_of(run_doctor(used), "home")
    mode = database().stat().st_mode & 0o777
    os.system(remedy)

    assert (state, mode) == ("warn", 0o644)
    assert f"{database()} (mode 0644)" in says
    assert [row[0] for row in findings_of(run_doctor(used), "home")] == ["ok", "ok"]


@pytest.mark.parametrize("name", ["memory.db", "sessions.db"])
def test_a_damaged_database_is_reported(used: Path, name: str) -> None:
    """A damaged page, or the whole file; the other database is still checked."""
    part, other = ("memory database", "session database")[:: 1 if name == "memory.db" else -1]
    whole = database(name).read_bytes()
    database(name).write_bytes(whole[:8192] + b"\xff" * 4096 + whole[12288:])
    page = run_doctor(used)
    database(name).write_bytes(b"no database" * 1000)
    all_of_it = run_doctor(used)

    for done in (page, all_of_it):
        assert (done.code, worst_states(done)[part], worst_states(done)[other]) == (1, "fail", "ok")
        remedy = findings_of(done, part)[0][2]
        assert "restore a backup" in remedy
        assert "Traceback" not in done.err


def test_a_database_that_is_a_folder_or_locked_is_reported(used: Path) -> None:
    """The remedy names a command that shows who has it locked."""
    with closing(sqlite3.connect(database())) as keeper:
        keeper.execute("PRAGMA locking_mode=EXCLUSIVE")
        keeper.execute("CREATE TABLE mine (x)")
        keeper.commit()
        locked = run_doctor(used)
    database().unlink()
    database().mkdir()
    folder = run_doctor(used)

    assert (locked.code, folder.code) == (1, 1)
    assert "has locked" in findings_of(locked, "memory database")[0][1]
    assert "fuser" in findings_of(locked, "memory database")[0][2]
    assert "is not a regular file" in findings_of(folder, "memory database")[0][1]
    assert findings_of(folder, "store") == [("skipped", "the memory database could not be read", "")]


@pytest.mark.parametrize("empty", [False, True])
def test_a_store_without_its_database_is_reported_before_it_is_lost(used: Path, empty: bool) -> None:
    """With a missing or empty database the store is the last copy."""
    database().unlink()
    if empty:
        database().touch(0o600)
    with_store = run_doctor(used, "--no-model")

    [(state, says, remedy)] = findings_of(with_store, "memory database")
    assert (with_store.code, state) == (1, "fail")
    assert "the store that was filled from it is still there" in says
    assert "restore memory.db first" in remedy


@pytest.mark.parametrize(("version", "state"), [("0000", "warn"), ("9999", "fail")])
def test_tables_of_another_version_are_reported_and_unchanged(
    used: Path, version: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older ones are migrated at the next start, newer ones need a newer package."""
    monkeypatch.setattr(database_checks, "REVISIONS", ("0000", "0001"))
    monkeypatch.setattr("gaia_memory.database.migrate.REVISIONS", ("0000", "0001"))
    with closing(sqlite3.connect(database())) as connection:
        connection.execute("UPDATE gaia_alembic_version SET version_num = ?", (version,))
        connection.commit()
    done = run_doctor(used)
    with closing(sqlite3.connect(database())) as connection:
        [left] = connection.execute("SELECT version_num FROM gaia_alembic_version").fetchone()

    assert (worst_states(done)["memory database"], left) == (state, version)
    assert ("upgrades it" if state == "warn" else "install the version of gaia-memory") in findings_of(
        done, "memory database"
    )[0][2]
    unread = "has an older version" if state == "warn" else "could not be read"
    assert [unread in findings_of(done, part)[0][1] for part in ("store", "conversations")] == [True, True]


def test_an_unreachable_server_is_reported(tmp_path: Path) -> None:
    """Both databases are on it, and neither answers."""
    config = write_offline_config(tmp_path, "sessions: {database_url: 'postgresql://me@127.0.0.1:1/talk'}")
    done = run_doctor(config)

    assert done.code == 1
    assert findings_of(done, "memory database")[0][0] == "fail"
    assert "does not answer" in findings_of(done, "memory database")[0][1]
    assert findings_of(done, "session database") == [("ok", "it is the memory database", "")]


async def test_a_server_in_use_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First empty, then after the first fact."""
    config = write_offline_config(tmp_path)
    async with memory_url("postgresql", tmp_path) as url:
        monkeypatch.setenv("GAIA_SESSIONS__DATABASE_URL", url.render_as_string(hide_password=False))
        empty = await asyncio.to_thread(run_doctor, config)
        await asyncio.to_thread(run_gaia, "memory", "add", "--user", "itay", "--config", str(config), "likes tea")
        used = await asyncio.to_thread(run_doctor, config)

    assert (empty.code, used.code) == (0, 0), used.out
    assert "has no tables yet" in findings_of(empty, "memory database")[0][1]
    assert "is intact" in findings_of(used, "memory database")[0][1]
    assert findings_of(used, "session database") == [("ok", "it is the memory database", "")]
    folder, lag = findings_of(used, "store")
    assert folder[0] == "ok"
    assert folder[1].startswith("the next agent or `gaia chat` creates ")
    assert "still to be copied from the database: 1 fact" in lag[1]


def test_a_damaged_or_missing_store_is_only_a_warning(used: Path) -> None:
    """The next start rebuilds it, and until then nothing is lost."""
    [folder] = [path for path in (gaia_home() / "store").iterdir() if path.is_dir() and not path.is_symlink()]
    (folder / "chroma.sqlite3").write_bytes(b"no database" * 1000)
    damaged = run_doctor(used)
    shutil.rmtree(folder)
    gone = run_doctor(used)

    assert (damaged.code, gone.code) == (0, 0)
    assert findings_of(damaged, "store")[0][0] == findings_of(gone, "store")[0][0] == "warn"
    assert "is damaged" in findings_of(damaged, "store")[0][1]
    assert f"{folder} is damaged (chroma.sqlite3 is missing)" in findings_of(gone, "store")[0][1]
    assert "without calling a model" in findings_of(gone, "store")[0][2]


@pytest.mark.slow
def test_the_process_that_has_the_store_open_is_named_and_not_disturbed(used: Path) -> None:
    """While it runs, and after it was killed."""
    with opened_by_another_process(used) as process:
        running = run_doctor(used)
        process.kill()
        process.wait(60)
    killed = run_doctor(used)

    assert (running.code, killed.code) == (0, 0)
    assert findings_of(running, "store")[0][1].rpartition(" is open in ")[2].startswith(f"process {process.pid}")
    assert findings_of(killed, "store")[0][1].endswith("is intact, and no process has it open")


def test_the_backlog_of_the_store_is_reported(used: Path) -> None:
    """Facts and forgets."""
    run_gaia("memory", "add", "--user", "ada", "--config", str(used), "likes tea", "likes cake")
    with closing(sqlite3.connect(database())) as connection:
        connection.execute("INSERT INTO gaia_erasures (noted_at) VALUES (1)")
        connection.commit()
    _, lag, erasure = findings_of(run_doctor(used), "store")

    assert lag[:2] == ("ok", "still to be copied from the database: 2 facts")
    assert (erasure[0], "1 forget may still have text in files" in erasure[1]) == ("warn", True)


def test_failed_conversations_are_reported_with_their_reason(used: Path) -> None:
    """Parked ones are reported with a remedy."""
    notes = {"last_error": "the model said 503", "attempts": 2, "retry_at": time.time() + 3600}
    _note(**notes)
    failed = findings_of(run_doctor(used), "conversations")
    _note(parked=1, retry_at=None)
    parked = findings_of(run_doctor(used), "conversations")

    assert [state for state, _, _ in failed] == ["warn"]
    assert failed[0][1] == "1 conversation failed, such as itay:cli: the model said 503"
    assert "gaia sweep --force" in failed[0][2]
    assert "correct the cause, then run `gaia sweep --force`" in parked[0][2]


_AGENT_LEARNS = "memory: {llm: {provider: agent}}"


def test_an_overdue_conversation_is_pointed_out(used: Path) -> None:
    """It is long overdue; with `auto_ingest: false` that is expected.

    The command has no model where the agent's own one learns.
    """
    _note(touched=time.time() - 86_400)
    overdue = findings_of(run_doctor(used), "conversations")
    of_agent = findings_of(run_doctor(write_offline_config(used.parent, _AGENT_LEARNS), "--no-model"), "conversations")
    off = findings_of(run_doctor(write_offline_config(used.parent, "memory: {auto_ingest: false}")), "conversations")

    assert (overdue[0][0], "nothing seems to sweep" in overdue[0][1]) == ("warn", True)
    assert overdue[0][2].startswith("start the process")
    assert (of_agent[0][0], of_agent[0][2].startswith("run the sweep in the process of the agent")) == ("warn", True)
    assert (off[0][0], "`memory.auto_ingest` is false" in off[0][1]) == ("ok", True)


def _note(**columns: object) -> None:
    """Set columns of the only row in the ledger."""
    with closing(sqlite3.connect(database())) as connection:
        names = ", ".join(f"{name} = ?" for name in columns)
        changed = connection.execute(f"UPDATE gaia_conversations SET {names}", list(columns.values())).rowcount
        connection.commit()
    assert changed == 1


@pytest.fixture
def gemini_config(tmp_path: Path) -> Path:
    """Return a configuration that uses Gemini for everything."""
    path = tmp_path / "gaia.yaml"
    path.write_text("", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("model", "environ", "remedy"),
    [
        ("openai:gpt-5", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "put `llm: {provider: agent}` under `memory:`"),
        (
            "gemini-2.5-pro",
            {"GOOGLE_GENAI_USE_VERTEXAI": "1"},
            "put `llm: {provider: gemini, vertexai: true, project: YOUR-PROJECT, location: global}` under `memory:`",
        ),
    ],
)
def test_offline_parts_beside_a_real_model_are_a_warning(
    config: Path, monkeypatch: pytest.MonkeyPatch, model: str, environ: dict[str, str], remedy: str
) -> None:
    """With the setting that changes it; where everything is offline, `auto` only says how to change that."""
    monkeypatch.setenv("GAIA_MODEL", model)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    done = run_doctor(config, "--no-model")
    [learns] = findings_of(done, "memory's model")

    assert done.code == 0
    assert learns[0] == "warn"
    assert f"although the agents' model is {model}" in learns[1]
    assert learns[2].startswith(remedy)


def test_what_vertex_ai_lacks_is_named(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The project."""
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    without = findings_of(run_doctor(config, "--no-model"), "environment")[-1]
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "garden")
    done = run_doctor(config, "--no-model")

    assert without[0] == "warn"
    assert without[2] == "set GOOGLE_CLOUD_PROJECT"
    assert findings_of(done, "environment")[-1][:2] == (
        "ok",
        "Gemini on Vertex AI: project garden",
    )
    assert findings_of(done, "embedder")[0][1] == "gemini/gemini-embedding-001/768: not asked (--no-model)"


@pytest.mark.slow
def test_each_model_is_asked_what_it_will_be_asked(gemini_config: Path, gemini: FakeGemini) -> None:
    """Memory's model to extract facts, the agents' to call a tool, even if they are the same."""
    gemini.set_default("extractor", SAMPLE_FACTS)
    gemini.set_default("agent", call("remember", fact="User likes tea"))
    done = run_doctor(gemini_config)
    asked = {request.kind: request for request in gemini.requests}
    gemini_config.write_text("model: gemini-other\nmemory: {llm: {provider: offline}}\n", encoding="utf-8")
    gemini.set_default("agent", "Sure, I will remember that.")
    without_tools = run_doctor(gemini_config)

    assert done.code == without_tools.code == 0, done.out
    assert list(asked) == ["extractor", "embedder", "agent"]
    assert "I am allergic to peanuts" in asked["extractor"].contents
    assert "durable facts" in asked["extractor"].system
    assert "remember" in str(asked["agent"].body["tools"])
    assert "gemini-3.5-flash answers and learns" in findings_of(done, "memory's model")[0][1]
    assert findings_of(done, "embedder")[0][1] == "gemini/models/gemini-embedding-2/768 answers"
    assert findings_of(done, "agents' model")[0][:2] == ("ok", "gemini-3.5-flash answers and calls tools")
    [(state, says, remedy)] = findings_of(without_tools, "agents' model")
    assert (state, says.partition(":")[0]) == ("warn", "gemini-other answers, but calls no tool")
    assert "choose a model with tools" in remedy


BAD_LEARNERS = {
    "nothing": (facts(), "finds no fact in `I am allergic to peanuts.`"),
    "an echo": (facts("User's brother Tomasz opens his bakery on 2031-03-05"), "only repeats the prompt"),
    "prose": ("Sure!", "gives a bad answer: the answer is no JSON"),
}


@pytest.mark.parametrize("name", BAD_LEARNERS, ids=BAD_LEARNERS)
def test_a_model_that_cannot_learn_is_reported(name: str, gemini_config: Path, gemini: FakeGemini) -> None:
    """Although it answers."""
    answer, says = BAD_LEARNERS[name]
    gemini.set_default("extractor", answer)
    [finding] = findings_of(run_doctor(gemini_config), "memory's model")

    assert finding[0] == "warn"
    assert says in finding[1]


def test_a_context_that_is_too_small_is_reported(tmp_path: Path) -> None:
    """Its one small question would have fit."""
    config = tmp_path / "gaia.yaml"
    with FakeOpenAI(context_tokens=500) as server:
        config.write_text(f"model: offline\nmemory: {_learning_at(server.url)}\n", encoding="utf-8")
        [(state, says, _)] = findings_of(run_doctor(config), "memory's model")

    assert state == "fail"
    assert "does not fit into the model's context" in says
    assert "500 tokens" in says


def _learning_at(url: str) -> str:
    """Return the memory section for a model on a server."""
    llm = f"{{provider: openai, model: {CHAT_MODEL}, openai_base_url: '{url}'}}"
    return f"{{llm: {llm}, embedder: {{provider: offline}}}}"


@pytest.mark.parametrize(
    ("answer", "state"), [(invalid_key(), "fail"), (Failure(404), "fail"), (Failure(400), "warn"), (Blocked(), "warn")]
)
def test_a_wrong_answer_of_a_model_is_reported(
    gemini_config: Path, gemini: FakeGemini, answer: Failure | Blocked, state: str
) -> None:
    """With a remedy; the embedder is still asked."""
    gemini.set_default("extractor", answer)
    done = run_doctor(gemini_config)

    assert worst_states(done)["memory's model"] == state
    assert findings_of(done, "memory's model")[0][2]
    assert worst_states(done)["embedder"] == "ok"
    assert "no-real-key" not in done.out


def test_a_hanging_model_is_given_up(gemini_config: Path, gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch) -> None:
    """After seconds, not after the minutes that learning waits."""
    monkeypatch.setattr(model_checks, "MODEL_TIMEOUT_SECONDS", 0.3)
    gemini_config.write_text("model: gemini-other\nmemory: {llm: {model: gemini-third}}\n", encoding="utf-8")
    for kind in ("agent", "extractor", "embedder"):
        gemini.set_default(kind, Hang())
    started = time.monotonic()
    done = run_doctor(gemini_config)
    gemini.release_hanging()

    assert time.monotonic() - started < 45
    assert [worst_states(done)[part] for part in PARTS[-3:]] == ["fail"] * 3
    assert all("no answer in time" in findings_of(done, part)[0][1] for part in PARTS[-3:])


def test_vectors_of_another_embedder_are_pointed_out(used: Path, gemini: FakeGemini) -> None:
    """Those facts are found only by their words; `auto` continues with the stored embedder."""
    gemini.set_default("extractor", SAMPLE_FACTS)
    used.write_text("model: offline\nmemory: {embedder: {provider: gemini}}\n", encoding="utf-8")
    done = run_doctor(used)
    used.write_text("model: offline\n", encoding="utf-8")
    auto = run_doctor(used)

    assert [state for state, _, _ in findings_of(done, "embedder")] == ["ok", "warn"]
    assert "vectors of offline/" in findings_of(done, "embedder")[1][1]
    assert [state for state, _, _ in findings_of(auto, "embedder")] == ["ok"]
    assert "the embedder is that of the stored vectors" in findings_of(auto, "memory's model")[0][1]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("offlin", "use `auto`, `offline`"), ("gpt-5", "set OPENAI_API_KEY, or OPENAI_BASE_URL")],
)
def test_a_model_that_cannot_be_built_is_reported_with_its_remedy(tmp_path: Path, name: str, remedy: str) -> None:
    """A name that ADK does not know, or a missing key."""
    config = tmp_path / "gaia.yaml"
    config.write_text(f"model: {name}\n", encoding="utf-8")
    [(state, _, said)] = findings_of(run_doctor(config), "agents' model")

    assert (state, said.startswith(remedy)) == ("fail", True)


def test_an_external_store_is_checked_for_a_connection(used: Path) -> None:
    """The finding names the key and the value."""
    nobody = {"model": "offline", "memory": {"vector_store": {"provider": "chroma", "host": "127.0.0.1", "port": 1}}}
    used.write_text(yaml.safe_dump(nobody), encoding="utf-8")
    down = findings_of(run_doctor(used), "store")

    assert down[0][0] == "warn"
    assert "memory.vector_store.host is '127.0.0.1', and there is no answer" in down[0][1]


def test_a_crashing_check_is_a_finding_of_its_own(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The following checks still run, and `--debug` shows where it crashed."""

    def broken(_: object) -> list[object]:
        raise ZeroDivisionError

    monkeypatch.setitem(checks.CHECKS, "home", broken)  # type: ignore[arg-type]
    done: CommandResult = run_doctor(config)

    assert done.code == 1
    assert findings_of(done, "home") == [
        ("fail", "the check failed (ZeroDivisionError)", "`gaia --debug doctor` shows why")
    ]
    assert worst_states(done)["agents' model"] == "ok"
    assert "ZeroDivisionError" in run_gaia("--debug", "doctor", "--config", str(config)).err


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of Unix")
def test_progress_is_shown_at_the_terminal_and_findings_go_to_standard_output(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a terminal with standard output redirected to a file."""
    import pty

    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = pty.openpty()
    with running_command("doctor", "--config", str(config), stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = TerminalScreen(ours).read_until(b"agents' model")
        out, _ = process.communicate(timeout=60)
    os.close(ours)

    assert b"Checking: memory database" in shown
    assert re.findall(r"^OK   (home|tokens) ", out.decode(), re.MULTILINE)[-1] == "home"
    assert b"Checking" not in out
