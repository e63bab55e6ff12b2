"""English statements: what they begin with, where they end, and their third person."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from gaia_memory.backend.offline.grammar.english_verbs import (
    BASES,
    TABLES,
    conjugate,
    is_past,
    is_verb,
    participle,
)
from gaia_memory.backend.offline.grammar.rules import Grammar, capitalize, opens_with_other_subject
from gaia_memory.language.dates import read

_P = TABLES.patterns
_MAX_EVENT_WORDS = 5
_BARE_HOUR = re.compile(r"(?:(?:at|by|around)\s)?\d{1,2}(?:[:.]\d\d)?\s?(?:[ap]\.?m\.?)?", re.IGNORECASE)
_HOUR_BEHIND = re.compile(
    r"(?:(?:at|from|between|around|,)\s)?[\d:. apm-]+(?:(?:to|and|-) [\d:. apm]+)?", re.IGNORECASE
)
_NO_EVENT = re.compile(
    r"(?:nothing|(?:the )?weather|see|until|till|back|good|happy|merry|not|maybe|perhaps|bye|yes|no|same|only|just|"
    r"and|or|so|since|from|how|what|when|where|who|every|each|about|thanks?|hello|hi|hey)\b",
    re.IGNORECASE,
)
_NAMED_SUBJECT = re.compile(r"(?!User\b|The\b|There\b)[A-Z]\w+ (?:is|was|has)\b")
"""As in "Tim is User's goalie, he broke his wrist"."""


def split_clauses(sentence: str) -> list[str]:
    """Split "my sister is called Noa and I'm allergic to nuts" and "I play chess and sing in a choir" in two."""
    sentence = _P["aside"].sub(r"\1 ", _type_out(sentence))
    clauses, start, subject = [], 0, ""
    for joint in _P["joint"].finditer(sentence):
        left, right = f"{subject}{sentence[start : joint.start()]}", sentence[joint.end() :]
        if _P["request_clause"].match(right) and "," in joint["joint"]:
            sentence = sentence[: joint.start()]
            break
        opens = _opening_subject(left, right, joint["joint"])
        if opens is not None:
            clauses.append(left)
            start, subject = joint.end(), opens
    return [*clauses, f"{subject}{sentence[start:]}"]


def _opening_subject(left: str, right: str, joint: str) -> str | None:
    """Return what the next clause lacks ("I " or nothing); None when no clause ends here."""
    if _P["subordinate"].match(left) or not _has_verb(left) or _P["elliptical"].match(right):
        return None
    clause = re.split(r",|\s+(?:and|but)\s", right[:120], maxsplit=1)[0]
    if opens_with_other_subject(joint, left, right, _P):
        return ""
    if _P["new_subject"].match(right) or _continues_about(left, right):
        return "" if _has_verb(clause) or _has_verb(right[:120].split(",")[0]) else None
    shared = _P["shared_subject"].match(right)
    subject = re.match(
        rf"(?:I|We)(?:'m|'ve)? (?P<adverbs>{TABLES.parts['adverb']})(?P<verb>[\w']+)", left, re.IGNORECASE
    )
    if not shared or not subject or not (joint.strip(" ,") or _P["taste"].match(right)):
        return None
    return "I " if _continues(left, subject["verb"].lower(), shared["verb"].lower(), "but" in joint) else None


def _continues_about(left: str, right: str) -> bool:
    """Return whether a clause goes on with "they" after "my parents live in Kyoto", or with "she" or "he"."""
    pronoun, named = _P["pronoun"].match(right), _P["named_subject"].match(left)
    if not pronoun or not named:
        return False
    pairs = (("she", "woman"), ("she", "anyone"), ("he", "man"), ("he", "anyone"), ("they", "people"))
    return any(pronoun[kind] and named[person] for kind, person in pairs)


def _continues(left: str, first: str, second: str, is_contrast: bool) -> bool:
    """Return whether the second verb is a finite verb of the first one's subject."""
    if second in ("don't", "can't", "won't", "didn't", "never", "am", "have", "used"):
        return True
    if second not in BASES and not is_past(second):
        return False
    if is_contrast:
        return True
    if is_past(second) and second not in BASES:
        return is_past(first) and first not in ("had", "can", "will")
    return not is_past(first) and not first.endswith("n't") and first != "do" and " to " not in left


def _has_verb(text: str) -> bool:
    """Return whether a verb follows the first word."""
    found = [word for word in _P["word"].findall(text) if word != "May"]
    first_is_noun = re.match(r"\s*\w", text)
    return any(is_verb(word) for word in found[bool(first_is_noun) :]) or bool(
        re.match(r"\W*(?:(?:I|we)'|there's\b)", text, re.IGNORECASE)
    )


