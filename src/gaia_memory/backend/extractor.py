"""Facts from talk, by mem0's own extraction prompt through mem0's language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Protocol

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from gaia_memory.backend.answers import extracted
from gaia_memory.backend.model_errors import without_words_of
from gaia_memory.backend.thread_pools import Pool
from gaia_memory.errors import BadAnswerError
from gaia_memory.models import Chunk, Extracted, Message

ATTEMPTS = 3
"""A bad answer is asked for again twice: models slip, and seldom three times in a row."""

CONTEXT_CHARACTERS = 300
"""mem0 shows no more of one earlier message: a longer one is shown as several."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_AGAIN = "\n\nAn earlier answer to this could not be used ({reason}). Answer with the JSON object alone."


class _Asked(Protocol):
    async def ask(self, messages: list[dict[str, str]], *, json: bool = False) -> str: ...


class Mem0Extractor:
    """The port `Extractor`: the two halves of mem0's `add`, of which only the asking is used.

    mem0's own `add` is never called: it takes an unreadable answer for "nothing to learn", dates everything
    today, and stores in the same step.
    """

    def __init__(self, model: _Asked, load: Callable[[], Any], pool: Pool, *, attempts: int = ATTEMPTS) -> None:
        """Take the model to ask, a function that imports mem0, blocking, and the pool it may block in."""
        self._model = model
        self._load = load
        self._pool = pool
        self._attempts = attempts

    async def extract(self, chunk: Chunk, *, instructions: str) -> list[Extracted]:
        """Return the facts of a chunk; an empty list only for a well-formed "nothing to learn".

        Raises:
            ModelUnavailableError: the model could not be reached.
            BadAnswerError: its answer is blank, blocked, cut or of another form, several times in a row.
        """
        with without_words_of(message.text for message in (*chunk.before, *chunk.messages)):
            return await self._extract(*await self._pool.run(self._prompt, chunk, instructions))

    async def _extract(self, system: str, prompt: str) -> list[Extracted]:
        reason = ""
        asking = AsyncRetrying(
            stop=stop_after_attempt(self._attempts), retry=retry_if_exception_type(BadAnswerError), reraise=True
        )
        async for attempt in asking:
            with attempt:
                hint = _AGAIN.format(reason=reason) if reason else ""
                try:
                    answer = await self._model.ask(
                        [{"role": "system", "content": system}, {"role": "user", "content": prompt + hint}], json=True
                    )
                    return extracted(answer)
                except BadAnswerError as bad:
                    reason = str(bad)
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _prompt(self, chunk: Chunk, instructions: str) -> tuple[str, str]:
        self._load()
        from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT, generate_additive_extraction_prompt

        prompt = generate_additive_extraction_prompt(
            new_messages=as_said(chunk.messages),
            last_k_messages=as_shown_before(chunk.before),
            timestamp=observed(chunk.said_at),
            # Of the day on which it is learned nothing is told: no "tomorrow" may be counted from it.
            current_date=chunk.said_at.date().isoformat(),
            custom_instructions=instructions,
            use_input_language=True,
        )
        return ADDITIVE_EXTRACTION_PROMPT, prompt


def observed(said_at: datetime) -> str:
    """Return the day and the time zone of a moment: `2026-11-20 (Friday), time zone Asia/Tokyo (UTC+09:00)`."""
    offset = said_at.strftime("%z")
    utc = f"UTC{offset[:3]}:{offset[3:5]}"
    name = getattr(said_at.tzinfo, "key", None) or said_at.tzname()
    zone = utc if name == utc else f"{name} ({utc})"
    return f"{said_at.date().isoformat()} ({_WEEKDAYS[said_at.weekday()]}), time zone {zone}"


def as_said(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return messages in the form of mem0's prompt; a person other than "the user" goes by name."""
    said = []
    for message in messages:
        entry = {"role": message.role, "content": message.text}
        if message.role == "user" and message.speaker not in ("", "user"):
            entry["name"] = message.speaker
        said.append(entry)
    return said


def as_shown_before(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return earlier messages in pieces of which mem0's prompt cuts nothing off."""
    return [
        {**entry, "content": entry["content"][start : start + CONTEXT_CHARACTERS]}
        for entry in as_said(messages)
        for start in range(0, len(entry["content"]), CONTEXT_CHARACTERS)
    ]
