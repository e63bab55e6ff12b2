"""The acceptance contract and the tests that name its checks agree."""

from __future__ import annotations

import re
import sys

from support.acceptance import (
    checks_named_by_tests,
    checks_of_the_normal_tier,
    contract_checks,
    report,
)


def test_the_contract_has_187_checks():
    """No check is lost or invented."""
    ids = contract_checks()

    assert len(ids) == 187
    assert all(re.fullmatch(r"[SLIRPQCGTWHBK]\d{2}", name) for name in ids)


def test_every_acceptance_id_that_a_test_names_is_in_the_contract():
    """A mistyped id would claim a check that does not exist."""
    unknown = {name: places for name, places in checks_named_by_tests().items() if name not in contract_checks()}

    assert unknown == {}


def test_every_check_that_a_test_names_is_covered_in_the_normal_tier():
    """A check that only `-m slow` runs would be broken for days before anyone sees it."""
    only_slow = sorted(checks_named_by_tests().keys() - checks_of_the_normal_tier().keys())

    assert only_slow == []


def test_the_coverage_report_lists_every_check(request):
    """`pytest tests/conventions -k coverage -s` prints it."""
    text = report()
    if request.config.getoption("capture") == "no":
        sys.stdout.write(f"\n{text}\n")

    assert len(text.splitlines()) == len(contract_checks()) + 2
    assert "of 187 are named by a test" in text
