"""A conversation as ADK's session service keeps it: read from a mark on, and cleared only when nobody spoke since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig

from gaia_memory.adk.mapping import live_events, mark_of, turns_of
from gaia_memory.adk.trial import EVAL_SESSIONS
from gaia_memory.models import Mark, SessionKey, Talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

CLEARED_AT = "gaia:cleared_at"
"""Key in a session's state: everything before this time was rewound, so that it need not be read again."""

_TICK = 1e-6


class SessionTranscript:
    """The `Transcript` of one app over any ADK session service."""

    def __init__(
        self,
        session_service: BaseSessionService,
        app: str,
        *,
        clears_by: Literal["delete", "rewind"],
        is_whole: bool = True,
    ) -> None:
        """Read and clear the sessions of `app`.

        `clears_by` is what "auto" means for this host; without `is_whole` the app may keep sessions elsewhere.
        """
        self.clears_by = clears_by
        self.is_whole = is_whole
        self._service = session_service
        self._app = app

    def __eq__(self, other: object) -> bool:
        """Say whether another transcript reads the same sessions, however it clears them."""
        return isinstance(other, SessionTranscript) and (self._service, self._app) == (other._service, other._app)

    def __hash__(self) -> int:
        """Go by the sessions alone."""
        return hash((id(self._service), self._app))

    async def sessions(self) -> dict[SessionKey, float]:
        """Return all sessions of the app with the time each was last touched, but for those of evaluations."""
        listed = await self._service.list_sessions(app_name=self._app)
        return {
            SessionKey(self._app, session.user_id, session.id): session.last_update_time
            for session in listed.sessions
            if not session.id.startswith(EVAL_SESSIONS)
        }

    async def read(self, key: SessionKey, *, after: Mark | None, turns_before: int) -> Talk | None:
        """Return what was said after a mark; None when there is no such session."""
        config = GetSessionConfig(after_timestamp=after.at) if after is not None else None
        session = await self._load(key, config)
        if session is None:
            return None
        events = _after(session.events, after)
        if self.clears_by == "delete" and after is not None and not _holds(session.events, after):
            session = await self._load(key, None) or session
            # Deleted and begun anew: all of it is new, also what a host with a slower clock said.
            events = _after(session.events, after if _holds(session.events, after) else None)
        return Talk(
            key=key,
            turns=turns_of(events, turns_before=turns_before),
            end=mark_of(events[-1]) if events else after,
            loaded=session,
        )

    async def clear(self, talk: Talk, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; False, and nothing changed, when somebody spoke since."""
        if how == "rewind":
            return await self._rewind(talk)
        newest = await self._load(talk.key, GetSessionConfig(num_recent_events=1))
        if newest is None:
            return True
        if not _ends_with(newest.events, talk.end):
            return False
        await self._service.delete_session(app_name=self._app, user_id=talk.key.user, session_id=talk.key.session)
        return True

    async def _rewind(self, talk: Talk) -> bool:
        """Append one event that takes everything back, with the session that was read as compare-and-swap."""
        read = cast("Session", talk.loaded)
        since = read.state.get(CLEARED_AT)
        bound = GetSessionConfig(after_timestamp=since) if isinstance(since, float) else None
        now = await self._load(talk.key, bound)
        if now is None:
            return True
        if not _ends_with(now.events, talk.end):
            return False
        visible = [event for event in live_events(now.events) if event.invocation_id]
        if not visible:
            return True
        try:
            await self._service.append_event(read, _rewind_to(visible[0], now.events[-1]))
        except SessionNotFoundError:
            return True
        except ValueError as error:
            # ADK's error for a session that changed meanwhile is a ValueError in a private module.
            if type(error).__name__ != "StaleSessionError":
                raise
            return False
        return True

    async def _load(self, key: SessionKey, config: GetSessionConfig | None) -> Session | None:
        return await self._service.get_session(
            app_name=self._app, user_id=key.user, session_id=key.session, config=config
        )


def _after(events: Sequence[Event], mark: Mark | None) -> Sequence[Event]:
    """Return the events behind a mark: `after_timestamp` also gives those at the mark's own time."""
    if mark is None:
        return events
    for place, event in enumerate(events):
        if event.id == mark.event_id:
            return events[place + 1 :]
    return [event for event in events if event.timestamp > mark.at]


def _holds(events: Sequence[Event], mark: Mark) -> bool:
    return any(event.id == mark.event_id for event in events)


def _ends_with(events: Sequence[Event], end: Mark | None) -> bool:
    return mark_of(events[-1]) == end if events else end is None


def _rewind_to(first: Event, last: Event) -> Event:
    event = Event(
        invocation_id=Event.new_id(),
        author="user",
        actions=EventActions(rewind_before_invocation_id=first.invocation_id),
    )
    # A host whose clock is behind must not sort the rewind before what it takes back.
    event.timestamp = max(event.timestamp, last.timestamp + _TICK)
    event.actions.state_delta = {CLEARED_AT: event.timestamp}
    return event
