"""Extracts facts from a conversation with the language model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gaia_memory.backend.answers import parse_extraction
from gaia_memory.backend.extraction_question import (
    MAX_FACT_CHARACTERS,
    ExtractionQuestion,
    PromptName,
    build_answer_schema,
    build_mem0_question,
    build_question,
)
from gaia_memory.backend.language_model import Mem0LanguageModel
from gaia_memory.backend.model_errors import redact_user_text
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import (
    BadAnswerError,
    ContextSizeError,
    CutAnswerError,
    ModelUnavailableError,
    RefusedRequestError,
)
from gaia_memory.keyless.statements import KeylessExtractor
from gaia_memory.log import log_fields, logger_for
from gaia_memory.model_calls import (
    ATTEMPT_TEMPERATURES,
    ENDLESS,
    REPETITION,
    SHORT_ANSWER_TOKENS,
    AnswerOptions,
    asking_about,
    repeats_itself,
)
from gaia_memory.models import Chunk, ExtractedFact
from gaia_memory.outage import classify_error
from gaia_memory.ports import AnswerCheck

logger = logger_for(__name__)

MIN_DIVISIBLE_CHARACTERS = 1_000
"""Characters down to which later tries split a turn; a shorter one does not hold as many facts as an answer may."""

_RETRY_HINT = "\n\nYour previous answer could not be used ({reason}). Answer with the JSON object only."


class Mem0Extractor:
    """The port `Extractor` over the language model that mem0 builds; without a model, `KeylessExtractor` takes over.

    mem0's own `add` is never called: it treats an unreadable answer as "nothing to learn", dates everything today,
    and stores in the same step.
    """

    def __init__(
        self,
        model: Mem0LanguageModel,
        load: Callable[[], Any],
        pool: WorkerPool,
        prompt_name: Callable[[], PromptName] = lambda: "gaia",
    ) -> None:
        """Ask `model` with the prompt `prompt_name`; `load` imports mem0 for its prompt, in a thread of `pool`."""
        self._model = model
        self._load = load
        self._pool = pool
        self._prompt_name = prompt_name
        self._models_with_small_context: set[str] = set()

    async def extract(self, chunk: Chunk, *, instructions: str, check: AnswerCheck) -> list[ExtractedFact]:
        """Return the facts of a chunk that `check` keeps; an empty list only if there is nothing to learn.

        If its answer is cut off, or the chunk is what makes the question too long for the model, each half is asked
        about instead. If a server of one's own is late, a short answer is asked for: an endless one then shows itself.

        Raises:
            ModelUnavailableError: the model did not answer.
            ContextSizeError: the question is too long for it.
            BadAnswerError: its answer was blank, blocked, cut off, malformed or refused, several times in a row.
        """
        with asking_about(chunk.key.app):
            if self._model.is_offline:
                return await KeylessExtractor().extract(chunk, instructions=instructions, check=check)
            return await self._extract(chunk, instructions, check)

    async def _extract(
        self, chunk: Chunk, instructions: str, check: AnswerCheck, *, max_tokens: int | None = None
    ) -> list[ExtractedFact]:
        texts = (message.text for message in (*chunk.context, *chunk.messages))
        question = await self._build_question(chunk, instructions, max_tokens)
        halves = chunk.halve()
        try:
            with redact_user_text(texts):
                return await self._extract_with_retries(question, chunk, check, max_tokens)
        except ModelUnavailableError as error:
            outage = classify_error(error)
            is_late = outage is not None and outage.kind == "late" and self._model.is_own_server
            if max_tokens is not None or not is_late or self._model.max_answer_tokens <= SHORT_ANSWER_TOKENS:
                raise
            return await self._extract(chunk, instructions, check, max_tokens=SHORT_ANSWER_TOKENS)
        except CutAnswerError as error:
            if halves is None and max_tokens is not None:
                raise BadAnswerError(ENDLESS) from error
            if halves is None:
                raise
        except ContextSizeError as error:
            self._warn_of_small_context(error)
            if halves is None or len(question.fixed_text) > len(question.prompt):
                raise
        return [
            fact for half in halves for fact in await self._extract(half, instructions, check, max_tokens=max_tokens)
        ]

    async def _extract_with_retries(
        self, question: ExtractionQuestion, chunk: Chunk, check: AnswerCheck, max_tokens: int | None
    ) -> list[ExtractedFact]:
        """Ask until the answer is usable, each time at another temperature and with what was wrong before."""
        schema = None if question.max_facts is None else build_answer_schema(chunk, max_facts=question.max_facts)
        hint = ""
        for temperature in ATTEMPT_TEMPERATURES:
            options = AnswerOptions(json=True, schema=schema, temperature=temperature, max_tokens=max_tokens)
            try:
                answer = await self._model.complete(question.prompt + hint, system=question.system, options=options)
                facts = parse_extraction(answer)
                _require_whole(facts, question, chunk)
                facts = check(facts, prompt=question.fixed_text)
            except BadAnswerError as bad:
                can_be_halved = isinstance(bad, CutAnswerError) and chunk.halve() is not None
                is_refused = isinstance(bad, RefusedRequestError)
                if can_be_halved or is_refused or temperature == ATTEMPT_TEMPERATURES[-1]:
                    raise
                hint = _RETRY_HINT.format(reason=bad)
            else:
                extractor = f"{self._model.identity}/{question.version}"
                return [replace(fact, extractor=extractor) for fact in facts]
        raise AssertionError("the last attempt returns or raises")

    async def _build_question(self, chunk: Chunk, instructions: str, max_tokens: int | None) -> ExtractionQuestion:
        if self._prompt_name() == "gaia":
            return build_question(chunk, instructions, max_answer_tokens=max_tokens or self._model.max_answer_tokens)
        await self._pool.run(self._load)
        return build_mem0_question(chunk, instructions)

    def _warn_of_small_context(self, error: ContextSizeError) -> None:
        """Log, once for a model, that its context is too small."""
        identity = self._model.identity
        if identity not in self._models_with_small_context:
            self._models_with_small_context.add(identity)
            logger.warning("%s", error, extra=log_fields("model.small_context", model=identity))


def _require_whole(facts: list[ExtractedFact], question: ExtractionQuestion, chunk: Chunk) -> None:
    """Refuse an answer that the bounds of its schema have ended.

    Raises:
        CutAnswerError: a fact has the maximum length, there are more facts than allowed, or as many and can be more.
        BadAnswerError: a fact repeats itself.
    """
    if question.max_facts is None:
        return
    for fact in facts:
        if len(fact.text) >= MAX_FACT_CHARACTERS and repeats_itself(fact.text):
            raise BadAnswerError(REPETITION)
        if len(fact.text) == MAX_FACT_CHARACTERS:
            raise CutAnswerError(f"a fact was cut at {MAX_FACT_CHARACTERS} characters")
    size = sum(len(message.text) for message in chunk.messages)
    is_divisible = chunk.halve() is not None or size > MIN_DIVISIBLE_CHARACTERS
    if len(facts) > question.max_facts or (len(facts) == question.max_facts and is_divisible):
        raise CutAnswerError(f"the answer has {len(facts)} facts, and at most {question.max_facts} are allowed")
