"""What newcomers say in their first minutes, with a question that must be answered rightly now and once learned."""

from __future__ import annotations

from support.offline.offline_conversations import UNKNOWN, Case

EN, DE, FR, ES = UNKNOWN

TRADES = (
    Case(("I'm a baker in Lyon.",), "What do I do for a living?", "You are a baker in Lyon."),
    Case(("Ich bin Bäckerin in Lyon.",), "Was bin ich von Beruf?", "Du bist Bäckerin in Lyon."),
    Case(("Ich bin Tischler bei Bosch.",), "Was bin ich von Beruf?", "Du bist Tischler bei Bosch."),
    Case(("Je suis fleuriste chez Dupont.",), "Quel est mon métier ?", "Tu es fleuriste chez Dupont."),
    # Neither a state nor a customer is a trade.
    Case(("Je suis malade à Lyon.",), "Quel est mon métier ?", FR),
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
    Case(
        ("I'm a nurse at Bosch.", "I got promoted to head nurse."),
        "Where do I work?",
        "You got promoted to head nurse.\nYou are a nurse at Bosch.",
    ),
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
_NORA = ("My wife is called Nora.", "I live in Rome.")
CORRECTED = (
    Case(("My son Leo is three.", "No, he's four."), "How old is Leo?", "four", ("three",)),
    Case(("My wife's name is Nora.", "No, it's Norah."), "What is my wife's name?", "Your wife's name is Norah."),
    Case((*_NORA, "My wife's name isn't Nora, it's Norah."), "What is my wife's name?", "Your wife is called Norah."),
    Case((*_NORA, "My wife isn't called Nora, she's called Norah."), "Who is my wife?", "Your wife is called Norah."),
    Case((*_NORA, "My dog isn't called Nora, it's Max."), "What is my wife's name?", "Your wife is called Nora."),
    Case(
        ("Meine Frau heißt Nora.", "Meine Frau heißt nicht Nora, sondern Norah."),
        "Wie heißt meine Frau?",
        "Deine Frau heißt Norah.",
    ),
    Case(
        ("Ma femme s'appelle Nora.", "Ma femme ne s'appelle pas Nora, mais Norah."),
        "Comment s'appelle ma femme ?",
        "Ta femme s'appelle Norah.",
    ),
    Case(
        ("Mi mujer se llama Nora.", "No se llama Nora, sino Norah."),
        "¿Cómo se llama mi mujer?",
        "Tu mujer se llama Norah.",
    ),
    Case(("I'm vegan.", "I'm not vegan, I'm vegetarian."), "Am I vegan?", "You are vegetarian."),
    # A name that looks like a Spanish verb.
    Case(("Leo vive en Madrid.",), "¿Dónde vivo?", ES),
)
MEETING = "The meeting is on Friday at 9."
RESCHEDULED = (
    Case((MEETING, "It got moved to Monday."), "When is the meeting?", "The meeting is on Monday", ("Friday", "9.")),
    Case((MEETING, "It got moved to Monday at 10."), "When is the meeting?", "on Monday at 10", ("Friday",)),
    Case(
        ("My exam is on 3 May.", "It was postponed to tomorrow."), "When is my exam?", "Your exam is tomorrow", ("May",)
    ),
    Case(
        ("Die Besprechung ist am Freitag um 9.", "Sie wurde auf Montag verschoben."),
        "Wann ist die Besprechung?",
        "am Montag",
        ("Freitag",),
    ),
    Case(
        ("La réunion est vendredi à 9h.", "Elle a été reportée au 3 mai."),
        "Quand est la réunion ?",
        "La réunion est le 3 mai",
        ("vendredi",),
    ),
    Case(
        ("La reunión es el viernes a las 9.", "La han movido al lunes."),
        "¿Cuándo es la reunión?",
        "el lunes",
        ("viernes",),
    ),
    Case(("La reunión es el viernes.", "Se ha aplazado al 3 de mayo."), "¿Cuándo es la reunión?", "el 3 de mayo"),
    Case((MEETING, "It was cancelled on Monday."), "When is the meeting?", "", ("9", "Monday")),
    Case((MEETING, "It got moved to 3 pm."), "When is the meeting?", "The meeting is on Friday at 3 pm", ("9",)),
    Case((MEETING, "It got moved from 9 am to 3 pm."), "When is the meeting?", "on Friday at 3 pm", ("9",)),
    Case(("The meeting is on Friday from 2 to 4 pm.", "It got moved to 3 pm."), "When is the meeting?", "", ("2", "3")),
    Case(("The meeting is on Friday.", "It got moved to 3 pm."), "When is the meeting?", "", ("Friday", "3")),
    Case(
        ("Der Termin ist am Freitag um 9.", "Er wurde auf 10 Uhr verschoben."),
        "Wann ist der Termin?",
        "am Freitag um 10 Uhr",
    ),
    Case(("La cita es el viernes a las 9.", "La han movido a las 10."), "¿Cuándo es la cita?", "el viernes a las 10"),
)
LOWER_CASE_NAMES = (
    Case(("i'm vegan",), "What's my name?", EN, ("vegan",)),
    Case(("i'm sam", "My name is Sam Hill"), "What's my name?", "Your name is Sam Hill.", ("sam",)),
)
"""A word without a capital may be no name: the person is quoted, and only where no rule knows the word."""

ASKED_VERBS = (
    Case(("I play tennis",), "What sport do I play?", "You play tennis."),
    Case(("I play tennis", "I no longer play tennis"), "What sport do I play?", "", ("You play",)),
    Case(("I study law",), "What subject do I study?", "You study law."),
    Case(("Ich spiele Tennis",), "Welchen Sport spiele ich?", "Du spielst Tennis."),
    Case(("I like tea",), "What colour do I like?", EN, ("tea",)),
)
"""The only statement with the verb of "What … do I play?" answers it."""

DUTIES = (
    Case(("Remind me to call mum on Friday", "I have to pay the rent"), "Any reminders?", "call mum"),
    Case(("Remind me to call mum on Friday", "I have to pay the rent"), "What's on my list?", "pay the rent"),
    Case(("I have to call the dentist tomorrow",), "What are my reminders?", "call the dentist tomorrow"),
    Case(("Remind me to call mum on Friday",), "What do I have to do on Friday?", "call mum", ("found",)),
    Case(("I don't have to call mum", "I must pay"), "Any reminders?", "You must pay.", ("mum",)),
    Case(("My sister has to work tomorrow",), "What do I have to do tomorrow?", EN, ("work",)),
    Case(("Erinnere mich am Freitag an den Zahnarzt",), "Woran soll ich denken?", "Zahnarzt"),
    Case(("Je dois appeler le dentiste demain",), "Qu'est-ce que je dois faire ?", "dentiste"),
    Case(("Tengo que llamar al dentista mañana",), "¿Qué tengo que hacer mañana?", "dentista"),
)
"""What has to be done is answered with all that asks for a reminder or tells a duty."""

INGRID = "My sister Ingrid lives in Oslo."
WRONG_NAMES = (
    *(
        Case((INGRID, "No, my sister's name is Astrid, not Ingrid."), question, "Astrid, not Ingrid.\nYour sister")
        for question in ("Where does my sister live?", "Who lives in Oslo?", "Who is Ingrid?")
    ),
    Case((INGRID, "Her name is Astrid, not Ingrid."), "Where does my sister live?", "Astrid, not Ingrid.\nYour"),
    Case(
        ("Meine Schwester Ingrid wohnt in Oslo.", "Sie heißt Astrid, nicht Ingrid."),
        "Wo wohnt meine Schwester?",
        "heißt Astrid, nicht Ingrid.\nIngrid, deine Schwester, wohnt",
    ),
    Case(
        ("Ma sœur Ingrid habite à Oslo.", "Elle s'appelle Astrid, pas Ingrid."),
        "Où habite ma sœur ?",
        "s'appelle Astrid, pas Ingrid.\nIngrid, ta sœur, habite",
    ),
    Case(("My neighbour Petra has a dog.", "It's Paula, not Petra."), "Who has a dog?", "Paula", ("Petra",)),
    Case(("I take 20 mg of Ibu daily.", "It's 10 mg, not 20."), "What do I take?", "take 10 mg of Ibu", ("mg mg",)),
    Case(
        ("My meeting is at 10 on Friday.", "It's at 11, not 10."), "When is my meeting?", "is at 11 on Friday", ("10",)
    ),
    Case(("My sister lives in Milan.", "I was born in Rome, not Milan."), "Where does my sister live?", "", ("Rome",)),
)
"""A name that was corrected is told with the correction, or not at all."""

PETS = ("I have a dog called Biscuit and a cat named Olive.", "Biscuit died last month.")
LISBON = ("I live in Lisbon with my husband Tom and our two kids.", "Tom and I got divorced.")
GRAZ = ("I live in Graz with my girlfriend Eva and my cat Minka.", "Eva and I broke up.")
PARTIAL_ENDS = (
    Case(PETS, "Do I have a dog?", ").\nYou have a dog | month.\nYou have a dog"),
    Case(PETS, "Do I have a cat?", "a cat named Olive"),
    Case((*PETS, "I don't have a cat."), "Do I have a dog?", "Biscuit died", ("Olive",)),
    Case((*PETS, "I don't have a cat."), "Do I have a cat?", "You don't have a cat.", ("Olive",)),
    Case((*PETS, "I don't have a cat."), "What do you know about me?", "You don't have a cat.", ("Olive",)),
    Case(LISBON, "Who do I live with?", "got divorced.\nYou live in Lisbon"),
    Case((*GRAZ, "My cat Minka died."), "Where do I live?", "You live in Graz"),
    Case(
        ("J'ai un chien nommé Rex et un chat nommé Félix.", "Rex est mort."),
        "Est-ce que j'ai un chien ?",
        "Rex est mort.\nTu as",
    ),
    Case(("Tengo un perro llamado Rex y un gato llamado Tom.", "Rex murió."), "¿Tengo un perro?", "Rex murió.\nTienes"),
)
"""What ended is told before a statement of which something is left, and without one of which nothing is."""

CORIANDER = ("I used to smoke but I quit in 2020.", "I can't stand coriander.", "I'm lactose intolerant.")
DISLIKES = (
    Case(CORIANDER, "What don't I like?", "can't stand coriander", ("quit", "lactose")),
    Case(("I don't eat pork.",), "What food don't I like?", "You don't eat pork."),
    Case(
        ("Ich kann Koriander nicht ausstehen.", "Ich rauche nicht mehr."), "Was mag ich nicht?", "Koriander", ("rauch",)
    ),
    Case(
        ("Je ne supporte pas la coriandre.", "Je ne fume plus."),
        "Qu'est-ce que je n'aime pas ?",
        "coriandre",
        ("fume",),
    ),
    Case(("No soporto el cilantro.", "Ya no fumo."), "¿Qué no me gusta?", "cilantro", ("fum",)),
)
"""What somebody has given up, or does not tolerate, is no dislike."""

ANOTHER_QUESTION = (
    Case(("My birthday is on 3 March.",), "Where was I born?", EN),
    Case(("I was born on 3 March 1992 in Graz.",), "Where was I born?", "Graz"),
    Case(("My wife's name is Priya.",), "Who is my wife?", "Your wife's name is Priya."),
    Case(("My wife is called Priya and she works at Lidl.",), "Does my wife work?", "Lidl"),
)
"""A date tells no place, and a mere name nothing else."""

WALNUTS = ("I'm allergic to walnuts.", "I'm vegetarian.")
NAMED_THINGS = (
    Case(WALNUTS, "Can I eat walnuts?", "You are allergic to walnuts.", ("vegetarian",)),
    Case(WALNUTS, "Can I eat meat?", "You are vegetarian.", ("walnuts",)),
    Case(("Ich bin allergisch gegen Nüsse.", "Ich bin Vegetarier."), "Darf ich Nüsse essen?", "gegen Nüsse"),
    Case(("Je suis allergique aux noix.", "Je suis végétarien."), "Est-ce que je peux manger des noix ?", "aux noix"),
    Case(("Soy alérgico a las nueces.", "Soy vegetariano."), "¿Puedo comer nueces?", "a las nueces"),
)
"""What may or can be done with a thing is asked of the thing."""

JAZZ = "I like jazz."
OTHER_WORDS = (
    Case(("I don't like jazz.", JAZZ), "Do I like jazz?", "You like jazz."),
    Case((JAZZ, "I hate jazz now."), "Do I like jazz?", "You hate jazz now."),
    Case(("I love pizza.", "Actually, I hate pizza."), "Do I like pizza?", "You hate pizza."),
    Case(("Ich mag Jazz.", "Ich hasse Jazz."), "Mag ich Jazz?", "Du hasst Jazz."),
    Case(("J'aime le jazz.", "Je déteste le jazz."), "Est-ce que j'aime le jazz ?", "Tu détestes le jazz."),
    Case(("My mother died last year.",), "Do I have a dog?", EN, ("died",)),
    Case(("My cat Tom died.",), "Do I have a dog?", EN, ("died",)),
    Case(("My cat Tom died.",), "Do I have a cat?", "Your cat Tom died."),
    Case(("I'm going to Spain next week.", "I went to Spain last year."), "When am I going to Spain?", "next week"),
    Case(("I went to Italy last year.", "I am going to Italy next month."), "When did I go to Italy?", "last year"),
    Case(("My son Jonas is 8.", "My son turned 9 today."), "How old is my son?", "turned 9"),
    Case(("I have no kids.", "My daughter was born yesterday."), "Do I have kids?", "was born"),
    Case(("I have no children.", "I have a daughter called Ann."), "Do I have children?", "called Ann"),
    Case(("I work as a teacher.", "I'm a lawyer now."), "What's my job?", "a lawyer now", ("teacher",)),
    Case(
        ("My phone number is 111 2223334.", "I changed my number to 999 8887776."),
        "What is my phone number?",
        "999 8887776",
    ),
    Case(("My boss is Karin. She is strict.",), "Who is my boss?", "Karin"),
    Case(("My boss is Dr. Weber.",), "Who is Dr. Weber?", "Your boss is Dr. Weber."),
    Case(("I used to live in Oslo.", "I live in Rome."), "Where did I live before?", "You used to live in Oslo."),
    Case(("I'm from spain.",), "Where am I from?", "You are from spain."),
    Case(("My best friend is Tim, he lives in Madrid.",), "Where does Tim live?", "Madrid"),
    Case(("My brother is Spanish, he lives in Rome.",), "Where does my brother live?", "Rome", ("Spanish lives",)),
)
"""A newer statement holds, and a like word tells nothing of another."""

OAK_LANE = ("I live at 9 Oak Lane.", "My email is t@x.org")
LISBON_HOME = "I live in Lisbon, near the river."
NEIGHBOURS_IN_WORDS = (
    Case(OAK_LANE, "Where do I live?", "9 Oak Lane", ("t@x.org",)),
    Case(OAK_LANE, "What's my address?", "9 Oak Lane", ("t@x.org",)),
    Case(OAK_LANE, "What's my email address?", "t@x.org", ("Oak",)),
    Case(("I live in Dublin.", "I lived in Cork as a child."), "Where do I live?", "Dublin", ("Cork",)),
    Case(("I live in Dublin.", "I lived in Cork as a child."), "Where did I live as a child?", "Cork", ("Dublin",)),
    Case(("I work at Bosch.", "I worked at Aldi as a student."), "Where do I work?", "Bosch", ("Aldi",)),
    Case(("I have two dogs.", "I had three dogs as a child."), "How many dogs do I have?", "two dogs", ("three",)),
    Case(("I moved to Portugal in 2019.",), "Where do I live?", "You moved to Portugal in 2019."),
    Case(("My phone number is 0171 2345678.", "My office number is 030 555666."), "What's my phone number?", "0171"),
    Case(("My email is a@x.com", "My work email is b@y.com"), "What's my work email?", "b@y.com", ("a@x",)),
    Case(("I like Greek food.", "I don't like Indian food."), "What food do I like?", "Greek", ("Indian",)),
    Case(("I like Italian food.", "I don't like Thai food."), "What do I like?", "Italian", ("Thai",)),
)
"""What shares words with the answer and tells of something else, or of another time."""

ALLERGIES = ("I'm allergic to nuts.", "I'm allergic to bee stings.", "I'm allergic to penicillin.")
SEVERAL = (
    Case(
        ALLERGIES, "What am I allergic to?", "penicillin.\nYou are allergic to bee stings.\nYou are allergic to nuts."
    ),
    Case(("I speak German.", "I speak Dutch.", "I speak Greek."), "What languages do I speak?", "German"),
    Case(("I have a dog.", "I have a cat.", "I have a parrot."), "What pets do I have?", "dog"),
    Case(
        ("I love chess.", "I love opera.", "I love hiking.", "My sister loves golf."),
        "What do I love?",
        "chess",
        ("golf",),
    ),
)
"""A question with several answers gets all of them."""

SONS = "I have two sons, Max (5) and Ben (8)."
ENGINEER = "I'm a software engineer at Zendrix in Berlin."
OSLO = "I'm flying to Oslo on 12 December to see my sister."
COUNTS_AND_PLACES = (
    Case((SONS,), "How many sons do I have?", "two sons"),
    Case((SONS,), "How many children do I have?", "two sons"),
    Case((ENGINEER,), "Where do I work?", "Zendrix"),
    Case((ENGINEER,), "Which company do I work for?", "Zendrix"),
    Case((ENGINEER,), "Where do I live?", EN),
    Case(("Ich bin Tischler bei Bosch.",), "Bei welcher Firma arbeite ich?", "Bosch"),
    Case(("Je suis fleuriste chez Dupont.",), "Dans quelle entreprise je travaille ?", "Dupont"),
    Case(("I live in a flat in Kreuzberg.",), "Which city do I live in?", "Kreuzberg"),
    Case(("Ich wohne in Köln.",), "In welcher Stadt wohne ich?", "Köln"),
    Case(("I live with my parents.",), "Which company do I work for?", EN),
)
"""A number with ages in brackets, a trade with a workplace, a question for a kind of place."""

TRIPS = (
    Case((OSLO,), "Am I going to Oslo?", "You are flying to Oslo on 12 December to see your sister."),
    Case((OSLO,), "What are my plans for December?", "You are flying to Oslo on 12 December to see your sister."),
    Case(
        (OSLO, "The trip to Oslo is cancelled."), "Am I going to Oslo?", "The trip to Oslo is cancelled.", ("flying",)
    ),
    Case((OSLO,), "Am I going to Paris?", EN),
    Case((OSLO,), "Am I going to the gym?", EN),
)
"""Who flies somewhere goes there."""

DENIED_ONLY = (
    Case(("I'm not allergic to nuts after all.",), "What am I allergic to?", "You are not allergic to nuts"),
    Case(("I'm allergic to kiwi.", "I'm not allergic to nuts."), "What am I allergic to?", "to kiwi", ("nuts",)),
    Case(("Ich bin nicht allergisch gegen Milch.",), "Wogegen bin ich allergisch?", "nicht allergisch gegen Milch"),
    Case(("No soy alérgica a la leche.",), "¿A qué soy alérgica?", "No eres alérgica a la leche."),
)
"""Of an open question, a denial is better than nothing."""

ENDED_TOGETHER = (
    Case(("I live with Paul.", "Paul and I broke up."), "Who do I live with?", "broke up.\nYou live with Paul."),
    Case(("Je vis avec Paul.", "Paul et moi avons rompu."), "Avec qui je vis ?", "rompu.\nTu vis avec Paul."),
    Case(("Vivo con Ana en Vigo.", "Ana y yo nos separamos."), "¿Con quién vivo?", "\nVives con Ana en Vigo."),
    Case(("Voy a Roma en mayo.", "El viaje a Vigo está cancelado."), "¿Voy a Roma?", "Vas a Roma", ("cancelado",)),
)
"""Who has parted from somebody may still live with them; a trip is called by another word when it is off."""

FIRST_MINUTES = (
    *(*LOWER_CASE_NAMES, *ASKED_VERBS, *DUTIES),
    *TRADES,
    *PROMOTIONS,
    *SEPARATIONS,
    *INTRODUCTIONS,
    *SECOND_SUBJECTS,
    *CORRECTED,
    *RESCHEDULED,
    *WRONG_NAMES,
    *PARTIAL_ENDS,
    *DISLIKES,
    *ANOTHER_QUESTION,
    *NAMED_THINGS,
    *OTHER_WORDS,
    *SEVERAL,
    *NEIGHBOURS_IN_WORDS,
    *COUNTS_AND_PLACES,
    *TRIPS,
    *DENIED_ONLY,
    *ENDED_TOGETHER,
)

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
