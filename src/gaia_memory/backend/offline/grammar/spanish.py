"""Spanish statements: what they begin with, where they end, and their third person."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar.rules import Grammar, capitalize, load_tables, opens_with_other_subject

_TABLES = load_tables("spanish")
_P = _TABLES.patterns
_IRREGULAR = _TABLES.pairs("irregular")
_PLURAL = {verb: singular for verb, (singular,) in _TABLES.pairs("plural").items()}
_SUBJUNCTIVE = {verb: third for verb, (third,) in _TABLES.pairs("subjunctive").items()}
_AR_VERBS = _TABLES.words("ar_verbs")
_NOT_VERBS = _TABLES.words("not_verbs")
_FEMININE = _TABLES.words("feminine")
_MASCULINE = _TABLES.words("masculine")
_CLAUSE_WORDS = frozenset(["que", "porque", "y", "pero", "cuando", "donde", "aunque", "mientras", "si"])
FIRST_PERSON = (_AR_VERBS | _IRREGULAR.keys() | _PLURAL.keys()) - {"como", "di", "uso", "he"}
"""Verbs that no other language has."""

THIRD_PERSON = frozenset(verb for forms in _IRREGULAR.values() for verb in forms) | {
    f"{verb[:-1]}{ending}" for verb in _AR_VERBS for ending in ("a", "an")
}

_QUOTE = "El usuario dice: «{}»"


def split_clauses(sentence: str) -> list[str]:
    """Split "soy vegetariano y vivo en Madrid" in two."""
    clauses, start = [], 0
    for joint in _P["joint"].finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() :]
        is_other = opens_with_other_subject(joint[0], left, right, _P)
        if (_is_clause(left) and (is_other or _opens_clause(right))) or (is_other and _P["other_subject"].match(left)):
            clauses.append(left)
            start = joint.end()
    return [*clauses, sentence[start:]]


def _opens_clause(right: str) -> bool:
    group = re.match(rf"{_TABLES.parts['verb_group']}(?P<verb>\w+)\s+\S", right, re.IGNORECASE)
    is_owned = re.match(
        r"(?:mi|mis|nuestr[oa]s?) \w+(?: [A-ZÁÉ]\w+)? (?:es|son|tiene|vive|trabaja|se llama|está|estudia)\b",
        right,
        re.I,
    )
    return bool(
        is_owned
        or _P["liking"].match(right[:40])
        or (group and group["verb"][0].islower() and conjugate(group["verb"]))
    )


def _is_clause(left: str) -> bool:
    if re.match(r"(?:si|cuando|como|porque|aunque|desde|en|a)\b", left, re.IGNORECASE) or _P["alone"].fullmatch(left):
        return False
    return any(conjugate(word) for word in _P["word"].findall(left)) or bool(
        _P["imperfect"].match(left) or re.match(r"mis? |nuestr|.*\bme ", left, re.I)
    )


def conjugate(verb: str, *, plural: bool = False) -> str | None:
    """Return a verb of the first person in the third; None when the word is not certainly such a verb."""
    lowered = verb.lower()
    lowered = _PLURAL.get(lowered, lowered)
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered][plural]
    if lowered in _AR_VERBS:
        return f"{lowered[:-1]}a{'n' if plural else ''}"
    if lowered in _NOT_VERBS or len(lowered) < 4:
        return None
    for ending, third, thirds in (
        (r"(?<=[aei]r)é", "á", "án"),
        (r"qué", "có", "caron"),
        (r"gué", "gó", "garon"),
        (r"(?<=[aeiourzns])cé", "zó", "zaron"),
        (r"(?<=\w)é", "ó", "aron"),
        (r"(?<=\w)í", "ió", "ieron"),
    ):
        if re.search(rf"{ending}$", lowered):
            return re.sub(rf"{ending}$", thirds if plural else third, lowered)
    return None


def to_third_person(clause: str) -> str | None:
    """Return a Spanish statement in the third person, quoted if its form is uncertain; None when it states nothing."""
    text = clause.strip()
    name, refusal = _P["call_me"].match(text), _P["refusal"].match(text)
    if name:
        return f"El usuario quiere que lo llamen {name['name'].strip()}"
    if refusal:
        return f"El usuario no quiere que lo {_SUBJUNCTIVE[refusal['verb'].lower()]}{refusal['rest'].rstrip()}"
    if _P["no_fact"].match(text) or _P["qualifier"].search(text):
        return None
    told = _tell(text)
    if told and re.match(r"somos \w+s\W*\Z", text, re.IGNORECASE):
        told = re.sub(r"s(?=\W*\Z)", "", told)
    is_certain = told is not None and not _P["personal"].search(told)
    return capitalize(told) if told is not None and is_certain else _QUOTE.format(text.rstrip(". !¡"))


def _tell(text: str) -> str | None:
    couple, liking = _P["couple"].match(text), _P["liking"].match(text)
    if couple:
        verb = conjugate(couple["verb"], plural=True)
        other = f"su {couple['whose']}" if couple["mine"] else couple["name"]
        group = couple["group"].replace("nos ", "se ")
        return verb and f"El usuario y {other} {group}{verb}{_own(text[couple.end() :])}"
    if liking and not re.search(r"\b(?:que|porque|y)\b", liking["before"]):
        return f"{liking['before']}al usuario {liking['not'].lower()}le {liking['verb']}{_own(text[liking.end() :])}"
    if re.match(r"(?:mis?|nuestr[oa]s?)\b", text, re.IGNORECASE):
        if any(conjugate(found["verb"]) for found in _P["reported_verb"].finditer(text)):
            return None
        text = _P["told_me"].sub(r"le \g<verb> al usuario", text)
        return _P["possessive"].sub(_owned, text)
    return _tell_of_speaker(text)


def _tell_of_speaker(text: str) -> str | None:
    """Name the speaker before the first verb of the first person, which Spanish says without a subject."""
    unsure = _P["unsure_verb"].match(text)
    if unsure and not conjugate(unsure["verb"]) and unsure["next"] not in THIRD_PERSON:
        return None
    previous, told, end = "", "", 0
    for found in _P["word"].finditer(text):
        verb = conjugate(found[0]) if not _P["before_noun"].fullmatch(previous) else None
        is_own_clause = not told or previous.lower() in _CLAUSE_WORDS or previous.lower() in ("no", "me", "ya")
        if verb and is_own_clause and not _is_name(found, text) and not _is_conjunction(found, text, bool(told)):
            before = text[end : found.start()]
            if not told:
                group = re.search(rf"{_TABLES.parts['verb_group']}\Z", before, re.IGNORECASE)
                split = group.start() if group else len(before)
                before = f"{before[:split]}el usuario {_without_subject(before[split:])}"
            told += f"{_own(before)}{verb}"
            end = found.end()
        previous = found[0]
    if told:
        return told + _own(text[end:])
    past = _P["imperfect"].match(text)
    # "María vive en Lima" begins with a name, "Tenía un perro" with a verb.
    if past and THIRD_PERSON.isdisjoint(text[past.end() :].split()[:1]):
        before, verb = text[: past.start("group")], past["verb"].lower()
        return f"{before}el usuario {_without_subject(past['group'])}{verb}{_own(text[past.end() :])}"
    return (
        None
        if _P["personal"].search(text) and not _P["possessive"].search(text)
        else _P["possessive"].sub(_owned, text)
    )


def _is_name(found: re.Match[str], text: str) -> bool:
    """Return whether a capital begins a name that looks like a verb: "Leo vive en Madrid", "Leo, mi hijo"."""
    after = text[found.end() :]
    is_subject = after.startswith(",") or not THIRD_PERSON.isdisjoint(after.lower().removeprefix(" se ").split()[:1])
    return found[0][0].isupper() and is_subject


def _is_conjunction(found: re.Match[str], text: str, has_verb: bool) -> bool:
    """Return whether "como" means "as" here."""
    return found[0].lower() == "como" and (has_verb or found.start() == 0)


def _without_subject(group: str) -> str:
    return re.sub(r"\b(?:yo|nosotr[oa]s) ", "", group, flags=re.IGNORECASE).lower()


def _own(text: str) -> str:
    """Return a part of a sentence about the user with "su" and "se" for "mi" and "me"."""
    text = re.sub(r"\b(?:mi|nuestr[oa])\b", "su", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:mis|nuestr[oa]s)\b", "sus", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(?:me|nos)(?=\s|\Z)", "se", text, flags=re.IGNORECASE)
    return re.sub(r"(?<=\w[aei]r)(?:me|nos)\b", "se", text)


def _owned(found: re.Match[str]) -> str:
    """Return "la hermana del usuario" for "mi hermana"; unchanged when the article is not certain."""
    noun, owner = found["noun"], found["owner"].lower()
    head = re.sub(r"^(?:mejor(?:es)?|antigu[oa]|nuev[oa]) ", "", noun).split()[0].lower()
    is_plural = owner.endswith("s")
    gender = _gender(head.removesuffix("s") if is_plural and head not in _MASCULINE else head, noun)
    if gender is None:
        return found[0]
    article = (("los", "las") if is_plural else ("el", "la"))[gender == "f"]
    name = (found["name"] or "").strip(" ,")
    return f"{name}, {article} {noun} del usuario," if name else f"{article} {noun} del usuario"


def _gender(head: str, noun: str) -> str | None:
    if head in _MASCULINE or head.removesuffix("e") in _MASCULINE or re.search(r"[ao]?d[eo] |favorito|preferido", noun):
        return "m"
    if head in _FEMININE or re.search(r"favorita|preferida", noun) or head.endswith(("a", "ión", "dad")):
        return "f"
    return "m" if head.endswith("o") else None


GRAMMAR = Grammar(_TABLES, split_clauses, to_third_person)
