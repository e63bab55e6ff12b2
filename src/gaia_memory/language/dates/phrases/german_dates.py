"""German dates."""

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

_MORNING, _NIGHT = (6, 12), (22, 30)
_SHORT_MONTHS = {
    **{"jan": 1, "feb": 2, "mrz": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "okt": 10},
    **{"nov": 11, "dez": 12},
}
_MONTHS = {
    **{"januar": 1, "janner": 1, "februar": 2, "marz": 3, "maerz": 3, "april": 4, "mai": 5, "juni": 6, "juli": 7},
    **{"august": 8, "september": 9, "oktober": 10, "november": 11, "dezember": 12},
    **_SHORT_MONTHS,
}
_WEEKDAYS = {
    **{"montag": 0, "dienstag": 1, "mittwoch": 2, "donnerstag": 3, "freitag": 4, "samstag": 5, "sonnabend": 5},
    "sonntag": 6,
}
_SHORT_WEEKDAYS = {"mo": 0, "di": 1, "mi": 2, "do": 3, "fr": 4, "sa": 5, "so": 6}
_UNITS = {
    **{"minute": Grain.MINUTE, "minuten": Grain.MINUTE, "stunde": Grain.HOUR, "stunden": Grain.HOUR},
    **{"tag": Grain.DAY, "tage": Grain.DAY, "tagen": Grain.DAY, "woche": Grain.WEEK, "wochen": Grain.WEEK},
    **{"monat": Grain.MONTH, "monate": Grain.MONTH, "monaten": Grain.MONTH, "monats": Grain.MONTH},
    **{"jahr": Grain.YEAR, "jahre": Grain.YEAR, "jahren": Grain.YEAR, "jahres": Grain.YEAR},
    **{"quartal": Grain.QUARTER, "quartale": Grain.QUARTER, "quartals": Grain.QUARTER, "wochenende": Grain.WEEKEND},
}
_NUMBERS = {
    **{"ein": 1, "eine": 1, "einem": 1, "einer": 1, "einen": 1, "eins": 1, "zwei": 2, "drei": 3, "vier": 4},
    **{"funf": 5, "fuenf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwolf": 12},
    **{"zwoelf": 12, "vierzehn": 14, "zwanzig": 20, "dreissig": 30},
}
_ORDINALS = {
    **{"ersten": 1, "erster": 1, "zweiten": 2, "dritten": 3, "vierten": 4, "funften": 5, "sechsten": 6},
    **{"siebten": 7, "achten": 8, "neunten": 9, "zehnten": 10},
}
_PART_NAMES = {
    **{"fruh": _MORNING, "frueh": _MORNING, "vormittag": _MORNING, "mittag": (11, 14), "nachmittag": (12, 18)},
    **{"abend": (18, 24), "nacht": _NIGHT},
}
_DAYPARTS = {
    **_PART_NAMES,
    **{"morgens": _MORNING, "vormittags": _MORNING, "mittags": (11, 14), "nachmittags": (12, 18)},
    **{"abends": (18, 24), "nachts": _NIGHT},
}
_COMPOUND_WEEKDAYS = {
    weekday_name + part: (number, hours)
    for weekday_name, number in _WEEKDAYS.items()
    for part, hours in {**_PART_NAMES, "morgen": _MORNING}.items()
}
_SEASONS = {"fruhling": 3, "fruehling": 3, "fruhjahr": 3, "sommer": 6, "herbst": 9, "winter": 12}
_HOLIDAYS = {"weihnachten": (12, 25), "halloween": (10, 31)}
_HABITS = {f"{name}s": number for name, number in _WEEKDAYS.items()}
_NEAREST_WORDS = "nachste|nachsten|nachster|nachstes|nachstem|naechste|naechsten|naechster|naechstes"
_COMING_WORDS = "kommende|kommenden|kommender|kommendes"
_NEXT_WORDS = f"{_NEAREST_WORDS}|{_COMING_WORDS}"
_LAST_WORDS = (
    "letzte|letzten|letzter|letztes|letztem|vergangene|vergangenen|vergangener|vergangenes"
    "|vorige|vorigen|voriger|voriges"
)
_THIS_WORDS = "diese|diesen|dieser|dieses|diesem"
_AFTER_NEXT_WORDS = "ubernachste|ubernachsten|ubernachster|ubernachstes|uebernachste|uebernaechste|uebernaechsten"
_BEFORE_LAST_WORDS = "vorletzte|vorletzten|vorletzter|vorletztes"
_EVERY_WORDS = "jeden|jede|jedes|jeder|jedem"

_NOT_AMOUNT = "!prozent|euro|dollar|meter|km|kg|grad|punkte|leute|personen|stunden|minuten|tage|cm"

