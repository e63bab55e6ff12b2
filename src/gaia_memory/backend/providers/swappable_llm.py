"""mem0's language model of the configuration in force: made at first use, exchanged while calls are under way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from gaia_memory.backend.providers.provider_specs import Provider
from gaia_memory.errors import MemoryClosedError

Make = Callable[[Provider], Any]
"""Makes mem0's language model object of a provider. Blocking."""


class CurrentLlm:
    """A language model in the form mem0 uses, which stands for whichever is in force.

    A call under way ends on the model that it began with, whose client is closed after the last of them.
    """

    def __init__(self, provider: Provider, make: Make) -> None:
        """Begin with `provider`; nothing is made yet."""
        self._make = make
        self._seat = _Seat(provider)

    @property
    def provider(self) -> Provider:
        """The provider in force."""
        return self._seat.provider

    def made(self) -> Any:
        """Return mem0's object for the provider in force. Blocking.

        Raises:
            ModelUnavailableError: it could not be made.
        """
        return self._seat.made(self._make)

    def generate_response(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model in force, as mem0 asks its own. Blocking."""
        seat = self._taken()
        try:
            return seat.made(self._make).generate_response(*args, **kwargs)
        finally:
            seat.leave()

    def exchange(self, provider: Provider) -> Callable[[], None]:
        """Put another provider in force; returns what closes the model before it, for a worker thread."""
        before, self._seat = self._seat, _Seat(provider)
        return before.retire

    def close(self) -> None:
        """Close the client of the model in force, whoever still waits for an answer. Blocking."""
        self._seat.close()

    def _taken(self) -> _Seat:
        seat = self._seat
        while not seat.take():
            if seat is self._seat:
                raise MemoryClosedError
            seat = self._seat
        return seat


class _Seat:
    """One model: who made it, and how many calls it is at."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._llm: Any = None
        self._making = threading.Lock()
        self._counting = threading.Lock()
        self._calls = 0
        self._is_retired = False

    def made(self, make: Make) -> Any:
        with self._making:
            if self._llm is None:
                self._llm = make(self.provider)
            return self._llm

    def take(self) -> bool:
        """Count a call; False where no more are taken."""
        with self._counting:
            if self._is_retired:
                return False
            self._calls += 1
            return True

    def leave(self) -> None:
        """Count a call that is over; the last one closes what was exchanged meanwhile."""
        with self._counting:
            self._calls -= 1
            is_over = self._is_retired and not self._calls
        if is_over:
            close_client(self._llm)

    def retire(self) -> None:
        """Take no more calls; close the client, now or after the last call under way."""
        with self._counting:
            self._is_retired = True
            is_over = not self._calls
        if is_over:
            close_client(self._llm)

    def close(self) -> None:
        """Take no more calls and close the client at once."""
        with self._counting:
            self._is_retired = True
        close_client(self._llm)


def close_client(made: Any) -> None:
    """Close the client of a model or an embedder, if it was made and has one. Blocking."""
    close = getattr(getattr(made, "client", None), "close", None)
    if close is not None:
        # A client of somebody's own making may fail to close; nothing of ours depends on it.
        with contextlib.suppress(Exception):
            close()
