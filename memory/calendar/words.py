"""Names of months, days, seasons and numbers, folded (lower case, no accents)."""

from collections.abc import Iterable


def _table(*rows: str, start: int = 0) -> dict[str, int]:
    return {word: number for number, row in enumerate(rows, start) for word in row.split()}


def any_of(words: Iterable[str]) -> str:
    """Return the alternatives of a pattern, longest first, spaces as loose as people type them."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(word.replace(" ", r"[\s-]+") for word in ordered) + ")"


# Common typing slips are listed where no other word looks like them.
MONTHS = _table(
    "january enero janurary",
    "february febrero febuary feburary",
    "march marzo",
    "april abril",
    "may mayo",
    "june junio",
    "july julio",
    "august agosto",
    "september septiembre setiembre sept",
    "october octubre",
    "november noviembre novembre",
    "december diciembre",
    start=1,
)
SHORT_MONTHS = _table(
    "jan ene",
    "feb",
    "mar",
    "apr abr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep sept",
    "oct",
    "nov",
    "dec dic",
    start=1,
)
WEEKDAYS = _table(
    "monday lunes",
    "tuesday martes tues",
    "wednesday miercoles wensday wednsday weds",
    "thursday jueves thursdy thurday thrusday thurs thur juevez",
    "friday viernes vierns",
    "saturday sabado savado",
    "sunday domingo",
)
# "sun", "sat", "mon" and "wed" are other words too: they count only beside a word that says so.
SHORT_WEEKDAYS = _table("mon lun", "tue", "wed mie", "thu jue", "fri vie", "sat sab", "sun dom")
SEASONS = _table(
    "spring springtime primavera",
    "summer summertime verano",
    "autumn fall otono",
    "winter wintertime invierno",
)


def _numbers(words: str, *, start: int = 1) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), start)}


_EN = _numbers(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_EN |= {f"twenty {word}": 20 + _EN[word] for word in list(_EN)[:9]}
_EN |= {"thirty": 30, "thirty one": 31, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70}
_ES = _numbers(
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis"
    " diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro"
    " veinticinco veintiseis veintisiete veintiocho veintinueve treinta"
)
_ES |= {"veintiun": 21, "treinta y uno": 31, "treinta y un": 31}
_ES |= {"cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70}
NUMBERS = _EN | _ES
# Before a unit of time: "a week ago", "un par de semanas", "a few days".
AMOUNTS = NUMBERS | {
    **dict.fromkeys(("a", "an", "un", "una"), 1),
    **dict.fromkeys(("a couple of", "a couple", "couple of", "couple", "un par de", "par de"), 2),
    **dict.fromkeys(("a few", "few", "several", "unos", "unas", "unos pocos", "algunos"), 3),
    **dict.fromkeys(("unos cuantos", "unas cuantas", "unas pocas", "algunas"), 3),
}
_ORDINAL = _numbers(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
    " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINAL |= {f"twenty {word}": 20 + _ORDINAL[word] for word in list(_ORDINAL)[:9]}
ORDINALS = _ORDINAL | {"thirtieth": 30, "thirty first": 31, "primero": 1, "1ero": 1, "1ro": 1}
RANKS = {
    **{"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1},
    **{"1st": 1, "2nd": 2, "3rd": 3, "4th": 4},
    **{"primera": 1, "segunda": 2, "tercera": 3, "cuarta": 4, "ultima": -1},
    **{"primer": 1, "segundo": 2, "tercer": 3, "cuarto": 4, "ultimo": -1},
}
UNITS = {
    **dict.fromkeys(("day", "days", "dia", "dias"), "day"),
    **dict.fromkeys(("week", "weeks", "wk", "wks", "semana", "semanas"), "week"),
    **dict.fromkeys(("month", "months", "mo", "mos", "mes", "meses"), "month"),
    **dict.fromkeys(("year", "years", "yr", "yrs", "ano", "anos"), "year"),
    **dict.fromkeys(("fortnight", "fortnights", "quincena", "quincenas"), "fortnight"),
    **dict.fromkeys(("decade", "decades", "decada", "decadas"), "decade"),
}

MONTH = any_of(MONTHS)
ANY_MONTH = any_of({**MONTHS, **SHORT_MONTHS})
WEEKDAY = any_of(WEEKDAYS)
ANY_WEEKDAY = any_of({**WEEKDAYS, **SHORT_WEEKDAYS})
SEASON = any_of(SEASONS)
UNIT = any_of(UNITS)
AMOUNT = r"(?:\d{1,3}|" + any_of(AMOUNTS) + ")"
YEAR = r"(?:19|20)\d\d"
# Where none of these stands, and no digit, no time is named.
TIME_WORDS = {
    *MONTHS,
    *SHORT_MONTHS,
    *WEEKDAYS,
    *SHORT_WEEKDAYS,
    *SEASONS,
    *UNITS,
    *(
        "today tomorrow tomorow tommor tomorr tmrw tmr tmw yesterday yday night nite "
        "tonight tonite morning afternoon evening lunchtime weekend wknd hoy ayer "
        "anteayer antier antesdeayer manana tarde noche anoche anteanoche antenoche "
        "antiayer madrugada finde pasadomanana overmorrow noon midday mediodia christmas "
        "xmas navidad easter pascua halloween thanksgiving reyes new nochebuena boxing "
        "nochevieja valentine valentines san holy palm maundy good black cyber daily "
        "weekly fortnightly biweekly bi monthly yearly annually nightly diario "
        "diariamente semanalmente mensualmente anualmente once twice una dos media cuarto "
        "o'clock oclock ocho quince each every cada"
    ).split(),
}


def number(word: str) -> int:
    """Return the number that a word or digits with an ending ("3rd", "veintiuno") stand for."""
    plain = " ".join(word.replace("-", " ").split())
    known = AMOUNTS.get(plain) or ORDINALS.get(plain) or RANKS.get(plain)
    return known or int("".join(c for c in plain if c.isascii() and c.isdigit()))


def month_number(word: str) -> int:
    return MONTHS.get(word) or SHORT_MONTHS[word]


def weekday_number(word: str) -> int:
    return WEEKDAYS[word] if word in WEEKDAYS else SHORT_WEEKDAYS[word]
