"""Conversations that mislead a reader of words: new values, what has ended, what is about something else, no denials.

Each is asked in the conversation, and again after it was learned. " | " separates wanted alternatives; nothing wanted
stands for any answer without the words that must be absent.
"""

from __future__ import annotations

from support.offline.later_statements import LATER_STATEMENTS
from support.offline.offline_conversations import UNKNOWN, Case

EN, DE, FR, ES = UNKNOWN

NEW_VALUES = (
    Case(("I work at Siemens", "I left Siemens and started at Bosch"), "Where do I work?", "Bosch", ("at Siemens",)),
    Case(("My new number is 555 0199",), "What's my phone number?", "555 0199"),
    Case(
        ("My phone number is 555 0100", "I've got a new number: 555 0123"),
        "What's my phone number?",
        "555 0123",
        ("0100",),
    ),
    Case(("I just joined Spotify as a designer",), "Where do I work?", "Spotify"),
    Case(("I got a job at the post office",), "Where do I work?", "post office"),
    Case(("I'm a plumber now",), "What's my job?", "plumber"),
    Case(("You can reach me on 555 7788",), "What's my phone number?", "555 7788"),
    Case(("I start at Airbus on Monday",), "Where do I work?", "Airbus"),
    Case(("My new email is ada@new.example",), "What is my email address?", "ada@new.example"),
    Case(("I run a bakery in York",), "What do I do for a living?", "bakery"),
    Case(("I work at Tesco", "I quit my job at Tesco and I drive a taxi now"), "What's my job?", "taxi", ("work at",)),
    Case(("I was hired by Lidl last week",), "Where do I work?", "Lidl"),
    Case(("Ich habe bei Siemens gekündigt und bei Bosch angefangen",), "Wo arbeite ich?", "Bosch"),
    Case(("Meine neue Nummer ist 0171 5550",), "Wie ist meine Telefonnummer?", "0171 5550"),
    Case(("J'ai commencé chez Airbus lundi",), "Où est-ce que je travaille ?", "Airbus"),
    Case(("Mon nouveau numéro est le 06 12 34 56",), "Quel est mon numéro de téléphone ?", "06 12 34 56"),
    Case(("Empecé en Iberia la semana pasada",), "¿Dónde trabajo?", "Iberia"),
    Case(("Mi nuevo número es 600 123 123",), "¿Cuál es mi teléfono?", "600 123 123"),
)
"""A value is told in other words than the question's."""

NEWS = (
    Case(
        ("My dentist appointment is on Monday at 9", "My dentist appointment was moved to Thursday at 11"),
        "When is my dentist appointment?",
        "moved to Thursday",
        ("Monday",),
    ),
    Case(("My standup is on Monday at 9", "My standup was cancelled"), "When is my standup?", "cancelled", ("Monday",)),
    Case(("My phone is in the kitchen", "My phone was stolen"), "Where is my phone?", "stolen", ("kitchen",)),
    Case(("My car is a red Golf", "My car was sold"), "What car do I have?", "sold", ("Golf",)),
    Case(("My son's birthday is on May 2",), "When is my birthday?", "The closest I know:"),
    Case(("My mother's name is Rosa", "My mother-in-law's name is Ute"), "What's my mother's name?", "Rosa", ("Ute",)),
    Case(("Mein Mann ist Zahnarzt",), "Was ist mein Mann von Beruf?", "Zahnarzt"),
    Case(("My spare key is under the mat",), "Where is my spare key?", "under the mat"),
    Case(("I live in Hamburg", "I was wrong about the weather"), "Where do I live?", "Hamburg"),
    Case(("My cat is called Mia", "I lied about my age"), "What is my cat called?", "Mia"),
    Case(("I'm a teacher", "My sister lives in Bonn", "I lied about my age"), "Where does my sister live?", "Bonn"),
)
"""What happened to a thing, and what is about something else."""

