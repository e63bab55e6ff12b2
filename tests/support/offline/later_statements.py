"""Conversations whose later statements change what an earlier one says, or belong to it, in other words than its own.

They are asked as those in `misleading_conversations`.
"""

from __future__ import annotations

from support.offline.offline_conversations import Case

MAX = "My brother Max lives in Rome"
RELATIONS_OF_NAMES = (
    Case((MAX, "Max moved to Paris"), "Where does my brother live?", "Paris", ("Rome",)),
    Case((MAX, "Max moved to Paris"), "my brother?", "Your brother Max moved to Paris.", ("Rome",)),
    Case((MAX, "Max has just relocated to Cork"), "Where does my brother live?", "Cork", ("Rome",)),
    Case((MAX, "My boss Max lives in Bonn", "Max moved to Oslo"), "Where does my boss live?", "Bonn", ("Oslo", "Rome")),
    Case((MAX, "My friend Tom is a vet", "Tom moved to Oslo"), "Where does my brother live?", "Rome", ("Oslo",)),
    Case(
        ("Mein Bruder Max wohnt in Rom", "Max ist nach Paris gezogen"), "Wo wohnt mein Bruder?", "nach Paris", ("Rom",)
    ),
    Case(("Mon frère Max habite à Rome", "Max a déménagé à Paris"), "Où habite mon frère ?", "à Paris", ("Rome",)),
    Case(("Mi hermano Max vive en Roma", "Max se mudó a París"), "¿Dónde vive mi hermano?", "a París", ("Roma",)),
    Case(("My daughter Mia is 4", "Mia turned 5"), "How old is my daughter?", "5", ("4",)),
    Case(("My sister is called Anna", "Anna lives in Oslo"), "Where does my sister live?", "Your sister Anna lives in"),
    Case(("My son is called Tim", "Tim's dog is called Rex"), "What is my son called?", "Tim", ("Rex",)),
)
"""A later statement has the name alone."""

SAID_WITH_AN_END = (
    Case(
        ("I drive a Tesla", "I sold the Tesla and bought a Volvo"), "What car do I drive?", "Volvo", ("drive a Tesla",)
    ),
    Case(
        ("Ich fahre einen Golf", "Ich habe den Golf verkauft und einen Polo gekauft"),
        "Welches Auto fahre ich?",
        "Polo",
        ("fährst",),
    ),
    Case(
        ("Je conduis une Clio", "J'ai vendu la Clio et acheté une Twingo"),
        "Quelle voiture je conduis ?",
        "Twingo",
        ("conduis",),
    ),
    Case(("Conduzco un Seat", "Vendí el Seat y compré un Fiat"), "¿Qué coche conduzco?", "Fiat", ("Conduces",)),
    Case(("I play the piano", "I gave up the piano and took up the cello"), "What instrument do I play?", "cello"),
    Case(
        ("I learn Spanish", "I stopped learning Spanish and started Italian"),
        "What language am I learning?",
        "You stopped learning Spanish.\nYou started Italian.",
    ),
    Case(("My boss is Karen", "Karen left and Omar took over"), "Who is my boss?", "Omar", ("is Karen",)),
    Case(("I drive a Volvo", "I sold it"), "What car do I drive?", "You drive a Volvo.\nYou sold it."),
    Case(("I drive a Volvo", "No."), "What car do I drive?", "You drive a Volvo.", ("No",)),
    Case(
        ("My dentist appointment is on Friday", "I moved it to Monday"), "When is my dentist appointment?", "to Monday"
    ),
    Case(
        ("My dentist appointment is at 2 pm on Friday", "The appointment got moved to 3 pm"),
        "When is my dentist appointment?",
        "3 pm",
    ),
)
"""What the same message says beside an end, or the next one by a pronoun, belongs to the answer."""

CHRISTMAS = "I'm going to visit my mom at Christmas"
CANCELLED_TRIPS = (
    Case((CHRISTMAS, "The trip at Christmas is cancelled"), "What are my plans for Christmas?", "cancelled"),
    Case((CHRISTMAS, "The trip at Christmas is cancelled"), "What am I doing at Christmas?", "cancelled"),
    Case((CHRISTMAS, "The trip in May is cancelled"), "What am I doing at Christmas?", "mom", ("May",)),
    Case(("I go to the gym in May", "The trip to Rome is cancelled"), "What are my plans for May?", "gym", ("Rome",)),
    Case(
        ("Ich besuche an Weihnachten meine Mutter", "Die Reise an Weihnachten ist abgesagt"),
        "Was mache ich an Weihnachten?",
        "abgesagt",
    ),
)

