"""The checks of `gaia demo --verify`: what the story shows and more, each on real parts."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from gaia_memory.cli.demo.demo_home import DemoHome, open_demo_home
from gaia_memory.cli.demo.demo_settings import OFFLINE, PATIENCE_SECONDS, demo_settings, neutral_environment
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.cli.demo.doomed_sweep import DoomedSweep

ObserveCallback = Callable[[str, bool], None]
"""Called with the description of each check and whether it passed."""

ADA, ELI = "ada", "eli"
STATEMENTS = {
    "Haifa": ("cli", "I live in Haifa."),
    "peanuts": ("cli", "I am allergic to peanuts."),
    "married": ("telegram", "My sister gets married in June."),
    "museum": ("telegram", "I work at the harbour museum."),
}
"""Ada's statements, each with a word that is in no other."""

QUESTION = "What am I allergic to?"
LATER_STATEMENT = "I started to learn the cello."
SECRET_WORD, TALENT_WORD = "peanuts", "cello"
ALL_WORDS = (*STATEMENTS, TALENT_WORD)
ELI_STATEMENT, ELI_WORD = "I like green tea", "green tea"
BEYOND_IDLE_TIME = timedelta(minutes=31)


class Checks:
    """One run of all checks. Each calls `observe` with what it saw."""

    def __init__(self, home: DemoHome, doomed_sweep: DoomedSweep, folder: Path, observe: ObserveCallback) -> None:
        self._home = home
        self._gaia = home.gaia
        self._doomed_sweep = doomed_sweep
        self._folder = folder
        self._observe = observe

    async def run(self) -> None:
        """Run all checks."""
        await self._check_sessions()
        self._home.return_to_the_present()
        await self._check_learning()
        await self._check_recall()
        await self._check_isolation()
        await self._check_killed_learner()
        await self._check_recovery()
        await self._check_forget()

    async def _check_sessions(self) -> None:
        answers = [await self._home.send(ADA, channel, text) for channel, text in STATEMENTS.values()]
        sessions = await self._home.session_ids(ADA)
        self._observe(
            f"{ADA} said {len(answers)} things on two channels: sessions {', '.join(sessions)}",
            all(answers) and sessions == [f"{ADA}:cli", f"{ADA}:telegram"],
        )
        report, count = await self._gaia.sweep(), len(await self._home.facts(ADA))
        self._observe(
            f"a sweep while the conversations are active learns {report.consolidated} conversations, {count} facts",
            (report.consolidated, report.failed, count) == (0, 0, 0),
        )

    async def _check_learning(self) -> None:
        gaia = self._gaia
        report = await gaia.sweep()
        facts, sessions = await self._home.facts(ADA), await self._home.session_ids(ADA)
        self._observe(
            f"half an hour later a sweep learns {report.consolidated} conversations, {report.failed} failed",
            (report.consolidated, report.failed, report.skipped) == (2, 0, 0),
        )
        for word, (_, statement) in STATEMENTS.items():
            learned = [fact.text for fact in facts if word in fact.text]
            self._observe(f"{statement!r} became: {'; '.join(learned) or 'nothing'}", len(learned) == 1)
        self._observe(f"nothing else was learned: {len(facts)} facts", len(facts) == len(STATEMENTS))
        self._observe(f"learned conversations are cleared: {len(sessions)} sessions left", not sessions)
        await self._home.settle()
        filters = {"user_id": gaia.scope(ADA).partition}
        found = await run_in_thread(gaia.mem0.get_all, filters=filters, top_k=100)
        ids = {row["id"] for row in found["results"]}
        is_same = bool(ids) and ids == {fact.id for fact in facts}
        self._observe(f"a plain mem0.Memory lists the same {len(ids)} facts", is_same)

    async def _check_recall(self) -> None:
        answer = await self._home.send(ADA, "cli", QUESTION)
        profile = self._home.last_instruction.partition("<USER_PROFILE>")[2].partition("</USER_PROFILE>")[0]
        line_count = sum(line.startswith("- ") for line in profile.splitlines())
        self._observe(f"a new session has a profile of {line_count} lines in the prompt", SECRET_WORD in profile)
        self._observe(f"asked {QUESTION!r} the agent answers: {answer!r}", SECRET_WORD in answer)
        hits = await self._gaia.memory.recall(self._gaia.scope(ADA), QUESTION)
        best = hits[0].fact.text if hits else ""
        self._observe(f"recall puts {best!r} first", SECRET_WORD in best)

    async def _check_isolation(self) -> None:
        answer = await self._home.send(ELI, "cli", QUESTION)
        hits, facts = await self._gaia.memory.recall(self._gaia.scope(ELI), QUESTION), await self._home.facts(ELI)
        profile = "<USER_PROFILE>" in self._home.last_instruction
        self._observe(
            f"{ELI} asks the same and sees nothing of {ADA}: {len(facts)} facts, {len(hits)} hits, no profile",
            not facts and not hits and not profile and SECRET_WORD not in answer,
        )
        await self._home.send(ELI, "cli", f"/remember {ELI_STATEMENT}")

    async def _check_killed_learner(self) -> None:
        await self._home.send(ADA, "cli", LATER_STATEMENT)
        was_killed = await self._doomed_sweep.kill_while_it_learns(LATER_STATEMENT)
        pid = self._doomed_sweep.pid
        self._observe(
            f"process {pid} was killed while it waited for the model to extract {ADA}'s last statement", was_killed
        )
        count, pending = len(await self._home.facts(ADA)), await self._home.pending(ADA)
        owner = pending[f"{ADA}:cli"].lease_owner if f"{ADA}:cli" in pending else None
        self._observe(
            f"after that there are still {count} facts, {', '.join(pending) or 'nothing'} is pending, and its lease is "
            f"held by {owner or 'no process'}",
            count == len(STATEMENTS) and owner is not None and f":{pid}:" in owner,
        )

    async def _check_recovery(self) -> None:
        code, out, pid = await _sweep_in_a_process(self._folder)
        facts = await self._home.facts(ADA)
        learned = [fact.text for fact in facts if TALENT_WORD in fact.text]
        report = json.loads(out or "{}")
        self._observe(
            f"process {pid}, a `gaia sweep`, took over and finished: {out}",
            code == 0 and report.get("consolidated", 0) >= 1 and (report["failed"], report["skipped"]) == (0, 0),
        )
        self._observe(
            f"{LATER_STATEMENT!r} became, once: {'; '.join(learned) or 'nothing'}",
            (len(learned), len(facts)) == (1, len(ALL_WORDS)),
        )

    async def _check_forget(self) -> None:
        await self._home.settle()
        count, before = len(await self._home.facts(ADA)), await self._home.count_files(ALL_WORDS)
        words = ", ".join(ALL_WORDS)
        self._observe(f"files contain each of the words {words}: {_format_counts(before)}", all(before.values()))
        answer = await self._home.send(ADA, "cli", "/forget yes")
        remaining = len(await self._home.facts(ADA))
        match = re.match(r"I forgot (\d+) facts about you\.", answer)
        self._observe(
            f"/forget yes answers {answer.partition('. ')[0]!r}: there were {count}, {remaining} are left",
            match is not None and int(match[1]) == count == len(ALL_WORDS) and remaining == 0,
        )
        await self._home.settle()
        after = await self._home.count_files(ALL_WORDS)
        self._observe(f"no file of the home contains any of them now: {_format_counts(after)}", not any(after.values()))
        others = [fact.text for fact in await self._home.facts(ELI)]
        self._observe(
            f"{ELI}'s facts are still there: {'; '.join(others) or 'none'}", len(others) == 1 and ELI_WORD in others[0]
        )


async def run_checks(folder: Path, doomed_sweep: DoomedSweep, observe: ObserveCallback) -> None:
    """Run all checks in a new home in `folder`."""
    async with open_demo_home(folder, behind=BEYOND_IDLE_TIME) as home:
        await Checks(home, doomed_sweep, folder, observe).run()


async def _sweep_in_a_process(folder: Path) -> tuple[int | None, str, int]:
    """Run `gaia sweep` in a process of its own; return its exit code, its output and its id."""
    config = folder / "gaia.yaml"
    text = yaml.safe_dump(demo_settings(folder, OFFLINE))
    await run_in_thread(config.write_text, text, encoding="utf-8")
    command = (sys.executable, "-m", "gaia_memory.cli", "sweep", "--force", "--json", "--config", str(config))
    pipe, devnull = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, env=neutral_environment(), stdin=devnull, stdout=pipe, stderr=devnull
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, out.decode().strip(), process.pid


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} in {count}" for word, count in counts.items())
