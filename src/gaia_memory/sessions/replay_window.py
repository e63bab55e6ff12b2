"""Selects the part of a conversation to replay: whole turns, cut in steps, so that the prompt's prefix is stable.

Pure functions over a small view of the host's events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gaia_memory.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    """The fields of an event that the window needs.

    `is_user_turn`: a turn of the user begins here. `calls` and `responses` are ids of tool calls; `long_running` are
    the `calls` that a person or another system answers later, and `answers_long_running` says that `responses` are
    such answers. `rewinds_to` names the invocation from whose start on everything is rewound.
    """

    invocation_id: str
    is_user_turn: bool = False
    is_compaction: bool = False
    answers_long_running: bool = False
    calls: frozenset[str] = field(default_factory=frozenset)
    responses: frozenset[str] = field(default_factory=frozenset)
    long_running: frozenset[str] = field(default_factory=frozenset)
    rewinds_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStart:
    """A place in the given events from which everything to replay can be loaded.

    `turn_no` is the absolute number of the first turn there; 0 if nothing before it is ever replayed.
    """

    index: int
    turn_no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSelection:
    """The events to replay, as indices of the given events.

    `start` is the place of the first one if something before it was left out. `is_incomplete`: unless all events were
    given, some of the window are missing; select again from all events.
    """

    indices: tuple[int, ...]
    start: WindowStart | None = None
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class _Segment:
    """The indices of a turn's events. The first segment contains the events before any turn."""

    indices: list[int]
    turn_no: int


def require_window(window_turns: object) -> int:
    """Return `window_turns`.

    Raises:
        InvalidInputError: it is not a whole number from 1 on.
    """
    if isinstance(window_turns, bool) or not isinstance(window_turns, int) or window_turns < 1:
        raise InvalidInputError(f"window_turns is {window_turns!r}: set `sessions.window_turns` to 1 or more")
    return window_turns


