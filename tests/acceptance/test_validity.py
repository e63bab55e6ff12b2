"""What is true for a time only, seen from outside: nothing expired or still to come is shown as current."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact, Scope
from support.harness import SYS, Sut
from support.storage.plain_mem0 import list_rows

Make = Callable[..., Awaitable[Sut]]

OpenSut = Callable[..., Awaitable[Sut]]

DAY = timedelta(days=1)
LODGER, DOG, COURSE = "Shares the flat with a lodger", "Has a dog", "Takes a pottery course in the flat"


async def revisions(sut: Sut) -> list[Any]:
    """Return the state of each scope, and what the mem0 store still has to follow."""
    async with sut.gaia.memory.stores.database.read_transaction() as tx:
        rows = (await tx.exec_driver_sql("SELECT partition, revision FROM gaia_scopes ORDER BY partition")).all()
        dirty = (await tx.exec_driver_sql("SELECT count(*) FROM gaia_outbox")).scalar_one()
    return [*rows, dirty]


async def shown(sut: Sut, scope: Scope) -> dict[str, list[str]]:
    """Return the texts that each way of reading shows, sorted."""
    memory = sut.gaia.memory
    hits = await memory.recall(scope, "Who lives in the flat with a lodger, a dog or a course?", limit=50)
    page = await memory.browse(scope)
    filtered = await memory.browse(scope, filters={"source": "remember"})
    read = {
        "recall": [hit.fact.text for hit in hits],
        "facts": [fact.text for fact in await memory.facts(scope)],
        "browse": [fact.text for fact in page.facts],
        "filtered": [fact.text for fact in filtered.facts],
        "words": [fact.text for fact in await memory.holding(scope, "lodger dog course", limit=9)],
        "profile": list((await memory.preview_profile(scope)).fallback.bullets),
    }
    assert await memory.count(scope) == page.total == len(read["facts"])
    assert (await memory.status(scope)).facts == page.total
    return {name: sorted(texts) for name, texts in read.items()}


async def test_what_a_person_asks_to_remember_until_a_day_expires_after_it(opened: OpenSut) -> None:
    """The answer names the day; a deadline is none."""
    sut = await opened()
    now = sut.clock.now()
    [answer] = await sut.chat("ada", "cli", "/remember A friend stays with me until 30 December")
    await sut.chat("ada", "cli", "/remember The report must be done by 30 December")

    stays, report = await sut.gaia.memory.facts(sut.scope("ada"))
    assert stays.valid_until is not None
    assert (stays.valid_until > now, stays.valid_until.astimezone(now.tzinfo).month) == (True, 12)
    assert answer.splitlines()[-1].startswith("Until ")
    assert "30 Dec" in answer.splitlines()[-1]
    assert report.valid_until is None


@pytest.mark.acceptance("T15")
async def test_what_has_expired_is_shown_nowhere(opened: OpenSut) -> None:
    """At the moment it expires and without a write; what begins later is shown from then on."""
    sut = await opened()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    lodger = await memory.remember(scope, LODGER, valid_until=now + 7 * DAY)
    await memory.remember(scope, DOG)
    await memory.remember(scope, COURSE, valid_from=now + 14 * DAY)
    await memory.settled()

    assert all(texts == sorted([LODGER, DOG]) for texts in (await shown(sut, scope)).values())
    before = await revisions(sut)
    sut.clock.advance(7 * DAY - timedelta(seconds=1))
    assert all(texts == sorted([LODGER, DOG]) for texts in (await shown(sut, scope)).values())
    sut.clock.advance(1)
    assert all(texts == [DOG] for texts in (await shown(sut, scope)).values())
    sut.clock.advance(7 * DAY)
    assert all(texts == sorted([DOG, COURSE]) for texts in (await shown(sut, scope)).values())
    assert await revisions(sut) == before
    assert len((await memory.export(scope))["facts"]) == 3

    await sut.sweep()
    assert sorted(await sut.texts("ada")) == sorted([DOG, COURSE])
    [period] = await memory.history(scope, lodger.id)
    assert (period.ended_at, period.why, period.actor) == (now + 7 * DAY, "expired", "clock")
    assert await memory.count(sut.scope("eve")) == 0


@pytest.mark.acceptance("T15")
@pytest.mark.parametrize("is_swept", [False, True])
async def test_an_expired_fact_that_is_said_again_is_current_again(opened: OpenSut, is_swept: bool) -> None:
    """Whether or not a sweep has moved it to history; its first time stays known."""
    sut = await opened()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    first = await memory.remember(scope, LODGER, valid_until=now + DAY)
    sut.clock.advance(3 * DAY)
    if is_swept:
        await sut.sweep()
    assert await memory.facts(scope) == []

    again = await memory.remember(scope, LODGER)

    assert (again.id, again.valid_until, again.first_said_at) == (first.id, None, now)
    assert await sut.texts("ada") == [LODGER]
    periods = await memory.history(scope, first.id)
    assert [(past.said_at, past.ended_at) for past in periods] == [(now, now + DAY), (now + 3 * DAY, None)]


@pytest.mark.acceptance("T15")
async def test_plain_mem0_knows_the_last_day_of_a_fact(make: Make) -> None:
    """A fact that ends at midnight holds until the day before; one that begins later is not there yet."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    midnight = (sut.clock.now().astimezone(UTC) + 3 * DAY).replace(hour=0, minute=0, second=0, microsecond=0)
    await memory.remember(scope, LODGER, valid_until=midnight)
    await memory.remember(scope, DOG, valid_until=midnight + timedelta(minutes=1))
    await memory.remember(scope, COURSE, valid_from=midnight)
    await memory.settled()

    listed = await asyncio.to_thread(list_rows, sut.gaia.mem0_config(), scope)
    days = {row["memory"]: row["expiration_date"] for row in listed}

    assert days == {LODGER: str((midnight - DAY).date()), DOG: str(midnight.date())}


