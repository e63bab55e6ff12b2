"""Screens extracted facts and turns them into drafts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import get_args

from gaia_memory.drafts.due_dates import due_of_answer, to_moment
from gaia_memory.drafts.excerpts import excerpt_of
from gaia_memory.drafts.lifetime import take_lifetime
from gaia_memory.errors import InvalidInputError
from gaia_memory.language.printable_text import is_blank
from gaia_memory.language.stems import stem
from gaia_memory.language.text_features import QUESTION_MARKS
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import (
    REMEMBERED_SOURCES,
    UNVERIFIED_KEY,
    Chunk,
    Draft,
    ExtractedFact,
    Fact,
    Metadata,
    NewFact,
    Role,
    Scalar,
    Turn,
    to_local_time,
)
from gaia_memory.models.masked_fact import mask_fact
from gaia_memory.models.new_fact import require_known_zone
from gaia_memory.models.validation import is_label
from gaia_memory.redaction.credentials import (
    contains_credential,
    is_all_masked,
    mask_credentials,
    masked_kinds,
)
from gaia_memory.redaction.forms import ACCOUNT_NUMBER

logger = logger_for(__name__)

MAX_FACT_CHARACTERS = 2_000
"""Characters of a fact that is learned or remembered; longer ones are copies of the conversation."""

MAX_VERBATIM_CHARACTERS = 100_000
"""Characters of a fact that a host adds or imports verbatim, such as a whole message."""

SENSITIVE_CATEGORIES = frozenset({"health", "sexuality", "religion", "finance", "finances", "legal"})
"""The categories whose facts `memory.mark_sensitive` marks."""

_REMEDY = "keep secrets in a password store, not in memory"
_WORD = re.compile(r"\w{3,}|\d+")
_AFTER_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def drop_assistant_claims(extracted: Sequence[ExtractedFact], chunk: Chunk) -> list[ExtractedFact]:
    """Return the facts that the extractor does not attribute to the assistant.

    One attributed to neither the user nor anybody who speaks in the chunk is kept without speaker and key, as
    unverified. A text that begins with the assistant's name and a colon is copied from what it said; so is a whole
    message of the assistant's in the name of a person.
    """
    messages = (*chunk.before, *chunk.messages)
    speakers = {role: {_fold_name(each.speaker) for each in messages if each.role == role} for role in get_args(Role)}
    people = {"", "user", *speakers["user"]} - (speakers["assistant"] - {""})
    assistants = {"assistant", *speakers["assistant"]} - {""}
    texts = {role: {_fold_name(each.text) for each in messages if each.role == role} for role in get_args(Role)}
    replies = texts["assistant"] - texts["user"]
    assistant_words = {word for name in assistants for word in _WORD.findall(name)}
    kept = [
        item
        if _fold_name(item.attributed_to or "") in people
        else replace(item, attributed_to=None, key=None, unverified=True)
        for item in extracted
        if (
            _fold_name(item.attributed_to or "") in people
            or assistant_words.isdisjoint(_WORD.findall(_fold_name(item.attributed_to or "")))
        )
        and _fold_name(item.text.partition(":")[0]) not in assistants
        and not (item.attributed_to and _fold_name(item.text) in replies)
    ]
    if len(kept) < len(extracted):
        logger.info("%d of %d extracted facts were claims of the assistant", len(extracted) - len(kept), len(extracted))
    return kept


def _fold_name(name: str) -> str:
    return name.strip().casefold()


def drop_unkeepable(extracted: Sequence[ExtractedFact], *, allow_numbers: bool = False) -> list[ExtractedFact]:
    """Return the facts that may be stored, white space collapsed, credentials masked: none blank or too long.

    `allow_numbers` is `memory.allow_numbers`.
    """
    normalized = [_normalize(item, allow_numbers=allow_numbers) for item in extracted]
    kept = [item for item in normalized if _is_keepable(item.text)]
    if len(kept) < len(extracted):
        dropped = len(extracted) - len(kept)
        logger.info(
            "%d of %d extracted facts were blank, too long or nothing but a credential",
            dropped,
            len(extracted),
            extra=log_fields("facts.dropped", facts=dropped),
        )
    return kept


def _normalize(item: ExtractedFact, *, allow_numbers: bool) -> ExtractedFact:
    """Mask credentials, collapse white space, leave out repeated sentences and labels with a credential."""
    category, attributed_to, key = (
        None if label and contains_credential(label, allow_numbers=allow_numbers) else label
        for label in (item.category, item.attributed_to, item.key)
    )
    text = " ".join(dict.fromkeys(_AFTER_SENTENCE.split(" ".join(item.text.split()))))
    text = mask_credentials(text, allow_numbers=allow_numbers)
    return replace(item, text=text, category=category, attributed_to=attributed_to, key=key)


def _is_keepable(text: str) -> bool:
    return not is_blank(text) and len(text) <= MAX_FACT_CHARACTERS and not is_all_masked(text)


def screen_draft(draft: Draft, *, allow_numbers: bool = False) -> Draft:
    """Return a verbatim fact with the credentials in its text, labels and metadata masked.

    `allow_numbers` is `memory.allow_numbers`.

    Raises:
        InvalidInputError: the fact is too long or nothing but a credential, or its due zone is unknown.
    """
    require_known_zone(draft.fact)
    text = draft.fact.text
    max_characters = MAX_FACT_CHARACTERS if draft.source in REMEMBERED_SOURCES else MAX_VERBATIM_CHARACTERS
    if len(text) > max_characters:
        problem = f"the fact has {len(text)} characters: shorten it to {max_characters} or split it"
        raise InvalidInputError(problem, hint=problem)
    fact = mask_fact(draft.fact, allow_numbers=allow_numbers)
    if is_all_masked(fact.text):
        kinds = masked_kinds(fact.text)
        remedy = f"contains a credential ({', '.join(kinds)}): {_REMEDY}"
        setting = "; `memory.allow_numbers: true` keeps such numbers" if ACCOUNT_NUMBER in kinds else ""
        raise InvalidInputError(f"the fact {remedy}{setting}", hint=f"it {remedy}")
    return draft if fact is draft.fact else replace(draft, fact=fact)


def describe_masked(facts: Iterable[Fact | NewFact]) -> str:
    """Return what was left out of facts that were stored, for whoever gave them; empty if nothing was."""
    texts = (text for fact in facts for text in (fact.text, *map(str, fact.metadata.values())))
    kinds = dict.fromkeys(kind for text in texts for kind in masked_kinds(text))
    verb = "was" if len(kinds) == 1 else "were"
    return f"{' and '.join(kinds)} {verb} left out: {_REMEDY}" if kinds else ""


def build_drafts(
    chunk: Chunk, extracted: Sequence[ExtractedFact], *, allow_numbers: bool = False, marks_sensitive: bool = False
) -> list[Draft]:
    """Return the screened facts of a chunk as drafts, each with where and when it was said.

    `allow_numbers` is `memory.allow_numbers`, `marks_sensitive` is `memory.mark_sensitive`.

    The extractor does not report the turn of a fact. So its position and time are those of the first turn that shares
    most words with it, or of the last one in which the user repeats that. A question states less than a statement, and
    its answer may only repeat what was said before. Its events are all events of the chunk and its context, so that
    forgetting the fact reaches everything it may have come from.
    """
    event_ids = tuple(dict.fromkeys(message.event_id for message in (*chunk.before, *chunk.messages)))
    turn_words = [_TurnWords(turn) for turn in chunk.turns]
    turn_counts = Counter(word for each in turn_words for word in each.all)
    attributed = [
        (item, _most_similar_turn(item.text, chunk.turns, turn_words, turn_counts))
        for item in drop_unkeepable(extracted, allow_numbers=allow_numbers)
    ]
    return [
        Draft(
            fact=_build_fact(item, chunk, turn, marks_sensitive=marks_sensitive),
            source="conversation",
            app=chunk.key.app,
            event_ids=event_ids,
            turn_event_ids=turn.event_ids,
            channel=chunk.key.channel,
            excerpt=_excerpt_of_turn(turn),
            extractor=item.extractor,
            active_context=turn.context,
        )
        for item, turn in attributed
    ]


def read_added_details(metadata: Metadata, now: datetime, allow_numbers: bool) -> NewFact:
    """Return the metadata and the end that the facts of a conversation are to have, as a fact of no other meaning.

    A `ttl` counts from `now`. `allow_numbers` is `memory.allow_numbers`.

    Raises:
        InvalidInputError: no fact may have these metadata.
    """
    added = take_lifetime(NewFact("details", metadata=metadata), now)
    return screen_draft(Draft(fact=added, source="conversation"), allow_numbers=allow_numbers).fact


def add_details(drafts: Sequence[Draft], added: NewFact) -> list[Draft]:
    """Return drafts with the metadata and the end of `added`, unless they have these themselves."""
    return [replace(draft, fact=_with_details(draft.fact, added)) for draft in drafts]


def _with_details(fact: NewFact, added: NewFact) -> NewFact:
    ends = [end for end in (fact.valid_until, added.valid_until) if end is not None]
    end = min(ends, default=None)
    start = fact.valid_from if end is None or fact.valid_from is None or fact.valid_from < end else None
    return replace(fact, metadata={**added.metadata, **fact.metadata}, valid_from=start, valid_until=end)


def _excerpt_of_turn(turn: Turn) -> str | None:
    said = next((message for message in turn.messages if message.role == "user"), None)
    return None if said is None or said.may_be_private else excerpt_of(said.text)


def _build_fact(item: ExtractedFact, chunk: Chunk, turn: Turn, *, marks_sensitive: bool) -> NewFact:
    said_at = _said_at(item, chunk, turn)
    valid_from, valid_until = _validity(item, to_local_time(said_at, chunk.zone))
    # What was over when it was said takes nobody's place.
    is_over = item.valid_until is not None and valid_until is None
    return NewFact(
        item.text,
        said_at=said_at,
        valid_from=valid_from,
        valid_until=valid_until,
        **due_of_answer(item, turn.messages[0].said_at, chunk.zone),
        session_id=chunk.key.session,
        seq=turn.seq,
        metadata=_build_metadata(item, turn),
        category=item.category,
        key=None if is_over else item.key,
        agent=turn.agent if is_label(turn.agent) else None,
        sensitive=marks_sensitive and (item.sensitive or item.category in SENSITIVE_CATEGORIES),
    )


def _validity(item: ExtractedFact, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Return from when until before when a fact holds that was said at a local time.

    A beginning is one of the past: what is planned is worth knowing before it begins. An end is one to come.
    """
    start = None if item.valid_from is None else to_moment(item.valid_from, said_at.tzinfo)
    end = None if item.valid_until is None else to_moment(item.valid_until, said_at.tzinfo)
    if end is not None and not isinstance(item.valid_until, datetime):
        end += timedelta(days=1)
    return (start if start and start <= said_at else None), (end if end and end > said_at else None)


