"""Working notes: the open task of each chat; a person can correct or clear it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django import forms
from django.contrib.auth.models import User
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.ui import history_thread, list_page
from kenoweb.ui.filters import Filter
from kenoweb.ui.formatting import OneLine, Several
from kenoweb.ui.list_page import Order, counted, part
from kenoweb.ui.responses import panel_done, refreshed, run_and_toast, space_url
from kenoweb.ui.text_search import substring_filter
from memory import working
from memory.models import Member, Space, WorkingNote


@dataclass(frozen=True, kw_only=True)
class NoteList(list_page.ListPage):
    stale_before: datetime
    stale_days: int


def note_list(space: Space, filters: Filter, *, member: Member, now: datetime) -> NoteList:
    rows = rows_in(space, WorkingNote).exclude(**working.EMPTY)
    if filters.q:
        rows = rows.filter(substring_filter(filters.q, "task", "notes", "chat__title"))
    page = part(rows.select_related("chat"), order=Order("updated_at"), after=filters.after)
    days = space.options.working_stale_days
    return NoteList(
        filter=filters,
        rows=page.rows,
        url=reverse("working:index", args=[space.slug]),
        after=page.after,
        found=counted(rows)[0],
        may=member.may("curator"),
        stale_before=now - timedelta(days=days),
        stale_days=days,
    )


def note_panel(note: WorkingNote, *, space: Space, user: User, now: datetime) -> dict:
    return {
        "note": note,
        "url": reverse("working:detail", args=[space.slug, note.pk]),
        "chat_url": space_url("chats:detail", space, pk=note.chat_id),
        "is_stale": working.is_stale(note, now=now),
        "is_empty": working.is_empty(note),
        "steps": history_thread.thread(note, space=space, user=user),
    }


class NoteForm(forms.Form):
    task = OneLine(label=gettext_lazy("Task"), max_length=400, required=False)
    context = Several(
        parted_by="\n",
        label=gettext_lazy("What to know for it"),
        max_length=8000,
        required=False,
        help_text=gettext_lazy("One a line."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    pending = Several(
        parted_by="\n",
        label=gettext_lazy("Still to do"),
        max_length=8000,
        required=False,
        help_text=gettext_lazy("One a line."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    notes = forms.CharField(
        label=gettext_lazy("Notes"),
        max_length=8000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
    )

    def clean(self):
        cleaned = super().clean()
        if not any(cleaned.values()):
            raise forms.ValidationError(_("A note needs words. To empty it, clear it."))
        return cleaned


@in_space(role="viewer")
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
def detail(request, space, pk):
    note, context = get_in_space_or_404(space, WorkingNote, pk), {}
    if request.GET.get("edit") and request.member.may("curator"):
        context["form"] = NoteForm(initial={name: getattr(note, name) for name in working.EMPTY})
    return _page(request, space, note=note, **context)


@in_space(role="curator", methods="POST")
def revise(request, space, pk):
    note, form = get_in_space_or_404(space, WorkingNote, pk), NoteForm(request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, note=note, form=form)
    values = form.cleaned_data
    result = run_and_toast(request, _("Rewrote the note."), working.replace, note.chat, **values)
    if result is None or not result.changed:
        return _page(request, space, status=422, note=note, form=form)
    return panel_done(request, reverse("working:detail", args=[space.slug, pk]))


@in_space(role="curator", methods="POST")
def clear(request, space, pk):
    note = get_in_space_or_404(space, WorkingNote, pk)
    run_and_toast(request, _("Cleared the note."), working.clear, note.chat)
    return refreshed(request, back=reverse("working:index", args=[space.slug]))


def _page(request, space, *, status=200, note=None, **context):
    filters, now = Filter.read(request.GET), timezone.now()
    context["list"] = note_list(space, filters, member=request.member, now=now)
    if note:
        context["panel"] = note_panel(note, space=space, user=request.user, now=now)
    return render(request, "working/index.html", context, status=status)
