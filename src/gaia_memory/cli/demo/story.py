"""The script of `gaia demo`: learn, recall, isolate, survive a crash, forget."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory.config.sources.load import load
from gaia_memory.runtime import open_memory

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest

    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.models import Fact

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
OFFLINE = {"provider": "offline"}
ELI_STATEMENT = "I like green tea"
TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.05


class ShiftedClock:
    """The time of the machine plus an offset."""

    offset = timedelta()

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC) + self.offset


class DemoScript:
    """One run of the demo in its own home. Each `observe` checks the real parts."""

    _gaia: Gaia

    def __init__(self, folder: Path, observe: ObserveCallback) -> None:
        """Prepare; nothing is opened yet."""
        self._home = folder / "home"
        self._config_path = folder / "gaia.yaml"
        self._observe = observe
        self._clock = ShiftedClock()
        self._last_instruction = ""

    async def run(self) -> None:
        """Run all checks."""
        # Neither a file nor the environment changes the demo.
        config = load({**self._settings(OFFLINE), "sessions": {"coalesce_seconds": 0}}, environ={}).config
        async with open_memory(config, clock=self._clock) as self._gaia:
            await self._check_sessions()
            await self._check_learning()
            await self._check_recall()
            await self._check_isolation()
            await self._check_killed_learner()
            await self._check_recovery()
            await self._check_forget()

    def _settings(self, llm: Mapping[str, str]) -> dict[str, object]:
        return {"home": str(self._home), "model": "offline", "memory": {"llm": dict(llm), "embedder": dict(OFFLINE)}}

    async def _send(self, user: str, channel: str, text: str) -> str:
        agent = LlmAgent(name="gaia", model=self._gaia.model, before_model_callback=self._record_instruction)
        return (await self._gaia.conversation(agent, user_id=user, channel=channel).send(text)).text

    def _record_instruction(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        self._last_instruction = str(llm_request.config.system_instruction or "")

    async def _sessions(self) -> list[str]:
        listed = await self._gaia.session_service.list_sessions(app_name=self._gaia.config.app, user_id=DANA)
        return sorted(session.id for session in listed.sessions)

    async def _facts(self, user: str) -> list[Fact]:
        return await self._gaia.memory.facts(self._gaia.scope(user))

    async def _check_sessions(self) -> None:
        answers = [await self._send(DANA, channel, text) for channel, text in STATEMENTS.values()]
        sessions = await self._sessions()
        self._observe(
            f"{DANA} said {len(answers)} things on two channels: sessions {', '.join(sessions)}",
            all(answers) and sessions == [f"{DANA}:cli", f"{DANA}:telegram"],
        )
        report, count = await self._gaia.sweep(), len(await self._facts(DANA))
        self._observe(
            f"a sweep while the conversations are active learns {report.consolidated} conversations, {count} facts",
            (report.consolidated, report.failed, count) == (0, 0, 0),
        )

    async def _check_learning(self) -> None:
        gaia = self._gaia
        self._clock.offset += timedelta(minutes=gaia.config.sessions.idle_consolidate_minutes + 1)
        report = await gaia.sweep()
        facts, sessions = await self._facts(DANA), await self._sessions()
        self._observe(
            f"half an hour later a sweep learns {report.consolidated} conversations, {report.failed} failed",
            (report.consolidated, report.failed) == (2, 0),
        )
        for word, (_, statement) in STATEMENTS.items():
            learned = [fact.text for fact in facts if word in fact.text]
            self._observe(f"{statement!r} became: {'; '.join(learned) or 'nothing'}", len(learned) == 1)
        self._observe(f"nothing else was learned: {len(facts)} facts", len(facts) == len(STATEMENTS))
        self._observe(f"learned conversations are cleared: {len(sessions)} sessions left", not sessions)
        await gaia.memory.settled()
        filters = {"user_id": gaia.scope(DANA).partition}
        found = await asyncio.to_thread(gaia.mem0.get_all, filters=filters, top_k=100)
        ids = {row["id"] for row in found["results"]}
        is_same = bool(ids) and ids == {fact.id for fact in facts}
        self._observe(f"a plain mem0.Memory lists the same {len(ids)} facts", is_same)

    async def _check_recall(self) -> None:
        answer = await self._send(DANA, "web", QUESTION)
        profile = self._last_instruction.partition("<USER_PROFILE>")[2].partition("</USER_PROFILE>")[0]
        line_count = sum(line.startswith("- ") for line in profile.splitlines())
        self._observe(f"a new session has a profile of {line_count} lines in the prompt", SECRET_WORD in profile)
        self._observe(f"asked {QUESTION!r} the agent answers: {answer.splitlines()[-1]!r}", SECRET_WORD in answer)
        hits = await self._gaia.memory.recall(self._gaia.scope(DANA), QUESTION)
        best = hits[0].fact.text if hits else ""
        self._observe(f"recall puts {best!r} first", SECRET_WORD in best)

    async def _check_isolation(self) -> None:
        answer = await self._send(ELI, "cli", QUESTION)
        hits, facts = await self._gaia.memory.recall(self._gaia.scope(ELI), QUESTION), await self._facts(ELI)
        profile = "<USER_PROFILE>" in self._last_instruction
        self._observe(
            f"{ELI} asks the same and sees nothing of {DANA}: {len(facts)} facts, {len(hits)} hits, no profile",
            not facts and not hits and not profile and SECRET_WORD not in answer,
        )
        await self._send(ELI, "cli", f"/remember {ELI_STATEMENT}")

    async def _check_killed_learner(self) -> None:
        """Kill a process while it holds the lease of a conversation and waits for a model that never answers."""
        await self._send(DANA, "cli", LATER_STATEMENT)
        leased_until = None
        with socket.create_server(("127.0.0.1", 0)) as model:
            model.setblocking(False)
            url = f"http://127.0.0.1:{model.getsockname()[1]}"
            gemini = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}
            async with self._sweep_process({"provider": "gemini"}, gemini) as child:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TIMEOUT_SECONDS):
                        connection, _ = await asyncio.get_running_loop().sock_accept(model)
                        with connection:
                            # The first request may be about another conversation.
                            while (leased_until := (await self._leases()).get(f"{DANA}:cli")) is None:  # noqa: ASYNC110
                                await asyncio.sleep(POLL_SECONDS)
                            child.kill()
                            await child.wait()
        self._observe(
            f"process {child.pid} was killed while it waited for the model to extract {DANA}'s last statement",
            leased_until is not None and child.returncode == -signal.SIGKILL,
        )
        count, leases = len(await self._facts(DANA)), await self._leases()
        remaining_lease = leases.get(f"{DANA}:cli")
        self._observe(
            f"after that there are still {count} facts, {', '.join(leases) or 'nothing'} are pending, and the dead "
            f"process still holds the lease of {DANA}:cli",
            count == len(STATEMENTS) and remaining_lease is not None and remaining_lease == leased_until,
        )

    async def _leases(self) -> dict[str, float | None]:
        """Return the pending conversations of Dana with the end of their leases."""
        pending = (await self._gaia.memory.status(self._gaia.scope(DANA))).pending
        return {each.key.session: each.lease_until for each in pending}

    @asynccontextmanager
    async def _sweep_process(
        self, llm: Mapping[str, str], variables: Mapping[str, str]
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run `gaia sweep` as a process that does not outlive the block."""
        text = yaml.safe_dump(self._settings(llm))
        await asyncio.to_thread(self._config_path.write_text, text, encoding="utf-8")
        command = (sys.executable, "-m", "gaia_memory.cli", "sweep", "--force", "--json", "--config")
        pipe, devnull = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        environ = {**_neutral_environment(), **variables}
        child = await asyncio.create_subprocess_exec(
            *command, str(self._config_path), env=environ, stdin=devnull, stdout=pipe, stderr=devnull
        )
        try:
            yield child
        finally:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def _check_recovery(self) -> None:
        async with self._sweep_process(OFFLINE, {}) as child, asyncio.timeout(TIMEOUT_SECONDS):
            out, _ = await child.communicate()
        facts = await self._facts(DANA)
        learned = [fact.text for fact in facts if TALENT_WORD in fact.text]
        self._observe(
            f"process {child.pid}, a `gaia sweep`, took over and finished: {out.decode().strip()}",
            child.returncode == 0 and json.loads(out or b"{}").get("failed") == 0,
        )
        self._observe(
            f"{LATER_STATEMENT!r} became, once: {'; '.join(learned) or 'nothing'}",
            (len(learned), len(facts)) == (1, len(ALL_WORDS)),
        )

    async def _check_forget(self) -> None:
        count, before = len(await self._facts(DANA)), await asyncio.to_thread(_count_files, self._home)
        words = ", ".join(ALL_WORDS)
        self._observe(f"files contain each of the words {words}: {_format_counts(before)}", all(before.values()))
        answer = await self._send(DANA, "cli", "/forget yes")
        remaining = len(await self._facts(DANA))
        match = re.match(r"I forgot (\d+) facts about you\.", answer)
        self._observe(
            f"/forget yes answers {answer.partition('. ')[0]!r}: there were {count}, {remaining} are left",
            match is not None and int(match[1]) == count == len(ALL_WORDS) and remaining == 0,
        )
        await self._gaia.memory.settled()
        after = await asyncio.to_thread(_count_files, self._home)
        self._observe(f"no file of the home contains any of them now: {_format_counts(after)}", not any(after.values()))
        others = [fact.text for fact in await self._facts(ELI)]
        self._observe(f"{ELI}'s facts are still there: {'; '.join(others)}", others == [ELI_STATEMENT])


def _neutral_environment() -> dict[str, str]:
    """Return this environment without what would give a child another home, model or proxy."""
    prefixes = ("GAIA_", "GOOGLE_", "GEMINI_")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(prefixes) and not name.upper().endswith("_PROXY")
    }


def _count_files(home: Path) -> dict[str, int]:
    """Return for each of the words how many files under `home` contain it, in any case."""
    contents = [path.read_bytes().lower() for path in home.rglob("*") if path.is_file()]
    return {word: sum(word.lower().encode() in content for content in contents) for word in ALL_WORDS}


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{word} in {count}" for word, count in counts.items())
