"""Which part of a conversation is replayed: whole turns, cut in steps, so that the prompt's prefix stays the same.

Pure functions over a small view of the host's events.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gaia_memory.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    """What the window needs to know of an event.

    `is_user_turn`: a person begins to speak here. `calls` and `responses` are ids of tool calls,
    `long_running` those of `calls` that a person or another system answers later, `settles` says that
    `responses` are such answers. `rewinds_to` takes everything since the start of that invocation back.
    """

    invocation_id: str
    is_user_turn: bool = False
    is_compaction: bool = False
    settles: bool = False
    calls: frozenset[str] = field(default_factory=frozenset)
    responses: frozenset[str] = field(default_factory=frozenset)
    long_running: frozenset[str] = field(default_factory=frozenset)
    rewinds_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A place in what was given from which everything to replay can be loaded.

    `turn_no` is the absolute number of the first turn there; 0 when nothing before it will ever be replayed.
    """

    place: int
    turn_no: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The events to replay, by their places in what was given.

    `begins` is where the first of them is when something before it was left out; None also while it is one of the
    `older` events given. `recent` is where the newest turns begin when older ones are kept besides them.
    `is_short`: if not all was given, it holds less than belongs to the window, and all there is has to be cut.
    """

    kept: tuple[int, ...]
    begins: Start | None = None
    recent: Start | None = None
    is_short: bool = False


@dataclass(frozen=True, slots=True)
class _Segment:
    """A turn's events by place. The first segment of a history holds what came before any turn."""

    places: list[int]
    number: int


def require_window(window_turns: int) -> int:
    """Return `window_turns` when it leaves something to replay.

    Raises:
        InvalidInputError: it is below 1.
    """
    if window_turns < 1:
        raise InvalidInputError(f"window_turns is {window_turns!r}: set `sessions.window_turns` to 1 or more")
    return window_turns


def turns_left_out(last_turn: int, window_turns: int) -> int:
    """Return how many turns from the start are not replayed when `last_turn` is the newest one's number.

    It grows in steps of a third of the window, so that between two steps only the end of the prompt changes.
    """
    step = max(1, window_turns // 3)
    return -(-max(0, last_turn - window_turns) // step) * step


def live_places(events: Iterable[tuple[str, str | None]]) -> list[int]:
    """Return the places of the events that no rewind took back; each is given as (invocation, rewinds to).

    A rewind to an invocation that is not among them goes back to before the first one.
    """
    return _resolved(list(events))[0]


def _resolved(history: Sequence[tuple[str, str | None]]) -> tuple[list[int], list[int]]:
    """Return what no rewind took back, and to where each rewind in force goes back, -1 where that is unknown."""
    first: dict[str, int] = {}
    for place, (invocation_id, _) in enumerate(history):
        if invocation_id:
            first.setdefault(invocation_id, place)
    kept: list[int] = []
    targets: list[int] = []
    place = len(history) - 1
    while place >= 0:
        target = history[place][1]
        if target is None:
            kept.append(place)
        else:
            targets.append(first.get(target, -1))
            place = min(place, first.get(target, 0))
        place -= 1
    kept.reverse()
    return kept, targets


def cut(
    events: Sequence[EventView],
    *,
    window_turns: int,
    base: int = 0,
    older: int = 0,
    current: str | None = None,
    whole_invocations: bool = False,
) -> Cut:
    """Return what to replay of `events`, whose first turn has the absolute number `base`; 0 for all there are.

    Kept are between `window_turns - step + 1` and `window_turns` turns, and besides them whatever the rest
    depends on: the invocation `current`, turns with a long-running call that nobody answered, the turn of a
    call that is answered inside the window, and summaries of compacted talk.

    The first `older` events count no turn: they were kept before, from turns before `base`, and what lies between
    them and the others is not given.
    """
    live, targets = _resolved([(event.invocation_id, event.rewinds_to) for event in events])
    segments = _segments(events, live, base, older)
    left_out = turns_left_out(max(segment.number for segment in segments), require_window(window_turns))
    first_turn = left_out + 1 if left_out else 0
    kept = {at for at, segment in enumerate(segments) if at and segment.number >= first_turn}
    if len(segments) == 1 or (base == 0 and first_turn == 0):
        kept.add(0)
    newest = [segments[at].places[0] for at in kept if segments[at].places]
    kept |= _still_needed(events, segments, current)
    kept = _with_what_belongs_to(kept, events, segments, whole_invocations)
    places = {place for at in kept for place in segments[at].places}
    places |= {place for place in live if events[place].is_compaction}
    first, recent = min(places, default=0), min(newest, default=0)
    begins = _start(first, segments, base, is_all=base == 0 and 0 in kept)
    return Cut(
        kept=tuple(sorted(places)),
        begins=begins if first >= max(1, older) else None,
        recent=_start(recent, segments, base) if first < recent else None,
        # An invocation that does not begin with what a person says may have begun before what was given.
        is_short=any(place < older or not events[place].is_user_turn for place in targets)
        or (base > 0 and (first_turn < base or _answers_a_call_before(events))),
    )


def _start(place: int, segments: Iterable[_Segment], base: int, *, is_all: bool = False) -> Start:
    at_least = max(base, 1)
    before = sum(1 for segment in segments if segment.number >= at_least and segment.places[0] < place)
    return Start(place=place, turn_no=0 if is_all else at_least + before)


def _segments(events: Sequence[EventView], live: Iterable[int], base: int, older: int) -> list[_Segment]:
    last = max(base, 1) - 1
    segments = [_Segment([], last)]
    for place in live:
        if events[place].is_user_turn:
            last += place >= older
            segments.append(_Segment([], last if place >= older else 0))
        segments[-1].places.append(place)
    return segments


def _answers_a_call_before(events: Iterable[EventView]) -> bool:
    """Say whether a person answers a call that is not among these events; taken back, the answer opens it again."""
    called: set[str] = set()
    for event in events:
        called |= event.calls
        if event.settles and not event.responses <= called:
            return True
    return False


def _still_needed(events: Sequence[EventView], segments: Sequence[_Segment], current: str | None) -> set[int]:
    """Return the segments of the running invocation and of long-running calls without an answer."""
    needed: set[int] = set()
    unanswered: dict[str, int] = {}
    for at, segment in enumerate(segments):
        for place in segment.places:
            event = events[place]
            if current and event.invocation_id == current:
                needed.add(at)
            unanswered |= dict.fromkeys(event.long_running, at)
            if event.settles:
                for answered in event.responses:
                    unanswered.pop(answered, None)
    return needed | set(unanswered.values())


def _with_what_belongs_to(
    kept: set[int], events: Sequence[EventView], segments: Sequence[_Segment], whole_invocations: bool
) -> set[int]:
    """Add the segments that hold the other half of a call, or the rest of an invocation, until nothing is missing."""
    related: defaultdict[int, set[int]] = defaultdict(set)
    called_in: dict[str, int] = {}
    invoked_in: dict[str, int] = {}
    for at, segment in enumerate(segments):
        for place in segment.places:
            event = events[place]
            called_in |= dict.fromkeys(event.calls, at)
            others = [called_in[call] for call in event.responses if call in called_in]
            if whole_invocations and event.invocation_id:
                others.append(invoked_in.setdefault(event.invocation_id, at))
            for other in others:
                related[at].add(other)
                related[other].add(at)
    found, open_ends = set(kept), list(kept)
    while open_ends:
        fresh = related[open_ends.pop()] - found
        found |= fresh
        open_ends += fresh
    return found