ENDED = (
    Case(("I live in Leeds", "I moved to Sheffield last month"), "Where do I live?", "Sheffield", ("Leeds",)),
    Case(("My dog is called Rex", "Rex died last week"), "Do I have a dog?", "", ("called Rex", "have a dog")),
    Case(("I have a cat named Tom", "We had to put our cat down"), "Do I have a cat?", "", ("named Tom",)),
    Case(("My girlfriend is called Mia", "Mia and I broke up"), "Who is my girlfriend?", "", ("is called Mia",)),
    Case(("I'm married to Jon", "Jon and I got divorced in May"), "Am I married?", "", ("are married",)),
    Case(("Anna lives in Paris", "Anna moved to Lyon"), "Where does Anna live?", "Lyon", ("Paris",)),
    Case(
        ("My sister works at Lidl", "My sister got a new job at Aldi"), "Where does my sister work?", "Aldi", ("Lidl",)
    ),
    Case(
        ("I take ibuprofen", "I stopped taking ibuprofen", "I'm back on ibuprofen"),
        "Do I take ibuprofen?",
        "back on",
        ("stopped",),
    ),
    Case(("I quit smoking in 2012 but started again",), "Do I smoke?", "started again"),
    Case(("I'm vegetarian", "I started eating meat again"), "Do I eat meat?", "meat again", ("are vegetarian",)),
    Case(("I don't drink coffee", "I've gone back to coffee"), "Do I drink coffee?", "", ("don't drink",)),
    Case(("My brother Tim lives in Bath", "Tim has just relocated to Cork"), "Where does Tim live?", "Cork", ("Bath",)),
    Case(
        ("I'm engaged to Lena", "Lena and I split up and called off the wedding"), "Am I engaged?", "", ("are engaged",)
    ),
    Case(("I drive a Golf", "I wrecked my Golf and bought a Mini"), "What car do I drive?", "", ("drive a Golf",)),
    Case(
        ("My grandmother lives in Hull", "My grandmother passed away in June"),
        "Where does my grandmother live?",
        "",
        ("lives in Hull",),
    ),
    Case(("I play the violin", "I gave up the violin"), "Do I play the violin?", "", ("play the violin",)),
    Case(
        ("Kate lives in Perth", "Kate has moved to Sydney", "Kate used to live in Perth"),
        "Where does Kate live?",
        "Sydney",
        (),
    ),
    Case(("My partner Aoife is a teacher", "I'm single now"), "Who is my partner?", "single", ("Aoife",)),
    Case(("I don't have a car", "I bought a car"), "Do I have a car?", "bought a car", ("don't",)),
    Case(("I've never been to Paris", "I went to Paris last weekend"), "Have I been to Paris?", "went", ("never",)),
    Case(("I'm a nurse", "I quit my job"), "What's my job?", "quit your job", ("nurse",)),
    Case(("I broke my arm skiing. Actually it was my leg.",), "What did I break?", "leg", ("arm",)),
    Case(("I used to smoke but I stopped",), "Do I smoke?", "used to smoke"),
    Case(
        ("Je suis infirmière à Nantes", "J'ai quitté mon travail"), "Quel est mon métier ?", "quitté", ("infirmière",)
    ),
    Case(("Ich wohne in Kiel", "Ich bin letzten Monat nach Bremen gezogen"), "Wo wohne ich?", "Bremen", ("Kiel",)),
    Case(("Mein Hund heißt Bello", "Bello ist gestorben"), "Habe ich einen Hund?", "", ("heißt Bello",)),
    Case(
        ("Meine Freundin heißt Mia", "Mia und ich haben uns getrennt"), "Wie heißt meine Freundin?", "", ("heißt Mia",)
    ),
    Case(("Mon chat s'appelle Félix", "Félix est mort hier"), "Est-ce que j'ai un chat ?", "", ("s'appelle Félix",)),
    Case(("Anna habite à Paris", "Anna a déménagé à Lyon"), "Où habite Anna ?", "Lyon", ("Paris",)),
    Case(("Mi novia se llama Mía", "Mía y yo rompimos"), "¿Cómo se llama mi novia?", "", ("se llama Mía",)),
    Case(("Vivo en Vigo", "El mes pasado me mudé a Gijón"), "¿Dónde vivo?", "Gijón", ("Vigo",)),
    Case(("My wife is called Anna", "I got divorced"), "Who is my wife?", "got divorced", ("called Anna",)),
    Case(("Meine Frau heißt Anna", "Ich bin geschieden"), "Wer ist meine Frau?", "geschieden", ("heißt Anna",)),
    Case(("Meine Frau heißt Anna", "Ich habe mich scheiden lassen"), "Wie heißt meine Frau?", "scheiden", ("Anna",)),
    Case(("Ma femme s'appelle Anna", "J'ai divorcé"), "Qui est ma femme ?", "divorcé", ("Anna",)),
    Case(("Mi mujer se llama Ana", "Me divorcié"), "¿Quién es mi mujer?", "divorci", ("llama Ana",)),
    Case(("My girlfriend Anna is a nurse", "I broke up with Anna"), "Who is my girlfriend?", "broke up", ("a nurse",)),
    Case(("My girlfriend is Anna", "My girlfriend is now Lisa"), "Who is my girlfriend?", "Lisa", ("Anna",)),
    Case(("I drive a Tesla", "I sold my Tesla"), "What do I drive?", "sold", ("drive",)),
    Case(("I live in Oslo", "I moved to Berlin"), "Do I still live in Oslo?", "Berlin", ("live in Oslo",)),
    Case(("I live in Ockley", "I moved to Berlin"), "Do I still live in Ockley?", "Berlin", ("live in Ockley",)),
    Case(("Ich wohne in Oslo", "Ich bin nach Bonn gezogen"), "Wohne ich noch in Oslo?", "Bonn", ("in Oslo",)),
    Case(("J'habite à Oslo", "J'ai déménagé à Lyon"), "Est-ce que j'habite encore à Oslo ?", "Lyon", ("à Oslo",)),
    Case(("Tengo 25 años",), "¿Cuántos años tengo?", "25"),
    Case(("J'ai 40 ans",), "Quel âge j'ai ?", "40"),
    Case(("Ich bin 30",), "Wie alt bin ich?", "30"),
    Case(("Mon frère Luc travaille chez Airbus", "Je dîne demain avec Luc"), "Qui est Luc ?", "frère"),
    Case(("My brother Raj lives in Leeds", "I play chess with Raj"), "Who is Raj?", "brother"),
    Case(("Meine Nachbarin Eva ist nett", "Ich esse morgen mit Eva"), "Wer ist Eva?", "Nachbarin"),
    Case(("Mi vecina Eva es simpática", "Ceno mañana con Eva"), "¿Quién es Eva?", "vecina"),
    Case(("Mein Freund heißt Lukas und er ist Koch",), "Was macht Lukas?", "Koch"),
    Case(("Ma femme s'appelle Léa, elle est médecin",), "Que fait Léa dans la vie ?", "médecin"),
    Case(("Mi hermano Pau es cocinero",), "¿A qué se dedica Pau?", "cocinero"),
    Case(("My brother is married to Eva", "I got divorced"), "Who is my brother married to?", "Eva"),
    Case(("I'm married to Eva", "My brother got divorced"), "Am I married?", "married to Eva"),
)
"""What is over is no answer, and what was taken up again is."""

