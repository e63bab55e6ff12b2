"""Who "she", "er" or "il" is: the person whom the last statement about anybody named."""

from __future__ import annotations

from gaia_memory.backend.offline.grammar.rules import Grammar

_GENDER_OF_PRONOUN = {"she": "woman", "he": "man", "they": "people"}


class Referents:
    """The person that was named last. If that sentence named another one, too, a pronoun after it may be either."""

    def __init__(self) -> None:
        """Start without anybody."""
        self._gender = ""
        self._name: str | None = None

    def note(self, fact: str, grammar: Grammar) -> None:
        """Remember the person a fact is about, in place of those before."""
        for name, pattern in grammar.patterns.items():
            found = pattern.match(fact) if name.startswith("person_") else None
            if found:
                groups = found.groupdict()
                self._gender = next((g for g in ("woman", "man", "people", "anyone") if groups.get(g)), "anyone")
                another = grammar.patterns.get("another_person")
                is_alone = another is None or not another.match(fact, found.end())
                self._name = _designation(groups, found[0]) if is_alone else None
                return

    def clear(self) -> None:
        """Forget the person, after a sentence that may have named another one."""
        self._name = None

    def resolve(self, clause: str, grammar: Grammar) -> str | None:
        """Return a clause with its subject named; None when its pronoun may be anybody."""
        found = grammar.patterns["pronoun"].match(clause)
        if not found:
            return clause
        kind = found.lastgroup or ""
        groups = found.groupdict()
        gender = next((_GENDER_OF_PRONOUN[name] for name in _GENDER_OF_PRONOUN if groups.get(name)), "")
        name = self._name
        if name is None or (gender and self._gender not in (gender, "anyone")):
            return None
        if groups.get("any"):
            return f"{name} {clause[:1].lower()}{clause[1:]}"
        if found[0].lower() in ("her", "his", "their"):
            name = f"{name}'s"
        verb = " are" if kind == "is" and gender == "people" else " is" if kind == "is" else ""
        return f"{name}{verb}{clause[found.end() :]}"


def _designation(groups: dict[str, str | None], whole: str) -> str:
    """Return "User's sister Noa", "Noa" or "Die Schwester des Nutzers"."""
    name = groups.get("name") or groups.get("named")
    if groups.get("owner"):
        return f"User's {groups['kind']}{f' {name}' if name else ''}"
    return name or groups.get("kind") or groups.get("anyone") or whole
