"""Tells whom a name stands for: "Max moved to Paris" is about the brother after "My brother Max lives in Rome"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gaia_memory.adk.models.offline.statement_subjects import find_relation
from gaia_memory.adk.models.offline.statements import Statement, without_dates


def with_relations(statements: Sequence[Statement], question: str) -> list[Statement]:
    """Return statements with the relation before a name that begins one: "My brother Max moved to Paris".

    A name that the question has needs none, and one that two relations share stays alone. So does a relation without a
    name: a second friend is no rarity.
    """
    asked = set(re.findall(r"\w+", question.title()))
    designations: dict[str, tuple[str, bool]] = {}
    relations: dict[str, set[str]] = {}
    for each in statements:
        found = None if each.takes_back else find_relation(each.text)
        if found and without_dates(found.name):
            designations[found.name] = found.designation, each.is_fact
            relations.setdefault(found.name, set()).add(found.relation)
    known = {name: designations[name] for name, each in relations.items() if len(each) == 1 and name not in asked}
    return [_with_relation(each, *known.get(each.text.partition(" ")[0], ("", False))) for each in statements]


def _with_relation(statement: Statement, designation: str, is_fact: bool) -> Statement:
    _, _, rest = statement.text.partition(" ")
    if not designation or find_relation(statement.text):
        return statement
    return replace(statement, text=f"{designation} {rest}", is_fact=statement.is_fact or is_fact)
