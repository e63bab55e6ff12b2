"""French statements: what they begin with, where they end, and their third person."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar.rules import Grammar, capitalize, load_tables, opens_with_other_subject

_TABLES = load_tables("french")
_P = _TABLES.patterns
_IRREGULAR = {verb: third for verb, (third,) in _TABLES.pairs("irregular").items()}
_PLURAL = _TABLES.pairs("plural")
_SINGULAR = {third: thirds for _, (third, thirds) in _PLURAL.items()}
_PARTICIPLES = {verb: participle for verb, (participle,) in _TABLES.pairs("participles").items()}
_QUOTE = "L'utilisateur dit : « {} »"


def split_clauses(sentence: str) -> list[str]:
    """Split "je travaille comme infirmière et j'ai deux filles" in two."""
    clauses, start = [], 0
    for joint in _P["joint"].finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() :]
        is_clause = (
            " " in left and not _P["subordinate"].match(left) and not left.lower().endswith(("moi", "qui", "que"))
        )
        speaks = _P["subject"].search(left) or _P["possessive"].match(left)
        is_other = opens_with_other_subject(joint[0], left, right, _P) and (speaks or _P["other_subject"].match(left))
        if is_clause and (is_other or (speaks and _P["opening"].match(right))):
            clauses.append(left)
            start = joint.end()
    return [*clauses, sentence[start:]]


def conjugate(verb: str) -> str | None:
    """Return a verb of the first person singular in the third; None when the form is not certain."""
    lowered = verb.lower()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if lowered.endswith("e"):
        return lowered
    if lowered.endswith("rai"):
        return f"{lowered[:-1]}"
    if re.search(r"[aiouûûn]s$|[rmn]s$", lowered) and not lowered.endswith("as"):
        return f"{lowered[:-1]}t"
    if re.search(r"[dtc]s$", lowered):
        return lowered[:-1]
    return f"{lowered[:-1]}t" if lowered.endswith("x") else None


def _plural(verb: str, *, is_couple: bool) -> str | None:
    lowered = verb.lower()
    if lowered in _PLURAL:
        return _PLURAL[lowered][is_couple]
    if is_couple and (lowered in _SINGULAR or lowered.endswith("e")):
        return _SINGULAR.get(lowered, f"{lowered}nt")
    if lowered.endswith("issons"):
        return f"{lowered[:-5]}{'issent' if is_couple else 'it'}"
    if lowered.endswith("ons"):
        return f"{lowered[:-3]}{'ent' if is_couple else 'e'}"
    return None


def to_third_person(clause: str) -> str | None:
    """Return a French statement in the third person, quoted if its form is not certain; None when it states nothing."""
    text = clause.strip()
    name, refusal = _P["call_me"].match(text), _P["refusal"].match(text)
    if name:
        return f"L'utilisateur veut être appelé {name['name'].strip()}"
    if introduction := _P["introduction"].match(text):
        return f"L'utilisateur s'appelle {introduction['name']}"
    if refusal and refusal["verb"].lower() in _PARTICIPLES:
        return f"L'utilisateur ne veut pas être {_PARTICIPLES[refusal['verb'].lower()]}{refusal['rest'].rstrip()}"
    if _P["no_fact"].match(text) or _P["qualifier"].search(text):
        return None
    couple = _P["couple"].match(text)
    if couple:
        return _tell_couple(couple, text)
    text = _P["told_me"].sub(r"\g<aux> \g<verb> à l'utilisateur", text)
    told = _tell(text) if _P["subject"].search(text) else _P["possessive"].sub(_owned, text)
    is_personal = told is None or _P["personal"].search(told)
    return _QUOTE.format(text.rstrip(". !")) if told is None or is_personal else capitalize(told)


def _tell(text: str) -> str | None:
    told, end = "", 0
    for found in _P["subject"].finditer(text):
        verb = _third(found)
        if verb is None:
            return None
        first = not told
        between, que = text[end : found.start()], found["que"] or ""
        person = "l'utilisateur" if first else "il"
        if que and not first:
            que = re.sub(r"e ?$", "'", que)
        elif que:
            que = re.sub(r"'$", "e ", que)
        clitics = re.sub(r"\b(?:me |nous )", "se ", re.sub(r"\bm'", "s'", found["clitics"], flags=re.I), flags=re.I)
        if first:
            between = _P["possessive"].sub(_owned, between)
        told += f"{between}{que}{person} {(found['not'] or '').lower()}{clitics}{verb}"
        end = found.end()
    told += text[end:]
    told = re.sub(rf"\b(?P<word>[sn])e (?=[{_TABLES.parts['vowel']}])", r"\g<word>'", told)
    if re.match(r"(?:nous (?:nous )?sommes|on (?:s')?est) \w+s\W*\Z", text, re.IGNORECASE):
        told = re.sub(r"(?<!ai|oi|eu)s(?=\W*\Z)", "", told)
    told = re.sub(r"\b(?:mon|notre)\b(?=.)", "son", told, flags=re.IGNORECASE)
    told = re.sub(r"\bma\b", "sa", told, flags=re.IGNORECASE)
    return re.sub(r"\b(?:mes|nos)\b", "ses", told, flags=re.IGNORECASE)


def _third(found: re.Match[str]) -> str | None:
    if found["one"]:
        return found["verb"].lower()
    return _plural(found["verb"], is_couple=False) if found["we"] else conjugate(found["verb"])


def _tell_couple(couple: re.Match[str], text: str) -> str:
    verb = _plural(couple["verb"], is_couple=True)
    if verb is None:
        return _QUOTE.format(text.rstrip(". !"))
    own = {"mon": "son", "ma": "sa", "mes": "ses", "notre": "son", "nos": "ses"}
    other = f"{own[couple['mine'].lower()]} {couple['whose']}" if couple["mine"] else couple["name"]
    clitics = re.sub(r"\bnous ", "se ", couple["clitics"])
    return f"L'utilisateur et {other} {couple['not'] or ''}{clitics}{verb}{text[couple.end() :]}"


def _owned(found: re.Match[str]) -> str:
    """Return "la sœur de l'utilisateur" for "ma sœur"."""
    owner, noun = found["owner"].lower(), found["noun"]
    if owner in ("mes", "nos"):
        article = "les "
    elif noun[0].lower() in _TABLES.parts["vowel"]:
        article = "l'"
    elif owner == "ma" or (owner == "notre" and _P["feminine"].fullmatch(noun)):
        article = "la "
    elif owner == "mon" or _P["masculine"].fullmatch(noun):
        article = "le "
    else:
        return found[0]
    name = (found["name"] or "").strip(" ,")
    return f"{name}, {article}{noun} de l'utilisateur," if name else f"{article}{noun} de l'utilisateur"


GRAMMAR = Grammar(_TABLES, split_clauses, to_third_person)
