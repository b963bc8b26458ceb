"""How the dashboard looks to this person: theme and language, kept in cookies."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from kenoweb import accounts
from kenoweb.access import public
from kenoweb.actions import next_url
from kenoweb.shell import THEME_COOKIE, THEMES

YEAR = 365 * 24 * 3600


@public
@require_POST
def theme(request):
    chosen = request.POST.get("theme")
    response = HttpResponse(status=204) if request.htmx else redirect(next_url(request) or "home")
    if chosen in THEMES:
        _keep(request, theme=chosen)
        wear(response, theme=chosen)
    return response


@public
@require_POST
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
