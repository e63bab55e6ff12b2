"""The offline model: fixed rules for learning and for the profile."""

from __future__ import annotations

import json
from datetime import date

import pytest
from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT, generate_additive_extraction_prompt

from gaia_memory.backend.offline import sentences
from gaia_memory.backend.offline.categories import category_of
from gaia_memory.backend.offline.offline_llm import UNSUPPORTED_ANSWER, OfflineLlm
from gaia_memory.language.dates import relative_dates
from support.running_time import assert_linear

pytestmark = pytest.mark.heavy

FRIDAY = date(2026, 11, 20)


def learned(*texts: str, role: str = "user", day: str = "2026-11-20") -> list[str]:
    """Return what the offline model extracts from texts, prompted as mem0 does."""
    messages = [{"role": role, "content": text} for text in texts]
    prompt = generate_additive_extraction_prompt(
        new_messages=messages,
        last_k_messages=[{"role": "user", "content": "I said this before."}],
        timestamp=day,
        custom_instructions="I like rules.",
        use_input_language=True,
    )
    answer = OfflineLlm().generate_response(
        [{"role": "system", "content": ADDITIVE_EXTRACTION_PROMPT}, {"role": "user", "content": prompt}],
        response_format={"type": "json_object"},
    )
    return [item["text"] for item in json.loads(answer)["memory"]]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I'm vegetarian", "User is vegetarian"),
        ("I’m vegetarian.", "User is vegetarian."),  # noqa: RUF001
        ("i'm allergic to nuts", "User is allergic to nuts"),
        ("my sister is called Noa", "User's sister is called Noa"),
        ("My name is Itay", "User's name is Itay"),
        ("I moved to Berlin", "User moved to Berlin"),
        ("I've two cats", "User has two cats"),
        ("I'M ALLERGIC TO NUTS", "User is ALLERGIC TO NUTS"),
        ("I’M vegan", "User is vegan"),  # noqa: RUF001
        ("I’VE TWO CATS", "User has TWO CATS"),  # noqa: RUF001
        ("I'LL MARRY DANA", "User will MARRY DANA"),
        ("I'D RATHER WALK", "User would RATHER WALK"),
        ("I'D BETTER REST", "User had BETTER REST"),
        ("I AM VEGAN", "User is VEGAN"),
        ("I LOVE CATS", "User loves CATS"),
        ("I NEVER EAT NUTS", "User NEVER eats NUTS"),
        ("I DON'T EAT MEAT", "User doesn't EAT MEAT"),
        ("MY SISTER IS CALLED NOA", "User's SISTER IS CALLED NOA"),
        ("WE'RE MOVING TO ROME", "User is MOVING TO ROME"),
        ("I´m vegan", "User is vegan"),  # noqa: RUF001
        ("I`m vegan", "User is vegan"),
        ("Iʼm vegan", "User is vegan"),  # noqa: RUF001
        ("I have a dog named Rex", "User has a dog named Rex"),
        ("I don't like mushrooms", "User doesn't like mushrooms"),
        ("I do not eat meat", "User does not eat meat"),
        ("I can't stand cilantro", "User can't stand cilantro"),
        ("I haven't been to Japan", "User hasn't been to Japan"),
        ("I never drink coffee", "User never drinks coffee"),
        ("I watch old movies", "User watches old movies"),
        ("I study physics", "User studies physics"),
        ("I play chess", "User plays chess"),
        ("I used to live in Rome", "User used to live in Rome"),
        ("I need quiet in the morning", "User needs quiet in the morning"),
        ("I'll marry Dana", "User will marry Dana"),
        ("I'd rather walk", "User would rather walk"),
        ("We bought a house", "User bought a house"),
        ("We're expecting a baby", "User is expecting a baby"),
        ("Our cat is called Mitzi", "User's cat is called Mitzi"),
        ("My wife and I live in Haifa", "User and User's wife live in Haifa"),
        ("Tom and I got engaged", "User and Tom got engaged"),
        ("We love each other", "User and others love each other"),
        ("I no longer eat meat", "User no longer eats meat"),
        ("I hardly ever sleep", "User hardly ever sleeps"),
        ("I, for one, hate mushrooms", "User hates mushrooms"),
        ("im vegan", "User is vegan"),
        ("my address: 5 King Street", "User's address is 5 King Street"),
        ("Don't wake me before 9", "User does not want to be woken before 9"),
        ("I love my garden", "User loves their garden"),
        ("The red car is mine", "The red car is User's"),
        ("Noa gave me a ring", "Noa gave User a ring"),
        ("Noa loves sushi", "Noa loves sushi"),
        ("Call me Zed", "User wants to be called Zed"),
        ("Please remember that I am left-handed", "User is left-handed"),
        ("By the way, I work at Google", "User works at Google"),
    ],
)
def test_statements_in_the_first_person_become_facts_about_the_user(said: str, fact: str) -> None:
    """The third person can be understood without the conversation."""
    assert learned(said) == [fact]


