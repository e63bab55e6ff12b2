"""The extractor's answer is screened before it is stored."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.drafts.screen import (
    MAX_FACT_CHARACTERS,
    build_drafts,
    describe_masked,
    drop_assistant_claims,
    drop_unkeepable,
    screen_draft,
)
from gaia_memory.errors import InvalidInputError
from gaia_memory.models import Draft, ExtractedFact, NewFact, SessionKey, load_time_zone
from support.factories import KEY, make_chunk, make_turn

# Put together at run time, so that scanners do not take the tests for a leak.
CREDENTIALS = [
    "User's key is sk-" + "proj-abcDEF1234567890abcd",
    "AWS id AKIA" + "IOSFODNN7EXAMPLE",
    "password: hunter2",
    "The backup lives at postgres://admin:letmein@db.local/app",
]


@pytest.mark.parametrize("text", CREDENTIALS)
def test_a_credential_is_masked_in_a_learned_fact(text):
    """Vendor prefixes, PEM, JSON web tokens, random tokens and named passwords never become facts."""
    [kept] = drop_unkeepable([ExtractedFact(text=f"User likes tea. {text}")])

    assert kept.text.startswith("User likes tea. ")
    assert "[redacted: " in kept.text
    assert text not in kept.text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("4111 1111 1111 1111", "an account number"),
        (CREDENTIALS[1].removeprefix("AWS id "), "a key or token"),
    ],
)
def test_a_verbatim_fact_that_is_nothing_but_a_credential_is_refused(text, kind):
    """The refusal names the kind, never the value; the setting is named where it keeps the fact."""
    draft = Draft(fact=NewFact(text), source="add")
    with pytest.raises(InvalidInputError) as refused:
        screen_draft(draft)

    told = f"the fact contains a credential ({kind}): keep secrets in a password store, not in memory"
    assert str(refused.value).startswith(told)
    assert ("memory.allow_numbers: true" in str(refused.value)) == ("number" in kind)
    assert text.split()[-1] not in str(refused.value)


def test_a_verbatim_fact_is_masked_in_its_text_labels_and_metadata():
    """What else it says stays, and whoever wrote it can be told."""
    fact = NewFact("tea, my PIN is 4821", entity="password: plum99", metadata={"wifi": "ok", "password": "swordfish"})
    kept = screen_draft(Draft(fact=fact, source="add")).fact

    assert (kept.text, kept.entity) == ("tea, my PIN is [redacted: a code]", "password: [redacted: a password]")
    assert kept.metadata == {"wifi": "ok", "password": "[redacted: a password]"}
    assert describe_masked([kept]).startswith("a code and a password were left out: keep secrets in a password store")
    assert describe_masked([NewFact("likes tea")]) == ""


@given(st.text(max_size=300))
def test_screening_accepts_any_text(text):
    """It never fails and leaves no extra white space."""
    for item in drop_unkeepable([ExtractedFact(text=text)]):
        assert item.text == " ".join(item.text.split()) != ""


def test_blank_and_long_texts_are_dropped_and_white_space_is_collapsed():
    """A fact is a single line of limited length."""
    kept = drop_unkeepable(
        [ExtractedFact(text=text) for text in ["  likes\n  tea ", " \n", "x" * (MAX_FACT_CHARACTERS + 1)]]
    )

    assert [item.text for item in kept] == ["likes tea"]


def test_a_sentence_that_a_model_repeats_is_kept_once():
    """An answer of Gemma 3 270M, which copied a conversation twice into one fact."""
    copied = "I no longer like jazz, I like fado. I see. I no longer like jazz, I like fado. I see."

    assert drop_unkeepable([ExtractedFact(text=copied)]) == [
        ExtractedFact(text="I no longer like jazz, I like fado. I see.")
    ]


def test_dropped_facts_are_counted_but_not_shown_in_the_log(caplog):
    """Text of users never reaches a log."""
    caplog.set_level("INFO")
    drop_unkeepable([ExtractedFact(text="AKIA" + "IOSFODNN7EXAMPLE"), ExtractedFact(text="likes tea")])

    assert "1 of 2" in caplog.text
    assert "AKIA" not in caplog.text


def test_a_statement_of_somebody_who_does_not_speak_is_unverified():
    """And has no key: it may be the assistant's."""
    [kept] = drop_assistant_claims(
        [ExtractedFact(text="User likes tea", attributed_to="Benutzer", key="user/drink")],
        make_chunk(make_turn(1, "hm")),
    )
    assert (kept.text, kept.attributed_to, kept.key, kept.unverified) == ("User likes tea", None, None, True)


