"""Every test ends with no engine open and leaves none of its threads behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gaia_memory import engine_registry
from support.hosts.plain_runner import gaia_threads, wait_until_sync


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[engine_registry._Registry]:
    """Hide engines that another test left open, and check that this test leaves none."""
    before = gaia_threads()
    fresh = engine_registry._Registry(is_atexit_registered=True)
    monkeypatch.setattr(engine_registry, "_registry", fresh)
    yield fresh
    open_entries = list(fresh.entries)
    fresh.abandon_all()
    assert not open_entries, f"left open: {open_entries}"
    wait_until_sync(lambda: gaia_threads() <= before, seconds=30)
