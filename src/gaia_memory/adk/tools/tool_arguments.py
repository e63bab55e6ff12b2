"""What each tool takes, and the reading of a call, which models get wrong in many ways.

The texts of the declarations are in every request, so they are short and never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any

from gaia_memory.adk.plugins.active_context import context_of
from gaia_memory.drafts.due_dates import due_of_mention
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.dates import DateMention, Direction, read_date
from gaia_memory.models import DEFAULT_CONTEXT, FactChanges, parse_key
from gaia_memory.models.validation import format_value, raise_invalid, require_int, require_label

_TIME_FIX = "pass an ISO time such as 2026-03-27T09:00, or words such as 'Friday 9am'"
_MOMENT = timedelta(microseconds=1)
_LABELS = ("category", "context", "entity")

_Parameters = Mapping[str, Mapping[str, str]]


def check_names(tool: str, declaration: ToolDeclaration, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments under their declared names, without those that are None.

    Raises:
        InvalidInputError: the tool has no such argument, or a required one is missing.
    """
    arguments = {declaration.aliases.get(name, name): value for name, value in given.items() if value is not None}
    known = ", ".join(declaration.parameters)
    if unknown := [name for name in arguments if name not in declaration.parameters]:
        raise InvalidInputError(f"{tool} has no argument {format_value(unknown[0])}: it takes {known}")
    if missing := [name for name in declaration.required if name not in arguments]:
        raise InvalidInputError(f"{tool} needs {missing[0]}: it takes {known}")
    return arguments


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """The arguments of one call, read at `now` for a person in `zone`."""

    given: Mapping[str, Any]
    now: datetime
    zone: tzinfo

    def text(self, name: str) -> str | None:
        """Return a text without white space around it; None if it is not given.

        Raises:
            InvalidInputError: it is neither text nor a number.
        """
        value = self.given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise_invalid(name, value, "pass a text")
        return str(value).strip()

    def label(self, name: str) -> str | None:
        """Return a label; None if it is not given or blank.

        Raises:
            InvalidInputError: it is too long or has control characters.
        """
        text = self.text(name)
        if not text:
            return None
        require_label(name, text)
        return context_of(text) if name == "context" else text

    def key(self) -> str | None:
        """Return the key in its normal form; None if it is not given or blank.

        Raises:
            InvalidInputError: it has another form.
        """
        text = self.text("key")
        return parse_key("key", text) if text else None

    def number(self, name: str, default: int, *, maximum: int, minimum: int = 0) -> int:
        """Return a whole number in a range.

        Raises:
            InvalidInputError: it is none, or outside the range.
        """
        value = self.given.get(name, default)
        if isinstance(value, float) and value.is_integer():
            # JSON has one type of numbers, and some models send 10.0.
            value = int(value)
        return require_int(name, value, minimum=minimum, maximum=maximum, fix=f"pass {minimum} to {maximum}")

    def moment(self, name: str, *, is_end: bool = False) -> datetime | None:
        """Return a time of the past or of today; with `is_end` the last moment of a day. None if it is not given."""
        mention = self._mention(name, direction="past")
        if mention is None:
            return None
        return mention.end - _MOMENT if is_end and not mention.has_time else mention.start

    def changes(self) -> FactChanges:
        """Return the fields of a fact that are given; an empty text removes one.

        Raises:
            InvalidInputError: a value is not possible, such as a time in the past.
        """
        changes = FactChanges()
        for name in _LABELS:
            if name in self.given:
                changes[name] = self.label(name)  # type: ignore[literal-required]
        if changes.get("context", "") is None:
            changes["context"] = DEFAULT_CONTEXT
        if "key" in self.given:
            changes["key"] = self.key()
        if "sensitive" in self.given:
            changes["sensitive"] = self._flag("sensitive")
        if "due_at" in self.given:
            changes.update(self._due())
        if "every" in self.given:
            changes["every"] = self.text("every") or None
        if "valid_until" in self.given:
            changes["valid_until"] = self._valid_until()
        if "reminded_at" in self.given:
            changes["reminded_at"] = self._reminded_at()
        return changes

    def _flag(self, name: str) -> bool:
        value = self.given[name]
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        if not isinstance(value, bool):
            raise_invalid(name, value, "pass true or false")
        return value

    def _due(self) -> FactChanges:
        mention = self._mention("due_at", direction="future")
        if mention is None:
            return FactChanges(due_at=None)
        due = due_of_mention(mention, self.now.astimezone(self.zone))
        if not due:
            raise_invalid("due_at", self.given["due_at"], f"it is past, since it is {self._local_now()} now")
        changes = FactChanges(due_at=due["due_at"], due_all_day=due["due_all_day"])
        if due["every"] is not None:
            changes["every"] = due["every"]
        return changes

    def _valid_until(self) -> datetime | None:
        mention = self._mention("valid_until", direction="future")
        if mention is None:
            return None
        valid_until = mention.valid_until or mention.start
        if valid_until <= self.now:
            raise_invalid("valid_until", self.given["valid_until"], f"it is past, since it is {self._local_now()} now")
        return valid_until

    def _reminded_at(self) -> datetime | None:
        if self.text("reminded_at") == "now":
            return self.now
        return self.moment("reminded_at")

    def _mention(self, name: str, *, direction: Direction) -> DateMention | None:
        text = self.text(name)
        if not text:
            return None
        mention = read_date(text, self.now, self.zone, direction=direction)
        if mention is None or mention.unread_zone:
            raise_invalid(name, text, _TIME_FIX)
        return mention

    def _local_now(self) -> str:
        return self.now.astimezone(self.zone).isoformat(timespec="minutes")


