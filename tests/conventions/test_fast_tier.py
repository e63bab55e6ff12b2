"""The fast tier stays large, green and free of the libraries that are slow to import."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from support.checkout import ROOT, SOURCE

MINIMUM_TESTS = 1_000
SLOW_IMPORTS = ("google.adk", "google.genai", "mem0", "chromadb", "openai", "torch")
PROGRAM = f"""
import sys, pytest
code = pytest.main(["-m", "fast", "-n", "0", "-p", "no:cacheprovider", "--color=no", "--tb=short", *sys.argv[1:]])
print("loaded:", [name for name in {SLOW_IMPORTS!r} if name in sys.modules])
sys.exit(code)
"""


def test_the_fast_tier_collects_a_thousand_tests_and_imports_no_slow_library():
    """Imports are counted: a limit in seconds would fail on a busy machine."""
    done = run_fast_tier("--collect-only")

    assert count(done, r"^(\d+)/\d+ tests collected") >= MINIMUM_TESTS


@pytest.mark.slow
def test_the_fast_tier_passes_and_imports_no_slow_library():
    """Nor does a test import one while it runs."""
    assert count(run_fast_tier(), r"(\d+) passed") >= MINIMUM_TESTS


def run_fast_tier(*arguments: str) -> str:
    """Run the fast tier in a process of its own; check what it imported and return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "loaded: []" in done.stdout
    return done.stdout


def count(output: str, pattern: str) -> int:
    """Return the number that a line of pytest's summary names."""
    found = re.search(pattern, output, re.MULTILINE)
    assert found is not None, output[-2000:]
    return int(found[1])
