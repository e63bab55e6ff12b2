"""Whole messages are stored and found; facts for `remember` must be short."""

from __future__ import annotations

from pathlib import Path

import pytest

from gaia_memory import NewFact, open_memory
from gaia_memory.errors import InvalidInputError

FILLER = "A paragraph about pruning roses, watering herbs and sharpening shears. "


async def test_a_message_of_many_thousand_characters_is_stored_verbatim_and_found(tmp_path: Path) -> None:
    """By a word in its middle, and with its neighbours in the conversation."""
    long = FILLER * 600 + "The hedgehog house stands behind the quince. " + FILLER * 600
    async with open_memory(home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("itay")
        await gaia.memory.add(scope, [NewFact(long, session_id="s", seq=1), NewFact("and the shears?")])
        hits = await gaia.memory.recall(scope, "Where is the hedgehog house?", limit=1)

    assert [hit.fact.text for hit in hits] == [long]


async def test_a_text_that_is_too_long_is_refused_with_its_index_and_nothing_is_written(tmp_path: Path) -> None:
    """The limits are 100,000 characters for a message and 2,000 for `remember`."""
    async with open_memory(home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("itay")
        with pytest.raises(InvalidInputError, match=r"facts\[1\]: the fact has 100001 characters: shorten it"):
            await gaia.memory.add(scope, [NewFact("tea"), NewFact("x" * 100_001)])
        with pytest.raises(InvalidInputError, match="shorten it to 2000"):
            await gaia.memory.remember(scope, "x" * 2_001)

        assert await gaia.memory.count(scope) == 0
