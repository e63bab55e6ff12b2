"""Extracts facts from a conversation with mem0's own prompt and language model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from gaia_memory.backend.answers import parse_extraction
from gaia_memory.backend.language_model import Mem0LanguageModel
from gaia_memory.backend.model_errors import redact_user_text
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import BadAnswerError
from gaia_memory.model_calls import BAD_ANSWER_ATTEMPTS, asking_about
from gaia_memory.models import Chunk, ExtractedFact, Message
from gaia_memory.ports import AnswerCheck

MAX_CONTEXT_CHARACTERS = 300
"""mem0 shows no more of an earlier message: a longer one is sent in pieces."""

PROMPT_VERSION = "mem0-1"
"""Whose prompt asks, and the version of what we add to it; stored with each fact that it taught."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_RETRY_HINT = "\n\nYour previous answer could not be used ({reason}). Answer with the JSON object only."


class Mem0Extractor:
    """The port `Extractor`, with the extraction half of mem0's `add`.

    mem0's own `add` is never called: it treats an unreadable answer as "nothing to learn", dates everything today,
    and stores in the same step.
    """

    def __init__(self, model: Mem0LanguageModel, load: Callable[[], Any], pool: WorkerPool) -> None:
        """Ask `model`; `load` imports mem0 in a thread of `pool`."""
        self._model = model
        self._load = load
        self._pool = pool

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        """Return the facts of a chunk that `check` keeps; an empty list only if there is nothing to learn.

        Raises:
            ModelUnavailableError: the model did not answer.
            BadAnswerError: its answer was blank, blocked, cut off, malformed or refused, several times in a row.
        """
        texts = (message.text for message in (*chunk.before, *chunk.messages))
        with redact_user_text(texts), asking_about(chunk.key.app):
            system, prompt, fixed = await self._pool.run(self._build_prompt, chunk, instructions)
            return await self._extract_with_retries(system, prompt, partial(check, prompt=fixed))

    async def _extract_with_retries(
        self, system: str, prompt: str, check: Callable[[list[ExtractedFact]], list[ExtractedFact]]
    ) -> list[ExtractedFact]:
        reason = ""
        retrying = AsyncRetrying(
            stop=stop_after_attempt(BAD_ANSWER_ATTEMPTS), retry=retry_if_exception_type(BadAnswerError), reraise=True
        )
        async for attempt in retrying:
            with attempt:
                hint = _RETRY_HINT.format(reason=reason) if reason else ""
                try:
                    answer = await self._model.ask(prompt + hint, system=system, json=True)
                    extractor = f"{self._model.identity}/{PROMPT_VERSION}"
                    return [replace(fact, extractor=extractor) for fact in check(parse_extraction(answer))]
                except BadAnswerError as bad:
                    reason = str(bad)
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _build_prompt(self, chunk: Chunk, instructions: str) -> tuple[str, str, str]:
        """Return the system text, the question, and the text of both without the conversation."""
        if self._model.is_offline:
            return "", build_offline_prompt(chunk), ""
        self._load()
        from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT, generate_additive_extraction_prompt

        prompt = generate_additive_extraction_prompt(
            new_messages=to_prompt_messages(chunk.messages),
            last_k_messages=to_context_messages(chunk.before),
            timestamp=format_observation_date(chunk.said_at),
            # The model must not see the current day: "tomorrow" counts from the day of the conversation.
            current_date=chunk.said_at.date().isoformat(),
            custom_instructions=instructions,
            use_input_language=True,
        )
        fixed = generate_additive_extraction_prompt(custom_instructions=instructions, use_input_language=True)
        return ADDITIVE_EXTRACTION_PROMPT, prompt, f"{ADDITIVE_EXTRACTION_PROMPT}\n{fixed}"


def build_offline_prompt(chunk: Chunk) -> str:
    """Return the sections of mem0's prompt that the offline rules read: importing mem0 takes a second."""
    earlier = [f"{each['role']}: {each['content']}" for each in to_context_messages(chunk.before)]
    sections = {
        "Last k Messages": "\n".join(earlier),
        "New Messages": json.dumps(to_prompt_messages(chunk.messages), ensure_ascii=False),
        "Observation Date": format_observation_date(chunk.said_at),
    }
    return "\n\n".join(f"## {heading}\n{content}" for heading, content in sections.items())


def format_observation_date(said_at: datetime) -> str:
    """Return the day and the time zone of a time: `2026-11-20 (Friday), time zone Asia/Tokyo (UTC+09:00)`."""
    offset = said_at.strftime("%z")
    utc = f"UTC{offset[:3]}:{offset[3:5]}"
    name = getattr(said_at.tzinfo, "key", None) or said_at.tzname()
    zone = utc if name == utc else f"{name} ({utc})"
    return f"{said_at.date().isoformat()} ({_WEEKDAYS[said_at.weekday()]}), time zone {zone}"


def to_prompt_messages(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return messages in the form of mem0's prompt; a speaker other than "the user" gets a name."""
    entries = []
    for message in messages:
        entry = {"role": message.role, "content": message.text}
        if message.role == "user" and message.speaker not in ("", "user"):
            entry["name"] = message.speaker
        entries.append(entry)
    return entries


def to_context_messages(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return earlier messages in pieces that mem0's prompt does not cut off."""
    return [
        {**entry, "content": entry["content"][start : start + MAX_CONTEXT_CHARACTERS]}
        for entry in to_prompt_messages(messages)
        for start in range(0, len(entry["content"]), MAX_CONTEXT_CHARACTERS)
    ]
