"""The calendar as people say it, in English and Spanish, folded (no accents, lower case)."""

import re
from datetime import date, timedelta


def _table(*rows: str) -> dict[str, int]:
    return {word: number for number, row in enumerate(rows) for word in row.split()}


def _short(table: dict[str, int]) -> dict[str, int]:
    return {word[:3]: number for word, number in table.items()} | table


# By the first three letters; the full names are there too, to be listed in patterns.
MONTHS = _short(
    {
        word: number + 1
        for word, number in _table(
            "january enero",
            "february febrero",
            "march marzo",
            "april abril",
            "may mayo",
            "june junio",
            "july julio",
            "august agosto",
            "september septiembre setiembre",
            "october octubre",
            "november noviembre",
            "december diciembre",
        ).items()
    }
)
DAYS = _short(
    _table(
        "monday lunes",
        "tuesday martes",
        "wednesday miercoles",
        "thursday jueves",
        "friday viernes",
        "saturday sabado",
        "sunday domingo",
    )
)
NUMBERS = {
    word: number + 1
    for word, number in _table(
        "a an one un una uno",
        "two dos couple par",
        "three tres few",
        "four cuatro",
        "five cinco",
        "six seis",
        "seven siete",
        "eight ocho",
        "nine nueve",
        "ten diez",
        "eleven once",
        "twelve doce",
    ).items()
}
UNIT_DAYS = {
    "da": 1,
    "di": 1,
    "we": 7,
    "se": 7,
    "mo": 30.44,
    "me": 30.44,
    "ye": 365.25,
    "an": 365.25,
}


def _days(first: int, last: int):
    return lambda today: (today + timedelta(days=first), today + timedelta(days=last))


def _month(back: int):
    def span(today: date) -> tuple[date, date]:
        start = (today.replace(day=1) - timedelta(days=1)).replace(day=1) if back else today
        start = start.replace(day=1)
        end = (start + timedelta(days=32)).replace(day=1)
        return start, end

    return span


def _year(back: int):
    return lambda today: (date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1))


def _weekend(today: date) -> tuple[date, date]:
    sunday = today - timedelta(days=(today.weekday() + 1) % 7 or 7)
    return sunday - timedelta(days=1), sunday + timedelta(days=1)


def _this_week(today: date) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday())
    return monday, monday + timedelta(days=7)


_SAID = {
    "today|this morning|this afternoon|tonight|hoy|esta manana|esta tarde|esta noche": _days(0, 1),
    "yesterday|ayer|last night|anoche": _days(-1, 0),
    "the day before yesterday|day before yesterday|anteayer|antier|antes de ayer": _days(-2, -1),
    # Seed 002: "last week" is the last seven days.
    "last week|past week|la semana pasada|semana pasada|la ultima semana": _days(-7, 1),
    "this week|esta semana": _this_week,
    "last weekend|el fin de semana pasado|el finde pasado|fin de semana pasado": _weekend,
    "last month|el mes pasado|mes pasado": _month(1),
    "this month|este mes": _month(0),
    "last year|el ano pasado|ano pasado": _year(1),
    "this year|este ano": _year(0),
}
NAMED = {phrase: span for phrases, span in _SAID.items() for phrase in phrases.split("|")}

_MONTH = "|".join(sorted((m for m in MONTHS if len(m) > 3 or m == "may"), key=len, reverse=True))
_ANY_MONTH = _MONTH + "|" + "|".join(m for m in MONTHS if len(m) == 3 and m not in {"may", "mar"})
_DAY = "|".join(sorted((d for d in DAYS if len(d) > 3), key=len, reverse=True))
_N = r"(?P<n>\d{1,3}|" + "|".join(sorted(NUMBERS, key=len, reverse=True)) + ")"
_YEAR = r"(?P<y>(?:19|20)\d\d)"

ISO = re.compile(rf"\b{_YEAR}-(?P<m>\d\d)(?:-(?P<d>\d\d))?\b")
DAY_FIRST = re.compile(
    rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+|de\s+)?(?P<m>{_ANY_MONTH})\.?"
    rf"(?:,?\s+(?:of\s+|de\s+|del\s+)?{_YEAR})?\b"
)
MONTH_FIRST = re.compile(
    rf"\b(?P<m>{_ANY_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)(?:,?\s+{_YEAR})?\b"
)
MONTH_AND_YEAR = re.compile(rf"\b(?P<m>{_MONTH}),?\s+(?:of\s+|de\s+|del\s+)?{_YEAR}\b")
# "may" alone is mostly not the month: a preposition must say that it is.
IN_MONTH = re.compile(
    rf"\b(?:in|during|since|of|early|late|last|en|durante|desde|de)\s+(?P<m>{_MONTH})(?P<y>)\b"
)
AGO = {
    "en": re.compile(
        rf"\b(?:a\s+)?{_N}(?:\s+of)?\s+(?P<unit>days?|weeks?|months?|years?)\s+(?:ago|back|earlier)\b"
    ),
    "es": re.compile(
        rf"\bhace\s+(?:ya\s+)?(?:un\s+)?{_N}(?:\s+de)?\s+(?P<unit>dias?|semanas?|mes(?:es)?|anos?)\b"
    ),
}
RECENT = re.compile(
    rf"\b(?:(?:the\s+)?(?:last|past)|(?:en\s+)?(?:los|las)\s+ultim[oa]s|ultim[oa]s)\s+{_N}"
    r"\s+(?P<unit>days?|weeks?|months?|years?|dias?|semanas?|mes(?:es)?|anos?)\b"
)
WEEKDAY = re.compile(rf"\b(?:on|last|this past|el|este)\s+(?P<day>{_DAY})(?:\s+pasado)?\b")
IN_YEAR = re.compile(rf"\b(?:in|during|since|en|durante|desde|del?)\s+{_YEAR}\b")
