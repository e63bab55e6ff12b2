"""The offline model answers from what was said in the conversation, in the language of the question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from gaia_memory.adk.models.offline import find_answers as finding
from gaia_memory.adk.models.offline.find_answers import find_answers
from gaia_memory.adk.models.offline.message_kinds import MessageKind, classify, find_question
from gaia_memory.adk.models.offline.offline_phrases import PHRASES, detect_language
from gaia_memory.adk.models.offline.question_kinds import agenda_periods
from gaia_memory.adk.models.offline.second_person import to_second_person
from gaia_memory.adk.models.offline.statements import Statement
from gaia_memory.adk.models.offline.topic_words import is_same_word
from gaia_memory.language.function_words import Language
from support.offline.misleading_conversations import ALL_MISLEADING
from support.offline.newcomer_conversations import NEWCOMER_CASES
from support.offline.offline_conversations import CASES, UNKNOWN, Case, is_right
from support.offline.offline_requests import answer_after_learning, answer_of

pytestmark = pytest.mark.heavy

MIN_SHARE_RIGHT = 0.9


@pytest.mark.parametrize("cases", [CASES, NEWCOMER_CASES], ids=["persons", "newcomers"])
async def test_nine_of_ten_questions_in_four_languages_are_answered_as_wanted(cases: tuple[Case, ...]) -> None:
    """Each is asked after what the person said; nothing is in memory."""
    wrong = [(case.question, answer) for case in cases if not is_right(case, answer := await answer_of(case))]

    assert len(cases) >= 80
    assert len(wrong) <= (1 - MIN_SHARE_RIGHT) * len(cases), wrong


@pytest.mark.parametrize("answer", [answer_of, answer_after_learning], ids=["said", "learned"])
@pytest.mark.parametrize("name", ALL_MISLEADING)
async def test_misleading_conversations_are_answered_as_wanted(
    name: str, answer: Callable[[Case], Awaitable[str]]
) -> None:
    """The newest of what answers comes first, and what is about something else is no answer."""
    wrong = [(case, found) for case in ALL_MISLEADING[name] if not is_right(case, found := await answer(case))]

    assert not wrong


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Tim, der Bruder des Nutzers, ist 30 Jahre alt", "Wie alt ist Lea?"),
        ("Tim ist 30 Jahre alt", "wie alt ist lea"),
        ("User's brother Tim is 30 years old", "How old is Lea?"),
        ("Tim is 30 years old", "how old is lea"),
        ("Tim a 30 ans", "Quel âge a Léa ?"),
        ("Tim tiene 30 años", "¿Cuántos años tiene Lea?"),
        ("Maria wohnt in Bonn", "Wo wohnt Mario?"),
        ("Maria lives in Bonn", "Where does Mario live?"),
    ],
)
def test_a_fact_about_another_person_is_no_answer(fact: str, question: str) -> None:
    """Not even if it has all other words of the question."""
    assert find_answers(question, [Statement(fact)]).statements == []


@pytest.mark.parametrize("question", ["What do I have to do tomorrow?", "Any reminders?", "What's on my list?"])
def test_a_note_with_a_date_is_a_duty(question: str) -> None:
    """As `/remember call the dentist tomorrow` leaves it."""
    note = Statement("call the dentist tomorrow")

    assert find_answers(question, [note, Statement("User was born on 3 May")]).statements == [note]


@pytest.mark.parametrize(
    ("said", "question", "answer"),
    [
        (
            ("My sister Anna is a lawyer.", "She lives in Oslo."),
            "Where does Anna live?",
            "Your sister Anna lives in Oslo.",
        ),
        (("Meine Schwester Anna ist Anwältin.", "Sie wohnt in Oslo."), "Wo wohnt Anna?", "Anna wohnt in Oslo."),
        (("Ma sœur Anna est avocate.", "Elle habite à Oslo."), "Où habite Anna ?", "Anna habite à Oslo."),
        (("Mi hermana Anna es abogada.", "Vive en Oslo."), "¿Dónde vive Anna?", "Anna vive en Oslo."),
    ],
)
async def test_a_pronoun_is_understood_before_it_is_learned(said: tuple[str, ...], question: str, answer: str) -> None:
    """As learning understands it; and it is not the user who lives there."""
    assert (await answer_of(Case(said, question, answer))).endswith(answer)
    assert await answer_of(Case(said, "Where do I live?", UNKNOWN[0])) in UNKNOWN


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
        ("Hey, call me Liz", "You want to be called Liz."),
        ("You can call me Liz, please.", "You want to be called Liz."),
        ("Don't call me before ten", "You do not want to be called before ten."),
        ("My friends call me Liz", "Your friends call you Liz."),
        ("Red wine gives User headaches", "Red wine gives you headaches."),
        ("User told Sean User is broke", "You told Sean you are broke."),
        ("User is happy when User sings", "You are happy when you sing."),
        ("User and others've got twins", "You have got twins."),
        ("User lives with Tom who works in Rome and likes tea", "You live with Tom who works in Rome and likes tea."),
    ],
)
def test_a_statement_is_turned_to_the_person(statement: str, turned: str) -> None:
    """Said in the first person, or kept as a fact about "User"."""
    assert to_second_person(statement) == turned


@pytest.mark.parametrize(
    ("language", "statement", "turned"),
    [
        ("de", "Ich wohne in Oslo", "Du wohnst in Oslo."),
        ("de", "Der Nutzer heißt Tom", "Du heißt Tom."),
        ("de", "Nenn mich Liz", "Du möchtest Liz genannt werden."),
        ("de", "Der Nutzer arbeitet bei Bosch", "Du arbeitest bei Bosch."),
        ("de", "Letzte Woche ist der Nutzer nach Graz gezogen", "Letzte Woche bist du nach Graz gezogen."),
        ("de", "Anna, die Schwester des Nutzers, wohnt in Ulm", "Anna, deine Schwester, wohnt in Ulm."),
        ("de", "Der Nutzer hat sich ein Bein gebrochen", None),
        ("de", "Der Nutzer wohnt in Ulm und arbeitet in Bonn", None),
        ("de", "Anna wohnt in Ulm", None),
        ("fr", "J'habite à Lyon", "Tu habites à Lyon."),
        ("fr", "L'utilisateur s'appelle Tom", "Tu t'appelles Tom."),
        ("fr", "Appelle-moi Liz", "Tu veux être appelé Liz."),
        ("fr", "L'utilisateur ne prend plus de thé", "Tu ne prends plus de thé."),
        ("fr", "Les parents de l'utilisateur habitent à Nice", "Tes parents habitent à Nice."),
        ("fr", "L'utilisateur vit avec sa femme", None),
        ("es", "Vivo en Vigo", "Vives en Vigo."),
        ("es", "Llámame Liz", None),
        ("es", "El usuario se mudó a Vigo", "Te mudaste a Vigo."),
        ("es", "El usuario se divorció", "Te divorciaste."),
        ("es", "El usuario trabaja como enfermera en Vigo", "Trabajas como enfermera en Vigo."),
        ("es", "Lucía, la hermana del usuario, trabaja en Vigo", "Lucía, tu hermana, trabaja en Vigo."),
        ("es", "Ahora vivo en Bilbao", "Ahora vives en Bilbao."),
        ("es", "El usuario casi nunca come carne", "Casi nunca comes carne."),
        ("es", "El usuario solamente habla inglés", None),
        ("es", "El usuario nació en Lima", "Naciste en Lima."),
        ("es", "Al usuario no le gusta el té", "No te gusta el té."),
        ("es", "La hermana del usuario se llama Eva", "Tu hermana se llama Eva."),
        ("es", "El usuario vive con su hermana", None),
    ],
)
def test_a_statement_in_another_language_is_turned_to_the_person(
    language: Language, statement: str, turned: str | None
) -> None:
    """None is what may be about somebody else, or has a form that no rule is sure of: it is quoted."""
    assert to_second_person(statement, language) == turned


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


def test_all_that_fits_answers_and_none_that_does_not_fit() -> None:
    """An answer is not padded."""
    said = [Statement(text) for text in ("I like tea", "I like jazz", "I like cats", "It rains")]

    found = find_answers("What do I like?", said).statements
    assert [each.text for each in found] == ["I like cats", "I like jazz", "I like tea"]
    assert find_answers("Where do I work?", said).statements == []
    assert find_answers("?", said).statements == []


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("wife", "wifi", False),
        ("cat", "cats", True),
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
        ("How old is Ana?", "User's sister Ana is 30", True),
        ("How old is Ana?", "User's sister Ana lives in Rome", False),
        ("How old am I?", "User is 5 minutes late", False),
    ],
)
def test_a_question_about_the_person_is_answered_with_a_fact_about_them(
    question: str, fact: str, is_answer: bool
) -> None:
    """Somebody else's fact is no answer, whatever words it contains."""
    assert bool(find_answers(question, [Statement(fact)]).statements) is is_answer


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
        ("What have I told you so far?", MessageKind.OVERVIEW),
        ("Was habe ich dir bisher erzählt?", MessageKind.OVERVIEW),
        ("Qu'est-ce que je t'ai dit jusqu'ici ?", MessageKind.OVERVIEW),
        ("¿Qué te he contado hasta ahora?", MessageKind.OVERVIEW),
        ("¿Qué sabes de mí?", MessageKind.OVERVIEW),
        ("que sabes de mi", MessageKind.OVERVIEW),
        ("I moved. Where do I live?", MessageKind.QUESTION),
        ("whats my dogs name", MessageKind.QUESTION),
        ("hat meine schwester einen hund", MessageKind.QUESTION),
        ("j'ai quel âge", MessageKind.QUESTION),
        ("donde vivo", MessageKind.QUESTION),
        ("como se llama mi perro", MessageKind.QUESTION),
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
        ("Nice talking to you, good night", MessageKind.SMALL_TALK),
        ("Es war schön, mit dir zu reden", MessageKind.SMALL_TALK),
        ("C'était sympa de parler avec toi", MessageKind.SMALL_TALK),
        ("Ha sido un placer hablar contigo", MessageKind.SMALL_TALK),
        ("Nice talking to your mother", MessageKind.STATEMENT),
        ("What's your name?", MessageKind.ABOUT_THE_MODEL),
        ("Wie heißt du?", MessageKind.ABOUT_THE_MODEL),
        ("Comment tu t'appelles ?", MessageKind.ABOUT_THE_MODEL),
        ("¿Cómo te llamas?", MessageKind.ABOUT_THE_MODEL),
        ("Can you recommend a restaurant?", MessageKind.REQUEST),
        ("I love your idea, I am a nurse", MessageKind.STATEMENT),
    ],
)
def test_a_message_is_told_by_its_kind(message: str, kind: MessageKind) -> None:
    """Also without a question mark."""
    assert classify(message)[0] is kind


