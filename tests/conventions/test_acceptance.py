"""The acceptance contract and the tests that name its checks stay in step."""

from __future__ import annotations

import re
import sys

import pytest

from support.acceptance import check_ids, checks_named_by_tests, contract_checks, report


def test_the_contract_has_116_checks():
    """None is lost, none is invented."""
    ids = contract_checks()

    assert len(ids) == 116
    assert all(re.fullmatch(r"[SLIRPQCG]\d{2}", name) for name in ids)


def test_every_acceptance_id_that_a_test_names_is_in_the_contract():
    """A mistyped id would claim a check that nobody asked for."""
    unknown = {name: places for name, places in checks_named_by_tests().items() if name not in contract_checks()}

    assert unknown == {}


def test_the_coverage_of_the_contract_is_told(request):
    """`pytest tests/conventions -k coverage -s` prints it."""
    text = report()
    if request.config.getoption("capture") == "no":
        sys.stdout.write(f"\n{text}\n")

    assert len(text.splitlines()) == len(contract_checks()) + 2
    assert "of 116 are named by a test" in text


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("test_S03_the_window", {"S03"}),
        ("test_the_window_S03", {"S03"}),
        ("test_s03_s04_the_window", {"S03", "S04"}),
        ("test_a_utf16_file_of_l10n", set()),
        ("helper_S03", set()),
    ],
)
def test_an_id_is_read_from_the_name_of_a_test(name, ids):
    """With a capital anywhere, with a small letter at the start."""
    assert check_ids(name) == ids
