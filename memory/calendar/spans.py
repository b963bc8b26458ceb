"""Arithmetic of days: weeks, months, seasons, holidays and parts of them, both ends included."""

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

Span = tuple[date, date]

SOUTH = (
    "America/Argentina",
    "America/Asuncion",
    "America/Buenos_Aires",
    "America/La_Paz",
    "America/Lima",
    "America/Montevideo",
    "America/Punta_Arenas",
    "America/Santiago",
    "America/Sao_Paulo",
    "Africa/Johannesburg",
    "Australia/",
    "Pacific/Auckland",
)


def days(first: date, *, count: int = 1) -> Span:
    return first, first + timedelta(days=count - 1)


def add_months(day: date, months: int) -> date:
    """Move a day by months, to the last of the month where that is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def add(day: date, amount: int, unit: str) -> date:
    """Move a day by an amount of "day", "week", "fortnight", "month", "year" or "decade"."""
    months = {"month": 1, "year": 12, "decade": 120}
    if unit in months:
        return add_months(day, amount * months[unit])
    return day + timedelta(days=amount * {"day": 1, "week": 7, "fortnight": 14}[unit])


def week(day: date) -> Span:
    return days(day - timedelta(days=day.weekday()), count=7)


def weekend(day: date) -> Span:
    """Return the Saturday and Sunday of the day's week."""
    return days(week(day)[0] + timedelta(days=5), count=2)


def month(year: int, number: int) -> Span:
    return date(year, number, 1), date(year, number, monthrange(year, number)[1])


def year(number: int) -> Span:
    return date(number, 1, 1), date(number, 12, 31)


def season(year: int, number: int, *, south: bool = False) -> Span:
    """Return the season (0 spring to 3 winter) that begins in the year, by whole months."""
    begins = (3 + 3 * number + (6 if south else 0) - 1) % 12 + 1
    first = date(year, begins, 1)
    return first, add_months(first, 3) - timedelta(days=1)


def weekday_in(span: Span, number: int) -> date:
    """Return the first such weekday of the span."""
    return span[0] + timedelta(days=(number - span[0].weekday()) % 7)


def nth_week(span: Span, rank: int) -> Span:
    """Return the first, second… (or with -1 the last) seven days of a month."""
    if rank < 0:
        return span[1] - timedelta(days=6), span[1]
    return days(span[0] + timedelta(days=7 * (rank - 1)), count=7)


def nth_weekday(span: Span, rank: int, number: int) -> date:
    if rank < 0:
        return span[1] - timedelta(days=(span[1].weekday() - number) % 7)
    return weekday_in(span, number) + timedelta(days=7 * (rank - 1))


def part(span: Span, name: str) -> Span:
    """Return the "start", "middle" or "end" of a span, by whole months where it has several."""
    months = (span[1].year - span[0].year) * 12 + span[1].month - span[0].month + 1
    if months > 2:
        quarter = max(1, months // 4)
        begins = {"start": 0, "middle": months // 3, "end": months - quarter}[name]
        count = months // 3 if name == "middle" else quarter
        first = add_months(span[0], begins)
        return first, add_months(first, count) - timedelta(days=1)
    third, quarter = (((span[1] - span[0]).days + 1) // share for share in (3, 4))
    if name == "end":
        return span[1] - timedelta(days=max(1, quarter) - 1), span[1]
    first = span[0] + timedelta(days=third if name == "middle" else 0)
    return first, first + timedelta(days=third - 1)


def easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar (the Meeus algorithm)."""
    century, place = divmod(year, 100)
    golden = year % 19
    leaps, rest = divmod(century, 4)
    moon = (19 * golden + century - leaps - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    day = (32 + 2 * rest + 2 * (place // 4) - moon - place % 4) % 7
    shift = (golden + 11 * moon + 22 * day) // 451
    number, rest = divmod(moon + day - 7 * shift + 114, 31)
    return date(year, number, rest + 1)


def _fixed(month: int, first: int, last: int = 0) -> Callable[[int], Span]:
    return lambda year: (date(year, month, first), date(year, month, last or first))


def _easter(first: int, last: int) -> Callable[[int], Span]:
    return lambda year: tuple(easter(year) + timedelta(days=shift) for shift in (first, last))


def thanksgiving(year: int) -> date:
    return nth_weekday(month(year, 11), 4, 3)


# Folded names -> the days of a year. The first group needs a word such as "at" or "en" before it.
HOLIDAYS: dict[str, Callable[[int], Span]] = {
    **dict.fromkeys(("christmas", "xmas", "navidad", "navidades"), _fixed(12, 25)),
    **dict.fromkeys(("easter", "pascua"), _easter(-6, 0)),
    **dict.fromkeys(("halloween",), _fixed(10, 31)),
    **dict.fromkeys(("thanksgiving",), lambda year: days(thanksgiving(year))),
    **dict.fromkeys(("reyes",), _fixed(1, 6)),
    **dict.fromkeys(("new years", "new year's", "new year", "ano nuevo"), _fixed(1, 1)),
}
# These mean their day wherever they stand.
HOLY_DAYS: dict[str, Callable[[int], Span]] = {
    **dict.fromkeys(("christmas eve", "nochebuena"), _fixed(12, 24)),
    **dict.fromkeys(("christmas day", "dia de navidad"), _fixed(12, 25)),
    **dict.fromkeys(("boxing day",), _fixed(12, 26)),
    **dict.fromkeys(("new year's eve", "new years eve", "nochevieja"), _fixed(12, 31)),
    **dict.fromkeys(("new year's day", "new years day", "dia de ano nuevo"), _fixed(1, 1)),
    **dict.fromkeys(("dia de reyes",), _fixed(1, 6)),
    **dict.fromkeys(("valentine's day", "valentines day", "san valentin"), _fixed(2, 14)),
    **dict.fromkeys(("dia de san juan", "noche de san juan"), _fixed(6, 24)),
    **dict.fromkeys(("dia de muertos", "dia de los muertos"), _fixed(11, 2)),
    **dict.fromkeys(("semana santa", "holy week"), _easter(-6, 0)),
    **dict.fromkeys(("palm sunday", "domingo de ramos"), _easter(-7, -7)),
    **dict.fromkeys(("ash wednesday", "miercoles de ceniza"), _easter(-46, -46)),
    **dict.fromkeys(("good friday", "viernes santo"), _easter(-2, -2)),
    **dict.fromkeys(("jueves santo", "maundy thursday"), _easter(-3, -3)),
    **dict.fromkeys(("sabado santo", "sabado de gloria"), _easter(-1, -1)),
    **dict.fromkeys(("easter sunday", "domingo de pascua"), _easter(0, 0)),
    **dict.fromkeys(("easter monday", "lunes de pascua"), _easter(1, 1)),
    **dict.fromkeys(("black friday",), lambda year: days(thanksgiving(year) + timedelta(days=1))),
    **dict.fromkeys(("cyber monday",), lambda year: days(thanksgiving(year) + timedelta(days=4))),
}
