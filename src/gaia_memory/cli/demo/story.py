"""The script of `gaia demo`: learn, recall, isolate, survive a crash, forget."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory.adk.gaia import Gaia
from gaia_memory.cli.demo.stage import (
    RecordingModel,
    ShiftedClock,
    clean_environment,
    find_files_containing,
    hanging_model,
)
from gaia_memory.config.sources.load import load
from gaia_memory.runtime import open_memory

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

ObserveCallback = Callable[[str, bool], None]

DANA, ELI = "dana", "eli"
STATEMENTS = {
    "Haifa": ("cli", "Hi, I'm Dana and I live in Haifa."),
    "peanuts": ("cli", "I am allergic to peanuts."),
    "married": ("telegram", "My sister Noa gets married in June."),
    "museum": ("telegram", "I work at the harbour museum."),
}
"""Dana's statements, each with a word that is in no other."""

QUESTION = "What am I allergic to?"
LATER_STATEMENT = "I started to learn the cello."
SECRET_WORD, TALENT_WORD = "peanuts", "cello"
ALL_WORDS = (*STATEMENTS, TALENT_WORD)
ELI_STATEMENT = "I like green tea"
TIMEOUT_SECONDS = 60.0


class DemoScript:
    """One run of the demo in its own home. Each `observe` checks the real parts."""

    def __init__(self, home: Path, observe: ObserveCallback) -> None:
        """Prepare; nothing is opened yet."""
        self._home = home / "home"
        self._config_path = home / "gaia.yaml"
        self._observe = observe
        self._model = RecordingModel()
        self._agent = LlmAgent(name="gaia", model=self._model, instruction="Help the person you talk to.")

    async def run(self) -> None:
        """Run all checks."""
        clock = ShiftedClock()
        async with open_memory(self._config(), model=self._model, clock=clock) as gaia:
            await self._check_sessions(gaia)
            await self._check_early_sweep(gaia)
            await self._check_learning(gaia, clock)
            await self._check_recall(gaia)
            await self._check_isolation(gaia)
            await self._send(gaia, DANA, "cli", LATER_STATEMENT)
            await self._kill_learner()
            await self._check_nothing_learned(gaia)
            await self._check_recovery(gaia)
            await self._check_forget(gaia)

    def _config(self) -> GaiaConfig:
        offline = {"provider": "offline"}
        source = {
            "home": str(self._home),
            "model": "offline",
            "memory": {"llm": offline, "embedder": offline},
            "sessions": {"coalesce_seconds": 0},
        }
        # Neither a file nor the environment changes the demo.
        return load(source, environ={}).config

    async def _send(self, gaia: Gaia, user: str, channel: str, text: str) -> str:
        reply = await gaia.conversation(self._agent, user_id=user, channel=channel).send(text)
        return reply.text

    async def _sessions(self, gaia: Gaia) -> list[str]:
        listed = await gaia.session_service.list_sessions(app_name=gaia.config.app, user_id=DANA)
        return sorted(session.id for session in listed.sessions)

    async def _check_sessions(self, gaia: Gaia) -> None:
        answers = [await self._send(gaia, DANA, channel, text) for channel, text in STATEMENTS.values()]
        sessions = await self._sessions(gaia)
        self._observe(
            f"{DANA} said {len(answers)} things on two channels: sessions {', '.join(sessions)}",
            all(answers) and sessions == [f"{DANA}:cli", f"{DANA}:telegram"],
        )

    async def _check_early_sweep(self, gaia: Gaia) -> None:
        report = await gaia.sweep()
        count = await gaia.memory.count(gaia.scope(DANA))
        self._observe(
            f"a sweep while the conversations are active learns {report.consolidated} conversations, {count} facts",
            (report.consolidated, report.failed, count) == (0, 0, 0),
        )

    async def _check_learning(self, gaia: Gaia, clock: ShiftedClock) -> None:
        clock.advance(gaia.config.sessions.idle_consolidate_minutes + 1)
        report = await gaia.sweep()
        facts = await gaia.memory.facts(gaia.scope(DANA))
        sessions = await self._sessions(gaia)
        self._observe(
            f"half an hour later a sweep learns {report.consolidated} conversations, {report.failed} failed",
            (report.consolidated, report.failed) == (2, 0),
        )
        for word in STATEMENTS:
            learned = [fact.text for fact in facts if word in fact.text]
            self._observe(f"{STATEMENTS[word][1]!r} became: {'; '.join(learned) or 'nothing'}", len(learned) == 1)
        self._observe(f"nothing else was learned: {len(facts)} facts", len(facts) == len(STATEMENTS))
        self._observe(f"learned conversations are cleared: {len(sessions)} sessions left", not sessions)
        await gaia.memory.settled()
        partition = gaia.scope(DANA).partition
        found = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": partition}, top_k=100)
        ids = {row["id"] for row in found["results"]}
        is_same = bool(ids) and ids == {fact.id for fact in facts}
        self._observe(f"a plain mem0.Memory lists the same {len(ids)} facts", is_same)

    async def _check_recall(self, gaia: Gaia) -> None:
        answer = await self._send(gaia, DANA, "web", QUESTION)
        profile = self._model.last_instruction.partition("<USER_PROFILE>")[2].partition("</USER_PROFILE>")[0]
        line_count = sum(line.startswith("- ") for line in profile.splitlines())
        self._observe(f"a new session has a profile of {line_count} lines in the prompt", SECRET_WORD in profile)
        self._observe(f"asked {QUESTION!r} the agent answers: {answer.splitlines()[-1]!r}", SECRET_WORD in answer)
        hits = await gaia.memory.recall(gaia.scope(DANA), QUESTION)
        best = hits[0].fact.text if hits else ""
        self._observe(f"recall puts {best!r} first", SECRET_WORD in best)

    async def _check_isolation(self, gaia: Gaia) -> None:
        answer = await self._send(gaia, ELI, "cli", QUESTION)
        hits = await gaia.memory.recall(gaia.scope(ELI), QUESTION)
        facts = await gaia.memory.facts(gaia.scope(ELI))
        profile = "<USER_PROFILE>" in self._model.last_instruction
        self._observe(
            f"{ELI} asks the same and sees nothing of {DANA}: {len(facts)} facts, {len(hits)} hits, no profile",
            not facts and not hits and not profile and SECRET_WORD not in answer,
        )
        await self._send(gaia, ELI, "cli", f"/remember {ELI_STATEMENT}")

    async def _kill_learner(self) -> None:
        """Start a process that learns Dana's last statement, and kill it half-way."""
        async with hanging_model() as (address, was_asked):
            gemini = {"llm": {"provider": "gemini"}, "embedder": {"provider": "offline"}}
            async with self._sweep_process({"memory": gemini}, clean_environment(address)) as child:
                ended = asyncio.create_task(child.wait())
                waiting = asyncio.create_task(was_asked.wait())
                await asyncio.wait({ended, waiting}, timeout=TIMEOUT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
                code = await ended
        self._observe(
            f"process {child.pid} was killed while it waited for the model to extract {DANA}'s last statement",
            was_asked.is_set() and code == -signal.SIGKILL,
        )

    @asynccontextmanager
    async def _sweep_process(
        self, settings: dict[str, object], environ: dict[str, str]
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run `gaia sweep` as a process that does not outlive the block."""
        text = yaml.safe_dump({"home": str(self._home), "model": "offline", **settings})
        await asyncio.to_thread(self._config_path.write_text, text, encoding="utf-8")
        arguments = ("sweep", "--force", "--json", "--config", str(self._config_path))
        devnull = asyncio.subprocess.DEVNULL
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gaia_memory.cli", *arguments),
            env=environ,
            stdin=devnull,
            stdout=asyncio.subprocess.PIPE,
            stderr=devnull,
        )
        try:
            yield child
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _check_nothing_learned(self, gaia: Gaia) -> None:
        status = await gaia.memory.status(gaia.scope(DANA))
        pending = [each.key.session for each in status.pending]
        self._observe(
            f"after that there are still {status.facts} facts, and {', '.join(pending) or 'nothing'} are pending",
            status.facts == len(STATEMENTS) and f"{DANA}:cli" in pending,
        )

    async def _check_recovery(self, gaia: Gaia) -> None:
        offline = {"provider": "offline"}
        async with self._sweep_process({"memory": {"llm": offline, "embedder": offline}}, clean_environment()) as child:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                out, _ = await child.communicate()
        facts = await gaia.memory.facts(gaia.scope(DANA))
        learned = [fact.text for fact in facts if TALENT_WORD in fact.text]
        self._observe(
            f"process {child.pid}, a `gaia sweep`, took over and finished: {out.decode().strip()}",
            child.returncode == 0 and json.loads(out or b"{}").get("failed") == 0,
        )
        self._observe(
            f"{LATER_STATEMENT!r} became, once: {'; '.join(learned) or 'nothing'}",
            (len(learned), len(facts)) == (1, len(ALL_WORDS)),
        )

    async def _check_forget(self, gaia: Gaia) -> None:
        count = await gaia.memory.count(gaia.scope(DANA))
        before = await asyncio.to_thread(find_files_containing, self._home, ALL_WORDS)
        self._observe(
            f"files contain each of the words {', '.join(ALL_WORDS)}: {_format_counts(before)}", all(before.values())
        )
        answer = await self._send(gaia, DANA, "cli", "/forget yes")
        remaining = await gaia.memory.count(gaia.scope(DANA))
        match = re.match(r"I forgot (\d+) facts about you\.", answer)
        self._observe(
            f"/forget yes answers {answer.partition('. ')[0]!r}: there were {count}, {remaining} are left",
            match is not None and int(match[1]) == count == len(ALL_WORDS) and remaining == 0,
        )
        await gaia.memory.settled()
        after = await asyncio.to_thread(find_files_containing, self._home, ALL_WORDS)
        self._observe(f"no file of the home contains any of them now: {_format_counts(after)}", not any(after.values()))
        others = [fact.text for fact in await gaia.memory.facts(gaia.scope(ELI))]
        self._observe(f"{ELI}'s facts are still there: {'; '.join(others)}", others == [ELI_STATEMENT])


def _format_counts(found: dict[str, list[str]]) -> str:
    return ", ".join(f"{word} in {len(files)}" for word, files in found.items())
