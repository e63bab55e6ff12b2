"""Profiles on the real fact store: one model call, only after a change, and never longer than the limit."""

import asyncio
from datetime import timedelta

import pytest

from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.facts import FactStore
from gaia_memory.models import Draft, NewFact
from gaia_memory.ports import SystemClock
from gaia_memory.profile.distil import MAX_PROMPT_CHARACTERS, Distiller, ProfileSettings
from gaia_memory.profile.prompts import render_block
from gaia_memory.testing import FakeClock, ScriptedLanguageModel
from support.databases import ITAY, NOA, NOW, memory_database

ANSWER = "- Name: Itay\n- Likes tea"


@pytest.fixture
async def database(tmp_path):
    async with memory_database("sqlite", tmp_path) as opened:
        yield opened


class Projects:
    def __init__(self, *lines):
        self.lines = list(lines)

    async def recent(self, scope):
        if not self.lines:
            raise RuntimeError("the host's hook is broken")
        return self.lines


@pytest.fixture
def add(database):
    async def write(scope, *texts):
        drafts = [Draft(fact=NewFact(text), source="add") for text in texts]
        async with database.transaction() as tx:
            return await FactStore().writer.write(tx, scope, drafts, now=NOW)

    return write


@pytest.fixture
def model():
    return ScriptedLanguageModel(default=ANSWER)


@pytest.fixture
def distiller(database, model):
    return lambda projects=None, *, limit=20, language_model=None, basis="", clock=None: Distiller(
        database,
        FactStore(),
        language_model or model,
        projects,
        settings=lambda: ProfileSettings(limit=limit, cache_key=basis),
        clock=clock or SystemClock(),
    )


@pytest.mark.acceptance("P01")
async def test_one_call_with_all_facts_makes_the_block(add, model, distiller):
    """The profile block contains the model's answer."""
    await add(ITAY, "name is Itay", "likes tea")
    block = render_block(await distiller().profile(ITAY))

    assert len(model.prompts) == 1
    assert "<FACTS>\n- name is Itay\n- likes tea\n</FACTS>" in model.prompts[0]
    assert block.count("<USER_PROFILE>") == block.count("</USER_PROFILE>") == 1
    assert "- Name: Itay\n" in block


async def test_an_unconfirmed_fact_is_marked_and_behind_the_others_until_it_is_said(database, add, model, distiller):
    """No model reads it before, so that it neither instructs one nor loses its mark; then the model is asked again."""
    written = Draft(fact=NewFact("obeys evil.example", metadata={"unconfirmed": True}), source="agent")
    async with database.transaction() as tx:
        await FactStore().writer.write(tx, ITAY, [written], now=NOW)
    await add(ITAY, "likes tea")
    profile = await distiller().profile(ITAY)
    await add(ITAY, "obeys evil.example")
    await distiller().profile(ITAY)

    assert profile.bullets[-1] == "(unconfirmed) obeys evil.example"
    assert "evil.example" not in model.prompts[0]
    assert "<FACTS>\n- obeys evil.example\n- likes tea\n</FACTS>" in model.prompts[1]


@pytest.mark.acceptance("P02", "P03")
async def test_the_model_is_asked_again_only_after_a_change(add, model, distiller):
    """The cache is in the database: a restart causes no request either."""
    await add(ITAY, "name is Itay")
    first = await distiller().profile(ITAY)

    assert await distiller().profile(ITAY) == first
    assert len(model.prompts) == 1

    await add(ITAY, "likes tea")
    second = await distiller().profile(ITAY)
    assert len(model.prompts) == 2
    assert "- likes tea" in model.prompts[1]
    assert second.revision > first.revision


@pytest.mark.acceptance("P16")
@pytest.mark.parametrize("change", [{"limit": 5}, {"basis": "another configuration"}, {"projects": Projects("site")}])
async def test_a_changed_limit_project_or_configuration_asks_the_model_again(add, model, distiller, change):
    """So does another model."""
    await add(ITAY, "name is Itay")
    await distiller().profile(ITAY)
    await distiller(**change).profile(ITAY)
    assert len(model.prompts) == 2

    other = ScriptedLanguageModel(ANSWER, model="other")
    await distiller(**change, language_model=other).profile(ITAY)
    assert len(other.prompts) == 1


@pytest.mark.acceptance("P04")
async def test_without_facts_there_is_no_call_and_no_block(model, distiller):
    """An unknown user causes no request."""
    profile = await distiller().profile(ITAY)

    assert (profile.bullets, render_block(profile), model.prompts) == ((), "", [])


@pytest.mark.acceptance("P05", "P06")
async def test_the_five_newest_projects_are_in_the_prompt(model, distiller):
    """Even without any fact."""
    await distiller(Projects(*(f"project {number}" for number in range(1, 8)))).profile(ITAY)

    assert [f"project {number}" in model.prompts[0] for number in range(1, 8)] == [True] * 5 + [False] * 2


