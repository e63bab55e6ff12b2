"""The search for words, on each database."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaia_memory.facts import SqlFacts
from gaia_memory.facts.indexing.keyword_index import scope_prefix
from gaia_memory.models import Scope
from gaia_memory.recall.pipeline import Recall
from gaia_memory.testing import FakeClock
from support.databases import ITAY, NOA, NOW, database, make_draft
from support.recall_parts import Models

__all__ = ["database"]

facts = SqlFacts()


async def found(database, query, *texts, scope=ITAY, limit=10):
    """Write texts for ITAY and return those that a query finds, best first."""
    async with database.transaction() as tx:
        await facts.write(tx, ITAY, [make_draft(text) for text in texts], now=NOW)
    return await search(database, query, scope=scope, limit=limit)


async def search(database, query, *, scope=ITAY, limit=10):
    recall = Recall(database, facts, Models(), FakeClock())
    return [fact.text for fact in await recall.find_by_words(scope, query, limit=limit)]


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
async def test_a_word_is_found_in_other_forms(database, query, text):
    """Stems, case and accents do not matter, nor do missing spaces between words."""
    assert await found(database, query, text, "something else") == [text]


@pytest.mark.parametrize("query", ["", "   ", "?!", "\x00", "\ud800", "☕", "大阪", "zebra"])
async def test_a_query_without_a_matching_word_finds_nothing(database, query):
    """It is not an error."""
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
async def test_operators_of_query_languages_have_no_meaning(database, query):
    """A query is only a list of words."""
    assert await found(database, query, "likes tea", "has a dog") == ["likes tea"]


async def test_rare_words_and_several_matching_words_weigh_more(database):
    """Rarity is measured among the user's own facts."""
    texts = [f"likes thing {number}" for number in range(8)] + ["has a dog", "likes the dog"]

    hits = await found(database, "likes dog", *texts)

    assert hits[:2] == ["likes the dog", "has a dog"]


async def test_a_label_or_speaker_is_a_word_of_the_fact(database):
    """It counts like the others, also among many facts."""
    texts = ["wifi network: hunter2", *(f"The network of the wifi in room {number}" for number in range(8))]

    assert (await found(database, "wifi network", *texts))[0] == texts[0]
    assert await search(database, "hunter2") == texts[:1]


async def test_the_limit_keeps_the_best_matches(database):
    """A limit of zero returns nothing."""
    texts = ["tea", "tea and cake", "tea, cake and jam"]

    assert await found(database, "tea cake jam", *texts, limit=1) == ["tea, cake and jam"]
    assert await found(database, "tea cake jam", limit=0) == []


async def test_words_are_found_in_their_own_scope_only(database):
    """Another user's facts with the same words do not match."""
    assert await found(database, "tea", "likes tea", scope=NOA) == []
    async with database.transaction() as tx:
        await facts.write(tx, NOA, [make_draft("drinks coffee")], now=NOW)
    assert await search(database, "tea", scope=NOA) == []
    assert await search(database, "coffee") == []


async def test_a_deleted_fact_is_no_longer_found(database):
    """Its words are deleted with it."""
    async with database.transaction() as tx:
        one, _ = await facts.write(tx, ITAY, [make_draft("likes tea"), make_draft("sells tea")], now=NOW)
        await facts.delete(tx, ITAY, [one.id])

    assert await search(database, "tea") == ["sells tea"]


async def test_long_texts_words_and_queries_are_accepted(database):
    """A pasted page must not cause an error."""
    page = " ".join(f"word{number}" for number in range(20_000))
    long_word = "x" * 5000

    hits = await found(database, f"{long_word} {page}", page, f"a {long_word} b")

    assert sorted(hits) == [f"a {long_word} b", page]


def test_no_scope_prefix_is_a_prefix_of_another():
    """Otherwise a word of one user could match the start of another user's word."""
    prefixes = [scope_prefix(number) for number in range(500)]

    assert len(set(prefixes)) == 500
    assert not [one for one in prefixes for two in prefixes if one != two and two.startswith(one)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=40), query=st.text(max_size=40))
async def test_no_text_and_no_query_can_break_the_index(database, text, query):
    """Texts and queries are generated from any characters."""
    scope = Scope("gaia", "fuzz")
    async with database.transaction() as tx:
        await facts.write(tx, scope, [make_draft(f"x {text}")], now=NOW)
    await search(database, query, scope=scope)

    assert await search(database, "x", scope=scope)
