"""The offline model answers from what was said in the conversation, in the language of the question."""

from __future__ import annotations

import pytest

from gaia_memory.adk.models.answer_ranking import Statement, rank_answers
from gaia_memory.adk.models.offline_phrases import PHRASES
from gaia_memory.adk.models.second_person import to_second_person
from gaia_memory.adk.models.topic_words import is_same_word
from gaia_memory.adk.models.user_messages import MessageKind, classify, find_question, split_statements
from gaia_memory.language.function_words import detect_language
from support.offline.offline_conversations import CASES, is_right
from support.offline.offline_requests import answer_of

pytestmark = pytest.mark.heavy

MIN_SHARE_RIGHT = 0.9


async def test_nine_of_ten_questions_in_four_languages_are_answered_as_wanted() -> None:
    """Each is asked after what the person said; nothing is in memory."""
    wrong = [(case.question, answer) for case in CASES if not is_right(case, answer := await answer_of(case))]

    assert len(CASES) >= 80
    assert len(wrong) <= (1 - MIN_SHARE_RIGHT) * len(CASES), wrong


@pytest.mark.parametrize(
    ("statement", "turned"),
    [
        ("I'm allergic to nuts", "You are allergic to nuts."),
        ("I live with my boyfriend and our cat", "You live with your boyfriend and your cat."),
        ("btw I was never in Rome", "You were never in Rome."),
        ("User lives in Berlin with their cat", "You live in Berlin with your cat."),
        ("User is a nurse and has two kids", "You are a nurse and have two kids."),
        ("User doesn't eat pork, but loves steak", "You don't eat pork, but love steak."),
        ("User no longer eats meat", "You no longer eat meat."),
        ("User's birthday is on 14 March", "Your birthday is on 14 March."),
        ("User flies to Rome and watches birds", "You fly to Rome and watches birds."),
        ("Noa told me about us", "Noa told you about you."),
        ("User's kids are called Al and Bo, they are deaf", "Your kids are called Al and Bo, they are deaf."),
        ("User's parents love their house", "Your parents love their house."),
        (
            "User lives in Berlin with their boyfriend Tom and their 2 cats",
            "You live in Berlin with your boyfriend Tom and your 2 cats.",
        ),
        ("User moved to Berlin because they love techno", "You moved to Berlin because you love techno."),
        ("User hurt themselves", "You hurt yourself."),
        ("User and others've got twins", "You have got twins."),
        ("User lives with Tom who works in Rome and likes tea", "You live with Tom who works in Rome and likes tea."),
    ],
)
def test_a_statement_is_turned_to_the_person(statement: str, turned: str) -> None:
    """Said in the first person, or kept as a fact about "User"."""
    assert to_second_person(statement) == turned


@pytest.mark.parametrize(
    "statement",
    [
        "User works at Google and loves their canteen",
        "User has two cats and they love tuna",
        "User has twins, they are deaf",
        "User's parents visit them on Sundays",
        "User's sister Ana brings them flowers",
        "Tom and Ana invited User to their wedding",
        "User lives with a friend and their dog",
        "User likes Tom; they play chess",
    ],
)
def test_a_fact_whose_they_may_be_others_is_left(statement: str) -> None:
    """A wrong "you" would tell somebody else's fact as the user's."""
    assert to_second_person(statement) is None


@pytest.mark.parametrize("statement", ["It rains", "I told you that", "The dentist moved to Thursday", ""])
def test_a_statement_that_cannot_be_turned_around_is_left(statement: str) -> None:
    """It is about nobody, or speaks to the model, whose "you" would change sides."""
    assert to_second_person(statement) is None


def test_at_most_two_statements_answer_and_none_that_does_not_fit() -> None:
    """An answer is not padded."""
    said = [
        Statement(text, order) for order, text in enumerate(("I like tea", "I like jazz", "I like cats", "It rains"))
    ]

    assert [each.text for each in rank_answers("What do I like?", said)] == ["I like cats", "I like jazz"]
    assert rank_answers("Where do I work?", said) == []
    assert rank_answers("?", said) == []


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("wife", "wifi", False),
        ("cat", "cats", True),
        ("rojo", "rojas", True),
        ("live", "living", True),
        ("porto", "port", False),
        ("peanuts", "penuts", True),
    ],
)
def test_short_words_are_the_same_by_inflection_only(one: str, other: str, are_same: bool) -> None:
    """A stemmer of another language shortens different words to one stem."""
    assert is_same_word(one, other) is is_same_word(other, one) is are_same