LISTS = (
    Case(("I play chess and the cello", "I no longer play chess"), "What do I play?", "cello.\nYou no longer"),
    Case(
        ("Je joue aux échecs et du violoncelle", "Je ne joue plus aux échecs"), "À quoi je joue ?", "violoncelle.\nTu"
    ),
    Case(("Toco el piano y la guitarra", "Ya no toco el piano"), "¿Qué toco?", "guitarra\nYa no"),
    Case(("J'ai un chien et un chat", "Je n'ai plus de chien"), "Quels animaux j'ai ?", "chat.\nTu n'as plus"),
    Case(("Tengo un perro y un gato", "Ya no tengo perro"), "¿Qué mascotas tengo?", "gato.\nYa no"),
)
"""The end of one thing leaves the other."""

SISTERS = ("My sister Anna lives in Rome", "My sister Eva lives in Oslo")
TWO_OF_A_RELATION = (
    Case((*SISTERS, "Anna moved to Bonn"), "Where does my sister live?", "Bonn.\nYour sister Eva lives in", ("Rome",)),
    Case((*SISTERS, "Anna moved to Bonn"), "Where does Eva live?", "Oslo", ("Bonn", "Rome")),
    Case(SISTERS, "Where does my sister live?", "Eva lives in Oslo.\nYour sister Anna lives in Rome."),
    Case(("My dog Rex is 4", "My dog Bo is 2"), "How old is my dog?", "Rex"),
    Case(("My son is called Tim", "My son is called Tom"), "What is my son called?", "Tom", ("Tim",)),
)
"""A question for one of two is answered with both."""

LIDL = "I work at Lidl"
DISMISSALS = (
    Case((LIDL, "I got fired"), "Where do I work?", "You got fired.", ("Lidl",)),
    Case((LIDL, "I got fired from Lidl"), "Where do I work?", "You got fired from Lidl.", ("work",)),
    Case((LIDL, "I got fired from the choir"), "Where do I work?", "You work at Lidl.", ("choir",)),
    Case((LIDL, "My brother got fired"), "Where do I work?", "You work at Lidl.", ("fired",)),
    Case((LIDL, "I got fired up about chess"), "Where do I work?", "You work at Lidl.", ("fired",)),
    Case((LIDL, "I was laid off", "I work at Aldi"), "Where do I work?", "You work at Aldi.", ("Lidl",)),
    Case(("I'm a nurse", "I retired"), "What's my job?", "You retired.", ("nurse",)),
    Case(("Ich arbeite bei Lidl", "Ich bin jetzt arbeitslos"), "Wo arbeite ich?", "arbeitslos", ("Lidl",)),
    Case(("Je travaille chez Lidl", "J'ai été licencié"), "Où est-ce que je travaille ?", "licencié", ("Lidl",)),
    Case(("Trabajo en Lidl", "Estoy en paro"), "¿Dónde trabajo?", "en paro", ("Lidl",)),
)
"""Who lost their work says so without a word for it."""

WARD = "I work as a nurse at Santa Maria hospital."
NEW_TRADES = (
    Case((WARD, "I'm now a teacher."), "What's my job?", "You are now a teacher.", ("nurse",)),
    Case((WARD, "I'm now a teacher."), "What do I do for a living?", "You are now a teacher.\nYou work as a nurse"),
    Case((WARD, "I'm now a teacher."), "Am I a nurse?", "You are now a teacher.\nYou work as a nurse"),
    Case(("I'm a nurse.", "I'm a teacher now."), "Am I a nurse?", "You are a teacher now.\nYou are a nurse."),
    Case(
        ("I'm a nurse.", "I'm a teacher now.", "I'm no longer a teacher."), "Am I a nurse?", "nurse", ("teacher now",)
    ),
    Case(("Ich bin Pfleger.", "Ich bin jetzt Lehrer."), "Bin ich Pfleger?", "Du bist jetzt Lehrer.\nDu bist Pfleger."),
    Case(("Je suis infirmière.", "Je suis maintenant prof."), "Suis-je infirmière ?", "Tu es maintenant prof.\nTu es"),
    Case(("Soy enfermera.", "Ahora soy profesora."), "¿Soy enfermera?", "Ahora eres profesora.\nEres enfermera."),
)
"""A trade of today is told before another one, which may go on."""

LATER_STATEMENTS = {
    "new trades": NEW_TRADES,
    "dismissals": DISMISSALS,
    "two of a relation": TWO_OF_A_RELATION,
    "relations of names": RELATIONS_OF_NAMES,
    "said with an end": SAID_WITH_AN_END,
    "cancelled trips": CANCELLED_TRIPS,
    "lists": LISTS,
}
