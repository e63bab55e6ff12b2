"""Conversations with the offline model: statements, a question, and what its answer must and must not contain."""

from __future__ import annotations

from typing import NamedTuple

UNKNOWN = (
    "I found no answer to that in what I know about you.",
    "Dazu habe ich in dem, was ich über dich weiß, keine Antwort gefunden.",
    "Je n'ai pas trouvé de réponse dans ce que je sais de toi.",
    "No he encontrado la respuesta en lo que sé de ti.",
)
"""The answers to a question that nothing of what was said answers."""


class Case(NamedTuple):
    """What was said, oldest first; the question; the wanted answer, or a part of it; words that must be absent."""

    said: tuple[str, ...]
    question: str
    wanted: str
    absent: tuple[str, ...] = ()


ADA = (
    "I'm Ada, I live in Berlin with my boyfriend Tom and our cat Mochi 🐱",
    "I'm alergic to penuts and shellfish",
    "My birthday is on 14 March 1991.",
    "I work as a nurse at the Charité",
    "My sister Noa lives in Madrid and studies law",
    "I don't eat pork, but I love steak",
)
ANNA = (
    "Ich heiße Anna und wohne in Köln.",
    "Ich bin allergisch gegen Erdnüsse.",
    "Meine Schwester Lena wohnt in Hamburg.",
    "Ich arbeite als Lehrerin an einer Grundschule.",
    "Mein Geburtstag ist am 3. Mai.",
    "Unser Hund heißt Bello.",
)
LUC = (
    "Je m'appelle Luc et j'habite à Lyon.",
    "Je suis allergique aux noix.",
    "Ma sœur Claire habite à Nice.",
    "Je travaille comme boulanger.",
    "Mon chat s'appelle Félix.",
    "Mon anniversaire est le 2 juin.",
)
EVA = (
    "Me llamo Eva y vivo en Sevilla.",
    "Soy alérgica a los mariscos.",
    "Mi hermano Pablo vive en Bilbao.",
    "Trabajo como enfermera en un hospital.",
    "Mi perro se llama Toby.",
    "Mi cumpleaños es el 9 de julio.",
)