def to_third_person(clause: str) -> str | None:
    """Return an English statement in the third person; None when it states nothing."""
    text = _type_out(clause)
    name = _P["call_me"].match(text)
    if name:
        return f"User wants to be called {name['name'].strip()}"
    refusal = _P["refusal"].match(text)
    if refusal:
        return f"User does not want to be {participle(refusal['verb'])}{refusal['rest'].rstrip()}"
    event = _P["event"].match(text)
    if event and not _has_verb(f"it{event['rest']}"):
        noun = _P["bare_weekday"].sub(" on ", f"{event['event'][0].lower()}{event['event'][1:]}")
        article = "" if _P["meal"].match(noun) else "an " if noun[0] in "aeiou" else "a "
        # "Dentist on Friday at 10" is an appointment, not a person whom somebody has.
        text = f"I have {'an appointment with the ' if _P['professional'].match(noun) else article}{noun}"
    is_note = not _has_verb(text) and _is_calendar_note(text)
    text = _P["bare_weekday"].sub(" on ", text) if is_note else text
    if not text or _P["no_fact"].match(text) or (_is_fragment(text) and not is_note):
        return None
    text = _name_couple(TABLES.replace("contractions", _name_we(text)))
    text = _P["first_person"].sub(_third_person_verb, text)
    text = _P["possessive"].sub(_third_person_possessive, text)
    text = TABLES.replace("pronouns", text)
    return None if _means_anybody(text) else capitalize(text.strip())


def _means_anybody(text: str) -> bool:
    """Return whether "him" or "her" stands for a person whom the sentence does not name."""
    found = re.search(r"\b(?:him|her|his|hers|he|she)\b", text)
    if not found or "User" not in text[: found.start()] or _NAMED_SUBJECT.match(text):
        return False
    return not _P["somebody"].search(text[1 : found.start()].replace("User", "", 1))


def _type_out(text: str) -> str:
    stripped = text.strip()
    typed = _P["own_parent"].sub(lambda found: f"My {found[0].lower()}", TABLES.replace("typed", stripped))
    if stripped.startswith(("I", "i")):
        return typed
    return re.sub(r"^(I|I'm|I've) [A-Z](?=[a-z'])", lambda found: f"{found[1]}{found[0][-2:].lower()}", typed)


def _is_fragment(text: str) -> bool:
    found = _P["word"].findall(text)
    if re.search(r"\b(?:I|I'\w+|[Ww]e|[Ww]e'\w+|WE'\w+|I'\w+)(?!\w)", text) or _has_verb(text):
        return False
    if len(found) <= 3 or _P["fragment"].match(text):
        return True
    # "Noa juggles swords" has a verb that no list knows; "milk, eggs, bread" has none.
    return not re.search(r"\s[a-z]+[^s\W]s\s+\w", text)


def _is_calendar_note(text: str) -> bool:
    """Return whether a text is a name for what is on, and its day: "Game on Saturday at 11"."""
    days = [each for each in read(text, datetime.now(UTC), UTC, "en") if not _BARE_HOUR.fullmatch(text, *each.span)]
    if not days or _NO_EVENT.match(text):
        return False
    name, end = text[: days[0].span[0]].strip(" ,:"), text[days[-1].span[1] :].strip(" .!")
    return 0 < len(name.split()) <= _MAX_EVENT_WORDS and (not end or _HOUR_BEHIND.fullmatch(end) is not None)


def _name_we(text: str) -> str:
    """Speak of one person, unless the sentence makes sense of several only."""
    if _P["common_we"].match(text):
        return re.sub(r"(?i)^we(?:'re)?\b( are)?", lambda found: f"User and others{_plural_be(found)}", text)
    return TABLES.replace("we", text)


def _plural_be(found: re.Match[str]) -> str:
    return " are" if found[1] or "'" in found[0] else ""


def _name_couple(text: str) -> str:
    """Return "User and User's wife have two kids": the verb stays in the plural."""
    couple = _P["couple"].match(text)
    if not couple:
        return text
    other = couple["whose"] or couple["whose2"]
    named = f"User's {other}" if other else couple["name"] or couple["name2"]
    rest = re.sub(r"^am\b", "are", text[couple.end() :])
    return f"User and {named} {rest}"


def _third_person_possessive(found: re.Match[str]) -> str:
    """Return "User's" the first time, and "their" after that."""
    return "their" if "User" in found.string[: found.start()] else "User's"


def _third_person_verb(found: re.Match[str]) -> str:
    before = found.string[: found.start()].lower()
    is_plural = before.endswith(("and ", "or ")) and found["verb"].lower() != "am" and not _has_verb(before)
    verb = found["verb"] if is_plural else conjugate(found["verb"])
    return f"User {found['adverbs']}{verb}{found['rest'] or ''}"


GRAMMAR = Grammar(TABLES, split_clauses, to_third_person)
