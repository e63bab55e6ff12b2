"""Decides by rule what a new statement does to the current facts of its scope, or decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from itertools import product

from gaia_memory.truth.claims import CLAUSE, Claim, read_statement
from gaia_memory.truth.contrasts import find_contrast, says_is_wrong
from gaia_memory.truth.namesakes import Mention, are_one_person, is_introduced, takes_name
from gaia_memory.truth.plan import Action
from gaia_memory.truth.rule_tables import meanings, place_names, slot_words, words
from gaia_memory.truth.slot_values import are_rival_places, may_be_one_person

_MEMORY_AGE = timedelta(days=180)
"""A dated event that was so long ago when it was told is a memory, which nothing outdates."""

_NEWS_AGE = timedelta(days=60)
"""A dated change that is not older when it is told is news, also to what was said since it happened."""

_MAX_PLACE_WORDS = 3
_PLACE_PREPOSITIONS = frozenset(("in", "en", "a"))
"""As in "lives with a friend in Rome", words without accents."""

_AGE_DOUBT_YEARS = 2
"""How much more than the time that passed a person may have aged: "I am 100" may be no age."""

WORDS_PER_SEARCH = 40
"""Words of a slot that one search looks for; it drops words of more than `MAX_QUERY_WORDS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement with the time it was said, and the name of the one who says "I" in it, empty for the user."""

    text: str
    said_at: datetime
    id: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDecision:
    """What a new statement does, by the rule `rule`.

    `UPDATE` replaces the `existing` facts, `DELETE` takes them back, `NONE` says the same as they do, and `ADD` leaves
    all as they are. The facts in `outdated_by` were said later than the statement and replace it: it belongs into
    history. Those `in_doubt` may not hold any longer. Ids are in the order in which the facts were said.
    """

    action: Action
    rule: str
    existing: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    outdated_by: tuple[str, ...] = ()


class _Effect(IntEnum):
    """What a later statement does to an earlier one; the stronger effect is the greater.

    A fact that `MAY_BE_MEANT` keeps another from being the only one.
    """

    NOTHING = 0
    DOUBT = 1
    SAME = 2
    RETRACT_IF_ONLY_ONE = 3
    MAY_BE_MEANT = 4
    REPLACE = 5
    RETRACT = 6


def searches_for_rivals(new: Statement) -> list[str]:
    """Return searches that find every fact which a rule can compare with a statement; none without a rule.

    A search looks for a bounded number of words, and four languages state a slot with more.
    """
    claims = read_statement(new.text, new.said_at, new.speaker)
    stated = sorted({word for claim in claims for word in slot_words(claim.slot)})
    groups = [stated[start : start + WORDS_PER_SEARCH] for start in range(0, len(stated), WORDS_PER_SEARCH)]
    return [new.text, *map(" ".join, groups)] if claims or find_contrast(new.text) else []


def decide_by_rule(new: Statement, current: Iterable[Statement]) -> RuleDecision | None:
    """Return what a new statement does to the current facts of its scope; None where no rule is sure.

    Times have a zone. The result does not depend on the order of `current`. Of two statements said at the same time,
    the new one is the later.
    """
    claims = read_statement(new.text, new.said_at, new.speaker)
    if not claims and find_contrast(new.text) is None:
        return None
    facts = sorted(current, key=lambda fact: (fact.said_at, fact.id))
    known = [(each.text, each.speaker, read_statement(each.text, each.said_at, each.speaker)) for each in (new, *facts)]
    affected: dict[_Effect, list[tuple[str, str]]] = {effect: [] for effect in _Effect}
    outdated_by: list[tuple[str, str]] = []
    for fact, (*_, others) in zip(facts, known[1:], strict=True):
        if new.said_at >= fact.said_at:
            effect, rule = _strongest(claims, others, new.said_at, fact.said_at, known)
            if new.speaker == fact.speaker and says_is_wrong(new.text, fact.text):
                effect, rule = _Effect.REPLACE, "correction"
        else:
            effect, rule = _strongest(others, claims, fact.said_at, new.said_at, known)
        if new.said_at < fact.said_at and effect is _Effect.SAME:
            # The statement is known, with all that its later repetition did.
            return RuleDecision(action="NONE", rule=rule, existing=(fact.id,))
        if new.said_at >= fact.said_at:
            affected[effect].append((fact.id, rule))
        elif effect in (_Effect.REPLACE, _Effect.RETRACT):
            outdated_by.append((fact.id, rule))
    return _decision(affected, outdated_by)


def _decision(
    affected: dict[_Effect, list[tuple[str, str]]], outdated_by: Sequence[tuple[str, str]]
) -> RuleDecision | None:
    candidates = affected[_Effect.RETRACT_IF_ONLY_ONE]
    is_one = len(candidates) == 1 and not affected[_Effect.MAY_BE_MEANT]
    retracted = affected[_Effect.RETRACT] + (candidates if is_one else [])
    replaced, same, doubted = affected[_Effect.REPLACE], affected[_Effect.SAME], affected[_Effect.DOUBT]
    action: Action = "UPDATE" if replaced else "DELETE" if retracted else "NONE" if same else "ADD"
    # A statement that replaces facts takes the place of those that say the same, too.
    existing = replaced + retracted + ([] if action == "DELETE" else same)
    reasons = [*existing, *outdated_by, *doubted]
    if not reasons:
        return None
    return RuleDecision(
        action=action,
        rule=reasons[0][1],
        existing=tuple(dict.fromkeys(fact for fact, _ in existing)),
        in_doubt=tuple(dict.fromkeys(fact for fact, _ in doubted)),
        outdated_by=tuple(dict.fromkeys(fact for fact, _ in outdated_by)),
    )


def _strongest(
    later: Sequence[Claim],
    earlier: Sequence[Claim],
    later_said_at: datetime,
    earlier_said_at: datetime,
    known: Sequence[Mention],
) -> tuple[_Effect, str]:
    """Return the strongest effect of a statement on an earlier one, and the name of its rule."""
    if any(takes_name(one, other) for one in later for other in earlier):
        return _Effect.DOUBT, "relation"
    effects = [
        _without_loss(_effect(one, other), one, other, known)
        for one in later
        for other in earlier
        if one.subject == other.subject and _may_outdate(one, other, later_said_at, earlier_said_at)
    ]
    return max(effects, default=(_Effect.NOTHING, ""))


def _without_loss(
    effect: tuple[_Effect, str], later: Claim, earlier: Claim, known: Sequence[Mention]
) -> tuple[_Effect, str]:
    """Return the effect on one of the same name; a mere doubt of what is unsure, as that another Max is the brother."""
    if effect[0] is _Effect.NOTHING or not are_one_person(later, earlier, known):
        return _Effect.NOTHING, ""
    is_lost = earlier.relation and not later.relation and not is_introduced(earlier.subject, known)
    is_unsure = is_lost or later.is_unsure or earlier.is_unsure
    return (min(effect[0], _Effect.DOUBT), effect[1]) if is_unsure else effect


def _may_outdate(later: Claim, earlier: Claim, later_said_at: datetime, earlier_said_at: datetime) -> bool:
    """Return whether what one claim tells of came after what the other does, as far as they have dates."""
    if later.slot == earlier.slot == "age":
        years = (later_said_at - earlier_said_at) / timedelta(days=365) + _AGE_DOUBT_YEARS
        if int(later.value[0]) - int(earlier.value[0]) > years:
            return False
    is_plan = earlier.slot == "plan" and not earlier.is_denial
    if is_plan and later_said_at > (earlier.happened_by or earlier_said_at + _MEMORY_AGE):
        return False
    if earlier.happened_by is not None and earlier_said_at - earlier.happened_by >= _MEMORY_AGE:
        return False
    if later.happened_by is None or later.happened_by >= earlier_said_at:
        return True
    # "I moved last month": who said since where they live had not told yet. A change that was told since is the newer.
    is_event = earlier.is_change or earlier.is_denial or (earlier.happened_by is not None and not is_plan)
    changed_at = earlier.happened_by or earlier_said_at
    is_news = later_said_at - later.happened_by <= _NEWS_AGE
    return is_news and (not is_event or later.happened_by >= changed_at)


def _effect(later: Claim, earlier: Claim) -> tuple[_Effect, str]:
    """Return what one claim does to an earlier one of the same subject, and the name of the rule."""
    if later.slot == CLAUSE and earlier.slot == CLAUSE:
        return _effect_on_clause(later, earlier)
    if later.slot == "plan" and later.is_denial:
        return _end_of_plan(later, earlier), later.slot
    if later.slot == "trade":
        return _doubt_of_trade(later, earlier), later.slot
    if later.slot == earlier.slot:
        return _doubt_of_partner(later, earlier) or _effect_on_slot(later, earlier), later.slot
    further_effects = {
        **{"home": _doubt_of_home, "employer": _end_of_job, "switch": _end_of_switch, "workplace": _end_of_workplace},
        **{"owned": _end_of_use, "habit": _end_of_use},
    }
    if earlier.is_denial or later.slot not in further_effects:
        return _Effect.NOTHING, ""
    return further_effects[later.slot](later, earlier), later.slot


def _effect_on_clause(later: Claim, earlier: Claim) -> tuple[_Effect, str]:
    """Return the effect of "no longer drinks coffee" on "drinks coffee", or the other way round."""
    if later.old:
        is_wrong = later.old == earlier.value and not earlier.is_denial
        return (_Effect.REPLACE, "correction") if is_wrong else (_Effect.NOTHING, "")
    if later.is_denial == earlier.is_denial:
        return _Effect.NOTHING, ""
    if later.value == earlier.value:
        return (_Effect.RETRACT, "no-longer") if later.is_denial else (_Effect.REPLACE, "again")
    size = len(later.value)
    is_narrower = earlier.value[:size] == later.value and earlier.words[size] in words("links")
    is_part = later.is_denial and (is_narrower or later.value in _listed(earlier))
    return (_Effect.DOUBT, "no-longer") if is_part else (_Effect.NOTHING, "")


def _listed(clause: Claim) -> list[tuple[str, ...]]:
    """Return "plays chess" and "plays the cello" for "plays chess and the cello"."""
    starts = [1, *(at + 1 for at, word in enumerate(clause.words) if word in words("and"))]
    ends = [*(start - 1 for start in starts[1:]), len(clause.words)]
    return [clause.value[:1] + clause.value[start:end] for start, end in zip(starts, ends, strict=True)]


def _doubt_of_home(later: Claim, earlier: Claim) -> _Effect:
    """Doubt a clause that says more about living in the place left: "lives in a flat in Rome with two cats"."""
    said = earlier.words if earlier.slot == CLAUSE and earlier.value[0] == "live" else ()
    starts = [2, *(at + 1 for at, word in enumerate(said[:5]) if at > 2 and word in _PLACE_PREPOSITIONS)]
    for start, size in product(starts, range(1, _MAX_PLACE_WORDS + 1)):
        name, _ = place_names().get(" ".join(said[start : start + size]), ("", ""))
        place = tuple(name.split())
        gone = later.value if later.is_denial else later.old
        if place and (place == gone or (not gone and are_rival_places(later.value, place))):
            return _Effect.DOUBT
    return _Effect.NOTHING


def _end_of_job(later: Claim, earlier: Claim) -> _Effect:
    """Take back what "quit my job" may mean, and doubt what only may be work: "works at the hospital"."""
    if later.value or not later.is_denial:
        return _Effect.NOTHING
    if earlier.slot == CLAUSE:
        is_doubtful = earlier.value[0] == "work" and not words("workplaces").isdisjoint(earlier.words[1:2])
        return _Effect.DOUBT if is_doubtful else _Effect.NOTHING
    effects = {"role": _Effect.RETRACT_IF_ONLY_ONE, "second job": _Effect.MAY_BE_MEANT}
    return effects.get(earlier.slot, _Effect.NOTHING)


def _end_of_workplace(later: Claim, earlier: Claim) -> _Effect:
    """Take back what "quit my job at the hospital" may mean: "works as a nurse at Santa Maria hospital"."""
    if earlier.slot == "second job":
        return _Effect.MAY_BE_MEANT
    if earlier.slot != CLAUSE or earlier.value[0] != "work":
        return _Effect.NOTHING
    start = next((at for at, word in enumerate(earlier.words) if word in words("workplaces")), len(earlier.words))
    place = tuple(meanings().get(word, word) for word in earlier.words[start + 1 :])
    size = len(later.value)
    ends = [place[-size:], *([] if earlier.language == "english" else [place[:size]])]
    is_meant = later.value in ends and words("links").isdisjoint(place)
    return _Effect.RETRACT_IF_ONLY_ONE if is_meant else _Effect.NOTHING


def _doubt_of_trade(later: Claim, earlier: Claim) -> _Effect:
    """Doubt the trade of a nurse who "is now a teacher": it may be an addition."""
    is_new = later.is_change and not later.is_denial and not earlier.is_denial
    is_other = earlier.slot == "trade" and later.value != earlier.value
    return _Effect.DOUBT if is_new and is_other else _Effect.NOTHING


def _end_of_switch(later: Claim, earlier: Claim) -> _Effect:
    """Replace what "switched from coffee to tea" names first.

    Who "switched from Apple to Samsung" and works at Apple may have bought a phone.
    """
    value = earlier.value
    if earlier.slot == CLAUSE:
        value = _things(earlier) if value[0] in words("uses") else ()
    elif earlier.slot not in ("employer", "studies", "role"):
        value = ()
    if not value or value != later.old:
        return _Effect.NOTHING
    return _Effect.DOUBT if earlier.slot == "employer" else _Effect.REPLACE


def _end_of_use(later: Claim, earlier: Claim) -> _Effect:
    """Take back what "sold the car" or "gave up coffee" names."""
    if earlier.slot != CLAUSE:
        return _Effect.NOTHING
    verb, things = earlier.value[0], _things(earlier)
    if later.slot == "habit":
        is_habit = verb in words("habits") and words("no_habits").isdisjoint(things)
        is_given_up = is_habit and things == later.value
        return _Effect.RETRACT if is_given_up else _Effect.NOTHING
    # The noun itself, not a part of another one: "has a red car", but not "has a car loan".
    size = len(later.value)
    nouns = (things[:size], things[-size:]) if earlier.language in ("french", "spanish") else (things[-size:],)
    is_one = words("numbers").isdisjoint(things) and len(things) <= size + 1
    is_thing = not words("things").isdisjoint(later.value)
    is_meant = is_one and later.value in nouns
    if is_meant and is_thing and verb == "have":
        return _Effect.RETRACT_IF_ONLY_ONE
    return _Effect.DOUBT if is_meant and verb in words("owning") else _Effect.NOTHING


def _things(clause: Claim) -> tuple[str, ...]:
    """Return what a clause says after its verb, in the form of a slot's value."""
    return tuple(meanings().get(word, word) for word in clause.words[1:])


def _end_of_plan(later: Claim, earlier: Claim) -> _Effect:
    """Take back what "the trip got cancelled" may mean: "is planning a trip to Japan"."""
    is_plan = earlier.slot == "plan" and not earlier.is_denial
    is_meant = is_plan and later.value[:1] == earlier.value[:1] and set(later.value) <= set(earlier.value)
    return _Effect.RETRACT_IF_ONLY_ONE if is_meant else _Effect.NOTHING


def _effect_on_slot(later: Claim, earlier: Claim) -> _Effect:
    """Return the effect on an earlier claim of the same slot."""
    is_same_value, is_same_key = later.value == earlier.value, later.key == earlier.key
    if later.slot == "relation" and not is_same_key:
        return _Effect.NOTHING
    if earlier.is_denial:
        is_again = is_same_value and bool(later.value)
        # Who is married to somebody is single no more.
        is_paired = later.slot == "partner" and not (earlier.value or earlier.key)
        return _Effect.REPLACE if (is_again or is_paired) and not later.is_denial else _Effect.NOTHING
    # Employers have the preposition for a key.
    is_meant = is_same_key or later.slot == "employer"
    if later.is_denial:
        return _effect_of_denial(later, earlier, is_meant=is_meant)
    if later.old:
        return _Effect.REPLACE if earlier.value == later.old and is_meant else _Effect.NOTHING
    if is_same_value and is_same_key:
        is_repeated = later.is_bare and earlier.is_bare and not (later.is_change or earlier.is_change)
        return _Effect.SAME if is_repeated else _Effect.NOTHING
    return _Effect.REPLACE if _is_rival(later, earlier) else _Effect.NOTHING


def _effect_of_denial(later: Claim, earlier: Claim, *, is_meant: bool) -> _Effect:
    """Return the effect of a denial on an earlier claim of the same slot, and with `is_meant` of the same kind."""
    if not later.value:
        # Who "joined Facebook" and "started with Python" may have told of no job.
        is_certain = later.slot != "employer" or earlier.key or earlier.is_change
        sure = _Effect.RETRACT_IF_ONLY_ONE if is_certain else _Effect.DOUBT
        return sure if is_meant else _Effect.NOTHING
    is_same_value, is_same_key = later.value == earlier.value, later.key == earlier.key
    is_denied = is_same_value and (is_same_key or later.slot not in ("phone", "email", "favourite"))
    # "No longer works as a nurse at Lidl" says nothing of another place.
    is_denied = is_denied and not (later.slot == "role" and later.key)
    return _Effect.RETRACT if is_denied else _Effect.NOTHING


def _doubt_of_partner(later: Claim, earlier: Claim) -> _Effect:
    """Doubt a partner after "I'm single", and where one of two sentences says more: "my girlfriend is now Lisa"."""
    if later.slot != "partner" or earlier.is_denial:
        return _Effect.NOTHING
    if later.is_denial and not later.value and later.key != earlier.key:
        is_over = later.key == "" or (later.key, earlier.key) == ("divorced", "spouse")
        return _Effect.DOUBT if is_over else _Effect.NOTHING
    if later.is_bare and earlier.is_bare:
        return _Effect.NOTHING
    is_other = later.key == earlier.key and not may_be_one_person(later.value or earlier.value, earlier.value)
    is_over = later.value == earlier.value if later.is_denial else later.is_change and is_other
    return _Effect.DOUBT if is_over else _Effect.NOTHING


def _is_rival(later: Claim, earlier: Claim) -> bool:
    """Return whether a value surely takes the place of an earlier one of the same slot."""
    is_same_key, is_disjoint = later.key == earlier.key, set(later.value).isdisjoint(earlier.value)
    # Every German noun has a capital letter: "arbeitet bei Regen" names no employer. Nor do "joined Facebook" and
    # "works for Tom".
    is_plain_or_new = later.is_change or (is_same_key and later.key == "at" and later.language != "german")
    # Spanish "en" also says where: "trabaja en Zara", "trabaja en Getafe".
    is_employed = {later.key, earlier.key} <= {"at", "for", ""} and is_plain_or_new and is_disjoint
    is_named = later.is_bare and earlier.is_bare and is_same_key
    is_partner = is_named and (later.is_change or later.key in words("partners"))
    rivals: dict[str, Callable[[], bool]] = {
        "home": lambda: are_rival_places(later.value, earlier.value),
        "employer": lambda: is_employed,
        "role": lambda: is_same_key and is_disjoint and later.is_change and words("side_roles").isdisjoint(later.value),
        # "Studies optics" may be a part of "studies physics".
        "studies": lambda: is_disjoint and later.is_change and words("subjects").issuperset(later.value),
        "name": lambda: later.is_change or (is_named and not may_be_one_person(later.value, earlier.value)),
        "partner": lambda: is_partner and not may_be_one_person(later.value, earlier.value),
        "age": lambda: int(later.value[0]) > int(earlier.value[0]) and not earlier.is_change,
        "birthday": lambda: later.value[:2] != earlier.value[:2],
        "favourite": lambda: is_same_key and is_disjoint and words("vague_favourites").isdisjoint(later.key.split()),
        "count": lambda: later.value[0] == earlier.value[0] and later.value[1] != earlier.value[1],
        "weight": lambda: later.value[1] == earlier.value[1],
        "phone": lambda: is_same_key,
        "email": lambda: is_same_key,
        "nickname": lambda: True,
        "diet": lambda: True,
    }
    return later.slot in rivals and rivals[later.slot]()
