"""What may stand in a slot, in a form in which two values can be compared, also across languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from gaia_memory.language.dates import read_dates
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.truth.rule_tables import LanguageRules, fold, meanings, place_names, word_groups, words

Value = tuple[str, ...]

_SEVERAL = r"[,&/]|(?<!\w)(?:and|und|et|y|e|or|oder|ou)(?!\w)"
_LIST = re.compile(rf"{_SEVERAL}|(?<!\w)(?:with|mit|avec|con)(?!\w)", re.IGNORECASE)
_NAME = re.compile(r"[A-ZÀ-ÖØ-Þ0-9]\S*(?: (?:(?:of|the|de|del|der|die|la|le|du|van|von) )*[A-ZÀ-ÖØ-Þ0-9]\S*)*")
_CAPITAL_LETTER = re.compile(r"[A-ZÀ-ÖØ-Þ0-9]")
_E_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+?[\d\s()./-]{5,25}")
_MAX_AGE_YEARS = 120
_MAX_NAME_WORDS = 4
_MAX_WORDS = 8
_MAX_TRADE_WORDS = 2
_COMPARED_DIGITS = 9
"""The last digits of a phone number, in which "+49 151 …" and "0151 …" agree."""


def parse_value(slot: str, key: str, text: str, said_at: datetime, rules: LanguageRules) -> Value | None:
    """Return the value of a slot in a comparable form; None if the text is no such value."""
    if slot == "favourite":
        return _parse_favourite(text, key, rules)
    if slot == "birthday":
        return _parse_birthday(text, said_at)
    return _PARSERS.get(slot, _parse_words)(text, rules)


def are_rival_places(one: Value, other: Value) -> bool:
    """Return whether nobody lives in both places: two known cities, or two known countries."""
    first, second = (place_names().get(" ".join(place)) for place in (one, other))
    return first is not None and second is not None and first[1] == second[1] and first[0] != second[0]


def may_be_one_person(one: Value, other: Value) -> bool:
    """Return whether two names may be long and short forms of one: "Liz" and "Elizabeth", "Bob" and "Robert"."""
    first, second = one[0], other[0]
    if first[0] == second[0] or first[-3:] in second or second[-3:] in first or not set(one).isdisjoint(other):
        return True
    return any(_is_form(first, forms) and _is_form(second, forms) for forms in word_groups("nicknames"))


def _is_form(name: str, forms: frozenset[str]) -> bool:
    return name in forms or any(len(form) > _MAX_NAME_WORDS and name.startswith(form) for form in forms)


def _parse_place(text: str, rules: LanguageRules) -> Value | None:
    city, _, region = text.partition(",")
    is_plain = not region or place_names().get(fold(region), ("", "country"))[1] == "country"
    if fold(city) in place_names() and is_plain and not _LIST.search(region):
        return tuple(place_names()[fold(city)][0].split())
    return _parse_name(text, rules)


def _parse_name(text: str, rules: LanguageRules) -> Value | None:
    name = tuple(index_tokens(text))
    is_name = _NAME.fullmatch(text) and 0 < len(name) <= _MAX_NAME_WORDS and not _LIST.search(text)
    return name if is_name else None


def _parse_nickname(text: str, rules: LanguageRules) -> Value | None:
    name = _parse_name(text, rules)
    return name if name and words("no_nicknames").isdisjoint(name) else None


def _parse_words(text: str, rules: LanguageRules) -> Value | None:
    value = tuple(meanings().get(word, word) for word in index_tokens(text) if word not in rules.articles)
    is_whole = words("links").isdisjoint(value) and not _LIST.search(text)
    return value if is_whole and 0 < len(value) <= _MAX_WORDS else None


def _parse_trade(text: str, rules: LanguageRules) -> Value | None:
    """Return the number of a known trade, from the noun of "head nurse" and "enfermera jefe"."""
    said = _parse_words(text, rules)
    noun = said[0 if rules.language in ("french", "spanish") else -1] if said and len(said) <= _MAX_TRADE_WORDS else ""
    return next(((str(number),) for number, forms in enumerate(word_groups("trades")) if noun in forms), None)


def _parse_workplace(text: str, rules: LanguageRules) -> Value | None:
    """Return what is no part of a day: "lost the job in the evening"."""
    value = _parse_words(text, rules)
    return value if value and (words("no_employers") | words("second_jobs")).isdisjoint(value) else None


def _parse_count(text: str, rules: LanguageRules) -> Value | None:
    """Return the numbers of the words for "cats" and "three" in their lists."""
    said = index_tokens(text)
    places = [
        next((str(place) for place, forms in enumerate(word_groups(name)) if word in forms), "")
        for name, word in zip(("counts", "counted"), said, strict=False)
    ]
    return (places[1], places[0]) if len(said) == len(places) > 1 and all(places) else None


def _parse_diet(text: str, rules: LanguageRules) -> Value | None:
    value = _parse_words(text, rules)
    return value if value and len(value) == 1 and value[0] in words("diets") else None


def _parse_age(text: str, rules: LanguageRules) -> Value | None:
    return (str(int(text)),) if text.isdecimal() and 0 < int(text) <= _MAX_AGE_YEARS else None


def _parse_weight(text: str, rules: LanguageRules) -> Value | None:
    unit = text.lstrip("0123456789., ")
    return text.removesuffix(unit).strip().replace(",", "."), "kg" if unit[0] in "kK" else "pound"


def _parse_birthday(text: str, said_at: datetime) -> Value | None:
    """Return the month, the day and a stated year; nothing for "Friday" and "5/6"."""
    mentions = read_dates(text, said_at, UTC)
    if len(mentions) != 1 or mentions[0].grain != "day" or not re.search(r"[^\W\d_]{3}", text):
        return None
    [mention] = mentions
    start, end = mention.span
    if len(text) - (end - start) > 1 or mention.anchor not in ("stated", "yearless"):
        return None
    year = (str(mention.start.year),) if mention.anchor == "stated" else ()
    return (str(mention.start.month), str(mention.start.day), *year)


def _parse_employer(text: str, rules: LanguageRules) -> Value | None:
    name = _parse_name(text, rules)
    return name if name and fold(text) not in place_names() and words("no_employers").isdisjoint(name) else None


def _parse_favourite(text: str, key: str, rules: LanguageRules) -> Value | None:
    """Return a name, or one word where that is usual; not "coming to town", "closed" or "the best"."""
    value = _parse_words(text, rules)
    if not value or not words("no_favourites").isdisjoint(value) or re.search(r"..(?:ing|ed|est)\Z", value[-1]):
        return None
    is_name = _CAPITAL_LETTER.match(text.removeprefix("the ").removeprefix("The "))
    return value if is_name or (key in words("plain_favourites") and len(value) == 1) else None


def _parse_phone(text: str, rules: LanguageRules) -> Value | None:
    digits = re.sub(r"\D", "", text)
    return (digits[-_COMPARED_DIGITS:],) if _PHONE.fullmatch(text) and digits[4:] else None


def _parse_email(text: str, rules: LanguageRules) -> Value | None:
    return (text.casefold(),) if _E_MAIL.fullmatch(text) else None


def _parse_plan(text: str, rules: LanguageRules) -> Value | None:
    """Return what is planned, then the other words: ("trip", "to", "japan")."""
    said = [word for word in index_tokens(text) if word not in rules.articles]
    value = tuple(meanings().get(word, word) for word in said)
    place = next((place for place, word in enumerate(value) if word in words("events")), None)
    is_one = (words("recurring") | words("numbers")).isdisjoint(value) and not re.search(_SEVERAL, text, re.IGNORECASE)
    if place is None or not is_one or not words("event_links").issuperset(said[place + 1 : place + 2]):
        return None
    return (value[place], *value[:place], *value[place + 1 :])


_PARSERS: Mapping[str, Callable[[str, LanguageRules], Value | None]] = {
    **{"home": _parse_place, "employer": _parse_employer, "diet": _parse_diet},
    **{"trade": _parse_trade, "workplace": _parse_workplace, "count": _parse_count},
    **{"name": _parse_name, "nickname": _parse_nickname, "partner": _parse_name, "relation": _parse_name},
    **{"plan": _parse_plan, "age": _parse_age, "weight": _parse_weight, "phone": _parse_phone, "email": _parse_email},
}
