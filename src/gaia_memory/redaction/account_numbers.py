"""Recognizes the numbers of cards, bank accounts and US social security by their check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Visa, Mastercard, American Express, Discover, Diners Club, JCB, UnionPay; digits of other lengths are other numbers.
_CARD = re.compile(
    r"""(?x)(?<![A-Za-z0-9_.+/-])(?:
      (?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|65\d\d|64[4-9]\d|35[2-8]\d|62\d\d)(?:[ .-]?\d){12}
    | 3[47](?:[ .-]?\d){13} | 3(?:0[0-5]|[689]\d)(?:[ .-]?\d){11}
    | \d(?:[ .-]\d){12,18}
    )(?![A-Za-z0-9_/-]|\.\d)"""
)
# Other kinds of cards begin like any number: "my Maestro card 6759 …".
_NAMED_CARD = re.compile(
    r"(?i)(?:card|kart|carte|tarjeta|carta|cartão|kaart|карт|カード|卡|카드|maestro|visa)[^.!?\n\d]{0,25}"
    r"(?P<number>\d(?:[ .-]?\d){12,18})(?![\w/-]|\.\d)"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])([A-Z]{2})\d{2}(?:[ -]?[A-Z0-9]){11,30}", re.IGNORECASE)
_SSN = re.compile(
    r"(?i)(?<![\w.+-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-]|\.\d)"
    r"|\b(?:ssn|social(?:\s+security(?:\s+(?:number|no\.?|#))?)?)(?:\s+(?:is|number)|\s*[:=#])?\s+"
    r"(?P<plain>\d{3}[ -]?\d\d[ -]?\d{4})(?!\d)"
)
_IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip


def find_account_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield where a card number (Luhn), an IBAN (mod 97) or a US social security number stands."""
    if not re.search(r"\d[\d .-]{4}", text):
        return
    yield from (found.span() for found in _CARD.finditer(text) if _is_luhn(found[0]))
    yield from (found.span("number") for found in _NAMED_CARD.finditer(text) if _is_luhn(found["number"]))
    for found in _SSN.finditer(text):
        yield found.span("plain" if found["plain"] else 0)
    for found in _IBAN.finditer(text):
        length = _IBAN_LENGTHS.get(found[1].upper(), 0)
        places = [found.start() + at for at, char in enumerate(found[0]) if char.isalnum()][:length]
        # The hex digits of a hash go on.
        is_whole = len(places) == length > 0 and not text[places[-1] + 1 : places[-1] + 2].isalnum()
        if is_whole and _is_iban("".join(text[at] for at in places)):
            yield found.start(), places[-1] + 1


def _is_luhn(number: str) -> bool:
    digits = [int(char) for char in reversed(number) if char.isdecimal()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1