UNRELATED = (
    Case(("I lost my phone yesterday",), "What is my phone number?", EN),
    Case(("My brother's flatmate is called Greg",), "Who is my brother's flatmate?", "Greg"),
    Case(("My doctor's name is Dr Lee",), "What is my name?", EN),
    Case(
        ("My brother Max lives in Rome", "My friend Max moved to Paris"),
        "Where does my brother live?",
        "lives in Rome.",
    ),
    Case(("I work out every morning",), "Where do I work?", EN),
    Case(("I live for music",), "Where do I live?", EN),
    Case(("I bought a birthday card for Tom",), "When is my birthday?", EN),
    Case(("I'm not allergic to milk",), "What am I allergic to?", "You are not allergic to milk."),
    Case(("My car broke down in Lyon",), "Where do I live?", EN),
    Case(("I'm not afraid of spiders", "I'm afraid I can't come on Friday"), "What am I afraid of?", "spiders"),
    Case(("My husband Dev is a chef",), "What do I do?", EN),
    Case(("My husband Dev is a chef",), "What does my husband do?", "chef"),
    Case(("Ich habe mein Handy verloren",), "Wie ist meine Handynummer?", DE),
    Case(("J'ai perdu mon téléphone",), "Quel est mon numéro de téléphone ?", FR),
    Case(("Perdí mi teléfono",), "¿Cuál es mi número de teléfono?", ES),
)
"""What shares words with the question and answers another one."""

