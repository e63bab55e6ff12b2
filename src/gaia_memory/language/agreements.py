"""The yes and the no of a confirmation: a message that says it and nothing else."""

from __future__ import annotations

import re

_PLAIN_YES = frozenset(("y", "yes", "ja", "oui", "si", "sí"))
_NO = frozenset(
    (
        *("no", "nah", "nope", "nein", "non", "no thanks", "no thank you", "no gracias", "nein danke"),
        "non merci",
    )
)
_AGREEMENTS = _PLAIN_YES | frozenset(
    (
        *(
            "yeah",
            "yep",
            "yup",
            "sure",
            "ok",
            "okay",
            "right",
            "correct",
            "exactly",
            "absolutely",
            "of course",
            "please",
        ),
        *("do it", "do that", "confirm", "confirmed", "that's right", "that's correct", "that's true", "thats right"),
        *(
            "go ahead",
            "sounds good",
            "jep",
            "jawohl",
            "genau",
            "richtig",
            "stimmt",
            "klar",
            "gern",
            "gerne",
            "natürlich",
        ),
        *("bitte", "mach das", "ouais", "exact", "exactement", "d'accord", "bien sûr", "tout à fait", "c'est ça"),
        *("c'est vrai", "c'est exact", "s'il te plaît", "s'il vous plaît", "claro", "vale", "exacto", "correcto"),
        *("de acuerdo", "por favor", "eso es", "por supuesto", "hazlo", "sì", "certo", "esatto", "sim", "isso", "tak"),
        *("да", "так", "כן", "نعم", "はい", "うん", "そうです", "是", "是的", "对", "對", "好", "好的", "네", "예"),
    )
)
_MAX_PHRASE_WORDS = 3
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_REST = re.compile(r"[\s,.!\u3002\uff01\u3001]*")


def is_agreement(text: str) -> bool:
    """Return whether a message is nothing but a yes: "yes", "Ja, genau!", "oui"."""
    if not _REST.fullmatch(_WORD.sub("", text)):
        return False
    words = _words(text)
    while words:
        counts = range(min(_MAX_PHRASE_WORDS, len(words)), 0, -1)
        count = next((count for count in counts if " ".join(words[:count]) in _AGREEMENTS), 0)
        if not count:
            return False
        words = words[count:]
    return _WORD.search(text) is not None


def is_plain_yes(text: str) -> bool:
    """Return whether a message is the one word that says yes and may mean nothing else."""
    return bool(_REST.fullmatch(_WORD.sub("", text))) and " ".join(_words(text)) in _PLAIN_YES


def is_refusal(text: str) -> bool:
    """Return whether a message is nothing but a no: "no", "nein danke"."""
    return bool(_REST.fullmatch(_WORD.sub("", text))) and " ".join(_words(text)) in _NO


def _words(text: str) -> list[str]:
    return [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
