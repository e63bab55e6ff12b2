"""Recognizes what asks for a reminder, in English, German, French and Spanish."""

from __future__ import annotations

import re

_LEAD = (
    r"\s*(?:(?:please|hey|hi|okay|ok|and|also|then|oh|bitte|und|dann|et|y|por favor)[,\s]+"
    r"|(?:can|could|would|will) you (?:please )?|(?:kannst|könntest|würdest|können|könnten) (?:du|sie) "
    r"|(?:est-ce que )?(?:(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|tu peux|vous pouvez) "
    r"|s'il (?:te|vous) plaît,? "
    r"|[¿\s]*(?:me )?(?:puedes|podrías|puede|podría) (?:por favor )?)*"
    r"(?P<when>(?:on|at|in|every|tomorrow|tonight|next|am|um|jeden?|morgen|übermorgen|demain|le|à|el|a las|mañana|cada)"
    r"\b[^.!?]{0,60}?[,\s]+)?"
)
_WISHES = (
    (r"(?:remind me|set (?:me )?a reminder)\s+(?P<rest>.+)", "I want to be reminded {when}{rest}"),
    *(
        (rf"{verb}(?P<clause>,.+)?", "Ich möchte {when}{rest} erinnert werden{clause}")
        for verb in (
            r"erinner(?:e|n|st)? (?:du |sie )?mich\s+(?:bitte\s+)?(?P<rest>[^,]+)",
            r"mich\s+(?:bitte\s+)?(?P<rest>[^,]+?)\s+erinnern",
        )
    ),
    (r"(?:rappel(?:le|ez)-moi|me rappeler)\s+(?P<rest>.+)", "Je veux un rappel {when}{rest}"),
    (r"(?:recu[ée]rd[ae]me|recordar(?:me)?)\s+(?P<rest>.+)", "Quiero un recordatorio: {when}{rest}"),
)
_PATTERNS = [(re.compile(_LEAD + request, re.IGNORECASE | re.DOTALL), wish) for request, wish in _WISHES]

_REQUEST = re.compile(
    r"\b(?:remind me\b|(?:wants?|asked|asks|would like|needs?|wishes) (?:to be reminded|a reminder)\b"
    r"|set a reminder\b|erinner[en]? (?:mich|sie mich)\b|erinnert (?:zu )?werden\b"
    r"|rappel(?:le|ez)-moi\b|(?:veut|veux|voudrait) (?:un rappel|qu'on l(?:ui|e) rappelle)\b"
    r"|recu[ée]rd[ae]me\b|quier[eo] (?:un recordatorio|que (?:le|me) recuerden)\b)",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"\b(?:not|never|don't|doesn't|didn't|won't|nicht|nie|niemals|kein\w*|pas|jamais|no|nunca)\b")


def to_wish(sentence: str) -> str | None:
    """Return a request as a statement: "I want to be reminded on Friday" for "Please remind me on Friday"."""
    for pattern, wish in _PATTERNS:
        if found := pattern.fullmatch(sentence.strip().rstrip(" .!?")):
            parts = {name: value or "" for name, value in found.groupdict().items()}
            when = f"{parts.pop('when').strip(' ,')} ".lstrip()
            return wish.format(when=f"{when[:1].lower()}{when[1:]}", **parts)
    return None


def asks_for_reminder(text: str) -> bool:
    """Return whether a text is a request for a reminder or states the wish for one."""
    asked = _REQUEST.search(text)
    return asked is not None and _DENIAL.search(text[: asked.start()].lower()) is None
