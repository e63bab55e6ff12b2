"""The current language model of mem0: built at first use, replaced while calls are running."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from gaia_memory.backend.providers.resolve_provider import Provider
from gaia_memory.errors import MemoryClosedError


class SwappableLlm:
    """A language model with mem0's interface that delegates to the model of the current `provider`.

    Assign another provider to replace the model. A running call finishes on its model, so all models stay open until
    this one is closed.
    """

    def __init__(self, provider: Provider, factory: Callable[[Provider], Any]) -> None:
        """Start with `provider`; `factory` builds mem0's object of a provider at the first call."""
        self.provider = provider
        self._factory = factory
        self._lock = threading.Lock()
        self._models: list[tuple[Provider, Any]] = []
        self._is_closed = False

    def instance(self) -> Any:
        """Return mem0's object of the current provider. Blocking.

        Raises:
            ModelUnavailableError: it could not be built.
            MemoryClosedError: memory was closed.
        """
        with self._lock:
            if self._is_closed:
                raise MemoryClosedError
            provider = self.provider
            built = next((model for known, model in self._models if known == provider), None)
            if built is None:
                built = self._factory(provider)
                self._models.append((provider, built))
            return built

    def generate_response(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the current model, with mem0's signature. Blocking."""
        return self.instance().generate_response(*args, **kwargs)

    def close(self) -> None:
        """Close the clients of all models, even during a call. Blocking."""
        self._is_closed = True
        for _, model in self._models:
            close_client(model)


def close_client(component: Any) -> None:
    """Close the client of a model or an embedder, if it has one. Blocking."""
    close = getattr(getattr(component, "client", None), "close", None)
    if close is not None:
        # A host's own client may fail to close; nothing of ours depends on it.
        with contextlib.suppress(Exception):
            close()
