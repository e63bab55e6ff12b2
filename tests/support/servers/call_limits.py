"""Shorter time limits for the calls to models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gaia_memory import model_calls

LIMITS = tuple(name for name, value in vars(model_calls).items() if isinstance(value, model_calls.CallLimits))


def change_limits(monkeypatch: pytest.MonkeyPatch, *names: str, **changes: float) -> None:
    """Change fields of `CallLimits`, for all kinds of calls if no names are given."""
    for name in names or LIMITS:
        monkeypatch.setattr(model_calls, name, replace(getattr(model_calls, name), **changes))


def remove_retry_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry immediately in every client of ours; pauses that a provider requests stay."""
    change_limits(monkeypatch, first_pause_seconds=0.01, max_pause_seconds=0.01, jitter_seconds=0.0)
