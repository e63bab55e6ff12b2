"""Finds credentials by their form, whatever the conversation is about, and masks them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from gaia_memory.language.homoglyphs import fold_width
from gaia_memory.redaction.form_checks import Found, is_key
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
_GROUPS = groupby(FORMS, lambda form: is_key if form.check is is_key else form.name)
_PATTERNS = tuple(_compile(list(forms)) for _, forms in _GROUPS)
_KEPT_CHARACTERS = {*map(chr, range(128)), "\uff0c"}
_MAX_PASSES, _MANY_SPANS = 3, 16
"""A mask moves what stands around it, so that more may be seen of it; in a text that is full of them nobody looks."""

_MAX_WORD_BYTES = 200
_WORD = re.compile(rb"(?:[^\s\xe3\xef]+|\xe3(?!\x80[\x80-\x82\x8d\x8f])|\xef(?!\xbc\x8c))*")
_REST = re.compile(rb"\S*")


def contains_credential(text: str, *, allow_numbers: bool = False) -> bool:
    """Return whether `text` contains a credential that is not masked yet.

    These are keys and tokens of known or random form, seed phrases, stated passwords, PINs, card verification values
    and one-time codes, and, unless `allow_numbers` is set, numbers of cards, bank accounts (IBAN) and US social
    security. A text about passwords without a value contains none.
    """
    return mask_credentials(text, allow_numbers=allow_numbers) != text


def mask_credentials(text: str, *, allow_numbers: bool = False) -> str:
    """Return `text` with `[redacted: KIND]` in place of each credential; to mask it once more changes nothing."""
    for _ in range(_MAX_PASSES):
        folds = _folds(text)
        seen = text.translate(folds) if folds else text
        # What is masked already is no name, no link and no value.
        data = _MASK.sub(lambda mask: b"[" * len(mask.group()), seen.encode(errors="replace"))
        spans = _merge(_find(data, allow_numbers=allow_numbers))
        parts, shown_from = list[str](), 0
        for start, end, kind in _places(spans, data, text, folds):
            parts += [text[shown_from:start], f"[redacted: {kind}]"]
            shown_from = end
        text = "".join([*parts, text[shown_from:]])
        if not 0 < len(spans) < _MANY_SPANS:
            break
    return text


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
                word = _WORD.match(data, last, last + _MAX_WORD_BYTES)
                start, last = last, word.end() if word else last
                found = Found(data, first, last, start, last)
            else:
                start, end = match.span(group)
                while end < len(data) and data[end] & 0xC0 == 0x80:
                    end += 1  # A letter outside of ASCII is several bytes.
                found = Found(data, first, last, start, end)
            if span := form.check(found) if form.check else (0, found.end - start):
                text = "" if is_ascii else found.secret + found.behind
                begin, done = (start + (at if is_ascii else len(text[:at].encode())) for at in span)
                if last == start + _MAX_WORD_BYTES and done > last - 4:
                    done = next(_REST.finditer(data, done)).end()
                yield begin, done, form.kind


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


def _folds(text: str) -> dict[int, str]:
    """Return what a reader sees for characters: nothing for invisible ones, plain letters for full-width ones."""
    return {
        ord(char): fold_width(char)
        for char in (() if text.isascii() else set(text) - _KEPT_CHARACTERS)
        if not char.isprintable() or char.isdecimal() or not unicodedata.is_normalized("NFKC", char)
    }


def _places(
    spans: Sequence[tuple[int, int, Kind]], data: bytes, text: str, folds: dict[int, str]
) -> Iterator[tuple[int, int, Kind]]:
    """Yield where in `text` the spans stand that were found in the bytes of what is seen of it."""
    characters: Sequence[int] = range(len(text))
    if spans and folds:
        characters = [at for at, char in enumerate(text) for _ in folds.get(ord(char), char)]
    position = count = 0
    for start, end, kind in spans:
        first = count + len(data[position:start].decode())
        position, count = end, first + len(data[start:end].decode())
        yield characters[first], characters[count - 1] + 1, kind
