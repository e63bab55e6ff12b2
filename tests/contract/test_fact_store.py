"""The contract of the fact store, on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gaia_memory.facts import FactStore, Outbox
from gaia_memory.models import Profile, Scope, ScopeState, SessionKey
from support.concurrency.two_writers import SteppedConnection
from support.databases import ITAY, NOA, NOW, database, fact_texts, make_draft

__all__ = ["database"]

facts = FactStore()
HOSTILE = ["*", "a b", " pad ", "a:b", "it\x00ay", "\ud800", "' OR 1=1 --", "\u05d0" * 3000, "A", "a"]


async def write(database, scope, *drafts):
    """Write drafts in a transaction."""
    async with database.transaction() as tx:
        return await facts.writer.write(tx, scope, drafts, now=NOW)


async def listed(database, scope):
    """Return the texts of a scope."""
    async with database.read_transaction() as tx:
        return fact_texts(await facts.facts(tx, scope))


async def test_facts_are_paged_oldest_first(database):
    """Facts of one batch keep their order as well."""
    await write(database, ITAY, *(make_draft(f"fact {number}") for number in range(5)))
    await write(database, ITAY, make_draft("fact 5"))

    async with database.read_transaction() as tx:
        page = await facts.facts(tx, ITAY, limit=2, offset=3)
        assert await facts.count(tx, ITAY) == 6
    assert fact_texts(page) == ["fact 3", "fact 4"]


async def test_marked_facts_are_counted_in_the_persons_own_scope(database):
    """A text with the same characters is no mark, nor is another value."""
    marked = [{"unverified": True}, {"unverified": False}, {"unverified": "true"}, {"note": '"unverified":true'}]
    await write(database, ITAY, *(make_draft(f"fact {at}", **each) for at, each in enumerate(marked)))
    await write(database, NOA, make_draft("hers", a=1, unverified=True, unconfirmed=True))

    async with database.read_transaction() as tx:
        counts = [
            await facts.count_marked(tx, scope, name) for scope in (ITAY, NOA) for name in ("unverified", "unconfirmed")
        ]
    assert counts == [1, 0, 1, 1]


@pytest.mark.parametrize("again", ["user LIKES tea.", "  User \t likes\n tea ", "User likes tea\u3002"])
async def test_a_fact_that_differs_only_in_case_spaces_or_full_stop_is_the_same_fact(database, again):
    """The first wording is kept."""
    (first,) = await write(database, ITAY, make_draft("User likes tea"))
    (second,) = await write(database, ITAY, make_draft(again))

    assert second.id == first.id
    assert await listed(database, ITAY) == ["User likes tea"]


async def test_composed_and_decomposed_letters_are_equal(database):
    """Keyboards send one form, file systems the other."""
    await write(database, ITAY, make_draft("Lives in Zu\u0308rich"), make_draft("Lives in Z\u00fcrich"))

    assert len(await listed(database, ITAY)) == 1


async def test_equal_drafts_of_a_batch_become_one_fact_with_two_sources(database):
    """Facts are returned in the order of the drafts."""
    one, other, two = await write(
        database,
        ITAY,
        make_draft("likes tea", session="s1", events=["e1"]),
        make_draft("has a dog"),
        make_draft("Likes tea.", session="s2", events=["e2"], vector=(1.0, 0.0)),
    )

    async with database.read_transaction() as tx:
        sources = await facts.provenance.sources(tx, ITAY, [one.id])
        ids, _ = await facts.vectors(tx, ITAY, "offline/test/2")
    assert one.id == two.id != other.id
    assert sources == {SessionKey("gaia", "itay", "s1"): {"e1"}, SessionKey("gaia", "itay", "s2"): {"e2"}}
    assert ids == [one.id]


async def test_a_repeated_source_is_stored_once(database):
    """Learning the same events again adds nothing."""
    for _ in range(2):
        (fact,) = await write(database, ITAY, make_draft("likes tea", session="s1", events=["e1"]))
    await write(database, ITAY, make_draft("likes tea", session="s1", events=["e2"]))

    async with database.read_transaction() as tx:
        assert await facts.provenance.sources(tx, ITAY, [fact.id]) == {SessionKey("gaia", "itay", "s1"): {"e1", "e2"}}


async def test_a_missing_vector_is_added_and_an_existing_one_is_kept(database):
    """A repeated fact never replaces a vector, whichever embedder it is from."""
    (fact,) = await write(database, ITAY, make_draft("likes tea"))
    await write(database, ITAY, make_draft("likes tea", vector=(1.0, 2.0), embedder="a"))
    await write(database, ITAY, make_draft("likes tea", vector=(3.0, 4.0), embedder="b"))

    async with database.read_transaction() as tx:
        ids, matrix = await facts.vectors(tx, ITAY, "a")
        assert (await facts.vectors(tx, ITAY, "b"))[0] == []
    assert ids == [fact.id]
    assert matrix.dtype == "float32"
    assert matrix.tolist() == [[1.0, 2.0]]


async def test_every_write_raises_the_revision_by_one(database):
    """The number of facts makes no difference; caches are keyed by the revision."""
    seen = []
    async with database.read_transaction() as tx:
        seen.append(await facts.state(tx, ITAY))
    written = await write(database, ITAY, *(make_draft(f"fact {number}") for number in range(3)))
    async with database.transaction() as tx:
        seen.append(await facts.state(tx, ITAY))
        assert (await facts.delete(tx, ITAY, [written[0].id]))["facts"] == 1
        seen.append(await facts.state(tx, ITAY))
        await facts.delete_all(tx, ITAY, forgotten_at=7.0)
        seen.append(await facts.state(tx, ITAY))

    assert [state.revision for state in seen] == [0, 1, 2, 3]
    assert seen[-1] == ScopeState(revision=3, forgotten_at=7.0)


async def test_an_empty_write_changes_nothing(database):
    """Deleting an unknown id changes nothing either."""
    assert await write(database, ITAY) == []
    async with database.transaction() as tx:
        assert not any((await facts.delete(tx, ITAY, ["no such id"])).values())
        assert (await facts.state(tx, ITAY)).revision == 0


async def test_forgotten_at_never_decreases(database):
    """A slow clock must not let forgotten messages be learned again."""
    async with database.transaction() as tx:
        await facts.delete_all(tx, ITAY, forgotten_at=9.0)
        await facts.delete_all(tx, ITAY, forgotten_at=5.0)

        assert (await facts.state(tx, ITAY)).forgotten_at == 9.0


@pytest.mark.acceptance("C03", "L12")
async def test_similar_or_special_ids_have_separate_scopes(database):
    """Each has its own facts and cannot touch those of another."""
    scopes = [Scope(app, user) for user in HOSTILE for app in (None, "gaia")] + [Scope("a", "b:c"), Scope("a:b", "c")]
    written = [(await write(database, scope, make_draft(f"fact {number}")))[0] for number, scope in enumerate(scopes)]

    async with database.read_transaction() as tx:
        assert await facts.scopes(tx) == scopes
        for number, scope in enumerate(scopes):
            assert fact_texts(await facts.facts(tx, scope)) == [f"fact {number}"]
            assert list(await facts.get(tx, scope, [fact.id for fact in written])) == [written[number].id]
    async with database.transaction() as tx:
        assert not any((await facts.delete(tx, scopes[0], [fact.id for fact in written[1:]])).values())
        assert (await facts.delete_all(tx, scopes[0], forgotten_at=1.0))["facts"] == 1
        assert await facts.scopes(tx) == scopes[1:]


@pytest.mark.parametrize("session", HOSTILE)
async def test_any_session_id_can_be_a_source(database, session):
    """It is returned unchanged."""
    (fact,) = await write(database, ITAY, make_draft("x", session=session, events=["e\x00", "\ud800"]))

    async with database.read_transaction() as tx:
        assert await facts.provenance.sources(tx, ITAY, [fact.id]) == {
            SessionKey("gaia", "itay", session): {"e\x00", "\ud800"}
        }
        assert await facts.provenance.sourced_only_from(tx, ITAY, session) == [fact.id]
    assert fact.session_id == session


async def test_unstorable_characters_are_replaced_in_texts_and_kept_in_metadata(database):
    """Broken input may contain NUL and lone surrogates; the fact must not be lost."""
    (fact,) = await write(database, ITAY, make_draft("tea\x00 and \ud800 cake", note="a\x00\udfff"))

    assert fact.text == "tea\ufffd and \ufffd cake"
    assert fact.metadata == {"note": "a\x00\udfff"}


async def test_an_error_rolls_back_the_whole_transaction(database):
    """This includes facts, outbox and revision."""

    async def fail():
        async with database.transaction() as tx:
            await facts.writer.write(tx, ITAY, [make_draft("likes tea")], now=NOW)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()

    async with database.read_transaction() as tx:
        assert (await Outbox().store(tx)).lag == 0
        assert (await facts.state(tx, ITAY)).revision == 0


async def test_facts_learned_from_one_conversation_only_are_distinguished_from_shared_ones(database):
    """A fact that was also remembered explicitly is a shared one."""
    await write(
        database, ITAY, make_draft("only s1", session="s1", events=["e1"]), make_draft("both", session="s1", seq=1)
    )
    await write(database, ITAY, make_draft("both", session="s2", seq=9), make_draft("by hand", source="remember"))
    await write(database, ITAY, make_draft("told too", session="s1"), make_draft("told too", source="remember"))

    async with database.transaction() as tx:
        names = await facts.get(tx, ITAY, await facts.provenance.sourced_only_from(tx, ITAY, "s1"))
        dropped = await facts.provenance.drop_source(tx, ITAY, "s1")
        left = {fact.text: fact for fact in await facts.facts(tx, ITAY)}
        again = await facts.provenance.drop_source(tx, ITAY, "s1")

    assert [fact.text for fact in names.values()] == ["only s1"]
    assert (dropped, again) == (2, 0)
    assert (left["both"].session_id, left["both"].seq) == ("s2", 9)
    assert (left["told too"].session_id, left["told too"].source) == (None, "remember")
    assert left["only s1"].session_id == "s1"


async def test_every_query_of_an_unknown_scope_returns_an_empty_result(database):
    """No method raises an error."""
    async with database.transaction() as tx:
        assert await facts.facts(tx, ITAY) == []
        assert await facts.count(tx, ITAY) == 0
        assert await facts.get(tx, ITAY, ["x"]) == {}
        assert await facts.provenance.sources(tx, ITAY, ["x"]) == {}
        ids, matrix = await facts.vectors(tx, ITAY, "x")
        assert (ids, matrix.shape) == ([], (0, 0))
        assert await facts.provenance.sourced_only_from(tx, ITAY, "s") == []
        assert await facts.provenance.drop_source(tx, ITAY, "s") == 0
        await facts.tombstones.add_tombstones(tx, ITAY, ["x"], said_until=NOW.timestamp())
        await facts.tombstones.remove_tombstones(tx, ITAY, ["x"])
        assert await facts.tombstones.have_tombstones(tx, ITAY, ["x", "y"]) == [False, False]
        assert await facts.cached_profile(tx, ITAY) is None
        assert await facts.scopes(tx) == []


async def test_no_query_returns_facts_of_another_user(database):
    """This holds for equal sessions, texts and vectors, and for ids of the other user."""
    same = make_draft("likes tea", session="s", seq=1, said_at=NOW, vector=(1.0, 0.0))
    mine, _ = await write(database, ITAY, same, make_draft("has a dog", session="s", seq=2, vector=(1.0, 0.0)))
    theirs = await write(database, NOA, same, make_draft("has a cat", session="s", seq=2, vector=(1.0, 0.0)))
    ours, foreign = Scope("gaia", "itay"), [fact.id for fact in theirs]

    async with database.read_transaction() as tx:
        own = set(await facts.ids(tx, ours))
        assert mine.id in own
        assert len(own) == 2
        assert await facts.get(tx, ours, foreign) == {}
        assert {line.id for line in await facts.indexed_facts(tx, ours)} == own
        assert set(await facts.ids_matching(tx, ours, lambda fact: True)) == own
        assert set((await facts.vectors(tx, ours, "offline/test/2"))[0]) == own


async def test_forgetting_everything_removes_and_counts_all_rows_of_one_user(database):
    """Other users keep theirs."""
    await write(database, ITAY, make_draft("likes tea", session="s1", vector=(1.0, 0.0)), make_draft("has a dog"))
    await write(database, NOA, make_draft("likes tea"))
    async with database.transaction() as tx:
        fact = (await facts.facts(tx, ITAY))[1]
        await facts.tombstones.add_tombstones(tx, ITAY, [fact.id], said_until=NOW.timestamp())
        revision = (await facts.state(tx, ITAY)).revision
        await facts.cache_profile(tx, ITAY, Profile(bullets=("tea",), fingerprint="f", revision=revision))
        removed = await facts.delete_all(tx, ITAY, forgotten_at=NOW.timestamp())

    async with database.read_transaction() as tx:
        assert await facts.cached_profile(tx, ITAY) is None
        assert await facts.tombstones.have_tombstones(tx, ITAY, ["has a dog"]) == [False]
        assert await facts.scopes(tx) == [NOA]
    assert removed == {"facts": 2, "sources": 2, "vectors": 1, "profiles": 1, "tombstones": 1}


async def test_deleting_facts_counts_the_removed_rows_by_table(database):
    """Facts of another user are neither deleted nor counted."""
    told = make_draft("likes tea", session="s1", vector=(1.0, 0.0))
    one, two, _ = await write(database, ITAY, told, make_draft("has a dog"), make_draft("has a cat", vector=(0.0, 1.0)))
    await write(database, ITAY, make_draft("likes tea", session="s2"))
    (other,) = await write(database, NOA, make_draft("likes tea", vector=(1.0, 0.0)))
    async with database.transaction() as tx:
        revision = (await facts.state(tx, ITAY)).revision
        await facts.cache_profile(tx, ITAY, Profile(bullets=("tea",), fingerprint="f", revision=revision))
        removed = await facts.delete(tx, ITAY, [one.id, two.id, other.id])

    assert removed == {"facts": 2, "sources": 3, "vectors": 1, "profiles": 1}


async def test_a_deleted_fact_may_be_written_again_as_a_new_one(database):
    """It has another id, so followers do not take it for the old one."""
    (old,) = await write(database, ITAY, make_draft("likes tea"))
    async with database.transaction() as tx:
        await facts.delete(tx, ITAY, [old.id])
    (new,) = await write(database, ITAY, make_draft("likes tea"))

    assert new.id != old.id


@pytest.mark.parametrize(
    "disguise",
    [
        "Likes Zebra.",
        "likes\u200b zebra",
        "l\u0456kes zebra",
        "likes\ufe0f \uff5a\uff45\uff42\uff52\uff41",
        "LIKES ZEBR\u0410",
    ],
)
async def test_a_tombstone_recognises_other_spellings_of_its_text(database, disguise):
    """Invisible, look-alike and wide characters change nothing that a reader sees."""
    (fact,) = await write(database, ITAY, make_draft("likes zebra"))
    async with database.transaction() as tx:
        await facts.tombstones.add_tombstones(tx, ITAY, [fact.id], said_until=NOW.timestamp())
        await facts.delete(tx, ITAY, [fact.id])

        assert await facts.tombstones.have_tombstones(tx, ITAY, [disguise, "likes zebras"]) == [True, False]
        assert await facts.tombstones.have_tombstones(tx, NOA, [disguise]) == [False]
        await facts.tombstones.remove_tombstones(tx, ITAY, [disguise])
        assert await facts.tombstones.have_tombstones(tx, ITAY, ["likes zebra"]) == [False]


async def test_tombstones_are_created_only_for_facts_of_the_same_user(database):
    """An id of another user leaves no tombstone."""
    (fact,) = await write(database, NOA, make_draft("likes tea"))
    await write(database, ITAY, make_draft("has a dog"))
    async with database.transaction() as tx:
        await facts.tombstones.add_tombstones(tx, ITAY, [fact.id], said_until=NOW.timestamp())

        assert await facts.tombstones.have_tombstones(tx, ITAY, ["likes tea"]) == [False]


async def test_a_profile_is_cached_only_for_the_current_revision(database):
    """A newer write prevents caching, and deleting a fact removes the profile."""
    written = await write(database, ITAY, make_draft("likes tea"), make_draft("has a dog"))
    made = Profile(bullets=("Likes tea \u2615\x00",), fingerprint="abc", revision=1, made_by="model", made_at=NOW)
    async with database.transaction() as tx:
        assert not await facts.cache_profile(tx, ITAY, Profile(bullets=(), fingerprint="old", revision=0))
        assert await facts.cached_profile(tx, ITAY) is None
        assert await facts.cache_profile(tx, ITAY, made)
        assert await facts.cached_profile(tx, ITAY) == made
        await facts.delete(tx, ITAY, [written[0].id])
        assert await facts.cached_profile(tx, ITAY) is None


async def test_the_last_profiles_of_a_person_are_kept(database):
    """One for each fingerprint; another person's are no concern of theirs."""
    await write(database, ITAY, make_draft("likes tea"))
    await write(database, NOA, make_draft("likes tea"))
    async with database.transaction() as tx:
        await facts.cache_profile(tx, NOA, Profile(bullets=("noa",), fingerprint="f0", revision=1))
        for number in range(10):
            made_at = NOW + timedelta(minutes=number)
            made = Profile(bullets=(str(number),), fingerprint=f"f{number}", revision=1, made_at=made_at)
            await facts.cache_profile(tx, ITAY, made)
        await facts.cache_profile(tx, ITAY, made)
        found = [await facts.cached_profile(tx, ITAY, f"f{number}") for number in range(10)]
        last, other = await facts.cached_profile(tx, ITAY), await facts.cached_profile(tx, NOA, "f0")

    assert [profile and profile.bullets[0] for profile in found] == [None, None, *map(str, range(2, 10))]
    assert (last, other.bullets) == (made, ("noa",))


async def test_more_ids_than_fit_one_statement_are_read_and_deleted(database):
    """Databases limit the number of variables in a statement."""
    written = await write(database, ITAY, *(make_draft(f"fact {number}") for number in range(1200)))
    ids = [fact.id for fact in written]
    async with database.transaction() as tx:
        assert len(await facts.get(tx, ITAY, ids + [f"x{number}" for number in range(40_000)])) == 1200
        assert (await facts.delete(tx, ITAY, ids))["facts"] == 1200


async def test_a_thousand_facts_are_written_in_a_few_statements(database):
    """One round trip per row would take several times as long."""
    batch = [
        make_draft(f"fact {number}", session="s", events=[f"e{number}"], vector=(0.5,) * 64) for number in range(1000)
    ]
    statements = 0

    async def counted():
        nonlocal statements
        statements += 1

    async with database.transaction() as tx:
        await facts.writer.write(SteppedConnection(tx, counted), ITAY, batch, now=NOW)

    assert 0 < statements < 100
