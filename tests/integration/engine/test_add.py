"""`Memory.add` reports which facts are new and which it refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import gaia_memory
from gaia_memory import NewFact, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.errors import InvalidInputError

SECRET = "AKIA" + "IOSFODNN7EXAMPLE"
LONG = "x" * 100_001


@pytest.fixture
async def gaia(tmp_path: Path) -> AsyncIterator[Gaia]:
    """Open memory in an empty home."""
    async with open_memory(home=tmp_path, model="offline") as gaia:
        yield gaia


async def test_each_fact_is_new_once(gaia):
    """A known text is not new, nor is a text repeated within one call."""
    scope = gaia.scope("ada")
    first = await gaia.memory.add(scope, [NewFact("likes tea"), NewFact("has a dog"), NewFact("Likes  TEA.")])
    second = await gaia.memory.add(scope, [NewFact("has a dog"), NewFact("has a cat")])

    assert isinstance(first, gaia_memory.AddResult)
    assert (first.is_new, second.is_new) == ((True, True, False), (False, True))
    assert first[0].id == first[2].id
    assert list(first.refused) == []
    assert second.facts[0] == first[1]
    assert await gaia.memory.count(scope) == 3


async def test_by_default_one_refused_fact_refuses_all(gaia):
    """The message names its index."""
    scope = gaia.scope("ada")

    with pytest.raises(InvalidInputError, match=r"facts\[1\]: "):
        await gaia.memory.add(scope, [NewFact("likes tea"), NewFact(SECRET)])

    assert await gaia.memory.facts(scope) == []


async def test_refused_facts_can_be_skipped(gaia):
    """The others are kept, and the result names index and reason of each refused one."""
    scope = gaia.scope("ada")
    given = [NewFact(LONG), NewFact("likes tea"), NewFact(SECRET), NewFact("has a dog")]

    result = await gaia.memory.add(scope, given, on_refused="skip")
    nothing = await gaia.memory.add(scope, [NewFact(SECRET)], on_refused="skip")

    assert [fact.text for fact in result] == ["likes tea", "has a dog"]
    assert [index for index, _ in result.refused] == [0, 2]
    assert "characters" in result.refused[0][1]
    assert "credential" in result.refused[1][1]
    assert SECRET not in str(result.refused)
    assert (list(nothing), [index for index, _ in nothing.refused]) == ([], [0])
    assert [fact.text for fact in await gaia.memory.facts(scope)] == ["likes tea", "has a dog"]


async def test_a_credential_is_masked_by_every_write(gaia):
    """In the text and in the metadata, where the name of an entry says what its value is."""
    scope, metadata = gaia.scope("ada"), {"wifi": "password: swordfish", "pin": 4921, "level": 5}
    facts = [{"text": "has a code, PIN 4921", "metadata": metadata}]

    await gaia.memory.add(scope, [NewFact("likes tea, PIN 4921", metadata=metadata)])
    await gaia.memory.remember(scope, "has a dog, PIN 4921", metadata=metadata)
    await gaia.memory.import_(scope, {"format": "gaia-memory", "version": 2, "facts": facts})
    plain = await gaia.memory.remember(scope, "likes figs")
    await gaia.memory.update(scope, plain.id, text="likes figs, PIN 4921", metadata=metadata)

    stored = await gaia.memory.facts(scope)
    assert {fact.text.partition(", ")[2] for fact in stored} == {"PIN [redacted: a code]"}
    masked = {"wifi": "password: [redacted: a password]", "pin": "[redacted: a code]", "level": 5}
    assert [fact.metadata for fact in stored] == [masked] * 4


async def test_browse_returns_the_sources_of_the_facts_on_the_page(gaia):
    """Only on request, and only for the facts on the page."""
    scope = gaia.scope("ada")
    added = await gaia.memory.add(scope, [NewFact(f"fact {number}", session_id="s") for number in range(3)])

    plain = await gaia.memory.browse(scope, limit=2)
    page = await gaia.memory.browse(scope, offset=1, limit=1, include_origins=True)

    assert plain.origins == {}
    assert list(page.origins) == [added[1].id]
    assert [origin.session_id for origin in page.origins[added[1].id]] == ["s"]