async def test_a_running_session_drops_what_has_expired_or_was_replaced(make: Make) -> None:
    """Its profile changes at the next turn, and at no other."""
    sut = await make(main=["ok"], profiler=["- first", "- second", "- third"])
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.remember(scope, LODGER, valid_until=sut.clock.now() + timedelta(minutes=5))
    dog = await memory.remember(scope, DOG)

    await sut.chat("ada", "cli", "hi")
    await memory.remember(scope, COURSE)
    await sut.chat("ada", "cli", "and?")
    sut.clock.advance(timedelta(minutes=6))
    await sut.chat("ada", "cli", "now?")
    await sut.chat("ada", "cli", "and now?")
    await memory.update(scope, dog.id, text="Has a cat")
    await sut.chat("ada", "cli", "so?")

    blocks = [next(word for word in ("first", "second", "third") if f"- {word}" in SYS(each)) for each in sut.REQ]
    assert blocks == ["first", "first", "second", "second", "third"]
    assert LODGER not in sut.PROF[1]
    assert DOG not in sut.PROF[2]


def conversation_answer(text: str, **more: object) -> str:
    """Return an extractor's answer with one fact."""
    return json.dumps({"memory": [{"id": "0", "text": text, "attributed_to": "user", **more}]})


@pytest.mark.acceptance("T15")
@pytest.mark.parametrize(
    ("given", "zone", "hours"),
    [("{day}", "UTC", 24), ("{day}T17:00", "UTC", 17), ("{day}", "Asia/Tokyo", 15), ("{day}T17:00+02:00", "UTC", 15)],
)
async def test_what_a_model_dates_holds_until_then(make: Make, given: str, zone: str, hours: int) -> None:
    """The last day still counts; a time without a zone is the person's, and what is not well-formed is left out."""
    sut = await make(f"memory: {{time_zone: {zone}}}")
    last = (sut.clock.now().astimezone(UTC) + 3 * DAY).replace(hour=0, minute=0, second=0, microsecond=0)
    dates = {"valid_until": given.format(day=last.date()), "valid_from": "soon", "every": "hourly", "due_at": 7}
    sut.script.answers["extractor"].append(conversation_answer("User's sister stays until Friday", **dates))
    scope = sut.scope("ada")
    await sut.chat("ada", "cli", "My sister stays with me until Friday.")
    await sut.sweep_after_idle()

    [fact] = await sut.gaia.memory.facts(scope)
    saturday = last + timedelta(hours=hours)
    assert fact.valid_until == saturday
    assert (fact.valid_from, fact.every, fact.due_at) == (None, None, None)
    sut.clock.advance(saturday - sut.clock.now())
    assert await sut.gaia.memory.facts(scope) == []


