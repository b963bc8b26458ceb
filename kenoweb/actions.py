"""How a view answers after it changed something."""

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from memory.history import Done
from memory.models import Space


def answer(
    request: HttpRequest,
    template: str,
    context: dict,
    *,
    back: str,
    status: int = 200,
    changed: str = "memory-changed",
) -> HttpResponse:
    """The changed fragment for htmx, with the event others listen to; a redirect without it."""
    if not request.htmx:
        return redirect(next_url(request) or back)
    response = render(request, template, context, status=status)
    if changed and status < 400:
        response["HX-Trigger"] = changed
    return response


def show_form(request: HttpRequest, template: str, form: Form, **context) -> HttpResponse:
    """The page with its form; 422 when what was sent did not fit."""
    status = 422 if form.errors else 200
    return render(request, template, {"form": form, **context}, status=status)


def say(request: HttpRequest, text: str, *, undo: str = "") -> None:
    """One toast in the past tense; `undo` is the address that takes it back."""
    messages.success(request, text, extra_tags=undo)


def undo_url(space: Space, done: Done) -> str:
    """What takes back what a writer of memory did; nothing when it changed nothing."""
    return reverse("history:undo", args=[space.slug, done.change_id]) if done.changed else ""


def warn(request: HttpRequest, text: str) -> None:
    messages.error(request, text)


def next_url(request: HttpRequest) -> str:
    """Where the form asked to go, if that is one of our own pages."""
    url = request.POST.get("next", "")
    ok = url_has_allowed_host_and_scheme(url, {request.get_host()}, request.is_secure())
    return url if ok else ""
