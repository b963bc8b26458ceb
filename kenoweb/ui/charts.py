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

Point = tuple[float, float]
# The long charts move slowly; the figures above them are always fresh.
CACHE_SECONDS = 120


def n(value: float) -> str:
    """A coordinate: one decimal at most, never an exponent or a comma."""
    return f"{value:.1f}".removesuffix(".0").replace("-0", "0", value == 0)


@dataclass(frozen=True)
class Bar:
    x: str
    y: str
    width: str
    height: str
    label: str
    value: float
    last: bool = False


def bars(
    points: Sequence[tuple[str, float]], *, width: float = 202, height: float = 34, gap: float = 2
) -> list[Bar]:
    """One bar per point; the tallest leaves four pixels of air, zero is a hairline."""
    if not points:
        return []
    top = max(value for _, value in points) or 1
    step = width / len(points)
    laid = []
    for index, (label, value) in enumerate(points):
        tall = max(1.0, (height - 4) * max(0.0, value) / top)
        laid.append(
            Bar(
                x=n(index * step),
                y=n(height - tall),
                width=n(max(0.5, step - gap)),
                height=n(tall),
                label=label,
                value=value,
                last=index == len(points) - 1,
            )
        )
    return laid


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
    """A line with the area under it and the place of its last point."""
    if len(values) < 2:
        return None
    high = (max(values) if top is None else top) or 1
    step = width / (len(values) - 1)
    points = [
        (index * step, height - (height - air) * value / high) for index, value in enumerate(values)
    ]
    path = _path(points)
    area = f"{path} L{n(width)} {n(height)} L0 {n(height)}Z"
    return Line(path=path, area=area, x=n(points[-1][0]), y=n(points[-1][1]))


def _path(points: Sequence[Point]) -> str:
    return "M" + " L".join(f"{n(x)} {n(y)}" for x, y in points)


@dataclass(frozen=True)
class Mark:
    """A word at a place of the drawing."""

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
    """Two series on one scale with a few round grid lines and both names at the end."""
    if len(first) < 2 or len(second) < 2:
        return None
    top = max(*first, *second, 1)
    lines = [
        line(values, width=width, height=height, top=top, air=18) for values in (first, second)
    ]
    scale = (height - 18) / top
    grid = [
        Mark(n(width + 40), n(height - scale * tick), number_format(f"{tick:g}", use_l10n=True))
        for tick in ticks(top)
    ]
    anchors = zip((0.0, width / 2, width), ("start", "middle", "end"), days, strict=True)
    return Growth(
        first=lines[0],
        second=lines[1],
        grid=grid,
        days=[Mark(n(x), n(height + 16), text, anchor) for x, anchor, text in anchors],
        names=_names(
            [_end(values, scale=scale, height=height) for values in (first, second)],
            names,
            width=width,
            height=height,
        ),
    )


