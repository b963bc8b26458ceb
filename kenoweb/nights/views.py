from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.nights import page
from kenoweb.nights import page as night_progress
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
    found = list(page.listed(space)[:60])
    context = {"space": space, "nights": found, "trends": page.trends(space)}
    return render(request, "nights/index.html", context | night_progress.progress(space))


@in_space(role="viewer")
def detail(request, space, pk):
    night = get_in_space_or_404(space, Night, pk)
    part = request.GET.get("part", "")
    return render(
        request, "nights/detail.html", _context(night, part if part in PARTS else "story")
    )


@in_space(role="viewer")
def progress(request, space):
    """What the page of a running night asks every two seconds; 286 tells it to stop asking.

    `waiting` is said by a page that has not seen the night begin yet.
    """
    shown = night_progress.progress(space, asked="waiting" in request.GET)
    response = render(request, "nights/_progress.html", shown | {"space": space})
    if not shown["asleep"] and not shown["asked"]:
        response.status_code = STOP_POLLING
        response["HX-Trigger"] = "memory-changed, night-ended"
    elif shown["asleep"] and "waiting" in request.GET:
        response["HX-Trigger"] = "night-began"
    return response


@in_space(role="curator", methods="POST")
def run(request, space):
    if cycle.is_asleep(space):
        toast_error(request, str(cycle.AlreadyAsleep()))
    else:
        asked = {"space_id": space.pk, "asked_by": person(request.user)}
        jobs.enqueue("sleep.night", once=f"night-{space.pk}", **asked)
        toast(request, _("Keno goes to sleep as soon as the worker is free."))
    back = reverse("nights:index", args=[space.slug])
    return fragment_or_redirect(
        request,
        "nights/_progress.html",
        night_progress.progress(space, asked=True) | {"space": space},
        back=back,
    )


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
        told = ngettext("Took back %(n)s change.", "Took back %(n)s changes.", n) % {"n": n}
        if kept:  # named on the page
            told += " " + ngettext("%(n)s stays.", "%(n)s stay.", len(kept)) % {"n": len(kept)}
        toast(request, _("%(told)s The next night reads its episodes again.") % {"told": told})
    except nights.NothingToUndo as error:
        toast_error(request, str(error))
    return redirect("nights:detail", space.slug, night.pk)


@in_space(role="curator", methods="POST")
def undo_change(request, space, pk):
    return _turn(request, space, pk, nights.undo_change, _("Undone."))


@in_space(role="curator", methods="POST")
def redo_change(request, space, pk):
    return _turn(request, space, pk, nights.redo_change, _("Applied again."))


def _turn(request, space, pk, act, said):
    change = get_in_space_or_404(space, NightChange, pk)
    try:
        act(change, by=person(request.user))
        toast(request, said)
    except Conflict as error:
        toast_error(request, str(error))
    change.refresh_from_db()
    (line,) = page.lines(space, [change], page.steps_of([change]))
    back = reverse("nights:detail", args=[space.slug, change.night_id])
    return fragment_or_redirect(
        request, "nights/_line.html", {"line": line, "space": space}, back=back
    )


def _context(night: Night, part: str) -> dict:
    runs, changes = page.phases(night), list(night.changes.order_by("pk"))
    steps = page.steps_of(changes)
    lines = page.lines(night.space, changes[: page.LINES], steps)
    before, after = page.neighbours(night)
    proposals = list(night.proposals.order_by("-confidence", "pk"))
    shown = {
        "space": night.space,
        "night": night,
        "part": part,
        "runs": runs,
        "took": page.took(runs),
        "checks": page.checks(changes, steps),
        "fuses": page.fuses(night, runs),
        "calls": page.calls(night),
        "before": before,
        "after": after,
        "applied": len(changes),
        "proposals": proposals,
        "asked": page.with_words(night.space, proposals),
        "pending": sum(one.status == Proposal.Status.PENDING for one in proposals),
        "reflection": getattr(night, "reflection", None),
        "insights": page.insights(night),
        "story": page.story(night, runs, lines, len(proposals)),
    }
    if night.status == Night.Status.RUNNING:
        shown |= {"steps": page.steps(runs), "stopping": nights.is_stopped(night)}
    if part == "changes":
        by_phase = {run.phase: [] for run in runs}
        for line in lines:
            by_phase.setdefault(line.change.phase, []).append(line)
        shown["by_phase"] = [
            (run, by_phase[run.phase], page.told(run), page.name_of(run)) for run in runs
        ]
    if part == "episodes":
        shown["episodes"] = page.read_episodes(night)
    return shown
