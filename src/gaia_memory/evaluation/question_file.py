"""Reads the file of `gaia eval`: questions with what should come, and facts or talks to ask about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Self, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact
from gaia_memory.models.validation import format_value
from gaia_memory.transfer.transcripts import ImportedConversation
from gaia_memory.transfer.transcripts.chat_exports import parse_export

_Checked = TypeVar("_Checked", bound="_Entry")
_Text = Annotated[str, Field(pattern=r"\S")]
_Texts = Annotated[list[_Text], BeforeValidator(lambda given: given if isinstance(given, list) else [given])]
_Moment = Annotated[datetime, AfterValidator(lambda given: given if given.tzinfo else given.replace(tzinfo=UTC))]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class Question(_Entry):
    """A question with what should come (`expect`, else `nothing`) and earlier values that should not (`was`)."""

    ask: _Text
    expect: _Texts = []
    was: _Texts = []
    nothing: bool = False

    @model_validator(mode="after")
    def _require_expectation(self) -> Self:
        if self.nothing == bool(self.expect):
            raise ValueError("pass `expect: TEXT` for what should come, or `nothing: true` if nothing should")
        return self


class FileFact(_Entry):
    """A fact to be stored as it is; questions may expect its `id`."""

    text: _Text
    id: str | None = None
    said_at: _Moment | None = None
    key: str | None = None

    @model_validator(mode="after")
    def _require_storable(self) -> Self:
        self.new_fact()
        return self

    def new_fact(self) -> NewFact:
        """Return what memory stores."""
        return NewFact(self.text, said_at=self.said_at, key=self.key)


_Fact = Annotated[FileFact, BeforeValidator(lambda given: {"text": given} if isinstance(given, str) else given)]


def _read_conversations(given: object) -> list[ImportedConversation]:
    return sorted(parse_export(given, default_time=datetime.now(UTC), zone=UTC), key=lambda each: each.began_at)


class Person(_Entry):
    """Somebody to ask about: facts, or conversations in a form of `gaia learn`, and the `truth` that these leave."""

    name: str = ""
    facts: list[_Fact] = []
    conversations: Annotated[list[ImportedConversation], BeforeValidator(_read_conversations)] = []
    truth: _Texts = []
    questions: list[Question] = Field(min_length=1)


class QuestionFile(_Entry):
    """Whom to ask about: a `user` of the existing memory, or those whose facts or talks the file has."""

    user: str | None = None
    facts: list[_Fact] = []
    talks: list[Person] = []
    questions: list[Question] = []

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if not (self.user or self.facts or self.talks):
            raise ValueError("there is nothing to ask about: write `facts` or `talks` into it, or pass --user")
        if self.user and (self.facts or self.talks):
            raise ValueError(f"it has facts or talks, and {self.user} is to be asked: leave out one of the two")
        if bool(self.talks) == bool(self.questions) or (self.talks and self.facts):
            raise ValueError("pass `questions` beside facts or a user; talks have questions and facts of their own")
        for facts in (self.facts, *(each.facts for each in self.talks)):
            ids = [fact.id for fact in facts if fact.id is not None]
            if len(set(ids)) < len(ids):
                raise ValueError(f"two facts have the id {max(ids, key=ids.count)!r}: give each one of its own")
        return self

    @property
    def people(self) -> list[Person]:
        """Everybody to ask about."""
        return self.talks or [Person(name=self.user or "", facts=self.facts, questions=self.questions)]


_LINE_KINDS: Mapping[str, tuple[str, type[_Entry]]] = {
    "ask": ("questions", Question),
    "text": ("facts", FileFact),
    "conversations": ("talks", Person),
}
"""The key that tells what a line of JSON is: the list of a YAML file that it belongs to."""


def read_questions(text: str, *, is_jsonl: bool, user: str | None = None) -> QuestionFile:
    """Return a file of questions, YAML or JSON Lines; `user` takes the place of the one that it names.

    Raises:
        InvalidInputError: the file has another form; the message names the place and the fix.
    """
    try:
        data = {} if is_jsonl else yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or error
        place = "it" if mark is None else f"line {mark.line + 1}"
        hint = "put quotes around a text with `?`, `:` or `#`"
        raise InvalidInputError(f"{place} is not YAML: {problem}; {hint}") from error
    if is_jsonl:
        data = _read_lines(text)
    if not isinstance(data, dict):
        raise InvalidInputError("it has no `questions`: pass YAML with them, or JSON Lines in a file named .jsonl")
    return _validated(QuestionFile, data if user is None else {**data, "user": user}, "")


def _read_lines(text: str) -> dict[str, list[_Entry]]:
    found: dict[str, list[_Entry]] = {}
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        try:
            entry = json.loads(line or "{}")
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"line {number} is not JSON: {getattr(error, 'msg', error)}") from error
        kinds = [kind for key, kind in _LINE_KINDS.items() if isinstance(entry, dict) and key in entry]
        if line and len(kinds) != 1:
            fix = "pass an object with `ask` (a question), `text` (a fact) or `conversations` (a talk)"
            raise InvalidInputError(f"line {number} is {format_value(entry)}: {fix}")
        for name, kind in kinds:
            found.setdefault(name, []).append(_validated(kind, entry, f"line {number}"))
    return found


def _validated(kind: type[_Checked], data: object, place: str) -> _Checked:
    """Return data as an entry; the error names the place, the value and the fix."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        # Entries are counted from 1.
        names = [f" {part + 1}" if isinstance(part, int) else f", {part}" for part in detail["loc"] if part != "[key]"]
        value = "" if isinstance(detail["input"], dict | _Entry) else format_value(detail["input"])
        reason = "this key is unknown" if detail["type"] == "extra_forbidden" else detail["msg"]
        shown = (f"{place}{''.join(names)}".removeprefix(", "), value, reason.removeprefix("Value error, "))
        raise InvalidInputError(": ".join(filter(None, shown))) from error
