"""Spanish dates."""

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

_MORNING, _AFTERNOON, _NIGHT = (5, 12), (12, 21), (20, 30)
_SHORT_MONTHS = {"ene": 1, "feb": 2, "abr": 4, "jun": 6, "jul": 7, "ago": 8, "sept": 9, "oct": 10, "nov": 11, "dic": 12}
_MONTHS = {
    **{"enero": 1, "febrero": 2, "marzo": 3, "abril": 4, "mayo": 5, "junio": 6, "julio": 7, "agosto": 8},
    **{"septiembre": 9, "setiembre": 9, "octubre": 10, "noviembre": 11, "diciembre": 12},
    **_SHORT_MONTHS,
}
_WEEKDAYS = {"lunes": 0, "martes": 1, "miercoles": 2, "jueves": 3, "viernes": 4, "sabado": 5, "domingo": 6}
_UNITS = {
    **{"minuto": Grain.MINUTE, "minutos": Grain.MINUTE, "hora": Grain.HOUR, "horas": Grain.HOUR},
    **{"dia": Grain.DAY, "dias": Grain.DAY, "semana": Grain.WEEK, "semanas": Grain.WEEK},
    **{"mes": Grain.MONTH, "meses": Grain.MONTH, "ano": Grain.YEAR, "anos": Grain.YEAR},
    **{"trimestre": Grain.QUARTER, "trimestres": Grain.QUARTER},
}
_NUMBERS = {
    **{"un": 1, "una": 1, "uno": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8},
    **{"nueve": 9, "diez": 10, "once": 11, "doce": 12, "quince": 15, "veinte": 20, "treinta": 30},
}
_DAYPARTS = {"manana": _MORNING, "tarde": _AFTERNOON, "noche": _NIGHT, "madrugada": (0, 6)}
_SEASONS = {"primavera": 3, "verano": 6, "otono": 9, "invierno": 12}
_HOLIDAYS = {"navidad": (12, 25), "halloween": (10, 31)}
_HABITS = {**_WEEKDAYS, "sabados": 5, "domingos": 6}
_NEXT_WORDS = "proximo|proxima"
_LAST_WORDS = "pasado|pasada|ultimo|ultima"

