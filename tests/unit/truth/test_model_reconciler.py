"""How often the model is asked which facts new ones replace, and what is used of its answers."""

from __future__ import annotations

import json

import pytest

from gaia_memory.errors import BadAnswerError, CutAnswerError, ModelUnavailableError, RefusedRequestError
from gaia_memory.models import Scope
from gaia_memory.testing import ScriptedLanguageModel
from gaia_memory.truth.by_model.model_question import DatedText, ModelDecision
from gaia_memory.truth.by_model.model_reconciler import ask_model

pytestmark = pytest.mark.heavy

ADA = Scope("app", "ada")
PIZZA = [DatedText("Loves pizza"), DatedText("Eats olives")]


def answer(action: str, *existing: int) -> str:
    """Return an answer with one decision about new fact 1."""
    return json.dumps({"decisions": [{"fact": 1, "action": action, "existing": list(existing)}]})


async def decide(model: ScriptedLanguageModel) -> list[ModelDecision] | None:
    """Ask about two stored facts and a new one."""
    return await ask_model(model, ADA, PIZZA, [DatedText("Hates pizza")])


async def test_a_repeated_question_says_what_was_wrong() -> None:
    """T06: an unknown number is asked about again, with the reason."""
    model = ScriptedLanguageModel(answer("UPDATE", 99), answer("UPDATE", 1))

    assert await decide(model) == [ModelDecision(0, "UPDATE", (0,))]
    assert "no stored fact 99" in model.prompts[1]


async def test_nonsense_ends_after_four_questions_without_a_decision() -> None:
    """T05: the question and three repetitions."""
    model = ScriptedLanguageModel(default="nonsense")

    with pytest.raises(BadAnswerError):
        await decide(model)
    assert len(model.prompts) == 4


@pytest.mark.parametrize(
    "failure", [ModelUnavailableError("429"), RefusedRequestError("blocked"), CutAnswerError("too long")]
)
async def test_a_model_that_is_away_or_refuses_or_is_cut_is_not_asked_again(failure: Exception) -> None:
    """Its client has tried long enough, and the same question has the same length; the facts are compared later."""
    model = ScriptedLanguageModel(default=failure)

    with pytest.raises(type(failure)):
        await decide(model)
    assert len(model.prompts) == 1


async def test_a_model_that_takes_back_something_else_each_time_ends_nothing() -> None:
    """Four different answers are no answer."""
    model = ScriptedLanguageModel(*[answer("DELETE", *ids) for ids in [(1, 2), (1,), (2,), (2, 1)]])

    with pytest.raises(BadAnswerError):
        await decide(model)
