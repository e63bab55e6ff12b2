"""Every test ends with no engine open and leaves none of its threads behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gaia_memory import registry
from support.parts import our_threads, until


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[registry._Registry]:
    """Keep what another test left open out of this one, and see that this one leaves nothing."""
    before = our_threads()
    fresh = registry._Registry(registered=True)
    monkeypatch.setattr(registry, "_registry", fresh)
    yield fresh
    left = list(fresh.entries)
    fresh.abandon_all()
    assert not left, f"left open: {left}"
    until(lambda: our_threads() <= before)
