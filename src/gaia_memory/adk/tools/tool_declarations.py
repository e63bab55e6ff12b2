"""What a model is told about each tool. The texts are in every request, so they are short and never change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_Parameters = Mapping[str, Mapping[str, str]]


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
