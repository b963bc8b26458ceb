"""Responses of views that change something."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.db.models import Model
from django.forms import Form
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext

from kenoweb.auth.access import in_space
from kenoweb.auth.sessions import go, safe
from kenoweb.ui.filters import Filter
from kenoweb.ui.list_page import BulkAnswer, filter_url
from memory.facts.rows import DuplicateFact
from memory.history.actors import person
from memory.history.changes import ChangeResult
from memory.models import Space
from memory.text.normalise import short

ERASE = "erase"
MARKDOWN = "text/markdown; charset=utf-8"
# The cookie of a browser in which a receipt was opened: one of the first steps.
OPENED_RECEIPT = "keno_receipt"
YEAR_SECONDS = 365 * 24 * 3600
ERASED = {
    _("Facts"): ["memory.Fact"],
    _("Messages"): ["memory.Message"],
    _("Episodes"): ["memory.Episode"],
    _("Patterns"): ["memory.Pattern"],
    _("People"): ["memory.Entity"],
    _("Receipts"): ["memory.Recall"],
    _("Golden questions"): ["memory.GoldenQuestion"],
    _("Replies on their way"): ["memory.OutboxItem", "memory.Draft"],
    _("Chats"): ["memory.Chat"],
    _("Working notes"): ["memory.WorkingNote"],
    _("Proposals"): ["sleep.Proposal"],
    _("Nights"): ["sleep.Night"],
    _("What nights wrote down"): [
        "sleep.PhaseRun", "sleep.NightChange", "sleep.Reflection", "sleep.Claim",
        "memory.SelfCheck",
    ],
    _("Rules, preferences and rulings"): [
        "memory.Identity", "memory.Rule", "memory.Preference", "memory.Ruling",
    ],
    _("Files"): ["memory.Parcel", "memory.ParcelLine"],
    _("Notices, model calls and audit"): [
        "memory.Notice", "memory.DeadLetter", "memory.LlmCall", "memory.AuditEntry",
    ],
    _("Members"): ["memory.Member", "memory.ApiToken"],
    _("Entries of the search index"): ["memory.Embedding"],
    _("Earlier versions"): ["history", "pghistory.Context"],
}  # fmt: skip
KINDS = {
    "facts": _("Fact"),
    "episodes": _("Episode"),
    "patterns": _("Pattern"),
}
# What a list and panel of changed rows listen to.
CHANGED = {"HX-Trigger": "memory-changed, rows-changed"}
Fetch = Callable[[object, int], Model]
Respond = Callable[..., HttpResponse]


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


def remember_opened(response: HttpResponse) -> HttpResponse:
    """Keep in the browser that a receipt was opened here."""
    secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(OPENED_RECEIPT, "1", max_age=YEAR_SECONDS, samesite="Lax", secure=secure)
    return response


def next_url(request: HttpRequest) -> str:
    """Return the `next` of the form if it is one of our own pages, else an empty string."""
    return safe(request, request.POST.get("next", ""))


def space_url(name: str, space: Space, *args: object, **kwargs: object) -> str:
    if kwargs:
        return reverse(name, kwargs={"space": space.slug, **kwargs})
    return reverse(name, args=[space.slug, *args])


def message_url(space: Space, pk: int, chat: int | None) -> str:
    """Return the URL of a message in its chat; empty for a message of no chat."""
    there = space_url("chats:detail", space, chat) if chat else ""
    return f"{there}?message={pk}#message-{pk}" if there else ""


def row_action_view(
    writer: Callable[..., ChangeResult], text: str, *, fetch: Fetch, respond: Respond, **values
):
    """Return a view that calls the service on one row: facts.forget becomes facts:forget."""

    @in_space(role="curator", methods="POST")
    def view(request, space, pk):
        row = fetch(space, pk)
        run_and_toast(request, text, writer, row, **values)
        return respond(request, row)

    return view


def beside(
    request: HttpRequest, filters: type[Filter], name: str, space: Space, *args: object
) -> str:
    """Return the URL of a page with the list's filter kept."""
    return filter_url(space_url(name, space, *args), filters.read(request.GET))


