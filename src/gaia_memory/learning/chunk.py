"""Splits a conversation into chunks that each fit into one question to the extractor."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, tzinfo

from gaia_memory.models import Chunk, Message, SessionKey, Turn, to_local_time
from gaia_memory.models.turns import reply_context

MAX_CHUNK_CHARACTERS = 12_000
MAX_CHUNK_TURNS = 40
MIN_CHUNK_CHARACTERS = 1_000

_CUT_MARKS = ("\n\n", "\n", ". ", "? ", "! ", "。", " ")
"""Positions at which a long text is cut, the best one first."""


async def split_into_chunks(
    turns: AsyncIterable[Turn],
    *,
    key: SessionKey,
    preceding: Sequence[Turn] = (),
    zone: tzinfo | None = None,
    max_characters: int = MAX_CHUNK_CHARACTERS,
    max_turns: int = MAX_CHUNK_TURNS,
    bad_answer_count: int = 0,
) -> AsyncIterator[Chunk]:
    """Yield `turns` as chunks of at most `max_turns` turns and `max_characters` characters, in order.

    Each turn is in exactly one chunk, unless it is longer than the bound: then it is split into several chunks. A chunk
    covers one calendar day of `zone`, so that "tomorrow" has one meaning in it. `preceding` are the turns before the
    first one. `bad_answer_count` bad answers in a row halve the bounds from the second on, down to one turn: a shorter
    question has a shorter answer, and in the end only the failing turn and those after it have to wait.
    """
    halvings = max(0, bad_answer_count - 1)
    next_seq: int | None = None
    said = preceding[-1].messages if preceding else ()
    max_characters = max(max_characters >> halvings, min(max_characters, MIN_CHUNK_CHARACTERS))
    async for group, following in _group_turns(turns, zone, max_characters, max(1, max_turns >> halvings)):
        if next_seq is not None and group[0].seq != next_seq:
            # Turns in between were left out, so these do not reply to the last answer.
            said = ()
        next_seq = group[-1].seq + 1
        after = following.messages if following and following.seq == next_seq else ()
        pieces = _split_turn(group[0], max_characters) if len(group) == 1 else [group]
        for number, piece in enumerate(pieces, 1):
            is_continued = number < len(pieces)
            yield Chunk(
                key=key,
                turns=tuple(piece),
                before=reply_context(said),
                after=() if is_continued else after,
                zone=zone,
                is_continued=is_continued,
            )
            said = _messages_of(piece)


def _messages_of(turns: Iterable[Turn]) -> tuple[Message, ...]:
    return tuple(message for turn in turns for message in turn.messages)


async def _group_turns(
    turns: AsyncIterable[Turn], zone: tzinfo | None, max_characters: int, max_turns: int
) -> AsyncIterator[tuple[list[Turn], Turn | None]]:
    """Yield the turns of each chunk, and the one behind them."""
    group: list[Turn] = []
    size = 0
    async for turn in turns:
        if not turn.messages:
            continue
        length = sum(len(message.text) for message in turn.messages)
        is_full = len(group) >= max_turns or size + length > max_characters
        if group and (is_full or _local_day(group[0], zone) != _local_day(turn, zone)):
            yield group, turn
            group, size = [], 0
        group.append(turn)
        size += length
    if group:
        yield group, None


def _split_turn(turn: Turn, max_characters: int) -> list[list[Turn]]:
    """Split a long turn between its messages, and long messages at the end of a paragraph or sentence."""
    pieces: list[list[Message]] = [[]]
    remaining_characters = max_characters
    for message in turn.messages:
        for text in _split_text(message.text, max_characters):
            if len(text) > remaining_characters:
                pieces.append([])
                remaining_characters = max_characters
            pieces[-1].append(replace(message, text=text))
            remaining_characters -= len(text)
    return [[replace(turn, messages=tuple(piece))] for piece in pieces if piece]


def _split_text(text: str, max_characters: int) -> Iterator[str]:
    start = 0
    while len(text) - start > max_characters:
        min_end, end = start + max_characters // 2, start + max_characters
        ends = (text.rfind(mark, min_end, end) + len(mark) for mark in _CUT_MARKS)
        end = next((found for found in ends if found > min_end), end)
        if not text[start:end].isspace():
            yield text[start:end]
        start = end
    if not text[start:].isspace():
        yield text[start:]


def _local_day(turn: Turn, zone: tzinfo | None) -> date:
    return to_local_time(turn.messages[0].said_at, zone).date()
