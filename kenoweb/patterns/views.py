"""The habits of a space: the list, a message to try on them, and what a person does with them."""

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from django import forms
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import in_space, pattern_for, rows_in
from kenoweb.auth.sessions import go
from kenoweb.ui import charts, history_thread, list_page, sources
from kenoweb.ui.filters import PatternFilter, in_chat, number_in
from kenoweb.ui.formatting import OneLine
from kenoweb.ui.history_thread import Step, row_at, rows_at
from kenoweb.ui.list_page import Order, counted, part
from kenoweb.ui.responses import (
    beside,
    fragment_or_redirect,
    panel_done,
    purge_view,
    refreshed,
    row_action_view,
    run_and_toast,
)
from kenoweb.ui.text_search import substring_filter
from memory import patterns
from memory.history import changes as history
from memory.models import Chat, Member, Pattern, Space
from memory.models.fact import USED_AT
from memory.text.normalise import fold, words

ORDERS = {
    "": Order("updated_at"),
    "used": Order("used_at"),
    "often": Order("use_count", int),
    "sure": Order("confidence", float),
}
FROM = patterns.INJECTED_FROM
# Beyond this many a tried message says no more.
TRIALS = 8
MOST_ELSEWHERE = 500
MAX_EVIDENCE = 10
WIDE = 344


@dataclass(frozen=True, kw_only=True)
class PatternList(list_page.ListPage):
    LABELS: ClassVar = {
        "q": gettext_lazy("with"),
        "chat": gettext_lazy("in"),
        "status": gettext_lazy("state is"),
    }
    FIELDS: ClassVar = {
        "status": gettext_lazy("State"),
        "chat": gettext_lazy("Where"),
        "sort": gettext_lazy("Order"),
    }
    LEFT_OUT: ClassVar = {"tried": ""}


@dataclass(frozen=True)
class Trial:
    """How one pattern takes the message: how much of it was heard, times how sure it is."""

    pattern: Pattern
    heard: int
    of: int
    score: float
    words: tuple[str, ...] = ()
    # The only chat it is for, where the message is tried outside of it.
    elsewhere: Chat | None = None

    @property
    def fires(self) -> bool:
        return self.score >= FROM

    @property
    def covered(self) -> str:
        return charts.n(WIDE * self.heard / self.of) if self.of else "0"

    @property
    def scored(self) -> str:
        return charts.n(WIDE * self.score)


@dataclass(frozen=True)
class Tried:
    said: str
    trials: list[Trial]
    # The message in pieces, each with whether a pattern heard it.
    pieces: list[tuple[str, bool]]


@dataclass(frozen=True)
class PatternPanel:
    pattern: Pattern
    url: str
    sources: list[sources.Source]
    steps: list[Step]


def pattern_list(space: Space, wanted: PatternFilter, *, member: Member) -> PatternList:
    found = find(space, wanted)
    order = Order("updated_at", key="pgh_obj_id") if wanted.when else ORDERS[wanted.sort]
    page = part(found.select_related("chat"), order=order, after=wanted.after)
    numbers = counted(found, rows_in(space, Pattern))
    return PatternList(
        filter=wanted,
        rows=rows_at(Pattern, page.rows) if wanted.when else page.rows,
        url=reverse("patterns:index", args=[space.slug]),
        after=page.after,
        found=numbers[0],
        may=member.may("curator") and not wanted.when,
        of_chats=list_page.chats_of(space),
        nothing_yet=not numbers[1],
    )


def find(space: Space, wanted: PatternFilter) -> QuerySet:
    if wanted.when:
        rows = history.as_of(rows_in(space, Pattern), wanted.when).filter(space=space)
    else:
        rows = rows_in(space, Pattern).annotate(used_at=USED_AT)
    state = Q() if wanted.status == "any" else Q(status=wanted.status)
    rows = rows.filter(state, in_chat(wanted.chat))
    return (
        rows.filter(substring_filter(wanted.q, "trigger", "response", "slug")) if wanted.q else rows
    )


def pattern_panel(pattern: Pattern, *, space: Space, user: User) -> PatternPanel:
    return PatternPanel(
        pattern=pattern,
        url=reverse("patterns:detail", args=[space.slug, pattern.pk]),
        sources=sources.of_evidence(space, pattern.evidence[:MAX_EVIDENCE]),
        steps=history_thread.thread(pattern, space=space, user=user),
    )


def tried(space: Space, wanted: PatternFilter, *, chosen: Pattern | None = None) -> Tried:
    """Which patterns the message calls up and why; the chosen one also when it stays quiet."""
    number = number_in(wanted.chat)
    chat = rows_in(space, Chat).filter(pk=number).first() if number else None
    found = [
        Trial(one.pattern, len(one.words), one.of, one.score, one.words)
        for one in patterns.match(space, text=wanted.tried, chat=chat)
    ]
    if wanted.tried:
        found += _elsewhere(space, wanted.tried, chat=chat)
    found = sorted(found, key=lambda one: -one.score)[:TRIALS]
    if wanted.tried and chosen and chosen.pk not in {one.pattern.pk for one in found}:
        found.append(_trial(chosen, wanted.tried))
    return Tried(wanted.tried, found, pieces(wanted.tried, [w for one in found for w in one.words]))


