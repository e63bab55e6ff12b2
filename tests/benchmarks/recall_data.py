"""Conversations with questions for recall: LoCoMo, published or reduced, and our own long mixed messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import mixed_conversations
from gaia_memory import NewFact

LOCOMO_SHAPES = ("turns", "facts")
MIXED_SHAPES = ("mixed", "mixed-bare")

ADVERSARIAL_CATEGORY = 5
"""The category of questions that nothing answers."""

_SESSION = re.compile(r"session_(\d+)")
_EXPECTED_FORMAT = (
    "expected LoCoMo's locomo10.json as published, or the same reduced to `id`, `sessions` of `turns`, `qa` and `facts`"
)


class UnknownFormError(ValueError):
    """The file contains no conversations in a form that this benchmark can read."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Memories with the turns each contains, and questions with the turns that answer them."""

    name: str
    memories: Sequence[tuple[NewFact, set[str]]]
    questions: Sequence[tuple[str, set[str]]]


def load_conversations(path: Path | None, shape: str) -> list[Conversation]:
    """Return the conversations of a file, or our own for the mixed shapes, which need no file.

    Raises:
        UnknownFormError: the file cannot be read, or holds something else.
    """
    if shape in MIXED_SHAPES:
        return list(_mixed_conversations(named=shape == "mixed"))
    if path is None:
        raise UnknownFormError(f"shape {shape} needs a file: add --data locomo10.json")
    try:
        found = list(locomo_conversations(json.loads(path.read_text(encoding="utf-8")), shape))
    except (OSError, ValueError) as error:
        raise UnknownFormError(f"{path} cannot be read: {error}; {_EXPECTED_FORMAT}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise UnknownFormError(
            f"{path} has another form ({type(error).__name__}: {error}); {_EXPECTED_FORMAT}"
        ) from error
    if not any(talk.questions for talk in found):
        raise UnknownFormError(f"{path} holds no question that its turns answer; {_EXPECTED_FORMAT}")
    return found


def locomo_conversations(data: Any, shape: str) -> Iterator[Conversation]:
    """Read LoCoMo's conversations, without questions of category 5 and those whose evidence is not a turn."""
    for each in data:
        talk = reduce_sample(each) if "conversation" in each else each
        turns = {turn["dia_id"] for session in talk["sessions"] for turn in session["turns"]}
        memories = [memory for session in talk["sessions"] for memory in _memories(talk, session, shape)]
        answerable_turns = set().union(*(held for _, held in memories))
        questions = [
            (each["question"], set(each["evidence"]))
            for each in talk["qa"]
            if each.get("category") != ADVERSARIAL_CATEGORY and each["evidence"] and turns.issuperset(each["evidence"])
        ]
        yield Conversation(talk["id"], memories, [each for each in questions if each[1] & answerable_turns])


def reduce_sample(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return a published conversation in the reduced form, without images."""
    talk = sample["conversation"]
    numbers = sorted(int(match[1]) for key in talk if (match := _SESSION.fullmatch(key)))
    return {
        "id": sample["sample_id"],
        "sessions": [
            {"session": number, "date_time": talk[f"session_{number}_date_time"], "turns": talk[f"session_{number}"]}
            for number in numbers
        ],
        "qa": sample["qa"],
        "facts": [fact for number in numbers for fact in _extracted_facts(sample, number)],
    }


def _extracted_facts(sample: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
    """Return the facts that a model extracted from one session, in the order of their turns."""
    seen = sample.get("observation", {}).get(f"session_{number}_observation", {})
    facts = [
        {"session": number, "text": text, "from": [source] if isinstance(source, str) else list(source)}
        for each in seen.values()
        for text, source in each
    ]
    return sorted(facts, key=lambda fact: [_turn_order(turn) for turn in fact["from"]])


def _turn_order(turn: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", turn))


def _memories(talk: Any, session: Any, shape: str) -> list[tuple[NewFact, set[str]]]:
    said_at = datetime.strptime(session["date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    if shape == "turns":
        texts = [(f"{turn['speaker']}: {turn['text']}", {turn["dia_id"]}) for turn in session["turns"]]
    else:
        number = session["session"]
        texts = [(fact["text"], set(fact["from"])) for fact in talk["facts"] if fact["session"] == number]
    name = f"session-{session['session']}"
    return [
        (NewFact(text, said_at=said_at, session_id=name, seq=seq), held) for seq, (text, held) in enumerate(texts, 1)
    ]


def _mixed_conversations(*, named: bool) -> Iterator[Conversation]:
    for talk in mixed_conversations.mixed_conversations():
        memories = [
            (
                NewFact(
                    f"{each.speaker}: {each.text}" if named else each.text,
                    said_at=each.said_at,
                    session_id=each.session,
                    seq=each.seq,
                ),
                {each.key},
            )
            for each in talk.messages
        ]
        yield Conversation(talk.name, memories, talk.questions)
