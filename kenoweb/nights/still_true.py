"""The page "Still true?": facts that are due for a check, a few a day, one in front."""

from dataclasses import dataclass
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

YES, NO, CORRECTED = "yes", "no", "corrected"
# A reply a week: such a fact is used often.
OFTEN = 10


class CorrectForm(forms.Form):
    """How it is now, and since when."""

    text = forms.CharField(max_length=4000)
    since = Day(required=False)


@dataclass(frozen=True)
class CheckDesk:
    """One fact in front, with what a person needs to know to answer."""

    fact: Fact
    question: str
    why: str
    source: panel.Source | None
    checked: datetime
    due: datetime | None
    depends: review_queue.Depends


@in_space(role="viewer")
def index(request, space):
    return _page(request, space, None)


@in_space(role="viewer")
def detail(request, space, pk):
    return _page(request, space, fact_for(space, pk))


@in_space(role="curator", methods="POST")
def confirm(request, space, pk):
    said = _("Still true: “%(text)s”.")
    return _answer(request, space, pk, YES, said, facts.confirm)


@in_space(role="curator", methods="POST")
def end(request, space, pk):
    return _answer(request, space, pk, NO, _("No longer true: “%(text)s”."), facts.deprecate)


@in_space(role="curator", methods="POST")
def correct(request, space, pk):
    fact_for(space, pk)
    form = CorrectForm(request.POST)
    if not form.is_valid():
        toast_error(request, _("Say how it is now, and since when as a day, or leave it empty."))
        return _shown(request, space, pk)
    given = form.cleaned_data

    def write(fact, *, by, now):
        since = day_start(given["since"]) or now
        new = {"text": given["text"], "valid_from": since, "until": since}
        return facts.supersede(fact, by=by, now=now, **new)

    return _answer(request, space, pk, CORRECTED, _("Corrected: “%(text)s”."), write)


@in_space(role="curator", methods="POST")
def undo(request, space):
    """Take the last answer of today back."""
    entry = next(iter(_answered(space)), None)
    if entry is None:
        toast_error(request, _("There is no answer of today to take back."))
        return _shown(request, space, None)
    try:
        lasting.take_back(entry, by=person(request.user))
        toast(request, _("Undone; it is asked again."))
    except Conflict as error:
        toast_error(request, str(error))
    pk = int(entry.object_id)
    there = reverse("still_true:detail", args=[space.slug, pk])
    return review_queue.from_toast(request, there) or _shown(request, space, pk)


def _answer(request, space, pk, answer, said, write):
    """Write the answer and show the next; a refusal says why and shows the same one again."""
    fact, by, now = fact_for(space, pk), person(request.user), timezone.now()
    rows, _later = lasting.asked_today(space, now=now)
    coming = review_queue.following(rows, pk)
    try:
        done: ChangeResult = write(fact, by=by, now=now)
    except (ValueError, facts.DuplicateFact) as error:
        toast_error(request, str(error))
        return _shown(request, space, pk)
    if not done.changed:
        toast_error(request, done.reason or _("Nothing to change: it is so already."))
        return _shown(request, space, pk)
    # What was asked about is the old one, also when another took its place.
    lasting.note_answer(ChangeResult(fact, done.change_id), answer=answer, by=by)
    undo_url = reverse("still_true:undo", args=[space.slug])
    toast(request, said % {"text": short(str(done.row), 60)}, undo=undo_url)
    return _shown(request, space, coming.pk if coming else None)


def _shown(request, space, pk):
    if request.htmx:
        current = fact_for(space, pk) if pk else None
        return render(request, "still_true/_work.html", _context(request, space, current))
    if pk is None:
        return redirect(reverse("still_true:index", args=[space.slug]))
    return redirect(reverse("still_true:detail", args=[space.slug, pk]))


def _page(request, space, current):
    return render(request, "still_true/index.html", _context(request, space, current))


def _context(request, space, current) -> dict:
    now = timezone.now()
    rows, later = lasting.asked_today(space, now=now)
    for row in rows:
        row.why = why_now(row, space, now=now)
    alone, checked = current is not None, _checked(space)
    current = current or (rows[0] if rows else None)
    around = review_queue.around(rows, checked, current, alone=alone, member=request.member)
    tones = {YES: "yes", NO: "no", CORRECTED: "yes"}
    steps = [tones.get(one.details["answer"], "") for one, _fact in reversed(checked)]
    return around | {
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
    named = [
        (_("The date has passed"), passed),
        (_("Used often, checked long ago"), [row for row in held if row.use_count >= OFTEN]),
        (_("Seldom used"), [row for row in held if row.use_count < OFTEN]),
    ]
    return [(title, some) for title, some in named if some]


def _desk(space: Space, fact: Fact, *, now: datetime) -> CheckDesk:
    # A question in another language than the page would be odd above its buttons.
    spoken = (fact.language or "en") == (get_language() or "en")[:2]
    asked = lasting.question(fact) if spoken else _("Is this still true?")
    return CheckDesk(
        fact=fact,
        question=asked,
        why=why_now(fact, space, now=now),
        source=panel.source(fact, space=space),
        checked=fact.checked_at,
        due=lasting.due_at(fact, space),
        depends=review_queue.depends_on(space, fact),
    )


def why_now(fact: Fact, space: Space, *, now: datetime) -> str:
    """ "Not checked for 5 months", or when its day was."""
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
    """Today's answers with their facts, newest first."""
    entries = _answered(space)
    found = rows_in(space, Fact).in_bulk([int(one.object_id) for one in entries])
    pairs = ((one, found.get(int(one.object_id))) for one in entries)
    return [(one, fact) for one, fact in pairs if fact]