@pytest.mark.parametrize(
    "said",
    [
        "What's the weather?",
        "do you know Rome",
        "How are you",
        "Hello!",
        "Good morning, Gaia",
        "Thanks so much!",
        "ok, great",
        "Tell me a joke",
        "Please write a poem about my cat",
        "remember to buy milk",
        "Can you help me with my code",
        "I need help with my code",
        "I want you to stop",
        "I have a question about Rome",
        "I was wondering about Rome",
        "I think so",
        "I think I am allergic to kiwis",
        "If I win the lottery I'll buy a boat",
        "I'm kidding",
        "Goat cheese, yes.",
        "The first one.",
        "She turns 70.",
        "Thought so.",
        "Nothing, just saying hi.",
        "Sounds great, Mel.",
        "Ja sehr.",
        "Der zweite.",
        "Kein Problem.",
        "La segunda.",
        "Le premier.",
        "I called him yesterday",
        "Erinnere mich bitte an den Zahnarzt",
        "Rappelle-moi d'appeler le dentiste",
        "Recuérdame llamar al dentista",
        "I don't know",
        "It's raining",
        "That is nice of you",
        "/memory",
        "https://example.org/my/page",
        "```\nI = my(code)\n```",
        "¿Dónde vives?",
        "איפה אתה גר?",
        "你好！",  # noqa: RUF001
        "Danke schön",
        "pizza",
        "",
    ],
)
def test_questions_requests_and_small_talk_give_no_facts(said: str) -> None:
    """Question marks of other scripts are recognised."""
    assert learned(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "Abito a Roma con mia sorella.",
        "Ik woon in Amsterdam.",
        "אני גר בחיפה.",
        "Я живу в Москве.",
        "أعيش في القاهرة.",
        "我住在北京。",
        "私は東京に住んでいます。",
        "저는 서울에 살아요.",
    ],
)
def test_statements_in_other_languages_are_kept_unchanged(said: str) -> None:
    """Nothing is translated or guessed."""
    assert learned(said) == [said]


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "My sister is called Noa and I'm allergic to nuts",
            ["User's sister is called Noa", "User is allergic to nuts"],
        ),
        ("I cook and I sing", ["User cooks", "User sings"]),
        ("I don't eat pork, but love steak", ["User doesn't eat pork", "User loves steak"]),
        ("I love my wife and my kids", ["User loves their wife and their kids"]),
        ("I like rock and pop music", ["User likes rock and pop music"]),
        ("I can cook and bake", ["User can cook and bake"]),
        ("I'm hungry, suggest dinner", []),
        ("Ich koche gern und esse scharf", ["Der Nutzer kocht gern", "Der Nutzer isst scharf"]),
        ("Ich mag kleine und große Hunde", ["Der Nutzer mag kleine und große Hunde"]),
        ("Je fais du yoga et je cours", ["L'utilisateur fait du yoga", "L'utilisateur court"]),
        ("Me gusta nadar pero odio correr", ["Al usuario le gusta nadar", "El usuario odia correr"]),
    ],
)
def test_two_statements_of_one_sentence_are_two_facts(said: str, facts: list[str]) -> None:
    """A list of things is one statement."""
    assert learned(said) == facts


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("My favorite colour is teal, no wait, green", ["User's favorite colour is green"]),
        ("I live in Rome. No wait, Milan.", ["User lives in Milan"]),
        ("My meeting is on Monday. No, I meant Tuesday.", ["User's meeting is on Tuesday (2026-11-24)"]),
        ("I am allergic to nuts. Scratch that, I am not allergic to nuts", ["User is not allergic to nuts"]),
        ("I like tea. I'm getting married in June. Just kidding!", ["User likes tea."]),
        ("I'm getting married, just kidding", []),
        ("Ich wohne in Köln. Quatsch, in Bonn.", ["Der Nutzer wohnt in Bonn"]),
        ("J'habite à Lyon, non attends, à Nantes", ["L'utilisateur habite à Nantes"]),
        ("Vivo en Madrid, no, espera, en Sevilla", ["El usuario vive en Sevilla"]),
        ("I have 3 cats, no 4", ["User has 4 cats"]),
        ("Me llamo Paula, no, Petra", ["El usuario se llama Petra"]),
        ("Me llamo Paula, no Petra", ["El usuario se llama Paula, no Petra"]),
        ("Vivo en Roma, no en París", ["El usuario vive en Roma, no en París"]),
        ("J'habite à Rome, non à Paris", ["L'utilisateur habite à Rome, non à Paris"]),
    ],
)
def test_a_correction_in_the_same_message_replaces_what_it_corrects(said: str, facts: list[str]) -> None:
    """What was taken back is no fact."""
    assert learned(said) == facts


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "My sister Noa is a nurse. She lives in Rome.",
            ["User's sister Noa is a nurse.", "User's sister Noa lives in Rome."],
        ),
        ("I met Tom. He works at Google.", ["User met Tom.", "Tom works at Google."]),
        ("My brother is ill. She lives in Rome.", ["User's brother is ill."]),
        (
            "Mein Bruder Tim ist Arzt. Er wohnt in Jena.",
            ["Tim, der Bruder des Nutzers, ist Arzt.", "Tim wohnt in Jena."],
        ),
        (
            "Ma sœur est médecin. Elle vit à Nice.",
            ["La sœur de l'utilisateur est médecin.", "La sœur de l'utilisateur vit à Nice."],
        ),
        (
            "Mi hermano es médico. Vive en Cádiz.",
            ["El hermano del usuario es médico.", "El hermano del usuario vive en Cádiz."],
        ),
    ],
)
def test_a_pronoun_stands_for_the_person_named_before(said: str, facts: list[str]) -> None:
    """A sentence whose pronoun may be anybody is left out."""
    assert learned(said) == facts


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("it's my birthday today!", "User's birthday is on 20 November"),
        ("Ich habe heute Geburtstag", "Der Nutzer hat am 20. November Geburtstag"),
        ("C'est mon anniversaire", "L'anniversaire de l'utilisateur est le 20 novembre"),
        ("Hoy es mi cumpleaños", "El cumpleaños del usuario es el 20 de noviembre"),
    ],
)
def test_a_birthday_today_is_dated_by_the_day_of_the_message(said: str, fact: str) -> None:
    """It comes back every year, so the year is left out."""
    assert learned(said) == [fact]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Mein Zwirbel ist kaputt", "Der Nutzer sagt: „Mein Zwirbel ist kaputt“"),
        ("Ma mère m'appelle tous les jours", "L'utilisateur dit : « Ma mère m'appelle tous les jours »"),
        ("Abomino del ruido y soy feliz", "El usuario dice: «Abomino del ruido y soy feliz»"),
    ],
)
def test_a_sentence_is_quoted_if_its_third_person_is_not_certain(said: str, fact: str) -> None:
    """Nothing is garbled."""
    assert learned(said) == [fact]


