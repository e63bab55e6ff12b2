"""The words of dates of one language, and the slots that phrases fill with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gaia_memory.language.dates import numeric_dates
from gaia_memory.language.dates.date_tokens import Token
from gaia_memory.language.dates.grammar import Grammar, PhraseRow, Slot
from gaia_memory.language.dates.meanings import clock_fragment, fragment, numeric, written
from gaia_memory.language.dates.mention import Grain
from gaia_memory.language.dates.numeric_dates import FIRST_YEAR, LAST_YEAR

_PERIODS = (Grain.WEEK, Grain.WEEKEND, Grain.MONTH, Grain.QUARTER, Grain.YEAR)
_MAX_COUNT, _MAX_HOUR, _MAX_MINUTE, _MAX_DAY = 999, 24, 59, 31
_ROWS_OF_EVERY_LANGUAGE: tuple[PhraseRow, ...] = (
    ("{bare_month}", written),
    ("{month}", fragment),
    ("{holiday}", fragment),
    ("{numeric}", numeric),
    ("{year}", fragment),
    ("{clock}", clock_fragment),
    ("{month} {day} {year}", written),
    ("{day} {month}", written),
    ("{day} {month} {year}", written),
    ("{days} {month} {year}?", written),
    ("{month} {year}", written),
    ("{season} {year}", written),
)


@dataclass(frozen=True, slots=True)
class DateWords:
    """The words of dates of one language, in folded form (`date_tokens.fold_text`), and its phrases.

    `abbreviations` may end with a dot inside a date. `markers` are frequent words that tell the language. `to_words`
    join the ends of a range, and after one of `between_words` also `and_words` do. `from_words` begin a range or mean
    "since"; `articles` may stand before its ends. What one of `since_words` begins is over or goes on: "since March".
    """

    rows: tuple[PhraseRow, ...]
    months: Mapping[str, int]
    bare_months: frozenset[str]
    weekdays: Mapping[str, int]
    short_weekdays: Mapping[str, int]
    units: Mapping[str, Grain]
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    dayparts: Mapping[str, tuple[int, int]]
    seasons: Mapping[str, int]
    holidays: Mapping[str, tuple[int, int]]
    markers: frozenset[str]
    to_words: frozenset[str]
    between_words: frozenset[str]
    and_words: frozenset[str]
    from_words: frozenset[str]
    since_words: frozenset[str]
    articles: frozenset[str]
    abbreviations: frozenset[str]
    month_first: bool = False
    assumes_afternoon: bool = False
    meridiems: Mapping[str, str] = field(default_factory=dict)
    extra_slots: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def build_grammar(self) -> Grammar:
        """Return the index of all phrases."""
        return Grammar(self.build_slots(), (*self.rows, *_ROWS_OF_EVERY_LANGUAGE), self.abbreviations)

    def build_slots(self) -> dict[str, Slot]:
        """Return the slots of the phrases by name."""
        hours = {word: number for word, number in self.numbers.items() if number <= 12}
        return {
            "count": Slot(self.numbers, partial(_between, 1, _MAX_COUNT)),
            "unit": Slot(self.units),
            "period": Slot({word: unit for word, unit in self.units.items() if unit in _PERIODS}),
            "weekday": Slot(self.weekdays),
            "short_weekday": Slot(self.short_weekdays),
            "month": Slot(self.months),
            "bare_month": Slot({word: self.months[word] for word in self.bare_months}),
            "day": Slot(self.ordinals, _read_day),
            "ordinal_day": Slot(self.ordinals, _read_ordinal_day),
            "days": Slot({}, _read_days),
            "year": Slot({}, partial(_between, FIRST_YEAR, LAST_YEAR)),
            "years": Slot({}, lambda token: numeric_dates.read_year_range(token.text)),
            "numeric": Slot({}, self._read_numeric),
            "short_date": Slot({}, self._read_short_date),
            "clock": Slot({}, lambda token: numeric_dates.read_clock(token.text)),
            "dotted_clock": Slot({}, lambda token: numeric_dates.read_dotted_clock(token.text)),
            "hour": Slot(hours, partial(_between, 0, _MAX_HOUR)),
            "minute": Slot({}, partial(_between, 0, _MAX_MINUTE)),
            "meridiem": Slot(self.meridiems),
            "part": Slot(self.dayparts),
            "season": Slot(self.seasons),
            "holiday": Slot(self.holidays),
            **{name: Slot(words) for name, words in self.extra_slots.items()},
        }

    def _read_numeric(self, token: Token) -> Any:
        if token.number >= 0:
            return None
        return numeric_dates.read_iso(token.text) or numeric_dates.read_date(token.text, month_first=self.month_first)

    def _read_short_date(self, token: Token) -> Any:
        if token.number >= 0:
            return None
        return numeric_dates.read_date(token.text, month_first=self.month_first, is_short=True)


def _between(low: int, high: int, token: Token) -> int | None:
    return token.number if low <= token.number <= high else None


def _read_day(token: Token) -> int | None:
    return _between(1, _MAX_DAY, token) or numeric_dates.read_ordinal(token.text)


def _read_ordinal_day(token: Token) -> int | None:
    """Read a day that cannot be a count: "3rd", or "3." with its dot."""
    return (_between(1, _MAX_DAY, token) if token.has_dot else None) or numeric_dates.read_ordinal(token.text)


def _read_days(token: Token) -> tuple[int, int] | None:
    found = numeric_dates.read_number_range(token.text)
    return found if found and found[1] <= _MAX_DAY and found[0] else None
