"""What the offline model says, in four languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from gaia_memory.adk.models.offline.message_kinds import asks_to_remember
from gaia_memory.language.function_words import Language

if TYPE_CHECKING:
    from gaia_memory.backend.offline.conversation_reader import MessageContent


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """The sentences of one language; those with braces take a text."""

    introduction: str
    noted: str
    noted_part: str
    nothing_found: str
    too_long: str
    withdrawn: str
    nothing_to_withdraw: str
    unclear: str
    taken_back: str
    unsure: str
    forgotten: str
    private: str
    confidential: str
    unknown: str
    not_found: str
    overview: str
    more: str
    said: str
    remembered: str
    in_doubt: str
    kept: str
    not_kept: str
    refused: str
    secret: str
    is_long: str
    is_blank: str
    memory_down: str
    lookup_failed: str
    no_memory: str
    greeting: str
    thanks: str
    all_right: str
    nothing_forgotten: str
    not_able: str
    no_credentials: str
    earlier_messages: str


PHRASES: Mapping[Language, Phrases] = {
    "en": Phrases(
        introduction=(
            "I am the offline model, a small set of fixed rules: I look up what you told me by its words and repeat "
            "it, the latest first. What you say in other words I may miss. With GEMINI_API_KEY set, Gemini answers."
        ),
        noted="Noted.",
        noted_part="I noted only this: {}",
        nothing_found="I found no fact in that, so I will not learn it.",
        too_long="That sentence is too long to learn from without a model. Shorter sentences are learned.",
        withdrawn="I will not learn: {}",
        nothing_to_withdraw="There is nothing to take back here. /forget WORDS removes what I have already learned.",
        unclear="I did not understand what changes: please tell me in a whole sentence.",
        taken_back="I will not answer with this here: {}\n/forget WORDS removes what I have already learned.",
        unsure="I have no sure answer. The closest I know: {}",
        forgotten="You had me forget that, so I will not learn it from a conversation. To bring it back: /remember {}",
        private="This stays between us: I do not learn this message.",
        confidential="I do not learn that. Send /private first, and I learn nothing of what follows.",
        unknown="I don't know that yet.",
        not_found="I found no answer to that in what I know about you.",
        overview="This is what I know about you:",
        more="… and more. /memory lists what is learned.",
        said="You said: {}",
        remembered="I remember: {}",
        in_doubt="{} (in doubt: something you said later may have changed this)",
        kept="I will remember: {}",
        not_kept="I did not save that: {}.",
        refused="memory did not take it",
        secret="it contains a password, a code or a number that must stay secret",
        is_long="it is too long",
        is_blank="it has no words",
        memory_down="My memory cannot answer right now.",
        lookup_failed="I could not look that up: {}.",
        no_memory="I cannot answer that.",
        greeting="Hello!",
        thanks="You're welcome.",
        all_right="All right.",
        nothing_forgotten="I have not forgotten anything. Send /forget to forget everything, or /forget WORDS.",
        not_able=(
            "I can't do that: I can only remember things and look them up. /forget WORDS removes what I have learned."
        ),
        no_credentials="I do not keep passwords or other credentials.",
        earlier_messages="I see only the latest messages here. If learning is on, /reset learns from the earlier ones.",
    ),
    "de": Phrases(
        introduction=(
            "Ich bin das Offline-Modell, wenige feste Regeln: Ich suche nach den Wörtern, was du mir gesagt hast, und "
            "wiederhole es, das Neueste zuerst. Was du anders ausdrückst, übersehe ich vielleicht. Mit GEMINI_API_KEY "
            "antwortet Gemini."
        ),
        noted="Notiert.",
        noted_part="Notiert habe ich nur das: {}",
        nothing_found="Darin habe ich keine Tatsache gefunden, also lerne ich es nicht.",
        too_long="Der Satz ist zu lang, um ohne Modell daraus zu lernen. Aus kürzeren Sätzen lerne ich.",
        withdrawn="Das lerne ich nicht: {}",
        nothing_to_withdraw="Hier gibt es nichts zurückzunehmen. /forget WÖRTER entfernt schon Gelerntes.",
        unclear="Ich habe nicht verstanden, was sich ändert: Bitte sag es mir in einem ganzen Satz.",
        taken_back="Damit antworte ich hier nicht mehr: {}\n/forget WÖRTER entfernt schon Gelerntes.",
        unsure="Eine sichere Antwort habe ich nicht. Am nächsten kommt: {}",
        forgotten="Das sollte ich vergessen, also lerne ich es aus keinem Gespräch. Zurück kommt es mit: /remember {}",
        private="Das bleibt unter uns: Diese Nachricht lerne ich nicht.",
        confidential="Das lerne ich nicht. Nach /private lerne ich auch vom Rest nichts.",
        unknown="Das weiß ich noch nicht.",
        not_found="Dazu habe ich in dem, was ich über dich weiß, keine Antwort gefunden.",
        overview="Das weiß ich über dich:",
        more="… und noch mehr. /memory zeigt, was gelernt ist.",
        said="Du hast gesagt: {}",
        remembered="Gemerkt habe ich mir: {}",
        in_doubt="{} (nicht mehr sicher: was du später gesagt hast, hat das vielleicht geändert)",
        kept="Das merke ich mir: {}",
        not_kept="Das habe ich nicht gespeichert: {}.",
        refused="das Gedächtnis hat es nicht angenommen",
        secret="es enthält ein Passwort, einen Code oder eine Nummer, die geheim bleiben muss",
        is_long="es ist zu lang",
        is_blank="es enthält keine Wörter",
        memory_down="Mein Gedächtnis antwortet gerade nicht.",
        lookup_failed="Das konnte ich nicht nachsehen: {}.",
        no_memory="Darauf kann ich nicht antworten.",
        greeting="Hallo!",
        thanks="Gern geschehen.",
        all_right="In Ordnung.",
        nothing_forgotten="Ich habe nichts vergessen. Sende /forget, um alles zu vergessen, oder /forget WÖRTER.",
        not_able=(
            "Das kann ich nicht: Ich kann mir nur Dinge merken und sie nachsehen. /forget WÖRTER entfernt Gelerntes."
        ),
        no_credentials="Passwörter und andere Zugangsdaten speichere ich nicht.",
        earlier_messages="Ich sehe hier nur die letzten Nachrichten. Ist Lernen an, lernt /reset aus den früheren.",
    ),
    "fr": Phrases(
        introduction=(
            "Je suis le modèle hors ligne, quelques règles fixes : je cherche par mots ce que tu m'as dit et je le "
            "répète, le plus récent d'abord. Ce que tu dis autrement peut m'échapper. Avec GEMINI_API_KEY, c'est "
            "Gemini qui répond."
        ),
        noted="C'est noté.",
        noted_part="Je n'ai noté que ceci : {}",
        nothing_found="Je n'y ai trouvé aucun fait, donc je ne l'apprends pas.",
        too_long="Cette phrase est trop longue pour que j'en apprenne sans modèle. J'apprends de phrases plus courtes.",
        withdrawn="Je ne l'apprendrai pas : {}",
        nothing_to_withdraw="Il n'y a rien à retirer ici. /forget MOTS efface ce que j'ai déjà appris.",
        unclear="Je n'ai pas compris ce qui change : dis-le-moi dans une phrase entière, s'il te plaît.",
        taken_back="Je ne réponds plus avec ceci ici : {}\n/forget MOTS efface ce que j'ai déjà appris.",
        unsure="Je n'ai pas de réponse sûre. Le plus proche : {}",
        forgotten="Tu me l'as fait oublier, donc je ne l'apprends plus ici. Pour l'y remettre : /remember {}",
        private="Cela reste entre nous : je n'apprends pas ce message.",
        confidential="Je ne l'apprends pas. Après /private, je n'apprends rien de la suite.",
        unknown="Je ne le sais pas encore.",
        not_found="Je n'ai pas trouvé de réponse dans ce que je sais de toi.",
        overview="Voici ce que je sais de toi :",
        more="… et plus encore. /memory montre ce qui est appris.",
        said="Tu as dit : {}",
        remembered="J'ai retenu : {}",
        in_doubt="{} (à vérifier : ce que tu as dit plus tard l'a peut-être changé)",
        kept="Je m'en souviendrai : {}",
        not_kept="Je ne l'ai pas enregistré : {}.",
        refused="la mémoire ne l'a pas accepté",
        secret="il y a un mot de passe, un code ou un numéro qui doit rester secret",
        is_long="c'est trop long",
        is_blank="il n'y a pas de mots",
        memory_down="Ma mémoire ne répond pas pour le moment.",
        lookup_failed="Je n'ai pas pu chercher : {}.",
        no_memory="Je ne peux pas répondre à cela.",
        greeting="Bonjour !",
        thanks="De rien.",
        all_right="D'accord.",
        nothing_forgotten="Je n'ai rien oublié. Envoie /forget pour tout oublier, ou /forget MOTS.",
        not_able=(
            "Je ne peux pas faire cela : je peux seulement retenir des choses et les retrouver. "
            "/forget MOTS efface ce que j'ai appris."
        ),
        no_credentials="Je ne garde ni mots de passe ni autres identifiants.",
        earlier_messages="Je ne vois ici que les derniers messages. Si j'apprends, /reset lit aussi les autres.",
    ),
    "es": Phrases(
        introduction=(
            "Soy el modelo sin conexión, unas pocas reglas fijas: busco por palabras lo que me has dicho y lo repito, "
            "lo último primero. Lo que dices de otra manera se me puede escapar. Con GEMINI_API_KEY responde Gemini."
        ),
        noted="Anotado.",
        noted_part="Solo he anotado esto: {}",
        nothing_found="No he encontrado ningún dato en eso, así que no lo aprendo.",
        too_long="Esa frase es demasiado larga para aprender de ella sin un modelo. Aprendo de frases más cortas.",
        withdrawn="No lo aprenderé: {}",
        nothing_to_withdraw="Aquí no hay nada que retirar. /forget PALABRAS borra lo que ya he aprendido.",
        unclear="No he entendido qué cambia: dímelo en una frase completa, por favor.",
        taken_back="Aquí ya no respondo con esto: {}\n/forget PALABRAS borra lo que ya he aprendido.",
        unsure="No tengo una respuesta segura. Lo más parecido: {}",
        forgotten="Me pediste olvidarlo, así que no lo aprendo de ninguna conversación. Para recuperarlo: /remember {}",
        private="Esto queda entre nosotros: no aprendo este mensaje.",
        confidential="Eso no lo aprendo. Después de /private no aprendo nada de lo que sigue.",
        unknown="Todavía no lo sé.",
        not_found="No he encontrado la respuesta en lo que sé de ti.",
        overview="Esto es lo que sé de ti:",
        more="… y más. /memory muestra lo aprendido.",
        said="Dijiste: {}",
        remembered="Tengo anotado: {}",
        in_doubt="{} (en duda: lo que dijiste después quizá lo haya cambiado)",
        kept="Lo recordaré: {}",
        not_kept="No lo he guardado: {}.",
        refused="la memoria no lo ha aceptado",
        secret="contiene una contraseña, un código o un número que debe seguir secreto",
        is_long="es demasiado largo",
        is_blank="no contiene palabras",
        memory_down="Mi memoria no responde ahora mismo.",
        lookup_failed="No he podido buscarlo: {}.",
        no_memory="No puedo responder a eso.",
        greeting="¡Hola!",
        thanks="De nada.",
        all_right="De acuerdo.",
        nothing_forgotten="No he olvidado nada. Envía /forget para olvidarlo todo, o /forget PALABRAS.",
        not_able=("No puedo hacer eso: solo puedo recordar cosas y buscarlas. /forget PALABRAS borra lo aprendido."),
        no_credentials="No guardo contraseñas ni otras credenciales.",
        earlier_messages="Aquí solo veo los últimos mensajes. Si aprendo, /reset aprende de los anteriores.",
    ),
}

STOCK_REPLIES = frozenset(reply for phrases in PHRASES.values() for reply in astuple(phrases))
"""Replies without a word of the person."""

_DOUBTS = tuple(phrases.unsure.format("") for phrases in PHRASES.values())
_FRAMES = tuple(frame.format("") for phrases in PHRASES.values() for frame in (phrases.said, phrases.remembered))


def without_stock_replies(answer: str) -> str:
    """Return what an answer tells of the person, without "The closest I know:" and "I remember:"."""
    told = (line for line in answer.splitlines() if line not in STOCK_REPLIES)
    return "\n".join(_without_lead(_without_lead(line, _DOUBTS), _FRAMES) for line in told)


def _without_lead(line: str, leads: Sequence[str]) -> str:
    return line.removeprefix(next(filter(line.startswith, leads), ""))


def describe_refusal(message: str, phrases: Phrases) -> str:
    """Return that a fact was not saved and why, in the language of `phrases`; `message` is the tool's, to a model."""
    reasons = {
        "contains a credential": phrases.secret,
        " characters: shorten it": phrases.is_long,
        " is blank": phrases.is_blank,
    }
    return phrases.not_kept.format(
        next((reason for words, reason in reasons.items() if words in message), phrases.refused)
    )