@pytest.mark.parametrize("by", ["assistant", "Assistant (agent)", "user and assistant", "gaia"])
def test_statements_of_the_assistant_are_dropped(by, caplog):
    """The agent here is called gaia. The log shows no text."""
    caplog.set_level("INFO")
    facts = [
        ExtractedFact(text="User likes tea", attributed_to="user"),
        ExtractedFact(text="User was recommended a hotel", attributed_to=by),
        ExtractedFact(text="User flies to Rome"),
        ExtractedFact(text="Itay plays the cello", attributed_to=" Itay"),
        ExtractedFact(text="User likes figs", attributed_to=" "),
    ]

    assert drop_assistant_claims(facts, make_chunk(make_turn(1, "hm"))) == [facts[0], *facts[2:]]
    assert "1 of 5" in caplog.text
    assert "hotel" not in caplog.text


def test_a_person_who_is_named_like_the_agent_does_not_make_its_statements_theirs():
    """Nor does a text that is copied from the answer with its name."""
    turn = make_turn(1, "hm")
    person, agent = turn.messages
    chunk = make_chunk(replace(turn, messages=(replace(person, speaker=agent.speaker), agent)))
    facts = [
        ExtractedFact(text="User was recommended a hotel", attributed_to=agent.speaker),
        *(ExtractedFact(text=f"{name}: ok", attributed_to="user") for name in ("assistant", agent.speaker)),
        ExtractedFact(text="Note: the agent is slow", attributed_to="user"),
    ]

    assert drop_assistant_claims(facts, chunk) == facts[-1:]


def test_a_whole_message_of_the_assistant_is_no_word_of_the_user():
    """An answer of Gemma 3 270M: "I see." as a fact, attributed to the user. Unless the user said it, too."""
    turn = make_turn(1, "Which nuts can I eat?")
    person, agent = turn.messages
    facts = [ExtractedFact(text=text, attributed_to="user") for text in ("I see.", "User eats nuts")]

    for said, kept in ((person.text, facts[1:]), ("I see.", facts)):
        messages = (replace(person, text=said), replace(agent, text="I see. "))
        assert drop_assistant_claims(facts, make_chunk(replace(turn, messages=messages))) == kept


def test_a_draft_has_the_time_and_place_of_its_turn():
    """It takes them from the turn with most words in common, and all events of its chunk."""
    talk = make_chunk(make_turn(7, "I flew to Rome"), make_turn(8, "my sister Noa loves tea"))

    [draft] = build_drafts(talk, [ExtractedFact(text="User's sister is called Noa", attributed_to="user")])

    assert draft.source == "conversation"
    assert draft.app == KEY.app
    assert draft.event_ids == ("7-user", "7-assistant", "8-user", "8-assistant")
    assert (draft.fact.session_id, draft.fact.seq) == (KEY.session, 8)
    assert draft.fact.said_at == talk.turns[1].messages[0].said_at
    assert draft.fact.metadata == {"attributed_to": "user", "speaker": "itay"}


def test_a_number_tells_the_turn_of_a_fact():
    """The same thing said again with a new value is a later fact."""
    talk = make_chunk(make_turn(7, "My locker code is 12"), make_turn(8, "My locker code is 47"))
    drafts = build_drafts(talk, [ExtractedFact(text=f"User's locker code is {number}") for number in (12, 47)])

    assert [draft.fact.seq for draft in drafts] == [7, 8]


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            ("I live in Leeds and I work for the post office.", "I live in Munich.", "My brother lives in Paris."),
            ("User lives in Leeds", "User lives in Munich.", "User's brother lives in Paris."),
        ),
    ],
)
def test_a_word_that_several_turns_have_tells_less_of_the_turn_of_a_fact(said, facts):
    """A wrong turn would make the old home the newer one."""
    talk = make_chunk(*(make_turn(seq, text, "Noted.") for seq, text in enumerate(said)))

    drafts = build_drafts(talk, [ExtractedFact(text=text) for text in facts])

    assert [draft.fact.seq for draft in drafts] == [0, 1, 2]


@pytest.mark.parametrize(
    ("said", "asked", "answer", "fact"),
    [
        ("Remind me to buy milk tomorrow", "What should I buy?", "You want to be reminded to buy milk tomorrow.", ""),
        (
            "Erinnere mich morgen an den Zahnarzt",
            "Wann muss ich zum Zahnarzt?",
            "Du möchtest morgen an den Zahnarzt erinnert werden.",
            "Der Nutzer möchte morgen an den Zahnarzt erinnert werden",
        ),
    ],
)
def test_a_fact_comes_from_what_was_said_not_from_the_answer_that_repeats_it(said, asked, answer, fact):
    """The answer to a later question has more words of the fact than the request that it came from."""
    talk = make_chunk(make_turn(7, said, "Noted."), make_turn(8, asked, answer))

    [draft] = build_drafts(talk, [ExtractedFact(text=fact or answer.replace("You want", "User wants"))])

    assert (draft.fact.seq, draft.excerpt) == (7, said)


