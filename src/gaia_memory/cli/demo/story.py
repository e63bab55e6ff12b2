"""The story of `gaia demo`: learn, recall, isolate, survive a kill, forget."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_memory.cli.demo.demo_home import DemoHome, open_demo_home

if TYPE_CHECKING:
    from gaia_memory.cli.demo.doomed_sweep import DoomedSweep
    from gaia_memory.cli.demo.story_screen import Screen
    from gaia_memory.models import SweepReport

ADA, ELI, AGENT = "ada", "eli", "gaia"
PHONE, TERMINAL = "telegram", "cli"
STATEMENTS = "I am allergic to peanuts. I work at the harbour museum."
STATEMENT_WORDS = ("peanuts", "harbour")
"""A word of each statement, which is in no other."""

QUESTION, ANSWER_WORD = "What am I allergic to?", "peanuts"
LATER_STATEMENT, LATER_WORD = "I started to learn the cello.", "cello"
ALL_WORDS = (*STATEMENT_WORDS, LATER_WORD)
THREE_DAYS = timedelta(days=3)


class Story:
    """One telling of the story: everything that is shown has just happened to real databases, processes and files."""

    def __init__(self, home: DemoHome, doomed_sweep: DoomedSweep, screen: Screen) -> None:
        self._home = home
        self._doomed_sweep = doomed_sweep
        self._screen = screen

    async def tell(self) -> None:
        """Tell all of it."""
        self._screen.show_time("Three days ago, on Telegram (the clock is set back)")
        await self._tell_statements()
        self._home.return_to_the_present()
        await self._learn_statements()
        self._screen.show_time("Today, in the terminal (a new session)")
        await self._ask()
        await self._ask_as_another_person()
        await self._kill_the_learner()
        await self._forget()

    async def _talk(self, user: str, channel: str, text: str, *, is_abridged: bool = False) -> str:
        self._screen.show_message(user, text)
        with self._screen.show_wait("gaia answers …"):
            answer = await self._home.send(user, channel, text)
        first, dot, rest = answer.partition(". ")
        self._screen.show_message(AGENT, f"{first}{dot}…" if is_abridged and rest else answer)
        return answer

    async def _tell_statements(self) -> None:
        answer = await self._talk(ADA, PHONE, STATEMENTS)
        self._screen.require(bool(answer), "an answer", found="none")

    async def _learn_statements(self) -> None:
        with self._screen.show_wait("learning …"):
            report = await self._home.gaia.sweep()
            facts = [fact.text for fact in await self._home.facts(ADA)]
        is_learned = (report.consolidated, report.failed, report.skipped) == (1, 0, 0) and all(
            sum(word in text for text in facts) == 1 for word in STATEMENT_WORDS
        )
        self._screen.observe(
            is_learned and len(facts) == len(STATEMENT_WORDS),
            f"Learned once it was quiet: {' '.join(facts)}",
            found=_describe(report, facts),
        )

    async def _ask(self) -> None:
        answer = await self._talk(ADA, TERMINAL, QUESTION)
        self._screen.require(ANSWER_WORD in answer, f"an answer with {ANSWER_WORD!r}", found=repr(answer))

    async def _ask_as_another_person(self) -> None:
        answer = await self._talk(ELI, TERMINAL, QUESTION)
        profile = "<USER_PROFILE>" in self._home.last_instruction
        hits = await self._home.gaia.memory.recall(self._home.scope(ELI), QUESTION)
        facts = await self._home.facts(ELI)
        told = [word for word in ALL_WORDS if word in answer]
        self._screen.observe(
            not (told or hits or facts or profile),
            "Eli asked the same and learned nothing about Ada.",
            found=f"{len(facts)} facts, {len(hits)} hits, profile: {profile}, answer: {answer!r}",
        )

    async def _kill_the_learner(self) -> None:
        """Kill the process that learns a conversation, and learn it in this one."""
        await self._talk(ADA, TERMINAL, LATER_STATEMENT)
        session = f"{ADA}:{TERMINAL}"
        with self._screen.show_wait("another process learns from this …"):
            was_killed = await self._doomed_sweep.kill_while_it_learns(LATER_STATEMENT)
            waiting = (await self._home.pending(ADA)).get(session)
            count = len(await self._home.facts(ADA))
        self._screen.observe(
            was_killed and waiting is not None and waiting.lease_until is not None and count == len(STATEMENT_WORDS),
            "kill -9 stopped the process that was learning this.",
            found=f"killed: {was_killed}, pending: {waiting is not None}, {count} facts",
        )
        with self._screen.show_wait("learning it again …"):
            report = await self._home.gaia.sweep(force=True)
            facts = [fact.text for fact in await self._home.facts(ADA)]
        learned = [text for text in facts if LATER_WORD in text]
        self._screen.observe(
            report.consolidated >= 1
            and (report.failed, report.skipped) == (0, 0)
            and (len(learned), len(facts)) == (1, len(ALL_WORDS)),
            f"Nothing was lost. Another process learned it, once: {' '.join(learned)}",
            found=_describe(report, facts),
        )

    async def _forget(self) -> None:
        words = f"{', '.join(ALL_WORDS[:-1])} or {ALL_WORDS[-1]}"
        with self._screen.show_wait("waiting for the mem0 store …"):
            await self._home.settle()
            before = await self._home.count_files(ALL_WORDS)
        self._screen.require(all(before.values()), f"files that contain {words}", found=f"files with each: {before}")
        await self._talk(ADA, TERMINAL, "/forget yes", is_abridged=True)
        with self._screen.show_wait("rewriting the files …"):
            await self._home.settle()
            after, left = await self._home.count_files(ALL_WORDS), await self._home.facts(ADA)
        self._screen.observe(
            not left and not any(after.values()),
            f"No file contains {words} any more.",
            found=f"{len(left)} facts; files with each word: {after}",
        )


async def tell_story(folder: Path, doomed_sweep: DoomedSweep, screen: Screen) -> None:
    """Tell the story in a new home in `folder`."""
    async with open_demo_home(folder, behind=THREE_DAYS) as home:
        await Story(home, doomed_sweep, screen).tell()


def _describe(report: SweepReport, facts: Sequence[str]) -> str:
    counts = f"{report.consolidated} conversations learned, {report.failed} failed, {report.skipped} skipped"
    return f"{counts}; facts: {' '.join(facts) or 'none'}"