@pytest.mark.parametrize(
    ("fact", "category"),
    [
        ("User is allergic to nuts", "health"),
        ("User's sister Noa lives in Madrid", "family"),
        ("Der Nutzer isst kein Fleisch mehr", "food"),
        ("L'utilisateur habite à Lyon", "home"),
        ("El usuario trabaja en Google", "work"),
        ("User supports Arsenal", None),
        ("User's boss is a pain", "work"),
        ("User has a pain in their knee", "health"),
        ("User's brother is a doctor", "family"),
        ("Der Nutzer ist Ärztin", "work"),
        ("User sang in a choir", "hobby"),
        ("User's parents come from Japan", "family"),
        ("User wants to be reminded in 2 hours to call Karl", None),
        ("User wants to be reminded on Friday to feed the dog", "pet"),
        ("Der Nutzer möchte morgen um 9 an Karl erinnert werden.", None),
        ("El usuario quiere que le recuerden mañana llamar a Karl", None),
    ],
)
def test_a_fact_has_the_category_of_its_most_specific_word(fact: str, category: str | None) -> None:
    """A fact without a known word has none."""
    assert category_of(fact) == category


@pytest.mark.parametrize(
    ("piece", "size"),
    [
        ("I like tea and I like cake, but no wait, ", 100),
        ("I like green tea with milk and a lot of honey. ", 100),
        ("und ich und mein und ", 200),
        ("a", 5_000),
        (" ", 5_000),
        ("so ", 1_000),
        ("je j'ai et on a, ", 250),
        ("- wait, ", 500),
        (" “a ”b \"c 'd", 400),
        ("I like tea{number}. I don't like tea{number}.\n", 40),
    ],
    ids=["clauses", "sentences", "German", "word", "spaces", "adverbs", "French", "corrections", "quotes", "denials"],
)
def test_the_running_time_is_linear_in_the_length_of_a_message(piece: str, size: int) -> None:
    """No pattern takes more than linear time."""
    assert_linear(
        lambda count: learned("I am " + "".join(piece.replace("{number}", str(n)) for n in range(count))), size
    )


