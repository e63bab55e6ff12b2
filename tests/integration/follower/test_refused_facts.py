"""A fact that the mem0 store does not take is set aside, and everything else is followed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from gaia_memory import open_memory
from gaia_memory.models import new_fact
from support.storage.plain_mem0 import mem0_facts
from support.storage.residual_data import SearchTerms, find_residual_data

OFFLINE = {"memory": {"llm": {"provider": "offline"}, "embedder": {"provider": "offline"}}}


@pytest.fixture
def older_release(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let facts be written that earlier releases accepted; undone by the test."""
    monkeypatch.setattr(new_fact, "MAX_METADATA_NAMES", 10**6)
    monkeypatch.setattr(new_fact, "MAX_METADATA_BYTES", 10**9)
    monkeypatch.setattr(new_fact, "parse_recurrence", lambda name, value: value)
    return monkeypatch


@pytest.mark.slow
async def test_a_fact_that_breaks_the_store_delays_nobody_s_erasure(
    tmp_path: Path, older_release: pytest.MonkeyPatch
) -> None:
    """Chroma fails over a fact with very many metadata; `status` names it, and its own forget removes it."""
    async with open_memory({"home": tmp_path / "home", **OFFLINE}) as gaia:
        ada, bob = gaia.scope(user_id="ada"), gaia.scope(user_id="bob")
        await gaia.memory.remember(ada, "Likes tea", metadata={f"k{number}": number for number in range(20_000)})
        older_release.undo()
        await gaia.memory.remember(bob, "Hides the zanzibar plans")
        await gaia.memory.forget(bob)
        await gaia.memory.remember(bob, "Works at quillon")
        await gaia.memory.settled()
        status = await gaia.memory.status(ada)
        assert status.state == "degraded"
        assert "the mem0 store refused 1 facts" in status.reason
        assert await mem0_facts(gaia, bob)
        assert await find_residual_data(tmp_path / "home", SearchTerms(words=["zanzibar"])) == []

        await gaia.memory.forget(ada)
        await gaia.memory.settled()
        assert (await gaia.memory.status(ada)).state == "ok"


async def test_a_stored_recurrence_that_cannot_be_computed_leaves_the_others_due(
    tmp_path: Path, older_release: pytest.MonkeyPatch
) -> None:
    """It is due once, and `status` says so."""
    async with open_memory({"home": tmp_path / "home", **OFFLINE}) as gaia:
        ada = gaia.scope(user_id="ada")
        soon = gaia.memory.clock.now() + timedelta(days=1)
        await gaia.memory.remember(ada, "Water the plants", due_at=soon, every="FREQ=MONTHLY;BYDAY=53TU")
        older_release.undo()
        await gaia.memory.remember(ada, "Call the dentist", due_at=soon, every="weekly")

        assert {fact.text for fact in await gaia.memory.due(ada)} == {"Water the plants", "Call the dentist"}
        assert "1 fact(s) are due once" in " ".join((await gaia.memory.status(ada)).notes)