_DAYS_AND_PARTS: tuple[PhraseRow, ...] = (
    ("hoy", day(0)),
    ("manana", day(1)),
    ("pasado manana", day(2)),
    ("ayer", day(-1)),
    ("anteayer|antier", day(-2)),
    ("antes de ayer", day(-2)),
    ("anoche", day(-1, (18, 30))),
    ("esta {part}", day(0)),
    ("hoy por|en la {part}", day(0)),
    ("por|en|de la {part}", fragment),
    ("al mediodia", at_hour(12)),
    ("la|las|una|cada|buena manana|mananas", None),
    ("por la manana|tarde|noche $", None),
)
_COUNT_ROWS: tuple[PhraseRow, ...] = (
    ("en|dentro unos|unas? {count} {unit}", counted(1)),
    ("dentro de unos|unas? {count} {unit}", counted(1)),
    ("en|dentro de? media hora", counted(1, 30, counted_unit=Grain.MINUTE)),
    ("hace unos|unas|casi? {count} {unit}", counted(-1)),
    ("desde hace unos|unas|casi|mas? {count} {unit}", counted(-1, bound=Bound.SINCE)),
    ("desde hace mas de {count} {unit}", counted(-1, bound=Bound.SINCE)),
    ("en|durante? los|las? ultimos|ultimas {count} {unit}", stretch(-1)),
    ("en|durante? los|las? proximos|proximas {count} {unit}", stretch(1)),
)
_PERIODS: tuple[PhraseRow, ...] = (
    ("en|de|durante? el|la|del|al? {period} pasado|pasada", adjacent(-1)),
    (f"en|de|durante? el|la|del|al? {{period}} {_NEXT_WORDS}", adjacent(1)),
    ("en|de|durante? el|la|del|al? {period} que viene", adjacent(1)),
    (f"en|de|durante? el|la|del|al? {_NEXT_WORDS} {{period}}", adjacent(1)),
    ("en|de|durante? el|la|del|al? pasado|pasada {period}", adjacent(-1)),
    ("en|de|durante? este|esta {period}", adjacent(0)),
    ("a? finales|final|fines|fin del|de|de la? {period}", adjacent(0, Share.LATE)),
    ("a? finales|final|fines|fin de la|este|esta {period}", adjacent(0, Share.LATE)),
    ("a? principios|comienzos|inicios del|de la|este|esta? {period}", adjacent(0, Share.EARLY)),
    ("a? mediados del|de la|este|esta? {period}", adjacent(0, Share.MIDDLE)),
    ("a? principios|comienzos|inicios de|del", share(Share.EARLY)),
    ("a? mediados de|del", share(Share.MIDDLE)),
    ("a? finales|fines de|del", share(Share.LATE)),
)
_WEEKENDS: tuple[PhraseRow, ...] = (
    ("en|durante? este fin de semana", adjacent(0, grain=Grain.WEEKEND)),
    ("el fin de semana", adjacent(0, grain=Grain.WEEKEND)),
    ("el? fin de semana pasado", adjacent(-1, grain=Grain.WEEKEND)),
    ("el? pasado|ultimo fin de semana", adjacent(-1, grain=Grain.WEEKEND)),
    ("el? proximo fin de semana", adjacent(1, grain=Grain.WEEKEND)),
    ("el? fin de semana que viene", adjacent(1, grain=Grain.WEEKEND)),
    ("el? fin de semana proximo", adjacent(1, grain=Grain.WEEKEND)),
)
_WEEKDAY_ROWS: tuple[PhraseRow, ...] = (
    (f"el? {{weekday}} {_NEXT_WORDS}", next_weekday),
    ("el? {weekday} que viene", next_weekday),
    (f"el? {_NEXT_WORDS} {{weekday}}", next_weekday),
    ("el? {weekday} pasado", weekday(-1)),
    ("el? pasado|ultimo {weekday}", weekday(-1)),
    ("este {weekday}", weekday(0)),
    ("el {weekday}", weekday()),
    ("{bare_weekday}", weekday()),
    ("el {weekday} por la {part}", weekday()),
    ("el {weekday} a mediodia", weekday()),
    ("{weekday} santo", None),
)
_CALENDAR: tuple[PhraseRow, ...] = (
    ("en {month}", written),
    ("el|del|al? mes de {month}", written),
    ("el|del|al? {day} de|del? {month}", written),
    ("el|del|al? {day} de|del? {month} de|del? {year}", written),
    ("en? {month} de|del? {year}", written),
    ("el|en? {month} pasado", stepped(-1)),
    ("el|en? proximo {month}", stepped(1)),
    ("el dia {day} !de", written),
    ("el dia {day}", fragment),
    ("en {year} !euros|personas|pesos", written),
    ("en|de? el? ano {year}", written),
    ("en|de? {years} $", written),
    ("del? {year}", fragment),
    ("el|del|al? {numeric}", numeric),
    ("el|del|al {short_date}", numeric),
    ("{short_date} $", numeric_fragment),
    ("en? el|la? {season} de|del {year}", written),
    ("en? el|la? {season} pasado|pasada", stepped(-1)),
    ("en? el|la? pasado|pasada {season}", stepped(-1)),
    ("en? el|la? {season} que viene", stepped(1)),
    ("en? el|la? proximo|proxima {season}", stepped(1)),
    ("este|esta {season}", stepped(0)),
    ("en|para|por {holiday}", written),
    ("el dia de navidad", fixed(12, 25)),
    ("la|proxima navidad pasada", stepped(-1)),
    ("en? nochebuena", fixed(12, 24)),
    ("en? nochevieja", fixed(12, 31)),
    ("en? ano nuevo", fixed(1, 1)),
)
_CLOCKS: tuple[PhraseRow, ...] = (
    ("a|hacia la|las {hour} de|por la {part}", clock),
    ("a|hacia la|las {hour} $", clock),
    ("a|hacia la|las {hour} !personas|veces", clock_fragment),
    ("a|hacia la|las {hour} en punto", clock),
    ("a|hacia la|las {clock}", clock),
    ("a|hacia la|las {clock} de|por la {part}", clock),
    ("a|hacia la|las {clock} h|hs|horas", clock),
    ("a|hacia la|las {hour} h|hs|horas", clock),
    ("a|hacia la|las {hour} y media", shifted_clock(30)),
    ("a|hacia la|las {hour} y media de|por la {part}", shifted_clock(30)),
    ("a|hacia la|las {hour} y cuarto", shifted_clock(15)),
    ("a|hacia la|las {hour} menos cuarto", shifted_clock(-15)),
    ("a|hacia la|las {hour} {meridiem}", clock),
    ("a|hacia? {clock} {meridiem}", clock),
    ("a medianoche", at_hour(24)),
    ("a mediodia", at_hour(12)),
    ("mediodia", clock_word(12)),
    ("medianoche", clock_word(24)),
)
_RECURRENCE_ROWS: tuple[PhraseRow, ...] = (
    ("cada {weekday}", every()),
    ("cada {unit}", every()),
    ("cada {count} {unit}", every()),
    ("cada {part}", every()),
    ("todos|todas los|las {habit}", every()),
    ("todos|todas los|las {unit}", every()),
    ("todas las mananas", every(part=_MORNING)),
    ("todas las tardes", every(part=_AFTERNOON)),
    ("todas las noches", every(part=_NIGHT)),
    ("los {habit}", every()),
    ("los {habit} por la {part}", every()),
    ("entre semana", every(weekdays=WORKDAYS)),
    ("una vez al|a la? {unit}", every()),
    ("diariamente", every(frequency=Frequency.DAILY)),
    ("el dia? {day} de cada mes", every(frequency=Frequency.MONTHLY)),
    ("cada {day} de {month}", every(frequency=Frequency.YEARLY)),
    ("todos los anos en {month}", every(frequency=Frequency.YEARLY)),
)
_LIMITS: tuple[PhraseRow, ...] = (
    ("hasta el|la|los?", limit(Bound.UNTIL)),
    ("para el", limit(Bound.UNTIL)),
    ("a mas tardar", limit(Bound.UNTIL)),
    ("antes de|del la|el?", limit(Bound.BEFORE)),
    ("desde el|la?", limit(Bound.SINCE)),
    ("a partir de|del la|el?", limit(Bound.SINCE)),
    ("de|del", limit(Bound.WITHIN)),
    ("hasta el {day} $", limit_day(Bound.UNTIL)),
    ("antes del {day} $", limit_day(Bound.BEFORE)),
    ("entre el?", limit(Bound.WITHIN)),
    ("despues de|del la|el?", limit(Bound.AFTER)),
)
_MARKERS = """
el los las yo tu ella nosotros y o es soy son era fue he ha mi mis me con para por en que quien cuando donde como del al
no se lo su una pero muy hay tengo tiene vivo cada hasta desde hace la las un de
manana ayer hoy esta este
"""

