"""Pages outside the rooms: home, theme and language, errors, undo, the style guide."""

import datetime as dt
import json
import re
import sys
from functools import cache
from pathlib import Path

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
from kenoweb.ui.responses import CHANGED, YEAR_SECONDS, next_url, toast, toast_error
from memory.history import changes as history
from memory.history.actors import person
from memory.models import Identity, Space
from memory.models.encryption import KeyMissing


@for_account()
def home(request):
    members = sorted(memberships(request), key=lambda member: bool(member.space.archived_at))
    slugs = [member.space.slug for member in members]
    if not slugs:
        return redirect("spaces:index")
    last = request.COOKIES.get(LAST_SPACE)
    return redirect("overview:index", last if last in slugs else slugs[0])


@for_anyone()
def favicon(request):
    """Answer browsers that show no page of ours, but JSON or the description of the API."""
    return redirect(static("favicon.svg"))


@for_anyone()
def manifest(request):
    """Return what a phone needs to keep Keno among its apps."""
    icon = {"type": "image/png", "purpose": "any maskable"}
    icons = [icon | {"src": static(f"icon-{n}.png"), "sizes": f"{n}x{n}"} for n in (192, 512)]
    names = {"name": "Keno", "short_name": "Keno", "start_url": reverse("home"), "scope": "/"}
    colours = {"background_color": "#fdfcfa", "theme_color": "#0b5c6f"}
    content = names | colours | {"display": "standalone", "icons": icons}
    return JsonResponse(content, content_type="application/manifest+json")


@for_anyone()
def service_worker(request):
    """Return the script that shows a page when Keno cannot be reached; it stores no memory."""
    return render(request, "sw.js", content_type="text/javascript; charset=utf-8")


@for_anyone()
def offline(request):
    return render(request, "offline.html")


@for_anyone(methods="POST")
def theme(request):
    response = HttpResponse(status=204) if request.htmx else redirect(next_url(request) or "home")
    return _save_choice(request, response, "theme", THEMES)


@for_anyone(methods="POST")
def language(request):
    response = redirect(next_url(request) or "home")
    return _save_choice(request, response, "language", dict(settings.LANGUAGES))


def _save_choice(request, response, name, choices):
    """Save the choice in this browser, and in the account for the next one."""
    value = request.POST.get(name)
    if value not in choices:
        return response
    if request.user.is_authenticated:
        accounts.prefer(request.user, **{name: value})
    return set_appearance(response, **{name: value})


def set_appearance(response, *, theme="", language=""):
    """Set the cookies of what the person chose; an empty value changes nothing."""
    for name, value in {THEME_COOKIE: theme, settings.LANGUAGE_COOKIE_NAME: language}.items():
        if value:
            secure = settings.SESSION_COOKIE_SECURE
            response.set_cookie(name, value, max_age=YEAR_SECONDS, samesite="Lax", secure=secure)
    return response


def broken(request):
    """Answer 500, or 503 when it was the database that did not answer."""
    error = sys.exc_info()[1]
    status = 503 if isinstance(error, OperationalError | InterfaceError) else 500
    context = {"key_missing": isinstance(error, KeyMissing)}
    response = HttpResponse(get_template(f"{status}.html").render(context), status=status)
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
        # The toast goes; lists that show the row listen and fetch themselves.
        return HttpResponse(headers=CHANGED)
    return redirect(next_url(request) or reverse("overview:index", args=[space.slug]))


@for_account()
def styleguide(request):
    return render(request, "styleguide/index.html", _samples() | {"icons": icon_names()})


@cache
def icon_names() -> list[str]:
    svg = (settings.BASE_DIR / "static/icons.svg").read_text()
    return re.findall(r'<symbol id="([\w-]+)"', svg)


@cache
def _samples() -> dict:
    """Return made-up numbers, the same every time so that two pictures can be compared."""
    samples = json.loads(Path(__file__).with_name("styleguide.json").read_text())
    end = dt.date(2026, 2, 15)
    facts = [405 + 9.9 * day - (14 if day % 31 == 0 else 0) for day in range(90)]
    episodes = [190 + 5.08 * day for day in range(90)]
    marks = {"names": ("1,284 facts", "642 episodes"), "days": ("17 Nov", "1 Jan", "15 Feb")}
    counts = {
        end - dt.timedelta(days=back): (back * 37 % 23) * (back % 7 not in (0, 1))
        for back in range(170)
    }
    names = {"month_names": samples["months"], "day_names": samples["days"]}
    return samples | {
        "growth": charts.growth(facts, episodes, **marks),
        "heat": charts.heat(counts, end=end, **names),
    }