NOT_DENIED = (
    Case(("I don't eat pork", "Would I ever eat pork? Never."), "Do I eat pork?", "don't eat pork | doesn't eat pork"),
    Case(("I love sushi", "Could I live without sushi? No."), "Do I love sushi?", "love sushi"),
    Case(("I live in Rome", "Do I miss Berlin? Not at all."), "Where do I live?", "live in Rome"),
    Case(("I'm vegan", "My brother says he's not vegan"), "Am I vegan?", "You are vegan"),
    Case(("I'm vegan", "Anna is not vegan"), "Am I vegan?", "You are vegan"),
    Case(("I smoke", "Tom no longer smokes"), "Do I smoke?", "You smoke"),
    Case(("I'm vegan", "I'm not vegan anymore, I wish!"), "Am I vegan?", "You are vegan"),
    Case(("I work at Lidl", "I quit Lidl today... in my dreams"), "Where do I work?", "work at Lidl"),
    Case(
        ("I live in Leeds", "My boss told me he doesn't live in Leeds anymore"), "Where do I live?", "You live in Leeds"
    ),
    Case(("I'm married", "My sister isn't married any more"), "Am I married?", "You are married"),
    Case(("I like jazz", "Nobody likes jazz"), "Do I like jazz?", "You like jazz"),
    Case(("I speak German", "You don't speak German, do you?"), "Do I speak German?", "You speak German"),
    Case(("I play chess", "The neighbours don't play chess"), "Do I play chess?", "You play chess"),
    Case(("I love Oasis", "I hate Oasis, said nobody ever"), "Do I love Oasis?", "love Oasis"),
    Case(("Ich bin Veganer", "Anna ist nicht mehr vegan"), "Bin ich Veganer?", "Veganer", ("Anna", "mehr")),
    Case(
        ("Ich wohne in Ulm", "Mein Bruder sagt, er wohnt nicht mehr in Ulm"), "Wo wohne ich?", "in Ulm", ("nicht mehr",)
    ),
    Case(("Je fume", "Paul ne fume plus"), "Est-ce que je fume ?", "fume", ("Paul", "plus")),
    Case(
        ("J'habite à Lyon", "Ma sœur dit qu'elle n'habite plus à Lyon"),
        "Où est-ce que j'habite ?",
        "habites à Lyon",
        ("plus",),
    ),
    Case(("Vivo en Vigo", "Mi hermano dice que ya no vive en Vigo"), "¿Dónde vivo?", "en Vigo", ("ya no",)),
    Case(("Soy vegana", "Ana ya no es vegana"), "¿Soy vegana?", "vegana", ("Ana", "ya no")),
)
"""What somebody else denies, asks or jokes about ends nothing that the user said."""

KINDS = (
    Case(("Ich habe ein Kind",), "Habe ich ein Kind?", "Kind"),
    Case(("J'ai un chien, Rex",), "Quel genre de chien j'ai ?", "Rex"),
)
"""Of which kind something is; no "kind" is a child in English."""

AGES = (
    Case(("Biscuit is four years old",), "How old is Biscuit?", "four"),
    Case(("My son is nine",), "How old is my son?", "nine"),
    Case(("My daughter Ida is two years old",), "How old is Ida?", "two"),
    Case(("My niece Zoe is one year old",), "How old is Zoe?", "one"),
    Case(("I have a sister, Asha, who's six",), "How old is Asha?", "six"),
    Case(("We have a dog called Biscuit, he's 3",), "How old is Biscuit?", "3"),
    Case(("I'm Ben, 34, from Dublin",), "How old am I?", "34"),
    Case(("I'm thirty-two",), "How old am I?", "thirty-two"),
    Case(("Mia ist sieben Jahre alt",), "Wie alt ist Mia?", "sieben"),
    Case(("Mein Bruder ist acht",), "Wie alt ist mein Bruder?", "acht"),
    Case(("Ich bin vierunddreißig",), "Wie alt bin ich?", "vierunddreißig"),
    Case(("Léa a sept ans",), "Quel âge a Léa ?", "sept"),
    Case(("J'ai trente-deux ans",), "Quel âge j'ai ?", "trente-deux"),
    Case(("Tengo una hija, Carmen, que tiene cinco años",), "¿Cuántos años tiene Carmen?", "cinco"),
    Case(("Tengo treinta y dos años",), "¿Cuántos años tengo?", "treinta y dos"),
    Case(("My sister is one of the best",), "How old is my sister?", EN),
    Case(("My sister is two streets away",), "How old is my sister?", EN),
    Case(("I'm two hours late",), "How old am I?", EN),
    Case(("Mein Bruder ist drei Straßen weiter",), "Wie alt ist mein Bruder?", DE),
    Case(("Léa a deux chats",), "Quel âge a Léa ?", FR),
    Case(("Léa habite à Lyon depuis deux ans",), "Quel âge a Léa ?", FR),
    Case(("Carmen tiene tres perros",), "¿Cuántos años tiene Carmen?", ES),
    Case(("Carmen vive en Vigo desde hace tres años",), "¿Cuántos años tiene Carmen?", ES),
    Case(("Tengo dos hijos",), "¿Cuántos años tengo?", ES),
)
"""An age may be a word, and stand after a pronoun; other numbers are none."""

