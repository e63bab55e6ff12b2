"""Long conversations with an assistant, composed of the sentences in `mixed_conversations_data`, always the same ones.

A person asks for help and tells a detail of their life in passing; the assistant answers at length, in words that many
of its answers share. Some questions ask for such details, some for what the assistant advised.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

USER, ASSISTANT = "user", "assistant"
PEOPLE = ("1", "2")
ANSWER_CHARACTERS = (1000, 6000)
"""Characters of an assistant's answer, at least and at most."""

_FOLDER = Path(__file__).parent / "mixed_conversations_data"
_STARTED_AT = datetime(2024, 1, 8, 18, 20, tzinfo=UTC)
_SPAN = timedelta(days=300)
_DETAIL_PATTERN = re.compile(r"([12])(!?) ([^:]+): (.+)")


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `key` identifies it among all messages of its user; `detail` is the detail it mentions, if any."""

    key: str
    speaker: str
    text: str
    session: str
    seq: int
    said_at: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MixedConversation:
    """Everything one user and the assistant said, and questions with the keys of the messages that answer them."""

    name: str
    messages: Sequence[Message]
    questions: Sequence[tuple[str, set[str]]]


@dataclass(slots=True)
class _Theme:
    name: str
    nouns: Sequence[str]
    questions: Sequence[str]
    tips: Sequence[str]
    related_tips: Sequence[str] = ()
    """What is said of other themes: answers share words with those of other sessions."""


@dataclass(slots=True)
class _Detail:
    """A detail that is mentioned once, and where."""

    theme: str
    speaker: str
    text: str
    message: Message | None = None


@dataclass(slots=True)
class _Group:
    """Details that together answer a question, if there is one."""

    details: list[_Detail] = field(default_factory=list)
    question: str = ""


def mixed_conversations() -> Iterator[MixedConversation]:
    """Yield the conversation of each user."""
    themes, phrases = list(_themes()), dict(_blocks("phrases"))
    for person in PEOPLE:
        groups = list(_groups(person))
        rng = random.Random(f"long mixed messages {person}")
        messages = list(_messages(person, themes, phrases, [each for group in groups for each in group.details], rng))
        yield MixedConversation(f"person-{person}", messages, [_question(group) for group in groups if group.question])


def _question(group: _Group) -> tuple[str, set[str]]:
    said = [detail.message for detail in group.details if detail.message]
    assert len(said) == len(group.details), f"no session says {group.details}"
    return group.question.replace("{month}", f"{said[0].said_at:%B}"), {message.key for message in said}


def _blocks(name: str) -> Iterator[tuple[str, list[str]]]:
    for block in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("== ")[1:]:
        title, *lines = block.strip().splitlines()
        yield title, lines


def _themes() -> Iterator[_Theme]:
    found = [
        _Theme(name, things.removeprefix("things: ").split(", "), asks.removeprefix("asks: ").split(" | "), tips)
        for name, (things, asks, *tips) in _blocks("themes")
    ]
    for theme in found:
        theme.related_tips = [
            f"It is the same with {other.name}: {tip}" for other in found if other != theme for tip in other.tips
        ]
        yield theme


def _groups(person: str) -> Iterator[_Group]:
    for block in (_FOLDER / "details.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        group = _Group()
        for line in block.splitlines():
            if line.startswith("? "):
                group.question = line[2:]
            elif (told := _DETAIL_PATTERN.fullmatch(line)) and told[1] == person:
                group.details.append(_Detail(told[3], ASSISTANT if told[2] else USER, told[4]))
        if group.details:
            yield group


def _messages(
    person: str,
    themes: Sequence[_Theme],
    phrases: Mapping[str, Sequence[str]],
    details: Sequence[_Detail],
    rng: random.Random,
) -> Iterator[Message]:
    sessions: list[tuple[float, _Theme, list[_Detail]]] = []
    for theme in themes:
        theme_details = [detail for detail in details if detail.theme == theme.name]
        number = max(1, (len(theme_details) + 1) // 2)
        sessions += [
            ((part + rng.random()) / number, theme, theme_details[2 * part : 2 * part + 2]) for part in range(number)
        ]
    sessions.sort(key=lambda session: session[0])
    for number, (_, theme, theme_details) in enumerate(sessions, 1):
        begun = _STARTED_AT + _SPAN * (number / len(sessions)) + timedelta(minutes=rng.randrange(180))
        name = f"{person}-{number}"
        for seq, (speaker, text, detail) in enumerate(_session(theme, phrases, theme_details, rng), 1):
            said_at, told_here = begun + timedelta(minutes=seq), detail.text if detail else ""
            message = Message(f"{name}-{seq}", speaker, text, name, seq, said_at, told_here)
            if detail:
                detail.message = message
            yield message


def _session(
    theme: _Theme, phrases: Mapping[str, Sequence[str]], details: Sequence[_Detail], rng: random.Random
) -> Iterator[tuple[str, str, _Detail | None]]:
    """Yield speaker, text and detail of each message. Later details come later."""
    rounds = rng.randrange(3, 7)
    at = dict(zip(sorted(rng.sample(range(rounds), len(details))), details, strict=True))
    for place in range(rounds):
        detail = at.get(place)
        asked = detail if detail and detail.speaker == USER else None
        advised = detail if detail and detail.speaker == ASSISTANT else None
        yield USER, _user_message(theme, phrases, asked, first=place == 0, rng=rng), asked
        yield ASSISTANT, _assistant_message(theme, phrases, advised, rng), advised


def _user_message(
    theme: _Theme, phrases: Mapping[str, Sequence[str]], detail: _Detail | None, *, first: bool, rng: random.Random
) -> str:
    """Compose a message of one line to several hundred words."""
    sentences = [rng.choice(theme.questions if first else phrases["follow"])]
    if first or detail:
        sentences += rng.sample(phrases["context"], rng.choice([0, 1, 2, 4, 7]))
        if detail:
            sentences.insert(rng.randint(1, len(sentences)), detail.text)
        sentences.append(rng.choice(phrases["closing"]))
    if rng.random() < (0.25 if first else 0.08):
        pasted = [*rng.sample(theme.tips, 5), *rng.sample(phrases["more"], rng.randrange(3, 14))]
        rng.shuffle(pasted)
        sentences += [rng.choice(phrases["notes"]), "\n\n" + "\n".join(pasted)]
    return _fill_placeholders(" ".join(sentences), theme, rng)


def _assistant_message(
    theme: _Theme, phrases: Mapping[str, Sequence[str]], detail: _Detail | None, rng: random.Random
) -> str:
    """Compose paragraphs under headings, each partly from the theme's advice and partly from general advice."""
    min_characters, max_characters = ANSWER_CHARACTERS
    length = min_characters + (max_characters - min_characters) * rng.random() ** 1.5 * 0.85
    tips = rng.sample(theme.tips, len(theme.tips))
    more = [*rng.sample(phrases["more"], len(phrases["more"]) // 2), *rng.sample(theme.related_tips, len(tips))]
    rng.shuffle(more)
    headings = rng.sample(phrases["heading"], len(phrases["heading"]))
    parts, outro = [rng.choice(phrases["intro"])], rng.choice(phrases["outro"])
    advice = [detail.text] if detail else []
    while sum(map(len, parts)) + len(outro) < length and more:
        sentences = [tips.pop() for _ in range(rng.randrange(3)) if tips]
        sentences += [more.pop() for _ in range(rng.randrange(1, 4)) if more]
        if headings and rng.random() < 0.6:
            parts.append(f"**{headings.pop()}**: {' '.join(sentences)}")
        else:
            parts.append("\n".join(f"- {each}" for each in sentences))
    if advice:
        parts.insert(rng.randint(1, len(parts)), advice[0])
    return _fill_placeholders("\n\n".join([*parts, outro]), theme, rng)[:max_characters]


def _fill_placeholders(text: str, theme: _Theme, rng: random.Random) -> str:
    """Insert the theme and its terms into a general sentence."""
    while "{thing}" in text or "{other}" in text:
        thing, other = rng.sample(theme.nouns, 2)
        text = text.replace("{thing}", thing, 1).replace("{other}", other, 1)
    return text.replace("{theme}", theme.name)
