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
code = pytest.main(["-m", "fast", "-n", "0", "-p", "no:cacheprovider", "--color=no", "--tb=short"])
print("loaded:", [name for name in {SLOW_IMPORTS!r} if name in sys.modules])
sys.exit(code)
"""


@pytest.mark.slow
def test_the_fast_tier_passes_and_imports_no_slow_library():
    """Neither the collection nor a test imports one; a limit in seconds would fail on a busy machine."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"(\d+) passed", done.stdout)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "loaded: []" in done.stdout
    assert passed is not None
    assert int(passed[1]) >= MINIMUM_TESTS
