"""The habits of a space: the list, a message to try on them, and what a person does with them."""

from types import SimpleNamespace

from django import forms
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from kenoweb.auth.access import in_space, pattern_for, rows_in
from kenoweb.auth.sessions import go
from kenoweb.patterns import listing
from kenoweb.ui.filters import PatternFilter
from kenoweb.ui.form_fields import OneLine
from kenoweb.ui.history_thread import row_at
from kenoweb.ui.responses import fragment_or_redirect
from kenoweb.ui.row_actions import panel_done, purge_view, refreshed, row_action_view, run_and_toast
from memory import patterns
from memory.history.actors import person
from memory.models import Pattern


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
        widget=forms.NumberInput(attrs={"step": "0.05"}),
    )


@in_space(role="viewer")
@require_safe
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
@require_safe
def detail(request, space, pk):
    pattern, when = pattern_for(space, pk), PatternFilter.read(request.GET).when
    context = {"then": row_at(space, Pattern, pk, when) if when else None}
    if request.GET.get("edit") and request.member.may("curator"):
        names = ("trigger", "response", "confidence")
        context["form"] = PatternForm(initial={name: getattr(pattern, name) for name in names})
    return _page(request, space, chosen=pattern, **context)


@in_space(role="curator")
@require_safe
def new(request, space):
    return _page(request, space, form=PatternForm())


@in_space(role="curator")
@require_POST
def learn(request, space):
    form = PatternForm(request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, form=form)
    by = person(request.user)
    done = run_and_toast(
        request,
        _("Learned “%(text)s”."),
        lambda: patterns.learn(
            space, by=by, learned_from=request.user.username, **form.cleaned_data
        ),
    )
    if done is None or done.row is None:
        return _page(request, space, status=422, form=form)
    return go(request, reverse("patterns:detail", args=[space.slug, done.row.pk]))


@in_space(role="curator")
@require_POST
def revise(request, space, pk):
    pattern, form = pattern_for(space, pk), PatternForm(request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, form=form, chosen=pattern)
    by = person(request.user)
    done = run_and_toast(
        request,
        _("Revised: “%(text)s”."),
        lambda: patterns.revise(pattern, by=by, **form.cleaned_data),
    )
    if done is None or done.outcome == "refused":
        return _page(request, space, status=422, form=form, chosen=pattern)
    return panel_done(request, _beside(request, "patterns:detail", space, pk))


def _row(request, pattern):
    back = reverse("patterns:detail", args=[request.space.slug, pattern.pk])
    if request.POST.get("from") == "panel":
        return refreshed(request, back=back)
    row = rows_in(request.space, Pattern).select_related("chat").get(pk=pattern.pk)
    url = reverse("patterns:index", args=[request.space.slug])
    around = SimpleNamespace(may=True, url=url, query="")
    return fragment_or_redirect(
        request, "patterns/_row.html", {"pattern": row, "list": around}, back=back
    )


def _act(writer, said):
    return row_action_view(writer, said, fetch=pattern_for, respond=_row)


archive = _act(patterns.unlearn, gettext_lazy("Archived “%(text)s”."))


restore = _act(patterns.restore, gettext_lazy("Restored “%(text)s”."))


discard = _act(patterns.discard, gettext_lazy("Put “%(text)s” in the trash."))


promote = _act(patterns.promote, gettext_lazy("Every chat has “%(text)s” now."))


release = _act(patterns.release, gettext_lazy("Released “%(text)s”."))


def _page(request, space, *, status=200, chosen=None, **context):
    wanted, now = PatternFilter.read(request.GET), timezone.now()
    context |= {
        "list": listing.pattern_list(space, wanted, member=request.member, now=now),
        "tried": listing.tried(space, wanted, chosen=chosen),
        "panel": listing.pattern_panel(chosen, space=space, user=request.user) if chosen else None,
    }
    return render(request, "patterns/index.html", context, status=status)


def _beside(request, name, space, *args):
    url, query = reverse(name, args=[space.slug, *args]), PatternFilter.read(request.GET).query()
    return f"{url}?{query}" if query else url


purge = purge_view(patterns.purge, room="patterns", fetch=pattern_for, back=_beside)
