"""What the rules decide on labelled pairs, on several facts at once, and on whatever a person may type."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.truth.reconcile_by_rule import RuleDecision, Statement, decide_by_rule

MARCH, JUNE = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
FOLDER = Path(__file__).parent
ACTIONS = {"update": "UPDATE", "delete": "DELETE", "same": "NONE", "keep": None}
LEAST_REACH = 0.95


def labelled(file: str) -> Iterator[tuple[str | None, str, str]]:
    """Yield the expected action, the new statement and the existing fact of each pair."""
    for label, languages in yaml.safe_load((FOLDER / file).read_text(encoding="utf-8")).items():
        for pairs in languages.values():
            yield from ((ACTIONS[label], new, existing) for new, existing in pairs)


KNOWN_FILES = ("known.yaml", "near_misses.yaml", "further.yaml", "newcomers.yaml", "lookalikes.yaml")
KNOWN = [pair for file in KNOWN_FILES for pair in labelled(file)]
HELD_OUT = list(labelled("held_out.yaml"))
ALL_TEXTS = sorted({text for _, *texts in (*KNOWN, *HELD_OUT) for text in texts})


def decide(new: str, *current: str, said_at: datetime = JUNE) -> RuleDecision | None:
    """Return the decision on a statement and facts that were said in March; the id of a fact is its text."""
    return decide_by_rule(
        Statement(text=new, said_at=said_at), [Statement(id=text, text=text, said_at=MARCH) for text in current]
    )


def ended(decision: RuleDecision | None) -> tuple[str, ...]:
    """Return the facts that a decision ends."""
    return decision.existing if decision and decision.action in ("UPDATE", "DELETE") else ()


@pytest.mark.parametrize(("action", "new", "existing"), KNOWN)
def test_a_known_pair_is_decided(action: str | None, new: str, existing: str) -> None:
    """Each pair that the rules were written for."""
    decision = decide(new, existing)

    assert (decision.action if decision and decision.existing else None) == action


def test_no_held_out_fact_is_ended_wrongly() -> None:
    """Pairs that no rule was written for: no wrong action, and few that stay undecided."""
    wrong, decided = [], 0
    for action, new, existing in HELD_OUT:
        decision = decide(new, existing)
        found = decision.action if decision and decision.existing else None
        decided += found == action
        if found not in (None, action):
            wrong.append((new, existing, found))

    assert wrong == []
    assert decided >= LEAST_REACH * len(HELD_OUT)


def test_only_the_matching_facts_end() -> None:
    """A move leaves everything but the home, a sale everything but the thing."""
    facts = (
        *("User lives in Berlin", "User loves Berlin", "User was born in Berlin", "Anna lives in Berlin"),
        *("User's brother lives in Berlin", "User works at Siemens in Berlin", "User has a car", "User has a dog"),
    )

    assert ended(decide("User moved from Berlin to Lisbon", *facts)) == ("User lives in Berlin",)
    assert ended(decide("We sold the car", *facts)) == ("User has a car",)


def test_a_statement_that_may_mean_either_ends_neither() -> None:
    """One of two cars was sold."""
    assert decide("We sold the car", "User has a red car", "User has a blue car") is None
    assert ended(decide("I quit my job", "User works at Lidl", "User works for Aldi")) == ()


@pytest.mark.parametrize(
    ("new", "job", "other"),
    [
        ("User quit their job", "User works as a nurse", "User also works at Aldi"),
        ("User quit their job", "User works at Lidl as a cashier", "User works as a barista on weekends"),
        ("User quit their job", "User works as a nurse at the hospital", "User has a second job at Aldi"),
        ("User got fired", "User works as a nurse", "User has two jobs"),
        ("User quit their job at the hospital", "User works as a nurse at a hospital", "User also works at a clinic"),
        ("User got fired", "User works as a nurse", "User works at Aldi"),
        ("Der Nutzer hat gekündigt", "Der Nutzer arbeitet bei Siemens", "Nebenbei arbeitet der Nutzer bei Aldi"),
        ("L'utilisateur a démissionné", "L'utilisateur travaille chez Renault", "Je travaille aussi chez Aldi"),
        ("El usuario dejó su trabajo", "El usuario trabaja en Zara", "También trabajo en Aldi"),
    ],
)
def test_one_of_several_jobs_is_not_ended(new: str, job: str, other: str) -> None:
    """Nobody knows which one was meant."""
    assert ended(decide(new, job, other)) == ()
    assert ended(decide(new, job)) == (job,)


def test_what_says_more_about_the_place_is_in_doubt() -> None:
    """A fact with a further part may hold, so it stays."""
    with_cats = "User lives in Berlin with two cats"
    moved = decide("User moved from Berlin to Lisbon", "User lives in Berlin", with_cats)
    gave_up = decide("User no longer drinks coffee", "User drinks coffee at work")

    assert moved == RuleDecision(
        action="UPDATE", rule="home", existing=("User lives in Berlin",), in_doubt=(with_cats,)
    )
    assert gave_up == RuleDecision(action="ADD", rule="no-longer", in_doubt=("User drinks coffee at work",))


def test_a_statement_said_before_the_fact_is_outdated_by_it() -> None:
    """Monday's conversation may be learned after Wednesday's."""
    january = MARCH - timedelta(days=40)

    assert decide("User lives in Oslo", "User lives in Berlin", said_at=january) == RuleDecision(
        action="ADD", rule="home", outdated_by=("User lives in Berlin",)
    )
    # A retraction that was said before ends nothing.
    assert ended(decide("User no longer eats meat", "User eats meat", said_at=january)) == ()


def test_a_statement_between_two_facts_ends_the_earlier_and_is_outdated_by_the_later() -> None:
    """Oslo in January, Rome in March, Berlin in June, learned in another order."""
    facts = [
        Statement(id="oslo", text="User lives in Oslo", said_at=MARCH - timedelta(days=40)),
        Statement(id="berlin", text="User lives in Berlin", said_at=JUNE),
    ]
    decision = decide_by_rule(Statement(text="User lives in Rome", said_at=MARCH), facts)

    assert decision == RuleDecision(action="UPDATE", rule="home", existing=("oslo",), outdated_by=("berlin",))


def test_a_statement_that_was_repeated_later_changes_nothing() -> None:
    """It does not take the place of its repetition."""
    facts = [
        Statement(id="oslo", text="User lives in Oslo", said_at=MARCH - timedelta(days=40)),
        Statement(id="rome", text="User lives in Rome", said_at=JUNE),
    ]
    decision = decide_by_rule(Statement(text="I live in Rome", said_at=MARCH), facts)

    assert decision == RuleDecision(action="NONE", rule="home", existing=("rome",))


def test_an_event_ends_nothing_that_was_said_after_it() -> None:
    """Who told in March where they live is not moved by what happened in 2009, nor by a move of January."""
    for move in ("User moved to Rome in 2009", "User moved to Rome in January 2026"):
        assert decide(move, "User lives in Oslo") is None
    assert ended(decide("User moved to Rome in May 2026", "User lives in Oslo")) == ("User lives in Oslo",)


@pytest.mark.parametrize(
    ("news", "known"),
    [
        *(("User moved to Rome last month", "User lives in Oslo"), ("Rex died last week", "User's dog is called Rex")),
        *(("User quit smoking last month", "User smokes"),),
    ],
)
def test_news_also_ends_what_was_said_since_it_happened(news: str, known: str) -> None:
    """Whoever says on one day where they live and that they moved last month lives where they moved to."""
    facts = [Statement(id="known", text=known, said_at=JUNE + timedelta(days=2))]

    assert ended(decide_by_rule(Statement(text=news, said_at=JUNE + timedelta(days=2)), facts)) == ("known",)


def test_news_ends_no_change_that_happened_later() -> None:
    """Who moved last month, and again yesterday, lives where they moved yesterday."""
    news = Statement(text="User moved to Rome last month", said_at=JUNE + timedelta(days=9))
    for later in ("User moved back to Oslo", "User moved to Oslo yesterday"):
        facts = [Statement(id="later", text=later, said_at=JUNE + timedelta(days=5))]
        assert decide_by_rule(news, facts) is None
    facts = [Statement(id="before", text="User moved to Oslo in April", said_at=JUNE + timedelta(days=5))]
    assert ended(decide_by_rule(news, facts)) == ("before",)


def test_a_speaker_is_another_person_than_the_user() -> None:
    """In a channel with several people, "I" is the one who speaks."""
    noa = Statement(text="I moved to Rome", said_at=JUNE, speaker="Noa")
    facts = [
        Statement(id="user", text="User lives in Oslo", said_at=MARCH),
        Statement(id="noa", text="Noa lives in Paris", said_at=MARCH),
    ]

    assert ended(decide_by_rule(noa, facts)) == ("noa",)


@pytest.mark.parametrize(("action", "new", "existing"), [pair for pair in (*KNOWN, *HELD_OUT) if pair[0] != "NONE"])
def test_another_subject_ends_nothing(action: str | None, new: str, existing: str) -> None:
    """What is said of Zoe or a brother, or was known of them, is not about the user."""
    for subject in ("User ", "I ", "Der Nutzer ", "El usuario ", "L'utilisateur ", "Ich "):
        for other in ("Zoe ", "User's brother ", "My brother ", "She "):
            if new.startswith(subject):
                assert decide(f"{other}{new.removeprefix(subject)}", existing) is None
            if existing.startswith(subject):
                assert decide(new, f"{other}{existing.removeprefix(subject)}") is None


MAX_IN_ROME, MAX_MOVED = "User's brother Max lives in Rome", "Max moved to Paris"


def test_a_name_is_that_of_a_relative_where_there_is_only_one() -> None:
    """It ends what is known of "my brother Max" if that he is the brother is known besides, else it is doubted."""
    introduced = "User's brother is called Max"

    assert ended(decide(MAX_MOVED, MAX_IN_ROME, introduced, "Max eats meat", "Anna lives in Rome")) == (MAX_IN_ROME,)
    assert decide(MAX_MOVED, MAX_IN_ROME) == RuleDecision(action="ADD", rule="home", in_doubt=(MAX_IN_ROME,))
    german = ("Max, der Bruder des Nutzers, wohnt in Rom", "Der Bruder des Nutzers heißt Max")
    assert ended(decide("Max ist nach Paris gezogen", *german)) == german[:1]


@pytest.mark.parametrize(
    "other",
    [
        *("User's dog is called Max", "User's friend Max eats meat", "Max is User's boss", "User met Max Berg"),
        *("User has a neighbour named Max", "Anna is married to Max", "Max, der Chef des Nutzers, wohnt in Rom"),
        *("Anna's brother is called Max", "Perhaps Max is an actor"),
    ],
)
def test_a_name_that_others_may_have_ends_nothing(other: str) -> None:
    """Nobody knows which Max moved."""
    decision = decide(MAX_MOVED, MAX_IN_ROME, "User's brother is called Max", other)

    assert decision is None or MAX_IN_ROME not in (*ended(decision), *decision.in_doubt)


def test_another_speaker_may_know_another_of_the_same_name() -> None:
    """In a channel with several people."""
    noa = Statement(text=MAX_MOVED, said_at=JUNE, speaker="Noa")

    assert decide_by_rule(noa, [Statement(id="max", text=MAX_IN_ROME, said_at=MARCH)]) is None


@given(st.sampled_from(ALL_TEXTS), st.lists(st.sampled_from(ALL_TEXTS), max_size=12, unique=True), st.randoms())
def test_the_order_of_the_facts_does_not_matter(new: str, texts: list[str], random: Any) -> None:
    """Only when they were said; and the same question has the same answer."""
    facts = [
        Statement(id=f"{number:02}", text=text, said_at=MARCH + timedelta(days=number % 5))
        for number, text in enumerate(texts)
    ]
    shuffled = random.sample(facts, len(facts))
    statement = Statement(text=new, said_at=MARCH + timedelta(days=2))

    assert decide_by_rule(statement, facts) == decide_by_rule(statement, shuffled)


@given(st.text(max_size=300) | st.lists(st.sampled_from(" ".join(ALL_TEXTS).split()), max_size=40).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    """Whatever was typed: no error, and nothing about the user ends by a sentence about others."""
    decide(text, text, "User lives in Oslo.", "User eats meat.")
    decide("User moved from Oslo to Rome.", text)

    assert ended(decide(f"Zoe said: {text}", "User lives in Oslo.", "User eats meat.")) == ()


@pytest.mark.parametrize(
    ("new", "existing"),
    [
        ("User broke up with Anna", "User's girlfriend Anna is a nurse"),
        ("User got divorced", "User's wife is called Anna"),
        ("User got divorced", "User is married to Anna"),
        ("User moved to Sheffield", "User lives in a flat in Leeds with their boyfriend Marcus"),
        ("User moved to Sheffield", "User lives in a flat in Leeds"),
        ("Der Nutzer ist nach Köln gezogen", "Der Nutzer wohnt in einer Wohnung in Bonn mit seinem Freund"),
        ("Der Nutzer ist nach Köln gezogen", "Der Nutzer wohnt mit seinem Freund in Bonn"),
        ("L'utilisateur a déménagé à Paris", "L'utilisateur habite dans un appartement à Lyon avec son copain"),
        ("El usuario se ha mudado a Sevilla", "El usuario vive en un piso en Madrid con su novio"),
        ("User is single", "User's girlfriend is called Anna"),
        ("User's girlfriend is now Lisa", "User's girlfriend is Anna"),
        ("User's girlfriend is now Lisa", "User's girlfriend is called Anna"),
        ("User sold their Tesla", "User drives a Tesla"),
        ("User sold their Tesla", "User has a Tesla"),
        ("User no longer plays chess", "User plays chess and the cello"),
        ("User stopped playing the cello", "User plays chess and the cello"),
        ("Der Nutzer spielt kein Schach mehr", "Der Nutzer spielt Schach und Cello"),
        ("L'utilisateur ne mange plus de viande", "L'utilisateur mange de la viande et du poisson"),
        ("El usuario ya no come carne", "El usuario come carne y pescado"),
        ("User quit their job", "User works at the hospital"),
        ("Der Nutzer hat gekündigt", "Der Nutzer arbeitet im Krankenhaus"),
        ("L'utilisateur a démissionné", "L'utilisateur travaille à l'hôpital"),
        ("El usuario dejó su trabajo", "El usuario trabaja en el hospital"),
        ("Der Nutzer hat sich von Anna getrennt", "Anna, die Freundin des Nutzers, ist Krankenschwester"),
        ("Der Nutzer ist geschieden", "Die Frau des Nutzers heißt Anna"),
        ("Der Nutzer hat sich scheiden lassen", "Die Frau des Nutzers heißt Anna"),
        ("Die Freundin des Nutzers ist jetzt Lisa", "Die Freundin des Nutzers ist Anna"),
        ("Der Nutzer hat seinen Tesla verkauft", "Der Nutzer fährt einen Tesla"),
        ("L'utilisateur a rompu avec Anna", "Anna, la copine de l'utilisateur, est infirmière"),
        ("L'utilisateur a divorcé", "La femme de l'utilisateur s'appelle Anna"),
        ("La copine de l'utilisateur est maintenant Lisa", "La copine de l'utilisateur est Anna"),
        ("L'utilisateur a vendu sa Tesla", "L'utilisateur conduit une Tesla"),
        ("El usuario rompió con Ana", "Ana, la novia del usuario, es enfermera"),
        ("El usuario se divorció", "La mujer del usuario se llama Ana"),
        ("La novia del usuario es ahora Lisa", "La novia del usuario es Ana"),
        ("El usuario vendió su Tesla", "El usuario conduce un Tesla"),
        (
            "User is not allergic to penicillin after all, the test was negative.",
            "User is allergic to penicillin.",
        ),
        ("User does not drink coffee because of a cold", "User drinks coffee"),
        ("Der Nutzer ist nicht allergisch gegen Nüsse, der Test war negativ", "Der Nutzer ist allergisch gegen Nüsse"),
        ("L'utilisateur n'est pas allergique aux noix, le test était négatif", "L'utilisateur est allergique aux noix"),
        ("El usuario no es alérgico al polen, la prueba fue negativa", "El usuario es alérgico al polen"),
        ("User's sister's name is Astrid, not Ingrid.", "User's sister Ingrid lives in Oslo."),
        ("User's sister is called Astrid, not Ingrid.", "User's sister Ingrid likes jazz"),
        ("User's wife is called Astrid, not Ingrid.", "User's wife Ingrid likes jazz"),
        ("Die Schwester des Nutzers heißt Astrid, nicht Ingrid.", "Meine Schwester Ingrid wohnt in Oslo"),
        ("Die Schwester des Nutzers heißt Astrid, nicht Ingrid.", "Ingrid, die Schwester des Nutzers, wohnt in Oslo"),
        ("La soeur de l'utilisateur s'appelle Astrid, pas Ingrid.", "Ma soeur Ingrid habite à Oslo"),
        ("La hermana del usuario se llama Astrid, no Ingrid.", "Mi hermana Ingrid vive en Oslo"),
        ("User is now a teacher.", "User works as a nurse at Santa Maria hospital."),
        ("User is a teacher now.", "User is a nurse."),
        ("Der Nutzer ist jetzt Lehrerin.", "Der Nutzer arbeitet als Krankenschwester"),
        (
            "L'utilisateur est maintenant professeure.",
            "L'utilisateur travaille comme infirmière",
        ),
        ("El usuario ahora es profesora.", "El usuario trabaja como enfermera en el hospital Santa Maria."),
        ("Soy profesora ahora", "El usuario trabaja como enfermera en el hospital Santa Maria."),
    ],
)
def test_what_may_be_over_is_in_doubt(new: str, existing: str) -> None:
    """It is not ended: "now Catholic" is no new partner, and who sold one car may drive another like it."""
    decision = decide(new, existing)

    assert decision is not None
    assert (decision.action, decision.in_doubt) == ("ADD", (existing,))


@pytest.mark.parametrize(
    ("new", "existing"),
    [
        ("User's girlfriend Anna is not a nurse", "User's girlfriend is called Anna"),
        ("User's wife is German", "User's wife is Anna"),
        ("User moved to Sheffield", "User lives with a friend who works in Leeds"),
        ("User moved to Sheffield", "User lives in a flat in Sheffield with Marcus"),
        ("User moved to Sheffield", "User's brother lives in a flat in Leeds with Marcus"),
        ("User's wife is Catholic", "User's wife is called Anna"),
        ("User no longer plays chess", "User plays the cello and likes chess"),
        ("User no longer plays chess", "User plays the cello and speed chess"),
        ("User no longer plays chess with Tom", "User plays chess and the cello"),
        ("User no longer likes chess", "User plays chess and the cello"),
        ("User's brother no longer plays chess", "User plays chess and the cello"),
        ("User quit their job", "User works on a novel"),
        ("User quit their job at Lidl", "User works at the hospital"),
        ("User's brother quit his job", "User works at the hospital"),
        ("User got divorced", "User's girlfriend is called Lisa"),
        ("User's brother got divorced", "User's wife is called Anna"),
        ("User got divorced in 2010", "User's wife is called Anna"),
        ("User sold their Tesla shares", "User drives a Tesla"),
        ("User sold their guitar", "User plays the guitar"),
        ("User sold their car", "User likes cars"),
        ("User weighs 170 pounds", "User weighs 80 kg"),
        ("User's dog weighs 20 kg", "User weighs 80 kg"),
        ("Die Frau des Nutzers ist jetzt Rentnerin", "Der Nutzer hat einen Hund"),
        ("User's sister's name is Astrid, not Ingrid.", "User's sister Inga lives in Oslo."),
        ("User's sister's name is Astrid, not Ingrid.", "User's colleague Ingrid lives in Oslo."),
        ("User's sister's name is Astrid, not Ingrid.", "Ingrid lives in Oslo."),
        ("User's sister's name is Astrid.", "User's sister Ingrid lives in Oslo."),
        ("Anna's sister's name is Astrid, not Ingrid.", "User's sister Ingrid lives in Oslo."),
        ("User's colour is Astrid, not Ingrid.", "User's sister Ingrid lives in Oslo."),
        ("Der Bruder des Nutzers heißt Ask, nicht Ingrid.", "Ingrid, die Schwester des Nutzers, wohnt in Oslo"),
        ("User is a teacher.", "User works as a nurse at Santa Maria hospital."),
        ("User is now a head nurse.", "User works as a nurse at Santa Maria hospital."),
        ("User is now a father.", "User works as a nurse at Santa Maria hospital."),
        ("User is also a teacher now.", "User works as a nurse at Santa Maria hospital."),
        ("User is now a teacher at weekends.", "User works as a nurse at Santa Maria hospital."),
        ("User's sister is now a teacher.", "User works as a nurse at Santa Maria hospital."),
        ("User is not a teacher now.", "User works as a nurse at Santa Maria hospital."),
        ("User is now a volunteer.", "User works as a nurse at Santa Maria hospital."),
        ("Der Nutzer ist Lehrerin.", "Der Nutzer arbeitet als Krankenschwester"),
        (
            "Der Nutzer ist jetzt Krankenpfleger.",
            "Der Nutzer arbeitet als Krankenschwester",
        ),
        ("Der Nutzer ist jetzt Vater.", "Der Nutzer arbeitet als Krankenschwester"),
        ("Der Nutzer ist jetzt auch Lehrerin.", "Der Nutzer arbeitet als Krankenschwester"),
        (
            "Die Schwester des Nutzers ist jetzt Lehrerin.",
            "Der Nutzer arbeitet als Krankenschwester",
        ),
        ("L'utilisateur est professeure.", "L'utilisateur travaille comme infirmière"),
        (
            "L'utilisateur est maintenant infirmier.",
            "L'utilisateur travaille comme infirmière",
        ),
        ("L'utilisateur est maintenant père.", "L'utilisateur travaille comme infirmière"),
        (
            "L'utilisateur est maintenant aussi professeure.",
            "L'utilisateur travaille comme infirmière",
        ),
        (
            "La soeur de l'utilisateur est maintenant professeure.",
            "L'utilisateur travaille comme infirmière",
        ),
        ("El usuario es profesora.", "El usuario trabaja como enfermera en el hospital Santa Maria."),
        ("El usuario ahora es enfermero.", "El usuario trabaja como enfermera en el hospital Santa Maria."),
        ("El usuario ahora es padre.", "El usuario trabaja como enfermera en el hospital Santa Maria."),
        ("El usuario ahora también es profesora.", "El usuario trabaja como enfermera en el hospital Santa Maria."),
        ("La hermana del usuario ahora es profesora.", "El usuario trabaja como enfermera en el hospital Santa Maria."),
        ("User is not allergic to nuts, only to peanut butter", "User is allergic to nuts"),
        ("User no longer eats meat, at least at home", "User eats meat"),
        ("User is allergic to nuts, the test was positive", "User is not allergic to nuts"),
    ],
)
def test_what_goes_on_is_not_in_doubt(new: str, existing: str) -> None:
    """Another value of another thing says nothing."""
    decision = decide(new, existing)

    assert decision is None or not (ended(decision) or decision.in_doubt)