LIKES = (
    Case(("Me gusta el flamenco y no me gusta el fútbol",), "¿Qué me gusta?", "flamenco"),
    Case(("I like opera and I don't like football",), "What do I like?", "opera"),
    Case(("Ich mag Tango und ich mag keinen Fußball",), "Was mag ich?", "Tango"),
    Case(("J'aime le flamenco et je n'aime pas le foot",), "Qu'est-ce que j'aime ?", "flamenco"),
    Case(("I don't like football", "I like opera"), "What don't I like?", "football"),
    Case(("I like opera", "I don't like football"), "What don't I like?", "football"),
    Case(("Ich mag keinen Fußball", "Ich mag Tango"), "Was mag ich nicht?", "Fußball"),
    Case(("Je n'aime pas le foot", "J'aime le jazz"), "Qu'est-ce que je n'aime pas ?", "foot"),
    Case(("No me gusta el fútbol", "Me gusta el jazz"), "¿Qué no me gusta?", "fútbol"),
    Case(("I hate my boss",), "Do I hate my boss?", "hate your boss"),
    Case(("I hate football",), "Do I like football?", "hate football"),
    Case(("My favourite food is lasagne",), "Am I vegetarian?", EN),
    Case(("I don't eat meat",), "Am I vegetarian?", "eat meat"),
    Case(
        ("Ma copine Lisa est avocate", "Nous nous sommes séparés hier"),
        "Est-ce que j'ai une copine ?",
        "",
        ("avocate",),
    ),
    Case(("Mi novia Lisa es abogada", "Nos separamos ayer"), "¿Tengo novia?", "", ("abogada",)),
    Case(("Mi novio se llama Pablo", "Pablo y yo hemos roto"), "¿Tengo novio?", "Pablo", ("YPablo", "se llama")),
    Case(("Mia und ich wohnen in Ulm",), "Wo wohne ich?", "Ulm", ("undst", "Du und")),
    Case(("Pablo y yo vivimos en Madrid",), "¿Dónde vivo?", "Madrid", ("YPablo",)),
    Case(("Anna et moi habitons à Lyon",), "Où est-ce que j'habite ?", "Lyon", ("ets",)),
)
"""What is asked for is no denial, no mere topic, and nobody who is gone."""

NAMED_ONCE = (
    Case(("I'm a nurse", "I was promoted to ward manager"), "What's my job?", "ward manager"),
    Case(("I have a twin sister, Julia, who lives in Bristol",), "Where does my sister live?", "Bristol"),
    Case(("I have a sister, who lives in Bristol",), "Where do I live?", EN),
    Case(("My wife Aoife is pregnant, the baby is due in March",), "When is the baby due?", "March"),
    Case(("My flight is at 7am on Monday and the hotel is called Ibis",), "What is the hotel called?", "Ibis"),
    Case(("Je suis infirmière à l'hôpital",), "Quel est mon métier ?", "infirmière"),
    Case(("Je suis infirmière à l'hôpital",), "Qu'est-ce que je fais dans la vie ?", "infirmière"),
    Case(("I'm a teacher at the hospital",), "What's my job?", "teacher"),
    Case(("Ich heiße Timo, bin 31 und wohne in Hamburg",), "Wie heiße ich?", "Timo", ("31",)),
    Case(("Ich heiße Timo, bin 31 und wohne in Hamburg",), "Wie alt bin ich?", "31"),
)
"""What one sentence says besides something else."""

