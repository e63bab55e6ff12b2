"""What newcomers say in their first minutes, with a question that must be answered rightly now and once learned."""

from __future__ import annotations

from support.offline.offline_conversations import UNKNOWN, Case

EN, DE, FR, ES = UNKNOWN

TRADES = (
    Case(("I'm a baker in Lyon.",), "What do I do for a living?", "You are a baker in Lyon."),
    Case(("Ich bin Bäckerin in Lyon.",), "Was bin ich von Beruf?", "Du bist Bäckerin in Lyon."),
    Case(("Ich bin Tischler bei Bosch.",), "Was bin ich von Beruf?", "Du bist Tischler bei Bosch."),
    Case(("Je suis boulangère à Lyon.",), "Quel est mon métier ?", "Tu es boulangère à Lyon."),
    Case(("Je suis fleuriste chez Dupont.",), "Quel est mon métier ?", "Tu es fleuriste chez Dupont."),
    Case(("Soy contable en Lima.",), "¿En qué trabajo?", "Eres contable en Lima."),
    # Neither a state nor a customer is a trade.
    Case(("Je suis malade à Lyon.",), "Quel est mon métier ?", FR),
    Case(("Ich bin Kundin bei Bosch.",), "Was bin ich von Beruf?", DE),
)
PROMOTIONS = (
    Case(
        ("I'm an accountant.", "I got promoted to head of sales."), "What is my job?", "head of sales", ("accountant",)
    ),
    Case(
        ("Ich bin Buchhalterin.", "Ich wurde zur Abteilungsleiterin befördert."),
        "Was ist mein Beruf?",
        "zur Abteilungsleiterin",
        ("Buchhalterin",),
    ),
    Case(
        ("Je suis comptable.", "J'ai été promue cheffe de projet."), "Quel est mon métier ?", "cheffe", ("comptable",)
    ),
    Case(("Soy contable.", "Me han ascendido a jefa de ventas."), "¿Cuál es mi trabajo?", "jefa", ("contable",)),
    Case(("Soy contable.", "He sido ascendida a gerente."), "¿En qué trabajo?", "gerente", ("contable",)),
    Case(("I'm a nurse.", "My sister got promoted to head nurse."), "What is my job?", "You are a nurse."),
    Case(("I'm a nurse at Bosch.", "I got promoted to head nurse."), "Where do I work?", EN, ("head",)),
    Case(("I'm a nurse.", "I got promoted to head nurse.", "I'm a baker now."), "What's my job?", "baker", ("nurse",)),
)
SEPARATIONS = (
    Case(("My boyfriend is called Paul.", "We broke up."), "Who is my boyfriend?", "broke up", ("Paul",)),
    Case(("Mein Freund heißt Paul.", "Wir haben uns getrennt."), "Wer ist mein Freund?", "getrennt", ("Paul",)),
    Case(("Mein Freund heißt Paul.", "Wir haben Schluss gemacht."), "Wer ist mein Freund?", "Schluss", ("Paul",)),
    Case(("Mon copain s'appelle Paul.", "Nous avons rompu."), "Qui est mon copain ?", "rompu", ("Paul",)),
    Case(("Mon copain s'appelle Paul.", "On s'est séparés."), "Qui est mon copain ?", "Tu t'es séparé.", ("Paul",)),
    Case(("Mon copain s'appelle Paul.", "On a rompu."), "Comment s'appelle mon copain ?", "rompu", ("Paul",)),
    Case(("Mi novio se llama Pablo.", "Rompimos ayer."), "¿Quién es mi novio?", "Rompiste ayer", ("Pablo",)),
    Case(("Mi novio se llama Pablo.", "Nos separamos."), "¿Quién es mi novio?", "Te separaste.", ("Pablo",)),
)
_BEN = ("I'm Ben, 34, from Dublin",)
_BEN_DE = ("Ich bin Ben, 34, aus Köln.",)
_BEN_FR = ("Je m'appelle Ben, 34 ans, d'Orléans.",)
_BEN_ES = ("Soy Ben, 34 años, de Madrid.",)
INTRODUCTIONS = (
    Case(_BEN, "What's my name?", "You are Ben."),
    Case(_BEN, "How old am I?", "You are 34."),
    Case(_BEN, "Where am I from?", "You are from Dublin."),
    Case(("I am Ben Lee, 34 years old, from Cork and I work at Lidl.",), "How old am I?", "You are 34."),
    Case(_BEN_DE, "Wie heiße ich?", "Du bist Ben."),
    Case(_BEN_DE, "Wie alt bin ich?", "Du bist 34."),
    Case(_BEN_DE, "Woher komme ich?", "Du kommst aus Köln."),
    Case(_BEN_FR, "Comment je m'appelle ?", "Tu t'appelles Ben."),
    Case(_BEN_FR, "Quel âge ai-je ?", "Tu as 34 ans."),
    Case(_BEN_FR, "D'où je viens ?", "Tu viens d'Orléans."),
    Case(_BEN_ES, "¿Cómo me llamo?", "Eres Ben."),
    Case(_BEN_ES, "¿Cuántos años tengo?", "Tienes 34 años."),
    Case(_BEN_ES, "¿De dónde soy?", "Eres de Madrid."),
    Case(("Me llamo Ana de Armas.",), "¿De dónde soy?", ES),
    Case(("Me llamo Ana de Armas.",), "¿Cómo me llamo?", "Te llamas Ana de Armas."),
)
SECOND_SUBJECTS = (
    Case(("Wir fahren nach Rom und das Hotel heißt Ibis.",), "Wie heißt das Hotel?", "heißt Ibis", ("Rom",)),
    Case(("On va à Rome et l'hôtel s'appelle Ibis.",), "Comment s'appelle l'hôtel ?", "Ibis", ("Rome",)),
    Case(("Vamos a Roma y el hotel se llama Ibis.",), "¿Cómo se llama el hotel?", "Ibis", ("Roma",)),
    Case(("We're going to Rome and the hotel is called Ibis.",), "What is the hotel called?", "Ibis", ("Rome",)),
    Case(("I have a cat and Rex is my dog.",), "Who is Rex?", "Rex is your dog.", ("cat",)),
    Case(("Ich wohne in Ulm und Anna wohnt in Graz.",), "Wo wohne ich?", "Du wohnst in Ulm.", ("Graz",)),
    Case(("J'habite à Lyon et Anna habite à Nice.",), "Où est-ce que j'habite ?", "Tu habites à Lyon.", ("Nice",)),
    Case(("Vivo en Lima y Anna vive en Quito.",), "¿Dónde vivo?", "Vives en Lima.", ("Quito",)),
    Case(("I live in Rome and Anna lives in Oslo.",), "Where does Anna live?", "Oslo", ("Rome",)),
    Case(("Meine Mutter wohnt in Ulm und Tom wohnt in Graz.",), "Wo wohnt meine Mutter?", "Ulm", ("Graz",)),
    Case(("Anna vit à Lyon et Tom habite à Nice.",), "Où habite Tom ?", "Nice", ("Lyon",)),
    Case(("Anna vive en Lima y Tom vive en Quito.",), "¿Dónde vive Tom?", "Quito", ("Lima",)),
)
FIRST_MINUTES = (*TRADES, *PROMOTIONS, *SEPARATIONS, *INTRODUCTIONS, *SECOND_SUBJECTS)

SMALL_TALK = (
    "I had a terrible day.",
    "I've had such a long week!",
    "Today was a terrible day.",
    "Ich hatte einen schrecklichen Tag.",
    "Ich habe heute einen echt schlechten Tag gehabt.",
    "Heute war ein furchtbarer Tag.",
    "J'ai passé une journée horrible.",
    "Ma journée a été longue.",
    "He tenido un día terrible.",
    "Tuve un día muy malo.",
)
"""How somebody's day was."""
