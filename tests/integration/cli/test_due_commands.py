"""`gaia memory due` and `gaia due`, and what a chat without a key makes due."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from gaia_memory import NewFact, open_memory
from gaia_memory.database.sql_engine import open_engine
from support.cli.cli_runner import CommandResult, run_gaia, write_offline_config
from support.cli.terminal import running_command
from support.databases import memory_url


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Return the path of a configuration for an empty home."""
    return str(write_offline_config(tmp_path))


@pytest.mark.slow
async def test_watching_survives_a_cut_of_the_database_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    """The connections of the server are cut between two reminders; no traceback is shown."""
    async with memory_url("postgresql", tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        config = str(write_offline_config(tmp_path, f"memory: {{database_url: '{address}'}}"))
        pipe = subprocess.PIPE
        with running_command("due", "--watch", "--config", config, stdout=pipe, stderr=pipe) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            lines = []
            for text in ("Call Ann", "Call Bob"):
                await asyncio.to_thread(add_facts, config, "ada", NewFact(text, due_at=datetime.now(UTC)))
                lines.append(await asyncio.to_thread(process.stdout.readline))
                async with open_engine(url).connect() as connection:
                    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                    await connection.execute(sql(f"{cut} AND pid <> pg_backend_pid()"))
            process.send_signal(signal.SIGINT)
            code, said = await asyncio.to_thread(process.wait, 60), process.stderr.read()

    assert [line.decode().split(" ada: ")[1] for line in lines] == ["Call Ann\n", "Call Bob\n"]
    assert (code, said) == (130, b"")


def list_due(config: str, *arguments: str) -> CommandResult:
    """Run `gaia memory due` for one user."""
    return run_gaia("memory", "due", "--user", "ada", "--config", config, *arguments)


def add_facts(config: str, user: str, *facts: NewFact) -> None:
    """Store facts as a host does."""

    async def add() -> None:
        async with open_memory(config) as gaia:
            await gaia.memory.add(gaia.scope(user), list(facts))

    asyncio.run(add())


def test_a_request_in_a_chat_is_due_on_its_day(config: str) -> None:
    """By `/remember`; nothing of another user."""
    run_gaia("chat", "--user", "ada", "--config", config, stdin="/remember remind me tomorrow at 9 to call Anna\n")
    [due] = list_due(config, "--json").json_output["memories"]
    empty = run_gaia("memory", "due", "--user", "eve", "--config", config)

    assert "call Anna" in due["text"]
    assert due["overdue"] is False
    tomorrow = datetime.now(UTC).astimezone() + timedelta(days=1)
    at_nine = tomorrow.replace(hour=9, minute=0, second=0, microsecond=0)
    assert abs(datetime.fromisoformat(due["due_at"]) - at_nine) <= timedelta(days=1)
    assert datetime.fromisoformat(due["due_at"]).astimezone().hour == 9
    assert empty.out == "Nothing is due for eve within 7 days.\n"


def test_what_is_due_is_listed_soonest_first_with_its_zone(config: str) -> None:
    """Overdue and recurring facts say so; `--days` looks further ahead."""
    now = datetime.now(UTC)
    add_facts(
        config,
        "ada",
        NewFact("Far", due_at=now + timedelta(days=20)),
        NewFact("Bins", due_at=now + timedelta(days=2), due_zone="Asia/Tokyo", every="weekly"),
        NewFact("Late", due_at=now - timedelta(days=2)),
    )
    shown, further = list_due(config).out, list_due(config, "--days", "30", "--json").json_output["memories"]

    assert [row["text"] for row in further] == ["Late", "Bins", "Far"]
    assert shown.index("Late") < shown.index("Bins")
    assert "overdue" in shown
    assert "Asia/Tokyo" in shown
    assert "weekly" in shown
    assert "Far" not in shown
    assert "Far" in list_due(config, "--days", "21").out


def test_gaia_due_announces_once(config: str) -> None:
    """For every user, as lines or as JSON; a second run finds nothing and says so beside the output."""
    now = datetime.now(UTC)
    add_facts(config, "ada", NewFact("Call\nAnna", due_at=now - timedelta(minutes=1), due_zone="Asia/Tokyo"))
    first = run_gaia("due", "--config", config)
    add_facts(config, "eve", NewFact("Call Bob", due_at=now - timedelta(minutes=1)))
    second = run_gaia("due", "--json", "--config", config)
    third = run_gaia("due", "--config", config)

    assert first.out.count("\n") == 1
    assert "Asia/Tokyo ada: Call" in first.out
    [line] = second.out.splitlines()
    assert (json.loads(line)["user"], json.loads(line)["text"]) == ("eve", "Call Bob")
    assert json.loads(line)["announcement"].startswith(json.loads(line)["id"])
    assert (third.out, third.err) == ("", "Nothing has become due since the last announcement.\n")