CASES = (
    Case(ADA, "What am I allergic to?", "You are alergic to penuts and shellfish.", ("Berlin", "pork")),
    Case(ADA, "Where do I live?", "You live in Berlin with your boyfriend Tom and your cat Mochi", ("Madrid",)),
    Case(ADA, "What is my name?", "You are Ada", ("Noa",)),
    Case(ADA, "who am I", "You are Ada"),
    Case(ADA, "When is my birthday?", "Your birthday is on 14 March 1991.", ("Charité",)),
    Case(ADA, "What's my job?", "You work as a nurse at the Charité", ("Noa",)),
    Case(ADA, "Where do I work?", "You work as a nurse at the Charité", ("Berlin",)),
    Case(ADA, "Where does my sister live?", "Your sister Noa lives in Madrid", ("Berlin",)),
    Case(ADA, "what does Noa study", "Your sister Noa lives in Madrid and studies law"),
    Case(ADA, "What is my cat called?", "cat Mochi", ("Noa",)),
    Case(ADA, "Who is Tom?", "your boyfriend Tom"),
    Case(ADA, "Do I eat pork?", "You don't eat pork", ("nurse",)),
    Case(ADA, "What is my brother's name?", UNKNOWN[0], ("Noa",)),
    Case(ADA, "What's my phone number?", UNKNOWN[0]),
    Case(ADA, "What is the capital of France?", UNKNOWN[0]),
    Case(ADA, "How old is Tom?", UNKNOWN[0]),
    Case(ADA, "What do you know about me?", "- You live in Berlin", ("don't know",)),
    Case(("I live in Berlin", "It rains a lot", "I moved to Lisbon last week!"), "Where do I live now?", "Lisbon"),
    Case(("I live in Berlin", "I moved to Lisbon"), "Where do I live?", "You moved to Lisbon.", ("Berlin",)),
    Case(
        ("I am allergic to nuts", "Scratch that, I am not allergic to nuts"), "Am I allergic to nuts?", "not allergic"
    ),
    Case(("My favourite colour is teal", "My favourite colour is green"), "favorite color?", "green", ("teal",)),
    Case(("I'm allergic to kiwi", "I'm allergic to peanuts"), "What am I allergic to?", "kiwi"),
    Case(("I am 34 years old", "My son is 5 years old"), "How old am I?", "34", ("5",)),
    Case(("I have two kids, Mia and Ben",), "How many children do I have?", "You have two kids, Mia and Ben."),
    Case(("I used to live in Rome", "I live in Oslo"), "Where do I live?", "You live in Oslo.", ("Rome",)),
    Case(("We live in Porto",), "Where do I live?", "You live in Porto."),
    Case(("The dentist moved to Thursday 10am",), "When is the dentist?", "Thursday 10am"),
    Case(("I drive a red Volvo", "My dog is red"), "Which car do I drive?", "You drive a red Volvo."),
    Case(("my boss is Karen", "my friend is Lou"), "Who is my boss?", "Your boss is Karen.", ("Lou",)),
    Case(("I no longer eat meat",), "Do I eat meat?", "You no longer eat meat."),
    Case(("I was born in Graz",), "Where was I born?", "You were born in Graz."),
    Case(ANNA, "Wogegen bin ich allergisch?", "Du bist allergisch gegen Erdnüsse.", ("Köln",)),
    Case(ANNA, "Wo wohne ich?", "wohnst in Köln", ("Hamburg",)),
    Case(ANNA, "Wie heiße ich?", "Anna", ("Bello", "Lena")),
    Case(ANNA, "Wo wohnt meine Schwester?", "deine Schwester, wohnt in Hamburg.", ("Köln",)),
    Case(ANNA, "Was arbeite ich?", "Lehrerin", ("Bello",)),
    Case(ANNA, "Wann habe ich Geburtstag?", "3. Mai", ("Bello",)),
    Case(ANNA, "Wie heißt mein Hund?", "Bello", ("Anna",)),
    Case(ANNA, "Was weißt du über mich?", "Das weiß ich über dich:"),
    Case(ANNA, "Wie heißt mein Bruder?", UNKNOWN[1], ("Lena",)),
    Case(ANNA, "Was ist meine Lieblingsfarbe?", UNKNOWN[1]),
    Case(LUC, "Où est-ce que j'habite ?", "Tu habites à Lyon", ("Nice",)),
    Case(LUC, "À quoi suis-je allergique ?", "Tu es allergique aux noix.", ("Lyon",)),
    Case(LUC, "Comment je m'appelle ?", "Luc", ("Félix", "Claire")),
    Case(LUC, "Où habite ma sœur ?", "Nice", ("Lyon",)),
    Case(LUC, "Quel est mon métier ?", "boulanger"),
    Case(LUC, "Comment s'appelle mon chat ?", "Félix", ("Luc",)),
    Case(LUC, "Quand est mon anniversaire ?", "2 juin"),
    Case(LUC, "Que sais-tu de moi ?", "Voici ce que je sais de toi :"),
    Case(LUC, "Comment s'appelle mon frère ?", UNKNOWN[2], ("Claire",)),
    Case(EVA, "¿Dónde vivo?", "Vives en Sevilla", ("Bilbao",)),
    Case(EVA, "¿A qué soy alérgica?", "Eres alérgica a los mariscos.", ("Sevilla",)),
    Case(EVA, "¿Cómo me llamo?", "Eva", ("Toby", "Pablo")),
    Case(EVA, "¿Dónde vive mi hermano?", "Bilbao", ("Sevilla",)),
    Case(EVA, "¿En qué trabajo?", "enfermera"),
    Case(EVA, "¿Cómo se llama mi perro?", "Toby", ("Eva",)),
    Case(EVA, "¿Cuándo es mi cumpleaños?", "9 de julio"),
    Case(EVA, "¿Qué sabes de mí?", "Esto es lo que sé de ti:"),
    Case(EVA, "¿Cuál es mi color favorito?", UNKNOWN[3]),
    Case(("The wifi code is 1234",), "What is my wife's name?", UNKNOWN[0], ("1234",)),
    Case(("I met Tom's wife Ana",), "Who is my wife?", UNKNOWN[0], ("Ana",)),
    Case(("My dog Rex is 4 years old", "I have a dog, 4 years old"), "How old am I?", UNKNOWN[0]),
    Case(("I have a dog, 4 years old", "I'm 34"), "How old am I?", "You are 34.", ("dog",)),
    Case(("Tom and Ana are getting married, they live in Rome",), "where do I live?", UNKNOWN[0]),
    Case(("I have a friend Tom who lives in Rome",), "Where do I live?", UNKNOWN[0]),
    Case(("Tom and Ana live in Rome",), "who lives with us?", UNKNOWN[0]),
    Case(("I live with Tom and Ana",), "who lives with us?", "You live with Tom and Ana."),
    Case(
        ("can't stand coriander btw", "I like French cheese"),
        "Do I like coriander?",
        "can't stand coriander",
        ("chee",),
    ),
    Case(("I like French cheese",), "Do I like coriander?", UNKNOWN[0]),
    Case(("forget that I live in Oslo",), "Where do I live?", UNKNOWN[0]),
    Case(("Vergiss, dass ich in Oslo wohne",), "Wo wohne ich?", UNKNOWN[1]),
    Case(("My sister Ana is 30",), "How old is Ana?", "Your sister Ana is 30."),
    Case(("im Marta Okonkwo",), "what's my name?", "You are Marta Okonkwo."),
    Case(("I'm German", "My cat is Ada"), "What is my name?", UNKNOWN[0]),
    Case(("I am vegetarian",), "Do I eat meat?", "You are vegetarian."),
    Case(ADA, "Can you tell me where I live?", "You live in Berlin", ("Madrid",)),
    Case(("I'm married to Ines",), "Who am I married to?", "You are married to Ines."),
    Case(("Tom vive en Roma",), "¿Dónde vivo?", UNKNOWN[3]),
    Case(("My name's Bob",), "whats my name", "Your name is Bob."),
    Case(("I'm from Graz", "Tom is from Rome"), "Where am I from?", "You are from Graz.", ("Rome",)),
    Case(("My favourite food is pizza",), "What food do I like?", "Your favourite food is pizza."),
    Case(ADA, "yes", "All right.", ("Noted",)),
    Case(ADA, "lol", "All right.", ("Noted",)),
    Case(ADA, "Can you tell my boss I'm sick?", "I can't do that"),
    Case(ADA, "my password is hunter22", "I do not keep passwords", ("hunter22",)),
    Case(ADA, "please forget everything about me", "I have not forgotten anything. Send /forget"),
    Case(ANNA, "lösche alles, was du weißt", "Ich habe nichts vergessen."),
    Case(LUC, "Oublie tout", "Je n'ai rien oublié."),
    Case(EVA, "olvida todo", "No he olvidado nada."),
    Case(ANNA, "Where do I live?", "Köln", ("Hamburg",)),
    Case(ADA, "Wo wohne ich?", "Berlin", ("Madrid",)),
)


def is_right(case: Case, answer: str) -> bool:
    """Return whether an answer contains one of the wanted texts (divided by " | ").

    Its first line, which is the newest of what answers, must contain nothing that must be absent.
    """
    first, _, _ = answer.partition("\n")
    return any(wanted in answer for wanted in case.wanted.split(" | ")) and not any(
        word in first for word in case.absent
    )
