"""Whether "Max" and "my brother Max" are one person, as far as the known statements tell."""

from __future__ import annotations

from collections.abc import Sequence

from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.truth.claims import Claim, words_for_user

Mention = tuple[str, str, tuple[Claim, ...]]
"""The text of a statement, who says "I" in it, and what it says."""

_NAMING_SLOTS = ("relation", "pet", "partner")


def are_one_person(one: Claim, other: Claim, known: Sequence[Mention]) -> bool:
    """Return whether two claims with the same subject are about one person.

    "Max" is "my brother Max" if nothing that is known names another Max, or one of whom it is not clear who he is.
    """
    if one.relation == other.relation:
        return True
    relation = one.relation or other.relation
    is_only_one_told = "" in (one.relation, other.relation)
    return is_only_one_told and all(_is_about(mention, one.subject, relation) for mention in known)


def is_introduced(name: str, known: Sequence[Mention]) -> bool:
    """Return whether a statement says whose name this is: "my brother is called Max"."""
    return any(_is_name_of(claim, name) and not claim.subject for *_, claims in known for claim in claims)


def takes_name(later: Claim, earlier: Claim) -> bool:
    """Return whether "my sister is called Astrid, not Ingrid" takes its name from "my sister Ingrid lives in Oslo".

    What was told of her may hold.
    """
    is_of_relation = bool(later.old and earlier.relation) and (later.subject, later.key) == ("", earlier.relation)
    return is_of_relation and earlier.subject == " ".join(later.old)


def _is_about(mention: Mention, name: str, relation: str) -> bool:
    """Return whether a statement does without a name, or surely means the one with this relation."""
    text, speaker, claims = mention
    said = set(index_tokens(text))
    if said.isdisjoint(name.split()):
        return True
    relations = {claim.relation for claim in claims if claim.subject == name}
    relations |= {f"{claim.subject} {claim.key}".strip() for claim in claims if _is_name_of(claim, name)}
    # "Max is my boss" tells of a relation that no claim has.
    is_plain = relations == {""} and said.isdisjoint(words_for_user())
    return not speaker and (is_plain or relations - {""} == {relation})


def _is_name_of(claim: Claim, name: str) -> bool:
    return claim.slot in _NAMING_SLOTS and not claim.is_denial and " ".join(claim.value) == name
