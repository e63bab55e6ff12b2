"""Finds credentials by their form, whatever the conversation is about, and masks them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from gaia_memory.language.homoglyphs import fold_width
from gaia_memory.redaction.form_checks import Found, Span, is_key
from gaia_memory.redaction.forms import ACCOUNT_NUMBER, FORMS, Form, Kind
from gaia_memory.redaction.linear import compile_linear

_MASK_BEGIN = "[redacted: "
_MASK = compile_linear(r"\[redacted: (a password|a key or token|a code|a seed phrase|an account number)\]")


def _compile(forms: Sequence[Form]) -> tuple[Form, Any, int]:
    """Return a form, its pattern, and the group that is its secret: 0 is all that matches."""
    is_alone = len(forms) == 1
    one = forms[0].pattern if is_alone else rf"(?:^|[^A-Za-z0-9])({'|'.join(each.pattern for each in forms)})"
    pattern = compile_linear(one)
    return forms[0], pattern, pattern.groups if forms[0].secret == "group" else 0


# The keys of services are searched for together.
_PATTERNS = tuple(
    _compile(list(forms)) for _, forms in groupby(FORMS, lambda form: is_key if form.check is is_key else form.name)
)


_MAX_WORD_BYTES = 200
_WORD = re.compile(rb"(?:[^\s\xe3\xef]|\xe3(?!\x80[\x80-\x82\x8d\x8f])|\xef(?!\xbc\x8c)){0,200}")
_REST = re.compile(rb"\S*")


def contains_credential(text: str, *, allow_numbers: bool = False) -> bool:
    """Return whether `text` contains a credential that is not masked yet.

    These are keys and tokens of known or random form, seed phrases, stated passwords, PINs, card verification values
    and one-time codes, and, unless `allow_numbers` is set, numbers of cards, bank accounts (IBAN) and US social
    security. A text about passwords without a value contains none.
    """
    return mask_credentials(text, allow_numbers=allow_numbers) != text


def mask_credentials(text: str, *, allow_numbers: bool = False) -> str:
    """Return `text` with `[redacted: KIND]` in place of each credential, as `contains_credential` finds them."""
    seen = _fold(text)
    # What is masked already is no name, no link and no value.
    data = _MASK.sub(lambda mask: b"[" * len(mask.group()), seen.encode())
    spans = _merge(_find(data, allow_numbers=allow_numbers))
    if not spans:
        return text
    parts, shown_from = list[str](), 0
    for start, end, kind in _places(spans, seen, text):
        parts += [text[shown_from:start], f"[redacted: {kind}]"]
        shown_from = end
    return "".join([*parts, text[shown_from:]])


def masked_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of the credentials that are masked in `text`, each once."""
    return tuple(dict.fromkeys(found[1].decode() for found in _MASK.finditer(text.encode(errors="replace"))))


def without_masks(text: str) -> str:
    """Return what is left of `text` beside its masks."""
    return str(_MASK.sub(b"", text.encode(errors="replace")).decode()) if _MASK_BEGIN in text else text


def is_all_masked(text: str) -> bool:
    """Return whether of `text` nothing but masks is left: no letter and no digit."""
    return _MASK_BEGIN in text and not any(map(str.isalnum, without_masks(text)))


def cut_text(text: str, max_characters: int) -> str:
    """Return the beginning of `text`, without a mask that would be cut."""
    begun = text.rfind("[", 0, max_characters)
    is_cut = text.startswith(_MASK_BEGIN, max(begun, 0)) and "]" not in text[begun:max_characters]
    return text[: begun if is_cut else max_characters]


def _find(data: bytes, *, allow_numbers: bool) -> Iterator[tuple[int, int, Kind]]:
    is_ascii = data.isascii()
    for form, pattern, group in _PATTERNS:
        if allow_numbers and form.kind == ACCOUNT_NUMBER:
            continue
        done = 0
        for match in pattern.finditer(data):
            first, last = match.span()
            if first < done:
                continue
            if form.secret == "next":
                start, last = last, next(_WORD.finditer(data, last)).end()
                found = Found(data, first, last, start, last)
            else:
                start, end = match.span(group)
                while end < len(data) and data[end] & 0xC0 == 0x80:
                    end += 1  # A letter outside of ASCII is several bytes.
                found = Found(data, first, last, start, end)
            if span := form.check(found) if form.check else (0, found.end - start):
                begin, done = (start + span[0], start + span[1]) if is_ascii else _bytes_of(found, span)
                if done == last == start + _MAX_WORD_BYTES:
                    done = next(_REST.finditer(data, done)).end()
                yield begin, done, form.kind


def _bytes_of(found: Found, span: Span) -> Span:
    """Return where in the data the characters of the secret and the text behind it stand."""
    text = found.secret + found.behind
    return found.start + len(text[: span[0]].encode()), found.start + len(text[: span[1]].encode())


def _merge(found: Iterator[tuple[int, int, Kind]]) -> list[tuple[int, int, Kind]]:
    """Return the spans in order, those that overlap as one, of the kind whose span begins first."""
    merged = list[tuple[int, int, Kind]]()
    for start, end, kind in sorted(found, key=itemgetter(0)):
        if merged and start < merged[-1][1]:
            first, last, first_kind = merged.pop()
            merged.append((first, max(last, end), first_kind))
        else:
            merged.append((start, end, kind))
    return merged


def _fold(text: str) -> str:
    """Return the text as a reader sees it: no invisible characters, full-width letters as plain ones."""
    if text.isascii():
        return text
    changed = {
        ord(char): fold_width(char)
        for char in set(text)
        if not char.isascii()
        and char != "\uff0c"
        and (not char.isprintable() or char.isdecimal() or not unicodedata.is_normalized("NFKC", char))
    }
    return text.translate(changed) if changed else text


def _places(spans: Sequence[tuple[int, int, Kind]], seen: str, text: str) -> Iterator[tuple[int, int, Kind]]:
    """Yield where in `text` the spans stand that were found in the bytes of what is seen of it."""
    if text.isascii():
        yield from spans
        return
    data = seen.encode()
    characters = range(len(text)) if seen == text else [at for at, char in enumerate(text) for _ in _fold(char)]
    position = count = 0
    for start, end, kind in spans:
        first = count + len(data[position:start].decode())
        position, count = end, first + len(data[start:end].decode())
        yield characters[first], characters[count - 1] + 1, kind