_DAYS_AND_PARTS: tuple[PhraseRow, ...] = (
    ("heute", day(0)),
    ("morgen", day(1)),
    ("ubermorgen|uebermorgen", day(2)),
    ("gestern", day(-1)),
    ("vorgestern", day(-2)),
    ("heute morgen", day(0, _MORNING)),
    ("gestern morgen", day(-1, _MORNING)),
    ("ubermorgen|uebermorgen fruh", day(2, _MORNING)),
    ("heute {part}", day(0)),
    ("gestern {part}", day(-1)),
    ("morgen {part}", day(1)),
    ("letzte nacht", day(-1, _NIGHT)),
    ("{part}", fragment),
    ("am|zu|in {part}", fragment),
    ("am morgen", None),
    ("guten|schonen|der|den|die|des|dem|eines|einen|jeder|ein|kein|diesem|fruhen morgen", None),
)
_COUNT_ROWS: tuple[PhraseRow, ...] = (
    ("km|kilometer|meter|runden|seiten in {count} {unit}", None),
    ("heute? in etwa|ungefahr? {count} {unit}", counted(1)),
    ("in einer halben stunde", counted(1, 30, counted_unit=Grain.MINUTE)),
    ("vor etwa|ungefahr|ca? {count} {unit}", counted(-1)),
    ("seit etwa|ungefahr|uber? {count} {unit}", counted(-1, bound=Bound.SINCE)),
    ("in? den|die? letzten|vergangenen {count} {unit}", stretch(-1)),
    ("in? den|die? nachsten|naechsten|kommenden {count} {unit}", stretch(1)),
)
_PERIODS: tuple[PhraseRow, ...] = (
    (f"im|in|am? der|die|das|den|dem|des? {_LAST_WORDS} {{period}}", adjacent(-1)),
    (f"im|in|am? der|die|das|den|dem|des? {_NEXT_WORDS} {{period}}", adjacent(1)),
    (f"in|an? {_THIS_WORDS} {{period}}", adjacent(0)),
    (f"im|in|am? der|die|das|den|dem? {_AFTER_NEXT_WORDS} {{period}}", adjacent(2)),
    (f"im|in|am? der|die|das|den|dem? {_BEFORE_LAST_WORDS} {{period}}", adjacent(-2)),
    ("am|ubers|uebers wochenende", adjacent(0, grain=Grain.WEEKEND)),
    ("ende des|der|dieses|dieser {period}", adjacent(0, Share.LATE)),
    ("anfang des|der|dieses|dieser {period}", adjacent(0, Share.EARLY)),
    ("mitte des|der|dieses|dieser {period}", adjacent(0, Share.MIDDLE)),
    ("anfang", share(Share.EARLY)),
    ("mitte", share(Share.MIDDLE)),
    ("ende", share(Share.LATE)),
)
_WEEKDAY_ROWS: tuple[PhraseRow, ...] = (
    (f"am|an|den|der? {_NEAREST_WORDS} {{weekday}}", next_weekday),
    (f"am|an|den|der? {_COMING_WORDS} {{weekday}}", weekday(1)),
    (f"am|an|den|der? {_LAST_WORDS} {{weekday}}", weekday(-1)),
    (f"an|am? {_THIS_WORDS} {{weekday}}", weekday(0)),
    (f"am|den? {_AFTER_NEXT_WORDS} {{weekday}}", weekday(2)),
    ("am? {weekday}", weekday()),
    ("am? {weekday} {part}", weekday()),
    ("am? {weekday} morgen", weekday(part=_MORNING)),
    ("am? {weekday_part}", weekday()),
    (f"{_NEAREST_WORDS} {{weekday_part}}", next_weekday),
    (f"{_COMING_WORDS} {{weekday_part}}", weekday(1)),
    (f"{_LAST_WORDS} {{weekday_part}}", weekday(-1)),
    ("{short_weekday}", weekday_fragment),
)
_CALENDAR: tuple[PhraseRow, ...] = (
    ("im {month}", written),
    ("am|den? {day} {month}", written),
    ("am|den? {day} {month} {year}", written),
    ("im? {month} {year}", written),
    (f"im|am? {_NEXT_WORDS} {{month}}", stepped(1)),
    (f"im|am? {_LAST_WORDS} {{month}}", stepped(-1)),
    (f"in? {_THIS_WORDS} {{month}}", stepped(0)),
    ("am|zum|vom|den {ordinal_day} !stock|tag|mal|platz|versuch|spieltag|geburtstag|jahrestag|etage|kapitel", written),
    ("am|den {ordinal_day}", fragment),
    ("{ordinal_day} $", fragment),
    ("in|im jahr|jahre {year}", written),
    ("im {year}", written),
    ("in {year} $", written),
    ("{year} &geboren|bin|war|waren|habe|haben|hat|hatte|wurde|wurden|ist|sind|gab|ging|kam", written),
    ("in|von|aus? {years} $", written),
    ("am|den? {numeric}", numeric),
    ("am|den|zum {short_date}", numeric),
    ("{short_date}", numeric_fragment),
    ("im {season} {year}", written),
    (f"im|in? {_NEXT_WORDS} {{season}}", stepped(1)),
    (f"im|in? {_LAST_WORDS} {{season}}", stepped(-1)),
    (f"in|im? {_THIS_WORDS} {{season}}", stepped(0)),
    ("an|zu {holiday}", written),
    (f"{_NEXT_WORDS} {{holiday}}", stepped(1)),
    (f"{_LAST_WORDS} {{holiday}}", stepped(-1)),
    ("an|am? heiligabend|heilig", fixed(12, 24)),
    ("an? silvester", fixed(12, 31)),
    ("an? neujahr", fixed(1, 1)),
)
_CLOCKS: tuple[PhraseRow, ...] = (
    ("um|gegen {clock} uhr?", clock),
    ("um|gegen? {clock} uhr {part}?", clock),
    ("um|gegen? {dotted_clock} uhr {part}?", clock),
    ("um|gegen? {hour} uhr {part}?", clock),
    ("um|gegen? {hour} uhr {minute}", clock),
    ("um|gegen {hour} $", clock),
    ("um|gegen {hour} &am|im|in|bei|beim|vor|mit|auf|zum|zur|an|und|oder|los|da|weg|fertig|zu", clock),
    (f"um|gegen {{hour}} {_NOT_AMOUNT}", clock_fragment),
    ("um|gegen {hour} {part}", clock),
    ("um|gegen? halb {hour} {part}?", shifted_clock(-30)),
    ("um|gegen? viertel nach {hour}", shifted_clock(15)),
    ("um|gegen? viertel vor {hour}", shifted_clock(-15)),
    ("um|gegen? dreiviertel {hour}", shifted_clock(-15)),
    ("um mitternacht", at_hour(24)),
    ("mitternacht", clock_word(24)),
    ("von? {days} uhr", clock_range),
)
_RECURRENCE_ROWS: tuple[PhraseRow, ...] = (
    (f"{_EVERY_WORDS} {{weekday}} {{part}}?", every()),
    (f"{_EVERY_WORDS} {{weekday_part}}", every()),
    (f"{_EVERY_WORDS} zweiten|zweite|zweites {{weekday}}", every(2)),
    (f"{_EVERY_WORDS} zweiten|zweite|zweites {{unit}}", every(2)),
    (f"{_EVERY_WORDS} {{unit}}", every()),
    (f"{_EVERY_WORDS} {{part}}", every()),
    (f"{_EVERY_WORDS} morgen", every(part=_MORNING)),
    ("alle {count} {unit}", every()),
    ("immer? {habit}", every()),
    ("immer am {weekday}", every()),
    ("werktags|wochentags", every(weekdays=WORKDAYS)),
    ("an werktagen|wochentagen", every(weekdays=WORKDAYS)),
    ("taglich|taeglich", every(frequency=Frequency.DAILY)),
    ("einmal|1x am|pro|die|im {unit}", every()),
    ("am {ordinal_day} jedes|jeden monats|monat", every(frequency=Frequency.MONTHLY)),
    ("jeden {day} {month}", every(frequency=Frequency.YEARLY)),
    ("jedes jahr im {month}", every(frequency=Frequency.YEARLY)),
)
_LIMITS: tuple[PhraseRow, ...] = (
    ("bis spatestens|einschliesslich|inklusive? zum|zur|zu|in|im|am|den|die|das|der?", limit(Bound.UNTIL)),
    ("spatestens bis? zum|am|zu?", limit(Bound.UNTIL)),
    ("vor dem|der|den?", limit(Bound.BEFORE)),
    ("seit dem|der|den?", limit(Bound.SINCE)),
    ("ab dem|der|den?", limit(Bound.SINCE)),
    ("von dem|der?", limit(Bound.SINCE)),
    ("vom", limit(Bound.WITHIN)),
    ("zwischen dem|der?", limit(Bound.WITHIN)),
    ("nach dem|der?", limit(Bound.AFTER)),
)

