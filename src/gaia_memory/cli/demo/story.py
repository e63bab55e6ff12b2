"""The story of `gaia demo`: learn, recall, isolate, forget."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from google.adk.agents.llm_agent import LlmAgent
from google.adk.platform import time as platform_time

from gaia_memory.config.sources.load import load
from gaia_memory.runtime import open_memory
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.cli.demo.story_screen import Screen

ADA, ELI = "ada", "eli"
PHONE, TERMINAL = "telegram", "cli"
STATEMENTS = "I am allergic to peanuts. I work at the harbour museum."
WORDS = ("peanuts", "harbour")
"""A word of each statement, which is in no other."""

QUESTION = "What am I allergic to?"
THREE_DAYS = timedelta(days=3)
OFFLINE = {"provider": "offline"}


class PastClock:
    """The time of the machine less `behind`."""

    def __init__(self, behind: timedelta) -> None:
        self.behind = behind

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC) - self.behind


class Story:
    """One telling of the story: everything that is shown has just happened to real databases and files."""

    def __init__(self, gaia: Gaia, clock: PastClock, screen: Screen) -> None:
        self._gaia = gaia
        self._clock = clock
        self._screen = screen
        self._agent = LlmAgent(name="gaia", model=gaia.model)

    async def tell(self) -> None:
        """Tell all of it."""
        self._screen.show_line("\nThree days ago, on Telegram (the clock is set back)", "bold")
        await self._talk(ADA, PHONE, STATEMENTS)
        self._clock.behind = timedelta()
        await self._learn()
        self._screen.show_line("\nToday, in the terminal (a new session)", "bold")
        answer = await self._talk(ADA, TERMINAL, QUESTION)
        self._screen.observe(WORDS[0] in answer, "The answer is from memory, in another session.", found=answer)
        await self._ask_as_another_person()
        self._screen.show_line("\nLater (those conversations are over)", "bold")
        await self._forget()

    async def _talk(self, user: str, channel: str, text: str) -> str:
        self._screen.show_message(user, text)
        with self._screen.show_wait("gaia answers …"):
            reply = await self._gaia.conversation(self._agent, user_id=user, channel=channel).send(text)
        self._screen.show_message("gaia", reply.text)
        return reply.text

    async def _facts(self, user: str) -> list[str]:
        return [fact.text for fact in await self._gaia.memory.facts(self._gaia.scope(user))]

    async def _learn(self) -> None:
        with self._screen.show_wait("learning …"):
            report = await self._gaia.sweep()
            facts = await self._facts(ADA)
        is_learned = len(facts) == len(WORDS) and all(word in " ".join(facts) for word in WORDS)
        self._screen.observe(is_learned, f"Learned once it was quiet: {' '.join(facts)}", found=(report, facts))

    async def _ask_as_another_person(self) -> None:
        answer = await self._talk(ELI, TERMINAL, QUESTION)
        found = (await self._gaia.memory.recall(self._gaia.scope(ELI), QUESTION), await self._facts(ELI))
        is_apart = not any(found) and WORDS[0] not in answer
        self._screen.observe(is_apart, "Eli asked the same and learned nothing about Ada.", found=found)

    async def _forget(self) -> None:
        home = self._gaia.config.home
        with self._screen.show_wait("waiting for the mem0 store …"):
            await self._gaia.sweep(force=True)
            await self._gaia.memory.settled()
            before = await run_in_thread(count_files, home, WORDS)
        await self._talk(ADA, TERMINAL, "/forget yes")
        with self._screen.show_wait("rewriting the files …"):
            await self._gaia.memory.settled()
            after = await run_in_thread(count_files, home, WORDS)
        claim = f"Files contained {' and '.join(WORDS)}; none does any more."
        self._screen.observe(all(before) and not any(after), claim, found=(before, after))


async def tell_story(folder: Path, screen: Screen) -> None:
    """Tell the story in a new home in `folder`, with a clock that is days behind at first, ADK's, too.

    No sweep runs in the background: the conversation is learned when the story says so. Neither a configuration file
    nor the environment has an effect.
    """
    clock = PastClock(THREE_DAYS)
    settings = {
        "home": str(folder),
        "model": "offline",
        "memory": {"llm": OFFLINE, "embedder": OFFLINE},
        "sessions": {"coalesce_seconds": 0, "background_sweep": False},
    }
    platform_time.set_time_provider(lambda: clock.now().timestamp())
    try:
        async with open_memory(load(settings, environ={}).config, clock=clock) as gaia:
            await Story(gaia, clock, screen).tell()
    finally:
        platform_time.reset_time_provider()


def count_files(folder: Path, words: Collection[str]) -> list[int]:
    """Return for each word how many files below `folder` contain it, in any case."""
    contents = [path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()]
    return [sum(word.encode() in content for content in contents) for word in words]