def test_each_sentence_is_a_fact_and_duplicates_are_dropped() -> None:
    """This covers all messages; small talk is left out."""
    assert learned("Hi! I live in Haifa. I like tea; I like tea\nWhere is Dr. Levi?", "I live in Haifa.") == [
        "User lives in Haifa.",
        "User likes tea",
    ]


def test_only_new_user_messages_give_facts() -> None:
    """Messages of the agent, earlier messages and instructions do not."""
    assert learned("I am your assistant and I like you.", role="assistant") == []


def test_mem0s_own_message_format_is_supported() -> None:
    """A host's `Memory.add` writes lines that begin with a role."""
    prompt = generate_additive_extraction_prompt(new_messages="user: I live in Rome\nassistant: I am here\n")
    answer = json.loads(OfflineLlm().generate_response([{"role": "user", "content": prompt}]))

    assert answer == {
        "memory": [{"id": "0", "text": "User lives in Rome", "attributed_to": "user", "category": "home"}]
    }


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("tomorrow I fly to Rome", "Tomorrow (2026-11-21) User flies to Rome"),
        ("I ate sushi yesterday", "User ate sushi yesterday (2026-11-19)"),
        ("The day after tomorrow I move", "The day after tomorrow (2026-11-22) User moves"),
        ("I started work today", "User started work today (2026-11-20)"),
        ("In two weeks I start a job", "In two weeks (2026-12-04) User starts a job"),
        ("I got married 3 years ago", "User got married 3 years ago (2023)"),
        ("We met a month ago", "User and others met a month ago (2026-10)"),
        ("I go to Paris next week", "User goes to Paris next week (the week of 2026-11-23)"),
        ("I retired last year", "User retired last year (2025)"),
        ("I see Noa next Monday", "User sees Noa next Monday (2026-11-23)"),
        ("I saw Noa last Friday", "User saw Noa last Friday (2026-11-13)"),
        ("I was born on 1990-05-02", "User was born on 1990-05-02"),
        ("On Sunday I visit Ana", "On Sunday (2026-11-22) User visits Ana"),
        ("On Sunday I visited Ana", "On Sunday (2026-11-15) User visited Ana"),
        ("I have a meeting on Tuesday at 9", "User has a meeting on Tuesday at 9 (2026-11-24)"),
        ("I work until Thursday", "User works until Thursday (2026-11-26)"),
        ("On Sunday I met Tom, who is going to visit me", "On Sunday User met Tom, who is going to visit User"),
        ("I play tennis on Sundays", "User plays tennis on Sundays"),
        ("My day off is Wednesday", "User's day off is Wednesday"),
        ("Nächsten Montag fliege ich nach Rom", "Nächsten Montag (2026-11-23) fliegt der Nutzer nach Rom"),
        ("Am Samstag besuche ich Ana", "Am Samstag (2026-11-21) besucht der Nutzer Ana"),
        ("Am Samstag habe ich Ana besucht", "Am Samstag (2026-11-14) hat der Nutzer Ana besucht"),
        ("Samstags spiele ich Tennis", "Samstags spielt der Nutzer Tennis"),
        ("Dimanche je visite Paris", "Dimanche (2026-11-22) l'utilisateur visite Paris"),
        ("Dimanche j'ai visité Paris", "Dimanche (2026-11-15) l'utilisateur a visité Paris"),
        ("Lundi prochain j'ai un examen", "Lundi prochain (2026-11-23) l'utilisateur a un examen"),
        ("Je travaille le samedi", "L'utilisateur travaille le samedi"),
        ("I've got a scan on Monday at 9", "User has got a scan on Monday at 9 (2026-11-23)"),
        ("Tom has got a scan on Monday", "Tom has got a scan on Monday (2026-11-23)"),
        (
            "I have a helper called Jo who starts on Monday",
            "User has a helper called Jo who starts on Monday (2026-11-23)",
        ),
        ("I have choir on Monday evenings", "User has choir on Monday evenings"),
        ("I ordered flour for Monday", "User ordered flour for Monday (2026-11-23)"),
        ("I have a planned scan on Monday at 10", "User has a planned scan on Monday at 10 (2026-11-23)"),
        ("Ben has a delayed scan on Monday", "Ben has a delayed scan on Monday (2026-11-23)"),
        ("Tom's fixed the car on Monday", "Tom's fixed the car on Monday (2026-11-16)"),
        ("The vet moved Rex's check-up to Monday", "The vet moved Rex's check-up to Monday (2026-11-23)"),
        ("Joe is coming next week to help", "Joe is coming next week (the week of 2026-11-23) to help"),
        ("I got a parcel on Monday", "User got a parcel on Monday (2026-11-16)"),
        ("I have the vet on saturday at 6", "User has the vet on saturday at 6 (2026-11-21)"),
        ("I have yoga on tuesday and friday", "User has yoga on tuesday and friday"),
        ("It's my birthday on Sunday", "User's birthday is on Sunday (2026-11-22)"),
        ("Tom hat am 25. einen Termin", "Tom hat am 25. (2026-11-25) einen Termin"),
        ("El domingo visito Vigo", "El domingo (2026-11-22) el usuario visita Vigo"),
        ("El domingo visité Vigo", "El domingo (2026-11-15) el usuario visitó Vigo"),
        ("El próximo lunes tengo un examen", "El próximo lunes (2026-11-23) el usuario tiene un examen"),
    ],
)
def test_relative_dates_are_resolved_from_the_day_of_the_message(said: str, told: str) -> None:
    """The day of learning makes no difference."""
    assert learned(said) == [told]