def _end(values: Sequence[float], *, scale: float, height: float) -> tuple[float, float]:
    """The highest and the lowest point of a line where its name stands: its last fifth."""
    last = values[-max(1, len(values) // 5) :]
    return height - scale * max(last), height - scale * min(last)


def _names(
    ends: list[tuple[float, float]], names: tuple[str, str], *, width: float, height: float
) -> list[Mark]:
    """Each name above its line; where they end close together the lower one's goes below."""
    upper, lower = sorted((0, 1), key=lambda which: ends[which])
    apart = ends[lower][0] - ends[upper][1] >= 28
    places = {lower: ends[lower][0] - 7 if apart else min(ends[lower][1] + 16, height - 4)}
    places[upper] = min(max(10.0, ends[upper][0] - 7), places[lower] - 14)
    return [Mark(n(width - 8), n(places[which]), names[which], "end") for which in (0, 1)]


def ticks(top: float, *, smallest: int = 0) -> list[float]:
    """One to three round numbers up to the top: 1, 2 or 5 times a power of ten."""
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
    """A calendar of squares, a column per week from Monday, the last week at the right."""
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
    """Level 1 is any message at all; 2 to 4 are the quarters of the busy days."""
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


@dataclass(frozen=True)
class Part:
    x: str
    width: str
    label: str
    value: float
    tone: str


def stacked(
    parts: Sequence[tuple[str, float]], *, total: float = 0, width: float = 1000, gap: float = 2
) -> list[Part]:
    """A whole and its parts on one bar; `total` is the whole when the parts do not fill it."""
    shown = [(index, *part) for index, part in enumerate(parts) if part[1] > 0]
    whole = max(total, sum(value for _, _, value in shown))
    if not whole:
        return []
    room = width - gap * (len(shown) - 1)
    laid, x = [], 0.0
    for index, label, value in shown:
        wide = room * value / whole
        laid.append(Part(n(x), n(wide), label, value, f"d{min(index, 4) + 1}"))
        x += wide + gap
    return laid


def score(
    parts: Sequence[tuple[str, float]], *, top: float = 1, width: float = 300, gap: float = 1
) -> list[Part]:
    """The parts of a score on one scale from 0 to `top`, so that rows can be compared."""
    laid, x = [], 0.0
    for index, (label, value) in enumerate(parts):
        wide = min(width * max(0.0, value) / (top or 1), max(0.0, width - x))
        if wide >= 0.5:
            laid.append(Part(n(x), n(max(0.5, wide - gap)), label, value, f"d{min(index, 4) + 1}"))
            x += wide
    less = min(x, width * sum(-min(0.0, value) for _, value in parts) / (top or 1))
    if less >= 0.5:
        # What a part takes away is cut from the end, so that the bar ends where the sum does.
        laid.append(Part(n(x - less), n(less), "", -less, "less"))
    return laid


@dataclass(frozen=True)
class Band:
    """One belief in a river: where it begins, and its shape."""

    path: str
    x: str
    tone: str


def river(
    spans: Sequence[tuple[dt.datetime, dt.datetime, float]], *, width: float, height: float
) -> list[Band]:
    """A band for each belief, the oldest first: as long as it held, as high as it was sure.

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
    """A band with drawn-out ends around the line in the middle."""
    bend = min(24.0, (right - left) / 2)
    a, b, c, d = n(left), n(left + bend), n(right - bend), n(right)
    start, stop, top, low, line = (
        n(left - bend),
        n(right + bend),
        n(mid - high),
        n(mid + high),
        n(mid),
    )
    there = f"C{a} {line} {a} {top} {b} {top}H{c}C{d} {top} {d} {line} {stop} {line}"
    back = f"C{d} {line} {d} {low} {c} {low}H{b}C{a} {low} {a} {line} {start} {line}Z"
    return f"M{start} {line}{there}{back}"


FOOT, HEAD, RIGHT = 22.0, 12.0, 44.0


@dataclass(frozen=True)
class Piece:
    x: str
    y: str
    width: str
    height: str
    tone: str
    said: str


@dataclass(frozen=True)
class Columns:
    pieces: list[Piece]
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
    """`days` are (name, [(tone, number, what it says)]), the first part at the bottom.

    `say` words the numbers of the scale.
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


def _stack(parts, *, x: float, wide: float, ground: float, scale: float) -> list[Piece]:
    laid, y = [], ground
    for tone, value, said in parts:
        tall = value * scale
        if tall < 0.4:
            continue
        y -= tall
        laid.append(Piece(n(x), n(y), n(wide), n(max(0.4, tall - 1)), tone, said))
    return laid


def per_day(rows: QuerySet, field: str, *, end: dt.date, days: int) -> dict[dt.date, int]:
    """How many rows each of the last days up to `end` had."""
    return per_day_each({"": (rows, field, Count("pk"))}, end=end, days=days)[""]


def per_day_each(
    asked: dict[str, tuple[QuerySet, str, Aggregate]],
    *,
    end: dt.date,
    days: int,
    older: bool = False,
) -> dict[str, dict[dt.date, float]]:
    """{name: {day: number}} of several kinds of rows, each by its own field, in one query.

    With `older`, what lies before the first day is counted as of the day before it.
    """
    first = day_start(end - dt.timedelta(days=days - 1))
    parts = [
        _by_day(name, rows, field, counted, first=first, older=older)
        for name, (rows, field, counted) in asked.items()
    ]
    found: dict[str, dict] = {name: {} for name in asked}
    for name, day, count in parts[0].union(*parts[1:], all=True) if parts[1:] else parts[0]:
        is_count = isinstance(asked[name][2], Count)
        found[name][day] = int(count) if is_count else count
    return found


def _by_day(name, rows, field, counted, *, first: dt.datetime, older: bool) -> QuerySet:
    at = Greatest(field, Value(first - dt.timedelta(days=1))) if older else F(field)
    rows = rows if older else rows.filter(**{f"{field}__gte": first})
    named = rows.order_by().annotate(name=Value(name), day=TruncDate(at)).values_list("name", "day")
    # A union has one type for all its numbers.
    return named.annotate(number=Cast(counted, FloatField()))


def series(counts: dict, *, end: dt.date, days: int) -> list[tuple[str, float]]:
    """One (name of the day, number) for every day, also the empty ones."""
    line = [end - dt.timedelta(days=back) for back in range(days - 1, -1, -1)]
    return [(dated(day, "SHORT_DATE_FORMAT"), counts.get(day, 0)) for day in line]


def memory_growth(space: Space, *, today: dt.date, days: int = 90) -> Growth | None:
    """What Keno knows today, by the day on which it learned it."""

    def count() -> tuple[list[int], list[int]]:
        facts = rows_in(space, Fact).filter(status=Fact.Status.ACTIVE)
        episodes = rows_in(space, Episode).filter(status__in=Episode.REMEMBERED)
        asked = {
            "facts": (facts, "created_at", Count("pk")),
            "episodes": (episodes, "started_at", Count("pk")),
        }
        found = per_day_each(asked, end=today, days=days, older=True)
        return tuple(_running(found[name], end=today, days=days) for name in asked)

    facts, episodes = cache.get_or_set(
        f"memory_growth:{space.pk}:{today}:{days}", count, CACHE_SECONDS
    )
    if not facts[-1] and not episodes[-1]:
        return None
    marks = (today - dt.timedelta(days=days - 1), today - dt.timedelta(days=days // 2), today)
    return growth(
        facts,
        episodes,
        names=(
            ngettext("%(n)s fact", "%(n)s facts", facts[-1]) % {"n": number(facts[-1])},
            ngettext("%(n)s episode", "%(n)s episodes", episodes[-1]) % {"n": number(episodes[-1])},
        ),
        days=tuple(dated(day, _("j M")) for day in marks),
    )


def _running(counts: dict[dt.date, float], *, end: dt.date, days: int) -> list[int]:
    """How many there were at the end of each day; `counts` begins a day earlier, with the rest."""
    each = [int(counts.get(end - dt.timedelta(days=back), 0)) for back in range(days, -1, -1)]
    return list(accumulate(each))[1:]


def activity(space: Space, *, today: dt.date, weeks: int = 24) -> Heat | None:
    """Messages a day as a calendar of squares."""

    def count() -> dict:
        return per_day(rows_in(space, Message), "sent_at", end=today, days=weeks * 7)

    counts = cache.get_or_set(f"activity:{space.pk}:{today}:{weeks}", count, CACHE_SECONDS)
    if not counts:
        return None
    # 2024 began on a Monday.
    months = [dated(dt.date(2024, month, 1), _("M")) for month in range(1, 13)]
    weekdays = [dated(dt.date(2024, 1, day), "D") for day in range(1, 8)]
    return heat(counts, end=today, weeks=weeks, month_names=months, day_names=weekdays)
