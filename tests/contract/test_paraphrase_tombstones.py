"""A fact that was forgotten alone is not learned again from earlier messages; later messages may teach it again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gaia_memory.database.metadata import metadata
from gaia_memory.facts import FactStore, merge_scopes
from gaia_memory.language.distinctive_words import distinctive_stems
from gaia_memory.models import NewFact, Scope
from support.databases import ITAY, NOA, NOW, database, make_draft

__all__ = ["database"]

facts = FactStore()
BEFORE, AFTER = NOW - timedelta(minutes=1), NOW + timedelta(minutes=1)

TOLD_AGAIN = [
    ("Loves pistachio ice cream", "Pistachio is Itay's favourite ice cream"),
    ("Loves pistachio ice cream", "User eats PISTACHIOS with cream"),
    ("Loves pistachio ice cream", "Eats pistachi\u0585 with crea\u1d0d"),
    ("Loves pistachio ice cream", "\u13e2istachio every day, \u1d18istachio with crea\u1d0d"),
    ("Is allergic to peanuts", "User has a peanut allergy"),
    ("Lives in Berlin", "User moved to Berlin in May"),
    ("Has a dog named Rex", "User walks Rex every morning"),
    ("Was diagnosed with HIV in 2019 at the Charit\u00e9 in Berlin", "User has HIV"),
    ("Has a salary of 90,000 euros at Siemens", "Makes 90k at Siemens"),
    ("Phone number is +49 151 2345678", "Can be called at +49 151 2345678"),
    ("Likes z\u0435bras", "Zebras are the best animals"),
    ("Mag Pistazieneis", "Pistazieneis ist ihr Lieblingseis"),
    ("Wohnt in K\u00f6ln", "Ist letzten Sommer nach K\u00f6ln gezogen"),
    (
        "\u041b\u044e\u0431\u0438\u0442 \u0448\u0430\u0445\u043c\u0430\u0442\u044b",
        "\u0418\u0433\u0440\u0430\u0435\u0442 \u0432 \u0448\u0430\u0445\u043c\u0430\u0442\u044b",
    ),
    ("\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u308b", "\u53bb\u5e74\u6771\u4eac\u306b\u4f4f\u3093\u3060"),
    (
        "\u559c\u6b22\u5f00\u5fc3\u679c\u51b0\u6dc7\u6dcb",
        "\u5f00\u5fc3\u679c\u51b0\u6dc7\u6dcb\u662f\u4ed6\u7684\u6700\u7231",
    ),
]

SOMETHING_ELSE = [
    ("Loves pistachio ice cream", "Loves the sea"),
    ("Is allergic to peanuts", "User is in love with Noa"),
    ("Lives in Berlin", "User lives with two friends"),
    ("Has a dog named Rex", "User has a cat named Mia"),
    ("Has a dog named Rex", "User has a dog called Bella"),
    ("User's birthday is on May 3", "Daughter Mia has her birthday in winter"),
    ("Phone number is +49 151 2345678", "User's phone number is 0170 998877"),
    ("Was diagnosed with depression in 2021", "User bought a car in 2021"),
    ("Phone number is +49 151 2345678", "User's flight is LH 454"),
    ("Mag Pistazieneis", "Mag Jazz"),
    ("Wohnt in K\u00f6ln", "Wohnt mit zwei Katzen zusammen"),
    (
        "\u041b\u044e\u0431\u0438\u0442 \u0448\u0430\u0445\u043c\u0430\u0442\u044b",
        "\u041b\u044e\u0431\u0438\u0442 \u0441\u043e\u0431\u0430\u043a",
    ),
    ("\u6771\u4eac\u306b\u4f4f\u3093\u3067\u3044\u308b", "\u732b\u304c\u597d\u304d"),
    ("\u559c\u6b22\u5f00\u5fc3\u679c\u51b0\u6dc7\u6dcb", "\u559c\u6b22\u722c\u5c71"),
]


async def forgotten(database, text: str, scope: Scope = ITAY) -> None:
    """Store a fact and forget it."""
    async with database.transaction() as tx:
        [fact] = await facts.writer.write(tx, scope, [make_draft(text)], now=NOW)
        await facts.tombstones.add_tombstones(tx, scope, [fact.id], said_until=NOW.timestamp())
        await facts.delete(tx, scope, [fact.id])


async def is_told_again(database, text: str, scope: Scope = ITAY, *, said_at=BEFORE) -> bool:
    """Return whether a learned fact restates the forgotten one."""
    async with database.read_transaction() as tx:
        [found] = await facts.tombstones.paraphrases_forgotten(tx, scope, [NewFact(text, said_at=said_at)])
    return found


async def counted(database) -> int:
    """Count the stored hashes of words."""
    async with database.read_transaction() as tx:
        return len((await tx.execute(metadata.tables["gaia_forgotten_words"].select())).all())


@pytest.mark.parametrize(("gone", "learned"), TOLD_AGAIN)
async def test_a_paraphrase_in_an_earlier_message_is_recognised_as_forgotten(database, gone, learned):
    """This works in many languages; messages from after the forget may teach the fact again."""
    await forgotten(database, gone)

    assert await is_told_again(database, learned)
    assert await is_told_again(database, learned, said_at=NOW)
    assert not await is_told_again(database, learned, said_at=AFTER)
    assert not await is_told_again(database, learned, said_at=None)
    assert not await is_told_again(database, learned, NOA)


@pytest.mark.parametrize(("gone", "learned"), SOMETHING_ELSE)
async def test_other_facts_in_earlier_messages_are_not_taken_for_the_forgotten_one(database, gone, learned):
    """Verbs such as like, live and have identify no fact."""
    await forgotten(database, gone)

    assert not await is_told_again(database, learned)


async def test_a_word_that_occurs_in_many_facts_identifies_none(database):
    """An example is the user's name, which an extractor may write into every fact."""
    async with database.transaction() as tx:
        await facts.writer.write(tx, ITAY, [make_draft(f"Itay knows thing{number}") for number in range(30)], now=NOW)
    await forgotten(database, "Itay juggles")

    assert await is_told_again(database, "Has juggled for years")
    assert not await is_told_again(database, "Itay sails")