def test_relative_months_cross_the_turn_of_the_year() -> None:
    """This works in both directions."""
    assert relative_dates.annotate_dates("in 2 months", FRIDAY) == "in 2 months (2027-01)"
    assert relative_dates.annotate_dates("11 months ago", FRIDAY) == "11 months ago (2025-12)"


def test_abbreviations_do_not_end_a_sentence() -> None:
    """A title such as "Dr." stays with the name."""
    assert list(sentences.split_sentences("My doctor is Dr. Levi. He is nice.")) == [
        "My doctor is Dr. Levi.",
        "He is nice.",
    ]


def profile(*facts: str, limit: str = "at most 3") -> str:
    """Ask the offline model for a profile."""
    listed = "\n".join(f"- {fact}" for fact in facts)
    return OfflineLlm().generate_response(
        [
            {"role": "system", "content": f"Answer with {limit} bullets."},
            {"role": "user", "content": f"Distil.\n<FACTS>\n{listed}\n</FACTS>"},
        ]
    )


def test_a_profile_contains_the_ranked_facts_up_to_the_requested_number() -> None:
    """Name and health come first, then the newest; duplicates are dropped."""
    told = profile(
        "User saw a film", "User's name is Itay", "User likes tea", "user's name is  Itay", "User is allergic to nuts"
    )

    assert told.splitlines() == ["- User is allergic to nuts", "- user's name is  Itay", "- User likes tea"]


def test_a_profile_without_a_requested_number_has_at_most_twenty_lines() -> None:
    """Without facts it is empty."""
    assert len(profile(*[f"User likes dish {n}" for n in range(50)], limit="few").splitlines()) == 20
    assert profile() == ""