def test_the_question_of_a_message_is_found() -> None:
    """Among its statements."""
    message = "Hi! I'm Ada, I live in Rome and I like tea. Tom and I cook. Where do I live?"

    assert find_question(message) == "Where do I live?"


@pytest.mark.parametrize(
    ("said", "question", "wanted", "absent"),
    [
        (("hi, i'm sam",), "what's my name?", "Sam", "sam"),
        (("hallo, ich bin die lisa",), "wie heiße ich?", "Lisa", "lisa"),
        (("je m'appelle luc",), "comment je m'appelle", "Luc", "luc"),
        (("me llamo eva",), "cómo me llamo", "Eva", "eva"),
        (("I live in Leipzig", "I don't live in Leipzig any more"), "Where do I live?", "don't live", "You live"),
        (("I have a dog called Rex", "My dog died last week"), "Do I have a dog?", "died", "Rex"),
        (("I'm vegan", "I'm not vegan any more"), "Am I vegan?", "not vegan", "You are vegan"),
        (("I drive a Fiat", "I sold my Fiat"), "What car do I drive?", "sold", "drive"),
        (("I work at Siemens", "That's not true any more"), "Where do I work?", "don't know", "Siemens"),
        (("I'm 34", "I lied about my age"), "How old am I?", "don't know", "34"),
        (("Ich wohne in Ulm", "Das stimmt nicht mehr"), "Wo wohne ich?", "weiß ich noch nicht", "Ulm"),
        (("Trabajo en Seat", "Eso no es cierto"), "¿Dónde trabajo?", "no lo sé", "Seat"),
        (("I have two cats. Sorry, I meant two rabbits.",), "How many cats do I have?", UNKNOWN[0], "cats."),
        (("My favourite colour is blue", "No, green"), "What is my favourite colour?", "green", "blue"),
        (("I have two cats", "No, I have rabbits"), "What pets do I have?", "rabbits", "cats"),
        (("Ich habe zwei Hunde", "Nein, ich habe einen Kater"), "Welche Haustiere habe ich?", "Kater", "Hunde"),
        (("J'ai deux chats", "Non, j'ai des lapins"), "Quels animaux j'ai ?", "lapins", "chats"),
        (("Tengo dos gatos", "No, tengo conejos"), "¿Qué mascotas tengo?", "conejos", "gatos"),
        (("I work as a nurse", "I'm no longer a nurse, I'm a teacher"), "What do I do for work?", "teacher", "work as"),
        (("Mein Flug ist am Montag", "Er wurde abgesagt"), "Wann ist mein Flug?", "abgesagt", "Montag"),
        (("My email is a@b.cz", "I moved to Ulm and my new email is x@y.cz"), "My email?", "x@y.cz", "Ulm"),
        (("Ich wohne in Ulm", "Ich wohne nicht mehr in Ulm"), "Wo wohne ich?", "nicht mehr", "erinnere"),
        (("J'habite à Lyon", "Je n'habite plus à Lyon"), "Où est-ce que j'habite ?", "n'habites plus", "souviens"),
        (("Vivo en Vigo", "Ya no vivo en Vigo"), "¿Dónde vivo?", "Ya no vives", "Recuerdo"),
    ],
)
async def test_what_a_later_message_denies_is_no_answer(
    said: tuple[str, ...], question: str, wanted: str, absent: str
) -> None:
    """A denial comes before what it denies; what is taken back is not known."""
    answer = await answer_of(Case(said, question, wanted))

    assert is_right(Case(said, question, wanted, (absent,)), answer), answer


