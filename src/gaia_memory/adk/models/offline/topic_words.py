"""Words for the same everyday topic in English, German, French and Spanish, so that a question meets its answer."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from datetime import UTC, datetime
from functools import lru_cache

import snowballstemmer

from gaia_memory.language.function_words import FUNCTION_WORDS
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.language.word_variants import WORD_FAMILIES

_TOPICS = """
number nummer telefonnummer handynummer rufnummer numero
phone telephone mobile cell cellphone telefon handy portable telefono movil
live lives lived living reside home based move moved moving moves address wohne wohnst wohnt wohnen lebe lebst \
lebt ziehe ziehst zieht umziehen umgezogen gezogen habite habites habiter vis vit demenage demenager vivo \
vives vive vivir vivimos viven habitons habitent vivons vivent leben mudo mude mudado mudar
work works working worked job jobs travail arbeit profession occupation career \
arbeite arbeitest arbeitet arbeiten beruf stelle \
travaille travailles travailler metier emploi boulot trabajo trabajas trabaja trabajar profesion empleo
name names named called call heisse heisst heissen appelle appelles appelez nom prenom llamo llamas llama \
llaman nombre
allergic allergy allergies allergisch allergie allergien allergique allergiques alergico alergica alergia \
alergias
birthday born birth geburtstag geboren anniversaire ne nee naissance cumpleanos nacido naci nacimiento
age old turned alt alter jahre ans anos edad
wife wives spouse ehefrau frau femme epouse esposa mujer family familie famille familia
husband spouse ehemann mann mari epoux esposo marido family familie famille familia
partner boyfriend girlfriend freund freundin partnerin copain copine compagnon novio novia pareja
sister sisters sibling siblings geschwister schwester schwestern soeur soeurs hermana hermanas \
family familie famille familia
brother brothers sibling siblings geschwister bruder frere freres hermano hermanos family familie famille familia
mother mum mom mutter mama mere maman madre family familie famille familia
father dad vater papa pere padre family familie famille familia
son sons sohn soehne sohne fils hijo child children kid kids kind kinder enfant enfants hijos \
family familie famille familia
daughter daughters tochter fille filles hija hijas child children kid kids kind kinder enfant enfants hijos \
family familie famille familia
cat cats kitten pet pets haustier haustiere animal animaux mascota mascotas katze kater katzen chat chatte chats gato \
gata gatos
rabbit rabbits bunny hamster hamsters parrot pet pets haustier haustiere animal animaux mascota mascotas kaninchen \
hase hasen papagei lapin lapins perroquet conejo conejos loro
dog dogs puppy pet pets haustier haustiere animal animaux mascota mascotas hund hunde hundin chien chienne chiens \
perro perra perros
boss manager chef chefin vorgesetzter patron patronne jefe jefa
friend friends freund freundin freunde ami amie amis amigo amiga amigos
eat eats eating ate food meal meals essen esse isst iss mange manges manger como comes come comer comida
eat eats eating ate meat fleisch viande carne diet vegan vegetarian vegetarisch vegetarier essen esse isst iss mange \
manges manger vegetarien vegane como comes come comer vegetariano vegetariana vegano vegana
drink drinks drank trinke trinkst trinkt trinken bois boit boire bebo bebes bebe beber
like likes liked love loves loved enjoy enjoys prefer prefers fond hate hates hated dislike dislikes loathe stand bear \
favourite favorite mag magst mogen liebe liebst gefallt hasse hasst hassen ausstehen lieblings aime aimes aimer \
adore deteste detestes detester supporte prefere preferee favori gusta gustan encanta encantan prefiero odio odias \
odia soporto soporta favorito favorita preferido preferida
colour color farbe lieblingsfarbe couleur
doctor physician arzt arztin medecin docteur medico medica
dentist zahnarzt zahnarztin dentiste dentista
appointment appointments appt meeting meetings termin termine rendez rdv cita
language languages speak speaks sprache sprachen spreche sprichst spricht langue langues parle parles idioma \
idiomas hablo hablas habla
drive drives drove car cars auto fahre fahrst fahrt fahren wagen voiture conduis conduit coche \
conduzco conduces conduce carro
play plays played instrument hobby hobbies spiele spielst spielt joue joues juego juegas juega toco tocas toca
holiday vacation trip travel travels travelling fly flying flies flight flights urlaub reise reisen verreise fliege \
fliegst fliegt fliegen flug vacances voyage vol vols vacaciones viaje viajo vuelo vuelos volar
study studies studied studying student studiere studierst studiert etudie etudies estudio estudias estudia
married wedding marry divorced divorce separated geschieden getrennt divorcee divorciado divorciada \
verheiratet heirate hochzeit marie mariee mariage casado casada boda
meet meets met meeting treffe triffst trifft rencontre reunion veo
origin come comes komme kommst herkunft viens originaire vengo vienes
lese lesen liest
nehme nehmen nimmst nimmt
gebe geben gibst gibt
sehe sehen siehst sieht
helfe helfen hilfst hilft
"""


def _topic_numbers() -> dict[str, frozenset[int]]:
    numbers: dict[str, set[int]] = {}
    for number, line in enumerate(_TOPICS.strip().splitlines()):
        for word in line.split():
            numbers.setdefault(word, set()).add(number)
    return {word: frozenset(each) for word, each in numbers.items()}


_TOPICS_OF_WORD = _topic_numbers()
SLOT_WORDS = {
    "home": ("live",),
    "employer": ("work", "employer", "company", "firma", "entreprise", "empresa"),
    "role": ("work",),
    "studies": ("study",),
    "partner": ("partner", "wife", "husband", "married"),
    "pet": ("pet", "cat", "dog"),
    "phone": (
        *("phone", "number", "telephone", "mobile", "cell", "telefonnummer", "handynummer", "nummer", "telefon"),
        *("numero", "telephone", "portable", "telefono", "movil"),
    ),
    "email": ("email", "mail", "correo"),
}
"""What a question calls the slots of `truth/rules/`, in whose sentences these words may lack."""

USER_WORDS = {
    *("user", "nutzer", "nutzerin", "nutzers", "benutzer", "benutzerin", "benutzers", "usuario", "usuaria"),
    *("utilisateur", "utilisatrice"),
}
GENERAL_WORDS = frozenset(
    (
        *("like", "love", "enjoy", "prefer", "hate", "dislike", "eat", "drink", "live", "work", "speak", "play"),
        *("essen", "trinken", "manger", "boire", "comer", "beber", "stand", "ausstehen", "supporte", "soporto"),
        *("likes", "loves", "enjoys", "prefers", "hates", "eats", "drinks", "lives", "works", "speaks", "plays"),
        *("drive", "drives", "study", "studies", "go", "goes", "visit", "want", "wants", "need", "needs", "own", "use"),
        *("mag", "liebe", "hasse", "esse", "trinke", "wohne", "arbeite", "spreche", "spiele", "fahre", "studiere"),
        *("mogt", "liebt", "hasst", "isst", "trinkt", "wohnt", "arbeitet", "spricht", "spielt", "fahrt", "studiert"),
        *("aime", "adore", "deteste", "mange", "bois", "habite", "travaille", "parle", "joue", "etudie"),
        *("gusta", "gustan", "encanta", "odio", "como", "bebo", "vivo", "trabajo", "hablo", "estudio"),
        *("vive", "trabaja", "tengo", "tienes", "tiene", "favourite", "favorite", "kind", "sort", "type"),
        *("name", "names", "named", "call", "called", "heisse", "heisst", "heissen", "appelle", "nom"),
        *("llama", "llaman", "nombre", "old", "age", "alt", "alter", "edad", "anos", "ans"),
    )
)
"""Words that say little beside another one of a question: "Do I like tea?" is about tea."""

ALL_FUNCTION_WORDS = frozenset[str]().union(*FUNCTION_WORDS.values()) - {"son"}
"""Of all languages; a son is more often asked for in English than "his" in French."""

_STEMMERS = tuple(snowballstemmer.stemmer(name) for name in ("english", "german", "french", "spanish"))
_ENGLISH_STEMMER = _STEMMERS[0]
_ENDINGS = frozenset(("es", "n", "en", "e", "er", "ern", "nt", "ed", "d", "ing", "t", "st", "te", "x"))
_MIN_STEM_CHARACTERS = 3
_MIN_TYPO_CHARACTERS = 6
_TYPO_RATIO = 0.88
_ANY_TIME = datetime(2000, 1, 1, tzinfo=UTC)

_WORDINGS = (
    (r"(\bwhat do(?:es)? .{1,60}? )do(?: for (?:a living|work))?(?=\W*\Z)", r"\1work"),
    (r"\bwas mach(?:e|t) (.{1,60}?)(?: beruflich)?(?=\W*\Z)", r"was arbeiten \1"),
    (r"\bque fai[st] (.{1,60}?)(?: dans la vie)?(?=\W*\Z)", r"que travaille \1"),
    (r"\bqu'est-ce que (.{1,60}?) fai[st](?: dans la vie)?(?=\W*\Z)", r"que travaille \1"),
    (r"\b(?:a qué se dedica|qué hace) (.{1,60}?)(?=\W*\Z)", r"qué trabaja \1"),
    (r"\ba qué me dedico\b", "en qué trabajo"),
    (r"\buse to\b", ""),
    (r"\b(how) (?:long|often|far)\b", r"\1"),
    (r"\b(my|meine?\w?|m(?:a|on)|mi) (?:next|nächst\w*|prochaine?|próxim[ao])\b", r"\1"),
    (r"\bwhere (?:am i|are we) from\b", "my origin"),
    (r"\bwo komme ich her\b|\bwoher komme ich\b", "meine Herkunft"),
    (r"\bd'où (?:est-ce que )?(?:je viens|viens-je)\b", "mon origin"),
    (r"\bde dónde (?:soy|vengo)\b", "mi origin"),
    (r"\b(?:before|previously|früher|vorher|auparavant|avant|antes)(?=\W*\Z)", ""),
)
"""Questions without a word that a statement has, and their wording with one."""


_TELLING = re.compile(
    r"\bwhat do (?:i|we) know about\b|"
    r"\bwhat (?:did|have) i (?:ever |already |just )?(?:say|said|tell|told|mention(?:ed)?)(?: (?:to )?you)? about\b|"
    r"\bwas habe? ich (?:dir )?(?:über|von)\b|\bqu'(?:est-ce que j'ai|ai-je) (?:dit|raconté) (?:sur|de|à propos de)\b|"
    r"\bqué (?:te )?(?:dije|conté|he (?:dicho|contado)) (?:sobre|de)\b",
    re.IGNORECASE,
)
_GERMAN_TELLING = re.compile(r"(?<=\w) (?:gesagt|erzählt)(?=\W*\Z)", re.IGNORECASE)


def without_telling(question: str) -> str:
    """Return "about tuna?" for "What did I say about tuna?"; any other question as it is."""
    return _GERMAN_TELLING.sub("", _TELLING.sub(lambda found: found[0].split()[-1], question))


def with_plain_words(question: str) -> str:
    """Return a question with a word for what it asks: "What do I work?" for "What do I do?"."""
    for pattern, wording in _WORDINGS:
        question = re.sub(pattern, wording, question, flags=re.IGNORECASE)
    return question


@lru_cache(maxsize=20_000)
def _meanings(word: str) -> frozenset[str | int]:
    """Return the word itself, its topics and its family."""
    family = WORD_FAMILIES.get(word)
    return frozenset((word, *_TOPICS_OF_WORD.get(word, ()), *([min(family)] if family else [])))


@lru_cache(maxsize=20_000)
def _stems(word: str) -> frozenset[str]:
    stems = (str(stemmer.stemWord(word)) for stemmer in _STEMMERS)
    return frozenset(stem for stem in stems if len(stem) >= _MIN_STEM_CHARACTERS)


def is_same_word(one: str, other: str) -> bool:
    """Return whether two words are the same or forms of one word, are about one topic, or differ by a typing error."""
    return are_forms(one, other) or differ_by_typo(one, other)


def has_word(words: Collection[str], word: str) -> bool:
    """Return whether one of the words is the same as a word, or about the same."""
    return any(is_same_word(word, other) for other in words)


def differ_by_typo(one: str, other: str) -> bool:
    """Return whether two long words are nearly the same; "contact" and "contract" are, too."""
    if min(len(one), len(other)) < _MIN_TYPO_CHARACTERS or one[0] != other[0]:
        return False
    return difflib.SequenceMatcher(None, one, other).ratio() >= _TYPO_RATIO


def are_forms(one: str, other: str) -> bool:
    """Return whether two words are the same or forms of one word, or are about one topic."""
    return not _meanings(one).isdisjoint(_meanings(other)) or have_one_stem(one, other)


def have_one_root(one: str, other: str) -> bool:
    """Return whether two words are forms of one word, or of one family such as "dad" and "father"."""
    family = WORD_FAMILIES.get(one)
    return have_one_stem(one, other) or (family is not None and family is WORD_FAMILIES.get(other))


def have_one_stem(one: str, other: str) -> bool:
    """Return whether two words are the same or forms of one word."""
    if one == other or not _german_verb_stems(one).isdisjoint(_german_verb_stems(other)):
        return True
    shorter, longer = sorted((one, other), key=len)
    # An accountant is no account.
    if _stems(one).isdisjoint(_stems(other)) or longer.removesuffix("ant") == shorter:
        return False
    return len(shorter) >= _MIN_TYPO_CHARACTERS or _is_inflected(shorter, longer)


@lru_cache(maxsize=20_000)
def _german_verb_stems(word: str) -> frozenset[str]:
    """Return what may be the stem of a word as a form such as "rauche", "raucht", "rauchst" or "rauchen"."""
    endings = ("e", "t", "st", "en")
    stems = (word.removesuffix(ending) for ending in endings if word.endswith(ending))
    return frozenset(stem for stem in stems if len(stem) > _MIN_STEM_CHARACTERS)


@lru_cache(maxsize=20_000)
def implied_words(*wordings: str, only_changed: bool = False) -> tuple[str, ...]:
    """Return the words that a statement does without: "work" for "I started at Bosch".

    With `only_changed`, those for what is new or over.
    """
    # The rules of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.truth.claims import read_statement

    # "My sister Anna lives in Oslo" says so itself, and of somebody else.
    claims = [claim for text in wordings for claim in read_statement(text, _ANY_TIME) if not claim.relation]
    if only_changed:
        claims = [claim for claim in claims if claim.is_change or (claim.is_denial and not claim.value)]
    words = [word for claim in claims if claim.slot != "pet" for word in SLOT_WORDS.get(claim.slot, ())]
    # "Rex died" does not tell what he was, nor a cat's death anything of a dog.
    words += [claim.key for claim in claims if claim.slot == "pet" and claim.key]
    return tuple(dict.fromkeys(words))


def related_words(question: str) -> str:
    """Return other words with which a statement may answer a question: "moved" for "Where do I live?".

    They go with the names in the question; empty if there are none.
    """
    # The rules of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.truth.rule_tables import slot_words

    asked = [word for word in index_tokens(question) if word not in ALL_FUNCTION_WORDS]
    numbers = {number for word in asked for number in _TOPICS_OF_WORD.get(word, ())}
    slots = [
        slot for slot, names in SLOT_WORDS.items() if any(is_same_word(word, name) for word in asked for name in names)
    ]
    topics = [word for word, each in _TOPICS_OF_WORD.items() if not numbers.isdisjoint(each)]
    words = [*(word for slot in slots for word in sorted(slot_words(slot))), *topics]
    others = [word for word in asked if word not in _TOPICS_OF_WORD]
    related = dict.fromkeys(word for word in words if word not in ALL_FUNCTION_WORDS | USER_WORDS | set(asked))
    return " ".join([*others, *related]) if related else ""


def _is_inflected(shorter: str, longer: str) -> bool:
    """Return whether two short words with a common stem are forms of one word; "wife" and "wifi" have a stem, too."""
    if longer.startswith(shorter):
        ending = longer[len(shorter) :]
        return ending == "s" or (len(shorter) > _MIN_STEM_CHARACTERS and ending in _ENDINGS)
    return bool(_ENGLISH_STEMMER.stemWord(shorter) == _ENGLISH_STEMMER.stemWord(longer))
