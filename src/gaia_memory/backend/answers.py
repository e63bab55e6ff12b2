"""Strict parsing of the extraction model's answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError, field_validator

from gaia_memory.errors import BadAnswerError, CutAnswerError, InvalidInputError
from gaia_memory.language.dates import read_iso
from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.log import log_fields, logger_for
from gaia_memory.model_calls import CUT, REPETITION, repeats_itself
from gaia_memory.models import ExtractedFact, parse_key, parse_recurrence
from gaia_memory.models.validation import is_label

logger = logger_for(__name__)

MAX_CATEGORY_CHARACTERS = 40

TIME_FIELDS = ("said_at", "valid_from", "valid_until", "due_at", "every")
"""Fields in ISO 8601, or an RRULE: one in another form is left out, and the fact stays."""

_WHOLE_CODE_BLOCK = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(?P<inside>.*?)\n?\s*```\s*\Z", re.DOTALL)
_CODE_BLOCK = re.compile(r"^[ \t]*```[a-zA-Z]*[ \t]*\n(?P<inside>.*?)\n[ \t]*```", re.DOTALL | re.MULTILINE)

_ERROR_DESCRIPTIONS = {"value_error": "not usable text", "model_type": "no JSON object"}


class _FactItem(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: StrictStr
    attributed_to: Any = None
    category: Any = None
    key: Any = None
    said_at: Any = None
    valid_from: Any = None
    valid_until: Any = None
    sensitive: Any = None
    due_at: Any = None
    every: Any = None

    @field_validator("text")
    @classmethod
    def _require_text(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("blank")
        return replace_unstorable(text.strip())


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    memory: list[_FactItem]


def parse_extraction(answer: str) -> list[ExtractedFact]:
    """Return the facts of an answer, without duplicates of one speaker; an empty list only for a well-formed empty one.

    The answer is a JSON object whose `memory` is a list of objects with a `text`, alone or in one code block. Small
    models write sentences around that block; then the list must not be empty, because a refusal may quote the form.
    A key that two facts have is of neither: there is one of it at a time.

    Raises:
        CutAnswerError: the answer ends in the middle, which some servers do not report.
        BadAnswerError: the answer is anything else. Nothing is taken from a partly wrong answer, because its missing
            facts are unknown.
    """
    text, is_whole_answer = _unwrap_code_block(answer)
    try:
        # Models put raw line breaks into strings, which `strict=False` accepts.
        parsed = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise _describe_syntax_error(text, error) from error
    try:
        items = _Answer.model_validate(parsed).memory
    except ValidationError as error:
        raise BadAnswerError(f"the answer is of another form: {_describe_error_location(error)}") from error
    if not items and not is_whole_answer:
        raise BadAnswerError("the answer contains more than an empty list")
    seen: dict[tuple[str, str | None], ExtractedFact] = {}
    left_out = 0
    for item in items:
        speaker = item.attributed_to
        if not isinstance(speaker, str | None):
            left_out, speaker = left_out + 1, None
        fact = ExtractedFact(
            text=item.text,
            attributed_to=speaker,
            category=_parse_category(item.category),
            key=_parse_key(item.key),
            said_at=read_iso(item.said_at),
            valid_from=read_iso(item.valid_from),
            valid_until=read_iso(item.valid_until),
            sensitive=item.sensitive is True,
            due_at=read_iso(item.due_at),
            every=_parse_every(item.every),
        )
        left_out += sum(bool(getattr(item, name)) and getattr(fact, name) is None for name in TIME_FIELDS)
        seen.setdefault((" ".join(item.text.split()).casefold(), speaker), fact)
    if left_out:
        fields = log_fields("facts.fields_left_out", fields=left_out)
        logger.info(
            "%d dates, recurrences and speakers of extracted facts were not well-formed", left_out, extra=fields
        )
    counts = Counter(fact.key for fact in seen.values())
    return [replace(fact, key=None) if counts[fact.key] > 1 else fact for fact in seen.values()]


def _describe_syntax_error(text: str, error: Exception) -> BadAnswerError:
    if repeats_itself(text):
        return BadAnswerError(REPETITION)
    if isinstance(error, json.JSONDecodeError) and text.lstrip().startswith("{"):
        is_cut = error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip())
        if is_cut:
            return CutAnswerError(CUT)
    return BadAnswerError(f"the answer is no JSON: {error}")


def _parse_category(value: object) -> str | None:
    """Return a category in lower case; None for anything else than a short label, which costs nobody the fact."""
    category = " ".join(value.split()).lower() if isinstance(value, str) else None
    return category if is_label(category) and len(category or "") <= MAX_CATEGORY_CHARACTERS else None


def _parse_key(value: object) -> str | None:
    """Return a key in its normal form; None for anything else, which costs nobody the fact."""
    try:
        return None if value is None else parse_key("key", value)
    except InvalidInputError:
        return None


def _parse_every(value: object) -> str | None:
    """Return a recurrence in its stored form; None for anything else."""
    try:
        return None if value is None else parse_recurrence("every", value)
    except InvalidInputError:
        return None


def _unwrap_code_block(answer: str) -> tuple[str, bool]:
    """Return the JSON of the answer, and whether it is the whole answer."""
    if answer.lstrip().startswith("{"):
        return answer, True
    if whole := _WHOLE_CODE_BLOCK.match(answer):
        return whole["inside"], True
    blocks = _CODE_BLOCK.findall(answer)
    return (blocks[0], False) if len(blocks) == 1 else (answer, True)


def _describe_error_location(error: ValidationError) -> str:
    """Describe the first error and its location without quoting the answer."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    location = ".".join(str(part) for part in first["loc"]) or "the whole"
    return f"{location}: {_ERROR_DESCRIPTIONS.get(first['type'], first['msg'])}"
