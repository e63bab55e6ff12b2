"""Tells what a message to the offline model wants: a question, a request, a statement; in four languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum, auto

from gaia_memory.language.function_words import Language


class MessageKind(Enum):
    """What a message wants; `OVERVIEW` is a question for everything that is known.

    `REQUEST` asks for an action that the model cannot do; `SMALL_TALK` says nothing about the person.
    """

    ABOUT_THE_MODEL = auto()
    REMEMBER = auto()
    FORGET = auto()
    REQUEST = auto()
    SMALL_TALK = auto()
    OVERVIEW = auto()
    QUESTION = auto()
    GREETING = auto()
    THANKS = auto()
    STATEMENT = auto()


_REMEMBER = re.compile(
    r"(?:please\s+|can you\s+|could you\s+|bitte\s+|por favor\s*,?\s+)?"
    r"(?:remember|keep in mind|make a note|note|don'?t forget|merke? dir(?: bitte)?|vergiss nicht|souviens-toi|retiens|"
    r"n'oublie pas|recuerda|no olvides|apunta)(?! (?:bitte )?(?:nicht|not|pas)\b)"
    r"(?:\s*[,:]?\s*(?:that|dass|que)\b|\s*[:,])?\s+(?P<fact>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_POLITE_LEAD = (
    r"(?:(?:please|hey|hi|ok|okay|now|just|actually|then|bitte|por favor|s'il te pla[iî]t|"
    r"i(?:'d| would)? (?:want|like) you to|(?:can|could|will|would) you|you (?:can|should|must|may)|"
    r"(?:peux|pourrais)-tu|tu peux|je veux que tu|(?:puedes|podrías)|quiero que)[,:]?\s+)"
)
_FORGET = re.compile(
    rf"{_POLITE_LEAD}*(?:forget|(?:delete|erase|wipe|remove)\s+(?:everything|all|what|that|it|this|me|my|any|the|your)|"
    r"(?:do not|don'?t|stop) (?:remember|remembering|keep|save|store)|"
    r"vergiss(?! nicht)|vergessen sie|lösche?n?|(?:kannst|könntest) du\b.*\b(?:vergessen|löschen)|"
    r"oublie[szr]?(?! pas)|efface[szr]?|supprime[szr]?|olvid(?:a|ar|es|e)(?:te|lo|me)?|borr(?:a|ar|es|e)(?:lo|me)?|"
    r"elimina(?:r|lo)?)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    rf"(?:{_POLITE_LEAD}+(?:tell (?!me\b)|call (?!me\b)|remind me (?:to|at|in|on|tomorrow|tonight)\b|text|e-?mail|book|"
    r"order|send|buy|write|play|set|open|search|look up|google|translate|turn|schedule|cancel|pay|draw|calculate|"
    r"recommend|suggest|create)|"
    r"remind me (?!(?:what|who|where|when|which|why|how|of|about)\b)|(?:tell|call|text|e-?mail) (?:my|our|the)\b|"
    r"(?:cancel|skip|snooze|postpone|reschedule|change|edit|move) (?:the|my|our|this|that|it|all)\b|"
    r"(?:do not|don'?t|stop) remind(?:ing)? me\b|"
    r"(?:book|order|send|buy|write|set) (?:me\b|an?\b|my\b)|(?:translate|schedule|google)\b|turn (?:on|off)\b|"
    r"(?:kannst|könntest) du (?:bitte )?(?!dich|dir|mir (?:sagen|etwas über))|"
    r"(?:peux|pourrais)-tu (?!me (?:dire|rappeler)|te souvenir)|(?:puedes|podrías) (?!decirme|recordar))",
    re.IGNORECASE,
)
_IMPERSONAL = re.compile(
    r"(?:it|it'?s|that|that'?s|this|there|there'?s|what an?|you|you'?re|es|das|du|il (?:pleut|fait|neige)|c'est|ça|tu|"
    r"llueve|está|hace|eso|esto|eres)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'?m|me|my|mine|we|us|our|ich|mich|mir|mein\w*|wir|uns|unser\w*|je|j'\w+|moi|mon|ma|mes|nous|notre|nos|yo|"
    r"mí|mis?|nuestr[oa]s?)\b",
    re.IGNORECASE,
)
_OVERVIEW = re.compile(
    r"\b(?:what|everything|all) (?:do |did |can )?you (?:know|remember|learn(?:ed)?|recall)(?: (?:all|already))? "
    r"(?:about|of) me\b|what have you learned about me|\btell me (?:something |everything )?about (?:me|myself)\b|"
    r"do you know (?:anything )?about me|what have i told you (?:so far|already|about (?:me|myself))|"
    r"was habe? ich dir (?:bisher|bis jetzt|(?:alles )?über mich) (?:alles )?(?:erzählt|gesagt)|"
    r"qu'est-ce que je t'ai (?:dit|raconté) (?:jusqu'ici|jusqu'à présent|sur moi)|"
    r"qué te he (?:contado|dicho) (?:hasta ahora|sobre mí)|"
    r"was (?:alles )?wei(?:ß|ss)t du (?:alles )?(?:schon )?(?:über|von) mich|"
    r"erzähle? mir (?:etwas )?(?:über|von) mi(?:ch|r)|"
    r"que sais-tu (?:de|sur) moi|qu'est-ce que tu sais (?:de|sur) moi|tu sais quoi (?:de|sur) moi|"
    r"qu[ée] (?:es lo que )?(?:sabes (?:de|sobre|acerca de)|recuerdas de) (?:mí|mi\W*\Z)",
    re.IGNORECASE,
)
_LAST_WORDS = re.compile(
    r"what (?:did|have) i (?:just )?(?:say|said|tell|told)(?: you)?(?: just now)?\W*\Z|"
    r"was habe? ich (?:dir )?(?:gerade|eben)(?: eben)? (?:gesagt|erzählt)\W*\Z|"
    r"qu'est-ce que je viens de (?:te )?dire\W*\Z|\W*qué (?:acabo de decir(?:te)?|(?:te )?he dicho|dije)\W*\Z",
    re.IGNORECASE,
)
_SELF_QUESTION = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? )?(?:offline|real|ai|bot|model|gemini)\b|\b(?:which|what) model\b|"
    r"\bwer bist du\b|\bqui es-tu\b|\bquién eres\b|"
    r"\bwhat(?:'s| is) your name\b|\bwie hei(?:ß|ss)t du\b|\bcomment (?:tu )?t'appelles\b|\bcómo te llamas\b",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|hiya|(?:good )?(?:morning|evening|afternoon)|how are you|hallo|"
    r"guten (?:morgen|tag|abend)|wie geht|bonjour|salut|bonsoir|coucou|hola|buenos días|buenas(?: tardes)?|qué tal)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(r"\b(?:thanks?|thx|cheers|danke?|mercis?|gracias)\b", re.IGNORECASE)


def classify(message: str) -> tuple[MessageKind, str]:
    """Return the kind of a message, and the fact of one that asks to remember it."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import sentences

    text = sentences.to_command(message.strip())
    if _SELF_QUESTION.search(text):
        return MessageKind.ABOUT_THE_MODEL, ""
    remember = _REMEMBER.fullmatch(text)
    if remember and not text.endswith("?") and not _is_for_the_model(remember["fact"]):
        return MessageKind.REMEMBER, remember["fact"].strip()
    if sentences.is_small_talk(text):
        is_greeting = _GREETING.match(text) is not None
        kind = MessageKind.GREETING if is_greeting else MessageKind.SMALL_TALK
        return MessageKind.THANKS if _THANKS.search(message) else kind, ""
    return _kind_without_fact(text), ""