def test_a_fact_that_only_a_question_states_comes_from_the_question():
    """It has more words of the fact than any statement."""
    talk = make_chunk(make_turn(7, "I like tea"), make_turn(8, "Do you know my sister Noa from Haifa?"))

    [draft] = build_drafts(talk, [ExtractedFact(text="User likes his sister Noa, who is from Haifa")])

    assert draft.fact.seq == 8


def test_a_fact_that_shares_no_word_with_a_turn_has_the_time_of_its_chunk():
    """A turn cannot be determined."""
    talk = make_chunk(make_turn(7, "I flew to Rome"), make_turn(8, "and back"))

    [draft] = build_drafts(talk, [ExtractedFact(text="L'utilisateur aime voyager")])

    assert (draft.fact.seq, draft.fact.said_at) == (7, talk.said_at)
    assert draft.fact.metadata == {"speaker": "itay"}


@pytest.mark.parametrize("text", ["\u200b", "\x00", " \x07 \u2060"])
def test_an_extracted_text_without_visible_characters_is_dropped(text):
    """The other facts of its chunk are learned."""
    facts = [ExtractedFact(text=text), ExtractedFact(text="User likes plums")]

    assert [draft.fact.text for draft in build_drafts(make_chunk(make_turn(0, "I like plums")), facts)] == [
        "User likes plums"
    ]


def test_the_message_a_chunk_replies_to_is_a_source_of_its_facts():
    """A bare "yes" means nothing alone: forgetting the fact also covers the question."""
    asked = make_turn(7, "hm").messages[1]

    [draft] = build_drafts(
        replace(make_chunk(make_turn(8, "yes")), before=(asked,)), [ExtractedFact(text="User likes tea")]
    )

    assert draft.event_ids == ("7-assistant", "8-user", "8-assistant")


def test_a_draft_names_the_turn_the_agent_and_the_channel_it_is_attributed_to():
    """The events of the whole chunk stay those that forgetting skips."""
    turns = [make_turn(1, "I like tea", "Noted."), make_turn(2, "My sister is Noa", "Nice.")]
    key = SessionKey(KEY.app, "itay", "itay:telegram")
    [draft] = build_drafts(
        replace(make_chunk(*turns), key=key), [ExtractedFact(text="User's sister is Noa", category="family")]
    )

    assert draft.turn_event_ids == turns[1].event_ids
    assert set(draft.event_ids) == {*turns[0].event_ids, *turns[1].event_ids}
    assert draft.fact.agent == turns[1].agent is not None
    assert (draft.channel, draft.fact.category) == ("telegram", "family")


def test_a_category_that_holds_a_credential_is_left_out():
    """The fact is kept."""
    [kept] = drop_unkeepable([ExtractedFact(text="User likes tea", category=CREDENTIALS[2])])

    assert (kept.text, kept.category) == ("User likes tea", None)


def test_an_attribution_that_holds_a_credential_is_left_out():
    """It becomes metadata of the fact."""
    [draft] = build_drafts(
        make_chunk(make_turn(0, "I like plums")),
        [ExtractedFact(text="User likes plums", attributed_to=f"user {CREDENTIALS[0]}")],
    )

    assert "attributed_to" not in draft.fact.metadata


def test_a_learned_card_number_is_kept_only_if_numbers_are_allowed():
    """The setting is `memory.allow_numbers`."""
    said = [ExtractedFact(text="User's card is 4111 1111 1111 1111")]

    assert [item.text for item in drop_unkeepable(said)] == ["User's card is [redacted: an account number]"]
    assert drop_unkeepable(said, allow_numbers=True) == said


@pytest.mark.parametrize(
    ("day", "said_at"),
    [
        (date(2026, 10, 2), "2026-10-02T12:00:00+09:00"),
        (None, "2026-11-20T23:30:00+00:00"),
        (date(2027, 1, 1), "2026-11-20T23:30:00+00:00"),
    ],
)
def test_a_fact_was_said_on_the_earlier_day_that_the_messages_name(day, said_at):
    """The turn is of the 21st in Tokyo; a later day is that of an event."""
    chunk = make_chunk(make_turn(1, "I like tea", at=datetime(2026, 11, 20, 23, 30, tzinfo=UTC)))
    chunk = replace(chunk, zone=load_time_zone("Asia/Tokyo"))
    [draft] = build_drafts(chunk, [ExtractedFact(text="Likes tea", said_at=day)])

    assert draft.fact.said_at == datetime.fromisoformat(said_at)
