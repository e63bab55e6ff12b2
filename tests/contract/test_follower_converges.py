"""The mem0 store converges to exactly the current facts after any writes and deletes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gaia_memory.models import Scope
from support.storage.follower import open_follower

ANN, BEN, CLEO = Scope("gaia", "ann"), Scope("gaia", "b*n x"), Scope(None, "cleo")
WORDS = ["teal", "violin", "Haifa", "sourdough", "marathon", "parrot", "glacier", "tandem", "saffron", "origami"]


@pytest.mark.parametrize("seed", range(4))
async def test_plain_mem0_lists_exactly_the_current_facts_after_any_sequence_of_changes(
    tmp_path: Path, seed: int
) -> None:
    """Each user's list in mem0 equals the database, and a search finds each fact by its own words."""
    chance = random.Random(seed)
    async with open_follower(tmp_path / "home") as memory:
        for step in range(30):
            scope = chance.choice([ANN, BEN, CLEO])
            held = list(await memory.database_facts(scope))
            match chance.choice(["add", "add", "add", "delete", "forget", "settle"]):
                case "add":
                    texts = [f"{chance.choice(WORDS)} number {step}.{n}" for n in range(chance.randint(1, 8))]
                    await memory.add(scope, *texts, session_id=f"s{step}", seq=step)
                case "delete" if held:
                    await memory.delete(scope, *chance.sample(held, k=min(3, len(held))))
                case "forget":
                    await memory.forget(scope)
                case _:
                    await memory.follower.settled(stall_seconds=60)
        await memory.add(ANN, "Ann plays the theremin")
        await memory.follower.settled(stall_seconds=60)

        for scope in (ANN, BEN, CLEO):
            current = await memory.database_facts(scope)
            assert await memory.mem0_facts(scope) == current
            for text in list(current.values())[:5]:
                assert text in await memory.search_mem0(scope, text)
