"""What a forgotten fact was said with is no evidence of any other fact, on each database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from gaia_memory.drafts.excerpts import without_forgotten_excerpts
from gaia_memory.facts import FactStore, merge_scopes
from gaia_memory.models import Draft, NewFact, Scope
from support.databases import ITAY, NOA, NOW, database

__all__ = ["database"]

facts = FactStore()


def said(text: str, events: Sequence[str], *, session: str = "s", excerpt: str = "I like tea and Oslo") -> Draft:
    """Return a learned fact with what the person said."""
    fact = NewFact(text, session_id=session, said_at=NOW - timedelta(days=1))
    return Draft(fact=fact, source="conversation", app="gaia", event_ids=tuple(events), excerpt=excerpt)


async def excerpts(database, scope: Scope = ITAY) -> dict[str, list[str | None]]:
    """Return the excerpts of each fact by its text."""
    async with database.read_transaction() as tx:
        origins = await facts.provenance.origins(tx, scope)
        return {fact.text: [each.excerpt for each in origins[fact.id]] for fact in await facts.facts(tx, scope)}


async def test_the_excerpts_of_shared_events_are_emptied(database):
    """Those of other events, conversations and people stay; the sources stay, too."""
    drafts = [said("Likes tea", ["1", "2"]), said("Likes Oslo", ["2", "3"]), said("Likes Rome", ["3"])]
    async with database.transaction() as tx:
        [tea, *_] = await facts.writer.write(tx, ITAY, [*drafts, said("Likes Oslo", ["2"], session="other")], now=NOW)
        await facts.writer.write(tx, NOA, drafts, now=NOW)
        await facts.provenance.clear_excerpts(tx, ITAY, [tea.id])
        await facts.delete(tx, ITAY, [tea.id])

    quote = "I like tea and Oslo"
    assert await excerpts(database) == {"Likes Oslo": [None, quote], "Likes Rome": [quote]}
    assert await excerpts(database, NOA) == {text: [quote] for text in ("Likes tea", "Likes Oslo", "Likes Rome")}


async def test_a_fact_without_events_empties_no_excerpt(database):
    """A fact that the host added shares nothing with another one."""
    added = [Draft(fact=NewFact(text), source="add", excerpt=text) for text in ("Likes tea", "Likes Oslo")]
    async with database.transaction() as tx:
        [tea, _] = await facts.writer.write(tx, ITAY, added, now=NOW)
        await facts.provenance.clear_excerpts(tx, ITAY, [tea.id])

    assert await excerpts(database) == {"Likes tea": ["Likes tea"], "Likes Oslo": ["Likes Oslo"]}


async def test_a_merge_keeps_excerpts_but_those_of_what_the_other_id_forgot(database):
    """Facts that both know keep what was said to either."""
    async with database.transaction() as tx:
        [tea, _] = await facts.writer.write(tx, NOA, [said("Likes tea", ["1"]), said("Likes Rome", ["9"])], now=NOW)
        await facts.tombstones.add_tombstones(tx, NOA, [tea.id], said_until=NOW.timestamp())
        await facts.delete(tx, NOA, [tea.id])
        mine = [said("Likes tea", ["4"]), said("Likes Oslo", ["4", "5"]), said("Likes Rome", ["6"], excerpt="Rome!")]
        await facts.writer.write(tx, ITAY, mine, now=NOW)
        await merge_scopes(facts, tx, ITAY, NOA)

    assert await excerpts(database, NOA) == {"Likes Rome": ["I like tea and Oslo", "Rome!"], "Likes Oslo": [None]}


async def test_an_excerpt_that_repeats_a_forgotten_fact_is_not_kept(database):
    """Nor one that shares an event with a forgotten statement; one that was said later is kept."""
    later = NewFact("Likes jazz", said_at=NOW + timedelta(days=1))
    drafts = [
        said("Lives in Berlin", ["1"], excerpt="I live in Berlin and love pistachio ice"),
        said("Has a dog", ["2"], excerpt="My dog barks"),
        said("Has a cat", ["3"], excerpt="My cat purrs"),
        Draft(fact=later, source="conversation", event_ids=("4",), excerpt="Jazz and pistachio ice!"),
        Draft(fact=NewFact("Has a boat"), source="add"),
    ]
    async with database.transaction() as tx:
        [gone] = await facts.writer.write(tx, ITAY, [said("Loves pistachio ice", ["0"])], now=NOW)
        await facts.tombstones.add_tombstones(tx, ITAY, [gone.id], said_until=NOW.timestamp())
        await facts.delete(tx, ITAY, [gone.id])
        kept = await without_forgotten_excerpts(facts.tombstones, tx, ITAY, drafts, gone=[said("x", ["2"])])

    assert [draft.excerpt for draft in kept] == [None, None, "My cat purrs", "Jazz and pistachio ice!", None]
    assert [draft.fact for draft in kept] == [draft.fact for draft in drafts]
