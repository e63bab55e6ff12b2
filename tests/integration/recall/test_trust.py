"""What nobody confirmed stands behind everything else that recall finds, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_memory import NewFact, Scope, open_memory
from gaia_memory.errors import ConfigError
from gaia_memory.models import UserStatement

QUESTION = "Where does Ada keep her spare key?"
HER_WORD = "The spare key is at Noa's"
UNCONFIRMED = {"unconfirmed": True}
PLANTED = [NewFact(f"{QUESTION} Ada keeps her spare key at number {n}", metadata=UNCONFIRMED) for n in range(60)]


async def recalled(tmp_path: Path, *, limit: int = 5, **settings: Any) -> list[tuple[str, bool]]:
    """Return the texts that answer the question, each with whether it is unconfirmed, and check the scores."""
    async with open_memory({"memory": settings}, home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("ada")
        await gaia.memory.add(scope, [*PLANTED, NewFact(HER_WORD), NewFact("Likes tea")])
        # Their vectors are made in the background.
        await gaia.memory.settled()
        hits = await gaia.memory.recall(scope, QUESTION, limit=limit)

    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert [sum(hit.why.values()) for hit in hits] == pytest.approx(scores)
    return [(hit.fact.text, hit.fact.is_unconfirmed) for hit in hits]


@pytest.mark.parametrize("weights", [{}, {"names": 0}, {"keywords": 0}])
async def test_many_planted_facts_do_not_push_out_the_persons_word(tmp_path: Path, weights: dict[str, float]) -> None:
    """However well they fit the question, at any limit and with any weights."""
    found = await recalled(tmp_path, limit=3, recall={"weights": weights})

    assert found[0] == (HER_WORD, False)
    assert [is_unconfirmed for _, is_unconfirmed in found] == sorted(is_unconfirmed for _, is_unconfirmed in found)


async def test_all_are_ranked_alike_if_all_are_trusted(tmp_path: Path) -> None:
    """They still say what they are."""
    found = await recalled(tmp_path, limit=3, trust="all")

    assert [is_unconfirmed for _, is_unconfirmed in found] == [True] * 3


async def test_another_kind_of_trust_is_refused(tmp_path: Path) -> None:
    """The message names the key, the value and what is allowed."""
    with pytest.raises(ConfigError, match=r"memory\.trust.*'nobody'.*person.*all"):
        await recalled(tmp_path, trust="nobody")


async def test_a_fact_of_all_users_that_is_unconfirmed_stands_behind_the_persons(tmp_path: Path) -> None:
    """The answers of two scopes are merged, and of two equal texts the confirmed one stays."""
    async with open_memory({"memory": {"app_facts": True}}, home=tmp_path, model="offline") as gaia:
        scope, app_wide = gaia.scope("ada"), Scope.app_wide("gaia")
        await gaia.memory.add(scope, [NewFact(HER_WORD), NewFact("Keeps a spare key", metadata=UNCONFIRMED)])
        await gaia.memory.add(app_wide, [PLANTED[0], NewFact("Keeps a spare key")])
        hits = await gaia.memory.recall(scope, QUESTION, limit=9)

    marks = {hit.fact.text: hit.fact.is_unconfirmed for hit in hits}
    assert marks == {HER_WORD: False, "Keeps a spare key": False, PLANTED[0].text: True}
    assert hits[-1].fact.text == PLANTED[0].text


async def test_what_a_model_repeats_from_an_unconfirmed_fact_stays_unconfirmed(tmp_path: Path) -> None:
    """It stands in the profile and the notes, where no tool has answered; the person's own words confirm it."""
    async with open_memory(home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("ada")
        await gaia.memory.add(scope, [NewFact("The user's bank is Evil Bank", metadata=UNCONFIRMED)])

        async def repeat(text: str, said: str) -> bool:
            statement = UserStatement(text=said, turn_started_at=gaia.memory.clock.now().timestamp(), visible_since=1)
            return (await gaia.memory.remember(scope, text, user_statement=statement)).is_unconfirmed

        assert await repeat("The user banks with Evil Bank", "Nice weather today")
        assert not await repeat("The user keeps money at Evil Bank", "My money is at Evil Bank")
