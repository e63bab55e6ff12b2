"""Shared by the tests of Gemini's failures."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from support.servers.call_limits import remove_retry_pauses
from support.servers.gemini_scenarios import SECRET


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without pauses."""
    remove_retry_pauses(monkeypatch)


@pytest.fixture(autouse=True)
def logs(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Check that no key reaches a log above DEBUG."""
    caplog.set_level(logging.INFO)
    yield caplog
    assert SECRET not in caplog.text
