"""Tells which statements of a person later ones have ended: denied, taken back, replaced or taken up again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from gaia_memory.adk.models.offline.offline_phrases import detect_language
from gaia_memory.adk.models.offline.statement_subjects import subject_words
from gaia_memory.adk.models.offline.statements import (
    RECENT,
    Statement,
    claims_of,
    content_words,
    contradicts,
    is_long_past,
    names_workplace,
    states_profession,
    tells_new_profession,
    tells_new_role,
    today,
    topic_words,
    wrong_name,
)
from gaia_memory.adk.models.offline.topic_words import (
    ALL_FUNCTION_WORDS,
    NAME_WORDS,
    SLOT_WORDS,
    TRAVEL_WORDS,
    implied_words,
    names_any,
    share_most,
)
from gaia_memory.language.tokenizer import index_tokens

_MIN_FURTHER_WORDS = 2
"""What a statement says besides: "I drive a red Golf" is all about the car."""

_AND_PATTERN = r"(?:,? (?:and|und|et|y|&) |, )"
_LISTED_NAMES = re.compile(rf"[A-ZÀ-Þ]\w+(?:{_AND_PATTERN}[A-ZÀ-Þ]\w+)+")
_LISTED_WORDS = re.compile(
    rf"\w+(?:{_AND_PATTERN}(?:(?:an?|the|my|our|eine?n?|d(?:er|ie|as|en)|mein\w*|une?|d(?:es|u)|(?:de )?la|aux?|les?|"
    r"un[oa]?|el|l[ao]s|al|mi) |l')?\w+)+"
)
_NAME = re.compile(r"(?<=\w )[A-ZÀ-Þ]\w+")
_KIND_OF_THING = re.compile(r"(?<=\w )(?P<kind>[A-ZÀ-Þ]\w+) (?P<thing>[a-zà-ÿ]\w+)")
_NAMED_NOUN = re.compile(r"(\w+) (?:called|named|namens|nommée?|llamad[oa]) (\w+)")
_CONJUNCTION = re.compile(r",? (?:and|und|et|y)\s")
_MOVE = re.compile(
    r"\b(?:moved|postponed|rescheduled|pushed back|brought forward|verschoben|(?:vor)?verlegt|reportée?s?|"
    r"déplacée?s?|avancée?s?|mov(?:id[oa]s?|í|ió)|aplazad[oa]s?|pospuest[oa]s?)\b",
    re.IGNORECASE,
)
_PRONOUNS = frozenset(
    ("it", "them", "they", "him", "her", "ihn", "sie", "es", "lo", "la", "los", "las", "that", "this")
)


class _Change(NamedTuple):
    """A denial, or the resumption of what was denied: its age, the words that it shares with what it ends."""

    order: int
    words: tuple[str, ...]
    subject: frozenset[str]
    resumes: bool
    said: tuple[str, ...] = ()
    """All words of the sentence."""

    text: str = ""


class Changes:
    """What the later ones of some statements end."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        """Read which statements change something."""
        # The tables of four languages take 0.1 s to read, which no start-up should wait for.
        from gaia_memory.backend.offline import corrections

        self._statements = statements
        self._is_denial = corrections.is_denial
        self._changes = [
            _Change(
                each.order,
                words,
                subject_words(each.text),
                not each.takes_back and corrections.is_resumption(each.text),
                topic_words(each.text, detect_language(each.text)),
                each.text,
            )
            for each in statements
            for text in [corrections.as_denial(each.text)]
            for clause in _changing_clauses(text)
            for words in _changed_words(clause)
            if each.takes_back or corrections.is_denial(text) or corrections.is_resumption(text)
        ]
        others = {each.order for each in statements if corrections.names_successor(each.text)}
        others |= {each.order for each in statements if corrections.as_denial(each.text) != each.text}
        self.bare_denials = {change.order for change in self._changes if not change.resumes} - others
        """The ages of the denials that do not say what holds instead."""

    def is_denial(self, statement: Statement) -> bool:
        """Return whether a statement says that something is not so, or is over."""
        return self._is_denial(statement.text)

    def ended_at(self, statements: Sequence[Statement]) -> dict[Statement, int]:
        """Return the age of the newest change of each of these statements that no longer holds."""
        ended = {each: at for each in statements if (at := self._changed_at(each)) >= 0}
        for statement, at in self._replaced_at(statements):
            ended[statement] = max(at, ended.get(statement, at))
        return ended

    def partial_ends(self, statement: Statement, asked: Sequence[str]) -> list[Statement]:
        """Return what later ended only that part of a statement which a question with these words does not ask for.

        "Rex died" ends a part of "I have two dogs, Rex and Fido", and "Eva and I broke up" one of "I live in Graz with
        Eva" where the question is where.
        """
        orders = {each.order for each in self._changes_of(statement) if _spares(statement.text, each, asked)}
        return [each for each in self._statements if each.order in orders and not each.takes_back]

    def told_before(self, statement: Statement, asked: Sequence[str]) -> list[Statement]:
        """Return the later statements, newest first, without which a statement would mislead.

        They tell the person's trade of today, that a name in the statement is wrong, or what of it ended: unless it
        lists what is asked for beside that, as in "I smoke and drink".
        """
        is_trade = not subject_words(statement.text) and (
            states_profession(statement.text) or "work" in implied_words(statement.text)
        )
        names = [word for name in _NAME.findall(statement.text) for word in index_tokens(name)]
        gone = {each.order: (*each.words, *each.subject) for each in self._changes_of(statement)}
        lists = [at for at, some in gone.items() if _lists_more(statement.text, some, asked)]
        ends = [
            each
            for each in self.partial_ends(statement, asked)
            if each.order not in lists or names_any(names, gone[each.order])
        ]
        own = set[str]() if subject_words(statement.text) else set(index_tokens(statement.text))
        parted = [each.order for each in self._changes if "partner" in each.words and own.intersection(each.words)]
        found = [
            each
            for each in reversed(self._statements)
            if each.order > statement.order and not each.takes_back
            if each in ends
            or each.order in parted
            or (is_trade and not subject_words(each.text) and _tells_new_work(each.text))
            or _corrects_name(each.text, statement.text)
        ]
        ended = self.ended_at(found)
        return [each for each in found if each not in ended]

    def leaves_nothing(self, statement: Statement) -> bool:
        """Return whether several changes together end a statement that each of them leaves a part of."""
        changes = list(self._changes_of(statement))
        gone = [word for each in changes for word in (*each.words, *each.subject)]
        for named in _NAMED_NOUN.finditer(statement.text):
            pair = index_tokens(f"{named[1]} {named[2]}")
            gone += pair if names_any(pair, gone) else []
        words = topic_words(statement.text, detect_language(statement.text))
        return len(changes) > 1 and all(word in NAME_WORDS or names_any([word], gone) for word in words)

    def additions(self, statement: Statement) -> list[Statement]:
        """Return what was said next about a statement by a pronoun, "I sold it", or later of its new date."""
        known, found = index_tokens(statement.text), []
        for each in self._statements:
            is_move, words = bool(_MOVE.search(each.text)), _words_of_change(each.text)
            # "I sold it" takes nothing back, though it is no fact where nobody knows what "it" is.
            is_said = not each.takes_back or (not words and _PRONOUNS.intersection(index_tokens(each.text)))
            is_of_date = is_move and words and all(names_any([word], known) for word in words)
            is_next = each.order == statement.order + 1 and not words and (is_move or self.is_denial(each))
            if is_said and each.order > statement.order and (is_next or is_of_date):
                found.append(each)
        return found

    def beside(self, end: Statement) -> list[Statement]:
        """Return what the message that ends something says next of the same subject: "… and bought a Volvo"."""
        return [
            each
            for each in self._statements
            if end.moment and each.moment == end.moment and each.order == end.order + 1
            if subject_words(each.text) == subject_words(end.text) and not each.takes_back
        ]

    def _changed_at(self, statement: Statement) -> int:
        """Return the age of the newest change of a statement; -1 if it still holds."""
        changes = self._changes_of(statement)
        return max((each.order for each in changes if not _names_more(statement.text, each)), default=-1)

    def _changes_of(self, statement: Statement) -> Iterator[_Change]:
        words = (
            *topic_words(statement.text, detect_language(statement.text)),
            # "I quit my job" ends "I'm a nurse", too.
            *(["work"] if states_profession(statement.text) else []),
            # "Voy" is a function word, and yet one for a trip.
            *TRAVEL_WORDS.intersection(index_tokens(statement.text)),
        )
        is_denied, about = self.is_denial(statement), subject_words(statement.text)
        for change in self._changes:
            is_newer = change.order > statement.order and (is_denied or not change.resumes)
            concerns = (
                names_any(words, change.subject) or _is_same_trip(words, change)
                if change.subject
                else not about or names_any(change.words, about)
            )
            if is_newer and concerns and _denies(change, words) and not _names_another(statement.text, change.text):
                yield change

    def _replaced_at(self, statements: Sequence[Statement]) -> list[tuple[Statement, int]]:
        """Return the statements that learning a later one would end, with the age of that one."""
        from gaia_memory.truth import reconcile_by_rule

        now = today()
        replaced: list[tuple[Statement, int]] = []
        for newer in self._statements:
            earlier = {str(each.order): each for each in statements if each.order < newer.order}
            if newer.takes_back or not earlier:
                continue
            decision = reconcile_by_rule.decide_by_rule(
                reconcile_by_rule.Statement(text=newer.text, said_at=now),
                [
                    reconcile_by_rule.Statement(id=order, text=each.text, said_at=now - RECENT)
                    for order, each in earlier.items()
                ],
            )
            if decision and decision.action in ("UPDATE", "DELETE"):
                replaced += [(earlier[order], newer.order) for order in decision.existing]
            if any(claim.is_change and not is_long_past(claim) for claim in claims_of(newer.text)):
                contradicted = [each for each in earlier.values() if contradicts(newer, each.text)]
                if contradicted and not self._may_mean_another(newer):
                    replaced += [(each, newer.order) for each in contradicted]
            if tells_new_role(newer.text):
                replaced += [(each, newer.order) for each in earlier.values() if _states_mere_profession(each.text)]
        return replaced

    def _may_mean_another(self, statement: Statement) -> bool:
        """Return whether the one whom a statement names may be a namesake: "Max", of a boss and a brother."""
        others = (each for each in self._statements if contradicts(statement, each.text))
        return len({claim.relation for each in others for claim in claims_of(each.text) if claim.relation}) > 1


def without_outdated(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements that no newer one ends as a whole."""
    changes = Changes(statements)
    ended = changes.ended_at(statements)
    return [
        each
        for each in statements
        if not each.takes_back
        if each not in ended or (changes.partial_ends(each, ()) and not changes.leaves_nothing(each))
    ]