def toast_bulk(request: HttpRequest, done: BulkAnswer) -> None:
    if done.refusal:
        toast_error(request, done.refusal)
    else:
        toast(request, done.message, undo=undo_url(request.space, done))


def bulk_view(
    act: Callable[..., BulkAnswer], *, room: str, filters: type[Filter], lister: Callable
):
    """Return a view that does to the ticked rows what was chosen, and shows the list again."""

    @in_space(role="curator", methods="POST")
    def view(request, space):
        now = timezone.now()
        toast_bulk(request, act(space, request.POST, by=person(request.user), now=now))
        values = filters.read(QueryDict(request.POST.get("where", "")))
        context = {"list": lister(space, values, member=request.member, now=now)}
        back = filter_url(space_url(f"{room}:index", space), values)
        return fragment_or_redirect(request, f"{room}/_list.html", context, back=back)

    return view


def markdown_view(words: Callable[[Model], str], *, fetch: Fetch):

    @in_space(role="viewer")
    def view(request, space, pk):
        return HttpResponse(words(fetch(space, pk)), content_type=MARKDOWN)

    return view


def purge_view(writer: Callable[..., Any], *, room: str, fetch: Fetch, filters: type[Filter]):
    """Return a view that deletes one row for good, once the person has typed the word.

    GET shows what would be deleted, counted.
    """

    @in_space(role="curator", methods="GET POST", sudo=True)
    def view(request, space, pk):
        row = fetch(space, pk)
        if request.method != "POST":
            context = {
                # A pattern is known by both of its halves.
                "row": f"{row.trigger} → {row.response}" if room == "patterns" else str(row),
                "kind": KINDS[room],
                "lines": counted_lines(writer(row, by=person(request.user), preview=True)),
                "back": next_url(request) or space_url(f"{room}:detail", space, pk),
            }
            return render(request, "erase.html", context)
        if not typed(request, ERASE):
            toast_error(request, _("Type the word to erase it for good. Nothing was changed."))
            return redirect(f"{room}:detail", space.slug, pk)
        writer(row, by=person(request.user))
        toast(request, _("Erased for good."))
        return go(request, next_url(request) or beside(request, filters, f"{room}:index", space))

    return view


def counted_lines(gone: dict[str, int]) -> list[tuple[str, int]]:
    """Return what an erasure changes: a label that people know, and how many rows of it."""
    lines = ((label, sum(gone.get(name, 0) for name in names)) for label, names in ERASED.items())
    return [(label, count) for label, count in lines if count]


def typed(request: HttpRequest, word: str) -> bool:
    """Tell whether the person typed the word that confirms, in English or in their language."""
    return request.POST.get("typed") in {word, pgettext("typed to confirm", word)}


def run_and_toast(
    request: HttpRequest, text: str, write: Callable[..., ChangeResult], /, *args, **values
) -> ChangeResult | None:
    """Call the service as this person; a toast with Undo, or with the error and then None."""
    try:
        done = write(*args, by=person(request.user), **values)
    except DuplicateFact as refusal:
        other = f": “{short(str(refusal.other), 60)}”" if refusal.other else "."
        toast_error(request, _("Another active fact says the same") + other)
        request.is_said_already = True
        return None
    except ValueError as refusal:  # the errors of memory are sentences for the person
        toast_error(request, str(refusal))
        return None
    if done.changed:
        words = {"text": short(str(done.row), 60)} if done.row else {}
        toast(request, str(text) % words, undo=undo_url(request.space, done))
    elif done.reason:
        toast_error(request, done.reason)
    else:
        toast(request, _("Nothing to change: it is so already."))
    return done


def refreshed(request: HttpRequest, *, back: str) -> HttpResponse:
    """Tell the page to fetch lists and panel again; without htmx redirect to it."""
    if not request.htmx:
        return redirect(next_url(request) or back)
    return HttpResponse(headers=CHANGED)


def panel_done(request: HttpRequest, url: str) -> HttpResponse:
    """Answer a saved form of the panel: the panel shows the row again, at that URL."""
    if not request.htmx:
        return redirect(url)
    return HttpResponse(headers=CHANGED | {"HX-Reswap": "none", "HX-Push-Url": url})
