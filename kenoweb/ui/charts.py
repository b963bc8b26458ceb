"""Numbers to SVG geometry. Templates draw; this file only measures.

Coordinates are text: in Spanish a template would print the number 12.4 as "12,4"."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from django.core.cache import cache
from django.db.models import Aggregate, Count, F, FloatField, QuerySet, Value
from django.db.models.functions import Cast, Greatest, TruncDate
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.auth.access import rows_in
from kenoweb.ui.formatting import dated, day_start, number
from memory.models import Episode, Fact, Message, Space

# The long charts move slowly; the figures above them are always fresh.
CACHE_SECONDS = 120


def n(value: float) -> str:
    """Write a coordinate: one decimal at most, never an exponent or a comma."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0", value == 0)


@dataclass(frozen=True)
class Box:
    """A rectangle of the drawing, its colour, and the words and number it stands for."""

    x: str
    width: str
    label: str
    value: float
    tone: str = ""
    y: str = ""
    height: str = ""
    last: bool = False


def bars(
    points: Sequence[tuple[str, float]], *, width: float = 202, height: float = 34, gap: float = 2
) -> list[Box]:
    """Return one bar per point; the tallest leaves four pixels of air, zero is a hairline."""
    top = max((value for _, value in points), default=0) or 1
    step = width / max(1, len(points))
    boxes = []
    for index, (label, value) in enumerate(points):
        tall, last = max(1.0, (height - 4) * max(0.0, value) / top), index == len(points) - 1
        place = {"y": n(height - tall), "height": n(tall), "last": last}
        boxes.append(Box(n(index * step), n(max(0.5, step - gap)), label, value, **place))
    return boxes


@dataclass(frozen=True)
class Line:
    path: str
    area: str
    x: str
    y: str


def line(
    values: Sequence[float],
    *,
    width: float = 202,
    height: float = 34,
    top: float | None = None,
    air: float = 5,
) -> Line | None:
    """Return a line with the area under it and the place of its last point."""
    if len(values) < 2:
        return None
    high = (max(values) if top is None else top) or 1
    step = width / (len(values) - 1)
    points = [
        (index * step, height - (height - air) * value / high) for index, value in enumerate(values)
    ]
    path = "M" + " L".join(f"{n(x)} {n(y)}" for x, y in points)
    area = f"{path} L{n(width)} {n(height)} L0 {n(height)}Z"
    return Line(path=path, area=area, x=n(points[-1][0]), y=n(points[-1][1]))


@dataclass(frozen=True)
class Mark:
    x: str
    y: str
    text: str
    anchor: str = "start"


@dataclass(frozen=True)
class Growth:
    first: Line
    second: Line
    grid: list[Mark]
    days: list[Mark]
    names: list[Mark]


def growth(
    first: Sequence[float],
    second: Sequence[float],
    *,
    names: tuple[str, str],
    days: tuple[str, str, str],
    width: float = 296,
    height: float = 130,
) -> Growth | None:
    """Draw two series on one scale, with a few round grid lines and both names at the end."""
    if len(first) < 2 or len(second) < 2:
        return None
    top = max(*first, *second, 1)
    size = {"width": width, "height": height}
    scale = (height - 18) / top
    ends = [_end(values, scale=scale, height=height) for values in (first, second)]
    anchors = zip((0.0, width / 2, width), ("start", "middle", "end"), days, strict=True)
    return Growth(
        *(line(values, **size, top=top, air=18) for values in (first, second)),
        grid=[
            Mark(n(width + 40), n(height - scale * tick), number_format(f"{tick:g}", use_l10n=True))
            for tick in ticks(top)
        ],
        days=[Mark(n(x), n(height + 16), text, anchor) for x, anchor, text in anchors],
        names=_names(ends, names, **size),
    )


