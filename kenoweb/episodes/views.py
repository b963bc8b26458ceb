"""The episodes of a space: by day or as a list, one beside it, and what a person does with them."""

from datetime import datetime
from functools import partial

from django import forms
from django.db import transaction
from django.http import QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb.auth.access import episode_for, in_space, message_for, rows_in
from kenoweb.episodes import listing
from kenoweb.episodes.listing import episode_list
from kenoweb.episodes.panel import derived_facts, episode_panel
from kenoweb.ui import list_page
from kenoweb.ui.filters import EpisodeFilter, number_in
from kenoweb.ui.formatting import OneLine, Several
from kenoweb.ui.history_thread import row_at
from kenoweb.ui.responses import (
    beside,
    bulk_view,
    fragment_or_redirect,
    markdown_view,
    panel_done,
    purge_view,
    refreshed,
    row_action_view,
    run_and_toast,
    toast_error,
)
from memory import erasure, rulings
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Episode, Space

REASONS = {
    "noise": (gettext_lazy("Noise"), gettext_lazy("small talk, a test, repeated messages")),
    "wrong": (gettext_lazy("Wrong"), gettext_lazy("it did not happen like this")),
    "private": (gettext_lazy("Private"), gettext_lazy("and never remember things like it")),
}
MAX_PICKED = 200


@transaction.atomic
def discard_with_reason(
    episode: Episode,
    *,
    by: str,
    why: str,
    note: str = "",
    with_facts: bool = False,
    now: datetime | None = None,
) -> ChangeResult:
    """Move to the trash; undo brings back all of it, facts and rulings too."""
    reason = ": ".join(part for part in (str(REASONS[why][0]), note) if part)
    with history.change(by=by, why="discard") as context:
        result = episodes.discard(episode, by=by, reason=reason, now=now)
        if not result.changed:
            return result
        if why == "private":
            rulings.forbid(episode.space, text=str(episode), by=by, reason=note or reason)
        if with_facts:
            for fact in derived_facts(episode, space=episode.space).live():
                facts.forget(fact, by=by, now=now)
    return ChangeResult(episode, context.id)


class EpisodeForm(forms.Form):
    title = OneLine(label=gettext_lazy("Title"), max_length=200)
    body = forms.CharField(
        label=gettext_lazy("What happened"),
        max_length=20_000,
        required=False,
        help_text=gettext_lazy("Markdown: lists, links, code."),
        widget=forms.Textarea(attrs={"rows": 10}),
    )
    tags = Several(
        parted_by=", ",
        label=gettext_lazy("Tags"),
        max_length=600,
        required=False,
        help_text=gettext_lazy("Separated by commas."),
    )
    participants = Several(
        parted_by=", ",
        label=gettext_lazy("With"),
        max_length=1200,
        required=False,
        help_text=gettext_lazy("Separated by commas."),
    )


class DiscardForm(forms.Form):
    why = forms.ChoiceField(choices=[(key, label) for key, (label, _text) in REASONS.items()])
    note = OneLine(required=False, max_length=160)
    with_facts = forms.BooleanField(required=False)


def act(space: Space, posted: QueryDict, *, by: str, now: datetime) -> list_page.BulkAnswer:
    pks = [*filter(None, map(number_in, posted.getlist("pick")))]
    if len(pks) > MAX_PICKED:
        return list_page.BulkAnswer(
            refusal=_("At most %(n)s episodes at once.") % {"n": MAX_PICKED}
        )
    rows = list(rows_in(space, Episode).filter(pk__in=pks).order_by("started_at", "pk"))
    if not rows:
        return list_page.BulkAnswer(refusal=_("Tick the episodes first."))
    try:
        return _do(posted.get("act", ""), rows, by=by, now=now)
    except episodes.Invalid as refusal:
        return list_page.BulkAnswer(refusal=str(refusal))