async def test_a_word_that_occurs_in_several_facts_counts_little_next_to_a_rare_one(database):
    """Forgetting what the family eats must forget that, and no other fact about the family."""
    async with database.transaction() as tx:
        told = ["climbs", "sails", "sings", "farms", "paints", "argues"]
        await facts.writer.write(tx, ITAY, [make_draft(f"Family {what} in summer") for what in told], now=NOW)
        await facts.writer.write(tx, NOA, [make_draft(f"Fact {number} of pizza") for number in range(9)], now=NOW)
    await forgotten(database, "Family loves pizza")

    assert not await is_told_again(database, "Family plans a trip to Norway")
    assert await is_told_again(database, "Pizza on Fridays")
    assert await is_told_again(database, "The family has pizza")


async def test_facts_of_one_query_are_judged_separately(database):
    """They include earlier, later, undated and unrelated facts."""
    for gone in ("Lives in Berlin", "Has a dog named Rex"):
        await forgotten(database, gone)
    asked = [
        NewFact("Moved to Berlin", said_at=BEFORE),
        NewFact("Moved to Berlin", said_at=AFTER),
        NewFact("Moved to Berlin"),
        NewFact("Plays the cello", said_at=BEFORE),
        NewFact("Walks Rex", said_at=BEFORE),
        *(NewFact(f"Knows thing{number}", said_at=BEFORE) for number in range(600)),
    ]
    async with database.read_transaction() as tx:
        found = await facts.tombstones.paraphrases_forgotten(tx, ITAY, asked)

    assert found == [True, False, False, False, True] + [False] * 600