def asks_to_remember(message: str, statements: Sequence[str]) -> bool:
    """Return whether a message asks to remember one of these statements, which memory then keeps at once."""
    return classify(message)[0] is MessageKind.REMEMBER and any(each.strip(" .!") in message for each in statements)


def _is_for_the_model(text: str) -> bool:
    """Return whether a text to be remembered is an instruction: "always answer in French", "to buy milk"."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import sentences

    return text.casefold().startswith("to ") or sentences.is_instruction(text)


def _kind_without_fact(text: str) -> MessageKind:
    sentences = _sentences(text)
    commands = [sentence for sentence in sentences if _is_command(sentence)]
    has_question = any(_is_question(sentence) for sentence in sentences if sentence not in commands)
    if not has_question and any(map(_FORGET.match, commands)):
        return MessageKind.FORGET
    kinds = {
        MessageKind.OVERVIEW: _OVERVIEW.search(text),
        MessageKind.QUESTION: has_question,
        MessageKind.REQUEST: commands,
        MessageKind.SMALL_TALK: _is_impersonal(text),
    }
    return next((kind for kind, is_this in kinds.items() if is_this), MessageKind.STATEMENT)


def find_last_words(question: str, earlier: Sequence[str]) -> str | None:
    """Return the last message that is more than questions and commands, if a question asks for what was just said."""
    if not _LAST_WORDS.match(question):
        return None
    return next((message for message in reversed(earlier) if not all(map(_asks, _sentences(message)))), None)


def statements_in(message: str, language: Language) -> str:
    """Return a message without its questions, commands, reminders, small talk, and what it corrects itself."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import sentences
    from gaia_memory.backend.offline.conversation_reader import without_asides

    idle = (_asks, _is_reminder, sentences.is_small_talk)
    stated = (each for each in _sentences(message) if not any(is_idle(each) for is_idle in idle))
    return " ".join(without_asides(sentences.normalize(each), language) for each in stated)


def find_question(message: str) -> str:
    """Return the last question of a message, or all of it if it has none."""
    questions = [sentence for sentence in _sentences(message) if _is_question(sentence) and not _is_command(sentence)]
    return questions[-1] if questions else message.strip()


def _sentences(text: str) -> list[str]:
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import sentences

    return list(sentences.split_sentences(text))


def _is_question(sentence: str) -> bool:
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline import sentences

    return sentences.is_question(sentence) and not _is_reminder(sentence)


def _is_command(sentence: str) -> bool:
    return bool(_FORGET.match(sentence) or _REQUEST.match(sentence)) and not _is_reminder(sentence)


def _asks(sentence: str) -> bool:
    return _is_question(sentence) or _is_command(sentence)


def _is_reminder(sentence: str) -> bool:
    """Return whether a sentence asks for a reminder with a time, which memory keeps."""
    # The tables of four languages take 0.1 s to read, which no start-up should wait for.
    from gaia_memory.backend.offline.conversation_reader import to_reminder

    return to_reminder(sentence, datetime.now(UTC).date(), None) is not None


def _is_impersonal(text: str) -> bool:
    """Return whether a text says nothing about the person: "it's raining", "..."."""
    is_about_others = _IMPERSONAL.match(text) and not _FIRST_PERSON.search(text)
    return bool(is_about_others) or not any(map(str.isalnum, text))
