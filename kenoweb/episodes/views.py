"""The episodes of a space: by day or as a list, one beside it, and what a person does with them."""

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from kenoweb.auth.access import episode_for, in_space, message_for
from kenoweb.episodes import bulk as episode_bulk
from kenoweb.episodes import listing
from kenoweb.episodes.forms import REASONS, DiscardForm, EpisodeForm
from kenoweb.episodes.forms import discard as throw_away
from kenoweb.episodes.listing import episode_list
from kenoweb.episodes.panel import episode_panel
from kenoweb.ui import list_page
from kenoweb.ui.filters import EpisodeFilter
from kenoweb.ui.history_thread import row_at
from kenoweb.ui.responses import fragment_or_redirect, toast, toast_error, undo_url
from kenoweb.ui.row_actions import panel_done, purge_view, refreshed, row_action_view, run_and_toast
from memory.episodes import service as episodes
from memory.history.actors import person
from memory.models import Episode

PLAIN = "text/markdown; charset=utf-8"


@in_space(role="viewer")
@require_safe
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
@require_safe
def detail(request, space, pk):
    episode = episode_for(space, pk)
    wanted = EpisodeFilter.read(request.GET)
    context = {"then": row_at(space, Episode, pk, wanted.when)} if wanted.when else {}
    if request.GET.get("edit") and request.member.may("curator"):
        names = ("title", "body", "tags", "participants")
        context["form"] = EpisodeForm(initial={name: getattr(episode, name) for name in names})
    return _page(request, space, panel=_panel(request, space, episode), **context)


@in_space(role="curator")
@require_POST
def revise(request, space, pk):
    episode, form = episode_for(space, pk), EpisodeForm(request.POST)
    if not form.is_valid():
        panel = _panel(request, space, episode)
        return _page(request, space, status=422, form=form, panel=panel)
    by = person(request.user)
    run_and_toast(
        request,
        _("Revised: “%(text)s”."),
        lambda: episodes.revise(episode, by=by, **form.cleaned_data),
    )
    return panel_done(request, _beside(request, "episodes:detail", space, pk))


@in_space(role="curator")
@require_POST
def discard(request, space, pk):
    episode, form = episode_for(space, pk), DiscardForm(request.POST)
    if not form.is_valid():
        toast_error(request, _("Say why: noise, wrong or private. Nothing was changed."))
        return refreshed(request, back=_beside(request, "episodes:detail", space, pk))
    by = person(request.user)
    said = _("Discarded “%(text)s”.")
    run_and_toast(request, said, lambda: throw_away(episode, by=by, **form.cleaned_data))
    return refreshed(request, back=_beside(request, "episodes:detail", space, pk))


@in_space(role="curator")
@require_POST
def rate(request, space, pk):
    episode, feedback = episode_for(space, pk), request.POST.get("feedback", "")
    by = person(request.user)
    run_and_toast(
        request, _("Thank you."), lambda: episodes.rate(episode, feedback=feedback, by=by)
    )
    return refreshed(request, back=_beside(request, "episodes:detail", space, pk))


@in_space(role="curator")
@require_POST
def split(request, space, pk):
    """From the chosen message on it is an episode of its own."""
    episode = episode_for(space, pk)
    number = request.POST.get("message", "")
    found = message_for(space, int(number), chat=episode.chat) if number.isdecimal() else None
    at = found.sent_at if found else episode.started_at
    by = person(request.user)
    said = _("Split: “%(text)s” is an episode of its own now.")
    run_and_toast(request, said, lambda: episodes.split(episode, at=at, by=by))
    return refreshed(request, back=_beside(request, "episodes:detail", space, pk))


@in_space(role="curator")
@require_POST
def bulk(request, space):
    done = episode_bulk.act(space, request.POST, by=person(request.user), now=timezone.now())
    if done.refusal:
        toast_error(request, done.refusal)
    else:
        toast(request, done.said, undo=undo_url(space, done))
    wanted = EpisodeFilter.read(QueryDict(request.POST.get("where", "")))
    context = {"list": episode_list(space, wanted, member=request.member, now=timezone.now())}
    back = list_page.filter_url(reverse("episodes:index", args=[space.slug]), wanted)
    return fragment_or_redirect(request, "episodes/_list.html", context, back=back)


def _row(request, episode):
    back = reverse("episodes:detail", args=[request.space.slug, episode.pk])
    if request.POST.get("from") == "panel" or not request.htmx:
        return refreshed(request, back=back)
    rows = listing.described([episode], space=request.space, query="", now=timezone.now())
    look = "episodes/_row.html" if request.POST.get("look") == "list" else "episodes/_epi.html"
    return fragment_or_redirect(request, look, {"row": rows[0], "list": {"may": True}}, back=back)


restore = row_action_view(
    episodes.restore, gettext_lazy("Restored “%(text)s”."), fetch=episode_for, respond=_row
)


@in_space(role="viewer")
@require_safe
def markdown(request, space, pk):
    return HttpResponse(episodes.as_markdown(episode_for(space, pk)), content_type=PLAIN)


def _panel(request, space, episode):
    return episode_panel(episode, space=space, user=request.user, now=timezone.now())


def _page(request, space, *, status=200, **context):
    wanted = EpisodeFilter.read(request.GET)
    context["list"] = episode_list(space, wanted, member=request.member, now=timezone.now())
    return render(request, "episodes/index.html", context | {"reasons": REASONS}, status=status)


def _beside(request, name, space, *args):
    """The address with the list's filter kept."""
    url, query = reverse(name, args=[space.slug, *args]), EpisodeFilter.read(request.GET).query()
    return f"{url}?{query}" if query else url


purge = purge_view(episodes.purge, room="episodes", fetch=episode_for, back=_beside)
