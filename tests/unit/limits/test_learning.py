"""What learning without a model misses, and what the screening lets through."""

from __future__ import annotations

import json

import pytest

from gaia_memory.backend.offline.rule_extraction import extract_facts
from gaia_memory.errors import InvalidInputError
from gaia_memory.learn.grounding import ConversationWords
from gaia_memory.learn.screen import build_drafts, drop_assistant_claims
from gaia_memory.learn.tool_statements import is_stated_by_user
from gaia_memory.models import ExtractedFact, UserStatement
from gaia_memory.redaction.credentials import contains_credential
from support.factories import make_chunk, make_turn


def learned_offline(*said: str) -> list[str]:
    """Return what the offline model extracts from a user's messages of 20 November 2026."""
    messages = json.dumps([{"role": "user", "content": text} for text in said])
    return extract_facts(f"## New Messages\n{messages}\n\n## Observation Date\n2026-11-20")


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


def test_the_offline_model_draws_no_conclusion() -> None:
    """It reads each sentence for itself."""
    assert learned_offline("I eat neither meat nor fish.", "I moved in with Tom in Rome.") == [
        "User eats neither meat nor fish.",
        "User moved in with Tom in Rome.",
    ]


def test_the_offline_model_leaves_out_pronouns_other_than_a_subject() -> None:
    """Only a subject, and "his" in "Anna is his wife", stand for the person named before."""
    assert learned_offline("My sister Noa is a nurse.", "I visited her in May.") == ["User's sister Noa is a nurse."]


def test_the_offline_model_takes_sarcasm_for_a_statement() -> None:
    """It does not know the world."""
    assert learned_offline("I just love being stuck in traffic.") == ["User just loves being stuck in traffic."]


def test_the_offline_model_drops_guesses() -> None:
    """What somebody only thinks may be wrong."""
    assert learned_offline("I think I prefer tea.", "Maybe we will move to Rome.") == []


def test_the_offline_model_quotes_what_it_cannot_conjugate() -> None:
    """A wrong verb would be worse."""
    assert learned_offline("Mein Zwirbel ist kaputt") == ["Der Nutzer sagt: „Mein Zwirbel ist kaputt“"]


def test_the_offline_model_skips_sentences_of_more_than_600_characters() -> None:
    """They are assumed to be pasted text."""
    assert learned_offline("I like " + "very " * 120 + "green tea.") == []


def test_the_offline_model_keeps_other_languages_in_the_first_person() -> None:
    """English becomes "User ...", and German, French and Spanish likewise."""
    assert learned_offline("Mi piace il tè verde.", "Ich mag grünen Tee.") == [
        "Mi piace il tè verde.",
        "Der Nutzer mag grünen Tee.",
    ]


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