@transaction.atomic
def _do(name: str, rows: list[Episode], *, by: str, now: datetime) -> list_page.BulkAnswer:
    if name == "merge":
        if len(rows) < 2:
            return list_page.BulkAnswer(refusal=_("Tick at least two episodes to merge."))
        result = episodes.merge(rows, by=by, now=now)
        text = ngettext("Merged %(n)s episode.", "Merged %(n)s episodes into one.", len(rows))
        return list_page.BulkAnswer(text % {"n": len(rows)}, change_id=result.change_id)
    name, _dash, why = name.partition("-")
    if name == "discard":
        write = partial(discard_with_reason, why=why if why in REASONS else "noise")
    elif name == "restore":
        write = episodes.restore
    else:
        return list_page.BulkAnswer(refusal=_("Choose what to do with them."))
    with history.change(by=by, why=name) as context:
        count = sum(write(episode, by=by, now=now).changed for episode in rows)
    if name == "discard":
        text = ngettext("Discarded %(n)s episode.", "Discarded %(n)s episodes.", count)
    else:
        text = ngettext("Restored %(n)s episode.", "Restored %(n)s episodes.", count)
    return list_page.BulkAnswer(text % {"n": count}, change_id=context.id if count else None)


@in_space(role="viewer")
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
def detail(request, space, pk):
    episode = episode_for(space, pk)
    when = EpisodeFilter.read(request.GET).when
    context = {"then": row_at(space, Episode, pk, when)} if when else {}
    if request.GET.get("edit") and request.member.may("curator"):
        names = ("title", "body", "tags", "participants")
        context["form"] = EpisodeForm(initial={name: getattr(episode, name) for name in names})
    return _page(request, space, panel=_panel(request, space, episode), **context)


@in_space(role="curator", methods="POST")
def revise(request, space, pk):
    episode, form = episode_for(space, pk), EpisodeForm(request.POST)
    if not form.is_valid():
        panel = _panel(request, space, episode)
        return _page(request, space, status=422, form=form, panel=panel)
    values = form.cleaned_data
    run_and_toast(request, _("Revised: “%(text)s”."), episodes.revise, episode, **values)
    return panel_done(request, beside(request, EpisodeFilter, "episodes:detail", space, pk))


@in_space(role="curator", methods="POST")
def discard(request, space, pk):
    episode, form = episode_for(space, pk), DiscardForm(request.POST)
    if not form.is_valid():
        toast_error(request, _("Say why: noise, wrong or private. Nothing was changed."))
        return _refresh(request, pk)
    values = form.cleaned_data
    run_and_toast(request, _("Discarded “%(text)s”."), discard_with_reason, episode, **values)
    return _refresh(request, pk)


@in_space(role="curator", methods="POST")
def rate(request, space, pk):
    episode, feedback = episode_for(space, pk), request.POST.get("feedback", "")
    run_and_toast(request, _("Thank you."), episodes.rate, episode, feedback=feedback)
    return _refresh(request, pk)


@in_space(role="curator", methods="POST")
def split(request, space, pk):
    """Make an episode of its own from the chosen message on."""
    episode = episode_for(space, pk)
    number = request.POST.get("message", "")
    message = message_for(space, int(number), chat=episode.chat) if number.isdecimal() else None
    at = message.sent_at if message else episode.started_at
    text = _("Split: “%(text)s” is an episode of its own now.")
    run_and_toast(request, text, episodes.split, episode, at=at)
    return _refresh(request, pk)


def _refresh(request, pk):
    url = beside(request, EpisodeFilter, "episodes:detail", request.space, pk)
    return refreshed(request, back=url)


def _row(request, episode):
    back = reverse("episodes:detail", args=[request.space.slug, episode.pk])
    if request.POST.get("from") == "panel" or not request.htmx:
        return refreshed(request, back=back)
    rows = listing.episode_rows([episode], space=request.space, query="", now=timezone.now())
    look = "episodes/_row.html" if request.POST.get("look") == "list" else "episodes/_epi.html"
    return fragment_or_redirect(request, look, {"row": rows[0], "list": {"may": True}}, back=back)


restore = row_action_view(
    episodes.restore, gettext_lazy("Restored “%(text)s”."), fetch=episode_for, respond=_row
)


bulk = bulk_view(act, room="episodes", filters=EpisodeFilter, lister=episode_list)
markdown = markdown_view(episodes.as_markdown, fetch=episode_for)
purge = purge_view(erasure.purge, room="episodes", fetch=episode_for, filters=EpisodeFilter)


def _panel(request, space, episode):
    return episode_panel(episode, space=space, user=request.user, now=timezone.now())


def _page(request, space, *, status=200, **context):
    filters = EpisodeFilter.read(request.GET)
    context["list"] = episode_list(space, filters, member=request.member, now=timezone.now())
    return render(request, "episodes/index.html", context | {"reasons": REASONS}, status=status)