GRAZ = ("I live in Graz with my girlfriend Eva and my cat Minka.", "Eva and I broke up.")
AMENDED = (
    Case(("I'm flying to Rome next Monday.", "I cancelled my flight to Rome."), "Am I flying to Rome?", "cancelled"),
    Case(("My favourite colour is red.", "My favourite colour is green now."), "Is my favourite colour red?", "green"),
    Case(("My meeting is at 3pm on Friday.", "Actually my meeting is at 4pm."), "When is my meeting?", "4pm", ("3pm",)),
    Case(("My mom's name is Diane and she lives in Ohio.",), "What's my mom's name?", "Diane"),
    Case(("My girlfriend's name is Ana. She is from Spain.",), "What's my girlfriend's name?", "Ana"),
    Case(
        ("I have two kids, Tom and Lucy.", "My daughter is called Lucia, not Lucy."),
        "What's my daughter's name?",
        "Lucia",
    ),
    Case(("We have two dogs, Rex and Fido.", "Rex died."), "Who is Fido?", "Rex and Fido"),
    Case(("We have two dogs, Rex and Fido.", "Rex died."), "Do I have a dog?", "Rex died"),
    Case(("I have a cat and a dog.", "I no longer have a dog."), "Do I have a cat?", "a cat and a dog"),
    Case(("I play tennis and football.", "I no longer play football."), "Do I play tennis?", "You play tennis"),
    Case(("Tengo un perro y un gato.", "Ya no tengo perro."), "¿Tengo un gato?", "un perro y un gato"),
    Case(GRAZ, "Where do I live?", "Graz"),
    Case(("Ich rauche nicht mehr.",), "Rauche ich noch?", "Du rauchst nicht mehr."),
    Case(("Me llamo Pablo.", "Mi hijo se llama Hugo."), "¿Cómo me llamo?", "Te llamas Pablo.", ("Hugo",)),
    Case(("Je m'appelle Luc.", "Mon fils s'appelle Hugo."), "Comment je m'appelle ?", "Luc", ("Hugo",)),
    Case(GRAZ, "What's my cat's name?", "Minka"),
    Case(GRAZ, "Who is my girlfriend?", "broke up"),
    Case(GRAZ, "What do you know about me?", "Graz"),
    Case(("I live in Berlin.", "My flight to Berlin was cancelled."), "Where do I live?", "Berlin"),
    Case(("I'm getting married in May.", "The wedding is off."), "Am I getting married?", "off"),
    Case(("I love Thai food. I hate mushrooms.",), "What don't I like?", "hate mushrooms", ("Thai",)),
    Case(("Ich liebe Sushi und hasse Oliven.",), "Was mag ich nicht?", "Oliven", ("Sushi",)),
    Case(("J'aime le fromage et je déteste les olives.",), "Qu'est-ce que je n'aime pas ?", "olives", ("fromage",)),
    Case(("My daughter Layla plays the violin.",), "How many children do I have?", EN, ("violin",)),
)


