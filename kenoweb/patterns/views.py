"""The habits of a space: the list, a message to try on them, and what a person does with them."""

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import in_space, pattern_for, rows_in
from kenoweb.auth.sessions import go
from kenoweb.ui import charts, history_thread, list_page, sources
from kenoweb.ui.filters import PatternFilter, in_chat, number_in
from kenoweb.ui.formatting import OneLine
from kenoweb.ui.history_thread import row_at, rows_at
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
MAX_TRIALS = 8
# Patterns of other chats that are tried.
MAX_ELSEWHERE = 500
MAX_EVIDENCE = 10
BAR_WIDTH = 344


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
    """How one pattern takes the message: how much of it was found, times how sure it is."""

    pattern: Pattern
    heard: int
    of: int
    score: float
    words: tuple[str, ...] = ()
    # The only chat it is for, where the message is tried outside of it.
    elsewhere: Chat | None = None

    @property
    def fires(self) -> bool:
        return self.score >= patterns.INJECTED_FROM

    @property
    def covered(self) -> str:
        return charts.n(BAR_WIDTH * self.heard / self.of) if self.of else "0"

    @property
    def scored(self) -> str:
        return charts.n(BAR_WIDTH * self.score)


def pattern_list(space: Space, filters: PatternFilter, *, member: Member) -> PatternList:
    rows = find(space, filters)
    order = Order("updated_at", key="pgh_obj_id") if filters.when else ORDERS[filters.sort]
    page = part(rows.select_related("chat"), order=order, after=filters.after)
    found, total = counted(rows, rows_in(space, Pattern))
    return PatternList(
        filter=filters,
        rows=rows_at(Pattern, page.rows) if filters.when else page.rows,
        url=reverse("patterns:index", args=[space.slug]),
        after=page.after,
        found=found,
        may=member.may("curator") and not filters.when,
        of_chats=list_page.chats_of(space),
        nothing_yet=not total,
    )


def find(space: Space, filters: PatternFilter) -> QuerySet:
    if filters.when:
        rows = history.as_of(rows_in(space, Pattern), filters.when).filter(space=space)
    else:
        rows = rows_in(space, Pattern).annotate(used_at=USED_AT)
    rows = rows.filter(in_chat(filters.chat))
    if filters.status != "any":
        rows = rows.filter(status=filters.status)
    if filters.q:
        rows = rows.filter(substring_filter(filters.q, "trigger", "response", "slug"))
    return rows


def pattern_panel(pattern: Pattern, *, space: Space, user: User) -> dict:
    return {
        "pattern": pattern,
        "url": reverse("patterns:detail", args=[space.slug, pattern.pk]),
        "sources": sources.of_evidence(space, pattern.evidence[:MAX_EVIDENCE]),
        "steps": history_thread.thread(pattern, space=space, user=user),
    }


def trial_results(space: Space, filters: PatternFilter, *, chosen: Pattern | None = None) -> dict:
    """Return which patterns the message calls up; the chosen one also when it stays quiet."""
    text, number = filters.tried, number_in(filters.chat)
    chat = rows_in(space, Chat).filter(pk=number).first() if number else None
    trials = [
        Trial(match.pattern, len(match.words), match.of, match.score, match.words)
        for match in patterns.match(space, text=text, chat=chat)
    ]
    if text:
        trials += _elsewhere(space, text, chat=chat)
    trials = sorted(trials, key=lambda trial: -trial.score)[:MAX_TRIALS]
    if text and chosen and chosen.pk not in {trial.pattern.pk for trial in trials}:
        trials.append(_trial(chosen, text))
    terms = [word for trial in trials for word in trial.words]
    return {"said": text, "trials": trials, "pieces": pieces(text, terms)}


def _elsewhere(space: Space, text: str, *, chat: Chat | None) -> list[Trial]:
    """Try the patterns of other chats, which stay quiet in this one."""
    rows = rows_in(space, Pattern).live().exclude(chat=None).select_related("chat")
    trials = [_trial(row, text) for row in rows.exclude(chat=chat)[:MAX_ELSEWHERE]]
    return [replace(trial, elsewhere=trial.pattern.chat) for trial in trials if trial.score > 0]


def _trial(pattern: Pattern, text: str) -> Trial:
    terms, of = patterns.coverage(pattern.trigger, f" {' '.join(words(fold(text)))} ")
    score = len(terms) / of * pattern.confidence if of and pattern.status == "active" else 0.0
    return Trial(pattern, len(terms), of, score, tuple(terms))


def pieces(text: str, terms: list[str]) -> list[tuple[str, bool]]:
    """Split the message into words and what is between them; words of the terms are marked."""
    known = {word for term in terms for word in words(fold(term))}
    return [(part, fold(part) in known) for part in re.findall(r"\w+|\W+", text) if part]


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
    result = run_and_toast(request, _("Learned “%(text)s”."), patterns.learn, space, **values)
    if result is None or result.row is None:
        return _page(request, space, status=422, form=form)
    return go(request, reverse("patterns:detail", args=[space.slug, result.row.pk]))


@in_space(role="curator", methods="POST")
def revise(request, space, pk):
    pattern, form = pattern_for(space, pk), PatternForm(request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, form=form, chosen=pattern)
    text, values = _("Revised: “%(text)s”."), form.cleaned_data
    result = run_and_toast(request, text, patterns.revise, pattern, **values)
    if result is None or result.outcome == "refused":
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


def _row_action(writer, message):
    return row_action_view(writer, message, fetch=pattern_for, respond=_row)


archive = _row_action(patterns.unlearn, gettext_lazy("Archived “%(text)s”."))
restore = _row_action(patterns.restore, gettext_lazy("Restored “%(text)s”."))
discard = _row_action(patterns.discard, gettext_lazy("Put “%(text)s” in the trash."))
promote = _row_action(patterns.promote, gettext_lazy("Every chat has “%(text)s” now."))
release = _row_action(patterns.release, gettext_lazy("Released “%(text)s”."))


def _page(request, space, *, status=200, chosen=None, **context):
    filters = PatternFilter.read(request.GET)
    context |= {
        "list": pattern_list(space, filters, member=request.member),
        "tried": trial_results(space, filters, chosen=chosen),
        "panel": pattern_panel(chosen, space=space, user=request.user) if chosen else None,
    }
    return render(request, "patterns/index.html", context, status=status)


purge = purge_view(patterns.purge, room="patterns", fetch=pattern_for, filters=PatternFilter)