def _said_at(item: ExtractedFact, chunk: Chunk, turn: Turn) -> datetime:
    """Return when a fact was said: at its turn, or at an earlier time that the messages name, noon of a day.

    A later day is that of an event in the fact, which models confuse with it.
    """
    at_turn = turn.messages[0].said_at
    local = to_local_time(at_turn, chunk.zone)
    if item.said_at is None:
        return at_turn
    stated = to_moment(item.said_at, local.tzinfo, at=time(12))
    return stated if stated.astimezone(local.tzinfo).date() < local.date() else at_turn


def _build_metadata(item: ExtractedFact, turn: Turn) -> dict[str, Scalar]:
    metadata: dict[str, Scalar] = {}
    if item.attributed_to:
        metadata["attributed_to"] = item.attributed_to
    role = "assistant" if item.attributed_to == "assistant" else "user"
    speaker = next((message.speaker for message in turn.messages if message.role == role), "")
    if speaker:
        metadata["speaker"] = speaker
    if item.unverified:
        metadata[UNVERIFIED_KEY] = True
    return metadata


class _TurnWords:
    """The words of a turn, with which a fact is compared."""

    def __init__(self, turn: Turn) -> None:
        texts = _user_texts(turn)
        self._asks = bool(texts) and all(text.rstrip().endswith(tuple(QUESTION_MARKS)) for text in texts)
        self._of_user = _distinct_words(" ".join(texts))
        self.all = _distinct_words(" ".join(message.text for message in turn.messages))

    def likeness(self, fact_words: frozenset[str], turn_counts: Mapping[str, int]) -> tuple[float, float, float]:
        """Return how well a fact fits: words of a question count half, those of the answer to a statement a quarter.

        A word that several turns have tells so much less which of them is meant. The answer to a question only parts
        equals, and so does the share of the person's words that the fact has.
        """
        of_user = fact_words & self._of_user
        said, shared = (
            round(sum(1 / turn_counts[word] for word in words), 6) for words in (of_user, fact_words & self.all)
        )
        score = said / 2 if self._asks else said + (shared - said) / 4
        return score, shared, len(of_user) / max(1, len(self._of_user))


def _most_similar_turn(
    text: str, turns: Sequence[Turn], turn_words: Sequence[_TurnWords], turn_counts: Mapping[str, int]
) -> Turn:
    fact_words = _distinct_words(text)
    best = turns[max(range(len(turns)), key=lambda index: turn_words[index].likeness(fact_words, turn_counts))]
    return next(turn for turn in reversed(turns) if _user_texts(turn) == _user_texts(best))


def _user_texts(turn: Turn) -> list[str]:
    return [message.text for message in turn.messages if message.role == "user"]


def _distinct_words(text: str) -> frozenset[str]:
    return frozenset(map(stem, _WORD.findall(text.casefold())))