def _changed_words(text: str) -> list[tuple[str, ...]]:
    """Return the words that a denial shares with what it ends.

    "I'm divorced" ends what has one of the words for a spouse, "I split up with Mia" what has one for a partner and
    her name.
    """
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    if corrections.loses_work(text):
        return [("work",)]
    text = corrections.without_denial(text)
    words = content_words(text)
    others = content_words(corrections.without_separation(text))
    if others == words:
        implied = implied_words(text) if len(words) == 1 else ()
        return [(each,) for each in implied] or [words]
    is_of_marriage = not others and any(word.startswith(("divor", "geschied", "scheid")) for word in words)
    return [(each, *others) for each in SLOT_WORDS["partner"] if each != "partner" or not is_of_marriage]


def _changing_clauses(text: str) -> list[str]:
    """Return a sentence, and the clauses of it that deny: "I sold the Golf" of "I sold the Golf and bought a Polo"."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    return list(dict.fromkeys((text, *filter(corrections.is_denial, _CONJUNCTION.split(text)))))


def _words_of_change(text: str) -> list[str]:
    """Return the words for what a statement changes: none in "I sold it" and "It got moved to Monday"."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import corrections

    words = content_words(_MOVE.sub(" ", corrections.without_denial(text)))
    return [word for word in words if word not in _PRONOUNS]


