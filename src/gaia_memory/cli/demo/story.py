"""What happens in `gaia demo`: a person is met, remembered, recalled, survives a crash and is forgotten."""

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
from gaia_memory.cli.demo.stage import AdvancedClock, RecordingModel, environment, files_with, silent_model
from gaia_memory.config.sources.load import load
from gaia_memory.models import SessionKey
from gaia_memory.runtime import open_memory

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

Observe = Callable[[str, bool], None]

DANA, ELI = "dana", "eli"
SAID = {
    "Haifa": ("cli", "Hi, I'm Dana and I live in Haifa."),
    "peanuts": ("cli", "I am allergic to peanuts."),
    "married": ("telegram", "My sister Noa gets married in June."),
    "museum": ("telegram", "I work at the harbour museum."),
}
"""What Dana says, by the word that tells it from the rest."""

QUESTION = "What am I allergic to?"
LATER = "I started to learn the cello."
SECRET, TALENT = "peanuts", "cello"
WORDS = (*SAID, TALENT)
ELIS = "I like green tea"
WITHIN_SECONDS = 60.0


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
            await self._wait(gaia)
            await self._learn(gaia, clock)
            await self._know(gaia)
            await self._keep_apart(gaia)
            await self._say(gaia, DANA, "cli", LATER)
            victim = await self._kill_a_learner()
            await self._see_nothing_of_it(gaia, victim)
            await self._finish_learning(gaia)
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
        answers = [await self._say(gaia, DANA, channel, text) for channel, text in SAID.values()]
        sessions = await self._sessions(gaia)
        self._observe(
            f"{DANA} said {len(answers)} things on two channels: sessions {', '.join(sessions)}",
            all(answers) and sessions == [f"{DANA}:cli", f"{DANA}:telegram"],
        )

    async def _wait(self, gaia: Gaia) -> None:
        report = await gaia.sweep()
        count = await gaia.memory.count(gaia.scope(DANA))
        self._observe(
            f"a sweep while somebody may still be talking learns {report.consolidated} conversations, {count} facts",
            (report.consolidated, report.failed, count) == (0, 0, 0),
        )

    async def _learn(self, gaia: Gaia, clock: AdvancedClock) -> None:
        clock.advance(gaia.config.sessions.idle_consolidate_minutes + 1)
        report = await gaia.sweep()
        facts = await gaia.memory.facts(gaia.scope(DANA))
        sessions = await self._sessions(gaia)
        self._observe(
            f"half an hour later a sweep learns {report.consolidated} conversations, {report.failed} failed",
            (report.consolidated, report.failed) == (2, 0),
        )
        for word in SAID:
            learned = [fact.text for fact in facts if word in fact.text]
            self._observe(f"{SAID[word][1]!r} became: {'; '.join(learned) or 'nothing'}", len(learned) == 1)
        self._observe(f"nothing else was learned: {len(facts)} facts", len(facts) == len(SAID))
        self._observe(f"what was learned is cleared: {len(sessions)} sessions left", not sessions)
        await gaia.memory.settled()
        partition = gaia.scope(DANA).partition
        found = await asyncio.to_thread(gaia.mem0.get_all, filters={"user_id": partition}, top_k=100)
        ids = {row["id"] for row in found["results"]}
        same = bool(ids) and ids == {fact.id for fact in facts}
        self._observe(f"a plain mem0.Memory lists {len(ids)} facts, the same ones", same)

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
        await self._say(gaia, ELI, "cli", f"/remember {ELIS}")

    async def _kill_a_learner(self) -> int:
        """Have another process learn what Dana said last, kill it while it does, and return its id."""
        async with silent_model() as (address, asked):
            gemini = {"llm": {"provider": "gemini"}, "embedder": {"provider": "offline"}}
            async with self._sweeping({"memory": gemini}, environment(address)) as child:
                ended = asyncio.create_task(child.wait())
                waiting = asyncio.create_task(asked.wait())
                await asyncio.wait({ended, waiting}, timeout=WITHIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                with contextlib.suppress(ProcessLookupError):
                    child.kill()
                code = await ended
        self._observe(
            f"process {child.pid} was killed while it waited for the model to tell it what {DANA} said last",
            asked.is_set() and code == -signal.SIGKILL,
        )
        return child.pid

    @asynccontextmanager
    async def _sweeping(
        self, settings: dict[str, object], environ: dict[str, str]
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run `gaia sweep` as a process that does not outlive the block."""
        text = yaml.safe_dump({"home": str(self._home), "model": "offline", **settings})
        await asyncio.to_thread(self._settings.write_text, text, encoding="utf-8")
        arguments = ("sweep", "--force", "--json", "--config", str(self._settings))
        nowhere = asyncio.subprocess.DEVNULL
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gaia_memory.cli", *arguments),
            env=environ,
            stdin=nowhere,
            stdout=asyncio.subprocess.PIPE,
            stderr=nowhere,
        )
        try:
            yield child
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _see_nothing_of_it(self, gaia: Gaia, victim: int) -> None:
        key = SessionKey(gaia.config.app, DANA, f"{DANA}:cli")
        async with gaia.memory.database.reading() as tx:
            row = await gaia.memory.ledger.row(tx, key)
        lease = (row.lease_owner if row else None) or "nobody"
        left = await gaia.memory.count(gaia.scope(DANA))
        self._observe(
            f"it left {left} facts as there were before, and its lease behind ({lease})",
            left == len(SAID) and f":{victim}:" in lease,
        )

    async def _finish_learning(self, gaia: Gaia) -> None:
        offline = {"provider": "offline"}
        async with self._sweeping({"memory": {"llm": offline, "embedder": offline}}, environment()) as child:
            async with asyncio.timeout(WITHIN_SECONDS):
                out, _ = await child.communicate()
        facts = await gaia.memory.facts(gaia.scope(DANA))
        learned = [fact.text for fact in facts if TALENT in fact.text]
        self._observe(
            f"process {child.pid}, a `gaia sweep`, took the lease over and finished it: {out.decode().strip()}",
            child.returncode == 0 and json.loads(out or b"{}").get("failed") == 0,
        )
        self._observe(
            f"{LATER!r} became, once: {'; '.join(learned) or 'nothing'}", (len(learned), len(facts)) == (1, len(WORDS))
        )

    async def _forget(self, gaia: Gaia) -> None:
        count = await gaia.memory.count(gaia.scope(DANA))
        before = await asyncio.to_thread(files_with, self._home, WORDS)
        self._observe(
            f"each of the words {', '.join(WORDS)} stands in a file: {_numbers(before)}", all(before.values())
        )
        answer = await self._say(gaia, DANA, "cli", "/forget yes")
        left = await gaia.memory.count(gaia.scope(DANA))
        told = re.match(r"I forgot (\d+) facts about you\.", answer)
        self._observe(
            f"/forget yes answers {answer.partition('. ')[0]!r}: there were {count}, {left} are left",
            told is not None and int(told[1]) == count == len(WORDS) and left == 0,
        )
        await gaia.memory.settled()
        after = await asyncio.to_thread(files_with, self._home, WORDS)
        self._observe(f"no file of the home holds any of them now: {_numbers(after)}", not any(after.values()))
        others = [fact.text for fact in await gaia.memory.facts(gaia.scope(ELI))]
        self._observe(f"{ELI} keeps what is {ELI}'s: {'; '.join(others)}", others == [ELIS])


def _numbers(found: dict[str, list[str]]) -> str:
    return ", ".join(f"{word} in {len(files)}" for word, files in found.items())
