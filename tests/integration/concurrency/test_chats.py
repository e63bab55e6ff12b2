"""Two `gaia chat` of one user on one channel at once, with concurrent sweeps."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import select

from gaia_memory.config.sources.load import load
from gaia_memory.database.sql_engine import open_engine
from gaia_memory.facts.tables import facts
from support.cli.cli_runner import CommandResult, run_gaia_process
from support.concurrency.sweeper_process import sweeping_process
from support.databases import memory_url
from support.servers.rule_based_gemini import RuleBasedGemini

USER, CHANNEL = "ada", "cli"
SECONDS = 150.0


class Home:
    """One installation, shared by any number of processes."""

    def __init__(self, folder: Path, gemini_rules: RuleBasedGemini, *, clear: str, database: str | None) -> None:
        self._mind = gemini_rules
        self.config = folder / "gaia.yaml"
        lines = [f"home: {folder / 'home'}", f"sessions: {{clear: {clear}}}"]
        if database is not None:
            lines[1] = f"sessions: {{clear: {clear}, database_url: '{database}'}}"
        self.config.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def gaia(self, *arguments: str, typed: str = "") -> CommandResult:
        """Run a `gaia` command in a child process."""
        environment = self._mind.gemini.environment
        config = ("--config", str(self.config))
        return run_gaia_process(*arguments, *config, stdin=typed, environment=environment, timeout_seconds=SECONDS)

    def chat(self, said: list[str]) -> CommandResult:
        """Run a chat with all these lines typed at once."""
        return self.gaia("chat", "--user", USER, "--channel", CHANNEL, typed="".join(f"{line}\n" for line in said))

    def sweep(self) -> None:
        """Learn everything that can be learned now."""
        done = self.gaia("sweep", "--force")
        assert done.code == 0, done

    def swept(self) -> AbstractContextManager[None]:
        """Sweep repeatedly in another process until the block ends."""
        return sweeping_process(self.config, self._mind.gemini.environment, seconds=SECONDS)

    def facts(self) -> list[str]:
        """Return the texts of all facts in the database."""
        config = load(self.config).config

        async def read() -> list[str]:
            engine = open_engine(config.memory_url)
            try:
                async with engine.connect() as connection:
                    return list((await connection.execute(select(facts.c.text))).scalars())
            finally:
                await engine.dispose()

        return asyncio.run(read())

    def learned(self) -> set[str]:
        """Return the messages of the user that were in an extractor request."""
        shown = [re.findall(r'"content": "(said [^"]*)"', new) for new in map(_new_messages, self.extractions())]
        return {text for texts in shown for text in texts}

    def extractions(self) -> list[str]:
        """Return the extractor requests."""
        return [request.contents for request in self._mind.gemini.requests_of("extractor")]


def _new_messages(contents: str) -> str:
    return contents.partition("## New Messages\n")[2]


def talk_at_once(home: Home, count: int, *, chats: int = 2) -> None:
    """Send that many messages in each of several chats at once; check that all are answered without an apology."""
    said = [[f"said {number} {at}" for at in range(count)] for number in range(chats)]
    with ThreadPoolExecutor(chats) as together:
        for done, lines in zip(together.map(home.chat, said), said, strict=True):
            assert done.code == 0, done
            assert done.out.splitlines()[1:] == [f"re {line}" for line in lines], done
    home.sweep()
    everything = Counter(line for lines in said for line in lines)
    assert len(home.extractions()) > 1, "it was learned in the middle of the chat"
    # A chat that ends while it learns leaves that to the next sweep, which asks again.
    assert home.learned() == everything.keys()
    assert Counter(home.facts()) == everything


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("clear", ["delete", "rewind"])
async def test_a_long_chat_is_learned_and_cleared_concurrently_without_an_error(
    kind: str, clear: str, tmp_path: Path, gemini_rules: RuleBasedGemini
) -> None:
    """Sweeps in a loop delete or rewind the session between any two turns."""
    async with memory_url(kind, tmp_path) as url:
        database = None if kind == "sqlite" else url.render_as_string(hide_password=False)
        home = Home(tmp_path, gemini_rules, clear=clear, database=database)

        def story() -> None:
            with home.swept():
                talk_at_once(home, 30, chats=2)

        await asyncio.to_thread(story)