def detect_language(text: str, default: Language = "en") -> Language:
    """Return the language of a text; `default` where no word tells, or where it is none of the four."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.grammar.identify import language_of

    if text.startswith(("User ", "User's ")):
        return "en"  # In a fact such as "User's son turned 9", "son" is no French word.
    found = language_of(text.replace("\u2019", "'"), default)
    return next((language for language in PHRASES if language == found), default)


def describe_correction(reading: MessageContent, messages: Sequence[str], phrases: Phrases) -> str:
    """Return what a message without a clear statement corrects, takes back or is too long for; else an empty text."""
    if reading.is_confidential:
        return phrases.confidential
    if reading.is_cut:
        return phrases.too_long
    if reading.is_unclear:
        return phrases.unclear
    if withdrawn := describe_withdrawn(reading, messages, phrases):
        return withdrawn
    if not reading.is_retraction:
        return ""
    return phrases.taken_back.format(reading.denials[-1]) if reading.denials else phrases.nothing_to_withdraw


def describe_withdrawn(reading: MessageContent, messages: Sequence[str], phrases: Phrases) -> str:
    """Return that what a message takes back is not learned, or no longer answered with if one of `messages` saved it.

    An empty text if it takes nothing back.
    """
    if not reading.taken_back:
        return ""
    is_saved = any(asks_to_remember(each, [fact.said for fact in reading.taken_back]) for each in messages)
    said = " ".join(each.said for each in reading.taken_back)
    return (phrases.taken_back if is_saved else phrases.withdrawn).format(said)
