"""A single certain phone number is returned; in any other case the user must choose."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Fact, Scope
from gaia_memory.recall.phone_numbers import find_contact, find_phone_numbers

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def facts(*texts: str) -> list[Fact]:
    return [
        Fact(id=str(at), scope=Scope("gaia", "u"), text=text, source="add", created_at=NOW, updated_at=NOW)
        for at, text in enumerate(texts)
    ]


def test_different_spellings_of_a_number_are_one_number():
    """The result is the form with a country code and a plus."""
    known = facts("Grace 972-50-123-4567", "Grace +972501234567", "Grace 00972 50 1234567", "Grace 972501234567")

    assert find_contact(known, "Grace").number == "+972501234567"


@pytest.mark.parametrize("text", ["ex-girlfriend 0501234567", "girlfriends 0501234567", "girlfriend-to-be 0501234567"])
def test_the_name_matches_whole_words_only(text):
    """Calling the wrong person is worse than asking."""
    assert find_contact(facts(text), "girlfriend").status == "not_found"


@pytest.mark.parametrize("who", ["Zoë  Levi", "ZOE\u0308 levi"])
def test_a_name_of_several_words_is_found_in_any_spelling(who):
    """Accents may be composed or not."""
    assert find_contact(facts("Zoë Levi's number: 0501234567"), who).number == "0501234567"


def test_a_pattern_in_the_name_is_plain_text():
    """Names are not regular expressions."""
    assert find_contact(facts("Grace 0501234567"), "G.*e").status == "not_found"


def test_a_blank_name_is_an_error():
    """It would match every fact."""
    with pytest.raises(InvalidInputError, match="who is ' ': pass a relation or a name"):
        find_contact(facts("Grace 0501234567"), " ")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("+49 (0)30 1234567", ["+49301234567"]),
        ("(050 123 4567)", ["0501234567"]),
        ("050-123-4567 / 052-765-4321", ["0501234567", "0527654321"]),
        ("1 (212) 555\u20111234", ["12125551234"]),
        ("in 2021 +972 50 123 4567", ["+972501234567"]),
        ("2024-05-01 050-1234567, 5/31/1990", ["0501234567"]),
        ("\u0660\u0665\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667", ["0501234567"]),
        ("\uff0b\uff19\uff17\uff12 50 123 4567", ["+972501234567"]),
        ("+972 50 123 4567 ext. 99, 050 765 4321", ["+972501234567", "0507654321"]),
        ("+972 50 123 4567;ext=99", ["+972501234567"]),
        ("+972 50 123 4567p99", []),
        ("A12345678 #12345678 12345678x 1234567 1234567890123456", []),
    ],
)
def test_phone_numbers_are_recognised_in_common_forms(text, numbers):
    """These contain spaces, dashes, brackets or a trunk zero."""
    assert find_phone_numbers(text) == numbers


def test_a_number_after_a_possible_year_is_read_in_both_ways():
    """Asking is better than calling the wrong number."""
    assert find_phone_numbers("since 2019 050 123 4567") == ["20190501234567", "0501234567"]
