"""The acts on one row of memory: fetch it, call one writer, say what happened, offer Undo."""

from collections.abc import Callable

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from kenoweb.access import in_space
from kenoweb.actions import next_url, say, undo_url, warn
from kenoweb.sessions import go
from memory.actors import person
from memory.fact_rows import SaidAlready
from memory.history import Done
from memory.text import short

ERASE = "erase"
Fetch = Callable[[object, int], Model]
Respond = Callable[..., HttpResponse]


def verb(writer: Callable[..., Done], said: str, *, fetch: Fetch, respond: Respond, **given):
    """A view that does one thing to one row: facts.forget becomes facts:forget."""

    @in_space(role="curator")
    @require_POST
    def view(request, space, pk):
        row = fetch(space, pk)
        attempt(request, said, lambda: writer(row, by=person(request.user), **given))
        return respond(request, row)

    return view


def erasing(writer: Callable[..., None], *, room: str, fetch: Fetch, back: Callable[..., str]):
    """The view that deletes one row for good, once the person has typed the word."""

    @in_space(role="curator")
    @require_POST
    def view(request, space, pk):
        row = fetch(space, pk)
        if request.POST.get("typed") != ERASE:
            warn(request, _("Type the word to erase it for good. Nothing was changed."))
            return redirect(f"{room}:detail", space.slug, pk)
        writer(row, by=person(request.user))
        say(request, _("Erased for good."))
        return go(request, next_url(request) or back(request, f"{room}:index", space))

    return view


def attempt(request: HttpRequest, said: str, write: Callable[[], Done]) -> Done | None:
    """Do it and say so with Undo, or say why not. None when it could not be done."""
    try:
        done = write()
    except SaidAlready as refusal:
        other = f": “{short(str(refusal.other), 60)}”" if refusal.other else "."
        warn(request, _("Another live fact says the same") + other)
        request.is_said_already = True
        return None
    except ValueError as refusal:  # every Invalid of memory: a sentence for the person
        warn(request, str(refusal))
        return None
    if done.changed:
        words = {"text": short(str(done.row), 60)} if done.row else {}
        say(request, str(said) % words, undo=undo_url(request.space, done))
    elif done.reason:
        warn(request, done.reason)
    else:
        say(request, _("It was so already."))
    return done


def refreshed(request: HttpRequest, *, back: str) -> HttpResponse:
    """Everything on the page that shows it fetches itself again; without htmx the whole page."""
    if not request.htmx:
        return redirect(next_url(request) or back)
    return HttpResponse(headers={"HX-Trigger": "memory-changed, rows-changed"})


def settled(request: HttpRequest, url: str) -> HttpResponse:
    """A form in the panel is done: the panel shows what it is about again, at that address."""
    if not request.htmx:
        return redirect(url)
    headers = {"HX-Reswap": "none", "HX-Push-Url": url}
    return HttpResponse(headers=headers | {"HX-Trigger": "memory-changed, rows-changed"})
