"""mem0's language model of the configuration in force: made at first use, exchanged while calls are under way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from gaia_memory.backend.providers.provider_specs import Provider
from gaia_memory.errors import MemoryClosedError

ModelFactory = Callable[[Provider], Any]
"""Makes mem0's language model object of a provider. Blocking."""


class SwappableLlm:
    """A language model in the form mem0 uses, which stands for whichever is in force.

    A call under way ends on the model that it began with, whose client is closed after the last of them.
    """

    def __init__(self, provider: Provider, factory: ModelFactory) -> None:
        """Begin with `provider`; nothing is made yet."""
        self._factory = factory
        self._current = _RefCountedModel(provider)

    @property
    def provider(self) -> Provider:
        """The provider in force."""
        return self._current.provider

    def instance(self) -> Any:
        """Return mem0's object for the provider in force. Blocking.

        Raises:
            ModelUnavailableError: it could not be made.
        """
        return self._current.instance(self._factory)

    def generate_response(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model in force, as mem0 asks its own. Blocking."""
        model = self._acquire_current()
        try:
            return model.instance(self._factory).generate_response(*args, **kwargs)
        finally:
            model.release()

    def swap(self, provider: Provider) -> Callable[[], None]:
        """Put another provider in force; returns what closes the model before it, for a worker thread."""
        previous, self._current = self._current, _RefCountedModel(provider)
        return previous.retire

    def close(self) -> None:
        """Close the client of the model in force, whoever still waits for an answer. Blocking."""
        self._current.close()

    def _acquire_current(self) -> _RefCountedModel:
        model = self._current
        while not model.acquire():
            if model is self._current:
                raise MemoryClosedError
            model = self._current
        return model


class _RefCountedModel:
    """One model: who made it, and how many calls it is at."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._llm: Any = None
        self._creation_lock = threading.Lock()
        self._count_lock = threading.Lock()
        self._active_calls = 0
        self._is_retired = False

    def instance(self, factory: ModelFactory) -> Any:
        with self._creation_lock:
            if self._llm is None:
                self._llm = factory(self.provider)
            return self._llm

    def acquire(self) -> bool:
        """Count a call; False where no more are taken."""
        with self._count_lock:
            if self._is_retired:
                return False
            self._active_calls += 1
            return True

    def release(self) -> None:
        """Count a call that is over; the last one closes what was exchanged meanwhile."""
        with self._count_lock:
            self._active_calls -= 1
            is_unused = self._is_retired and not self._active_calls
        if is_unused:
            close_client(self._llm)

    def retire(self) -> None:
        """Take no more calls; close the client, now or after the last call under way."""
        with self._count_lock:
            self._is_retired = True
            is_unused = not self._active_calls
        if is_unused:
            close_client(self._llm)

    def close(self) -> None:
        """Take no more calls and close the client at once."""
        with self._count_lock:
            self._is_retired = True
        close_client(self._llm)


def close_client(component: Any) -> None:
    """Close the client of a model or an embedder, if it was made and has one. Blocking."""
    close = getattr(getattr(component, "client", None), "close", None)
    if close is not None:
        # A client of somebody's own making may fail to close; nothing of ours depends on it.
        with contextlib.suppress(Exception):
            close()