@pytest.mark.parametrize(
    ("question", "fact", "is_answer"),
    [
        ("Do I like coriander?", "User can't stand coriander", True),
        ("Where do I live?", "Lives in Berlin", True),
        ("Where do I live?", "User lives in Berlin with Tom, who lives there too", True),
        ("Where do I live?", "Tom lives in Rome", False),
        ("What is my name?", "L'utilisateur s'appelle Zoé", True),
        ("Who is my boss?", "Karen is User's boss", True),
        ("Who is my boss?", "Karen is Tom's boss", False),
        ("How old is Ana?", "User's sister Ana is 30", True),
        ("How old is Ana?", "User's sister Ana lives in Rome", False),
        ("How old am I?", "User is 5 minutes late", False),
    ],
)
def test_a_question_about_the_person_is_answered_with_a_fact_about_them(
    question: str, fact: str, is_answer: bool
) -> None:
    """Somebody else's fact is no answer, whatever words it contains."""
    assert bool(rank_answers(question, [Statement(fact, 0, is_fact=True)])) is is_answer


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where do I live?", "en"),
        ("Was weißt du über mich?", "de"),
        ("Wo wohne ich", "de"),
        ("Où est-ce que j'habite ?", "fr"),
        ("¿Cómo me llamo?", "es"),
        ("12345", "en"),
    ],
)
def test_the_language_of_a_text_is_detected(text: str, language: str) -> None:
    """By its function words and letters; English where nothing tells."""
    assert detect_language(text) == language
    assert language in PHRASES


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Who are you?", MessageKind.ABOUT_THE_MODEL),
        ("Remember that I like tea", MessageKind.REMEMBER),
        ("Merk dir, dass ich Tee mag", MessageKind.REMEMBER),
        ("what do you know about me", MessageKind.OVERVIEW),
        ("¿Qué sabes de mí?", MessageKind.OVERVIEW),
        ("I moved. Where do I live?", MessageKind.QUESTION),
        ("Wo wohne ich", MessageKind.QUESTION),
        ("hello there", MessageKind.GREETING),
        ("merci beaucoup !", MessageKind.THANKS),
        ("I like tea", MessageKind.STATEMENT),
        ("can't stand coriander btw", MessageKind.STATEMENT),
        ("am allergic to nuts", MessageKind.STATEMENT),
        ("don't call me before 10", MessageKind.STATEMENT),
        ("I forgot my keys", MessageKind.STATEMENT),
        ("please call me Bob", MessageKind.STATEMENT),
        ("can't I eat nuts", MessageKind.QUESTION),
        ("Can you tell me where I live", MessageKind.QUESTION),
        ("forget that I live in Oslo", MessageKind.FORGET),
        ("Can you forget that I live in Oslo?", MessageKind.FORGET),
        ("I live in Rome. Forget that.", MessageKind.FORGET),
        ("Forget it. Where do I live?", MessageKind.QUESTION),
        ("delete everything you know about me", MessageKind.FORGET),
        ("Kannst du bitte alles löschen?", MessageKind.FORGET),
        ("Vergiss nicht, dass ich Tee mag", MessageKind.REMEMBER),
        ("efface tout", MessageKind.FORGET),
        ("borra todo", MessageKind.FORGET),
        ("Can you tell my boss I'm sick?", MessageKind.REQUEST),
        ("remind me to buy milk", MessageKind.REQUEST),
        ("sí", MessageKind.SMALL_TALK),
        ("ok, got it!", MessageKind.SMALL_TALK),
        ("it's raining here", MessageKind.SMALL_TALK),
        ("I love you", MessageKind.SMALL_TALK),
        ("I love your idea, I am a nurse", MessageKind.STATEMENT),
    ],
)
def test_a_message_is_told_by_its_kind(message: str, kind: MessageKind) -> None:
    """Also without a question mark."""
    assert classify(message)[0] is kind


def test_statements_and_question_of_one_message_are_told_apart() -> None:
    """Main clauses are statements of their own; two people with one verb are not two clauses."""
    message = "Hi! I'm Ada, I live in Rome and I like tea. Tom and I cook. Where do I live?"

    assert list(split_statements(message)) == ["I'm Ada", "I live in Rome", "I like tea.", "Tom and I cook."]
    assert find_question(message) == "Where do I live?"
