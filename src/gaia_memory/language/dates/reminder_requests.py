"""Recognizes what asks for a reminder, in English, German, French and Spanish."""

from __future__ import annotations

import re

_REQUEST = re.compile(
    r"\b(?:remind me\b|(?:wants?|asked|asks|would like|needs?|wishes) (?:to be reminded|a reminder)\b"
    r"|set a reminder\b|erinner[en]? (?:mich|sie mich)\b|erinnert (?:zu )?werden\b"
    r"|rappel(?:le|ez)-moi\b|(?:veut|veux|voudrait) (?:un rappel|qu'on l(?:ui|e) rappelle)\b"
    r"|recu[ée]rd[ae]me\b|quier[eo] (?:un recordatorio|que (?:le|me) recuerden)\b)",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"\b(?:not|never|don't|doesn't|didn't|won't|nicht|nie|niemals|kein\w*|pas|jamais|no|nunca)\b")


def asks_for_reminder(text: str) -> bool:
    """Return whether a text is a request for a reminder or states the wish for one."""
    asked = _REQUEST.search(text)
    return asked is not None and _DENIAL.search(text[: asked.start()].lower()) is None
