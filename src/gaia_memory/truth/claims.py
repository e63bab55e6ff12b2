"""Reads what a statement says about somebody: which slot it fills, with what, or what it takes back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import chain, product
from typing import Any

import snowballstemmer

from gaia_memory.language.dates import DateMention, Direction, read_dates
from gaia_memory.language.function_words import detect_language
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.language.unicode_forms import compose
from gaia_memory.truth.contrasts import find_contrast
from gaia_memory.truth.rule_tables import Denial, LanguageRules, SentencePattern, fold, load_rules, meanings, words
from gaia_memory.truth.slot_values import parse_value

CLAUSE = "clause"
"""The slot of a statement as a whole, which only its denial ends."""

_MAX_CHARACTERS = 200
"""A longer text says more than one thing."""

_FIRST_MOMENT = datetime(1000, 1, 1, tzinfo=UTC)
_LAST_MOMENT = datetime(9000, 1, 1, tzinfo=UTC)

_RETOLD = re.compile(
    r"(?:El usuario dice|L'utilisateur dit|Der Nutzer sagt)\s?:\s*[«„]\s*(?P<said>[^«»„“”]+?)\s*[»“”]\W*\Z"
)
"""The person's own words, as the offline extractor keeps those that it cannot put into the third person."""

_UNREADABLE_SIGNS = re.compile(
    # Quotations, questions, several sentences; faces that laugh or wink.
    r"[\"“”„«»\u2018?¿\n…]|(?<!\w)'|'(?!\w)|\.\.\.|(?<!\bSt)(?<!\d)[.!;:]\s+\S|[;:]-?[)pP](?!\w)"
    "|[\U0001f602\U0001f609\U0001f61c\U0001f61d\U0001f643\U0001f923]"
)
_ADDED_DATE = re.compile(r"\s*\([^()]*\d{4}[^()]*\)")
_CLOCK_GRAINS = ("time", "part")
"""A number that may also be an age: "moved to London at 18"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a statement says about `subject` (empty: the user), who is a `relation` of the user as far as it says so.

    `value` are the words or names that the slot holds, of a clause the meanings of its `words`; `old` is what the value
    took the place of. `key` says which of several: of what the favourite, which phone. A change is told as new. A bare
    claim is all that the statement says; an unsure one may hold for the moment only. A dated event had happened by
    `happened_by`, and a plan is over by then.
    """

    subject: str
    slot: str
    value: tuple[str, ...]
    relation: str = ""
    key: str = ""
    old: tuple[str, ...] = ()
    is_denial: bool = False
    is_change: bool = False
    is_bare: bool = True
    is_unsure: bool = False
    words: tuple[str, ...] = ()
    language: str = ""
    happened_by: datetime | None = None


def read_statement(text: str, said_at: datetime, speaker: str = "") -> tuple[Claim, ...]:
    """Return what a statement surely says; nothing if it is unsure, a question, a quotation or several sentences.

    `said_at` has a time zone. `speaker` is the name of the one who says "I", empty for the user.
    """
    # A day before or after it is a date, too.
    moment = min(max(said_at, _FIRST_MOMENT), _LAST_MOMENT)
    return _read_statement(text, moment, moment.tzinfo, speaker)


