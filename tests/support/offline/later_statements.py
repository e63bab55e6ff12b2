"""Conversations whose later statements change what an earlier one says, or belong to it, in other words than its own.

They are asked as those in `misleading_conversations`.
"""

from __future__ import annotations

from support.offline.offline_conversations import Case

MAX = "My brother Max lives in Rome"
RELATIONS_OF_NAMES = (
    Case((MAX, "Max moved to Paris"), "Where does my brother live?", "Paris", ("Rome",)),
    Case((MAX, "Max has just relocated to Cork"), "Where does my brother live?", "Cork", ("Rome",)),
    Case((MAX, "My friend Tom is a vet", "Tom moved to Oslo"), "Where does my brother live?", "Rome", ("Oslo",)),
    Case(
        ("Mein Bruder Max wohnt in Rom", "Max ist nach Paris gezogen"), "Wo wohnt mein Bruder?", "nach Paris", ("Rom",)
    ),
    Case(("Mon frère Max habite à Rome", "Max a déménagé à Paris"), "Où habite mon frère ?", "à Paris", ("Rome",)),
    Case(("Mi hermano Max vive en Roma", "Max se mudó a París"), "¿Dónde vive mi hermano?", "a París", ("Roma",)),
    Case(("My daughter Mia is 4", "Mia turned 5"), "How old is my daughter?", "5", ("4",)),
)
"""A later statement has the name alone."""

SAID_WITH_AN_END = (
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
    Case(("My boss is Karen", "Karen left and Omar took over"), "Who is my boss?", "Omar", ("is Karen",)),
    Case(("I drive a Volvo", "No."), "What car do I drive?", "You drive a Volvo.", ("No",)),
    Case(
        ("My dentist appointment is at 2 pm on Friday", "The appointment got moved to 3 pm"),
        "When is my dentist appointment?",
        "3 pm",
    ),
)
"""What the same message says beside an end, or the next one by a pronoun, belongs to the answer."""

CHRISTMAS = "I'm going to visit my mom at Christmas"
CANCELLED_TRIPS = (
    Case((CHRISTMAS, "The trip in May is cancelled"), "What am I doing at Christmas?", "mom", ("May",)),
    Case(("I go to the gym in May", "The trip to Rome is cancelled"), "What are my plans for May?", "gym", ("Rome",)),
)

LISTS = ()
"""The end of one thing leaves the other."""

SISTERS = ("My sister Anna lives in Rome", "My sister Eva lives in Oslo")
TWO_OF_A_RELATION = (
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
