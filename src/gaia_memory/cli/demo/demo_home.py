"""The home of one demo: who talks in it, and what can be observed from outside."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from google.adk.agents.llm_agent import LlmAgent
from google.adk.platform import time as platform_time

from gaia_memory.cli.demo.demo_settings import OFFLINE, PATIENCE_SECONDS, demo_settings
from gaia_memory.config.sources.load import load
from gaia_memory.errors import StoreStalledError
from gaia_memory.runtime import open_memory
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest

    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.models import Fact, PendingConversation, Scope


class PastClock:
    """The time of the machine less `behind`."""

    def __init__(self, behind: timedelta) -> None:
        self.behind = behind

    def now(self) -> datetime:
        """Return the time."""
        return datetime.now(UTC) - self.behind


class DemoHome:
    """Memory in a home of its own, with people who talk to an agent."""

    def __init__(self, gaia: Gaia, folder: Path, clock: PastClock) -> None:
        self.gaia = gaia
        self.last_instruction = ""
        self._agent = LlmAgent(name="gaia", model=gaia.model, before_model_callback=self._record_instruction)
        self._folder = folder
        self._clock = clock

    def return_to_the_present(self) -> None:
        """Set the clock to the time of the machine, and of every other process."""
        self._clock.behind = timedelta()

    async def send(self, user: str, channel: str, text: str) -> str:
        """Send a message and return the answer."""
        reply = await self.gaia.conversation(self._agent, user_id=user, channel=channel).send(text)
        return reply.text

    def scope(self, user: str) -> Scope:
        """Return the scope of a user."""
        return self.gaia.scope(user)

    async def facts(self, user: str) -> list[Fact]:
        """Return what is remembered about a user."""
        return await self.gaia.memory.facts(self.scope(user))

    async def session_ids(self, user: str) -> list[str]:
        """Return the sessions of a user, sorted."""
        listed = await self.gaia.session_service.list_sessions(app_name=self.gaia.config.app, user_id=user)
        return sorted(session.id for session in listed.sessions)

    async def pending(self, user: str) -> dict[str, PendingConversation]:
        """Return the conversations of a user that wait to be learned, by session."""
        waiting = (await self.gaia.memory.status(self.scope(user))).pending
        return {each.key.session: each for each in waiting}

    async def settle(self) -> None:
        """Wait until the mem0 store contains exactly the current facts and no file contains a forgotten one."""
        give_up_at = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return await self.gaia.memory.settled()
            except StoreStalledError:
                # A minute without progress is usual where importing Chroma takes longer.
                if time.monotonic() > give_up_at:
                    raise

    async def count_files(self, words: Collection[str]) -> dict[str, int]:
        """Return for each word how many files of the home contain it, in any case."""
        return await run_in_thread(count_files, self._folder, words)

    def _record_instruction(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        self.last_instruction = str(llm_request.config.system_instruction or "")


@contextlib.asynccontextmanager
async def open_demo_home(folder: Path, *, behind: timedelta) -> AsyncIterator[DemoHome]:
    """Open memory in a new home in `folder`, with a clock that is `behind` for now, ADK's, too.

    No sweep runs in the background: conversations are learned only when the demo says so. Neither a configuration file
    nor the environment has an effect.
    """
    clock = PastClock(behind)
    config = load(demo_settings(folder, OFFLINE), environ={}).config
    platform_time.set_time_provider(lambda: clock.now().timestamp())
    try:
        async with open_memory(config, clock=clock) as gaia:
            yield DemoHome(gaia, config.home, clock)
    finally:
        platform_time.reset_time_provider()


def count_files(folder: Path, words: Collection[str]) -> dict[str, int]:
    """Return for each word how many files below `folder` contain it, in any case."""
    contents = [path.read_bytes().lower() for path in folder.rglob("*") if path.is_file()]
    return {word: sum(word.lower().encode() in content for content in contents) for word in words}
