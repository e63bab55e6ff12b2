"""English dates.

A date in digits has the month first, as in the United States, unless the first number exceeds 12.
"""

from __future__ import annotations

from gaia_memory.language.dates.date_words import DateWords
from gaia_memory.language.dates.draft import Share
from gaia_memory.language.dates.grammar import PhraseRow
from gaia_memory.language.dates.meanings import (
    WORKDAYS,
    adjacent,
    at_hour,
    clock,
    clock_fragment,
    clock_range,
    clock_with,
    clock_word,
    counted,
    day,
    every,
    fixed,
    fragment,
    limit,
    next_weekday,
    numeric,
    numeric_fragment,
    share,
    shifted_clock,
    stepped,
    stretch,
    weekday,
    weekday_fragment,
    written,
)
from gaia_memory.language.dates.mention import Bound, Frequency, Grain

_SHORT_MONTHS = {
    **{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10},
    **{"nov": 11, "dec": 12},
}
_MONTHS = {
    **{"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8},
    **{"september": 9, "october": 10, "november": 11, "december": 12},
    **_SHORT_MONTHS,
}
_WEEKDAYS = {"monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6}
_SHORT_WEEKDAYS = {
    **{"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6}
}
_UNITS = {
    **{"minute": Grain.MINUTE, "minutes": Grain.MINUTE, "min": Grain.MINUTE, "mins": Grain.MINUTE},
    **{"hour": Grain.HOUR, "hours": Grain.HOUR, "hrs": Grain.HOUR, "day": Grain.DAY, "days": Grain.DAY},
    **{"week": Grain.WEEK, "weeks": Grain.WEEK, "month": Grain.MONTH, "months": Grain.MONTH},
    **{"year": Grain.YEAR, "years": Grain.YEAR, "quarter": Grain.QUARTER, "quarters": Grain.QUARTER},
    "weekend": Grain.WEEKEND,
}
_NUMBERS = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8},
    **{"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30},
}
_ORDINALS = {
    **{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8},
    **{"ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15},
}
_DAYPARTS = {"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
_MERIDIEMS = {"am": "a", "pm": "p"}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_HOLIDAYS = {"christmas": (12, 25), "halloween": (10, 31)}
_HABITS = {f"{name}s": number for name, number in _WEEKDAYS.items()}
_MINUTES_OF_SPOKEN_TIMES = {
    **{"at|around? half past": 30, "at|around? a? quarter past": 15, "at|around? a? quarter to": -15},
    **{"at five past": 5, "at ten past": 10, "at twenty past": 20, "at five to": -5, "at ten to": -10},
    "at twenty to": -20,
}
_NOT_AMOUNT = (
    "!euros|euro|dollars|dollar|pounds|people|persons|words|steps|miles|metres|meters|km|kg|calories|points|pages"
    "|times|percent|members|copies|employees|residents|units|items|years|hours|minutes|days"
)

_DAYS_AND_PARTS: tuple[PhraseRow, ...] = (
    ("today", day(0)),
    ("tomorrow|tmrw|tmr", day(1)),
    ("yesterday", day(-1)),
    ("today week", day(7)),
    ("tomorrow week", day(8)),
    ("the? day after tomorrow", day(2)),
    ("the? day before yesterday", day(-2)),
    ("tonight", day(0, (18, 30))),
    ("last night", day(-1, (18, 30))),
    ("this {part}", day(0)),
    ("in the {part}", fragment),
    ("at? {part}", fragment),
)
_COUNT_ROWS: tuple[PhraseRow, ...] = (
    ("in about|around? {count} {unit} !of", counted(1)),
    ("km|kilometers|kilometres|miles|metres|meters|laps|pages in {count} {unit}", None),
    ("in a couple of? {unit}", counted(1, 2)),
    ("in a fortnight", counted(1, 2, counted_unit=Grain.WEEK)),
    ("in a fortnight s time", counted(1, 2, counted_unit=Grain.WEEK)),
    ("a fortnight ago", counted(-1, 2, counted_unit=Grain.WEEK)),
    ("in half an hour", counted(1, 30, counted_unit=Grain.MINUTE)),
    ("{count} {unit} from now|today", counted(1)),
    ("about|around? {count} {unit} ago today?", counted(-1)),
    ("a couple of? {unit} ago", counted(-1, 2)),
    ("for|over|in|during? the? last|past|previous {count} {unit}", stretch(-1)),
    ("for|over|in|during? the? next|coming {count} {unit}", stretch(1)),
)
_PERIODS: tuple[PhraseRow, ...] = (
    ("in|during|of? the? last|past|previous {period} !of|in|before", adjacent(-1)),
    ("in|during|of? the? next|coming {period} !of|in|door", adjacent(1)),
    ("in|during|of? this {period}", adjacent(0)),
    ("the {period} after next", adjacent(2)),
    ("the {period} before last", adjacent(-2)),
    ("at|on|over the weekend", adjacent(0, grain=Grain.WEEKEND)),
    ("the? end of the|this {period}", adjacent(0, Share.LATE)),
    ("the? beginning|start of the|this {period}", adjacent(0, Share.EARLY)),
    ("the? middle of the|this {period}", adjacent(0, Share.MIDDLE)),
    ("later this {period}", adjacent(0)),
    ("early", share(Share.EARLY)),
    ("mid", share(Share.MIDDLE)),
    ("late", share(Share.LATE)),
    ("in|at? the? beginning|start of", share(Share.EARLY)),
    ("in? the? middle of", share(Share.MIDDLE)),
    ("at? the? end of", share(Share.LATE)),
)
_WEEKDAY_ROWS: tuple[PhraseRow, ...] = (
    ("on? next {weekday}", next_weekday),
    ("next {short_weekday}", next_weekday),
    ("on? this {weekday}", weekday(0)),
    ("on? this? coming {weekday}", weekday(1)),
    ("on? the? last|past {weekday} !of|in", weekday(-1)),
    ("last {short_weekday}", weekday(-1)),
    ("on? {weekday} {part}?", weekday()),
    ("on? {weekday} week", weekday(2)),
    ("on? {weekday} fortnight", weekday(3)),
    ("a week on|from {weekday}", weekday(2)),
    ("a fortnight on|from {weekday}", weekday(3)),
    ("twice|times|hours|days|mornings|afternoons|evenings|nights a week", None),
    ("on {short_weekday}", weekday()),
    ("{short_weekday}", weekday_fragment),
    ("sat|sun|wed|fri|mon at|in|on|down|by|with|and|is|was", None),
    ("the|a sun|sat|fall|spring|march|second|may|mar", None),
    ("black|bloody|man|girl|good|ash|casual {weekday}", None),
    ("{weekday} times|addams|school|lunch", None),
)
_CALENDAR: tuple[PhraseRow, ...] = (
    ("in|during|throughout|of {month}", written),
    ("on? {month} the? {day}", written),
    ("on? the? {day} of? {month}", written),
    ("on? the? {day} of {month} {year}", written),
    ("on? {month} {days}", written),
    ("in? {month} of {year}", written),
    ("next {month}", stepped(1)),
    ("last {month}", stepped(-1)),
    ("this {month}", stepped(0)),
    ("month|year|months|years of {month}", None),
    ("{month} madness", None),
    ("at|on? {day} {month} street|road|avenue|lane|drive|square|court", None),
    ("on the? {ordinal_day} $", written),
    (
        "on|by the {ordinal_day} !of|floor|street|avenue|birthday|anniversary|page|row|day|night|week|month|year|"
        "try|weekend|attempt|time|date|hole|lap|mile|half|line|step|stage|round|visit|lesson|class|grade|century|platform",
        written,
    ),
    ("the {ordinal_day} of", fragment),
    ("on the? {ordinal_day} of", fragment),
    ("the {ordinal_day} $", fragment),
    (f"in|during|year|of {{year}} {_NOT_AMOUNT}", written),
    ("in|during|of? {years}", written),
    ("from|between {years}", written),
    ("on? {numeric}", numeric),
    ("on {short_date}", numeric),
    ("{short_date} $", numeric_fragment),
    ("in? the? {season} of {year}", written),
    ("next {season}", stepped(1)),
    ("last {season}", stepped(-1)),
    ("this {season}", stepped(0)),
    ("at|on|next|this {holiday} !tree|market|card|party|present|song|dinner", stepped(1)),
    ("last {holiday}", stepped(-1)),
    ("on? christmas eve", fixed(12, 24)),
    ("on? new year s? eve", fixed(12, 31)),
    ("on? new years eve", fixed(12, 31)),
    ("on? new year s? day", fixed(1, 1)),
)
_CLOCKS: tuple[PhraseRow, ...] = (
    ("at|around {clock}", clock),
    ("at|around? {clock} {meridiem}", clock),
    ("at|around? {clock} a m", clock_with(meridiem="a")),
    ("at|around? {clock} p m", clock_with(meridiem="p")),
    ("at|around? {hour} {meridiem}", clock),
    ("at|around? {hour} a m", clock_with(meridiem="a")),
    ("at|around? {hour} p m", clock_with(meridiem="p")),
    ("at|around? {hour} o clock", clock),
    ("at|around? {hour} in the {part}", clock),
    ("at {hour} at night", clock_with(part=(18, 30))),
    ("at {hour} $", clock),
    ("at {hour} &in|at|with|for|and|or|on|by|near|to|so|but|then|because", clock),
    ("{hour} o clock somewhere", None),
    (f"at {{hour}} {_NOT_AMOUNT}", clock_fragment),
    *(
        (f"{words} {{hour}} {ending}", shifted_clock(minutes, meridiem))
        for words, minutes in _MINUTES_OF_SPOKEN_TIMES.items()
        for ending, meridiem in (("{meridiem}?", ""), ("a m", "a"), ("p m", "p"))
    ),
    ("at|around noon|midday", at_hour(12)),
    ("at|around midnight", at_hour(24)),
    ("noon|midday", clock_word(12)),
    ("midnight", clock_word(24)),
    ("from? {days} {meridiem}", clock_range),
)
_RECURRENCE_ROWS: tuple[PhraseRow, ...] = (
    ("on? every|each {weekday}", every()),
    ("on? every other|second {weekday}", every(2)),
    ("on {habit}", every()),
    ("every|each {unit}", every()),
    ("every other|second {unit}", every(2)),
    ("every {count} {unit}", every()),
    ("every fortnight", every(2, Frequency.WEEKLY)),
    ("every|each {part}", every()),
    ("every weekday|workday", every(weekdays=WORKDAYS)),
    ("on weekdays", every(weekdays=WORKDAYS)),
    ("on? the? {ordinal_day} of every|each month", every(frequency=Frequency.MONTHLY)),
    ("every {month} {day}", every(frequency=Frequency.YEARLY)),
    ("every {day} of? {month}", every(frequency=Frequency.YEARLY)),
    ("every {month}", every(frequency=Frequency.YEARLY)),
    ("once a {unit}", every()),
    ("daily $", every(frequency=Frequency.DAILY)),
    ("daily at {hour} $", every(frequency=Frequency.DAILY)),
    ("daily at {clock}", every(frequency=Frequency.DAILY)),
)
_LIMITS: tuple[PhraseRow, ...] = (
    ("until|till|til|through|by the?", limit(Bound.UNTIL)),
    ("no later than", limit(Bound.UNTIL)),
    ("before the?", limit(Bound.BEFORE)),
    ("since the?", limit(Bound.SINCE)),
    ("as of|from", limit(Bound.SINCE)),
    ("from|starting|beginning on? the?", limit(Bound.SINCE)),
    ("after the?", limit(Bound.AFTER)),
    ("between the?", limit(Bound.WITHIN)),
)

_MARKERS = """
the i my is are was were and you we of to at on with have has had do does did what when where who that this it for will
me our your not he she they from
tomorrow yesterday today next last every
"""

ENGLISH = DateWords(
    rows=(*_DAYS_AND_PARTS, *_COUNT_ROWS, *_PERIODS, *_WEEKDAY_ROWS, *_CALENDAR, *_CLOCKS, *_RECURRENCE_ROWS, *_LIMITS),
    months=_MONTHS,
    bare_months=frozenset(("january", "february", "july", "september", "october", "november", "december")),
    weekdays=_WEEKDAYS,
    short_weekdays=_SHORT_WEEKDAYS,
    units=_UNITS,
    numbers=_NUMBERS,
    ordinals=_ORDINALS,
    dayparts=_DAYPARTS,
    seasons=_SEASONS,
    holidays=_HOLIDAYS,
    meridiems=_MERIDIEMS,
    markers=frozenset(_MARKERS.split()),
    to_words=frozenset(("to", "until", "till", "through")),
    between_words=frozenset(("between",)),
    and_words=frozenset(("and",)),
    from_words=frozenset(("from",)),
    since_words=frozenset(("since",)),
    articles=frozenset(("the",)),
    abbreviations=frozenset((*_SHORT_MONTHS, *_SHORT_WEEKDAYS, "a", "p", "m")),
    month_first=True,
    assumes_afternoon=True,
    extra_slots={"habit": _HABITS},
)