@pytest.mark.parametrize(
    ("said", "question", "wanted"),
    [
        (("I live in Rome", "I don't live in Milan"), "Where do I live?", "You live in Rome."),
        (("I like tea", "I don't like coffee"), "Do I like tea?", "You like tea."),
        (("I don't live in Rome", "I live in Rome now"), "Where do I live?", "You live in Rome now."),
        (("I live in Rome", "No problem!"), "Where do I live?", "You live in Rome."),
        (
            ("Ich wohne in Graz", "Ich wohne nicht in Bern, sondern in Ulm."),
            "Wo wohne ich?",
            "Du wohnst nicht in Bern, sondern in Ulm.",
        ),
        (("I don't smoke", "No, never."), "Do I smoke?", "You don't smoke."),
        (("I'm allergic to nuts", "I'm not allergic to milk"), "Am I allergic to nuts?", "You are allergic to nuts."),
    ],
)
async def test_a_denial_of_something_else_silences_nothing(said: tuple[str, ...], question: str, wanted: str) -> None:
    """It shares only the verb, or is older."""
    assert (await answer_of(Case(said, question, wanted))).startswith(wanted)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("My daughter Lotte (6) goes to school", "how old is Lotte?"),
        ("Meine Tochter Lotte (6) geht zur Schule", "Wie alt ist Lotte?"),
        ("Ma fille Lotte (6) va à l'école", "Quel âge a Lotte ?"),
        ("Mi hija Lotte (6) va al colegio", "¿Cuántos años tiene Lotte?"),
    ],
)
async def test_a_number_after_a_name_is_an_age(said: str, question: str) -> None:
    """Of nobody else."""
    assert "6" in await answer_of(Case((said,), question, "6"))
    assert await answer_of(Case((said,), question.replace("Lotte", "Mara"), UNKNOWN[0])) in UNKNOWN


