"""What memory raises stops at the guard."""

from __future__ import annotations

import asyncio
import logging

import pytest

from gaia_memory.adk.plugins.error_boundary import ErrorBoundary, never_breaks_the_turn
from gaia_memory.errors import MemoryDisabledError, MemoryUnavailable

SECRET = "the PIN word is ZEBRA"


class Plugin:
    """A plugin with one callback that raises what it was given."""

    def __init__(self, error: BaseException | None, *, raises_errors: bool = False) -> None:
        self.error = error
        self.raises_errors = raises_errors

    @never_breaks_the_turn
    async def callback(self, *, value: int) -> int:
        """Return the value."""
        if self.error is not None:
            raise self.error
        return value


async def test_a_callback_that_works_is_left_alone() -> None:
    """Its value is returned."""
    assert await Plugin(None).callback(value=7) == 7


async def test_an_error_is_logged_once_with_its_place_and_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    """A database error quotes the statement's values: what a person said must not reach the log."""
    assert await Plugin(RuntimeError(SECRET)).callback(value=7) is None

    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert "RuntimeError" in record.getMessage()
    assert "test_error_boundary.py" in record.getMessage()
    assert "ZEBRA" not in caplog.text


async def test_an_error_is_raised_where_memory_must_not_fail() -> None:
    """`memory.on_unavailable: fail` means it."""
    disabled = MemoryDisabledError()
    with pytest.raises(MemoryUnavailable) as failed:
        await Plugin(RuntimeError(SECRET), raises_errors=True).callback(value=7)
    with pytest.raises(MemoryDisabledError) as as_it_is:
        await Plugin(disabled, raises_errors=True).callback(value=7)

    assert isinstance(failed.value.__cause__, RuntimeError)
    assert as_it_is.value is disabled


async def test_a_cancellation_passes() -> None:
    """A turn that is cancelled ends."""
    with pytest.raises(asyncio.CancelledError):
        await Plugin(asyncio.CancelledError()).callback(value=7)


def test_a_contained_block_keeps_its_error() -> None:
    """The caller sees that it failed."""
    with ErrorBoundary("work") as work:
        raise RuntimeError(SECRET)

    assert isinstance(work.error, RuntimeError)


def test_a_contained_block_lets_an_interrupt_pass() -> None:
    """Only errors are contained."""
    with pytest.raises(KeyboardInterrupt), ErrorBoundary("work"):
        raise KeyboardInterrupt
