"""Pages of no room: the way home, theme and language, errors, history, the style guide."""

import datetime as dt
import re
import sys
from functools import cache

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import get_template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _

from kenoweb.auth import accounts
from kenoweb.auth.access import (
    LAST_SPACE,
    change_for,
    for_account,
    for_anyone,
    in_space,
    memberships,
)
from kenoweb.ui import charts
from kenoweb.ui.page_chrome import THEME_COOKIE, THEMES
from kenoweb.ui.responses import next_url, toast, toast_error
from memory.history import changes as history
from memory.history.actors import person
from memory.models import Identity, Space
from memory.models.encryption import KeyMissing


@for_account()
def home(request):
    mine = sorted(memberships(request), key=lambda member: bool(member.space.archived_at))
    slugs = [member.space.slug for member in mine]
    if not slugs:
        return redirect("spaces:index")
    last = request.COOKIES.get(LAST_SPACE)
    return redirect("overview:index", last if last in slugs else slugs[0])


YEAR = 365 * 24 * 3600


@for_anyone()
def favicon(request):
    """Where a browser looks that shows no page of ours, but JSON or the description of the API."""
    return redirect(static("favicon.svg"))


@for_anyone()
def manifest(request):
    """What a phone needs to keep Keno among its apps."""
    icon = {"type": "image/png", "purpose": "any maskable"}
    sizes = ("192", "512")
    icons = [icon | {"src": static(f"icon-{n}.png"), "sizes": f"{n}x{n}"} for n in sizes]
    told = {"name": "Keno", "short_name": "Keno", "start_url": reverse("home"), "scope": "/"}
    colours = {"background_color": "#fdfcfa", "theme_color": "#0b5c6f"}
    answer = told | colours | {"display": "standalone", "icons": icons}
    return JsonResponse(answer, content_type="application/manifest+json")


@for_anyone()
def service_worker(request):
    """The script that shows a page of ours when Keno cannot be reached; it keeps no memory."""
    return render(request, "sw.js", content_type="text/javascript; charset=utf-8")


@for_anyone()
def offline(request):
    return render(request, "offline.html")


@for_anyone(methods="POST")
def theme(request):
    chosen = request.POST.get("theme")
    response = HttpResponse(status=204) if request.htmx else redirect(next_url(request) or "home")
    if chosen in THEMES:
        _keep(request, theme=chosen)
        wear(response, theme=chosen)
    return response


@for_anyone(methods="POST")
def language(request):
    chosen = request.POST.get("language")
    response = redirect(next_url(request) or "home")
    if chosen in dict(settings.LANGUAGES):
        _keep(request, language=chosen)
        wear(response, language=chosen)
    return response


def wear(response, *, theme="", language=""):
    """Let this browser show what the person chose; what was never chosen stays as it is."""
    chosen = {THEME_COOKIE: theme, settings.LANGUAGE_COOKIE_NAME: language}
    for name, value in chosen.items():
        if value:
            secure = settings.SESSION_COOKIE_SECURE
            response.set_cookie(name, value, max_age=YEAR, samesite="Lax", secure=secure)
    return response


def _keep(request, **choice):
    """For the next browser the person signs in with; this one has the cookie."""
    if request.user.is_authenticated:
        accounts.prefer(request.user, **choice)


def broken(request):
    """500, or 503 when it was the database that did not answer."""
    error = sys.exc_info()[1]
    status = 503 if isinstance(error, OperationalError | InterfaceError) else 500
    shown = {"key_missing": isinstance(error, KeyMissing)}
    response = HttpResponse(get_template(f"{status}.html").render(shown), status=status)
    if status == 503:
        response["Retry-After"] = "10"
    return response


# What a curator may not change, a curator may not change back.
OWNERS_ONLY = {Space, Identity}


@in_space(role="curator", methods="POST")
def undo(request, space, change):
    steps = change_for(space, change)
    if any(step.model in OWNERS_ONLY for step in steps) and not request.member.may("owner"):
        raise PermissionDenied
    try:
        with history.change(by=person(request.user), why="undo", undoes_context=str(change)) as now:
            history.undo_context(change, by=person(request.user))
        toast(request, _("Undone."), undo=reverse("history:undo", args=[space.slug, now.id]))
    except history.Conflict as conflict:
        toast_error(request, str(conflict))
    if request.htmx:
        # The toast that asked goes; lists that show the row listen and fetch themselves.
        return HttpResponse(headers={"HX-Trigger": "memory-changed, rows-changed"})
    return redirect(next_url(request) or reverse("overview:index", args=[space.slug]))


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


@for_account()
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
