"""Closed memory says so in every method, and does not reopen by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import NewFact
from gaia_memory.adk.gaia import Gaia
from gaia_memory.engine_registry import _registry
from gaia_memory.errors import MemoryUnavailable
from gaia_memory.models import Scope
from gaia_memory.testing import ScriptedLlm
from support.conversations import open_conversations

ITAY = Scope("gaia", "itay")
CALLS: dict[str, Callable[[Gaia], Awaitable[Any]]] = {
    "remember": lambda gaia: gaia.memory.remember(ITAY, "likes figs"),
    "add": lambda gaia: gaia.memory.add(ITAY, [NewFact("likes figs")]),
    "add nothing": lambda gaia: gaia.memory.add(ITAY, []),
    "recall": lambda gaia: gaia.memory.recall(ITAY, "plums"),
    "recall nothing": lambda gaia: gaia.memory.recall(ITAY, " "),
    "facts": lambda gaia: gaia.memory.facts(ITAY),
    "count": lambda gaia: gaia.memory.count(ITAY),
    "forget": lambda gaia: gaia.memory.forget(ITAY),
    "profile": lambda gaia: gaia.memory.profile(ITAY),
    "resolve_contact": lambda gaia: gaia.memory.resolve_contact(ITAY, "girlfriend"),
    "export": lambda gaia: gaia.memory.export(ITAY),
    "import_": lambda gaia: gaia.memory.import_(ITAY, {}),
    "status": lambda gaia: gaia.memory.status(ITAY),
    "scopes": lambda gaia: gaia.memory.scopes(),
    "settled": lambda gaia: gaia.memory.settled(),
    "sweep": lambda gaia: gaia.sweep(),
}


async def test_every_method_says_that_memory_is_closed(tmp_path: Path) -> None:
    """One error, with a remedy; the facts are there after reopening."""
    async with open_conversations(tmp_path, ScriptedLlm()) as talks:
        await talks.gaia.memory.remember(ITAY, "likes plums")
    for call in CALLS.values():
        with pytest.raises(MemoryUnavailable) as caught:
            await call(talks.gaia)
        assert (caught.value.reason, caught.value.remedy) == ("memory is closed", "open it again with open_memory()")
    async with open_conversations(tmp_path, ScriptedLlm()) as again:
        kept = await again.fact_texts()

    assert kept == ["likes plums"]


@pytest.mark.parametrize("text", ["hi", "", "/memory"])
async def test_a_conversation_raises_after_memory_was_closed(tmp_path: Path, text: str) -> None:
    """An apology would hide the mistake, and a newly opened engine would never be closed."""
    model = ScriptedLlm(default="ok")
    async with open_conversations(tmp_path, model) as talks:
        talk, later = talks.get(), talks.gaia
        await talk.send("hello")
    with pytest.raises(MemoryUnavailable, match="memory is closed"):
        await talk.send(text)
    with pytest.raises(MemoryUnavailable, match="memory is closed"):
        await anext(talk.stream(text))
    with pytest.raises(MemoryUnavailable, match="memory is closed"):
        await later.conversation(talks.agent, user_id="itay", channel="cli").send(text)

    assert len(model.requests) == 1
    assert _registry.entries == {}
