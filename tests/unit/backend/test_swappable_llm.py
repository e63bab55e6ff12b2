"""The language model can be swapped during calls: each call ends on its model, and no client is closed early."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gaia_memory.backend.providers.provider_specs import Provider
from gaia_memory.backend.providers.swappable_llm import SwappableLlm
from gaia_memory.errors import MemoryClosedError

SECONDS = 60


class Client:
    """A client that notes when it is closed."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


class Model:
    """A model that answers with its name, once it may."""

    def __init__(self, provider: Provider) -> None:
        self.name = provider.name
        self.client = Client()
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def generate_response(self, *_: Any, **__: Any) -> str:
        self.asked.set()
        self.go_on.wait(SECONDS)
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


def test_a_model_is_made_at_its_first_call_and_once() -> None:
    """An exchange alone makes nothing."""
    factory = Factory()
    llm = SwappableLlm(Provider("old"), factory)
    llm.swap(Provider("new"))()
    assert factory.models == {}

    assert [llm.generate_response(), llm.generate_response()] == ["new", "new"]
    assert llm.instance() is factory.models["new"][0]
    assert [len(made) for made in factory.models.values()] == [1]
    assert llm.provider == Provider("new")


def test_a_call_under_way_ends_on_the_model_it_began_with() -> None:
    """Its client is closed after the last such call, and not before."""
    factory = Factory()
    llm = SwappableLlm(Provider("old"), factory)
    llm.generate_response()
    [old] = factory.models["old"]
    old.asked.clear()
    old.go_on.clear()
    with ThreadPoolExecutor() as threads:
        first, second = threads.submit(llm.generate_response), threads.submit(llm.generate_response)
        assert old.asked.wait(SECONDS)
        retire = llm.swap(Provider("new"))
        retire()

        assert llm.generate_response() == "new"
        assert not old.client.closed.is_set()
        old.go_on.set()
        assert {first.result(SECONDS), second.result(SECONDS)} <= {"old", "new"}

    assert old.client.closed.wait(SECONDS)
    assert not factory.models["new"][0].client.closed.is_set()


def test_a_model_that_nobody_asks_is_closed_when_it_is_retired() -> None:
    """Whoever exchanges it decides in which thread."""
    factory = Factory()
    llm = SwappableLlm(Provider("old"), factory)
    llm.generate_response()
    retire = llm.swap(Provider("new"))

    assert not factory.models["old"][0].client.closed.is_set()
    retire()
    assert factory.models["old"][0].client.closed.is_set()


def test_no_call_meets_a_closed_client_however_often_it_is_exchanged() -> None:
    """Eight threads ask while the model changes two hundred times."""
    factory = Factory()
    llm = SwappableLlm(Provider("0"), factory)
    over = threading.Event()

    def ask() -> int:
        answered = 0
        while not over.is_set():
            answered += bool(llm.generate_response())
        return answered

    with ThreadPoolExecutor(8) as threads:
        asking = [threads.submit(ask) for _ in range(8)]
        for number in range(1, 201):
            llm.swap(Provider(str(number)))()
        over.set()
        assert all(done.result(SECONDS) >= 0 for done in asking)

    left = [name for name, made in factory.models.items() if not made[0].client.closed.is_set()]
    assert left in ([], ["200"])
    assert all(len(made) == 1 for made in factory.models.values())


def test_a_closed_one_says_so() -> None:
    """Also to whoever kept mem0's own object, which it is given to."""
    factory = Factory()
    llm = SwappableLlm(Provider("old"), factory)
    llm.generate_response()
    llm.close()

    assert factory.models["old"][0].client.closed.is_set()
    with pytest.raises(MemoryClosedError):
        llm.generate_response()


def test_a_model_without_a_client_or_with_one_that_fails_to_close_is_let_go() -> None:
    """Nothing of ours depends on it."""

    class Bare:
        def generate_response(self) -> str:
            return "bare"

    class Stuck(Bare):
        class client:  # noqa: N801 - an attribute of the model
            @staticmethod
            def close() -> None:
                raise OSError("stuck")

    models = iter([Bare(), Stuck(), Bare()])
    llm = SwappableLlm(Provider("0"), lambda _: next(models))
    for number in (1, 2, 3):
        llm.generate_response()
        llm.swap(Provider(str(number)))()
