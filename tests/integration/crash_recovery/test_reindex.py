"""`gaia memory reindex` killed at any moment: nothing is lost, everything is found, and the next run continues."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import text as sql

from gaia_memory import NewFact, open_memory
from gaia_memory.config.sources.load import load
from gaia_memory.database.sql_engine import open_engine
from integration.crash_recovery.conftest import postgres_database
from support.cli.cli_runner import GAIA_COMMAND
from support.databases import on_each_database
from support.kill.kill_harness import KillingGemini

COUNT = 384
USERS = ("ada", "ben", "cleo", "dan")
GEMINI = "gemini/models/gemini-embedding-2/768"
SECONDS = 90.0

Settings = dict[str, Any]


def word(number: int) -> str:
    """Return a word that occurs in only one fact."""
    return f"qz{number:05d}"


@contextmanager
def installed(folder: Path, kind: str) -> Iterator[tuple[Settings, KillingGemini]]:
    """Return the settings of a memory on a kind of database, with the offline embedder, and a fake Gemini server."""
    with ExitStack() as stack:
        offline = {"provider": "offline"}
        settings: Settings = {"model": "offline", "memory": {"llm": offline, "embedder": offline}}
        if kind == "postgresql":
            settings["sessions"] = {"database_url": stack.enter_context(postgres_database(folder))}
        yield settings, stack.enter_context(KillingGemini())


def with_gemini(settings: Settings) -> Settings:
    """Return the settings after a change of the embedder."""
    return {**settings, "memory": {**settings["memory"], "embedder": {"provider": "gemini"}}}


async def fill(settings: Settings, home: Path) -> None:
    """Write facts of several users, none of them indexed with the words of this version."""
    async with open_memory(settings, home=home) as gaia:
        for place, user in enumerate(USERS):
            texts = [f"Keeps {word(number)} at home" for number in range(place, COUNT, len(USERS))]
            await gaia.memory.add(gaia.scope(user), [NewFact(text) for text in texts])
    async with rows(settings, home) as ask:
        await ask("UPDATE gaia_facts SET form = 1")


class rows:  # noqa: N801
    """Return a function that queries the database directly."""

    def __init__(self, settings: Settings, home: Path) -> None:
        self._engine = open_engine(load(dict(settings), home=home).config.memory_url)

    async def __aenter__(self) -> Callable[[str], Any]:
        async def ask(statement: str) -> list[Any]:
            async with self._engine.begin() as tx:
                result = await tx.execute(sql(statement))
                return list(result.all()) if result.returns_rows else []

        return ask

    async def __aexit__(self, *error: object) -> None:
        await self._engine.dispose()


def started(config: Path, gemini: KillingGemini, home: Path) -> subprocess.Popen[bytes]:
    """Start the command as a child process."""
    environ = {**os.environ, **gemini.environment, "GAIA_HOME": str(home)}
    arguments = [*GAIA_COMMAND, "memory", "reindex", "--json", "--config", str(config)]
    return subprocess.Popen(arguments, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


async def killed_in_the_words(settings: Settings, home: Path, process: subprocess.Popen[bytes], done: int) -> None:
    """Kill it once that many facts are indexed."""
    until = time.monotonic() + SECONDS
    async with rows(settings, home) as ask:
        while process.poll() is None and time.monotonic() < until:
            [(count,)] = await ask("SELECT count(*) FROM gaia_facts WHERE form <> 1")
            if count >= done:
                break
            await asyncio.sleep(0.002)
    process.kill()


async def look(settings: Settings, home: Path) -> None:
    """Check that every fact exists once and is found by its word, for its user alone."""
    async with rows(settings, home) as ask:
        [(facts,)] = await ask("SELECT count(*) FROM gaia_facts")
        assert facts == COUNT
    async with open_memory(with_gemini(settings), home=home) as gaia:
        for number in random.Random(facts).sample(range(COUNT), 20):
            user = USERS[number % len(USERS)]
            hits = await gaia.memory.recall(gaia.scope(user), f"Where is {word(number)}?")
            assert f"Keeps {word(number)} at home" in [hit.fact.text for hit in hits]
            other = USERS[(number + 1) % len(USERS)]
            hits = await gaia.memory.recall(gaia.scope(other), word(number))
            assert word(number) not in " ".join(hit.fact.text for hit in hits)


async def check_end(settings: Settings, home: Path) -> None:
    """Check that everything has the new embedder and this version's words, and the mem0 store contains exactly that."""
    async with rows(settings, home) as ask:
        assert await ask("SELECT DISTINCT embedder FROM gaia_facts") == [(GEMINI,)]
        assert await ask("SELECT count(*) FROM gaia_facts WHERE form = 1") == [(0,)]
    async with open_memory(with_gemini(settings), home=home) as gaia:
        await gaia.memory.settled()
        for user in USERS:
            scope = gaia.scope(user)
            filters = {"user_id": scope.partition}
            listed = await asyncio.to_thread(gaia.mem0.get_all, filters=filters, top_k=10_000)
            mine = {row["id"]: row["memory"] for row in listed["results"]}
            assert mine == {fact.id: fact.text for fact in await gaia.memory.facts(scope)}


@pytest.mark.slow
@on_each_database
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
@pytest.mark.timeout(300)
def test_a_killed_reindex_loses_nothing_and_the_next_run_continues(tmp_path: Path, kind: str, kills: int) -> None:
    """Killed while indexing words and while embedding, each time a little later; then one run completes."""
    chance = random.Random(f"{kind} {kills}")
    home, config = tmp_path / "home", tmp_path / "gaia.yaml"
    with installed(tmp_path, kind) as (settings, gemini), pytest.MonkeyPatch.context() as environ:
        for name, value in gemini.environment.items():
            environ.setenv(name, value)
        asyncio.run(fill(settings, home))
        config.write_text(yaml.safe_dump({**with_gemini(settings), "home": str(home)}))
        each = kills // 2
        for turn in range(each):
            process = started(config, gemini, home)
            done = COUNT * (turn + chance.random()) / each
            asyncio.run(killed_in_the_words(settings, home, process, int(done)))
            with closing(process.stdout), closing(process.stderr):
                process.wait(SECONDS)
            assert process.returncode == -signal.SIGKILL
            asyncio.run(look(settings, home))
        before = len(gemini.requests_of("embedder"))
        for _ in range(each):
            process = started(config, gemini, home)
            when = chance.choice(["asked", "answered"])
            gemini.kill_on_request("embedder", 1 + int(COUNT / 64 / each * chance.random()), when, process.kill)
            with closing(process.stdout), closing(process.stderr):
                process.wait(SECONDS)
            assert process.returncode == -signal.SIGKILL
            asyncio.run(look(settings, home))
        last = started(config, gemini, home)
        _, said = last.communicate(timeout=SECONDS)

        assert last.returncode == 0, said.decode()
        sent = Counter(
            text for request in gemini.requests_of("embedder")[before:] for text in request.texts if "Keeps" in text
        )
        assert len(sent) == COUNT
        # What a process that was killed had in its hands is asked for again, and nothing else is.
        assert sum(sent.values()) <= COUNT + 64 * each
        asyncio.run(check_end(settings, home))
