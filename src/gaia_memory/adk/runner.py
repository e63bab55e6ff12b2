"""ADK's Runner, which loads only the part of a session that is replayed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from google.adk.agents.run_config import RunConfig
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.runners import Runner

from gaia_memory.adk.plugins.error_boundary import ErrorBoundary
from gaia_memory.adk.plugins.invocation_state import current_run, enter_lease
from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin
from gaia_memory.adk.plugins.slash_commands import parse_message
from gaia_memory.adk.plugins.window_plugin import START_ANCHOR, WindowedSessionLoad
from gaia_memory.adk.sessions.stale_session import is_stale_error
from gaia_memory.models import SessionKey, WindowAnchor

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.genai import types

    from gaia_memory.engine import Engine
    from gaia_memory.sessions.turn_presence import TurnLease

CLOSE_TIMEOUT_SECONDS = 30.0
"""ADK cancels a plugin that takes longer to close: leases and the store must be released in this time."""

_MAX_TRIES = 3
"""Attempts at a turn whose message the session service rejects; the model was not called by then."""


class GaiaRunner(Runner):
    """A Runner that creates missing sessions, runs one turn of a session at a time, and loads only the replay window.

    The window is not used when a part is not enough: the message answers a call, an invocation is resumed, or the app
    compacts events. A caller's own `get_session_config` is kept.
    """

    def __init__(self, *, engine: Engine, **arguments: Any) -> None:
        """Take ADK's own arguments, and the engine whose ledger stores where the window begins."""
        arguments.setdefault("auto_create_session", True)
        arguments.setdefault("plugin_close_timeout", CLOSE_TIMEOUT_SECONDS)
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
        """Run a turn as ADK's Runner does, once no other turn runs in the session, in any process."""
        arguments: dict[str, Any] = {
            "user_id": user_id,
            "session_id": session_id,
            "invocation_id": invocation_id,
            "new_message": new_message,
            "state_delta": state_delta,
            "yield_user_message": yield_user_message,
            "abort_signal": abort_signal,
        }
        async with self._lease_session(SessionKey(self.app_name, user_id, session_id), new_message) as lease:
            config = self._with_window(run_config or RunConfig(), lease, new_message, invocation_id)
            for tries_left in reversed(range(_MAX_TRIES)):
                try:
                    async with aclosing(super().run_async(run_config=config, **arguments)) as events:
                        async for event in events:
                            yield event
                    return
                except (SessionNotFoundError, ValueError) as error:
                    # A host that does not use the ledger changed or deleted it between the load and the message.
                    if lease.has_user_message is not False or not tries_left or not is_stale_error(error):
                        raise

    @asynccontextmanager
    async def _lease_session(self, key: SessionKey, message: types.Content | None) -> AsyncIterator[TurnLease]:
        """Protect a session from clears and from other turns; a run inside a turn uses that turn's lease.

        The statement that acquires the lease counts the turn too, for the MemoryPlugin to claim.
        """
        outer_lease, presence = current_run().lease_of(key), self._engine.turns
        lease = outer_lease or presence.new_lease(key)
        enter_lease(lease)
        is_cancelled = False
        try:
            with ErrorBoundary("acquiring a session for a turn"):
                await self._engine.reload_config()
                if outer_lease is None:
                    is_counted = self._is_remembered_turn(lease.key, message)
                    await lease.waits.run(presence.acquire(lease, counts_turn=is_counted))
            yield lease
        except asyncio.CancelledError:
            is_cancelled = True
            raise
        finally:
            if outer_lease is None:
                with ErrorBoundary("releasing a session after a turn"):
                    await lease.waits.finish(presence.release(lease), is_cancelled=is_cancelled)
                lease.waits.is_over = True

    def _is_remembered_turn(self, key: SessionKey, message: types.Content | None) -> bool:
        has_plugin = any(isinstance(plugin, MemoryPlugin) for plugin in self.plugin_manager.plugins)
        command, _ = parse_message(message, self._engine, key)
        return has_plugin and command is None and self._engine.config.memory.enabled

    def _with_window(
        self, config: RunConfig, lease: TurnLease, message: types.Content | None, invocation_id: str | None
    ) -> RunConfig:
        """Return a configuration that loads what the replay window needs."""
        if not self._can_use_window(config, message, invocation_id):
            return config
        anchor = (lease.row.session.anchor if lease.row else None) or START_ANCHOR
        return config.model_copy(update={"get_session_config": self._windowed_load(lease.key, anchor)})

    def _can_use_window(self, config: RunConfig, message: types.Content | None, invocation_id: str | None) -> bool:
        is_tool_response = any(part.function_response for part in (message.parts if message else None) or [])
        return not (
            config.get_session_config
            or is_tool_response
            or invocation_id
            or self.app.events_compaction_config is not None
        )

    def _windowed_load(self, key: SessionKey, anchor: WindowAnchor) -> WindowedSessionLoad:
        async def save_start(new_anchor: WindowAnchor) -> None:
            if new_anchor != anchor:
                with ErrorBoundary("keeping where the replay window begins"):
                    await current_run().waits_of(key).run(self._engine.conversations.set_anchor(key, new_anchor))

        return WindowedSessionLoad(
            after_timestamp=anchor.timestamp or None, key=key, turn_no=anchor.turn_no, save_start=save_start
        )