def _names_another(text: str, change: str) -> bool:
    """Return whether a change names another kind of a thing than a statement: "Indian food", not "Greek food"."""
    one, other = ({found["thing"]: found["kind"] for found in _KIND_OF_THING.finditer(each)} for each in (text, change))
    return any(other.get(thing, kind) != kind for thing, kind in one.items() if thing not in ALL_FUNCTION_WORDS)


def _are_trips(*words: Collection[str]) -> bool:
    return not any(TRAVEL_WORDS.isdisjoint(each) for each in words)


def _is_same_trip(words: Sequence[str], change: _Change) -> bool:
    """Return whether a statement tells of the trip that a change is about: of its time or its place."""
    return _are_trips(words, change.subject) and names_any(words, set(change.said) - TRAVEL_WORDS)


def _denies(change: _Change, words: Sequence[str]) -> bool:
    """Return whether a change ends a statement with these words: it shares most besides its subject, or has no more."""
    said, changed = ([each for each in some if not names_any([each], change.subject)] for some in (words, change.words))
    if _are_trips(said, change.words):
        # Who "cancelled the trip to Rome" is not "flying to Rome" either.
        changed = [each for each in changed if each not in TRAVEL_WORDS]
    return share_most(changed, said) if changed else bool(change.subject)


def _spares(text: str, change: _Change, asked: Sequence[str]) -> bool:
    """Return whether a change leaves that part of a statement true which a question asks for."""
    if _names_more(text, change):
        return True
    gone = (*change.words, *change.subject)
    words = [word for word in topic_words(text, detect_language(text)) if word not in NAME_WORDS]
    further = [word for word in words if not names_any([word], (*gone, *asked))]
    # "I quit my job" is about all of "I work as a nurse at the hospital".
    is_about_more = not names_any((*asked, *words[:1]), gone) and len(further) >= _MIN_FURTHER_WORDS + (not asked)
    return is_about_more or _lists_more(text, gone, asked)