@lru_cache(maxsize=4096)
def _read_statement(text: str, said_at: datetime, zone: tzinfo | None, speaker: str) -> tuple[Claim, ...]:
    """Do that; times of different zones may be equal, so `zone` is part of the key."""
    text = compose(text).strip().replace("\u2019", "'")
    retold = _RETOLD.match(text)
    text = re.sub(r"[\s.!]+\Z", "", retold["said"] if retold else text)
    if len(text) > _MAX_CHARACTERS or _UNREADABLE_SIGNS.search(text):
        return ()
    readers = [_Reader(rules, said_at, fold(speaker)) for rules in load_rules()]
    contrast = find_contrast(text)
    if contrast is None:
        return tuple(dict.fromkeys(claim for reader in readers for claim in reader.read(text)))
    said, old = contrast.right.split(), contrast.wrong.split()
    wrong = " ".join([*said[: -len(old)], *old])
    pairs = (product(reader.read(contrast.right), reader.read(wrong)) for reader in readers)
    return tuple(
        dict.fromkeys(
            replace(new, old=before.value, is_bare=False)
            for new, before in chain.from_iterable(pairs)
            if (new.subject, new.slot, new.key) == (before.subject, before.slot, before.key)
            and not (new.is_denial or before.is_denial)
        )
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads a statement by the rules of one language."""

    rules: LanguageRules
    said_at: datetime
    speaker: str

    def read(self, text: str) -> Iterator[Claim]:
        for pattern, new in self.rules.rewrites:
            text = pattern.sub(new, text)
        yield from self._read_with_relation(text)
        yield from self._read_denial_with_reason(text)

    def _read_denial_with_reason(self, text: str) -> Iterator[Claim]:
        """Yield what is denied before a reason: "is not allergic to nuts, the test was negative"."""
        found = self.rules.reason.match(text)
        if found is None or self.rules.unsure.search(found["why"]) or self._without_date(found["why"])[1]:
            return
        _, denial = self._without_denial(found["said"])
        # "Does not drink coffee because of a cold" holds as long as the cold. What no word links may be no reason.
        is_unsure = not found["link"] or (denial is not None and denial.kind == "plain")
        if found["link"] or words("links").isdisjoint(index_tokens(found["why"])[:1]):
            for claim in self._read_with_relation(found["said"]):
                if claim.is_denial:
                    yield replace(claim, is_bare=False, is_unsure=is_unsure)

    def _read_with_relation(self, text: str) -> Iterator[Claim]:
        yield from self._read_rewritten(text)
        found = None if self.speaker else self.rules.related.match(text)
        if found is not None:
            name = found["name"] or found["named"]
            relation = _meanings_of(found["relation"] or found["as"])
            for claim in self._read_rewritten(f"{name}{text[found.end() :]}"):
                if claim.subject == fold(name):
                    yield replace(claim, relation=relation, is_bare=False)

    def _read_rewritten(self, text: str) -> Iterator[Claim]:
        yield from self._read_plan(text)
        yield from self._read_second_job(text)
        if self.rules.unsure.search(text):
            return
        dated = _tidy(self.rules.fillers.sub(" ", _ADDED_DATE.sub("", text)))
        text, mention = self._without_date(dated)
        if mention is not None:
            yield from (claim for claim in self._read_slots(dated) if claim.slot in ("birthday", "favourite"))
            if mention.start > self.said_at + timedelta(days=1):
                return
        is_change = self.rules.now.search(text) is not None
        for candidate in dict.fromkeys((text, _tidy(self.rules.now.sub(" ", text)))):
            yield from self._read_undated(candidate, mention, is_change)

    def _read_plan(self, text: str) -> Iterator[Claim]:
        """Yield what somebody has in mind, with the end of its day."""
        if words("events").isdisjoint(meanings().get(word, word) for word in index_tokens(text)):
            return
        dated = _tidy(self.rules.fillers.sub(" ", _ADDED_DATE.sub("", text)))
        plan, mention = self._without_date(dated, "future")
        for claim in self._read_slots(plan):
            if claim.slot == "plan" and not claim.is_denial:
                yield replace(claim, is_bare=False, happened_by=None if mention is None else mention.end)

    def _read_second_job(self, text: str) -> Iterator[Claim]:
        """Yield that somebody has another job, or one now and then, as far as it may be so."""
        said = {meaning for word in index_tokens(text) for meaning in (word, meanings().get(word, word))}
        if said.isdisjoint(words("jobs")) or said.isdisjoint(words("second_jobs") | words("side_roles")):
            return
        found = self.rules.subject.match(text)
        for subject in {self.speaker, self._subject(found["who"] if found else "")} - {None}:
            yield Claim(subject=subject or "", slot="second job", value=(), is_bare=False)

    def _read_undated(self, text: str, mention: DateMention | None, is_change: bool) -> Iterator[Claim]:
        affirmed, denial = self._without_denial(text)
        if self.rules.negations.search(affirmed):
            return
        is_denial, is_event = denial is not None, denial is not None and denial.kind == "event"
        is_plain = denial is not None and denial.kind == "plain"
        happened_by = mention.end if mention is not None and mention.bound != "since" else None
        for claim in self._read_slots(affirmed):
            # "Works at Lidl on Friday" and "does not work on Friday" hold for that day.
            if claim.slot == "plan" and not claim.is_denial:
                continue
            is_now = happened_by is None or is_event or claim.is_change or (claim.is_denial and not is_denial)
            # "My girlfriend Anna is not a nurse" denies no partner.
            is_of_more = claim.slot == "partner" and not claim.is_bare
            if is_now and not (is_denial and (claim.is_change or claim.is_denial or is_of_more)):
                yield replace(
                    claim,
                    is_denial=is_denial or claim.is_denial,
                    is_change=is_change or claim.is_change,
                    is_bare=claim.is_bare and mention is None,
                    happened_by=happened_by,
                )
        if mention is None or (is_denial and (is_event or happened_by is None)):
            for clause in self._read_clause(affirmed):
                # "I do not smoke now" and "I do not have the car" may be so at the moment only.
                if not (is_plain and (is_change or _names_one_thing(affirmed, clause))):
                    yield replace(clause, is_denial=is_denial, happened_by=happened_by)

    def _read_slots(self, text: str) -> Iterator[Claim]:
        for sentence in self.rules.sentences:
            found = sentence.pattern.match(text)
            if found is not None:
                groups = {name: group or "" for name, group in found.groupdict().items()}
                yield from self._fill_slot(sentence, groups)

    def _fill_slot(self, sentence: SentencePattern, groups: dict[str, str]) -> Iterator[Claim]:
        subject = self._subject(groups.get("who", ""))
        key = _meanings_of(groups.get("key", ""))
        value, old = (
            parse_value(sentence.slot, key, groups[name], self.said_at, self.rules) if groups.get(name) else ()
            for name in ("value", "old")
        )
        if subject is None or value is None or old is None or not (value or old or sentence.kind == "left"):
            return
        yield Claim(
            subject=subject,
            slot=sentence.slot,
            value=value,
            key=key,
            language=self.rules.language,
            old=old,
            is_denial=sentence.kind == "left",
            is_change=sentence.kind == "change",
            is_bare=not groups.get("role") and "," not in groups.get("value", ""),
        )

    def _read_clause(self, text: str) -> Iterator[Claim]:
        found, own_verb = self.rules.subject.match(text), self.rules.own_verb
        if own_verb and own_verb.match(text) and (found is None or fold(text.split()[0]) in meanings()):
            subject: str | None = self.speaker
            rest = text
        elif found is not None:
            subject, rest = self._subject(found["who"]), found["rest"]
        else:
            return
        code = self.rules.code
        said = tuple(word for word in index_tokens(rest) if word not in self.rules.articles)
        if subject is None or not said or (subject != self.speaker and detect_language(text, code) != code):
            return
        is_present = meanings().get(said[0]) == "have" or not self.rules.past.fullmatch(said[0])
        if is_present:
            value = tuple(_meaning(word, self.rules.language) for word in said)
            yield Claim(subject=subject, slot=CLAUSE, value=value, words=said, language=self.rules.language)

    def _without_denial(self, text: str) -> tuple[str, Denial | None]:
        for denial in self.rules.denials:
            affirmed, count = denial.pattern.subn(denial.affirmed, text, count=1)
            if count:
                return _tidy(affirmed), denial
        return text, None

    def _without_date(self, text: str, direction: Direction = "past") -> tuple[str, DateMention | None]:
        """Return a text without its only date, and the date."""
        mentions = _find_dates(text, self.said_at, self.said_at.tzinfo or UTC, direction)
        if len(mentions) != 1 or mentions[0].every is not None or mentions[0].grain in _CLOCK_GRAINS:
            return text, None
        start, end = mentions[0].span
        return _tidy(f"{text[:start]} {text[end:]}"), mentions[0]

    def _subject(self, who: str) -> str | None:
        """Return the name of a subject, empty for the user; None for a pronoun or a relation."""
        folded = fold(re.sub(r"'s\Z", "", who))
        if not who or folded in self.rules.selves or fold(who) in self.rules.selves:
            return self.speaker
        name = folded.removeprefix("von ").removeprefix("de ").split()
        is_name = words_for_user().isdisjoint(folded.split()) and words("no_names").isdisjoint(name)
        return " ".join(name) if is_name else None


def _names_one_thing(text: str, clause: Claim) -> bool:
    """Return whether a clause is about having "the car", not "a car"."""
    said = index_tokens(text)
    after_verb = said[said.index(clause.words[0]) + 1 :][:1]
    return clause.value[0] == "have" and not words("definites").isdisjoint(after_verb)


@lru_cache(maxsize=16)
def _find_dates(text: str, said_at: datetime, zone: tzinfo, direction: Direction) -> Sequence[DateMention]:
    """Return the dates of a text; the readers of all languages ask for it one after the other."""
    return read_dates(text, said_at, zone, direction=direction)


@lru_cache
def words_for_user() -> frozenset[str]:
    """Return the words that mean the user as a subject or an owner in any language."""
    return frozenset(word for rules in load_rules() for name in rules.selves for word in name.split())


@lru_cache(maxsize=10_000)
def _meaning(word: str, language: str) -> str:
    return meanings().get(word) or str(_stemmer(language).stemWord(word))


@lru_cache
def _stemmer(language: str) -> Any:
    return snowballstemmer.stemmer(language)


def _meanings_of(text: str) -> str:
    return " ".join(meanings().get(word, word) for word in index_tokens(text))


def _tidy(text: str) -> str:
    return re.sub(r"\s+(?=,)|^[\s,]+|[\s,]+\Z", "", re.sub(r"\s{2,}", " ", text))
