"""Ids that no session database can store still have a memory; a conversation rejects them with a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gaia_memory import open_memory
from support.storage.plain_mem0 import mem0_facts

ODD = ["it\x00ay", "\ud800", "\ud801", "?", "a\udcffb", "\x00", "line\nbreak"]


@pytest.mark.acceptance("C03")
async def test_an_unstorable_id_has_a_complete_memory_of_its_own(tmp_path: Path) -> None:
    """Storing, recall, profile, JSON transfer, store and forgetting work; similar ids are not affected."""
    async with open_memory({"model": "offline"}, home=tmp_path) as gaia:
        memory = gaia.memory
        scopes = [gaia.scope(user) for user in [*ODD, "itay"]]
        for number, scope in enumerate(scopes):
            await memory.remember(scope, f"likes tea number {number}")
        await memory.settled()
        for number, scope in enumerate(scopes):
            assert [hit.fact.text for hit in await memory.recall(scope, "tea")] == [f"likes tea number {number}"]
            assert (await memory.profile(scope)).bullets == (f"likes tea number {number}",)
            assert (await memory.status(scope)).facts == 1
            assert list((await mem0_facts(gaia, scope)).values()) == [f"likes tea number {number}"]
            data = json.loads(json.dumps(await memory.export(scope)))
            assert (data["scope"]["user"], await memory.import_(scope, data)) == (scope.user, 1)
        assert (await memory.forget(scopes[0])).count == 1
        await memory.settled()

        assert [await memory.count(scope) for scope in scopes] == [0] + [1] * len(ODD)
