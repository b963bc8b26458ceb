"""Responses of views that change something."""

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from memory.history.changes import ChangeResult
from memory.models import Space


def fragment_or_redirect(
    request: HttpRequest,
    template: str,
    context: dict,
    *,
    back: str,
    status: int = 200,
    changed: str = "memory-changed",
) -> HttpResponse:
    """Render the fragment with an event for htmx; without htmx redirect."""
    if not request.htmx:
        return redirect(next_url(request) or back)
    response = render(request, template, context, status=status)
    if changed and status < 400:
        response["HX-Trigger"] = changed
    return response


def show_form(request: HttpRequest, template: str, form: Form, **context) -> HttpResponse:
    """Render the page with its form; status 422 when the form has errors."""
    status = 422 if form.errors else 200
    return render(request, template, {"form": form, **context}, status=status)


def toast(request: HttpRequest, text: str, *, undo: str = "") -> None:
    """Show a toast, worded in the past tense; `undo` is the URL that undoes the change."""
    messages.success(request, text, extra_tags=undo)


def undo_url(space: Space, done: ChangeResult) -> str:
    """Return the URL that undoes the change; empty when nothing changed."""
    return reverse("history:undo", args=[space.slug, done.change_id]) if done.changed else ""


def toast_error(request: HttpRequest, text: str) -> None:
    messages.error(request, text)


def next_url(request: HttpRequest) -> str:
    """Return the `next` of the form if it is one of our own pages, else an empty string."""
    url = request.POST.get("next", "")
    ok = url_has_allowed_host_and_scheme(url, {request.get_host()}, request.is_secure())
    return url if ok else ""
