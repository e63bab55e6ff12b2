"""The language model can be replaced during calls: each call ends on its model, and no client is closed early."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gaia_memory.backend.providers.resolve_provider import Provider
from gaia_memory.backend.providers.swappable_llm import SwappableLlm
from gaia_memory.errors import MemoryClosedError


class Client:
    """A client that records when it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


class Model:
    """A model that answers with its name."""

    def __init__(self, provider: Provider) -> None:
        self.name = provider.name
        self.client = Client()

    def generate_response(self, *_: Any, **__: Any) -> str:
        assert not self.client.closed.is_set()
        return self.name


class Factory:
    """Makes models and keeps them by name."""

    def __init__(self) -> None:
        self.models: dict[str, list[Model]] = {}

    def __call__(self, provider: Provider) -> Model:
        made = Model(provider)
        self.models.setdefault(provider.name, []).append(made)
        return made


def test_a_model_is_created_once_at_its_first_call() -> None:
    """Another provider alone makes nothing, and returning to one makes no second model of it."""
    factory = Factory()
    llm = SwappableLlm(Provider("old"), factory)
    llm.provider = Provider("new")
    assert factory.models == {}

    assert [llm.generate_response(), llm.generate_response()] == ["new", "new"]
    assert llm.instance() is factory.models["new"][0]
    llm.provider = Provider("old")
    assert llm.generate_response() == "old"
    llm.provider = Provider("new")
    assert llm.generate_response() == "new"
    assert {name: len(made) for name, made in factory.models.items()} == {"new": 1, "old": 1}


def test_a_closed_llm_raises_memory_closed_error() -> None:
    """Also to a host that kept mem0's own object, which it is given to."""
    factory = Factory()
    llm = SwappableLlm(Provider("old"), factory)
    llm.generate_response()
    llm.close()

    assert factory.models["old"][0].client.closed.is_set()
    with pytest.raises(MemoryClosedError):
        llm.generate_response()


def test_a_model_without_a_client_or_with_one_that_fails_to_close_keeps_no_other_open() -> None:
    """Such errors are ignored."""

    class Bare:
        def generate_response(self) -> str:
            return "bare"

    class Stuck(Bare):
        class client:  # noqa: N801 - an attribute of the model
            @staticmethod
            def close() -> None:
                raise OSError("stuck")

    last = Model(Provider("last"))
    models = iter([Bare(), Stuck(), last])
    llm = SwappableLlm(Provider("0"), lambda _: next(models))
    for number in (1, 2, 3):
        llm.generate_response()
        llm.provider = Provider(str(number))
    llm.close()

    assert last.client.closed.is_set()