_MARKERS = """
ich du er sie es wir ihr der das den dem des und oder ist bin war sind habe hat mein meine mir mich im am um zum zur bei
mit auf fur von nicht kein wann wo wer wie bis seit nach uhr ein eine einen noch auch
morgen gestern heute jeden nachste letzte
"""

GERMAN = DateWords(
    rows=(*_DAYS_AND_PARTS, *_COUNT_ROWS, *_PERIODS, *_WEEKDAY_ROWS, *_CALENDAR, *_CLOCKS, *_RECURRENCE_ROWS, *_LIMITS),
    months=_MONTHS,
    bare_months=frozenset(_MONTHS) - frozenset(_SHORT_MONTHS) - {"mai", "april", "juni", "august"},
    weekdays=_WEEKDAYS,
    short_weekdays=_SHORT_WEEKDAYS,
    units=_UNITS,
    numbers=_NUMBERS,
    ordinals=_ORDINALS,
    dayparts=_DAYPARTS,
    seasons=_SEASONS,
    holidays=_HOLIDAYS,
    markers=frozenset(_MARKERS.split()),
    to_words=frozenset(("bis",)),
    between_words=frozenset(("zwischen",)),
    and_words=frozenset(("und",)),
    from_words=frozenset(("von", "vom")),
    since_words=frozenset(("seit",)),
    articles=frozenset(("dem", "den", "der", "zum")),
    abbreviations=frozenset((*_SHORT_MONTHS, *_SHORT_WEEKDAYS)),
    extra_slots={"habit": _HABITS, "weekday_part": _COMPOUND_WEEKDAYS},
)