def _text(description: str) -> Mapping[str, str]:
    return {"type": "string", "description": description}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDeclaration:
    """A tool as a model sees it. `aliases` are other names that models use for a parameter."""

    description: str
    parameters: _Parameters
    required: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    def build_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameters, a new one at each call."""
        properties = {name: dict(parameter) for name, parameter in self.parameters.items()}
        required = {"required": list(self.required)} if self.required else {}
        return {"type": "object", "properties": properties, **required}


_FACT = {"fact": _text("The fact, as one short self-contained sentence.")}
_ID = {"id": _text("The id that a search showed, such as #a1b2c3.")}
_DETAILS: _Parameters = {
    "category": _text("One word, such as food, work or health."),
    "context": _text("Where it belongs: global, or a name such as work."),
    "due_at": _text("When to remind the user: an ISO time or words such as 'Friday 9am', in the user's time zone."),
    "every": _text("How often it is due: daily, weekly, monthly, yearly or an RRULE."),
    "sensitive": {"type": "boolean", "description": "True for what must not come up by itself, such as health."},
    "entity": _text("Whom or what it is about, if not the user."),
    "key": _text("What there is one of at a time, as whose/what, such as user/home: the fact replaces that one."),
    "valid_until": _text("When it ceases to be true: an ISO time or words."),
}

REMEMBER_DESCRIPTION = (
    "Save one durable fact about the user to long-term memory, so that it is known in later conversations."
)
BASIC_REMEMBER = ToolDeclaration(
    description=REMEMBER_DESCRIPTION, parameters=_FACT, required=("fact",), aliases={"text": "fact"}
)
REMEMBER = ToolDeclaration(
    description=REMEMBER_DESCRIPTION,
    parameters={**_FACT, **_DETAILS},
    required=("fact",),
    aliases={"text": "fact"},
)
LOAD_MEMORY = ToolDeclaration(
    description="Search long-term memory for what is known about the user from earlier conversations.",
    parameters={"query": _text("What to look for, in a few words or as a question.")},
    required=("query",),
)
RECALL = ToolDeclaration(
    description=(
        "Search long-term memory with filters; without a query, list what passes them, oldest first. If has_more is "
        "true, ask again with a higher offset."
    ),
    parameters={
        "query": _text("What to look for."),
        "category": _text("Only facts of this category."),
        "context": _text("Only facts of this context."),
        "entity": _text("Only facts about this person or thing."),
        "agent": _text("Only facts that this agent noted."),
        "key": _text("Only the fact with this key, such as user/home."),
        "since": _text("Only what was said from then on: an ISO time or words."),
        "until": _text("Only what was said until then."),
        "as_of": _text("What was true then, now or not."),
        "offset": {"type": "integer", "description": "How many to leave out."},
        "limit": {"type": "integer", "description": "At most this many, 1 to 100; 20 by default."},
    },
)
UPDATE_MEMORY = ToolDeclaration(
    description=(
        "Correct a fact about the user when they ask for it. Pass the id and only what changes, as for remember; an "
        "empty text removes a detail."
    ),
    parameters={
        **_ID,
        "fact": {"type": "string"},
        **{name: {"type": detail["type"]} for name, detail in _DETAILS.items()},
        "reminded_at": _text("'now' once you have reminded the user of what is due."),
    },
    required=("id",),
    aliases={"text": "fact"},
)
SWITCH_CONTEXT = ToolDeclaration(
    description=(
        "Switch the context, such as work or family, that new facts belong to and whose facts are shown beside global "
        "ones; global ends it."
    ),
    parameters={"context": _text("Its name.")},
    required=("context",),
)
FORGET_MEMORY = ToolDeclaration(
    description="Forget one fact about the user when they ask for it.", parameters=_ID, required=("id",)
)
