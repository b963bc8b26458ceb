from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.nights import page
from kenoweb.ui.responses import fragment_or_redirect, toast, toast_error
from memory import jobs
from memory.history.actors import person
from memory.history.changes import Conflict
from sleep import cycle, nights
from sleep.models import Night, NightChange, Proposal

PARTS = ("story", "changes", "proposals", "episodes", "calls", "log")
STOP_POLLING = 286


@in_space(role="viewer")
def index(request, space):
    rows = list(page.night_list(space)[:60])
    context = {"space": space, "nights": rows, "trends": page.trends(space)}
    return render(request, "nights/index.html", context | page.progress(space))


@in_space(role="viewer")
def detail(request, space, pk):
    night = get_in_space_or_404(space, Night, pk)
    part = request.GET.get("part", "")
    return render(
        request, "nights/detail.html", _context(night, part if part in PARTS else "story")
    )


@in_space(role="viewer")
def progress(request, space):
    """Answer the polls of a page with a running night; 286 tells it to stop.

    `waiting` is sent by a page that has not seen the night begin yet.
    """
    is_waiting = "waiting" in request.GET
    context = page.progress(space, requested=is_waiting)
    response = render(request, "nights/_progress.html", context | {"space": space})
    if not context["asleep"] and not context["asked"]:
        response.status_code = STOP_POLLING
        response["HX-Trigger"] = "memory-changed, night-ended"
    elif context["asleep"] and is_waiting:
        response["HX-Trigger"] = "night-began"
    return response


@in_space(role="curator", methods="POST")
def run(request, space):
    if cycle.is_asleep(space):
        toast_error(request, str(cycle.AlreadyAsleep()))
    else:
        values = {"space_id": space.pk, "asked_by": person(request.user)}
        jobs.enqueue("sleep.night", once=f"night-{space.pk}", **values)
        toast(request, _("Keno goes to sleep as soon as the worker is free."))
    back = reverse("nights:index", args=[space.slug])
    context = page.progress(space, requested=True) | {"space": space}
    return fragment_or_redirect(request, "nights/_progress.html", context, back=back)


@in_space(role="curator", methods="POST")
def stop(request, space, pk):
    night = get_in_space_or_404(space, Night, pk)
    if nights.stop(night, by=person(request.user)):
        toast(request, _("The night ends after the phase it is in."))
    else:
        toast_error(request, _("This night has ended, or is about to."))
    return redirect("nights:index", space.slug)


@in_space(role="curator", methods="POST")
def undo(request, space, pk):
    night = get_in_space_or_404(space, Night, pk)
    try:
        later_too = "later_too" in request.POST
        n, kept = nights.undo(night, by=person(request.user), later_too=later_too)
        text = ngettext("Took back %(n)s change.", "Took back %(n)s changes.", n) % {"n": n}
        if kept:  # named on the page
            text += " " + ngettext("%(n)s stays.", "%(n)s stay.", len(kept)) % {"n": len(kept)}
        toast(request, _("%(told)s The next night reads its episodes again.") % {"told": text})
    except nights.NothingToUndo as error:
        toast_error(request, str(error))
    return redirect("nights:detail", space.slug, night.pk)


def _change_view(act, text):
    """Return a view that undoes or redoes one change of a night."""

    @in_space(role="curator", methods="POST")
    def view(request, space, pk):
        change = get_in_space_or_404(space, NightChange, pk)
        try:
            act(change, by=person(request.user))
            toast(request, str(text))
        except Conflict as error:
            toast_error(request, str(error))
        change.refresh_from_db()
        (line,) = page.lines(space, [change], page.steps_of([change]))
        back = reverse("nights:detail", args=[space.slug, change.night_id])
        context = {"line": line, "space": space}
        return fragment_or_redirect(request, "nights/_line.html", context, back=back)

    return view


undo_change = _change_view(nights.undo_change, gettext_lazy("Undone."))
redo_change = _change_view(nights.redo_change, gettext_lazy("Applied again."))


def _context(night: Night, part: str) -> dict:
    runs, changes = page.phases(night), list(night.changes.order_by("pk"))
    steps = page.steps_of(changes)
    lines = page.lines(night.space, changes[: page.MAX_LINES], steps)
    before, after = page.neighbours(night)
    proposals = list(night.proposals.order_by("-confidence", "pk"))
    context = {
        "space": night.space,
        "night": night,
        "part": part,
        "runs": runs,
        "took": page.duration(runs),
        "checks": page.checks(changes, steps),
        "fuses": page.fuses(night, runs),
        "calls": page.calls(night),
        "before": before,
        "after": after,
        "applied": len(changes),
        "proposals": proposals,
        "asked": page.with_quotes(night.space, proposals),
        "pending": sum(row.status == Proposal.Status.PENDING for row in proposals),
        "reflection": getattr(night, "reflection", None),
        "insights": page.insights(night),
        "story": page.story(night, runs, lines, len(proposals)),
    }
    if night.status == Night.Status.RUNNING:
        context |= {"steps": page.steps(runs), "stopping": nights.is_stopped(night)}
    if part == "changes":
        by_phase = [
            (run, [row for row in lines if row["change"].phase == run.phase]) for run in runs
        ]
        context["by_phase"] = [
            (run, rows, page.count_sentences(run), page.name_of(run)) for run, rows in by_phase
        ]
    if part == "episodes":
        context["episodes"] = page.read_episodes(night)
    return context