def _end(values: Sequence[float], *, scale: float, height: float) -> tuple[float, float]:
    """Return the highest and the lowest point of the last fifth of a line: its name is there."""
    last = values[-max(1, len(values) // 5) :]
    return height - scale * max(last), height - scale * min(last)


def _names(
    ends: list[tuple[float, float]], names: tuple[str, str], *, width: float, height: float
) -> list[Mark]:
    """Put each name above its line; where the lines end close together, the lower one below."""
    upper, lower = sorted((0, 1), key=lambda which: ends[which])
    apart = ends[lower][0] - ends[upper][1] >= 28
    places = {lower: ends[lower][0] - 7 if apart else min(ends[lower][1] + 16, height - 4)}
    places[upper] = min(max(10.0, ends[upper][0] - 7), places[lower] - 14)
    return [Mark(n(width - 8), n(places[which]), names[which], "end") for which in (0, 1)]


def ticks(top: float, *, smallest: int = 0) -> list[float]:
    """Return one to three round numbers up to the top: 1, 2 or 5 times a power of ten."""
    steps = (base * 10.0**power for power in range(smallest, 12) for base in (1, 2, 5))
    step = next(step for step in steps if top / step < 4)
    return [step * count for count in range(1, int(top / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Cell:
    x: str
    y: str
    level: int
    day: dt.date
    value: int


@dataclass(frozen=True)
class Heat:
    cells: list[Cell]
    months: list[Mark]
    weekdays: list[Mark]
    side: str
    width: str
    height: str


def heat(
    counts: Mapping[dt.date, int],
    *,
    end: dt.date,
    weeks: int = 24,
    month_names: Sequence[str],
    day_names: Sequence[str],
    width: float = 336,
) -> Heat:
    """Draw a calendar of squares: a column per week from Monday, the last week at the right."""
    left, head = 34.0, 18.0
    step = (width - left) / weeks
    start = end - dt.timedelta(days=end.weekday(), weeks=weeks - 1)
    days = [start + dt.timedelta(days=offset) for offset in range((end - start).days + 1)]
    cuts = _quartiles([counts.get(day, 0) for day in days])
    cells = [
        Cell(
            x=n(left + step * ((day - start).days // 7)),
            y=n(head + step * day.weekday()),
            level=sum(counts.get(day, 0) > cut for cut in cuts),
            day=day,
            value=counts.get(day, 0),
        )
        for day in days
    ]
    return Heat(
        cells=cells,
        months=_months(start, weeks=weeks, left=left, step=step, names=month_names),
        weekdays=[
            Mark("0", n(head + step * row + step * 0.73), day_names[row]) for row in (0, 2, 4)
        ],
        side=n(step - 2.4),
        width=n(width),
        height=n(head + step * 7 + 4),
    )


def _quartiles(values: Sequence[int]) -> list[float]:
    """Return where the levels begin: 1 is any message, 2 to 4 are quarters of the busy days."""
    busy = sorted(value for value in values if value)
    if not busy:
        return [0, float("inf"), float("inf"), float("inf")]
    return [0, *(busy[int((len(busy) - 1) * share)] for share in (0.25, 0.5, 0.75))]


def _months(
    start: dt.date, *, weeks: int, left: float, step: float, names: Sequence[str]
) -> list[Mark]:
    mondays = [start + dt.timedelta(weeks=week) for week in range(weeks)]
    return [
        Mark(n(left + step * (week + 1)), "11", names[there.month - 1])
        for week, (here, there) in enumerate(pairwise(mondays))
        if here.month != there.month and week < weeks - 2
    ]


def stacked(
    parts: Sequence[tuple[str, float]], *, total: float = 0, width: float = 1000, gap: float = 2
) -> list[Box]:
    """Lay the parts of a whole on one bar; `total` is the whole when they do not fill it."""
    visible = [(index, *part) for index, part in enumerate(parts) if part[1] > 0]
    whole = max(total, sum(value for _, _, value in visible))
    if not whole:
        return []
    room = width - gap * (len(visible) - 1)
    boxes, x = [], 0.0
    for index, label, value in visible:
        wide = room * value / whole
        boxes.append(Box(n(x), n(wide), label, value, f"d{min(index, 4) + 1}"))
        x += wide + gap
    return boxes


def score(
    parts: Sequence[tuple[str, float]], *, top: float = 1, width: float = 300, gap: float = 1
) -> list[Box]:
    """Lay the parts of a score on one scale from 0 to `top`, so that rows can be compared."""
    boxes, x = [], 0.0
    for index, (label, value) in enumerate(parts):
        wide = min(width * max(0.0, value) / (top or 1), max(0.0, width - x))
        if wide >= 0.5:
            boxes.append(Box(n(x), n(max(0.5, wide - gap)), label, value, f"d{min(index, 4) + 1}"))
            x += wide
    less = min(x, width * sum(-min(0.0, value) for _, value in parts) / (top or 1))
    if less >= 0.5:
        # What a part takes away is cut from the end, so that the bar ends where the sum does.
        boxes.append(Box(n(x - less), n(less), "", -less, "less"))
    return boxes


@dataclass(frozen=True)
class Band:
    """One belief in a river: where it begins, and its shape."""

    path: str
    x: str
    tone: str


def river(
    spans: Sequence[tuple[dt.datetime, dt.datetime, float]], *, width: float, height: float
) -> list[Band]:
    """Draw a band for each belief, oldest first: as long as it held, as high as it was sure.

    The ends are drawn out, so that one belief gives way to the next.
    """
    if not spans:
        return []
    first, last = min(start for start, _end, _sure in spans), max(end for _s, end, _sure in spans)
    scale = width / max(1.0, (last - first).total_seconds())
    bands = []
    for place, (start, end, sure) in enumerate(spans):
        left = (start - first).total_seconds() * scale
        right = max(left + 8, (end - first).total_seconds() * scale)
        shape = _lens(left, right, mid=height / 2, high=max(4.0, height * min(1.0, sure)) / 2)
        bands.append(Band(shape, n(left), f"d{(len(spans) - 1 - place) % 3 + 1}"))
    return bands


def _lens(left: float, right: float, *, mid: float, high: float) -> str:
    """Return the path of a band with drawn-out ends around the line in the middle."""
    bend = min(24.0, (right - left) / 2)
    start, a, b = n(left - bend), n(left), n(left + bend)
    c, d, stop = n(right - bend), n(right), n(right + bend)
    top, line, low = n(mid - high), n(mid), n(mid + high)
    there = f"C{a} {line} {a} {top} {b} {top}H{c}C{d} {top} {d} {line} {stop} {line}"
    back = f"C{d} {line} {d} {low} {c} {low}H{b}C{a} {low} {a} {line} {start} {line}Z"
    return f"M{start} {line}{there}{back}"


# The room around columns: for the days below, above the highest, and for the scale.
FOOT, HEAD, RIGHT = 22.0, 12.0, 44.0


@dataclass(frozen=True)
class Columns:
    pieces: list[Box]
    grid: list[Mark]
    days: list[Mark]
    width: str
    height: str
    right: str


def columns(
    days: Sequence[tuple[str, Sequence[tuple[str, float, str]]]],
    *,
    width: float = 1076,
    height: float = 190,
    labels: int = 5,
    say: Callable[[float], str] = str,
) -> Columns:
    """Stack the parts of each day: `days` are (name, [(tone, number, label)]), lowest first.

    `say` formats the numbers of the scale.
    """
    ground, room = height - FOOT, width - RIGHT
    top = max((sum(value for _t, value, _s in parts) for _day, parts in days), default=0) or 1
    scale, step = (ground - HEAD) / top, room / max(1, len(days))
    pieces, names = [], []
    every = max(1, -(-len(days) // labels))
    for place, (day, parts) in enumerate(days):
        x, wide = place * step + 0.09 * step, 0.82 * step
        pieces += _stack(parts, x=x, wide=wide, ground=ground, scale=scale)
        if (len(days) - 1 - place) % every == 0:
            names.append(Mark(n(x + wide / 2), n(height - 4), day, "middle"))
    grid = [
        Mark(n(width), n(ground - scale * tick), say(round(tick, 6)), "end")
        for tick in (0.0, *ticks(top, smallest=-6))
    ]
    return Columns(pieces, grid, names, n(width), n(height), n(room))


def _stack(parts, *, x: float, wide: float, ground: float, scale: float) -> list[Box]:
    boxes, y = [], ground
    for tone, value, label in parts:
        tall = value * scale
        if tall >= 0.4:
            y -= tall
            height = n(max(0.4, tall - 1))
            boxes.append(Box(n(x), n(wide), label, value, tone, y=n(y), height=height))
    return boxes


def per_day(rows: QuerySet, field: str, *, end: dt.date, days: int) -> dict[dt.date, int]:
    return per_day_each({"": (rows, field, Count("pk"))}, end=end, days=days)[""]


def per_day_each(
    kinds: dict[str, tuple[QuerySet, str, Aggregate]],
    *,
    end: dt.date,
    days: int,
    older: bool = False,
) -> dict[str, dict[dt.date, float]]:
    """Return {name: {day: number}} of several kinds of rows, each by its own field, in one query.

    With `older`, what lies before the first day is counted as of the day before it.
    """
    first = day_start(end - dt.timedelta(days=days - 1))
    parts = [
        _by_day(name, rows, field, total, first=first, older=older)
        for name, (rows, field, total) in kinds.items()
    ]
    numbers: dict[str, dict] = {name: {} for name in kinds}
    for name, day, value in parts[0].union(*parts[1:], all=True) if parts[1:] else parts[0]:
        numbers[name][day] = int(value) if isinstance(kinds[name][2], Count) else value
    return numbers


def _by_day(name, rows, field, total, *, first: dt.datetime, older: bool) -> QuerySet:
    at = Greatest(field, Value(first - dt.timedelta(days=1))) if older else F(field)
    rows = rows if older else rows.filter(**{f"{field}__gte": first})
    named = rows.order_by().annotate(name=Value(name), day=TruncDate(at)).values_list("name", "day")
    # A union has one type for all its numbers.
    return named.annotate(number=Cast(total, FloatField()))


def series(counts: dict, *, end: dt.date, days: int) -> list[tuple[str, float]]:
    """Return (name of the day, number) for every day, also the empty ones."""
    line = [end - dt.timedelta(days=back) for back in range(days - 1, -1, -1)]
    return [(dated(day, "SHORT_DATE_FORMAT"), counts.get(day, 0)) for day in line]


def memory_growth(space: Space, *, today: dt.date, days: int = 90) -> Growth | None:
    """Draw what Keno knows today, by the day on which it learned it."""

    def count() -> tuple[list[int], list[int]]:
        facts = rows_in(space, Fact).filter(status=Fact.Status.ACTIVE)
        episodes = rows_in(space, Episode).filter(status__in=Episode.REMEMBERED)
        kinds = {
            "facts": (facts, "created_at", Count("pk")),
            "episodes": (episodes, "started_at", Count("pk")),
        }
        by_day = per_day_each(kinds, end=today, days=days, older=True)
        # The day before the first one holds everything older.
        line = [today - dt.timedelta(days=back) for back in range(days, -1, -1)]
        return tuple(list(accumulate(by_day[k].get(day, 0) for day in line))[1:] for k in kinds)

    key = f"memory_growth:{space.pk}:{today}:{days}"
    facts, episodes = cache.get_or_set(key, count, CACHE_SECONDS)
    n_facts, n_episodes = facts[-1], episodes[-1]
    if not n_facts and not n_episodes:
        return None
    names = (
        ngettext("%(n)s fact", "%(n)s facts", n_facts) % {"n": number(n_facts)},
        ngettext("%(n)s episode", "%(n)s episodes", n_episodes) % {"n": number(n_episodes)},
    )
    marks = (today - dt.timedelta(days=days - 1), today - dt.timedelta(days=days // 2), today)
    return growth(facts, episodes, names=names, days=tuple(dated(day, _("j M")) for day in marks))


def activity(space: Space, *, today: dt.date, weeks: int = 24) -> Heat | None:
    """Draw the messages of each day as a calendar of squares."""
    counts = cache.get_or_set(
        f"activity:{space.pk}:{today}:{weeks}",
        lambda: per_day(rows_in(space, Message), "sent_at", end=today, days=weeks * 7),
        CACHE_SECONDS,
    )
    if not counts:
        return None
    # 2024 began on a Monday.
    months = [dated(dt.date(2024, month, 1), _("M")) for month in range(1, 13)]
    weekdays = [dated(dt.date(2024, 1, day), "D") for day in range(1, 8)]
    return heat(counts, end=today, weeks=weeks, month_names=months, day_names=weekdays)