def _elsewhere(space: Space, said: str, *, chat: Chat | None) -> list[Trial]:
    """The patterns of other chats that hear the message, and would stay quiet here."""
    rows = rows_in(space, Pattern).live().exclude(chat=None).select_related("chat")
    trials = [_trial(row, said) for row in rows.exclude(chat=chat)[:MOST_ELSEWHERE]]
    return [replace(one, elsewhere=one.pattern.chat) for one in trials if one.score > 0]


def _trial(pattern: Pattern, said: str) -> Trial:
    heard, of = patterns.coverage(pattern.trigger, f" {' '.join(words(fold(said)))} ")
    score = len(heard) / of * pattern.confidence if of and pattern.status == "active" else 0.0
    return Trial(pattern, len(heard), of, score, tuple(heard))


def pieces(said: str, heard: list[str]) -> list[tuple[str, bool]]:
    """The message in words and what stands between them; the heard words are marked."""
    known = {piece for word in heard for piece in words(fold(word))}
    return [(part, fold(part) in known) for part in re.findall(r"\w+|\W+", said) if part]


class PatternForm(forms.Form):
    trigger = OneLine(
        label=gettext_lazy("When a message says"),
        max_length=200,
        help_text=gettext_lazy("The words that must be in it, such as: n8n + 401"),
    )
    response = forms.CharField(
        label=gettext_lazy("Answer like this"),
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    confidence = forms.FloatField(
        label=gettext_lazy("How sure, from 0 to 1"),
        min_value=0,
        max_value=1,
        initial=0.8,
        help_text=gettext_lazy("Share of the words found × this must reach .50 to apply."),
        widget=forms.NumberInput(attrs={"step": "any"}),
    )


@in_space(role="viewer")
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
def detail(request, space, pk):
    pattern, when = pattern_for(space, pk), PatternFilter.read(request.GET).when
    context = {"then": row_at(space, Pattern, pk, when) if when else None}
    if request.GET.get("edit") and request.member.may("curator"):
        names = ("trigger", "response", "confidence")
        context["form"] = PatternForm(initial={name: getattr(pattern, name) for name in names})
    return _page(request, space, chosen=pattern, **context)


@in_space(role="curator")
def new(request, space):
    return _page(request, space, form=PatternForm())


@in_space(role="curator", methods="POST")
def learn(request, space):
    form = PatternForm(request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, form=form)
    values = form.cleaned_data | {"learned_from": request.user.username}
    done = run_and_toast(request, _("Learned “%(text)s”."), patterns.learn, space, **values)
    if done is None or done.row is None:
        return _page(request, space, status=422, form=form)
    return go(request, reverse("patterns:detail", args=[space.slug, done.row.pk]))


@in_space(role="curator", methods="POST")
def revise(request, space, pk):
    pattern, form = pattern_for(space, pk), PatternForm(request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, form=form, chosen=pattern)
    said, values = _("Revised: “%(text)s”."), form.cleaned_data
    done = run_and_toast(request, said, patterns.revise, pattern, **values)
    if done is None or done.outcome == "refused":
        return _page(request, space, status=422, form=form, chosen=pattern)
    return panel_done(request, beside(request, PatternFilter, "patterns:detail", space, pk))


def _row(request, pattern):
    back = reverse("patterns:detail", args=[request.space.slug, pattern.pk])
    if request.POST.get("from") == "panel":
        return refreshed(request, back=back)
    row = rows_in(request.space, Pattern).select_related("chat").get(pk=pattern.pk)
    url = reverse("patterns:index", args=[request.space.slug])
    context = {"pattern": row, "list": PatternList(filter=PatternFilter(), url=url, may=True)}
    return fragment_or_redirect(request, "patterns/_row.html", context, back=back)


def _act(writer, said):
    return row_action_view(writer, said, fetch=pattern_for, respond=_row)


archive = _act(patterns.unlearn, gettext_lazy("Archived “%(text)s”."))
restore = _act(patterns.restore, gettext_lazy("Restored “%(text)s”."))
discard = _act(patterns.discard, gettext_lazy("Put “%(text)s” in the trash."))
promote = _act(patterns.promote, gettext_lazy("Every chat has “%(text)s” now."))
release = _act(patterns.release, gettext_lazy("Released “%(text)s”."))


def _page(request, space, *, status=200, chosen=None, **context):
    wanted = PatternFilter.read(request.GET)
    context |= {
        "list": pattern_list(space, wanted, member=request.member),
        "tried": tried(space, wanted, chosen=chosen),
        "panel": pattern_panel(chosen, space=space, user=request.user) if chosen else None,
    }
    return render(request, "patterns/index.html", context, status=status)


purge = purge_view(patterns.purge, room="patterns", fetch=pattern_for, filters=PatternFilter)
