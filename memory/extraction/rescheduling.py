"""Read that something is at another time ("it is now the 12th"), elsewhere, or over. Pure.

A day only replaces a day, a date a date and an hour an hour; the rest stays.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from memory.calendar.words import MONTHS, SHORT_MONTHS, WEEKDAYS
from memory.extraction.grammar.sentences import data_beside
from memory.text.normalise import fold, stems, words

_MONTH = "|".join(sorted({*MONTHS, *SHORT_MONTHS}, key=lambda name: (-len(name), name)))
_DATA = data_beside(__file__, MONTH=rf"(?:{_MONTH})\b")
# "This week" and "five weeks" are about nothing in common.
_TIME_WORDS = {
    *WEEKDAYS,
    *MONTHS,
    *"""day days week weeks weekend weekends month months year years hour hours time times minute
    minutes morning mornings afternoon evening night dia dias semana semanas finde mes meses ano
    anos hora horas minuto minutos manana mananas tarde tardes noche noches vez veces""".split(),
}
# A day of the week, for the patterns of others.
DAY = _DATA.day.pattern


class Times(NamedTuple):
    """Where in a text its days of the week, dates and hours stand."""

    days: list[re.Match]
    dates: list[re.Match]
    clocks: list[re.Match]


def times_in(text: str) -> Times:
    kinds = []
    for pattern in (_DATA.clock, _DATA.date, _DATA.days):
        kinds.append(list(pattern.finditer(text)))
        # An hour is not also a date: it is blank from here on.
        text = pattern.sub(lambda match: "\0" * len(match[0]), text)
    clocks, dates, days = kinds
    return Times(days, dates, clocks)


def has_time(text: str) -> bool:
    return any(times_in(text))


def moves(text: str) -> bool:
    """Return whether something has another time now; "I moved on Friday" does not say so."""
    return says_moved(text) and has_time(text)


def says_moved(text: str) -> bool:
    return bool(_DATA.moves.search(text))


def is_of_move(text: str) -> bool:
    """Return whether the words only tell of a move: that there was one, or to when."""
    return says_moved(text) or has_time(text)


def put_elsewhere(text: str) -> bool:
    """Return whether the words tell that something is kept in another place now."""
    now = _DATA.no_longer.sub("", text)
    is_place = _DATA.kept.search(now) or _DATA.put_into.search(now)
    return bool(is_place and _DATA.put_elsewhere.search(now))


def is_kept(fact: str) -> bool:
    return bool(_DATA.kept.match(fact))


def kept_at(fact: str, text: str) -> str:
    """Return the fact with the place that the words name."""
    left = _DATA.no_longer.sub("", text)
    held, now, into = _DATA.kept.match(fact), _DATA.kept.search(left), _DATA.put_into.search(left)
    if held and now:
        return f"{held['what']} {now['where'].rstrip('.! ')}"
    where = f"en {'el ' * (into['article'] == 'l')}{into['where'].strip()}" if into else ""
    return f"{held['what']} {where.rstrip('.! ')}" if held and where else ""


def endings(text: str) -> list[tuple[str, Callable[[str], bool]]]:
    """Return the parts of a sentence that tell an end, each with the test of what it may end.

    Something came back that was lent, or will not be that was planned.
    """
    ends: list[tuple[str, Callable[[str], bool]]] = []
    if _DATA.gives_back.search(text):
        ends.append((text, was_lent))
    parts = [_DATA.leads.sub("", part).strip() for part in _DATA.part.split(text)]
    return [*ends, *((part, was_planned) for part in parts if _DATA.calls_off.search(part))]


def was_lent(fact: str) -> bool:
    return bool(_DATA.lent.search(fact)) and not _DATA.gives_back.search(fact)


def was_planned(fact: str) -> bool:
    is_plan = _DATA.planned.search(fact) or has_time(fact)
    return bool(is_plan) and not _DATA.calls_off.search(fact)


def without_same(text: str) -> str:
    """Return the words without "same time" at their end."""
    return _DATA.same.sub("", text)


def names_only_times(text: str) -> bool:
    """Return whether the words name a time and nothing else: "it's Thursday at 5"."""
    rest = text
    times = [time for kind in times_in(text) for time in kind]
    for time in sorted(times, key=re.Match.end, reverse=True):
        rest = f"{rest[: time.start()]} {rest[time.end() :]}"
    return has_time(text) and not re.search(r"\w", _DATA.glue.sub(" ", rest))


def retime(fact: str, text: str) -> str:
    """Return the fact at the time that the words name; empty when they name none of its kind."""
    had, has = times_in(fact), times_in(text)
    changes = [
        (old[0], _value(old[0], fresh[0]))
        for old, new in zip(had, has, strict=True)
        # "Not the 12th but the 14th" names the old one, too.
        if len(old) == 1 and (fresh := [time for time in new if _may_replace(old[0], time)])
    ]
    # A date instead of the day of the week, or the other way round.
    if has.dates and not has.days and len(had.days) == 1 and not had.dates:
        changes.append((had.days[0], f"{_article(text, has.dates[0])}{has.dates[0][0]}"))
    if has.days and not has.dates and len(had.dates) == 1 and not had.days:
        changes.append((had.dates[0], has.days[0][0]))
    changed = fact
    for old, new in sorted(changes, key=lambda change: -change[0].start()):
        rest = _DATA.part_of_day.sub("", changed[old.end() :], count=1)
        changed = f"{changed[: old.start()]}{new}{rest}"
    return changed if changed != fact else ""


def is_about_same(fact: str, text: str, *, names: Iterable[str] = ()) -> int:
    """Return how many words of meaning both share; 0 when that is only a name.

    "Lo de Mariana" calls by the name what was planned with her.
    """
    shared = topic(fact) & topic(without_same(text))
    if has_time(fact) and _DATA.refers.search(text):
        return len(shared)
    return len(shared) if len(shared) > 1 or shared - stems(" ".join(names)) else 0


def topic(text: str) -> set[str]:
    """Return the stems of what it is about, without its times, and the kinds of plans it names."""
    bare, plans = text, {str(plan.lastgroup) for plan in _DATA.plans.finditer(text)}
    for kind in times_in(text):
        for time in kind:
            bare = bare.replace(time[0], " ")
    return plans | stems(" ".join(word for word in words(bare) if fold(word) not in _TIME_WORDS))


def _may_replace(old: re.Match, new: re.Match) -> bool:
    """Return whether it is another time, and not one for several: which one nobody says."""
    count_old, count_new = (len(_DATA.one_day.findall(time[0])) for time in (old, new))
    return fold(new[0]) not in fold(old[0]) and (count_old < 2 or count_new > 1)


def _value(old: re.Match, new: re.Match) -> str:
    """Return the new time; the month stays where only the day is said."""
    number = _DATA.number.search(new[0])
    if number and _DATA.has_month.search(old[0]) and not _DATA.has_month.search(new[0]):
        return _DATA.number.sub(number[0], old[0], count=1)
    return new[0]


def _article(text: str, date: re.Match) -> str:
    before = re.search(r"\b(the|el)\s+$", text[: date.start()], re.I)
    return f"{before[1].lower()} " if before else ""