OWNERS = (
    Case(("My mum lives in Wakefield.", "Tom's mum lives in Hull."), "Where does my mum live?", "Wakefield", ("Hull",)),
    Case(
        ("My mum's birthday is 14 March.", "Tom's mum's birthday is 2 May."), "When is my mum's birthday?", "14", ("2",)
    ),
    Case(("Ellie's teacher is Mrs Webb.", "Jack's teacher is Mr Ali."), "Who is Ellie's teacher?", "Webb", ("Ali",)),
    Case(("Jack's best friend is Noah.", "My friend Sam is pregnant."), "Who is Jack's best friend?", "Noah", ("Sam",)),
    Case(("Jack is allergic to eggs.", "Jack turned 7 yesterday."), "What is Jack allergic to?", "eggs", ("turned",)),
    Case(("Ellie plays the recorder.", "Ellie wants a hamster."), "What does Ellie play?", "recorder", ("hamster",)),
    Case(("I'm working early on Monday.", "I hate early shifts."), "When am I working early?", "Monday", ("hate",)),
    Case(
        ("My husband is called Tom and he's a plumber.", "Tom has an appointment for his knee on the 15th."),
        "What does my husband do?",
        "plumber",
        ("knee",),
    ),
    Case(
        ("My dentist appointment is on Monday at 9.", "I've got an appointment with the GP on Friday."),
        "What appointments do I have?",
        "dentist",
    ),
    Case(
        ("Remind me on Monday to ring the school.", "Remind me on Friday to pick up my uniform."),
        "What do I need to do on Monday?",
        "school",
        ("uniform",),
    ),
    Case(
        ("I've got an exam tomorrow at 10.", "Tom has an exam tomorrow at 9.", "I've got an exam next week."),
        "When is my next exam?",
        "tomorrow",
        ("next week", "Tom"),
    ),
    Case(("Meine Mutter wohnt in Kassel.", "Toms Mutter wohnt in Ulm."), "Wo wohnt meine Mutter?", "Kassel", ("Ulm",)),
    Case(
        ("Our flour comes from Shipton Mill on Tuesdays.", "Sheila is staying with us from 20 December."),
        "When is Sheila coming?",
        "",
        ("flour",),
    ),
    Case(
        ("Our flour comes from Shipton Mill on Fridays.", "Shipton Mill are changing their delivery days to Mondays."),
        "When does the flour come?",
        "changing",
    ),
    Case(
        ("My accountant is called Priya Shah.", "Our bags come from Cotswold, account number CB4471."),
        "Who is my accountant?",
        "Priya",
        ("Cotswold",),
    ),
    Case(
        ("We have two children, Maisie who is 9 and Alfie who is 6.", "Maisie turns 10 on 15 January."),
        "How old is Alfie?",
        "Alfie who is 6",
        ("turns",),
    ),
    Case(
        ("I run a bakery called Crumb.", "I prefer to be called Nelly."),
        "What should you call me?",
        "Nelly",
        ("Crumb",),
    ),
    Case(("Ma mère habite à Lille.", "La mère de Tom habite à Metz."), "Où habite ma mère ?", "Lille", ("Metz",)),
    Case(("Mi madre vive en Vigo.", "La madre de Tom vive en Lugo."), "¿Dónde vive mi madre?", "Vigo", ("Lugo",)),
    Case(("Meine Schwester ist letzten Monat 80 geworden.",), "Wie alt ist meine Schwester?", "80"),
    Case(
        ("I take ramipril 5 mg every morning.", "The doctor changed my ramipril to 10 mg."),
        "How much ramipril do I take?",
        "10 mg",
        ("5 mg",),
    ),
    Case(
        ("My cataract operation is on 22 January.", "I had my cataract operation moved to 29 January."),
        "When is my cataract operation?",
        "29",
        ("22",),
    ),
    Case(
        ("I have an exam on 3 May 2027 at 3 pm.", "I stopped taking the statin last week because of pain."),
        "When is my exam?",
        "3 May",
        ("statin",),
    ),
    Case(("My grandchildren are eight.",), "How old are my grandchildren?", "eight"),
    Case(("Our printer runs firmware 4.", "We updated it to firmware 5."), "Which firmware does our printer run?", "5"),
    Case(
        ("My sister Noa is a nurse", "I like tea", "My mum is 70"),
        "Tell me about my family",
        "Your sister Noa",
        ("tea",),
    ),
    Case(("Ich lese gerade Emma",), "Was lese ich?", "Du liest gerade Emma"),
    Case(("Salt likes tuna",), "what did I say about tuna?", "Salt likes tuna"),
    Case(("Meine Katze Salz mag Thunfisch",), "Was habe ich über Salz gesagt?", "Salz, deine Katze"),
    Case(
        ("my kids are Ben (4) and Lily who is 8", "Ben has judo on Fridays at 6 and Lily piano on Sunday mornings"),
        "how old is Lily?",
        "Your kids are",
        ("judo",),
    ),
    Case(("Joan hates liver", "Joan lives in Swindon"), "who hates liver?", "hates liver", ("Swindon",)),
    Case(("Lily stopped piano",), "when does lily have piano?", "Lily stopped piano"),
    Case(("My office hours are 9 to 5",), "When are my office hours?", "9 to 5"),
    Case(
        ("I have a meeting next Wednesday at 9", "I like tea", "I have a hairdresser appointment today at 11"),
        "What do I have today?",
        "hairdresser",
        ("meeting", "tea"),
    ),
    Case(("The school play is tomorrow", "I have judo on Mondays"), "what's on tomorrow?", "school play"),
    Case(("I have choir every Tuesday at 7",), "What do I have next week?", "choir"),
    Case(
        ("My wife Carol's birthday is the 14th of Feb", "My mate Gaz is getting married in May"),
        "What is my wife called?",
        "Carol",
        ("Gaz",),
    ),
    Case(("My wife Carol's birthday is the 14th of Feb",), "When is Carol's birthday?", "Your wife Carol's birthday"),
    Case(("Gaz's stag do is in Prague",), "Where is the stag do?", ": Gaz's stag do is in Prague"),
    Case(("The lad who helps me is called Ryan, he's 19",), "How old is Ryan?", "The lad who helps you is"),
    Case(("Training is on Tuesdays and Thursdays at 6", "kick off is 10.30"), "When is kick off?", "10.30"),
    Case(
        ("My nan's 90th is on 20 December", "Kiran was born on 3 November"),
        "When is nan's birthday?",
        "Your nan's 90th",
        ("Kiran",),
    ),
    Case(("Food hygiene inspection is tomorrow at 2",), "What can't I eat?", "found no answer"),
    Case(("I used to work at Costa",), "Where did I use to work?", "You used to work at Costa"),
    Case(
        ("I run a small café called Bean There", "I've stopped running because of my knee"),
        "What is my café called?",
        "Bean There",
        ("running",),
    ),
    Case(
        ("I run on Tuesdays", "I've stopped running because of my knee"), "When do I run?", "You have stopped running"
    ),
    Case(
        ("Coffee machine service is booked for 9 December", "The service is on the 10th of December"),
        "When is the coffee machine service?",
        ": The service is on the 10th",
    ),
    Case(("My mum's gluten free",), "What can't my mum eat?", "Your mum is gluten free"),
    Case(("My planer is broken", "I sold the planer"), "Is my planer broken?", "You sold the planer"),
    Case(("Bo owes me 1450 euros", "Bo paid the 1450 euros"), "Does Bo owe me anything?", ": Bo paid the 1450 euros"),
    Case(("Mrs. Weber pays in cash",), "what do I know about Weber", "Mrs. Weber pays in cash"),
    Case(("I have a meeting with Bo tomorrow at 9",), "anything tomorrow?", "You have a meeting"),
    Case(("Lena comes home for Christmas",), "When does Lena come home for Christmas?", "Lena comes home"),
    Case(
        ("I have a meeting with Mrs Brandt tomorrow at 10", "I have a dentist appointment on December 28 at 10"),
        "When is my next appointment?",
        "Mrs Brandt",
        ("dentist",),
    ),
    Case(
        ("My dad's carer is called Sue", "My dad has been moved to ward 9", "The party's moved to the White Hart"),
        "Who is dad's carer?",
        "Your dad's carer is called Sue",
        ("ward", "party"),
    ),
    Case(("I'm Helen, secretary at Oakfield",), "What's my name?", "You are Helen"),
    Case(("Ros's party is at the Crown", "The party's moved to the Hart"), "Where is Ros's party?", ": The party has"),
    Case(("Meine Brille liegt im Auto",), "Wo ist meine Brille?", "liegt im Auto"),
    Case(("Ich arbeite im Sekretariat",), "Wo arbeite ich?", "im Sekretariat"),
    Case(
        ("I am flying to Madrid on 7 May 2027.", "I cancelled the Madrid trip."),
        "When am I flying to Madrid?",
        "You cancelled the Madrid trip",
    ),
    Case(
        ("Dad's birthday is 3 February", "my birthday is 4 March"),
        "when is dad's birthday?",
        "Your dad's birthday",
        ("4 March",),
    ),
    Case(
        ("Dad takes warfarin 5mg every evening", "Parents' evening is on 8 December at 6pm"),
        "how much warfarin does dad take?",
        "Your dad takes warfarin",
        ("Parents",),
    ),
    Case(
        ("I need to pick up the dry cleaning on Saturday", "I've picked up the dry cleaning"),
        "what do I need to pick up?",
        "You have picked up",
    ),
    Case(("my back has been bad since October",), "how long has my back been bad?", "since October"),
    Case(("Collect Dad's prescription tomorrow",), "what do I need to do tomorrow?", "prescription"),
    Case(("remind me tomorrow at 9 to ring the vet",), "what reminders have I got?", "ring the vet"),
    Case(
        ("Maisie's not eating meat anymore", "Maisie's boyfriend is called Josh but don't tell anyone"),
        "does Maisie eat meat?",
        "Maisie is not eating meat",
        ("Josh",),
    ),
    Case(
        ("my pupil Oskar comes on Mondays at 2 pm", "my pupil Nina comes on Fridays at 4"),
        "when does Oskar come?",
        "Your pupil Oskar",
        ("Nina",),
    ),
    Case(("My contract with Telsa ends in June.",), "How can I contact you?", "The closest I know:"),
    Case(("Carol works Saturdays and is always late.",), "When does Carol work?", "Saturdays"),
    Case(("Mrs Patel ordered a lemon cake.", "Carol ordered flour."), "What did Mrs Patel order?", "lemon", ("flour",)),
    Case(("Helen and I have been married for 22 years.",), "How long have I been married?", "22 years"),
    Case(("Jack will be 8 on Tuesday.",), "When will Jack be 8?", "You said: Jack | I remember: Jack"),
)
ALL_MISLEADING = {
    "owners": OWNERS,
    **LATER_STATEMENTS,
    "amended": AMENDED,
    "likes": LIKES,
    "named once": NAMED_ONCE,
    "kinds": KINDS,
    "ages": AGES,
    "new values": NEW_VALUES,
    "ended": ENDED,
    "news": NEWS,
    "unrelated": UNRELATED,
    "not denied": NOT_DENIED,
}