def _lists_more(text: str, gone: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether a statement lists what a question asks for beside what is gone: "I have a cat and a dog"."""
    for listed in _LISTED_WORDS.finditer(text):
        items = [word for word in index_tokens(listed[0]) if word not in ALL_FUNCTION_WORDS]
        lost = [word for word in items if names_any([word], gone)]
        kept = [word for word in items if word not in lost]
        if lost and kept and (not names_any(asked, lost) or names_any(asked, kept)):
            return True
    return False


def _names_more(text: str, change: _Change) -> bool:
    """Return whether a statement names others beside whom a change is about: "Rex died" leaves "Rex and Fido" one."""
    return any(
        names_any(index_tokens(listed[0]), change.subject)
        and not all(
            names_any([name], change.words) for name in index_tokens(listed[0]) if name not in ALL_FUNCTION_WORDS
        )
        for listed in _LISTED_NAMES.finditer(text)
    )


def _tells_new_work(text: str) -> bool:
    return tells_new_profession(text) or tells_new_role(text)


def _states_mere_profession(text: str) -> bool:
    """Return whether a statement says what the person is by trade, and not where."""
    return not subject_words(text) and not names_workplace(text) and states_profession(text)


def _corrects_name(text: str, earlier: str) -> bool:
    """Return whether a text says that a name in an earlier one of the same subject is wrong: "…, not Ingrid"."""
    wrong = index_tokens(wrong_name(text))
    is_about_it = not subject_words(text).isdisjoint(index_tokens(earlier)) or NAME_WORDS.intersection(
        index_tokens(text)
    )
    return bool(wrong and is_about_it) and set(wrong) <= set(index_tokens(earlier))
