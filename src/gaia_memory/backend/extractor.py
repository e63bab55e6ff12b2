"""Facts from talk, by mem0's own extraction prompt through mem0's language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from typing import Any, Protocol

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from gaia_memory.backend.answers import extracted
from gaia_memory.backend.pools import Pool
from gaia_memory.errors import BadAnswerError
from gaia_memory.models import Chunk, Extracted, Message

ATTEMPTS = 3
"""A bad answer is asked for again twice: models slip, and seldom three times in a row."""

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
        system, prompt = await self._pool.run(self._prompt, chunk, instructions)
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
            last_k_messages=as_said(chunk.before),
            timestamp=said_on(chunk.said_at).isoformat(),
            custom_instructions=instructions,
            use_input_language=True,
        )
        return ADDITIVE_EXTRACTION_PROMPT, prompt


def said_on(said_at: datetime) -> date:
    """Return the date on which it was said, where it was said.

    A time in UTC is how hosts keep time, not where the person was: it becomes this machine's date. Any other
    zone was given on purpose and is kept.
    """
    return (said_at.astimezone() if said_at.utcoffset() == UTC.utcoffset(None) else said_at).date()


def as_said(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return messages in the form of mem0's prompt; a person other than "the user" goes by name."""
    said = []
    for message in messages:
        entry = {"role": message.role, "content": message.text}
        if message.role == "user" and message.speaker not in ("", "user"):
            entry["name"] = message.speaker
        said.append(entry)
    return said