@pytest.mark.acceptance("T15")
async def test_metadata_of_memory_bank_expire_a_fact(make: Make) -> None:
    """As `ttl` and as `expire_time`; a wrong one is refused and nothing is stored."""
    sut = await make()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    await memory.remember(scope, LODGER, metadata={"ttl": "60s"})
    await memory.add(scope, [NewFact(DOG, metadata={"expire_time": (now + DAY).isoformat(), "mood": "good"})])
    with pytest.raises(InvalidInputError, match=r"facts\[1\]: metadata\['ttl'\] is 'soon'"):
        await memory.add(scope, [NewFact(COURSE), NewFact("Has a bird", metadata={"ttl": "soon"})])

    stored = {fact.text: (fact.valid_until, fact.metadata) for fact in await memory.facts(scope)}
    assert stored == {LODGER: (now + timedelta(seconds=60), {}), DOG: (now + DAY, {"mood": "good"})}
    sut.clock.advance(60)
    assert [fact.text for fact in await memory.facts(scope)] == [DOG]


def texts_of(facts_or_hits: Iterable[Any]) -> list[str]:
    """Return the texts of facts or hits."""
    return [getattr(each, "fact", each).text for each in facts_or_hits]


@pytest.mark.acceptance("T15")
async def test_as_of_a_day_of_its_time_an_expired_fact_is_found(opened: OpenSut) -> None:
    """Before and after the sweep; not as known before it was said."""
    sut = await opened()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    await memory.remember(scope, LODGER, valid_until=now + 3 * DAY)
    await memory.remember(sut.scope("eve"), LODGER)
    sut.clock.advance(10 * DAY)
    for _ in range(2):
        assert texts_of(await memory.recall(scope, "lodger", as_of=now + DAY)) == [LODGER]
        assert texts_of((await memory.browse(scope, as_of=now + DAY)).facts) == [LODGER]
        for as_of, known_at in ((now - DAY, None), (now + 3 * DAY, None), (now + DAY, now - DAY), (None, None)):
            assert await memory.recall(scope, "lodger", as_of=as_of, known_at=known_at) == []
            assert (await memory.browse(scope, as_of=as_of, known_at=known_at)).total == 0
        await sut.sweep()
    await memory.forget(scope)
    assert await memory.recall(scope, "lodger", as_of=now + DAY) == []


async def test_each_value_is_found_as_of_its_time(opened: OpenSut) -> None:
    """By words, filters and pages, and by what was known."""
    sut = await opened()
    memory, scope, first_day = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    places = ("Lives in Oslo", "Lives in Berlin", "Lives in Rome")
    fact = await memory.remember(scope, places[0], category="home")
    for text in places[1:]:
        sut.clock.advance(10 * DAY)
        await memory.update(scope, fact.id, text=text)

    for number, text in enumerate(places):
        as_of = first_day + number * 10 * DAY + DAY
        found = await memory.explain(scope, "Where does she live?", as_of=as_of)
        assert (texts_of(found.hits), found.outdated) == ([text], ())
        assert texts_of(await memory.recall(scope, "live", as_of=as_of, filters={"category": "home"})) == [text]
        assert await memory.recall(scope, "live", as_of=as_of, filters={"category": "food"}) == []
        page = await memory.browse(scope, as_of=as_of, filters={"category": "home"})
        assert (texts_of(page.facts), page.total, page.has_more) == ([text], 1, False)
    # On the second day, nobody knew of a move.
    known = await memory.recall(scope, "live", as_of=first_day + 11 * DAY, known_at=first_day + DAY)
    assert texts_of(known) == [places[0]]
    assert texts_of(await memory.recall(scope, "live", known_at=first_day + 11 * DAY)) == [places[1]]


