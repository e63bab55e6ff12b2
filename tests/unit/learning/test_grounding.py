"""A fact comes from its conversation; copies of the prompt, foreign facts and placeholders are told apart from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.errors import BadAnswerError
from gaia_memory.learning.grounding import ConversationWords, GroundingCheck
from gaia_memory.models import Chunk, ExtractedFact
from support.factories import make_chunk, make_message, make_turn

PROMPT = """\
You take facts from a conversation. Extract what the user likes, owns and plans, and whom they live and work with.
{"memory": [{"id": "0", "text": "First extracted memory", "attributed_to": "user"}]}
Example: {"memory": [{"id": "0", "text": "User enjoys watching sports documentaries on Netflix"}]}
Example: {"memory": [{"id": "0", "text": "User has a dog named Poppy"}]}"""
COPY = "User enjoys watching sports documentaries on Arte"
TALK = make_chunk(make_turn(1, "I moved from Berlin to Lisbon and I'm allergic to nuts."))


def facts(*texts: str) -> list[ExtractedFact]:
    return [ExtractedFact(text=text) for text in texts]


def kept(chunk: Chunk, *texts: str, **arguments: Any) -> list[str]:
    """Return the texts that a check keeps of a first answer."""
    return [fact.text for fact in GroundingCheck(chunk, **arguments)(facts(*texts), prompt=PROMPT)]


@pytest.mark.parametrize(
    "text",
    [
        *("First extracted memory", "User enjoys watching sports documentaries on Netflix"),
        *("...", "User", "Assistant:"),
    ],
)
@pytest.mark.parametrize("is_enabled", [True, False])
def test_an_answer_without_any_fact_is_refused_each_time(text: str, is_enabled: bool) -> None:
    """It is no "nothing to learn", for which the conversation would be cleared; no setting allows it."""
    check = GroundingCheck(TALK, is_enabled=is_enabled)
    for _ in range(6):
        with pytest.raises(BadAnswerError, match="repeats the prompt, or states nothing"):
            check(facts(text, text), prompt=PROMPT)


@pytest.mark.parametrize("question", ["Which nuts can I eat?", "Was darf ich essen?", "我能吃哪些坚果吗\uff1f"])
def test_a_question_is_no_fact(question: str) -> None:
    """Small models copy what was asked; a conversation is not cleared for it."""
    asked = make_chunk(make_turn(1, f"{question} I am from Porto."))

    with pytest.raises(BadAnswerError, match="states nothing"):
        kept(asked, question)
    assert kept(asked, question, "User is from Porto") == ["User is from Porto"]


def test_a_fact_about_something_that_is_named_like_a_question_is_kept() -> None:
    """Only a sentence that begins and ends like a question is one."""
    show = make_chunk(make_turn(1, "I watch Who Wants to Be a Millionaire? every week, and I like Что? Где? Когда?"))
    facts = ["User watches Who Wants to Be a Millionaire?", "User likes Что? Где? Когда?"]

    assert kept(show, *facts) == facts


def test_placeholders_beside_facts_are_dropped() -> None:
    """The facts are kept."""
    answer = ["First extracted memory", "User moved to Lisbon", "...", "User", "User has a dog named Poppy"]

    assert kept(TALK, *answer) == ["User moved to Lisbon"]
    assert kept(TALK, *answer, is_enabled=False) == ["User moved to Lisbon"]
    assert kept(make_chunk(make_turn(1, "\U0001f436 is my dog")), "\U0001f436", "User has a dog") == ["User has a dog"]


def test_a_text_of_the_prompt_that_was_said_is_a_fact() -> None:
    """The user may own a dog of the same name as in the example, but not the dog of another name."""
    poppy = make_chunk(make_turn(1, "My dog is named Poppy, she is two"))
    rex = make_chunk(make_turn(1, "My dog is named Rex, he is two"))

    assert kept(poppy, "User has a dog named Poppy") == ["User has a dog named Poppy"]
    with pytest.raises(BadAnswerError, match="repeats the prompt"):
        kept(rex, "User has a dog named Poppy")


def test_a_fact_without_distinctive_words_passes_unless_it_is_a_whole_phrase_of_the_prompt() -> None:
    """The beginning of an example is no echo."""
    prompt = 'Example: {"text": "User is a nurse"}, {"text": "User has it"}'
    check = GroundingCheck(TALK)

    assert check(facts("User is A"), prompt=prompt) == facts("User is A")
    with pytest.raises(BadAnswerError, match="repeats the prompt"):
        check(facts("User has it"), prompt=prompt)


def test_copies_beside_facts_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    """The log counts them and does not quote them."""
    caplog.set_level("INFO", logger="gaia_memory")

    assert kept(TALK, COPY, "User moved to Lisbon") == ["User moved to Lisbon"]
    [record] = caplog.records
    assert (record.gaia_event, record.gaia_facts, record.gaia_unverified) == ("facts.foreign", 1, 0)  # type: ignore[attr-defined]
    assert "documentaries" not in record.getMessage()


def test_an_answer_of_copies_is_asked_for_again_and_then_names_the_way_out() -> None:
    """Nothing of it is kept."""
    check = GroundingCheck(TALK)
    with pytest.raises(BadAnswerError, match="take facts only from there"):
        check(facts(COPY), prompt=PROMPT)
    for _ in range(2):
        with pytest.raises(BadAnswerError, match=r"`memory\.grounded: false`"):
            check(facts(COPY), prompt=PROMPT)


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("We're expecting!", "User is pregnant"),
        ("We're expecting!", "Die Nutzerin ist schwanger"),
    ],
)
def test_what_a_model_infers_is_kept_as_unverified(said: str, fact: str) -> None:
    """None of its words was said, in whatever language."""
    [found] = GroundingCheck(make_chunk(make_turn(1, said)))(facts(fact), prompt=PROMPT)

    assert (found.text, found.unverified) == (fact, True)


def test_switched_off_every_fact_is_kept() -> None:
    """Only what is no fact at all is not."""
    assert kept(TALK, COPY, is_enabled=False) == [COPY]


def test_an_example_of_the_prompt_with_another_date_is_foreign_in_every_language() -> None:
    """A small model answered a German conversation with it."""
    prompt = 'Answer: {"text": "User\'s brother Tomasz opens his bakery on 2031-03-05"}'
    german = make_chunk(make_turn(1, "Ich wohne in Leipzig und arbeite als Hebamme."))
    check = GroundingCheck(german)

    with pytest.raises(BadAnswerError, match="not in the conversation"):
        check(facts("User's brother Tomasz opens his bakery on 2026-11-23"), prompt=prompt)
    assert check(facts("User works as a midwife"), prompt=prompt)[0].unverified


def test_the_end_of_the_answer_before_belongs_to_the_conversation() -> None:
    """The user may only say yes to it."""
    before = (make_message("assistant", "Shall I note that you prefer the blue kayak?"),)
    yes = replace(make_chunk(make_turn(2, "Yes please")), before=before)

    assert kept(yes, "User prefers the blue kayak") == ["User prefers the blue kayak"]


def test_names_of_speakers_numbers_dates_and_the_category_do_not_count() -> None:
    """They are in every fact, true or not."""
    message = replace(make_message("user", "Maria here, I was at a concert in May 2026"), speaker="Maria")
    turn = replace(make_turn(1, "x"), messages=(message,))
    conversation = ConversationWords(make_chunk(turn))
    hockey = ExtractedFact(text="User trained 3 hockey players in May 2026", category="concert")

    assert conversation.count_shared(hockey) == 0
    assert conversation.find_origin(hockey, PROMPT) == "unknown"
    assert conversation.find_origin(replace(hockey, text="User trained players at a concert"), PROMPT) == "unknown"
    assert conversation.find_origin(replace(hockey, text="Maria trained hockey players"), PROMPT) == "unknown"
    assert conversation.find_origin(replace(hockey, text="It was on 3 May 2026"), PROMPT) == "conversation"


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=80), st.text(max_size=80))
def test_the_check_accepts_any_text(texts: list[str], said: str, prompt: str) -> None:
    """It returns some of the facts or refuses the answer."""
    answer = facts(*texts)
    try:
        found = GroundingCheck(make_chunk(make_turn(1, said)))(answer, prompt=prompt)
    except BadAnswerError:
        assert answer
    else:
        assert {fact.text for fact in found} <= set(texts)
