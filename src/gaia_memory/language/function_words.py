"""Function words of four languages, and the language in which a text is written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from gaia_memory.language.tokenizer import index_tokens

Language = Literal["en", "de", "fr", "es"]

_FUNCTION_WORDS_TEXT: Mapping[Language, str] = {
    "en": """
i m im ve ll am is are was were be been the a an of to in on at for with and or but not no do does did don t s you
your my me mine we our us he she his her they their it its this that these those what where when who whom whose which
why how can could should would will have has had about from by as so if than then there here tell know remember still
just also any some much many most now again whats wheres whos whens hows please hey ok okay
""",
    "de": """
ich bin habe haben hab hat hast ist sind war waren der die das den dem des ein eine einen einem einer und oder aber
nicht kein keine sich zu im in am an auf mit von bei fur aus nach uber um du dein deine mein meine meinen meinem
meiner mich mir dir dich wir unser unsere uns er sie es ihr sein seine was wo wann wer wem wen wessen wie warum wieso
welche welcher welches welchen welchem woher wohin worauf wogegen wovon kann konnte soll sollte wird werde wurde
weisst weiss kennst noch schon auch denn mal jetzt gerade gern gerne bitte sag viel viele dass ja nein alles vergiss
losche mochte darf durfte
""",
    "fr": """
je j ai avons sommes suis es est dit sont etait le la les l un une des de du d et ou mais ne n pas a au aux en dans
sur avec pour par chez tu te t toi ton ta tes mon ma mes m me moi nous notre nos il elle ils son sa ses se s que qu
qui quoi quel quelle quels quelles ou quand comment pourquoi combien ce c cela ca y dois peux puis sais encore deja
aussi maintenant oui non tout oublie efface
""",
    "es": """
yo soy estoy somos hemos es son era dice nos el la los las un una unos unas de del al y o pero no en con por para a mi
mis me mio tu tus te ti nosotros nuestro nuestra su sus se lo le que quien cual cuales donde cuando como cuanto cuanta
cuantos cuantas he ha hay puedo debo sabes sobre ya tambien ahora muy eso esto desde si todo olvida borra
""",
}
FUNCTION_WORDS: Mapping[Language, frozenset[str]] = {
    language: frozenset(text.split()) for language, text in _FUNCTION_WORDS_TEXT.items()
}
"""Words without a topic, as the tokenizer writes them: folded, without accents."""

_SCRIPTS = {
    "Cyrillic": re.compile("[\u0400-\u052f]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Hebrew": re.compile("[\u0590-\u05ff]"),
    "Arabic": re.compile("[\u0600-\u06ff]"),
    "Indic": re.compile("[\u0900-\u0dff]"),
    "Thai": re.compile("[\u0e00-\u0e7f]"),
    "Hangul": re.compile("[\u1100-\u11ff\uac00-\ud7af]"),
    "Han": re.compile("[\u3040-\u30ff\u3400-\u9fff]"),
    "Latin": re.compile("[^\\W\\d_\u0370-\uffff]"),
}
_HIRAGANA = re.compile("[\u3040-\u309f]")


def detect_language(text: str, default: Language = "en") -> Language:
    """Return the language with most function words and letters of its own in a text; `default` if none has any."""
    words = index_tokens(text)
    scores = {language: sum(word in known for word in words) for language, known in FUNCTION_WORDS.items()}
    folded = text.casefold()
    scores["de"] += 2 * any(letter in folded for letter in "äöüß")
    scores["es"] += 2 * any(letter in folded for letter in "ñ¿¡")
    scores["fr"] += 2 * any(letter in folded for letter in "çèêâîôûœ")
    best = max(scores.values())
    if not best or scores[default] == best:
        return default
    return next(language for language, score in scores.items() if score == best)


def language_of(text: str, default: str = "en") -> str:
    """Return the language of a text: of four languages in Latin script its code, else the name of its script.

    `default` is the language of a text in Latin script whose words and letters do not tell.
    """
    counts = Counter({name: len(letters.findall(text)) for name, letters in _SCRIPTS.items()})
    script, _ = counts.most_common(1)[0]
    if script == "Latin" or not counts.total():
        return detect_language(text, next((each for each in FUNCTION_WORDS if each == default), "en"))
    return "Japanese" if script == "Han" and _HIRAGANA.search(text) else script
