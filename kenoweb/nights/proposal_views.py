from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.nights import review_queue
from kenoweb.ui.formatting import Day, day_start
from kenoweb.ui.responses import toast, toast_error
from memory.history.changes import Conflict
from memory.text.normalise import short
from sleep import proposals
from sleep.apply import TargetChanged
from sleep.models import Proposal

REFUSALS = (
    proposals.AlreadyDecided,
    proposals.NotWhatWasShown,
    TargetChanged,
    Conflict,
    ValueError,
)


@in_space(role="viewer")
def index(request, space):
    return _page(request, space, None)


@in_space(role="viewer")
def docket(request, space):
    """All open contradictions: the same desk, with nothing else in the queue."""
    request.GET = QueryDict(f"kind={Proposal.Kind.SUPERSEDE}")
    return _page(request, space, None)


@in_space(role="viewer")
def detail(request, space, pk):
    return _page(request, space, get_in_space_or_404(space, Proposal, pk))


@in_space(role="curator")
def impact(request, space, pk):
    """Which of the last answers would change: asked for beside the diff, or as a page."""
    proposal = get_in_space_or_404(space, Proposal, pk)
    proposal.space = space
    context = {"back": reverse("proposals:detail", args=[space.slug, pk]), "change": proposal.title}
    try:
        context["impact"] = proposals.impact(proposal)
    except REFUSALS as refusal:
        context["refusal"] = str(refusal)
    return render(request, "proposals/impact.html", context)


@in_space(role="curator", methods="POST")
def approve(request, space, pk):
    proposal = get_in_space_or_404(space, Proposal, pk)
    given = _given(request)
    if ruling := request.POST.get("ruling", ""):
        return _rule(request, space, proposal, ruling, given)

    def decide():
        with transaction.atomic():
            proposals.approve(proposal, **given | _reworded(request, proposal, given["digest"]))

    return _decided(request, space, proposal, _("Approved “%(title)s”."), decide)


def _given(request) -> dict:
    """Who decides, on what was shown, and why."""
    said = {name: request.POST.get(name, "")[:300] for name in ("digest", "reason")}
    return said | {"member": request.member}


def _reworded(request, proposal, digest: str) -> dict:
    """Approve takes the words as they stand in the fields; the digest is then another."""
    typed = review_queue.edited(proposal, request.POST)
    changes = {name: value for name, value in typed.items() if value != proposal.after[name]}
    if not changes:
        return {}
    edited = proposals.edit(proposal, member=request.member, digest=digest, changes=changes)
    return {"digest": edited.digest}


def _rule(request, space, proposal, ruling, given):
    """One of the three rulings on a contradiction, with its day."""
    said = _("Ruled on “%(title)s”.")

    def decide():
        try:
            day = Day(required=False).clean(request.POST.get("day", ""))
        except ValidationError:
            raise ValueError(_("Give the day as a date, or leave it empty.")) from None
        with transaction.atomic():
            words = given | _reworded(request, proposal, given["digest"])
            proposals.rule(proposal, ruling=ruling, day=day_start(day), **words)

    return _decided(request, space, proposal, said, decide)


@in_space(role="curator", methods="POST")
def reject(request, space, pk):
    proposal = get_in_space_or_404(space, Proposal, pk)
    given = _given(request)
    if proposal.kind == Proposal.Kind.SUPERSEDE:  # there is always one of three rulings
        return _rule(request, space, proposal, proposals.THIS, given)
    given["never"] = "never" in request.POST
    said = _("Rejected “%(title)s”.")
    return _decided(request, space, proposal, said, lambda: proposals.reject(proposal, **given))


@in_space(role="curator", methods="POST")
def rebase(request, space, pk):
    """Show it against what is believed now."""
    proposal = get_in_space_or_404(space, Proposal, pk)
    try:
        proposals.rebase(proposal, member=request.member)
        toast(request, _("Now shown against what is believed today. Decide when it is right."))
    except REFUSALS as error:
        toast_error(request, str(error))
    return _shown(request, space, proposal.pk)


