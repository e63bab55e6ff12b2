"""The one phone number for a relation or a name: used when it is certain, else asked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Contact, Fact

_PHONE_DIGIT_COUNTS = range(8, 16)
"""How many digits a phone number has: fewer are a year or a short id, more than 15 no network knows."""

_MONTH, _DAY, _YEAR = r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])", r"(?:19|20)\d\d"
_DATE = re.compile(
    rf"(?<![\d+])(?<!\d[-./])(?:{_YEAR}(?P<a>[-./]){_MONTH}(?P=a){_DAY}"
    rf"|(?:{_DAY}(?P<b>[-./]){_MONTH}|{_MONTH}(?P<c>[-./]){_DAY})(?:(?P=b)|(?P=c)){_YEAR})(?![-./]?\d)"
)
_SPACE = r"[ \t\u00a0\u2009\u202f]"
_AREA_CODE = rf"(?:\d{{1,3}}{_SPACE}?)?\(\d{{1,5}}\)(?:{_SPACE}|-)?"
_PHONE_NUMBER = re.compile(
    rf"(?<![\w#])(?:\+{_SPACE}?)?(?:{_AREA_CODE})?\d(?:(?:{_SPACE}|[-./\u2010-\u2015\u2212])?\d)*+(?!\w)"
)
_EXTENSION = re.compile(
    rf"(?<=\d){_SPACE}*[,;]?{_SPACE}*(?:ext(?:ension|n)?|x|#)[.:=]?{_SPACE}*\d{{1,8}}(?!\w)", re.IGNORECASE
)
"""What is dialled once the number has answered: no part of it, and no number of its own."""

_AFTER_A_YEAR = re.compile(rf"{_YEAR}{_SPACE}(?P<rest>.+)")


def find_contact(facts: Iterable[Fact], name: str) -> Contact:
    """Return the phone number in those facts that name `name` as a word, whatever its case.

    One number, however it is written, is found; two different ones are ambiguous. Dates, years and numbers of
    fewer than 8 digits count as none. A fact that names several people lends its numbers to each of them.

    Raises:
        InvalidInputError: `name` is blank.
    """
    words = _normalize_case(name).split()
    if not words:
        raise InvalidInputError("the name is blank: pass a relation or a name, such as 'girlfriend'")
    # A hyphen belongs to the word: an ex-wife is not the wife.
    name_pattern = re.compile(r"(?<![\w-])" + r"\s+".join(map(re.escape, words)) + r"(?!\w|-\w)")
    numbers: dict[str, str] = {}
    for fact in facts:
        if name_pattern.search(_normalize_case(fact.text)):
            for number in find_phone_numbers(fact.text):
                known = numbers.get(number.removeprefix("+"), number)
                numbers[number.removeprefix("+")] = max(known, number, key=len)
    candidates = tuple(numbers.values())
    if len(candidates) == 1:
        return Contact(status="found", number=candidates[0], candidates=candidates)
    return Contact(status="ambiguous" if candidates else "not_found", candidates=candidates)


def find_phone_numbers(text: str) -> list[str]:
    """Return the phone numbers in a text: digits alone, with a leading plus for `+` and for `00`, without extensions.

    Of digits that begin like a year ("2019 050 123 4567") both readings are returned: nobody can know.
    """
    without_extensions = _EXTENSION.sub("", text.replace("\uff0b", "+"))
    found = [match[0] for match in _PHONE_NUMBER.finditer(_DATE.sub("|", without_extensions))]
    found += [match["rest"] for number in found if (match := _AFTER_A_YEAR.fullmatch(number))]
    return [number for number in map(_normalize_number, found) if len(number.removeprefix("+")) in _PHONE_DIGIT_COUNTS]


def _normalize_number(number: str) -> str:
    if number.startswith("+"):
        # In "+49 (0)30 …" the zero is dialled at home only.
        number = number.replace("(0)", "")
    digits = "".join(str(unicodedata.decimal(char)) for char in number if char.isdecimal())
    if number.startswith("+"):
        return f"+{digits}"
    return f"+{digits[2:]}" if digits.startswith("00") else digits


def _normalize_case(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
