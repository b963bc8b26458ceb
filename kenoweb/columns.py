"""Columns made of parts, one per day: geometry only, as text (see kenoweb/charts.py)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kenoweb.charts import Mark, n

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
        Mark(n(width), n(ground - scale * tick), say(round(tick, 6)), "end") for tick in _ticks(top)
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


def _ticks(top: float) -> list[float]:
    """Nothing, and one to three round numbers up to the top."""
    steps = (base * 10.0**power for power in range(-6, 9) for base in (1, 2, 5))
    step = next(step for step in steps if top / step < 4)
    return [step * count for count in range(int(top / step + 1e-9) + 1)]