def test_a_denial_comes_before_the_remembered_fact_that_it_denies() -> None:
    """Whatever language they deny it in."""
    old, denial = Statement("User lives in Leipzig"), Statement("Ich wohne nicht mehr in Leipzig")

    assert find_answers("Where do I live?", [old, denial]).statements == [denial, old]


def test_a_change_without_a_denial_is_taken_for_an_addition() -> None:
    """Both may be true, unless the person says "No," first."""
    said = [Statement(text) for text in ("I have two cats", "I have rabbits")]

    found = find_answers("What pets do I have?", said).statements
    assert [each.text for each in found] == ["I have rabbits", "I have two cats"]


@pytest.mark.parametrize(
    ("said", "question", "wanted"),
    [
        (
            ("I'm not vegetarian anymore", "My favourite food is sushi now"),
            "Am I vegetarian?",
            "You are not vegetarian",
        ),
        (("My car's plate is B-XY 123",), "What's my car's plate?", "Your car's plate is B-XY 123."),
        (("I'm not allergic to anything",), "What am I allergic to?", "You are not allergic to anything."),
    ],
)
async def test_a_question_is_answered_with_the_thing_that_it_asks_for(
    said: tuple[str, ...], question: str, wanted: str
) -> None:
    """A favourite food is no diet."""
    assert wanted in await answer_of(Case(said, question, wanted))