async def test_an_explanation_names_what_was_left_out_as_outdated(opened: OpenSut) -> None:
    """What was replaced and what has expired, with the reason; not what begins later."""
    sut = await opened()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    home = await memory.remember(scope, "Lives in Oslo in a flat")
    await memory.remember(scope, LODGER, valid_until=now + DAY)
    await memory.remember(scope, COURSE, valid_from=now + 30 * DAY)
    sut.clock.advance(2 * DAY)
    await memory.update(scope, home.id, text="Lives in Berlin in a flat")

    for _ in range(2):
        explained = await memory.explain(scope, "Who lives in the flat with a lodger?")
        left_out = {hit.fact.text: hit for hit in explained.outdated}
        assert texts_of(explained.hits) == ["Lives in Berlin in a flat"]
        assert set(left_out) == {"Lives in Oslo in a flat", LODGER}
        assert {text: hit.ending.why for text, hit in left_out.items()} == {
            "Lives in Oslo in a flat": "replaced",
            LODGER: "expired",
        }
        assert left_out["Lives in Oslo in a flat"].ending.ended_by == home.id
        assert left_out[LODGER].ending.ended_at == now + DAY
        for hit in explained.outdated:
            assert (hit.score, sum(hit.why.values())) == (0.0, pytest.approx(0.0))
            assert hit.why[hit.ending.why] < 0
        await sut.sweep()
    assert (await memory.explain(scope, "Who lives in the flat?", filters={"category": "x"})).outdated == ()


@pytest.mark.parametrize("name", ["as_of", "known_at"])
@pytest.mark.parametrize("value", ["2026-03-01", datetime(2026, 3, 1)])  # noqa: DTZ001
async def test_a_time_without_a_zone_is_refused_by_name(make: Make, name: str, value: Any) -> None:
    """Nothing is guessed."""
    sut = await make()
    memory, scope = sut.gaia.memory, sut.scope("ada")
    for reading in (memory.recall, memory.explain):
        with pytest.raises(InvalidInputError, match=f"{name} is .*time zone"):
            await reading(scope, "tea", **{name: value})
    with pytest.raises(InvalidInputError, match=f"{name} is .*time zone"):
        await memory.browse(scope, **{name: value})


@pytest.mark.parametrize(
    ("moment", "zone"),
    [(datetime.min.replace(tzinfo=UTC), "America/New_York"), (datetime(9999, 12, 31, 20, tzinfo=UTC), "Asia/Tokyo")],
)
async def test_the_ends_of_the_calendar_have_answers(make: Make, moment: datetime, zone: str) -> None:
    """In a zone in which they do not exist."""
    sut = await make(f"memory: {{time_zone: {zone}}}")
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.add(scope, [NewFact(DOG)])

    assert texts_of(await memory.recall(scope, "What dog did I have yesterday?", as_of=moment)) == [DOG]


@pytest.mark.acceptance("T18")
@pytest.mark.parametrize("rounds", [20, pytest.param(250, marks=pytest.mark.slow)])
async def test_many_recalls_write_nothing(make: Make, rounds: int) -> None:
    """No revision, outbox row or column changes, whatever is asked, with facts that have ended and expired."""
    sut = await make()
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    dog = await memory.remember(scope, DOG)
    await memory.remember(scope, LODGER, valid_until=now + DAY)
    sut.clock.advance(2 * DAY)
    await memory.update(scope, dog.id, text="Has a cat")
    # The engine's own sweep then finds nothing to do.
    await sut.sweep()
    await memory.settled()
    tables = ("gaia_scopes", "gaia_facts", "gaia_past_facts", "gaia_endings", "gaia_fact_sources", "gaia_outbox")

    async def dump() -> dict[str, list[Any]]:
        async with memory.stores.database.read_transaction() as tx:
            return {name: list((await tx.exec_driver_sql(f"SELECT * FROM {name}")).all()) for name in tables}

    before = await dump()
    for number in range(rounds):
        as_of = now + DAY * (number % 4)
        await memory.recall(scope, f"dog {number}")
        await memory.recall(scope, "lodger", as_of=as_of, known_at=now + DAY * (number % 3))
        await memory.explain(scope, "cat", filters={"source": "remember"})
        await memory.browse(scope, as_of=as_of)
    assert await dump() == before
    assert all(before[name] for name in tables[:5])