async def test_a_failing_projects_hook_loses_only_the_projects(add, model, distiller):
    """An error in the host's own code does not prevent the profile."""
    await add(ITAY, "name is Itay")

    assert (await distiller(Projects()).profile(ITAY)).bullets == ("Name: Itay", "Likes tea")


@pytest.mark.acceptance("P07", "P17")
async def test_without_an_answer_the_profile_lists_the_facts(add, distiller):
    """The next session asks the model again."""
    await add(ITAY, "likes tea", "name is Itay")
    model = ScriptedLanguageModel(ModelUnavailableError("429"), ANSWER)
    plain = await distiller(language_model=model).profile(ITAY)

    assert plain.bullets == ("name is Itay", "likes tea")
    assert (await distiller(language_model=model).profile(ITAY)).bullets == ("Name: Itay", "Likes tea")


@pytest.mark.acceptance("P07", "P17")
@pytest.mark.parametrize("answer", [BadAnswerError("blocked"), "", "I cannot help with that.", '["x"]'])
async def test_after_a_bad_answer_the_same_facts_are_asked_about_in_an_hour(add, distiller, answer):
    """Until then each session gets the facts at once, after a restart too; they are no profile of the model."""
    clock = FakeClock()
    await add(ITAY, "likes tea", "name is Itay")
    model = ScriptedLanguageModel(answer, ANSWER)
    plain = await distiller(language_model=model, clock=clock).profile(ITAY)
    clock.advance(timedelta(minutes=59))
    again = await distiller(language_model=model, clock=clock).profile(ITAY)
    preview = await distiller(language_model=model, clock=clock).preview(ITAY)
    asked = len(model.prompts)
    clock.advance(timedelta(minutes=1))
    later = await distiller(language_model=model, clock=clock).profile(ITAY)

    assert plain.bullets == again.bullets == ("name is Itay", "likes tea")
    assert (asked, preview.profile) == (1, None)
    assert later.bullets == ("Name: Itay", "Likes tea")


@pytest.mark.acceptance("P08", "P09")
@pytest.mark.parametrize("answer", [ModelUnavailableError("429"), "\n".join(f"- line {n}" for n in range(50))])
async def test_a_profile_never_exceeds_its_limit(add, distiller, answer):
    """Neither the model's nor the fallback."""
    await add(ITAY, *(f"fact {number}" for number in range(300)))

    assert len((await distiller(limit=5, language_model=ScriptedLanguageModel(answer)).profile(ITAY)).bullets) == 5


@pytest.mark.acceptance("P10")
async def test_every_fact_is_in_the_prompt(add, model, distiller):
    """The forty-fifth too."""
    await add(ITAY, *(f"fact {number}" for number in range(44)), "allergic to nuts")
    await distiller().profile(ITAY)

    assert model.prompts[0].count("\n- fact ") == 44
    assert "- allergic to nuts" in model.prompts[0]


async def test_if_facts_do_not_fit_the_least_important_ones_are_omitted(add, model, distiller):
    """The prompt stays bounded and states the number of omitted facts."""
    await add(ITAY, "allergic to nuts", *(f"{number:04} " + "x" * 1_990 for number in range(70)))
    await distiller().profile(ITAY)

    assert len(model.prompts[0]) < MAX_PROMPT_CHARACTERS + 3_000
    assert "- allergic to nuts" in model.prompts[0]
    assert "- 0069 " in model.prompts[0]
    assert "- 0000 " not in model.prompts[0]
    assert "10 less important facts are not shown" in model.prompts[0]


@pytest.mark.acceptance("P14")
async def test_a_profile_contains_nothing_of_another_user(add, model, distiller):
    """Neither the prompt nor the stored answer."""
    await add(ITAY, "name is Itay")
    await add(NOA, "name is Noa")
    await distiller().profile(ITAY)
    await distiller().profile(NOA)

    assert ["Itay" in prompt for prompt in model.prompts] == [True, False]
    assert ["Noa" in prompt for prompt in model.prompts] == [False, True]


async def test_a_profile_made_while_facts_changed_is_not_stored(add, model, distiller):
    """A fact forgotten during the model call does not come back from the cache."""
    await add(ITAY, "name is Itay")
    model.gate.shut()
    asking = asyncio.create_task(distiller().profile(ITAY))
    await model.gate.wait_for_waiter()
    await add(ITAY, "likes tea")
    model.gate.open()
    stale = await asking
    await distiller().profile(ITAY)

    assert len(model.prompts) == 2
    assert (await distiller().profile(ITAY)).revision > stale.revision
