"""Cuts a conversation into pieces that fit one question to the extractor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gaia_memory.models import Chunk, Message, SessionKey, Turn

MAX_CHARACTERS = 12_000
MAX_TURNS = 40
CONTEXT_CHARACTERS = 1_000


def chunks(
    turns: Sequence[Turn],
    *,
    key: SessionKey,
    before: Sequence[Message] = (),
    max_characters: int = MAX_CHARACTERS,
    max_turns: int = MAX_TURNS,
) -> Iterator[Chunk]:
    """Yield `turns` as chunks of at most `max_turns` turns and `max_characters` characters, in order.

    A turn is never split, because the watermark moves from turn to turn: one that is longer than the bound is
    a chunk of its own. A chunk holds the talk of one calendar day, so that "tomorrow" has one meaning in it.
    Each turn is in exactly one chunk. `before` are the messages ahead of the first turn.
    """
    for group in _groups(turns, max_characters, max_turns):
        yield Chunk(key=key, turns=tuple(group), before=_context(before))
        before = [message for turn in group for message in turn.messages]


def _groups(turns: Sequence[Turn], max_characters: int, max_turns: int) -> Iterator[list[Turn]]:
    group: list[Turn] = []
    size = 0
    for turn in turns:
        if not turn.messages:
            continue
        length = _length(turn)
        full = len(group) >= max_turns or size + length > max_characters
        if group and (full or _day(group[0]) != _day(turn)):
            yield group
            group, size = [], 0
        group.append(turn)
        size += length
    if group:
        yield group


def _length(turn: Turn) -> int:
    return sum(len(message.text) for message in turn.messages)


def _day(turn: Turn) -> object:
    return turn.messages[0].said_at.date()


def _context(before: Sequence[Message]) -> tuple[Message, ...]:
    """Keep what was answered last, bounded: what "yes, the second one" replies to.

    The person's own words are left out: they belong to the chunk before and are learned once.
    """
    if not before or before[-1].role != "assistant":
        return ()
    last = before[-1]
    return (replace(last, text=last.text[-CONTEXT_CHARACTERS:]),)
