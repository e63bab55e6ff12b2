"""The error boundary contains the errors of memory."""

from __future__ import annotations

import asyncio
import logging

import pytest

from gaia_memory.adk.plugins.error_boundary import ErrorBoundary, never_breaks_the_turn
from gaia_memory.errors import MemoryDisabledError, MemoryUnavailable

SECRET = "the PIN word is ZEBRA"


class Plugin:
    """A plugin with one callback that raises a given error."""

    def __init__(self, error: BaseException | None, *, raises_errors: bool = False) -> None:
        self.error = error
        self.raises_errors = raises_errors

    @never_breaks_the_turn
    async def callback(self, *, value: int) -> int:
        """Return the value."""
        if self.error is not None:
            raise self.error
        return value


async def test_a_successful_callback_is_not_changed() -> None:
    """Its value is returned."""
    assert await Plugin(None).callback(value=7) == 7


async def test_an_error_is_logged_once_with_its_place_and_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    """A database error quotes the values of the statement, which must not reach the log."""
    assert await Plugin(RuntimeError(SECRET)).callback(value=7) is None

    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert "RuntimeError" in record.getMessage()
    assert "test_error_boundary.py" in record.getMessage()
    assert "ZEBRA" not in caplog.text


async def test_an_error_is_raised_with_on_unavailable_fail() -> None:
    """The configuration asks for that."""
    disabled = MemoryDisabledError()
    with pytest.raises(MemoryUnavailable) as failed:
        await Plugin(RuntimeError(SECRET), raises_errors=True).callback(value=7)
    with pytest.raises(MemoryDisabledError) as as_it_is:
        await Plugin(disabled, raises_errors=True).callback(value=7)

    assert isinstance(failed.value.__cause__, RuntimeError)
    assert as_it_is.value is disabled


async def test_a_cancellation_is_passed_on() -> None:
    """A cancelled turn ends."""
    with pytest.raises(asyncio.CancelledError):
        await Plugin(asyncio.CancelledError()).callback(value=7)


def test_a_contained_block_keeps_its_error() -> None:
    """The caller can see that the block failed."""
    with ErrorBoundary("work") as work:
        raise RuntimeError(SECRET)

    assert isinstance(work.error, RuntimeError)


def test_a_contained_block_passes_an_interrupt_on() -> None:
    """Only errors are contained."""
    with pytest.raises(KeyboardInterrupt), ErrorBoundary("work"):
        raise KeyboardInterrupt
