"""Finds the one phone number of a relation or a name; several candidates are reported as ambiguous."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from gaia_memory.language.homoglyphs import fold_case
from gaia_memory.models import Contact, Fact
from gaia_memory.models.validation import require_text

_PHONE_DIGIT_COUNTS = range(8, 16)
"""Digits of a phone number: fewer are a year or a short id, and no network allows more than 15."""

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
"""An extension, dialled after the number has answered: neither part of the number nor a number itself."""

_AFTER_A_YEAR = re.compile(rf"{_YEAR}{_SPACE}(?P<rest>.+)")


def find_contact(facts: Iterable[Fact], name: str) -> Contact:
    """Return the phone number in the facts that contain `name` as a word, ignoring case.

    The status is `found` for one number, however it is written, and `ambiguous` for two different ones. Dates, years
    and numbers of fewer than 8 digits are ignored. Numbers in a fact about several people count for each of them.

    Raises:
        InvalidInputError: `name` is blank or no text.
    """
    words = fold_case(require_text("who", name, fix="pass a relation or a name, such as 'girlfriend'")).split()
    # A hyphen belongs to the word: an ex-wife is not the wife.
    name_pattern = re.compile(r"(?<![\w-])" + r"\s+".join(map(re.escape, words)) + r"(?!\w|-\w)")
    numbers: dict[str, str] = {}
    for fact in facts:
        if name_pattern.search(fold_case(fact.text)):
            for number in find_phone_numbers(fact.text):
                known = numbers.get(number.removeprefix("+"), number)
                numbers[number.removeprefix("+")] = max(known, number, key=len)
    candidates = tuple(numbers.values())
    if len(candidates) == 1:
        return Contact(status="found", number=candidates[0], candidates=candidates)
    return Contact(status="ambiguous" if candidates else "not_found", candidates=candidates)


def find_phone_numbers(text: str) -> list[str]:
    """Return the phone numbers in a text: digits alone, with a leading plus for `+` and for `00`, without extensions.

    Digits that begin like a year ("2019 050 123 4567") are ambiguous: both readings are returned.
    """
    without_extensions = _EXTENSION.sub("", text.replace("\uff0b", "+"))
    found = [match[0] for match in _PHONE_NUMBER.finditer(_DATE.sub("|", without_extensions))]
    found += [match["rest"] for number in found if (match := _AFTER_A_YEAR.fullmatch(number))]
    return [number for number in map(_normalize_number, found) if len(number.removeprefix("+")) in _PHONE_DIGIT_COUNTS]


def _normalize_number(number: str) -> str:
    if number.startswith("+"):
        # The zero in "+49 (0)30 …" is dialled within the country only.
        number = number.replace("(0)", "")
    digits = "".join(str(unicodedata.decimal(char)) for char in number if char.isdecimal())
    if number.startswith("+"):
        return f"+{digits}"
    return f"+{digits[2:]}" if digits.startswith("00") else digits
