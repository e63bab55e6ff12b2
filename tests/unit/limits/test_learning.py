"""What learning without a model misses, and what the screening lets through."""

from __future__ import annotations

import pytest

from gaia_memory.errors import InvalidInputError
from gaia_memory.keyless.statements import find_statements
from gaia_memory.learn.grounding import ConversationWords
from gaia_memory.learn.screen import build_drafts, drop_assistant_claims
from gaia_memory.learn.tool_statements import is_stated_by_user
from gaia_memory.models import ExtractedFact, UserStatement
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


def test_an_italian_fact_about_an_english_conversation_may_count_as_foreign() -> None:
    """Its function words are not known, so it is compared like an English one."""
    conversation = ConversationWords(make_chunk(make_turn(1, "I moved to the north and bought a boat")))

    assert conversation.find_origin(ExtractedFact(text="Ora abita vicino alle montagne"), "") == "elsewhere"


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


def test_a_translated_statement_of_a_model_is_unconfirmed() -> None:
    """Only words are compared."""
    user = UserStatement(text="Ich bin allergisch gegen N\u00fcsse", turn_started_at=1, visible_since=1)

    assert not is_stated_by_user("Is allergic to nuts", user)


def test_a_model_may_turn_the_users_words_round() -> None:
    """Which of two others is meant is no distinctive word."""
    user = UserStatement(text="My sister is a nurse. My mother is ill", turn_started_at=1, visible_since=1)

    assert is_stated_by_user("User's mother is a nurse", user)


def test_what_a_question_takes_for_granted_is_refused() -> None:
    """A daughter who may come along exists."""
    user = UserStatement(text="Can my daughter Lea come along?", turn_started_at=1, visible_since=1)

    with pytest.raises(InvalidInputError, match="only asked"):
        is_stated_by_user("Daughter is called Lea", user)
