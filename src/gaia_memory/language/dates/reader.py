"""Reads the dates of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cache
from importlib import import_module
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gaia_memory.language.dates.date_tokens import Gap, Token, fold_text, split_tokens
from gaia_memory.language.dates.date_words import DateWords
from gaia_memory.language.dates.draft import Draft, combine
from gaia_memory.language.dates.grammar import Grammar, Match
from gaia_memory.language.dates.mention import Anchor, Bound, DateMention
from gaia_memory.language.dates.numeric_dates import FIRST_YEAR, LAST_YEAR, read_ordinal
from gaia_memory.language.dates.resolution import Reference, join_range, resolve

Direction = Literal["future", "past"]
_WORDS = {
    "en": ("english_dates", "ENGLISH"),
    "de": ("german_dates", "GERMAN"),
    "fr": ("french_dates", "FRENCH"),
    "es": ("spanish_dates", "SPANISH"),
}
_MAX_DAY = 31
_MAX_MARKED_TOKENS = 2_000
"""Tokens from which the language of a text is told."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A date with the index after its last token."""

    draft: Draft
    mention: DateMention
    end: int


@cache
def load_language(code: str) -> tuple[DateWords, Grammar]:
    """Return the words and the grammar of "en", "de", "fr" or "es"."""
    module, name = _WORDS[code]
    words: DateWords = getattr(import_module(f"gaia_memory.language.dates.phrases.{module}"), name)
    return words, words.build_grammar()


def read(
    text: str,
    now: datetime,
    zone: tzinfo | str,
    language: str | None = None,
    *,
    direction: Direction = "future",
) -> list[DateMention]:
    """Return the dates in a text in their order; they do not overlap.

    `now` is when the text was written (a time without a zone counts as local), `zone` the zone of the writer, an IANA
    name or a `tzinfo`. `language` is "en", "de", "fr", "es" or a tag such as "de-AT"; with None or another language the
    text tells. `direction` completes a date without a year, a bare weekday or a time: "in June" is the next June or,
    with "past", the last one; a period that goes on now counts as both.

    Numbers, prices, versions and phone numbers are no dates, and neither are "may" and "march" unless a day, a year or
    a preposition stands next to them. Reading takes time in proportion to the length of the text.

    Raises:
        ValueError: there is no zone with this name.
    """
    local_zone = _to_zone(zone)
    tokens, positions = _tokenize(text)
    if not tokens:
        return []
    codes = _languages_of(tokens, language)
    local_now = _to_local(now, local_zone)
    found: list[DateMention] = []
    for code in codes:
        words, grammar = load_language(code)
        reference = Reference(local_now, local_zone, direction == "past", words.assumes_afternoon)
        reader = _Reader(tokens, words, grammar, reference)
        found += reader.read()
    mentions = _without_overlaps(found)
    return mentions if positions is None else [_moved(each, positions) for each in mentions]


def _to_zone(zone: tzinfo | str) -> tzinfo:
    if isinstance(zone, tzinfo):
        return zone
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"zone {zone!r} is no time zone of the IANA list, such as 'Europe/Berlin'") from error


def _to_local(now: datetime, zone: tzinfo) -> datetime:
    if now.tzinfo is None:
        return now.replace(tzinfo=zone)
    try:
        return now.astimezone(zone)
    except OverflowError:
        # At the first or last day of the calendar the zone is a matter of hours that do not exist.
        return now.replace(tzinfo=zone)


def _tokenize(text: str) -> tuple[list[Token], list[int] | None]:
    folded, positions = fold_text(text)
    return split_tokens(folded), positions


def _languages_of(tokens: Sequence[Token], language: str | None) -> list[str]:
    """Return the languages in which to read, the likeliest first."""
    code = (language or "").partition("-")[0].partition("_")[0].lower()
    if code in _WORDS:
        return [code]
    texts = [token.text for token in tokens[:_MAX_MARKED_TOKENS] if token.text[0] > "9"]
    scores = {code: sum(text in load_language(code)[0].markers for text in texts) for code in _WORDS}
    best = max(scores.values())
    likeliest = [code for code, score in scores.items() if score == best]
    all_texts = {token.text for token in tokens}
    return [code for code in likeliest if load_language(code)[1].knows_a_word_of(all_texts)] or likeliest[:1]


def _without_overlaps(mentions: Sequence[DateMention]) -> list[DateMention]:
    """Return the longest of overlapping dates, in the order of the text."""
    chosen: list[DateMention] = []
    for mention in sorted(mentions, key=lambda each: (each.span[0], -each.span[1])):
        if chosen and mention.span[0] < chosen[-1].span[1]:
            if mention.span[1] - mention.span[0] > chosen[-1].span[1] - chosen[-1].span[0]:
                chosen[-1] = mention
        else:
            chosen.append(mention)
    return chosen