@in_space(role="curator", methods="POST")
def undo(request, space, pk):
    proposal = get_in_space_or_404(space, Proposal, pk)
    try:
        proposals.undo(proposal, member=request.member)
        proposals.reopen(proposal, member=request.member)
        toast(request, _("Undone; the proposal is open again."))
    except REFUSALS as error:
        toast_error(request, str(error))
    there = reverse("proposals:detail", args=[space.slug, pk])
    return review_queue.from_toast(request, there) or _shown(request, space, proposal.pk)


@in_space(role="curator", methods="POST")
def approve_all(request, space):
    chosen = review_queue.ProposalFilter.from_query(request.POST)
    done, refused = proposals.approve_all(
        review_queue.waiting(space, chosen),
        member=request.member,
        shown=set(request.POST.getlist("shown")),
    )
    n = len(done)
    toast(request, ngettext("Approved %(n)s proposal.", "Approved %(n)s proposals.", n) % {"n": n})
    for reason in refused[:3]:
        toast_error(request, reason)
    return redirect(reverse("proposals:index", args=[space.slug]))


@in_space(role="curator", methods="POST")
def reject_all(request, space):
    chosen = review_queue.ProposalFilter.from_query(request.POST)
    n = len(
        proposals.reject_all(
            review_queue.waiting(space, chosen),
            member=request.member,
            shown=set(request.POST.getlist("shown")),
            reason=_("several at once"),
        )
    )
    toast(request, ngettext("Rejected %(n)s proposal.", "Rejected %(n)s proposals.", n) % {"n": n})
    return redirect(reverse("proposals:index", args=[space.slug]))


def _decided(request, space, proposal, said, decide):
    """Decide and show the next; a refusal says why and shows the same one again."""
    chosen = review_queue.ProposalFilter.from_query(request.GET)
    rows = review_queue.listed(space, chosen)
    coming = review_queue.following(rows, proposal.pk)
    try:
        decide()
        undo = reverse("proposals:undo", args=[space.slug, proposal.pk])
        toast(request, said % {"title": short(proposal.title, 60)}, undo=undo)
    except REFUSALS as error:
        toast_error(request, str(error))
        return _shown(request, space, proposal.pk, status=409)
    return _shown(request, space, coming.pk if coming else None)


def _shown(request, space, pk, *, status=200):
    """The desk with this one in front, as a fragment or by redirect."""
    if request.htmx or status != 200:
        current = get_in_space_or_404(space, Proposal, pk) if pk else None
        template = "proposals/_work.html" if request.htmx else "proposals/index.html"
        response = render(request, template, _context(request, space, current), status=status)
        response["HX-Trigger"] = "proposal-decided"
        return response
    query = review_queue.ProposalFilter.from_query(request.GET).query
    if pk is None:
        return redirect(reverse("proposals:index", args=[space.slug]) + query)
    return redirect(reverse("proposals:detail", args=[space.slug, pk]) + query)


def _page(request, space, current):
    return render(request, "proposals/index.html", _context(request, space, current))


def _context(request, space, current) -> dict:
    chosen = review_queue.ProposalFilter.from_query(request.GET)
    shown = review_queue.queue(space, chosen)
    alone = current is not None
    rows = shown["rows"]
    current = current or (rows_in(space, Proposal).filter(pk=rows[0].pk).first() if rows else None)
    around = review_queue.around(
        rows, shown["decided"], current, alone=alone, member=request.member
    )
    decided = (one for one in shown["decided"] if one.status in ("approved", "rejected"))
    return {
        **shown,
        **around,
        "space": space,
        "tab": "docket" if chosen.kind == Proposal.Kind.SUPERSEDE else "proposals",
        "filter": chosen,
        "kinds": Proposal.Kind.choices,
        "desk": review_queue.desk(space, current) if current else None,
        "steps": review_queue.steps(shown, current),
        "last": next(decided, None),
    }
