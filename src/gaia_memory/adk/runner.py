"""ADK's Runner, loading of a session only what is replayed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from google.adk.agents.run_config import RunConfig
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.runners import Runner

from gaia_memory.adk.plugins.error_boundary import Contained
from gaia_memory.adk.plugins.run_context import held_here, hold_here
from gaia_memory.adk.plugins.window_plugin import BEGINNING, AnchoredLoad, Near
from gaia_memory.adk.sessions.stale_session import is_refusal
from gaia_memory.models import Anchor, SessionKey

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.genai import types

    from gaia_memory.engine import Engine
    from gaia_memory.sessions.turns.turn_lease import Hold

CLOSE_SECONDS = 30.0
"""ADK cancels a plugin that closes longer than this: leases and the store have to be given back in it."""

_NEARS = 64
"""Conversations whose older turns that are still needed are kept in memory; another one loads from its anchor."""


_TRIES = 3
"""How often a turn is begun whose message the session service refuses; a model was not asked by then."""


class GaiaRunner(Runner):
    """A Runner that makes missing sessions, takes one turn of a session at a time, and bounds the load of a turn.

    The whole session is loaded where a part is not enough: the message answers a call, an invocation is
    resumed, the app compacts events, or the caller chose what to load.
    """

    def __init__(self, *, engine: Engine, **arguments: Any) -> None:
        """Take ADK's own arguments, and the engine whose ledger knows where the window begins."""
        arguments.setdefault("auto_create_session", True)
        arguments.setdefault("plugin_close_timeout", CLOSE_SECONDS)
        super().__init__(**arguments)
        self._engine = engine
        self._nears: OrderedDict[SessionKey, Near] = OrderedDict()

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
        """Run a turn as ADK's Runner does, once nobody else talks in the session, in any process."""
        arguments: dict[str, Any] = {
            "user_id": user_id,
            "session_id": session_id,
            "invocation_id": invocation_id,
            "new_message": new_message,
            "state_delta": state_delta,
            "yield_user_message": yield_user_message,
            "abort_signal": abort_signal,
        }
        async with self._held(SessionKey(self.app_name, user_id, session_id)) as hold:
            config = self._bounded(run_config or RunConfig(), hold, new_message, invocation_id)
            for tries_left in reversed(range(_TRIES)):
                try:
                    async with aclosing(super().run_async(run_config=config, **arguments)) as events:
                        async for event in events:
                            yield event
                    return
                except (SessionNotFoundError, ValueError) as error:
                    # Changed or deleted between its load and the message, by somebody who asks no ledger.
                    if hold.has_message is not False or not tries_left or not is_refusal(error):
                        raise

    @asynccontextmanager
    async def _held(self, key: SessionKey) -> AsyncIterator[Hold]:
        """Keep a session from being cleared and from others' turns; what is run inside a turn runs in its hold."""
        outer, marks = held_here(key), self._engine.marks
        hold = outer or marks.hold(key)
        hold_here(hold)
        try:
            with Contained("holding a session for a turn"):
                await self._engine.live.look()
                if outer is None:
                    await marks.take(hold)
            yield hold
        finally:
            if outer is None:
                with Contained("letting go of a session after a turn"):
                    await marks.leave(hold)

    def _bounded(
        self, config: RunConfig, hold: Hold, message: types.Content | None, invocation_id: str | None
    ) -> RunConfig:
        """Return a configuration that loads what the replay window needs."""
        if not self._may_bound(config, message, invocation_id):
            return config
        anchor = (hold.row.anchor if hold.row else None) or BEGINNING
        return config.model_copy(update={"get_session_config": self._load_from(hold.key, anchor)})

    def _may_bound(self, config: RunConfig, message: types.Content | None, invocation_id: str | None) -> bool:
        answers = any(part.function_response for part in (message.parts if message else None) or [])
        return not (
            config.get_session_config or answers or invocation_id or self.app.events_compaction_config is not None
        )

    def _load_from(self, key: SessionKey, anchor: Anchor) -> AnchoredLoad:
        near = self._nears.get(key)

        async def remember(begins: Anchor | None, nearer: Near | None) -> None:
            self._keep_near(key, nearer)
            if begins not in (None, anchor):
                await self._remember(key, begins)

        start = near.begins if near else anchor
        return AnchoredLoad(
            after_timestamp=start.at or None, key=key, turn_no=start.turn_no, near=near, remember=remember
        )

    def _keep_near(self, key: SessionKey, near: Near | None) -> None:
        self._nears.pop(key, None)
        if near is not None:
            self._nears[key] = near
        if len(self._nears) > _NEARS:
            self._nears.popitem(last=False)

    async def _remember(self, key: SessionKey, anchor: Anchor) -> None:
        with Contained("keeping where the replay window begins"):
            async with self._engine.database.transaction() as tx:
                await self._engine.ledger.anchor(tx, key, anchor)
