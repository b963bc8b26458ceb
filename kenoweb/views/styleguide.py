"""Every part in every state, on one page: the visual test."""

import datetime as dt
import re
from functools import cache

from django.conf import settings
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kenoweb import charts
from kenoweb.access import signed_in

PARTS = [
    ("colour", "Colour"),
    ("type", "Type"),
    ("icons", "Icons"),
    ("buttons", "Buttons"),
    ("fields", "Fields"),
    ("marks", "Meters, badges, chips"),
    ("tabs", "Views and pages"),
    ("rows", "Rows"),
    ("diff", "Diffs"),
    ("things", "Days, talk, candidates"),
    ("words", "Words of people"),
    ("charts", "Charts"),
    ("notes", "Notes and overlays"),
    ("drawer", "Panel"),
    ("empty", "Empty and loading"),
    ("keys", "Keys"),
]
COLOURS = [
    ("bg", "page"),
    ("rail", "rail"),
    ("raised", "panels, fields"),
    ("sunken", "notes"),
    ("line", "hairlines"),
    ("line-2", "buttons"),
    ("edge", "fields, 3:1"),
    ("text", "text"),
    ("soft", "second"),
    ("muted", "third, 4.5:1"),
    ("accent", "the one accent"),
    ("accent-tint", "selection"),
    ("ok", "went well"),
    ("warn", "look here"),
    ("bad", "went wrong, deletes"),
    *((f"d{n}", f"data {n}") for n in range(1, 6)),
]
MARKDOWN = """## What happened
The webhook answered **401** until the token moved into the address. See [the docs](https://docs.example/hooks).

- tried the header: `Authorization: Bearer`
- tried `?token=`: works
"""
SCORES = [
    [("meaning", 0.45), ("words", 0.23), ("recency", 0.06), ("sure", 0.09), ("place", 0.05)],
    [("meaning", 0.44), ("words", 0.17), ("recency", 0.06), ("sure", 0.08), ("place", 0.05)],
    [("meaning", 0.29), ("words", 0.03), ("recency", 0.06), ("sure", 0.03), ("place", 0.0)],
]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


@signed_in
@require_safe
def styleguide(request):
    return render(request, "styleguide/index.html", _samples() | {"icons": icon_names()})


@cache
def icon_names() -> list[str]:
    svg = (settings.BASE_DIR / "static/icons.svg").read_text()
    return re.findall(r'<symbol id="([\w-]+)"', svg)


@cache
def _samples() -> dict:
    """Made-up numbers, the same every time so that two pictures can be compared."""
    end = dt.date(2026, 2, 15)
    facts = [405 + 9.9 * day - (14 if day % 31 == 0 else 0) for day in range(90)]
    counts = {
        end - dt.timedelta(days=back): (back * 37 % 23) * (back % 7 not in (0, 1))
        for back in range(170)
    }
    return {
        "parts": PARTS,
        "markdown": MARKDOWN,
        "scores": SCORES,
        "colours": COLOURS,
        "growth": charts.growth(
            facts,
            [190 + 5.08 * day for day in range(90)],
            names=("1,284 facts", "642 episodes"),
            days=("17 Nov", "1 Jan", "15 Feb"),
        ),
        "spark": [30, 42, 26, 58, 64, 37, 53],
        "points": list(zip(DAYS, [3, 5, 2, 8, 9, 4, 7], strict=True)),
        "shares": [("core", 92), ("rules", 83), ("notes", 34), ("facts", 160), ("episodes", 40)],
        "fuse": [("archived", 12)],
        "heat": charts.heat(counts, end=end, month_names=MONTHS, day_names=DAYS),
    }
