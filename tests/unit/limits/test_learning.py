"""What learning without a model misses, and what the screening lets through."""

from __future__ import annotations

import pytest

from gaia_memory.drafts.screen import build_drafts, drop_assistant_claims
from gaia_memory.drafts.write_verbatim import is_of_a_tool
from gaia_memory.keyless.statements import find_statements
from gaia_memory.learning.grounding import ConversationWords
from gaia_memory.models import ExtractedFact, NewFact, UserStatement
from gaia_memory.redaction.credentials import contains_credential
from support.factories import make_chunk, make_turn


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("For the cellar Anna always dials 4711", id="number without a keyword"),
        pytest.param("correct horse battery staple", id="words alone"),
        pytest.param("Ask Siri for sword, then add fish: it opens the router", id="password in parts"),
        pytest.param("9f8e7d6c5b4a3f2e1d0c9b8a7f6e5d4c", id="hex digits without a name"),
        pytest.param("Fjalëkalimi: kafe12", id="Albanian keyword"),
    ],
)
def test_a_secret_without_a_known_form_is_stored(text: str) -> None:
    """Vendor prefixes, PEM, tokens and "password: ..." in forty languages are known."""
    assert not contains_credential(text)


def test_a_wrong_statement_of_words_that_were_said_is_kept() -> None:
    """The check of a fact's origin compares words, not what they say."""
    conversation = ConversationWords(make_chunk(make_turn(1, "I like jazz... no, that's wrong, I like fado")))

    assert conversation.find_origin(ExtractedFact(text="User likes jazz"), "") == "conversation"


def test_an_unattributed_fact_of_the_assistant_is_stored() -> None:
    """The extracting model has to attribute each fact."""
    unmarked = ExtractedFact(text="User was recommended a hotel")

    assert drop_assistant_claims([unmarked], make_chunk(make_turn(1, "hm"))) == [unmarked]


def test_a_fact_the_user_confirmed_is_dropped_if_it_is_attributed_to_the_assistant() -> None:
    """The user's answer makes no difference."""
    confirmed = ExtractedFact(text="User likes the blue one", attributed_to="assistant")

    assert drop_assistant_claims([confirmed], make_chunk(make_turn(1, "the blue one"))) == []


def test_a_fact_has_the_events_of_its_whole_chunk_as_its_source() -> None:
    """Forgetting one fact therefore keeps all messages of its chunk from being learned again."""
    chunk = make_chunk(make_turn(1, "I have a boat"), make_turn(2, "I like tea"))
    [draft] = build_drafts(chunk, [ExtractedFact(text="User likes tea", attributed_to="user")])

    assert {"1-user", "2-user"} <= set(draft.event_ids)


def test_without_a_model_sarcasm_is_learned_like_any_statement() -> None:
    """What a sentence means is not looked at."""
    assert find_statements("I just love being stuck in traffic.") == ["I just love being stuck in traffic."]


def test_without_a_model_a_question_without_its_mark_is_learned() -> None:
    """No list of words tells it from a statement."""
    assert find_statements("where do i live") == ["where do i live"]


def test_without_a_model_a_pronoun_stays_as_it_is() -> None:
    """Nothing is put into other words."""
    said = "My sister Noa is a nurse. She lives in Rome."
    assert find_statements(said) == ["My sister Noa is a nurse.", "She lives in Rome."]


def test_a_model_may_turn_the_users_words_round() -> None:
    """Words are compared, not what they say."""
    user = UserStatement(text="I'm allergic to nuts. Which nuts can I eat?", turn_started_at=1, visible_since=1)

    assert not is_of_a_tool(NewFact("User can eat nuts"), user)


def test_a_translation_of_a_tools_answer_counts_as_the_persons_word() -> None:
    """None of its words stands there."""
    user = UserStatement(text="hm", turn_started_at=1, visible_since=1, tool_answers=("The user hates coriander",))

    assert not is_of_a_tool(NewFact("Der Nutzer hasst Koriander"), user)