def dropped_turn_count(last_turn: int, window_turns: int) -> int:
    """Return how many of the first turns are not replayed if `last_turn` is the number of the newest.

    The number grows in steps of a third of the window, so that between two steps only the end of the prompt changes.
    """
    step = max(1, window_turns // 3)
    return -(-max(0, last_turn - window_turns) // step) * step


def live_indices(events: Iterable[tuple[str, str | None]]) -> list[int]:
    """Return the indices of the events that were not rewound; each event is given as (invocation, rewinds to).

    A rewind to an invocation that is not among them rewinds everything before it.
    """
    return _resolve_rewinds(list(events))[0]


def _resolve_rewinds(history: Sequence[tuple[str, str | None]]) -> tuple[list[int], list[int]]:
    """Return the indices of live events, and the target index of each rewind in force: -1 if it is unknown."""
    first_index: dict[str, int] = {}
    for index, (invocation_id, _) in enumerate(history):
        if invocation_id:
            first_index.setdefault(invocation_id, index)
    live: list[int] = []
    targets: list[int] = []
    index = len(history) - 1
    while index >= 0:
        target = history[index][1]
        if target is None:
            live.append(index)
        else:
            targets.append(first_index.get(target, -1))
            index = min(index, first_index.get(target, 0))
        index -= 1
    live.reverse()
    return live, targets


def select_window(
    events: Sequence[EventView],
    *,
    window_turns: int,
    base_turn_no: int = 0,
    current_invocation_id: str | None = None,
    whole_invocations: bool = False,
) -> WindowSelection:
    """Return which of `events` to replay; their first turn has the absolute number `base_turn_no`, 0 for all events.

    This keeps between `window_turns - step + 1` and `window_turns` turns, and everything the rest depends on: the
    invocation `current_invocation_id`, turns with an unanswered long-running call, the turn of a call that is answered
    inside the window, and summaries of compacted events.
    """
    live, rewind_targets = _resolve_rewinds([(event.invocation_id, event.rewinds_to) for event in events])
    segments = _segments(events, live, base_turn_no)
    dropped_count = dropped_turn_count(max(segment.turn_no for segment in segments), require_window(window_turns))
    first_turn = dropped_count + 1 if dropped_count else 0
    kept_segments = {at for at, segment in enumerate(segments) if at and segment.turn_no >= first_turn}
    if len(segments) == 1 or (base_turn_no == 0 and first_turn == 0):
        kept_segments.add(0)
    kept_segments |= _required_segments(events, segments, current_invocation_id)
    kept_segments = _with_related(kept_segments, events, segments, whole_invocations)
    kept_indices = {place for at in kept_segments for place in segments[at].indices}
    kept_indices |= {place for place in live if events[place].is_compaction}
    first = min(kept_indices, default=0)
    is_all = base_turn_no == 0 and 0 in kept_segments
    return WindowSelection(
        indices=tuple(sorted(kept_indices)),
        start=_window_start(first, segments, base_turn_no, is_all=is_all) if first else None,
        # An invocation that does not begin with a user's message may have begun before the given events.
        is_incomplete=any(place < 0 or not events[place].is_user_turn for place in rewind_targets)
        or (base_turn_no > 0 and (first_turn < base_turn_no or _answers_earlier_call(events))),
    )


def _window_start(index: int, segments: Iterable[_Segment], base_turn_no: int, *, is_all: bool) -> WindowStart:
    first_turn_no = max(base_turn_no, 1)
    turns_before = sum(1 for segment in segments if segment.turn_no >= first_turn_no and segment.indices[0] < index)
    return WindowStart(index=index, turn_no=0 if is_all else first_turn_no + turns_before)


def _segments(events: Sequence[EventView], live: Iterable[int], base_turn_no: int) -> list[_Segment]:
    last_turn_no = max(base_turn_no, 1) - 1
    segments = [_Segment([], last_turn_no)]
    for index in live:
        if events[index].is_user_turn:
            last_turn_no += 1
            segments.append(_Segment([], last_turn_no))
        segments[-1].indices.append(index)
    return segments


def _answers_earlier_call(events: Iterable[EventView]) -> bool:
    """Return True if a long-running call before these events is answered; a rewound answer makes it open again."""
    seen_calls: set[str] = set()
    for event in events:
        seen_calls |= event.calls
        if event.answers_long_running and not event.responses <= seen_calls:
            return True
    return False


def _required_segments(
    events: Sequence[EventView], segments: Sequence[_Segment], current_invocation_id: str | None
) -> set[int]:
    """Return the segments of the current invocation and of unanswered long-running calls."""
    needed: set[int] = set()
    unanswered: dict[str, int] = {}
    for segment_index, segment in enumerate(segments):
        for index in segment.indices:
            event = events[index]
            if current_invocation_id and event.invocation_id == current_invocation_id:
                needed.add(segment_index)
            unanswered |= dict.fromkeys(event.long_running, segment_index)
            if event.answers_long_running:
                for answered in event.responses:
                    unanswered.pop(answered, None)
    return needed | set(unanswered.values())


def _with_related(
    kept: set[int], events: Sequence[EventView], segments: Sequence[_Segment], whole_invocations: bool
) -> set[int]:
    """Add the segments with the other half of a call, or the rest of an invocation, until nothing is missing."""
    related: defaultdict[int, set[int]] = defaultdict(set)
    segment_of_call: dict[str, int] = {}
    segment_of_invocation: dict[str, int] = {}
    for segment_index, segment in enumerate(segments):
        for index in segment.indices:
            event = events[index]
            segment_of_call |= dict.fromkeys(event.calls, segment_index)
            others = [segment_of_call[call] for call in event.responses if call in segment_of_call]
            if whole_invocations and event.invocation_id:
                others.append(segment_of_invocation.setdefault(event.invocation_id, segment_index))
            for other in others:
                related[segment_index].add(other)
                related[other].add(segment_index)
    included, unvisited = set(kept), list(kept)
    while unvisited:
        added = related[unvisited.pop()] - included
        included |= added
        unvisited += added
    return included