def test_other_requests_get_an_explanation() -> None:
    """The answer says that this is the offline model."""
    answer = OfflineLlm().generate_response([{"role": "user", "content": "What is love?"}])

    assert answer == UNSUPPORTED_ANSWER
    assert "offline" in answer


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (("dont remember this but i earn 3400 a month",), []),
        (("pls dont remember this, i hate my sister",), []),
        (("My boss is ill. Keep this between us.",), []),
        (("I owe 900 euros, don't remember this.",), []),
        (("My colleague Abe is gay, but don't remember that.",), []),
        (("Merk dir nicht, dass ich rauche",), []),
        (("Retiens pas que je suis enceinte",), []),
        (("I remember this song from school",), ["User remembers this song from school"]),
        (("how old is mila", "he turns 5"), []),
        (("who picks up mila", "which school does mila go to", "where will i live in march"), []),
        (("did pepper have her jabs", "what time is theo finishing", "can pepper eat tuna"), []),
        (("cancel the bins reminder", "skip the swimming reminder"), []),
        (("Milk and bread pls remember",), []),
        (
            ("Dad's test is on 3 May at 9", "Sorry, Maisie's dentist is on 4 May"),
            ["User's dad's test is on 3 May at 9", "Maisie's dentist is on 4 May"],
        ),
        (
            ("Tom's code is 118 and his room is B4", "Sorry, Bo's code is 203"),
            ["Tom's code is 118 and his room is B4", "Bo's code is 203"],
        ),
        (("don't remind me about the cake tin",), []),
        (
            ("Book club is on Monday", "Check-up for Dad on Monday at 9"),
            ["Book club is on Monday (2026-11-23)", "User has a check-up for Dad on Monday at 9 (2026-11-23)"],
        ),
        (("Game on Saturday at 11",), ["Game on Saturday at 11 (2026-11-21)"]),
        (
            ("timber delivery Friday between 8 and 10", "yoga every Monday at 9"),
            ["Timber delivery on Friday (2026-11-27) between 8 and 10", "Yoga every Monday at 9"],
        ),
        (("See you on Monday", "Good luck on Monday", "Happy Friday!", "The weather on Friday"), []),
        (("I promised Tom a quote by Monday",), ["User promised Tom a quote by Monday (2026-11-23)"]),
        (("Remind me on the 10th to call Tom",), ["User wants to be reminded on the 10th (2026-12-10) to call Tom"]),
        (("The table costs 900 euros", "its 950 not 900"), ["The table costs 950 euros"]),
        (("The meeting with Bo is at 9", "No, the meeting with Bo is at 10"), ["The meeting with Bo is at 10"]),
        (("Das Spiel in Ulm ist um 11", "Nein, das Spiel in Ulm ist um 12"), ["Das Spiel in Ulm ist um 12"]),
        (("Tim is our goalie, he broke his wrist",), ["Tim is User's goalie, he broke his wrist"]),
        (("I need a jack for the van", "van jack?"), ["User needs a jack for the van"]),
        (("Remind me on 31 February to pay rent", "Remind me on 32 December to call Mum"), []),
        (("Remind me in February to pay rent",), ["User wants to be reminded in February to pay rent"]),
        (("Will lives in Leeds",), ["Will lives in Leeds"]),
        (("do mila and sem hate flying", "who has the kids this weekend"), []),
        (
            ("My landlord Greta charges 870 euros", "Olle's teacher is Ms Frick", "she lives in Malmo"),
            ["User's landlord Greta charges 870 euros", "Olle's teacher is Ms Frick"],
        ),
        (("Mila and Sem go to school", "they have a holiday"), ["Mila and Sem go to school"]),
        (
            ("My appointment on monday moved to wednesday",),
            ["User's appointment on monday (2026-11-23) moved to wednesday (2026-11-25)"],
        ),
        (("My wife's name is Yuki", "No, my wife's name is Yuka"), ["User's wife's name is Yuka"]),
        (("My name is Kenji", "Sorry, my name is Kenzo"), ["User's name is Kenzo"]),
        (("I have two cats", "Sorry, I have a cold today"), ["User has two cats"]),
        (("I live in Hamburg", "I lied about Berlin"), ["User lives in Hamburg"]),
        (("Between us we have four cats",), ["User has four cats"]),
    ],
)
def test_hasty_messages_are_learned_as_they_are_meant(said: tuple[str, ...], facts: list[str]) -> None:
    """Without apostrophes and question marks, with a wish at the end, and corrected in whole sentences."""
    assert learned(*said) == facts
