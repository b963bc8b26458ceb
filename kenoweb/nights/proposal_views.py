from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
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
    """Show the desk with only the open contradictions."""
    request.GET = QueryDict(f"kind={Proposal.Kind.SUPERSEDE}")
    return _page(request, space, None)


@in_space(role="viewer")
def detail(request, space, pk):
    return _page(request, space, get_in_space_or_404(space, Proposal, pk))


@in_space(role="curator")
def impact(request, space, pk):
    """Show which of the last answers would change."""
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
    if ruling := request.POST.get("ruling", ""):
        return _rule(request, proposal, ruling)
    decision = _decision(request)

    def decide():
        with transaction.atomic():
            proposals.approve(proposal, **decision | _reworded(request, proposal))

    return _decide(request, proposal, _("Approved “%(title)s”."), decide)


def _decision(request) -> dict:
    """Return who decides, on what was shown, and why."""
    values = {name: request.POST.get(name, "")[:300] for name in ("digest", "reason")}
    return values | {"member": request.member}


def _reworded(request, proposal) -> dict:
    """Save the words as they stand in the fields; return the new digest when they changed."""
    values = review_queue.edited_values(proposal, request.POST)
    changes = {name: value for name, value in values.items() if value != proposal.after[name]}
    if not changes:
        return {}
    digest = _decision(request)["digest"]
    edited = proposals.edit(proposal, member=request.member, digest=digest, changes=changes)
    return {"digest": edited.digest}


def _rule(request, proposal, ruling):
    """Apply one of the three rulings on a contradiction, with its day."""
    decision = _decision(request)

    def decide():
        try:
            day = Day(required=False).clean(request.POST.get("day", ""))
        except ValidationError:
            raise ValueError(_("Give the day as a date, or leave it empty.")) from None
        with transaction.atomic():
            values = decision | _reworded(request, proposal)
            proposals.rule(proposal, ruling=ruling, day=day_start(day), **values)

    return _decide(request, proposal, _("Ruled on “%(title)s”."), decide)


@in_space(role="curator", methods="POST")
def reject(request, space, pk):
    proposal = get_in_space_or_404(space, Proposal, pk)
    if proposal.kind == Proposal.Kind.SUPERSEDE:  # there is always one of three rulings
        return _rule(request, proposal, proposals.THIS)
    decision = _decision(request) | {"never": "never" in request.POST}
    text = _("Rejected “%(title)s”.")
    return _decide(request, proposal, text, lambda: proposals.reject(proposal, **decision))


@in_space(role="curator", methods="POST")
def rebase(request, space, pk):
    """Show the proposal against what is believed now."""
    proposal = get_in_space_or_404(space, Proposal, pk)
    try:
        proposals.rebase(proposal, member=request.member)
        toast(request, _("Now shown against what is believed today. Decide when it is right."))
    except REFUSALS as error:
        toast_error(request, str(error))
    return _show(request, space, proposal.pk)


@in_space(role="curator", methods="POST")
def undo(request, space, pk):
    proposal = get_in_space_or_404(space, Proposal, pk)
    try:
        proposals.undo(proposal, member=request.member)
        proposals.reopen(proposal, member=request.member)
        toast(request, _("Undone; the proposal is open again."))
    except REFUSALS as error:
        toast_error(request, str(error))
    url = reverse("proposals:detail", args=[space.slug, pk])
    return review_queue.desk_for_toast(request, url) or _show(request, space, proposal.pk)


@in_space(role="curator", methods="POST")
def approve_all(request, space):
    rows, options = _shown_proposals(request)
    done, refused = proposals.approve_all(rows, **options)
    n = len(done)
    toast(request, ngettext("Approved %(n)s proposal.", "Approved %(n)s proposals.", n) % {"n": n})
    for reason in refused[:3]:
        toast_error(request, reason)
    return redirect("proposals:index", space.slug)


@in_space(role="curator", methods="POST")
def reject_all(request, space):
    rows, options = _shown_proposals(request)
    n = len(proposals.reject_all(rows, reason=_("several at once"), **options))
    toast(request, ngettext("Rejected %(n)s proposal.", "Rejected %(n)s proposals.", n) % {"n": n})
    return redirect("proposals:index", space.slug)


def _shown_proposals(request) -> tuple[QuerySet[Proposal], dict]:
    filters = review_queue.ProposalFilter.from_query(request.POST)
    shown = set(request.POST.getlist("shown"))
    return review_queue.waiting(request.space, filters), {"member": request.member, "shown": shown}


def _decide(request, proposal, text, decide):
    """Decide and show the next; a refusal says why and shows the same one again."""
    space = request.space
    filters = review_queue.ProposalFilter.from_query(request.GET)
    coming = review_queue.following(review_queue.waiting_rows(space, filters), proposal.pk)
    try:
        decide()
        undo_url = reverse("proposals:undo", args=[space.slug, proposal.pk])
        toast(request, text % {"title": short(proposal.title, 60)}, undo=undo_url)
    except REFUSALS as error:
        toast_error(request, str(error))
        return _show(request, space, proposal.pk, status=409)
    return _show(request, space, coming.pk if coming else None)


def _show(request, space, pk, *, status=200):
    """Show the desk with this proposal in front, as a fragment or by redirect."""
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
    filters = review_queue.ProposalFilter.from_query(request.GET)
    queue = review_queue.queue(space, filters)
    is_alone = current is not None
    rows, decided = queue["rows"], queue["decided"]
    current = current or (rows_in(space, Proposal).filter(pk=rows[0].pk).first() if rows else None)
    context = review_queue.desk_context(
        rows, decided, current, alone=is_alone, member=request.member
    )
    return {
        **queue,
        **context,
        "space": space,
        "tab": "docket" if filters.kind == Proposal.Kind.SUPERSEDE else "proposals",
        "filter": filters,
        "kinds": Proposal.Kind.choices,
        "desk": review_queue.desk(space, current) if current else None,
        "steps": review_queue.steps(queue, current),
        "last": next((row for row in decided if row.status in ("approved", "rejected")), None),
    }