@pytest.mark.parametrize(
    ("said", "denied", "question"),
    [
        ("I like olives", "My wife doesn't like olives", "Do I like olives?"),
        ("I'm vegan", "My flatmate is no longer vegan", "Am I vegan?"),
        ("Ich spiele Klavier", "Meine Freundin spielt kein Klavier mehr", "Spiele ich Klavier?"),
        ("Je fume", "Mon frère ne fume plus", "Est-ce que je fume ?"),
    ],
)
def test_somebody_elses_denial_changes_nothing_of_the_user(said: str, denied: str, question: str) -> None:
    """What the user said of themselves is the answer."""
    found = find_answers(question, [Statement(said), Statement(denied)])

    assert [answer.text for answer in found.statements][:1] == [said]


async def test_the_examples_of_the_guide_are_answered_so() -> None:
    """The table under "What it answers"."""
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "offline.md").read_text(encoding="utf-8")
    table = page.split("## What it answers")[1].split("##")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]

    assert len(rows) >= 6
    for said, question, answer in rows[2:]:
        told = await answer_of(Case(tuple(said.split(" · ")), question, answer))
        assert " ".join(f"{line.rstrip('.')}." for line in told.splitlines()) == answer


def test_many_answers_are_compared_with_news_only_as_far_as_they_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """All facts of a person are read for an answer."""
    compared: list[str] = []
    compare = finding.tells_news
    monkeypatch.setattr(finding, "tells_news", lambda *texts: (compared.append(texts[0].text), compare(*texts))[1])

    likes = [Statement(f"User likes tea number {at}") for at in range(20)]
    found = find_answers("What do I like?", [*likes, *(Statement(f"User has book number {at}") for at in range(180))])

    assert len(found.statements) == 10
    assert 0 < len(compared) <= 10 * 200


def test_tomorrow_is_another_day_the_day_after() -> None:
    """A process that runs for days is asked the same question again."""
    question, first = "What do I have tomorrow?", date(2026, 11, 27)
    [asked], [again] = agenda_periods(question, first), agenda_periods(question, first + timedelta(days=1))

    assert (asked.start.date(), again.start.date()) == (date(2026, 11, 28), date(2026, 11, 29))
