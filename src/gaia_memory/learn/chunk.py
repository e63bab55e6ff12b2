"""Cuts a conversation into pieces that fit one question to the extractor."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import date, tzinfo

from gaia_memory.models import Chunk, Message, SessionKey, Turn, local

MAX_CHARACTERS = 12_000
MAX_TURNS = 40
LEAST_CHARACTERS = 1_000
CONTEXT_CHARACTERS = 1_000

_ENDS = ("\n\n", "\n", ". ", "? ", "! ", "。", " ")
"""Where a long text is cut, the best place first."""


async def chunks(
    turns: AsyncIterable[Turn],
    *,
    key: SessionKey,
    before: Sequence[Message] = (),
    zone: tzinfo | None = None,
    max_characters: int = MAX_CHARACTERS,
    max_turns: int = MAX_TURNS,
    bad_answers: int = 0,
) -> AsyncIterator[Chunk]:
    """Yield `turns` as chunks of at most `max_turns` turns and `max_characters` characters, in order.

    Each turn is in exactly one chunk, but for one that is longer than the bound: it is cut into pieces, a chunk each.
    A chunk holds the talk of one calendar day of `zone`, so that "tomorrow" has one meaning in it. `before` are the
    messages before the first turn. From the second of `bad_answers` in a row on each halves the bounds, down to one
    turn: a shorter question has a shorter answer, and in the end only the turn that no answer is found for waits, with
    those behind it.
    """
    halvings = max(0, bad_answers - 1)
    next_seq: int | None = None
    max_characters = max(max_characters >> halvings, min(max_characters, LEAST_CHARACTERS))
    async for group in _groups(turns, zone, max_characters, max(1, max_turns >> halvings)):
        if next_seq is not None and group[0].seq != next_seq:
            # What these reply to was left out: the answer before that is none to them.
            before = ()
        next_seq = group[-1].seq + 1
        pieces = _pieces(group[0], max_characters) if len(group) == 1 else [group]
        for number, piece in enumerate(pieces, 1):
            goes_on = number < len(pieces)
            yield Chunk(key=key, turns=tuple(piece), before=_context(before), zone=zone, goes_on=goes_on)
            before = [message for turn in piece for message in turn.messages]
        before = [message for turn in group for message in turn.messages]


async def _groups(
    turns: AsyncIterable[Turn], zone: tzinfo | None, max_characters: int, max_turns: int
) -> AsyncIterator[list[Turn]]:
    group: list[Turn] = []
    size = 0
    async for turn in turns:
        if not turn.messages:
            continue
        length = _length(turn)
        full = len(group) >= max_turns or size + length > max_characters
        if group and (full or _day(group[0], zone) != _day(turn, zone)):
            yield group
            group, size = [], 0
        group.append(turn)
        size += length
    if group:
        yield group


def _pieces(turn: Turn, room: int) -> list[list[Turn]]:
    """Cut a turn that is too long between its messages, and these where one thought ends."""
    pieces: list[list[Message]] = [[]]
    left = room
    for message in turn.messages:
        for text in _cut(message.text, room):
            if len(text) > left:
                pieces.append([])
                left = room
            pieces[-1].append(replace(message, text=text))
            left -= len(text)
    return [[replace(turn, messages=tuple(piece))] for piece in pieces if piece]


def _cut(text: str, room: int) -> Iterator[str]:
    start = 0
    while len(text) - start > room:
        least, end = start + room // 2, start + room
        ends = (text.rfind(mark, least, end) + len(mark) for mark in _ENDS)
        end = next((found for found in ends if found > least), end)
        if not text[start:end].isspace():
            yield text[start:end]
        start = end
    if not text[start:].isspace():
        yield text[start:]


def _length(turn: Turn) -> int:
    return sum(len(message.text) for message in turn.messages)


def _day(turn: Turn, zone: tzinfo | None) -> date:
    return local(turn.messages[0].said_at, zone).date()


def _context(before: Sequence[Message]) -> tuple[Message, ...]:
    """Keep what was answered last, bounded: what "yes, the second one" replies to.

    The person's own words are left out: they belong to the chunk before and are learned once.
    """
    if not before or before[-1].role != "assistant":
        return ()
    last = before[-1]
    return (replace(last, text=last.text[-CONTEXT_CHARACTERS:]),)
