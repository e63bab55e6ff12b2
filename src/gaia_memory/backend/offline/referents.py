"""Who "she", "er" or "il" is: the person whom the statement right before was about."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar.rules import Grammar

_OF_ANOTHER = re.compile(r"(?!User's)[A-ZÀ-Þ]\w+'s \w")
_AND_ANOTHER = re.compile(r"\s*(?:and|und|et|y|&) \w+", re.IGNORECASE)
_OF_THE_USER_ALONE = re.compile(r"User (?!.* [A-ZÀ-Þ])")
"""After "User loves pizza", "she" is the one of the statement before; a German "sie" may be the pizza."""

_GENDER_OF_PRONOUN = {"she": "woman", "he": "man", "they": "people", "many": "people"}


class Referents:
    """The person of the last statement. If it named another one, too, or was about a thing, a pronoun may be either."""

    def __init__(self) -> None:
        """Start without anybody."""
        self._gender = ""
        self._name: str | None = None

    def note(self, fact: str, grammar: Grammar) -> None:
        """Remember the person a fact is about, in place of those before; nobody if it is about something else."""
        if _OF_ANOTHER.match(fact):
            # "Olle's teacher is Ms Frick": who "she" is then, no pattern tells.
            self._name = None
            return
        for name, pattern in grammar.patterns.items():
            found = pattern.match(fact) if name.startswith("person_") else None
            if found:
                groups = found.groupdict()
                self._gender = next((g for g in ("woman", "man", "people", "anyone") if groups.get(g)), "anyone")
                another = grammar.patterns.get("another_person")
                is_alone = another is None or not another.match(fact, found.end())
                is_alone = is_alone and not _AND_ANOTHER.match(fact, found.end())
                self._name = _designation(groups, found[0]) if is_alone else None
                return
        if not _OF_THE_USER_ALONE.match(fact):
            self._name = None

    def clear(self) -> None:
        """Forget the person, after a sentence that may have named another one."""
        self._name = None

    def resolve(self, clause: str, grammar: Grammar) -> str | None:
        """Return a clause with its subject named; None when its pronoun may be anybody."""
        found = grammar.patterns["pronoun"].match(clause)
        if not found:
            return self._resolve_relation(clause, grammar)
        kind = found.lastgroup or ""
        gender, name = _gender(found), self._named(_gender(found))
        if name is None:
            return None
        if found.groupdict().get("any"):
            # Spanish leaves the pronoun out; a verb in the singular has no plural subject.
            if not gender and self._gender == "people":
                return None
            return f"{name} {clause[:1].lower()}{clause[1:]}"
        if found[0].lower() in ("her", "his", "their"):
            name = f"{name}'s"
        verb = " are" if kind == "is" and gender == "people" else " is" if kind == "is" else ""
        return f"{name}{verb}{clause[found.end() :]}"

    def _resolve_relation(self, clause: str, grammar: Grammar) -> str | None:
        """Return "Anna is Tom's wife" for "Anna is his wife"; None when nobody knows whose wife."""
        relation = grammar.patterns.get("relation")
        found = relation.match(clause) if relation else None
        if not found:
            return clause
        name = self._named(_gender(found))
        is_subject = name is not None and found["subject"] in name
        return None if name is None or is_subject else f"{found['before']}{name}'s{clause[found.end() :]}"

    def _named(self, gender: str) -> str | None:
        """Return the person named last if a pronoun of this gender may stand for them."""
        return self._name if not gender or self._gender in (gender, "anyone") else None


def _gender(found: re.Match[str]) -> str:
    groups = found.groupdict()
    return next((gender for pronoun, gender in _GENDER_OF_PRONOUN.items() if groups.get(pronoun)), "")


def _designation(groups: dict[str, str | None], whole: str) -> str:
    """Return "User's sister Noa", "Noa" or "Die Schwester des Nutzers"."""
    name = groups.get("name") or groups.get("named")
    if groups.get("owner"):
        return f"User's {groups['kind']}{f' {name}' if name else ''}"
    return name or groups.get("kind") or groups.get("anyone") or whole
