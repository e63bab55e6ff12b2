"""Asks a model what the counts of a person's use say about them; its answer is proposals, not facts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError

from gaia_memory.errors import BadAnswerError, InvalidInputError
from gaia_memory.growth.digest import UsageDigest
from gaia_memory.language.printable_text import replace_unstorable
from gaia_memory.model_calls import AnswerOptions, asking_about
from gaia_memory.models import Scope, TurnUsage, parse_key
from gaia_memory.ports import LanguageModel

MAX_PROPOSALS = 5
MAX_TEXT_CHARACTERS = 300

PROMPT_VERSION = "grow-1"
"""The version of the question, stored with each fact that it taught."""

SYSTEM_PROMPT = f"""\
You see how one person uses an assistant: counts and names alone. Propose what is worth remembering about them: \
habits, times, ways of working. Propose only what the counts show clearly, and nothing about health, faith, money or \
mood.

Answer with one JSON object only: {{"proposals": [{{"user", "text", "key", "because"}}]}}, at most {MAX_PROPOSALS}, an \
empty list if nothing is clear. "user" is the user of the usage, "text" one sentence about them (up to \
{MAX_TEXT_CHARACTERS} characters), "key" what there is one of at a time, as whose/what in English, such as \
user/active-hours, left out of others, and "because" the counts that show it."""

_TEXT = {"type": "string"}
_ITEM = {
    "type": "object",
    "properties": {"user": _TEXT, "text": _TEXT, "key": _TEXT, "because": _TEXT},
    "required": ["user", "text", "because"],
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"proposals": {"type": "array", "items": _ITEM}},
    "required": ["proposals"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A fact that a model proposes: `because` is why, in its words; `figures` are the counts it was shown."""

    text: str
    key: str | None
    because: str
    figures: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """What a model proposes for one person.

    `left_out` counts what memory has or has forgotten, what is there twice, too long or nothing but a credential.
    `other_users` are the users of proposals that are about somebody else. `counted` is what the model was shown in
    counts.
    """

    proposals: tuple[Proposal, ...]
    left_out: int
    other_users: tuple[str, ...]
    counted: frozenset[TurnUsage]


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore")

    user: StrictStr
    text: StrictStr
    key: StrictStr | None = None
    because: StrictStr


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")

    proposals: list[_Item]


def build_question(user: str, digest: UsageDigest) -> str:
    """Return the question about a person: their id, and the counts of what they used."""
    counts = json.dumps({"user": user, **digest.to_dict()}, ensure_ascii=False)
    # Ids and names are the host's; none of them may close the tag.
    return "<USAGE>\n" + counts.replace("<", "\\u003c") + "\n</USAGE>"


async def ask_for_proposals(
    model: LanguageModel, scope: Scope, digest: UsageDigest
) -> tuple[list[Proposal], tuple[str, ...]]:
    """Ask once; return what is proposed for this person, at most five, and the users of what is about others.

    Raises:
        ModelUnavailableError: the model did not answer.
        BadAnswerError: its answer is of another form.
    """
    with asking_about(scope.app):
        options = AnswerOptions(json=True, schema=_SCHEMA)
        answer = await model.complete(build_question(scope.user, digest), system=SYSTEM_PROMPT, options=options)
    try:
        parsed = json.loads(answer[answer.find("{") : answer.rfind("}") + 1], strict=False)
        items = _Answer.model_validate(parsed).proposals
    except (ValidationError, ValueError, RecursionError) as error:
        raise BadAnswerError("the answer is not of the form of proposals") from error
    own = [
        Proposal(
            text=replace_unstorable(each.text.strip()),
            key=_key_or_none(each.key),
            because=replace_unstorable(each.because.strip()),
            figures=digest.figures,
        )
        for each in items
        if each.user == scope.user and each.text.strip()
    ]
    return own[:MAX_PROPOSALS], tuple(each.user for each in items if each.user != scope.user)


def _key_or_none(value: str | None) -> str | None:
    """Return a key in its normal form; None for anything else, which costs nobody the fact."""
    try:
        return parse_key("key", value) if value else None
    except InvalidInputError:
        return None
