"""A conversation as ADK's session service keeps it: read from a mark on, and cleared only when nobody spoke since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig

from gaia_memory.adk.sessions.changed_sessions import changed_sessions
from gaia_memory.adk.sessions.compare_and_delete import delete_unchanged
from gaia_memory.adk.sessions.event_mapping import mark_of, zone_of
from gaia_memory.adk.sessions.event_pages import LoadedEvents, Part, pager_of, pages
from gaia_memory.adk.sessions.out_of_order_turns import late_turns
from gaia_memory.adk.sessions.session_table import EVAL_SESSIONS
from gaia_memory.adk.sessions.turn_reader import Reading, live_parts
from gaia_memory.models import Mark, SessionKey, Talk, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

    from gaia_memory.adk.sessions.event_pages import StoredEvents

CLEARED_AT = "gaia:cleared_at"
"""Key in a session's state: everything before this time was rewound, so that it need not be read again."""

_TICK = 1e-6
_LEAD_SECONDS = 3600.0
"""How far ahead of a mark a session is loaded that cannot be read in parts."""


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
        if not isinstance(other, SessionTranscript):
            # One that opens the same service only when it reads knows by itself whether it is the same.
            return NotImplemented
        return (self._service, self._app) == (other._service, other._app)

    def __hash__(self) -> int:
        """Go by the app alone, as every transcript does."""
        return hash(self._app)

    async def sessions(self, *, since: float | None = None) -> dict[SessionKey, float]:
        """Return the sessions of the app changed at `since` or later, with when, but for those of evaluations."""
        found = await changed_sessions(self._service, self._app, since=since)
        return {
            SessionKey(self._app, user, session): at
            for (user, session), at in found.items()
            if not session.startswith(EVAL_SESSIONS)
        }

    async def read(self, key: SessionKey, *, after: Mark | None, turns_before: int) -> Talk | None:
        """Return what was said after a mark; None when there is no such session."""
        opened = await self._open(key, since=None if after is None else after.at - _LEAD_SECONDS)
        if opened is None:
            return None
        session, events = opened
        if self.clears_by == "delete" and after is not None and not await _holds(events, after):
            # Deleted and begun anew: all of it is new, also what a host with a slower clock said.
            session, events = await self._open(key, since=None) or opened
            after = after if await _holds(events, after) else None
        end = await _end_of(session.events, events, after)
        zone = await zone_of(session)
        reading = await Reading.of(events, after=after, end=end, turns_before=turns_before, zone=zone)
        return Talk(key=key, turns=reading, before=reading.before(), end=end, loaded=session)

    async def late(
        self, key: SessionKey, began: Mapping[str, float], *, after: Mark | None, turns_before: int
    ) -> tuple[Turn, ...] | None:
        """Return what was said in some invocations and reading on from a mark misses; None without a session."""
        opened = await self._open(key, since=min(began.values()) - _LEAD_SECONDS)
        if opened is None:
            return None
        session, events = opened
        cleared_at = session.state.get(CLEARED_AT)
        borders = [mark for mark in (after.at if after else None, cleared_at) if isinstance(mark, float)]
        if not borders:
            return ()
        zone = await zone_of(session)
        found = late_turns(events, began, border=max(borders), ours=CLEARED_AT, turns_before=turns_before, zone=zone)
        return await found

    async def clear(self, talk: Talk, *, how: Literal["delete", "rewind"]) -> bool:
        """Clear what was read; False, and nothing changed, when somebody spoke since."""
        if how == "rewind":
            return await self._rewind(talk)
        newest = await self._load(talk.key, GetSessionConfig(num_recent_events=1))
        if newest is None:
            return True
        if not _ends_with(newest.events, talk.end):
            return False
        return await delete_unchanged(self._service, cast("Session", talk.loaded))

    async def _rewind(self, talk: Talk) -> bool:
        """Append one event that takes everything back, with the session that was read as compare-and-swap."""
        read = cast("Session", talk.loaded)
        since = read.state.get(CLEARED_AT)
        opened = await self._open(talk.key, since=since if isinstance(since, float) else None)
        if opened is None:
            return True
        now, events = opened
        if not _ends_with(now.events, talk.end):
            return False
        visible = await _first_visible(events, Mark(since, "") if isinstance(since, float) else None, talk.end)
        if visible is None:
            return True
        try:
            await self._service.append_event(read, _rewind_to(visible, now.events[-1]))
        except SessionNotFoundError:
            return True
        except ValueError as error:
            # ADK's error for a session that changed meanwhile is a ValueError in a private module.
            if type(error).__name__ != "StaleSessionError":
                raise
            return False
        return True

    async def _open(self, key: SessionKey, *, since: float | None) -> tuple[Session, StoredEvents] | None:
        """Load a session with its newest event, and a way to read the others; or with all since a time."""
        pager = await pager_of(self._service, self._app)
        if pager is None:
            session = await self._load(key, GetSessionConfig(after_timestamp=since))
            return None if session is None else (session, LoadedEvents(session.events))
        session = await self._load(key, GetSessionConfig(num_recent_events=1))
        return None if session is None else (session, pager(session))

    async def _load(self, key: SessionKey, config: GetSessionConfig) -> Session | None:
        return await self._service.get_session(
            app_name=self._app, user_id=key.user, session_id=key.session, config=config
        )


async def _holds(events: StoredEvents, mark: Mark) -> bool:
    newest = await events.select(Part(until=mark), limit=1, newest=True)
    return bool(newest) and newest[0].id == mark.event_id


async def _end_of(newest: Sequence[Event], events: StoredEvents, after: Mark | None) -> Mark | None:
    """Return the mark of the newest event where it is behind `after`."""
    if newest and (after is None or newest[-1].timestamp > after.at):
        return mark_of(newest[-1])
    # Times alone do not say which is behind the other: databases round them, and ADK keeps some sessions as appended.
    behind = await events.select(Part(after=after), limit=1, newest=True)
    return mark_of(behind[0]) if behind else after


async def _first_visible(events: StoredEvents, after: Mark | None, end: Mark | None) -> Event | None:
    """Return the first event that no rewind took back and that another one can go back to."""
    parts, _ = await live_parts(events, Part(after=after, until=end))
    for part in parts:
        async for page in pages(events, part):
            for event in page:
                if event.invocation_id:
                    return event
    return None


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
