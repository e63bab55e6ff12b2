"""A user's memory is exported as data and imported again, without what was forgotten."""

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import NewFact
from gaia_memory.errors import MemoryDisabledError
from gaia_memory.models import Contact
from support.harness import Sut, facts

Make = Callable[..., Awaitable[Sut]]
SAID = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


async def exported(sut: Sut, user: str) -> dict[str, Any]:
    """Export, and check that the data survives JSON."""
    data = await sut.gaia.memory.export(sut.scope(user))
    assert json.loads(json.dumps(data)) == data
    return data


async def filled(sut: Sut, user: str = "itay") -> None:
    """Store facts of every kind for a user."""
    memory = sut.gaia.memory
    fact = NewFact("Sister is Noa", said_at=SAID, session_id="itay:cli", seq=4, metadata={"speaker": "Itay", "n": 1.5})
    await memory.add(sut.scope(user), [fact, NewFact("likes teal")])
    await memory.remember(sut.scope(user), "Likes teal.")


def plain(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of the facts that an export must preserve."""
    # An import changes the source of a fact, and no source of it.
    kept = ("text", "metadata", "said_at", "session_id", "seq", "created_at", "updated_at")
    places = ("source", "app", "session_id", "seq", "said_at", "event_ids")
    return [
        {name: fact[name] for name in kept}
        | {"sources": {json.dumps([source[name] for name in places]) for source in fact["sources"]}}
        for fact in data["facts"]
    ]


async def test_Q09_a_phone_number_is_returned_only_if_it_is_unambiguous(make: Make) -> None:
    """One number, two different numbers, none; never another user's."""
    sut = await make()
    memory = sut.gaia.memory
    await memory.remember(sut.scope("u"), "girlfriend is Grace, +972 50 123 4567")
    await memory.remember(sut.scope("u"), "dentist since 2019: room 1234567")
    await memory.remember(sut.scope("other"), "girlfriend: +1 212 555 1234")

    certain = await memory.resolve_contact(sut.scope("u"), "girlfriend")
    none = await memory.resolve_contact(sut.scope("u"), "dentist")
    await memory.remember(sut.scope("u"), "Grace's work phone is 03-555-12345")
    two = await memory.resolve_contact(sut.scope("u"), "Grace")

    assert certain == Contact(status="found", number="+972501234567", candidates=("+972501234567",))
    assert none == Contact(status="not_found")
    assert (two.status, two.number, two.candidates) == ("ambiguous", None, ("+972501234567", "0355512345"))


async def test_an_export_contains_everything_stored_about_a_user(make: Make) -> None:
    """Facts with their sources, the profile and pending conversations; nothing of other users, no vector."""
    sut = await make(profiler=["- likes teal"])
    await filled(sut)
    await sut.gaia.memory.profile(sut.scope("itay"))
    await sut.gaia.memory.remember(sut.scope("noa"), "mine alone")
    await sut.chat("itay", "telegram", "not learned yet")

    data = await exported(sut, "itay")

    assert (data["format"], data["version"], data["scope"]) == ("gaia-memory", 2, {"app": "gaia", "user": "itay"})
    assert [fact["text"] for fact in data["facts"]] == ["Sister is Noa", "likes teal"]
    assert data["facts"][0]["said_at"] == "2026-01-02T03:04:05.678901+00:00"
    assert [source["source"] for source in data["facts"][1]["sources"]] == ["add", "remember"]
    assert data["profile"] == {"bullets": ["likes teal"]}
    assert [waiting["session_id"] for waiting in data["pending"]] == ["itay:telegram"]
    assert "mine alone" not in json.dumps(data)
    assert "vector" not in json.dumps(data)


async def test_an_imported_fact_keeps_its_source_events(make: Make, tmp_path: Path) -> None:
    """In the other home, a fact still names the conversation that taught it."""
    sut = await make(extractor=[facts("Itay has a dog")])
    await sut.chat("itay", "cli", "I got a dog")
    await sut.sweep_after_idle()
    data = await exported(sut, "itay")
    [source] = data["facts"][0]["sources"]
    other = await make(home=tmp_path / "other")

    await other.gaia.memory.import_(other.scope("itay"), data)

    assert source["event_ids"]
    assert plain(await exported(other, "itay")) == plain(data)
    receipt = await other.gaia.memory.forget(other.scope("itay"), session_id="itay:cli")
    assert receipt.count == 1


async def test_an_import_is_complete_searchable_and_idempotent(make: Make, tmp_path: Path) -> None:
    """Into another home or for another user; plain mem0 has it as well."""
    sut = await make()
    await filled(sut)
    data = await exported(sut, "itay")
    other = await make(home=tmp_path / "other")
    memory = other.gaia.memory

    counts = [await memory.import_(other.scope(user), data) for user in ("itay", "itay", "noa")]
    first = await exported(other, "itay")
    counts.append(await memory.import_(other.scope("itay"), first))

    assert counts == [2, 2, 2, 2]
    assert plain(first) == plain(data)
    assert await exported(other, "itay") | {"exported_at": ""} == first | {"exported_at": ""}
    assert [row["source"] for row in await other.fact_rows("itay")] == ["import", "import"]
    assert await other.texts("noa") == ["Sister is Noa", "likes teal"]
    [hit, *_] = await memory.recall(other.scope("itay"), "who is my sister?")
    assert hit.fact.text == "Sister is Noa"
    assert hit.missing == ()
    assert "vectors" in hit.why


async def test_an_import_skips_facts_forgotten_since_unless_asked_to_restore_them(make: Make) -> None:
    """Its tombstone applies to imports, in any spelling."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("itay")
    await filled(sut)
    data = await exported(sut, "itay")
    data["facts"][0]["text"] = "SISTER is Noa."
    gone = next(fact for fact in await memory.facts(scope) if fact.text == "Sister is Noa")
    await memory.forget(scope, fact_id=gone.id)

    assert await memory.import_(scope, data) == 1
    assert await sut.texts("itay") == ["likes teal"]

    assert await memory.import_(scope, data, restore_forgotten=True) == 2
    assert await sut.texts("itay") == ["likes teal", "SISTER is Noa."]
    assert await memory.import_(scope, data) == 2


async def test_an_import_does_not_undo_forgetting_everything(make: Make) -> None:
    """Earlier facts stay forgotten, later ones are imported; restoring needs its own option."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("itay")
    await filled(sut)
    data = await exported(sut, "itay")
    await memory.forget(scope)

    assert await memory.import_(scope, data) == 0
    assert await sut.texts("itay") == []
    assert await memory.import_(scope, {**data, "facts": [{"text": "likes red"}]}) == 1

    assert await memory.import_(scope, data, restore_forgotten=True) == 2
    assert sorted(await sut.texts("itay")) == ["Sister is Noa", "likes red", "likes teal"]


@pytest.mark.parametrize("scope", ["app_user", "user"])
async def test_an_import_does_not_undo_forgetting_a_conversation(make: Make, scope: str, tmp_path: Path) -> None:
    """Facts of this conversation alone stay away, shared ones come without it, later ones are imported."""
    sut = await make(
        f"memory: {{scope: {scope}}}", extractor=[facts("only cli", "both"), facts("both"), facts("later")]
    )
    memory, itay = sut.gaia.memory, sut.scope("itay")
    for channel in ("cli", "telegram"):
        await sut.chat("itay", channel, f"hello {channel}, and both")
        await sut.sweep_after_idle()
    older = await exported(sut, "itay")
    await memory.forget(itay, session_id="itay:cli")
    await sut.chat("itay", "cli", "hello later")
    await sut.sweep_after_idle()
    newer = await exported(sut, "itay")

    assert await memory.import_(itay, older) == 1
    assert await memory.import_(itay, newer) == 2
    assert plain(await exported(sut, "itay")) == plain(newer)
    [both] = [fact for fact in newer["facts"] if fact["text"] == "both"]
    assert "itay:cli" not in json.dumps(both)

    await memory.forget(itay)
    assert await memory.import_(itay, older, restore_forgotten=True) == 2
    assert sorted(await sut.texts("itay")) == ["both", "only cli"]

    other = await make(f"memory: {{scope: {scope}}}", home=tmp_path / "other")
    for source in (source for fact in older["facts"] for source in fact["sources"]):
        source["event_ids"] = []
    await other.gaia.memory.import_(other.scope("itay"), older)
    assert (await other.gaia.memory.forget(other.scope("itay"), session_id="itay:cli")).count == 1
    assert await other.gaia.memory.import_(other.scope("itay"), older) == 1


async def test_ids_in_the_export_are_not_reused(make: Make) -> None:
    """An import of another user's export creates new facts, and the other user's stay untouched."""
    sut = await make()
    await filled(sut)
    theirs = await exported(sut, "itay")
    data = {**theirs, "facts": [{**fact, "text": f"{fact['text']}, they say"} for fact in theirs["facts"]]}

    assert await sut.gaia.memory.import_(sut.scope("noa"), data) == 2
    assert await exported(sut, "itay") | {"exported_at": ""} == theirs | {"exported_at": ""}
    mine = await exported(sut, "noa")
    assert not {fact["id"] for fact in mine["facts"]} & {fact["id"] for fact in theirs["facts"]}
    assert mine["scope"]["user"] == "noa"


async def test_skipped_forgotten_facts_are_not_embedded(make: Make) -> None:
    """No forgotten text is sent to a model."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("itay")
    await filled(sut)
    data = await exported(sut, "itay")
    await memory.forget(scope)
    before = len(sut.script.embedded)

    await memory.import_(scope, data)

    assert sut.script.embedded[before:] == []


async def test_with_memory_off_export_works_and_import_is_refused(make: Make) -> None:
    """Users can export their data, whatever is switched off."""
    sut = await make()
    await filled(sut)
    await sut.close()
    sut.write_config("memory: {enabled: false}")
    await sut.open()

    data = await exported(sut, "itay")

    assert [fact["text"] for fact in data["facts"]] == ["Sister is Noa", "likes teal"]
    with pytest.raises(MemoryDisabledError):
        await sut.gaia.memory.import_(sut.scope("itay"), data)
    with pytest.raises(MemoryDisabledError):
        await sut.gaia.memory.resolve_contact(sut.scope("itay"), "Noa")


async def test_an_older_export_brings_no_earlier_wording_of_a_forgotten_fact_back(make: Make) -> None:
    """Unless the import is to restore what was forgotten."""
    sut = await make()
    memory, itay = sut.gaia.memory, sut.scope("itay")
    illness = await memory.remember(itay, "Has the illness zanzibar")
    data = await exported(sut, "itay")
    await memory.update(itay, illness.id, text="Has the illness quillon")
    await memory.forget(itay, fact_id=illness.id)

    await memory.import_(itay, data)
    assert await sut.texts("itay") == []
    await memory.import_(itay, data, restore_forgotten=True)
    assert await sut.texts("itay") == ["Has the illness zanzibar"]
