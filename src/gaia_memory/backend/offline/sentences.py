"""Splits text into sentences and recognizes statements."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+|(?<=[。！？؟।])\s*|\s*\n+\s*|;\s+")  # noqa: RUF001
_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|No|Inc|Jr|Sr)\.|\b[A-Z]\.)\Z")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")  # noqa: RUF001 - people type both apostrophes
_SPACELESS_SCRIPT = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MIN_WORDS = 2
_MIN_LETTERS = 4

_QUESTION = re.compile(
    r"(?:what|who|whom|whose|where|when|why|how|which|do|does|did|is|are|am|was|were|can|could|would|will|should|"
    r"shall|may|have|has|isn't|aren't|don't|doesn't|didn't|won't|can't)\s+"
    r"(?:i|you|we|they|he|she|it|this|that|there|the|my|your|is|are|was|do|does|did|can|should|would|about|many|much)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:(?:please|pls|kindly|ok|okay|now|then|hey|so|and|just)[,\s]+)*"
    r"(?:please\b|(?:remember|don't forget|do not forget) to\b|"
    r"(?:tell|show|give|write|remind|play|set|open|find|search|help|explain|list|translate|summari[sz]e|"
    r"make|book|send|look|check|read|say|stop|start|forget|let|let's|lets|draft|create|add|remove|delete|order|buy|"
    r"recommend|suggest|compare|calculate|convert|fix|run|try|describe|define|schedule|turn|wait|guess|imagine)\b)",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"(?:(?:hi|hello|hey|hiya|howdy|yo|thanks|thank you|thx|cheers|bye|goodbye|ok|okay|yes|yeah|yep|no|nope|sure|"
    r"gaia|everyone|"
    r"great|nice|cool|wow|lol|haha\w*|perfect|awesome|good (?:morning|evening|night|afternoon|day|one|idea)|see you|"
    r"take care|sorry|please|well|right|exactly|of course|never mind|nevermind|got it|sounds good|no worries|"
    r"you're welcome|have a (?:nice|good|great) \w+|hola|buenos d[ií]as|gracias|adi[oó]s|hallo|guten (?:tag|morgen|"
    r"abend)|danke(?: sch[oö]n)?|tsch[uü]ss|bonjour|salut|merci(?: beaucoup)?|au revoir|ciao|grazie|buongiorno|"
    r"ol[aá]|obrigad[oa]|שלום|תודה(?: רבה)?|בוקר טוב|ערב טוב|привет|здравствуйте|спасибо|пока|مرحبا|شكرا|"
    r"你好|谢谢|再见|こんにちは|ありがとう(?:ございます)?|さようなら|안녕하세요|감사합니다)"
    r"(?:\s+(?:so much|a lot|again|there|you|very much|then|everyone|all|gaia))*[\s,.!…:)。！-]*)+\Z",  # noqa: RUF001
    re.IGNORECASE,
)


def split_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, without code blocks."""
    sentence = ""
    for piece in _SENTENCE_END.split(_CODE.sub("\n", text)):
        sentence = f"{sentence} {piece}".strip() if sentence else (piece or "").strip()
        if not sentence or _ABBREVIATION.search(sentence):
            continue
        yield sentence
        sentence = ""
    if sentence:
        yield sentence


def is_statement(sentence: str) -> bool:
    """Return whether a sentence may be a statement, and not a question, command, greeting or single word."""
    stripped = sentence.strip().strip("\"'“”‘’*_- ")  # noqa: RUF001
    if not stripped or stripped.startswith(("/", "http://", "https://")):
        return False
    if stripped.rstrip("\"')»” ").endswith(("?", "？", "؟", "¿")) or stripped.startswith("¿"):  # noqa: RUF001
        return False
    if _SMALL_TALK.match(stripped) or _QUESTION.match(stripped) or _COMMAND.match(stripped):
        return False
    if _SPACELESS_SCRIPT.search(stripped):
        return sum(letter.isalpha() for letter in stripped) >= _MIN_LETTERS
    return len(_WORD.findall(stripped)) >= _MIN_WORDS
