"""German statements: what they begin with, where they end, and their third person."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.categories import category_of
from gaia_memory.backend.offline.grammar.rules import Grammar, capitalize, load_tables, opens_with_other_subject

_TABLES = load_tables("german")
_P = _TABLES.patterns
_IRREGULAR = {verb: third for verb, (third,) in _TABLES.pairs("irregular").items()}
_PLURAL = {verb: third for verb, (third,) in _TABLES.pairs("plural").items()}
_PARTICIPLES = {verb: participle for verb, (participle,) in _TABLES.pairs("participles").items()}
_UNCHANGED_VERBS = _TABLES.words("unchanged")
_PRESENT_T = _TABLES.words("present_t")
_NEUTER = tuple(_TABLES.words("neuter"))
_MASCULINE = tuple(_TABLES.words("masculine"))
FIRST_PERSON = _TABLES.words("first_person")
"""Frequent verbs, which may follow "und" without a subject."""

_BE_AND_HAVE = frozenset(("ist", "war", "wird", "wurde", "hat", "hatte"))
_ARTICLES = {"e": "die", "en": "den", "em": "dem", "er": "der", "es": "des"}
_QUOTE = "Der Nutzer sagt: „{}“"


def split_clauses(sentence: str) -> list[str]:
    """Split "ich bin Vegetarier und wohne in Berlin" in two statements with a subject each."""
    sentence = _with_verb_second(sentence) or sentence
    if _P["unspoken_subject"].match(sentence):
        sentence = f"Ich {sentence[:1].lower()}{sentence[1:]}"
    clauses, start, subject = [], 0, ""
    for joint in _P["joint"].finditer(sentence):
        left, right = f"{subject}{sentence[start : joint.start()]}", sentence[joint.end() :]
        if re.match(rf"(?:{_P['subordinate'].pattern})\b", left, re.IGNORECASE):
            continue
        is_clause = re.search(r"\b(?:ich|wir)\b", left, re.IGNORECASE) or _P["other_subject"].match(left)
        if is_clause and opens_with_other_subject(joint[0], left, right, _P):
            opens: str | None = ""
        else:
            opens = _opening_subject(left, right, is_comma=joint[0].strip() == ",")
        if opens is not None:
            clauses.append(left)
            start, subject = joint.end(), opens
    return [*clauses, f"{subject}{sentence[start:]}"]


def _opening_subject(left: str, right: str, *, is_comma: bool) -> str | None:
    if not re.search(r"\b(?:ich|wir|mein\w*|unser\w*)\b", left, re.IGNORECASE) or " " not in left:
        return None
    first, *rest = re.findall(r"[\w-]+", right[:120]) or [""]
    if first.lower() in ("ich", "wir") and rest and rest[0].lower() not in ("und",):
        return None if re.fullmatch(r"(?:mein\w*|unser\w*) [\w-]+(?: [A-ZÄÖÜ]\w+)?", left, re.IGNORECASE) else ""
    if re.match(
        r"(?:mein|unser)e? [\w-]+(?: [A-ZÄÖÜ][\w-]+)? (?!nicht|jetzt)(?:ist|sind|haben|war|mag|kann|will|\w{2,}t)\b",
        right,
        re.I,
    ):
        return ""
    # "Ich heiße Timo, bin 31", but not "was ich mag, esse ich".
    is_inverted = is_comma and (not re.match("ich ", left, re.IGNORECASE) or re.search(r"\b(?:ich|wir)\b", right))
    speaks = re.search(r"\bich\b", left, re.IGNORECASE) and not is_inverted
    return "Ich " if speaks and first in FIRST_PERSON and rest else None


def conjugate(verb: str) -> str | None:
    """Return a verb of the first person singular in the third; None when the form is not certain."""
    lowered = verb.lower()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if lowered in _UNCHANGED_VERBS or (lowered.endswith("te") and lowered not in _PRESENT_T):
        return lowered
    if not re.fullmatch(r"[a-zäöüß]{2,}e", lowered):
        return None
    stem = lowered[:-1]
    if re.search(r"[^aeiouäöü]l$", stem) and not stem.endswith("ll"):
        return f"{stem[:-1]}elt"
    return f"{stem}et" if re.search(r"[dt]$|[^aeiouäöülrhmn][mn]$|ffn$|chn$", stem) else f"{stem}t"


THIRD_PERSON = frozenset(_IRREGULAR.values()) | {third for verb in FIRST_PERSON if (third := conjugate(verb))}
"""The same verbs after a name."""


_KNOWN_THIRD_PERSON = THIRD_PERSON | {third for verb in _UNCHANGED_VERBS | _PRESENT_T if (third := conjugate(verb))}
_KNOWN_FIRST_PERSON = FIRST_PERSON | _IRREGULAR.keys() | _UNCHANGED_VERBS | _PRESENT_T


def _with_verb_second(sentence: str) -> str | None:
    """Return "mein Bruder wohnt in Rom" for "dass mein Bruder in Rom wohnt"; None where the rule is not sure of it."""
    found = _P["that_clause"].match(sentence)
    if not found:
        return None
    subject, rest, verb = found.group("subject", "rest", "verb")
    is_naming = verb in ("heißt", "heißen", "heisst")
    if found["name"] and is_naming:
        subject, rest = subject.removesuffix(found["name"]), f"{found['name'].strip()} {rest}"
    is_unsure_name = found["name"] and not is_naming and verb in _BE_AND_HAVE and _P["no_name"].match(rest)
    is_genitive = subject.endswith("s") and " " not in subject and subject != "es" and rest[0].isupper()
    has_verb = not (_KNOWN_THIRD_PERSON | FIRST_PERSON).isdisjoint(rest.split())
    if is_unsure_name or is_genitive or has_verb or _P["more_of_subject"].match(rest):
        return None
    is_plural = subject.startswith(("meine ", "unsere ", "die ", "wir", "sie")) and verb.endswith("n")
    parts = _split_verb(verb, is_first=found["speaker"] == "ich", is_plural=is_plural)
    if parts is None:
        return None
    prefix, verb = parts
    return f"{capitalize(subject)} {verb} {rest}{f' {prefix}' if prefix else ''}{found['end']}"


def _split_verb(verb: str, *, is_first: bool, is_plural: bool) -> tuple[str, str] | None:
    """Return the separable prefix of a finite verb, mostly empty, and its rest; None for what may be no such verb."""
    known = _KNOWN_FIRST_PERSON if is_first or is_plural else _KNOWN_THIRD_PERSON

    def is_known(form: str) -> bool:
        return (is_plural and form in _PLURAL) or (_singular(form) if is_plural else form) in known

    if is_known(verb):
        return "", verb
    if found := _P["separable"].fullmatch(verb):
        return (found["prefix"], found["stem"]) if is_known(found["stem"]) else None
    is_verb = is_plural or (conjugate(verb) if is_first else re.fullmatch(r"(?!ge)\w+t", verb))
    return ("", verb) if is_verb else None


def _singular(verb: str) -> str:
    """Return the first person singular of a verb in the plural, as far as it goes."""
    lowered = verb.lower()
    if lowered in _PLURAL or not lowered.endswith("n"):
        return lowered
    return lowered[:-2] if lowered[:-2] in _UNCHANGED_VERBS and lowered.endswith("en") else lowered[:-1]


def to_third_person(clause: str) -> str | None:
    """Return a German statement in the third person, quoted if its form is not certain; None when it states nothing."""
    text = clause.strip()
    name, refusal, couple = _P["call_me"].match(text), _P["refusal"].match(text), _P["couple"].match(text)
    if name:
        return f"Der Nutzer möchte {name['name'].strip()} genannt werden"
    if (introduction := _P["introduction"].match(text)) and category_of(text) is None:
        return f"Der Nutzer heißt {introduction['name']}"
    if refusal:
        participle = _PARTICIPLES[refusal["verb"].lower()]
        return f"Der Nutzer möchte nicht{refusal['rest'].rstrip()} {participle} werden"
    if _P["no_fact"].match(text) or _P["qualifier"].search(text):
        return None
    if couple:
        named = f"sein{couple['ending']} {couple['whose']}" if couple["mine"] else couple["name"]
        return _if_certain(f"Der Nutzer und {named} {text[couple.end() :]}", text)
    told = None if _P["unsure_verb"].search(text) else _tell_segments(text)
    if told and told.startswith("Dass "):
        told = f"Der Nutzer sagt, d{told[1:]}"
    return _if_certain(told, text)


def _tell_segments(text: str) -> str | None:
    segments, speaks = [], False
    for segment in re.split(r"(,\s*)", text):
        told = _tell(segment, is_known=speaks)
        if told is None:
            return None
        segments.append(told)
        speaks = speaks or told != segment
    return capitalize("".join(segments))


def _if_certain(told: str | None, text: str) -> str:
    is_certain = told and not re.search(
        r"\b(?:ich|wir|mich|mir|uns|mein\w*|unser\w*|du|dein\w*)\b", told, re.IGNORECASE
    )
    return told if told and is_certain else _QUOTE.format(text.rstrip(". !"))


def _tell(segment: str, *, is_known: bool) -> str | None:
    """Return one part of a sentence, up to a comma, in the third person; None when its verb is not certain."""
    found = re.search(r"(?P<before>[\w-]+ )?\b(?P<who>ich|wir)\b(?: (?P<after>[\w-]+))?", segment, re.IGNORECASE)
    if not found:
        return _tell_of_others(segment)
    person = "er" if is_known else "der Nutzer"
    before, after = (found["before"] or "").strip(), found["after"] or ""
    is_plural = found["who"].lower() == "wir"
    head, tail = segment[: found.start()], segment[found.end() :]
    if not before:
        verb = _third(after, is_plural=is_plural)
        told = verb and f"{head}{person} {verb}{tail}"
    elif re.fullmatch(_P["subordinate"].pattern, before, re.IGNORECASE):
        last = re.search(r"(?P<verb>[\w-]+)(?P<end>\W*)\Z", f"{after}{tail}")
        verb = _third(last["verb"], is_plural=is_plural) if last else None
        told = last and verb and f"{head}{before} {person} {f'{after}{tail}'[: last.start()]}{verb}{last['end']}"
    else:
        verb = _third(before, is_plural=is_plural)
        told = verb and f"{head}{verb} {person}{f' {after}' if after else ''}{tail}"
    if not told:
        return None
    told = re.sub(r"\b(?:mich|mir|uns)\b", "sich", told)
    return re.sub(r"\b(?:mein|unser)(?=e?[nmrs]?\b)", "sein", told)


def _third(verb: str, *, is_plural: bool) -> str | None:
    if not is_plural:
        return conjugate(verb)
    return _PLURAL.get(verb.lower()) or conjugate(_singular(verb))


def _tell_of_others(segment: str) -> str | None:
    if re.search(r"\buns\b", segment, re.IGNORECASE):
        return None
    told = _P["possessive"].sub(_owned, segment)
    told = re.sub(r"\bmich\b", "den Nutzer", told, flags=re.IGNORECASE)
    return re.sub(r"\bmir\b", "dem Nutzer", told, flags=re.IGNORECASE)


def _owned(found: re.Match[str]) -> str:
    """Return "die Schwester des Nutzers" for "meine Schwester"; unchanged when the article is not certain."""
    ending, adjectives, noun = found["ending"] or "", found["adjectives"], found["noun"]
    article = _ARTICLES.get(ending) or _nominative_article(adjectives, noun.lower())
    if article is None:
        return found[0]
    if not ending:
        adjectives = re.sub(r"e[rs] ", "e ", adjectives)
    # "Am Montag hat mein Bruder Geburtstag" names no brother, and "dass mein Bruder Arzt ist" may name none.
    before = found.string[: found.start()].rstrip()
    is_unsure = before.endswith((" hat", " hatte", " macht", " feiert", " bekommt")) or found.string.startswith("dass ")
    if found["name"] and not is_unsure and not ending.startswith(("en", "em", "er", "es")):
        return f"{found['name'].strip()}, {article} {adjectives}{noun} des Nutzers,"
    return f"{article} {adjectives}{noun} des Nutzers{found['name'] or ''}"


def _nominative_article(adjectives: str, noun: str) -> str | None:
    if re.search(r"er \Z", adjectives) or noun.endswith(_MASCULINE):
        return "der"
    return "das" if re.search(r"es \Z", adjectives) or noun.endswith(("chen", "lein", *_NEUTER)) else None


GRAMMAR = Grammar(_TABLES, split_clauses, to_third_person)
