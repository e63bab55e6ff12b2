"""ADK's Runner, loading of a session only what is replayed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from google.adk.agents.run_config import RunConfig
from google.adk.runners import Runner

from gaia_memory.adk.command_turns import command_in
from gaia_memory.adk.guard import Contained
from gaia_memory.adk.window_plugin import AnchoredLoad
from gaia_memory.models import Anchor, SessionKey

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.genai import types

    from gaia_memory.engine import Engine

CLOSE_SECONDS = 30.0
"""ADK cancels a plugin that closes longer than this: leases and the store have to be given back in it."""


class GaiaRunner(Runner):
    """A Runner that makes missing sessions, waits while one is being cleared, and bounds the load of a turn.

    The whole session is loaded where a part is not enough: the message answers a call, an invocation is
    resumed, the app compacts events, or the caller chose what to load.
    """

    def __init__(self, *, engine: Engine, **arguments: Any) -> None:
        """Take ADK's own arguments, and the engine whose ledger knows where the window begins."""
        arguments.setdefault("auto_create_session", True)
        arguments.setdefault("plugin_close_timeout", CLOSE_SECONDS)
        super().__init__(**arguments)
        self._engine = engine

    async def run_async(
        self,
        *,
        user_id: str,
        session_id: str,
        invocation_id: str | None = None,
        new_message: types.Content | None = None,
        state_delta: dict[str, Any] | None = None,
        run_config: RunConfig | None = None,
        yield_user_message: bool = False,
        abort_signal: asyncio.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run a turn as ADK's Runner does."""
        key = SessionKey(self.app_name, user_id, session_id)
        anchor = await self._anchor(key, is_turn=command_in(new_message) is None)
        config = run_config or RunConfig()
        if self._may_bound(config, new_message, invocation_id):
            config = config.model_copy(update={"get_session_config": self._load_from(key, anchor)})
        turn = super().run_async(
            user_id=user_id,
            session_id=session_id,
            invocation_id=invocation_id,
            new_message=new_message,
            state_delta=state_delta,
            run_config=config,
            yield_user_message=yield_user_message,
            abort_signal=abort_signal,
        )
        async with aclosing(turn) as events:
            async for event in events:
                yield event

    async def rewind_async(
        self,
        *,
        user_id: str,
        session_id: str,
        rewind_before_invocation_id: str,
        run_config: RunConfig | None = None,
    ) -> None:
        """Rewind as ADK's Runner does; the next turn looks for its window in the whole session again."""
        await super().rewind_async(
            user_id=user_id,
            session_id=session_id,
            rewind_before_invocation_id=rewind_before_invocation_id,
            run_config=run_config,
        )
        await self._remember(SessionKey(self.app_name, user_id, session_id), Anchor(turn_no=1, at=0.0))

    def _may_bound(self, config: RunConfig, message: types.Content | None, invocation_id: str | None) -> bool:
        answers = any(part.function_response for part in (message.parts if message else None) or [])
        return not (
            config.get_session_config or answers or invocation_id or self.app.events_compaction_config is not None
        )

    def _load_from(self, key: SessionKey, anchor: Anchor | None) -> AnchoredLoad:
        async def remember(begin: Anchor) -> None:
            await self._remember(key, begin)

        return AnchoredLoad(
            after_timestamp=anchor.at if anchor else None,
            key=key,
            turn_no=anchor.turn_no if anchor else 1,
            remember=remember,
        )

    async def _anchor(self, key: SessionKey, *, is_turn: bool) -> Anchor | None:
        """Return where the window begins; a turn keeps the session from being cleared, and waits for a clear."""
        marks = self._engine.marks
        with Contained("asking the ledger where the replay window begins"):
            if is_turn and self._engine.config.memory.enabled:
                return (await marks.hold(key)).anchor
            row = await marks.row(key)
            return row.anchor if row else None
        return None

    async def _remember(self, key: SessionKey, anchor: Anchor) -> None:
        with Contained("keeping where the replay window begins"):
            async with self._engine.database.transaction() as tx:
                await self._engine.ledger.anchor(tx, key, anchor)
