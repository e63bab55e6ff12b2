"""The contract of the keyword index, on each database."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaia_memory.facts import SqlFacts
from gaia_memory.facts.indexing.keyword_index import scope_prefix
from gaia_memory.models import Scope
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = SqlFacts()


async def found(database, query, *texts, scope=ITAY, limit=10):
    """Write texts for ITAY and return those that a query finds, best first."""
    async with database.transaction() as tx:
        written = await facts.write(tx, ITAY, [make_draft(text) for text in texts], now=NOW)
        names = {fact.id: fact.text for fact in written}
        return [names[hit.fact_id] for hit in await facts.match(tx, scope, query, limit=limit)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cat", "I love cats"),
        ("CATS", "my cat is old"),
        ("running shoes", "she runs daily"),
        ("cafe", "met at the Café Central"),
        ("Zu\u0308rich", "moved to Zürich"),
        ("will", "Will plays guitar"),
        ("שלום", "אמר לי שָׁלוֹם"),
        ("кошка", "это моя кошка"),
        ("東京", "住在東京都港区"),
        ("京都", "明日京都に行く"),
        ("茶", "緑茶が好き"),
        ("커피", "나는 커피를 좋아해"),
        ("กาแฟ", "ฉันชอบกาแฟมาก"),
        ("हिन्दी", "वह हिन्दी बोलती है"),
        ("snake_case", "writes in snake case"),
        ("2026", "flies on 2026-03-01"),
    ],
)
async def test_a_word_is_found_as_a_person_would_expect(database, query, text):
    """By its stem, in any case, with or without accents, also where words have no spaces between them."""
    assert await found(database, query, text, "something else") == [text]


@pytest.mark.parametrize("query", ["", "   ", "?!", "\x00", "\ud800", "☕", "大阪", "zebra"])
async def test_a_query_without_a_word_that_occurs_finds_nothing(database, query):
    """It is no error either."""
    assert await found(database, query, "likes tea", "住在東京") == []


@pytest.mark.parametrize(
    "query",
    [
        'tea" OR *',
        "tea AND",
        "NEAR(tea)",
        "words:tea",
        "-tea",
        "tea*",
        "'tea'",
        "tea & !",
        "tea | (",
        "tea <-> ",
        "t:ea tea",
        "\\tea",
    ],
)
async def test_a_query_is_words_and_never_a_language(database, query):
    """What is an operator elsewhere means nothing here."""
    assert await found(database, query, "likes tea", "has a dog") == ["likes tea"]


async def test_a_rare_word_weighs_more_than_a_common_one_and_more_words_more_than_one(database):
    """Rare among the person's own facts."""
    texts = [f"likes thing {number}" for number in range(8)] + ["has a dog", "likes the dog"]

    hits = await found(database, "likes dog", *texts)

    assert hits[:2] == ["likes the dog", "has a dog"]


async def test_the_limit_keeps_the_best(database):
    """None at all for a limit of zero."""
    texts = ["tea", "tea and cake", "tea, cake and jam"]

    assert await found(database, "tea cake jam", *texts, limit=1) == ["tea, cake and jam"]
    assert await found(database, "tea cake jam", limit=0) == []


async def test_words_are_found_in_their_own_scope_only(database):
    """Whatever another person has said with the same words."""
    assert await found(database, "tea", "likes tea", scope=NOA) == []
    async with database.transaction() as tx:
        await facts.write(tx, NOA, [make_draft("drinks coffee")], now=NOW)
        assert await facts.match(tx, NOA, "tea", limit=5) == []
        assert await facts.match(tx, ITAY, "coffee", limit=5) == []


async def test_a_deleted_fact_is_found_no_more(database):
    """Its words leave with it."""
    async with database.transaction() as tx:
        one, two = await facts.write(tx, ITAY, [make_draft("likes tea"), make_draft("sells tea")], now=NOW)
        await facts.delete(tx, ITAY, [one.id])

        assert [hit.fact_id for hit in await facts.match(tx, ITAY, "tea", limit=5)] == [two.id]


async def test_long_texts_words_and_queries_are_taken(database):
    """A pasted page is no reason to fail."""
    page = " ".join(f"word{number}" for number in range(20_000))
    long_word = "x" * 5000

    hits = await found(database, f"{long_word} {page}", page, f"a {long_word} b")

    assert sorted(hits) == [f"a {long_word} b", page]


def test_no_scope_begins_like_another():
    """Else one person's word could be the beginning of somebody else's."""
    prefixes = [scope_prefix(number) for number in range(500)]

    assert len(set(prefixes)) == 500
    assert not [one for one in prefixes for two in prefixes if one != two and two.startswith(one)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=40), query=st.text(max_size=40))
async def test_no_text_and_no_query_can_break_the_index(database, text, query):
    """Not even by accident; every letter of every language."""
    scope = Scope("gaia", "fuzz")
    async with database.transaction() as tx:
        await facts.write(tx, scope, [make_draft(f"x {text}")], now=NOW)
        await facts.match(tx, scope, query, limit=3)

        assert await facts.match(tx, scope, "x", limit=1)
