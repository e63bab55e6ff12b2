"""The acceptance contract and the tests that name its checks agree."""

from __future__ import annotations

import ast
import re
import sys

import pytest

from support.acceptance import (
    check_ids,
    checks_named_by_tests,
    checks_of_the_normal_tier,
    contract_checks,
    report,
    runs_in_the_normal_tier,
)


def test_the_contract_has_174_checks():
    """No check is lost or invented."""
    ids = contract_checks()

    assert len(ids) == 174
    assert all(re.fullmatch(r"[SLIRPQCGTWH]\d{2}", name) for name in ids)


def test_every_acceptance_id_that_a_test_names_is_in_the_contract():
    """A mistyped id would claim a check that does not exist."""
    unknown = {name: places for name, places in checks_named_by_tests().items() if name not in contract_checks()}

    assert unknown == {}


def test_every_check_that_a_test_names_is_covered_in_the_normal_tier():
    """A check that only `-m slow` runs would be broken for days before anyone sees it."""
    only_slow = sorted(checks_named_by_tests().keys() - checks_of_the_normal_tier().keys())

    assert only_slow == []


@pytest.mark.parametrize(
    ("marks", "is_normal"),
    [
        ('@pytest.mark.acceptance("S03")', True),
        ('@pytest.mark.slow\n@pytest.mark.acceptance("S03")', False),
        ('@pytest.mark.parametrize("n", [1, pytest.param(9, marks=pytest.mark.slow)])', True),
        ('@pytest.mark.parametrize("n", [pytest.param(9, marks=slow), pytest.param(5, marks=slow)])', False),
        ("@pytest.mark.real", False),
    ],
)
def test_a_test_is_in_the_normal_tier_if_one_of_its_cases_is(marks, is_normal):
    """A slow case excludes only itself."""
    (function,) = ast.parse(f"{marks}\ndef test_S03():\n  pass").body

    assert runs_in_the_normal_tier(function) == is_normal


def test_the_coverage_report_lists_every_check(request):
    """`pytest tests/conventions -k coverage -s` prints it."""
    text = report()
    if request.config.getoption("capture") == "no":
        sys.stdout.write(f"\n{text}\n")

    assert len(text.splitlines()) == len(contract_checks()) + 2
    assert "of 174 are named by a test" in text


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
def test_acceptance_ids_are_parsed_from_test_names(name, ids):
    """They are capitals anywhere, or a lowercase letter at the start."""
    assert check_ids(name) == ids