SPANISH = DateWords(
    rows=(
        *(*_DAYS_AND_PARTS, *_COUNT_ROWS, *_PERIODS, *_WEEKENDS, *_WEEKDAY_ROWS, *_CALENDAR, *_CLOCKS),
        *(*_RECURRENCE_ROWS, *_LIMITS),
    ),
    months=_MONTHS,
    bare_months=frozenset(_MONTHS) - frozenset(_SHORT_MONTHS) - {"abril", "mayo", "julio", "agosto"},
    weekdays=_WEEKDAYS,
    short_weekdays={},
    units=_UNITS,
    numbers=_NUMBERS,
    ordinals={"primero": 1},
    dayparts=_DAYPARTS,
    seasons=_SEASONS,
    holidays=_HOLIDAYS,
    meridiems={"am": "a", "pm": "p"},
    markers=frozenset(_MARKERS.split()),
    to_words=frozenset(("a", "al", "hasta")),
    between_words=frozenset(("entre",)),
    and_words=frozenset(("y",)),
    from_words=frozenset(("de", "del")),
    since_words=frozenset(("desde",)),
    articles=frozenset(("el", "la")),
    abbreviations=frozenset(_SHORT_MONTHS),
    extra_slots={"habit": _HABITS, "bare_weekday": {k: v for k, v in _WEEKDAYS.items() if k != "domingo"}},
)
