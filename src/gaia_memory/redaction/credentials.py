"""Recognizes credentials by their form, whatever the conversation is about, and masks them."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from gaia_memory.language.homoglyphs import fold_to_latin, fold_width
from gaia_memory.redaction.account_numbers import find_account_numbers
from gaia_memory.redaction.mask import MASK
from gaia_memory.redaction.random_tokens import find_random_tokens, find_seed_phrases
from gaia_memory.redaction.secret_forms import PEM_BLOCK, compile_key_forms, compile_split_key_forms, find_url_passwords
from gaia_memory.redaction.stated_codes import find_stated_codes
from gaia_memory.redaction.stated_passwords import find_stated_passwords

Span = tuple[int, int]

ACCOUNT_NUMBER = "a card, account or social security number"
"""The kind of credential that `memory.allow_numbers` keeps."""

_KEY, _PASSWORD, _SEED_PHRASE, _CODE = "a key or token", "a password", "a seed phrase", "a PIN or code"

_KEY_PATTERN = compile_key_forms(in_facts=True)
_SPLIT_KEY = compile_split_key_forms()
# What stands for the password where the form of an address is explained.
_PLACEHOLDER = re.compile(r"(?i)password|passwd|pass|pwd|secret|token|x+|[*.]+|[<{$[%].*")
_DIGIT = re.compile(r"\d")
_MIN_KEY_CHARACTERS = 14
_PLAIN_WORD = re.compile(r"[A-Z]?[a-z]{2,}")
_ENCODED_TEXT = re.compile(
    r"(?:&#\w{2,8};|&[a-z]{2,8};|%[0-9a-fA-F]{2})+|(?<![\w+/-])[A-Za-z0-9+/_-]{16,}={0,2}(?![\w+/-])"
)
_SPACED_LETTERS = re.compile(r"(?<!\S)\S(?P<gap>[ .*-])(?:\S(?P=gap)){6,}\S(?=[\s:=]|\Z)")


class _View(NamedTuple):
    """A text as a reader sees it, and where in the original each of its characters stands: None, in the same place."""

    text: str
    places: Sequence[Span] | None = None

    def place(self, at: int) -> Span:
        """Return where in the original a character stands."""
        return (at, at + 1) if self.places is None else self.places[at]


def contains_credential(text: str, *, allow_numbers: bool = False) -> bool:
    """Return whether `text` contains a credential, in any disguise that a reader would not notice.

    These are keys and tokens of known or random form, seed phrases, stated passwords, PINs, card verification values
    and one-time codes, and, unless `allow_numbers` is set, numbers of cards, bank accounts (IBAN) and US social
    security. A text about passwords without a value passes.
    """
    return find_credential(text, allow_numbers=allow_numbers) is not None


def find_credential(text: str, *, allow_numbers: bool = False) -> str | None:
    """Return the kind of the first credential in `text`, in words, as `contains_credential` finds it; None for none."""
    kinds = (kind for view in _views(text) for _, kind in _find(view.text, allow_numbers=allow_numbers))
    return next(kinds, None)


def mask_credentials(text: str, *, allow_numbers: bool = False) -> str:
    """Return `text` with each credential replaced by `***`: one that was stored before it was recognised."""
    spans: set[Span] = set()
    for view in _views(text):
        for (start, end), _ in _find(view.text, allow_numbers=allow_numbers):
            spans.add((view.place(start)[0], view.place(end - 1)[1]))
    parts, shown_from = list[str](), 0
    for first, last in sorted(spans):
        if first >= shown_from:
            parts += [text[shown_from:first], MASK]
        shown_from = max(shown_from, last)
    return "".join([*parts, text[shown_from:]])


def _views(text: str) -> Iterator[_View]:
    """Yield the text without invisible characters, and if it differs with look-alikes as Latin letters."""
    views = [_View(text) if text.isascii() else _fold(text, fold_width)]
    if not text.isascii() and (latin := _fold(text, fold_to_latin)).text != views[0].text:
        views.append(latin)
    for view in views:
        yield view
        if _SPACED_LETTERS.search(view.text):
            yield _close_up(view)
        if _ENCODED_TEXT.search(view.text):
            yield _decode(view)


def _fold(text: str, fold: Callable[[str], str]) -> _View:
    folded = [fold(char) for char in text]
    places = tuple((place, place + 1) for place, part in enumerate(folded) for _ in part)
    return _View("".join(folded), places)


def _close_up(view: _View) -> _View:
    """Remove what stands between single letters: `p a s s w o r d`, `P-A-S-S-W-O-R-D`."""
    gaps = {at for run in _SPACED_LETTERS.finditer(view.text) for at in range(run.start() + 1, run.end(), 2)}
    kept = [at for at in range(len(view.text)) if at not in gaps]
    return _View("".join(view.text[at] for at in kept), tuple(map(view.place, kept)))


def _decode(view: _View) -> _View:
    """Return the view with HTML entities, percent escapes and Base64 text as what they stand for."""
    parts, places, position = list[str](), list[Span](), 0
    for found in _ENCODED_TEXT.finditer(view.text):
        decoded = _decode_run(found[0])
        parts += [view.text[position : found.start()], decoded]
        # All of it is masked, whichever part is the credential.
        whole = (view.place(found.start())[0], view.place(found.end() - 1)[1])
        places += [*map(view.place, range(position, found.start())), *[whole] * len(decoded)]
        position = found.end()
    return _View("".join([*parts, view.text[position:]]), (*places, *map(view.place, range(position, len(view.text)))))


def _decode_run(run: str) -> str:
    if run[0] in "&%":
        return html.unescape(unquote(run))
    try:
        decoded = base64.b64decode(run + "=" * (-len(run) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        return run
    return decoded if decoded.isprintable() else run


def _find(text: str, *, allow_numbers: bool) -> Iterator[tuple[Span, str]]:
    # Cheap checks first: every fact that is written or imported comes through here.
    has_digit = _DIGIT.search(text) is not None
    if max(map(len, text.split()), default=0) >= _MIN_KEY_CHARACTERS:
        yield from ((found.span(), _KEY) for found in _KEY_PATTERN.finditer(text))
        if has_digit:
            yield from ((span, _KEY) for span in find_random_tokens(text))
    if "://" in text:
        shown = (span for span in find_url_passwords(text) if not _PLACEHOLDER.fullmatch(text[slice(*span)]))
        yield from ((span, _PASSWORD) for span in shown)
    if "-----" in text or "PuTTY-" in text:
        yield from ((found.span(), _KEY) for found in PEM_BLOCK.finditer(text))
    yield from ((span, _PASSWORD) for span in find_stated_passwords(text))
    yield from ((span, _SEED_PHRASE) for span in find_seed_phrases(text))
    if has_digit:
        yield from ((span, _KEY) for span in _find_split_keys(text))
        if not allow_numbers:
            yield from ((span, ACCOUNT_NUMBER) for span in find_account_numbers(text))
    yield from ((span, _CODE) for span in find_stated_codes(text))


def _find_split_keys(text: str) -> Iterator[Span]:
    for found in _SPLIT_KEY.finditer(text):
        end, key = found.end("head"), found["head"]
        for piece in re.finditer(r"\S+", found["rest"]):
            if _PLAIN_WORD.fullmatch(piece[0]):
                break
            end, key = found.start("rest") + piece.end(), key + piece[0]
            if _KEY_PATTERN.fullmatch(key) and re.search(r"\d", key):
                yield found.start(), end
                break
