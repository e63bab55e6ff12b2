"""What happens in `gaia demo`: a person is met, remembered, recalled, survives a crash and is forgotten."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory.adk.gaia import Gaia
from gaia_memory.cli.stage import AdvancedClock, RecordingModel, environment, files_with, silent_model
from gaia_memory.config.load import load
from gaia_memory.models import SessionKey
from gaia_memory.runtime import open_memory

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

Observe = Callable[[str, bool], None]

DANA, ELI = "dana", "eli"
SAID = (
    ("cli", "Hi, I'm Dana and I live in Haifa."),
    ("cli", "I am allergic to peanuts."),
    ("telegram", "My sister Noa gets married in June."),
    ("telegram", "I work at the harbour museum."),
)
QUESTION = "What am I allergic to?"
LATER = "I started to learn the cello."
SECRET, TALENT = "peanuts", "cello"
KILLED_WITHIN_SECONDS = 30.0


class Story:
    """One run of the demo in a home of its own. Each `observe` looks at the real parts."""

    def __init__(self, home: Path, observe: Observe) -> None:
        """Prepare; nothing is opened yet."""
        self._home = home / "home"
        self._settings = home / "gaia.yaml"
        self._observe = observe
        self._model = RecordingModel()
        self._agent = LlmAgent(name="gaia", model=self._model, instruction="Help the person you talk to.")

    async def tell(self) -> None:
        """Go through all of it."""
        clock = AdvancedClock()
        async with open_memory(self._config(), model=self._model, clock=clock) as gaia:
            await self._talk(gaia)
            await self._learn(gaia, clock)
            await self._know(gaia)
            await self._keep_apart(gaia)
            await self._say(gaia, DANA, "cli", LATER)
            facts = await gaia.memory.count(gaia.scope(DANA))
        victim = await self._kill_a_learner()
        async with open_memory(self._config(), model=self._model) as gaia:
            await self._finish_learning(gaia, victim, facts)
            await self._forget(gaia)

    def _config(self) -> GaiaConfig:
        offline = {"provider": "offline"}
        source = {
            "home": str(self._home),
            "model": "offline",
            "memory": {"llm": offline, "embedder": offline},
            "sessions": {"coalesce_seconds": 0},
        }
        # The demo is the same on every machine: neither a file nor the environment changes it.
        return load(source, environ={}).config

    async def _say(self, gaia: Gaia, user: str, channel: str, text: str) -> str:
        reply = await gaia.conversation(self._agent, user_id=user, channel=channel).send(text)
        return reply.text

    async def _sessions(self, gaia: Gaia) -> list[str]:
        listed = await gaia.session_service.list_sessions(app_name=gaia.config.app, user_id=DANA)
        return sorted(session.id for session in listed.sessions)

    async def _talk(self, gaia: Gaia) -> None:
        answers = [await self._say(gaia, DANA, channel, text) for channel, text in SAID]
        sessions = await self._sessions(gaia)
        count = await gaia.memory.count(gaia.scope(DANA))
        self._observe(
            f"{DANA} said {len(SAID)} things on two channels: sessions {', '.join(sessions)}",
            all(answers) and sessions == [f"{DANA}:cli", f"{DANA}:telegram"],
        )
        self._observe(f"nothing is learned while somebody may still be talking: {count} facts", count == 0)

    async def _learn(self, gaia: Gaia, clock: AdvancedClock) -> None:
        clock.advance(gaia.config.sessions.idle_consolidate_minutes + 1)
        report = await gaia.sweep()
        facts = await gaia.memory.facts(gaia.scope(DANA))
        sessions = await self._sessions(gaia)
        self._observe(
            f"half an hour later the sweep learned {report.consolidated} conversations, {report.failed} failed",
            (report.consolidated, report.failed) == (2, 0),
        )
        self._observe("learned: " + "; ".join(fact.text for fact in facts), len(facts) >= len(SAID))
        self._observe(f"what was learned is cleared: {len(sessions)} sessions left", not sessions)
        await gaia.memory.settled()
        partition = gaia.scope(DANA).partition
        found = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": partition}, top_k=100)
        ids = {row["id"] for row in found["results"]}
        self._observe(f"a plain mem0.Memory lists the same {len(ids)} facts", ids == {fact.id for fact in facts})

    async def _know(self, gaia: Gaia) -> None:
        answer = await self._say(gaia, DANA, "web", QUESTION)
        profile = self._model.told.partition("<USER_PROFILE>")[2].partition("</USER_PROFILE>")[0]
        lines = sum(line.startswith("- ") for line in profile.splitlines())
        self._observe(f"a new session opens with a profile of {lines} lines in the prompt", SECRET in profile)
        self._observe(f"asked {QUESTION!r} the agent answers: {answer.splitlines()[-1]!r}", SECRET in answer)
        hits = await gaia.memory.recall(gaia.scope(DANA), QUESTION)
        best = hits[0].fact.text if hits else ""
        self._observe(f"recall puts {best!r} first", SECRET in best)

    async def _keep_apart(self, gaia: Gaia) -> None:
        answer = await self._say(gaia, ELI, "cli", QUESTION)
        hits = await gaia.memory.recall(gaia.scope(ELI), QUESTION)
        facts = await gaia.memory.facts(gaia.scope(ELI))
        profile = "<USER_PROFILE>" in self._model.told
        self._observe(
            f"{ELI} asks the same and sees nothing of it: {len(facts)} facts, {len(hits)} hits, no profile",
            not facts and not hits and not profile and SECRET not in answer,
        )
        await self._say(gaia, ELI, "cli", "/remember I like green tea")

    async def _kill_a_learner(self) -> int:
        """Have another process learn what Dana said last, kill it while it does, and return its id."""
        async with silent_model() as (address, asked):
            child = await self._learner(address)
            ended = asyncio.create_task(child.wait())
            waiting = asyncio.create_task(asked.wait())
            await asyncio.wait({ended, waiting}, timeout=KILLED_WITHIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            code = await ended
        self._observe(
            f"process {child.pid} was killed while it waited for the model to tell it what {DANA} said last",
            asked.is_set() and code == -signal.SIGKILL,
        )
        return child.pid

    async def _learner(self, address: str) -> asyncio.subprocess.Process:
        """Start `gaia sweep` with a Gemini that takes the question and never answers."""
        settings = {
            "home": str(self._home),
            "memory": {"llm": {"provider": "gemini"}, "embedder": {"provider": "offline"}},
        }
        await asyncio.to_thread(self._settings.write_text, yaml.safe_dump(settings), encoding="utf-8")
        command = (sys.executable, "-m", "gaia_memory.cli", "sweep", "--force", "--config", str(self._settings))
        nowhere = asyncio.subprocess.DEVNULL
        return await asyncio.create_subprocess_exec(
            *command, env=environment(address), stdin=nowhere, stdout=nowhere, stderr=nowhere
        )

    async def _finish_learning(self, gaia: Gaia, victim: int, before: int) -> None:
        scope = gaia.scope(DANA)
        key = SessionKey(gaia.config.app, DANA, f"{DANA}:cli")
        async with gaia.memory.database.reading() as tx:
            row = await gaia.memory.ledger.row(tx, key)
        lease = (row.lease_owner if row else None) or "nobody"
        left = await gaia.memory.count(scope)
        self._observe(
            f"it left {left} facts as there were before, and its lease behind ({lease})",
            left == before and f":{victim}:" in lease,
        )
        report = await gaia.sweep(force=True)
        learned = [fact.text for fact in await gaia.memory.facts(scope) if TALENT in fact.text]
        self._observe(
            f"the next process finishes it, once: {'; '.join(learned)}",
            report.failed == 0 and len(learned) == 1,
        )

    async def _forget(self, gaia: Gaia) -> None:
        count = await gaia.memory.count(gaia.scope(DANA))
        answer = await self._say(gaia, DANA, "cli", "/forget yes")
        left = await gaia.memory.count(gaia.scope(DANA))
        self._observe(f"/forget yes answers: {answer.splitlines()[0]!r}", str(count) in answer and left == 0)
        await gaia.memory.settled()
        holding = await asyncio.to_thread(files_with, self._home, SECRET)
        names = ", ".join(holding) or "none"
        self._observe(f"files that still hold the word {SECRET!r}: {names}", not holding)
        others = await gaia.memory.facts(gaia.scope(ELI))
        self._observe(f"{ELI} keeps what is {ELI}'s: {'; '.join(fact.text for fact in others)}", len(others) == 1)
