"""Plain agreement: a message that says yes and nothing else."""

from __future__ import annotations

import re

_AGREEMENT = re.compile(
    r"(?:(?:yes|yeah|yep|yup|sure|ok|okay|right|correct|exactly|absolutely|of course|do it|do that|confirm(?:ed)?"
    r"|please|that'?s (?:right|correct|true)|go ahead|sounds good"
    r"|ja|jep|jawohl|genau|richtig|stimmt|klar|gerne?|natürlich|bitte|mach das"
    r"|oui|ouais|exact(?:ement)?|d'accord|bien sûr|tout à fait|c'est (?:ça|vrai|exact)|s'il te plaît|s'il vous plaît"
    r"|s[ií]|claro|vale|exacto|correcto|de acuerdo|por favor|eso es|por supuesto|hazlo"
    r"|sì|certo|esatto|sim|isso|tak|да|так|כן|نعم|はい|うん|そうです|是的?|对|對|好的?|네|예)[\s,.!\u3002\uff01\u3001]*)+",
    re.IGNORECASE,
)


def is_agreement(text: str) -> bool:
    """Return whether a message is nothing but a yes: "yes", "Ja, genau!", "oui"."""
    return _AGREEMENT.fullmatch(text.strip().replace("\u2019", "'")) is not None
