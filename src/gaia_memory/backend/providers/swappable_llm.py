"""The current language model of mem0: built at first use, replaced while calls are running."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from gaia_memory.backend.providers.provider_specs import Provider
from gaia_memory.errors import MemoryClosedError

ModelFactory = Callable[[Provider], Any]
"""Builds mem0's language model object of a provider. Blocking."""


class SwappableLlm:
    """A language model with mem0's interface that delegates to the current one.

    A running call finishes on its model, whose client is closed after the last call.
    """

    def __init__(self, provider: Provider, factory: ModelFactory) -> None:
        """Start with `provider`; build nothing yet."""
        self._factory = factory
        self._current = _RefCountedModel(provider)

    @property
    def provider(self) -> Provider:
        """The current provider."""
        return self._current.provider

    def instance(self) -> Any:
        """Return mem0's object of the current provider. Blocking.

        Raises:
            ModelUnavailableError: it could not be built.
        """
        return self._current.instance(self._factory)

    def generate_response(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the current model, with mem0's signature. Blocking."""
        model = self._acquire_current()
        try:
            return model.instance(self._factory).generate_response(*args, **kwargs)
        finally:
            model.release()

    def swap(self, provider: Provider) -> Callable[[], None]:
        """Switch to another provider; return a function that closes the previous model, for a worker thread."""
        previous, self._current = self._current, _RefCountedModel(provider)
        return previous.retire

    def close(self) -> None:
        """Close the client of the current model, even during a call. Blocking."""
        self._current.close()

    def _acquire_current(self) -> _RefCountedModel:
        model = self._current
        while not model.acquire():
            if model is self._current:
                raise MemoryClosedError
            model = self._current
        return model


class _RefCountedModel:
    """One model, its provider and the number of its running calls."""

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
        """Count a call; False when the model takes no more."""
        with self._count_lock:
            if self._is_retired:
                return False
            self._active_calls += 1
            return True

    def release(self) -> None:
        """Count the end of a call; the last call of a retired model closes its client."""
        with self._count_lock:
            self._active_calls -= 1
            is_unused = self._is_retired and not self._active_calls
        if is_unused:
            close_client(self._llm)

    def retire(self) -> None:
        """Take no more calls, and close the client after the last running call."""
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
    """Close the client of a model or an embedder, if it has one. Blocking."""
    close = getattr(getattr(component, "client", None), "close", None)
    if close is not None:
        # A host's own client may fail to close; nothing of ours depends on it.
        with contextlib.suppress(Exception):
            close()
