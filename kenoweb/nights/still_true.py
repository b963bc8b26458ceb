"""The page "Still true?": facts that are due for a check, a few a day, one in front."""

from datetime import datetime

from django import forms
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from kenoweb.auth.access import fact_for, in_space, rows_in
from kenoweb.facts import panel
from kenoweb.nights import review_queue
from kenoweb.ui.formatting import Day, dated, day_start
from kenoweb.ui.responses import toast, toast_error
from memory.facts import lasting
from memory.facts import service as facts
from memory.history.actors import person
from memory.history.changes import ChangeResult, Conflict
from memory.models import AuditEntry, Fact, Space
from memory.text.normalise import short

# From this many uses on a fact counts as used often.
OFTEN = 10


class CorrectForm(forms.Form):
    """How it is now, and since when."""

    text = forms.CharField(max_length=4000)
    since = Day(required=False)


@in_space(role="viewer")
def index(request, space):
    return _page(request, space, None)


@in_space(role="viewer")
def detail(request, space, pk):
    return _page(request, space, fact_for(space, pk))


@in_space(role="curator", methods="POST")
def confirm(request, space, pk):
    return _answer(request, pk, "yes", _("Still true: “%(text)s”."), facts.confirm)


@in_space(role="curator", methods="POST")
def end(request, space, pk):
    return _answer(request, pk, "no", _("No longer true: “%(text)s”."), facts.deprecate)


@in_space(role="curator", methods="POST")
def correct(request, space, pk):
    fact_for(space, pk)
    form = CorrectForm(request.POST)
    if not form.is_valid():
        toast_error(request, _("Say how it is now, and since when as a day, or leave it empty."))
        return _show(request, space, pk)
    values = form.cleaned_data

    def write(fact, *, by, now):
        since = day_start(values["since"]) or now
        new = {"text": values["text"], "valid_from": since, "until": since}
        return facts.supersede(fact, by=by, now=now, **new)

    return _answer(request, pk, "corrected", _("Corrected: “%(text)s”."), write)


@in_space(role="curator", methods="POST")
def undo(request, space):
    """Undo the last answer of today."""
    entry = next(iter(_answered(space)), None)
    if entry is None:
        toast_error(request, _("There is no answer of today to take back."))
        return _show(request, space, None)
    try:
        lasting.take_back(entry, by=person(request.user))
        toast(request, _("Undone; it is asked again."))
    except Conflict as error:
        toast_error(request, str(error))
    pk = int(entry.object_id)
    url = reverse("still_true:detail", args=[space.slug, pk])
    return review_queue.desk_for_toast(request, url) or _show(request, space, pk)


def _answer(request, pk, answer, text, write):
    """Write the answer and show the next; a refusal says why and shows the same one again."""
    space, by, now = request.space, person(request.user), timezone.now()
    fact = fact_for(space, pk)
    rows, _later = lasting.asked_today(space, now=now)
    coming = review_queue.following(rows, pk)
    try:
        result: ChangeResult = write(fact, by=by, now=now)
    except (ValueError, facts.DuplicateFact) as error:
        toast_error(request, str(error))
        return _show(request, space, pk)
    if not result.changed:
        toast_error(request, result.reason or _("Nothing to change: it is so already."))
        return _show(request, space, pk)
    # The answer is about the old fact, also when another took its place.
    lasting.note_answer(ChangeResult(fact, result.change_id), answer=answer, by=by)
    undo_url = reverse("still_true:undo", args=[space.slug])
    toast(request, text % {"text": short(str(result.row), 60)}, undo=undo_url)
    return _show(request, space, coming.pk if coming else None)


def _show(request, space, pk):
    if request.htmx:
        current = fact_for(space, pk) if pk else None
        return render(request, "still_true/_work.html", _context(request, space, current))
    if pk is None:
        return redirect("still_true:index", space.slug)
    return redirect("still_true:detail", space.slug, pk)


def _page(request, space, current):
    return render(request, "still_true/index.html", _context(request, space, current))


def _context(request, space, current) -> dict:
    now = timezone.now()
    rows, later = lasting.asked_today(space, now=now)
    for row in rows:
        row.why = why_now(row, now=now)
    is_alone, checked = current is not None, _checked(space)
    current = current or (rows[0] if rows else None)
    context = review_queue.desk_context(
        rows, checked, current, alone=is_alone, member=request.member
    )
    tones = {"yes": "yes", "no": "no", "corrected": "yes"}
    steps = [tones.get(entry.details["answer"], "") for entry, _fact in reversed(checked)]
    return context | {
        "space": space,
        "tab": "still_true",
        "rows": rows,
        "groups": _groups(rows),
        "later": max(0, later),
        "checked": checked,
        "desk": _desk(space, current, now=now) if current else None,
        "steps": [*steps, *("now" if row == current else "" for row in rows)],
    }


def _groups(rows: list[Fact]) -> list[tuple[str, list[Fact]]]:
    passed = [row for row in rows if row.lasts == Fact.Lasts.PLAN]
    held = [row for row in rows if row.lasts != Fact.Lasts.PLAN]
    groups = [
        (_("The date has passed"), passed),
        (_("Used often, checked long ago"), [row for row in held if row.use_count >= OFTEN]),
        (_("Seldom used"), [row for row in held if row.use_count < OFTEN]),
    ]
    return [(title, group) for title, group in groups if group]


def _desk(space: Space, fact: Fact, *, now: datetime) -> dict:
    """Return one fact in front, with what a person needs to know to answer."""
    # A question in another language than the page would be odd above its buttons.
    same_language = (fact.language or "en") == (get_language() or "en")[:2]
    return {
        "fact": fact,
        "question": lasting.question(fact) if same_language else _("Is this still true?"),
        "why": why_now(fact, now=now),
        "source": panel.source(fact, space=space),
        "checked": fact.checked_at,
        "due": lasting.due_at(fact, space),
        "depends": review_queue.depends_on(space, fact),
    }


def why_now(fact: Fact, *, now: datetime) -> str:
    """Return "Not checked for 5 months", or when its day was."""
    if fact.lasts == Fact.Lasts.PLAN and fact.occurs_at:
        over = timezone.localtime(fact.occurs_until or fact.occurs_at)
        return _("Was on %(day)s") % {"day": dated(over.date(), _("j F Y"))}
    months = max(0, (now - fact.checked_at).days // 30)
    if not months:
        return _("Checked within a month")
    text = ngettext("Not checked for %(n)s month", "Not checked for %(n)s months", months)
    return text % {"n": months}


def _answered(space: Space) -> list[AuditEntry]:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    return lasting.answered(space, since=midnight)


def _checked(space: Space) -> list[tuple[AuditEntry, Fact]]:
    """Return today's answers with their facts, newest first."""
    entries = _answered(space)
    rows = rows_in(space, Fact).in_bulk([int(entry.object_id) for entry in entries])
    pairs = ((entry, rows.get(int(entry.object_id))) for entry in entries)
    return [(entry, fact) for entry, fact in pairs if fact]