def _moved(mention: DateMention, positions: Sequence[int]) -> DateMention:
    start, end = mention.span
    return replace(mention, span=(positions[start], positions[end - 1] + 1))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the tokens of a text in one language."""

    tokens: Sequence[Token]
    words: DateWords
    grammar: Grammar
    reference: Reference

    def read(self) -> list[DateMention]:
        """Return the dates."""
        mentions, index = [], 0
        while index < len(self.tokens):
            if self.grammar.opens_nothing(self.tokens, index):
                index += 1
                continue
            match = self.grammar.match(self.tokens, index, self.reference)
            if match is not None and match.draft is None:
                index = match.end
                continue
            found = self._read_shared(index) or (self._read_at(index, self.reference, match) if match else None)
            if found is None:
                index += 1
                continue
            found = self._read_range(index, found)
            mentions.append(found.mention)
            index = found.end
        return mentions

    def _read_shared(self, index: int) -> _Found | None:
        """Return "between 3 and 5 May" and "from May to July 2023" as one date: its end names the rest."""
        if self.tokens[index].text not in self.words.from_words | self.words.between_words:
            return None
        at = index + 1
        while at < len(self.tokens) - 1 and self.tokens[at].text in self.words.articles:
            at += 1
        last_at = self._range_end_at(index, at + 1)
        last = None if last_at is None else self._read_at(last_at, self.reference)
        if last is None or last.draft.month is None:
            return None
        token = self.tokens[at]
        month = self.words.months.get(token.text)
        shared = replace(last.draft, month=month) if month else replace(last.draft, day=_day_of(token))
        if (shared.day is None) is not (last.draft.day is None):
            return None
        start = self.tokens[index].start
        first = resolve(shared, self.reference, (start, start))
        if first is not None and last_at is not None and last.mention.anchor in (Anchor.INFERRED, Anchor.YEARLESS):
            last = self._read_at(last_at, replace(self.reference, now=first.start, is_past=False)) or last
        joined = None if first is None else join_range(first, last.mention)
        return None if joined is None else replace(last, mention=joined)

    def _read_at(self, index: int, reference: Reference, match: Match | None = None) -> _Found | None:
        """Return the date that begins at a token, perhaps with this phrase, with all its parts."""
        match = match or self.grammar.match(self.tokens, index, reference)
        if match is None or match.draft is None:
            return None
        draft, end = match.draft, match.end
        if self.tokens[index].text in self.words.since_words:
            reference = replace(reference, is_past=True)
        while end < len(self.tokens):
            follower = self._follower(draft, end, reference)
            if follower is None:
                break
            draft, end = follower
        if draft.is_fragment or self._has_remote_year(draft, end):
            return None
        start = self.tokens[index].start
        mention = resolve(draft, reference, (start, self.tokens[end - 1].end))
        return None if mention is None else _Found(draft, self._settle_from(mention, index), end)

    def _follower(self, draft: Draft, index: int, reference: Reference) -> tuple[Draft, int] | None:
        """Return the date with the part that begins at a token, and the index after it."""
        token = self.tokens[index]
        if not (token.gap is Gap.COMMA or self.grammar.is_joined(self.tokens, index)):
            return None
        match = self.grammar.match(self.tokens, index, reference)
        if match is None or match.draft is None:
            return None
        if match.draft.bound is not None:
            return None
        if token.gap is Gap.COMMA and match.draft.year is not None and match.draft.month is None and draft.day is None:
            return None
        combined = combine(draft, match.draft)
        return None if combined is None else (combined, match.end)

    def _settle_from(self, mention: DateMention, index: int) -> DateMention:
        """Return "from March" as "since March" if that is still to come: "the letter from March" is not."""
        is_from = self.tokens[index].text in self.words.from_words
        if is_from and mention.bound is Bound.SINCE and mention.start <= self.reference.now:
            return replace(mention, bound=Bound.WITHIN)
        return mention

    def _has_remote_year(self, draft: Draft, end: int) -> bool:
        """Return whether a year outside 1900 to 2099 follows, to which the date belongs."""
        if draft.month is None or draft.year is not None:
            return False
        at = end + 1 if end < len(self.tokens) and self.tokens[end].text in ("of", "de", "del") else end
        if at >= len(self.tokens) or self.tokens[at].gap not in (Gap.JOIN, Gap.DOT, Gap.COMMA):
            return False
        token = self.tokens[at]
        is_year = FIRST_YEAR <= token.number <= LAST_YEAR
        return len(token.text) >= 4 and token.text.isdigit() and not is_year

    def _read_range(self, index: int, first: _Found) -> _Found:
        """Return "A to B" as one date."""
        at = self._range_end_at(index, first.end)
        if first.draft.bound not in (None, Bound.WITHIN, Bound.SINCE):
            return first
        if at is None or first.draft.every is not None:
            return first
        last = self._read_at(at, self.reference)
        if last is None or last.draft.every is not None or last.draft.bound is not None:
            return first
        shared = _share_month_and_year(first.draft, last.draft)
        if shared != first.draft:
            start = resolve(shared, self.reference, first.mention.span)
            first = first if start is None else replace(first, mention=start)
        elif last.mention.anchor in (Anchor.INFERRED, Anchor.YEARLESS):
            after = replace(self.reference, now=first.mention.start, is_past=False)
            last = self._read_at(at, after) or last
        joined = join_range(first.mention, last.mention)
        return first if joined is None else _Found(first.draft, joined, last.end)

    def _range_end_at(self, index: int, end: int) -> int | None:
        """Return the index at which the end of a range would begin."""
        if end >= len(self.tokens):
            return None
        token = self.tokens[end]
        after = end + 2 if end + 1 < len(self.tokens) and self.tokens[end + 1].text in self.words.articles else end + 1
        if token.gap in (Gap.DASH, Gap.HYPHEN):
            return end
        is_between = self.tokens[index].text in self.words.between_words
        joins = token.text in self.words.to_words or (is_between and token.text in self.words.and_words)
        return after if joins and self.grammar.is_joined(self.tokens, end) and after < len(self.tokens) else None


def _share_month_and_year(first: Draft, last: Draft) -> Draft:
    """Return the start of a range with the month and the year that only its end names: "3 to 5 May 2026"."""
    if first.frame is not None or first.year is not None or last.month is None:
        return first
    if first.month is None:
        return first if first.day is None else replace(first, month=last.month, year=last.year)
    return replace(first, year=last.year)


def _day_of(token: Token) -> int | None:
    return token.number if 1 <= token.number <= _MAX_DAY else read_ordinal(token.text)
