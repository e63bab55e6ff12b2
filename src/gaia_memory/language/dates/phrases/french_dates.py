"""French dates.

The words are folded like the text: without accents, except "\u00e0", which differs from the verb "a".
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
    clock_range,
    clock_with,
    clock_word,
    counted,
    day,
    every,
    fixed,
    fragment,
    limit,
    limit_day,
    next_weekday,
    numeric,
    numeric_fragment,
    share,
    shifted_clock,
    stepped,
    stretch,
    weekday,
    written,
)
from gaia_memory.language.dates.mention import Bound, Frequency, Grain

_MORNING, _AFTERNOON, _EVENING, _NIGHT = (6, 12), (12, 18), (18, 24), (22, 30)
_SHORT_MONTHS = {"janv": 1, "fevr": 2, "avr": 4, "juil": 7, "sept": 9, "oct": 10, "nov": 11, "dec": 12}
_MONTHS = {
    **{"janvier": 1, "fevrier": 2, "mars": 3, "avril": 4, "mai": 5, "juin": 6, "juillet": 7, "aout": 8},
    **{"septembre": 9, "octobre": 10, "novembre": 11, "decembre": 12},
    **_SHORT_MONTHS,
}
_WEEKDAYS = {"lundi": 0, "mardi": 1, "mercredi": 2, "jeudi": 3, "vendredi": 4, "samedi": 5, "dimanche": 6}
_UNITS = {
    **{"minute": Grain.MINUTE, "minutes": Grain.MINUTE, "heure": Grain.HOUR, "heures": Grain.HOUR},
    **{"jour": Grain.DAY, "jours": Grain.DAY, "semaine": Grain.WEEK, "semaines": Grain.WEEK, "mois": Grain.MONTH},
    **{"an": Grain.YEAR, "ans": Grain.YEAR, "annee": Grain.YEAR, "annees": Grain.YEAR},
    **{"trimestre": Grain.QUARTER, "trimestres": Grain.QUARTER, "weekend": Grain.WEEKEND},
}
_NUMBERS = {
    **{"un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "six": 6, "sept": 7, "huit": 8, "neuf": 9},
    **{"dix": 10, "onze": 11, "douze": 12, "quinze": 15, "vingt": 20, "trente": 30},
}
_DAYPARTS = {"matin": _MORNING, "midi": (11, 14), "soir": _EVENING, "soiree": _EVENING, "nuit": _NIGHT}
_SEASONS = {"printemps": 3, "ete": 6, "automne": 9, "hiver": 12}
_HOLIDAYS = {"noel": (12, 25), "halloween": (10, 31)}
_HABITS = {f"{name}s": number for name, number in _WEEKDAYS.items()} | _WEEKDAYS
_NEXT_WORDS = "prochain|prochaine"
_LAST_WORDS = "dernier|derniere|passe|passee"

_DAYS_AND_PARTS: tuple[PhraseRow, ...] = (
    ("aujourd hui", day(0)),
    ("d|qu? hier", day(-1)),
    ("d|de? demain", day(1)),
    ("apres demain", day(2)),
    ("avant hier", day(-2)),
    ("ce|cette {part}", day(0)),
    ("cet|cette apres midi", day(0, _AFTERNOON)),
    ("la nuit derniere", day(-1, _NIGHT)),
    ("{part}", fragment),
    ("dans|pendant la? {part}", fragment),
    ("apres midi", lambda values, reference: fragment({"part": _AFTERNOON}, reference)),
)
_COUNT_ROWS: tuple[PhraseRow, ...] = (
    ("dans environ? {count} {unit} !de|du", counted(1)),
    ("dans une demi heure", counted(1, 30, counted_unit=Grain.MINUTE)),
    ("il y a environ|presque? {count} {unit}", counted(-1)),
    ("y a environ|presque? {count} {unit}", counted(-1)),
    ("d ici {count} {unit}", counted(1, bound=Bound.UNTIL)),
    ("depuis environ|plus? {count} {unit}", counted(-1, bound=Bound.SINCE)),
    ("depuis plus|pres de|d {count} {unit}", counted(-1, bound=Bound.SINCE)),
    ("ces|les? {count} dernieres|derniers {unit}", stretch(-1)),
    ("les? {count} prochaines|prochains {unit}", stretch(1)),
)
_PERIODS: tuple[PhraseRow, ...] = (
    (f"de|dans|pendant? la|le|l|au|du? {{period}} {_LAST_WORDS}", adjacent(-1)),
    (f"de|dans|pendant? la|le|l|au|du? {{period}} {_NEXT_WORDS}", adjacent(1)),
    ("de|dans|pendant? la|le|l|au|du? {period} qui vient", adjacent(1)),
    ("de|dans|pendant? ce|cet|cette {period}", adjacent(0)),
    ("fin du|de? l|la|cette? {period}", adjacent(0, Share.LATE)),
    ("\u00e0? la fin du|de l|la|cette? {period}", adjacent(0, Share.LATE)),
    ("debut du|de? l|la|cette? {period}", adjacent(0, Share.EARLY)),
    ("au|le? debut du|de l|la|cette? {period}", adjacent(0, Share.EARLY)),
    ("milieu du|de l|la|cette? {period}", adjacent(0, Share.MIDDLE)),
    ("debut", share(Share.EARLY)),
    ("au debut de|du", share(Share.EARLY)),
    ("mi", share(Share.MIDDLE)),
    ("au? milieu de|du", share(Share.MIDDLE)),
    ("fin", share(Share.LATE)),
    ("\u00e0? la fin de|du", share(Share.LATE)),
)
_WEEKEND_ROWS: tuple[PhraseRow, ...] = (
    (f"le? week end {_NEXT_WORDS}", adjacent(1, grain=Grain.WEEKEND)),
    (f"le? week end {_LAST_WORDS}", adjacent(-1, grain=Grain.WEEKEND)),
    ("ce week end", adjacent(0, grain=Grain.WEEKEND)),
)
_WEEKDAY_ROWS: tuple[PhraseRow, ...] = (
    (f"le|de? {{weekday}} {_NEXT_WORDS}", next_weekday),
    (f"le|de? {{weekday}} {_LAST_WORDS}", weekday(-1)),
    ("ce {weekday}", weekday(0)),
    ("{weekday}", weekday()),
    ("{weekday} {part}", weekday()),
    ("{weekday} apres midi", weekday(part=_AFTERNOON)),
    ("le {habit} {part}?", every()),
    ("le {weekday} {day} {month}", written),
    ("le {weekday} {day} {month} {year}", written),
    ("{weekday} saint", None),
)
_CALENDAR: tuple[PhraseRow, ...] = (
    ("en|d {month}", written),
    ("au|du? mois de|d {month}", written),
    ("le|du|l? {day} {month}", written),
    ("le|du|l? {day} {month} {year}", written),
    ("en? {month} {year}", written),
    (f"en? {{month}} {_NEXT_WORDS}", stepped(1)),
    (f"en? {{month}} {_LAST_WORDS}", stepped(-1)),
    ("le {ordinal_day} du|de", fragment),
    ("le {day}", fragment),
    ("en {year} !euros|personnes", written),
    ("en? l an|annee {year}", written),
    ("en|de? {years} $", written),
    ("le|du|au? {numeric}", numeric),
    ("le|du|au {short_date}", numeric),
    ("{short_date} $", numeric_fragment),
    ("\u00e0|en|au|l|pendant? l? {season} {year}", written),
    ("\u00e0|pendant? l|le? {season} dernier", stepped(-1)),
    ("\u00e0|pendant? l|le? {season} prochain", stepped(1)),
    ("cet {season}", stepped(0)),
    ("\u00e0|pour {holiday}", written),
    ("{holiday} prochain", stepped(1)),
    ("{holiday} dernier", stepped(-1)),
    ("la? veille de noel", fixed(12, 24)),
    ("le? reveillon de noel", fixed(12, 24)),
    ("la saint sylvestre", fixed(12, 31)),
    ("au|le nouvel an", fixed(1, 1)),
    ("le jour de l an", fixed(1, 1)),
)
_AT_WORDS = "\u00e0|vers|des"
_CLOCKS: tuple[PhraseRow, ...] = (
    (f"{_AT_WORDS} {{clock}}", clock),
    (f"{_AT_WORDS}? {{clock}} du|de {{part}}", clock),
    (f"{_AT_WORDS}? {{clock}} de l apres midi", clock_with(part=_AFTERNOON)),
    (f"{_AT_WORDS} {{hour}} heure|heures {{minute}}?", clock),
    (f"{_AT_WORDS} {{hour}} heure|heures du|de {{part}}", clock),
    (f"{_AT_WORDS} {{hour}} heure|heures de l apres midi", clock_with(part=_AFTERNOON)),
    ("{hour} heures du {part}", clock),
    (f"{_AT_WORDS} {{hour}} heure|heures et demie|demi", shifted_clock(30)),
    (f"{_AT_WORDS} {{hour}} heure|heures et quart", shifted_clock(15)),
    (f"{_AT_WORDS} {{hour}} heure|heures trente", shifted_clock(30)),
    (f"{_AT_WORDS} midi", at_hour(12)),
    (f"{_AT_WORDS} minuit", at_hour(24)),
    ("minuit", clock_word(24)),
    ("{days} heures", clock_range),
)
_RECURRENCE_ROWS: tuple[PhraseRow, ...] = (
    ("chaque {weekday} {part}?", every()),
    ("chaque {unit}", every()),
    ("chaque {part}", every()),
    ("tous|toutes les {habit} {part}?", every()),
    ("tous|toutes les {unit}", every()),
    ("tous|toutes les {count} {unit}", every()),
    ("tous les {part}", every()),
    ("tous les matins", every(part=_MORNING)),
    ("tous les soirs", every(part=_EVENING)),
    ("un {weekday} sur deux", every(2)),
    ("en semaine", every(weekdays=WORKDAYS)),
    ("une fois par {unit}", every()),
    ("quotidiennement", every(frequency=Frequency.DAILY)),
    ("le {day} de chaque mois", every(frequency=Frequency.MONTHLY)),
    ("tous|chaque les? ans|annee en {month}", every(frequency=Frequency.YEARLY)),
)
_LIMITS: tuple[PhraseRow, ...] = (
    ("jusqu \u00e0|a|au|en|aux le|la|l?", limit(Bound.UNTIL)),
    ("jusque|jusqu", limit(Bound.UNTIL)),
    ("d ici \u00e0|a|au|le? la|le|l?", limit(Bound.UNTIL)),
    ("pour le", limit(Bound.UNTIL)),
    ("au plus tard", limit(Bound.UNTIL)),
    ("avant le|la|l?", limit(Bound.BEFORE)),
    ("depuis le|la|l?", limit(Bound.SINCE)),
    ("\u00e0|a partir de|du|d la|l?", limit(Bound.SINCE)),
    ("des le|la|l?", limit(Bound.SINCE)),
    ("du|de|d", limit(Bound.WITHIN)),
    ("jusqu au {day} $", limit_day(Bound.UNTIL)),
    ("avant le {day} $", limit_day(Bound.BEFORE)),
    ("entre le|la|l?", limit(Bound.WITHIN)),
    ("apres le|la|l?", limit(Bound.AFTER)),
)
_MARKERS = """
je tu il elle nous vous ils elles le la les l des et ou est suis sont etait ai as avons avez mon ma mes me moi mon du au
aux avec pour dans sur pas que qui quand quoi j c d qu ce cette chez chaque tous une \u00e0 y ne n
demain aujourd apres
"""

FRENCH = DateWords(
    rows=(
        *(*_DAYS_AND_PARTS, *_COUNT_ROWS, *_PERIODS, *_WEEKEND_ROWS, *_WEEKDAY_ROWS, *_CALENDAR, *_CLOCKS),
        *(*_RECURRENCE_ROWS, *_LIMITS),
    ),
    months=_MONTHS,
    bare_months=frozenset(_MONTHS) - frozenset(_SHORT_MONTHS) - {"mars", "mai", "avril", "aout"},
    weekdays=_WEEKDAYS,
    short_weekdays={},
    units=_UNITS,
    numbers=_NUMBERS,
    ordinals={"premier": 1},
    dayparts=_DAYPARTS,
    seasons=_SEASONS,
    holidays=_HOLIDAYS,
    markers=frozenset(_MARKERS.split()),
    to_words=frozenset(("\u00e0", "au", "jusqu")),
    between_words=frozenset(("entre",)),
    and_words=frozenset(("et",)),
    from_words=frozenset(("du", "de", "d")),
    since_words=frozenset(("depuis",)),
    articles=frozenset(("le", "la", "l", "au")),
    abbreviations=frozenset(_SHORT_MONTHS),
    extra_slots={"habit": _HABITS},
)