async def test_a_fact_of_common_words_is_recognised_by_its_text_only(database):
    """None of its words says what it is about."""
    await forgotten(database, "User likes it very much")

    assert await counted(database) == 0
    assert not await is_told_again(database, "User likes it")


async def test_a_fact_the_user_states_again_may_be_learned_again(database):
    """Other forgotten facts stay forgotten."""
    await forgotten(database, "Loves pistachio ice cream")
    await forgotten(database, "Lives in Berlin")
    async with database.transaction() as tx:
        await facts.tombstones.remove_tombstones(tx, ITAY, ["Pistachio ice cream is great"])

    assert not await is_told_again(database, "Loves pistachio ice cream")
    assert await is_told_again(database, "Moved to Berlin")


async def test_restating_one_word_of_a_longer_fact_does_not_restore_the_fact(database):
    """Otherwise a short new fact would bring back all of the forgotten one."""
    await forgotten(database, "Plans a surprise trip to Oslo in May with Marta")
    async with database.transaction() as tx:
        await facts.tombstones.remove_tombstones(tx, ITAY, ["Oslo is cold"])

    assert await is_told_again(database, "Surprises Marta in Oslo")


async def test_forgetting_everything_deletes_the_word_hashes_of_that_user_only(database):
    """The time of that forget covers all of them."""
    await forgotten(database, "Lives in Berlin")
    await forgotten(database, "Lives in Berlin", NOA)
    async with database.transaction() as tx:
        await facts.delete_all(tx, ITAY, forgotten_at=NOW.timestamp())

    assert not await is_told_again(database, "Moved to Berlin")
    assert await is_told_again(database, "Moved to Berlin", NOA)


async def test_lifting_and_merging_tombstones_affect_no_other_user(database):
    """Whatever either of the merged users forgot stays forgotten for the merged one."""
    ben = Scope("gaia", "ben")
    for scope, text in ((ITAY, "Lives in Berlin"), (NOA, "Has a dog named Rex"), (ben, "Lives in Berlin")):
        await forgotten(database, text, scope)
    async with database.transaction() as tx:
        await merge_scopes(facts, tx, NOA, ITAY)
        await facts.tombstones.remove_tombstones(tx, NOA, ["Lives in Berlin"])

    assert await is_told_again(database, "Moved to Berlin")
    assert await is_told_again(database, "Rex barks")
    assert not await is_told_again(database, "Rex barks", NOA)
    async with database.read_transaction() as tx:
        mine = [
            await facts.tombstones.have_tombstones(tx, scope, ["Has a dog named Rex", "Lives in Berlin"])
            for scope in (ITAY, NOA, ben)
        ]
    assert mine == [[True, True], [False, False], [False, True]]
    async with database.transaction() as tx:
        await facts.tombstones.remove_tombstones(tx, ITAY, ["Lives in Berlin"])
    assert not await is_told_again(database, "Moved to Berlin")
    assert await is_told_again(database, "Moved to Berlin", ben)


async def test_stored_hashes_do_not_reveal_a_word(database):
    """A hash has 65,536 values, so several words of a language share each one."""
    await forgotten(database, "Lives in Berlin")
    async with database.read_transaction() as tx:
        [row] = (await tx.execute(metadata.tables["gaia_forgotten_words"].select())).all()

    assert 0 <= row.word < 2**16
    assert distinctive_stems("Lives in Berlin") == {"berli"}


async def test_a_merge_keeps_the_salt_if_only_word_hashes_remain(database):
    """The text tombstone was lifted by another spelling."""
    await forgotten(database, "Lives in Berlin", NOA)
    async with database.transaction() as tx:
        await facts.tombstones.remove_tombstones(tx, NOA, ["Lives in Ber lin"])
        await merge_scopes(facts, tx, NOA, ITAY)

    assert await is_told_again(database, "Moved to Berlin")
