"""Time limits of model calls: they bound the call, and not the import before it."""

from __future__ import annotations

import asyncio

import pytest

from gaia_memory.errors import BadAnswerError, CutAnswerError
from gaia_memory.model_calls import outside_time_limits, repeats_itself, require_complete, time_limit


async def test_a_time_limit_ends_a_call_that_gives_no_answer() -> None:
    """It raises as `asyncio.timeout` does."""
    with pytest.raises(TimeoutError):
        async with time_limit(0.01):
            await asyncio.Event().wait()


async def test_what_runs_outside_a_time_limit_may_take_longer_than_it() -> None:
    """This holds for each of the limits around it."""
    async with time_limit(0.05), time_limit(0.03):
        with outside_time_limits():
            await asyncio.sleep(0.1)


async def test_the_rest_of_a_time_limit_counts_after_a_pause() -> None:
    """A call that then gives no answer still ends."""

    async def load_and_ask() -> None:
        async with time_limit(0.05):
            with outside_time_limits():
                await asyncio.sleep(0.1)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await load_and_ask()


async def test_a_pause_has_no_effect_on_limits_of_other_tasks() -> None:
    """Each question has its own clock."""
    paused, over = asyncio.Event(), asyncio.Event()

    async def load() -> None:
        async with time_limit(0.01):
            with outside_time_limits():
                paused.set()
                await over.wait()

    loading = asyncio.create_task(load())
    await paused.wait()
    with pytest.raises(TimeoutError):
        async with time_limit(0.02):
            await asyncio.Event().wait()
    over.set()
    await loading


REPEATED = {
    "a sentence": '{"memory": [{"text": "' + "She's a doctor. " * 60,
    "a sentence cut in the middle": '{"memory": [{"text": "' + ("She's a doctor. " * 60)[:-7],
    "facts with numbers": '{"memory": [' + "".join(f'{{"id": "{n}", "text": "Has a cat"}}, ' for n in range(200)),
    "one letter": "User likes teaaaaaaaaaaa" + "a" * 300,
}
VARIED = {
    "nothing": "",
    "too short to tell": "tea tea tea tea tea",
    "different facts": '{"memory": [' + "".join(f'{{"id": "{n}", "text": "{hex(n**9)}"}}, ' for n in range(7, 90)),
    "repetitions before other words": "She's a doctor. " * 60 + hex(7**400),
}


@pytest.mark.parametrize("text", REPEATED.values(), ids=REPEATED)
def test_an_answer_that_ends_in_repetitions_is_told_from_a_cut_one(text: str) -> None:
    """More tokens would only give more of the same."""
    assert repeats_itself(text)
    with pytest.raises(BadAnswerError, match="repeats itself: choose a larger one"):
        require_complete("length", text=text)


@pytest.mark.parametrize("text", VARIED.values(), ids=VARIED)
def test_a_cut_answer_without_repetitions_needs_more_tokens(text: str) -> None:
    """A shorter question, or a larger limit, may help."""
    assert not repeats_itself(text)
    with pytest.raises(CutAnswerError, match=r"raise `memory\.llm\.max_tokens`"):
        require_complete("MAX_TOKENS", text=text)
