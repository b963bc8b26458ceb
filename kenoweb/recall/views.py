"""Recall: the lab, where nothing is written but a profile, and the receipts of what was real."""

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.auth.sessions import go
from kenoweb.recall import lab as recall_lab
from kenoweb.recall import receipts as receipt_pages
from kenoweb.ui.responses import remember_opened, toast, toast_error, undo_url
from memory.history.actors import person
from memory.models import Recall
from memory.retrieval import profiles
from memory.spaces import service as spaces


@in_space(role="viewer")
def lab(request, space):
    asking = recall_lab.read(request.GET, space=space, default_person=_me(request))
    context = recall_lab.page(asking, space=space, now=timezone.now())
    context["query"] = _without(request.GET, "apart")
    context["today"] = _lab(space, _without(request.GET, "as_of"))
    context["plain"] = _asked_by(context["query"], profile=asking.saved.name)
    context["plain_query"] = _without(QueryDict(context["plain"]), "profile")
    return render(request, "recall/lab.html", context)


@in_space(role="curator", methods="POST")
def save(request, space):
    asking = recall_lab.read(QueryDict(request.POST.get("tried", "")[:4000]), space=space)
    try:
        made = profiles.save(
            space,
            name=request.POST.get("name", ""),
            weights=asking.tried.weights if asking.tried.formula == "keno" else {},
            by=person(request.user),
            base=asking.tried,
            note=request.POST.get("note", ""),
        )
    except profiles.Invalid as error:
        toast_error(request, str(error))
        return go(request, _lab(space, request.POST.get("tried", "")))
    toast(request, _("Saved as %(name)s.") % {"name": made})
    return go(request, _lab(space, _asked_by(request.POST.get("tried", ""), profile=made.name)))


@in_space(role="owner", methods="POST")
def choose(request, space):
    name = request.POST.get("profile", "")[:60]
    back = _lab(space, _asked_by(request.POST.get("tried", ""), profile=name))
    if name.partition("@")[0] not in profiles.names(space):
        toast_error(request, _("There is no profile of that name."))
        return go(request, _lab(space, ""))
    done = spaces.configure(space, by=person(request.user), values={"recall_profile": name})
    toast(request, _("Recall ranks by %(name)s now.") % {"name": name}, undo=undo_url(space, done))
    return go(request, back)


@in_space(role="viewer")
def receipts(request, space):
    wanted = receipt_pages.ReceiptFilter.read(request.GET)
    context = {"space": space, "list": receipt_pages.receipt_list(space, wanted)}
    return render(request, "recall/receipts.html", context)


@in_space(role="viewer")
def receipt(request, space, pk):
    found = get_in_space_or_404(space, Recall, pk)
    apart = request.GET.get("apart", "")
    context = receipt_pages.detail(found, space=space, apart=apart)
    response = render(request, "recall/receipt.html", {"space": space, **context})
    return remember_opened(response)


@in_space(role="viewer")
def receipt_card(request, space, pk):
    found = get_in_space_or_404(space, Recall, pk)
    context = receipt_pages.card(found, space=space)
    return render(request, "recall/card.svg", context, content_type="image/svg+xml")


@in_space(role="viewer")
def receipt_markdown(request, space, pk):
    found = get_in_space_or_404(space, Recall, pk)
    told = receipt_pages.as_markdown(found, space=space)
    return HttpResponse(told, content_type="text/markdown; charset=utf-8")


def _me(request) -> str:
    return request.user.first_name or request.user.get_username()


def _lab(space, query: str) -> str:
    there = reverse("recall:lab", args=[space.slug])
    return f"{there}?{query}" if query else there


def _asked_by(query: str, *, profile: str) -> str:
    """The same question by a saved profile: its own weights, nothing tried."""
    said = QueryDict(query[:4000])
    kept = QueryDict(mutable=True)
    for name in ("q", "as", "chat", "mode", "as_of", "valid_at"):
        if name in said:
            kept[name] = said[name]
    kept["profile"] = profile
    return kept.urlencode()


def _without(said: QueryDict, name: str) -> str:
    kept = said.copy()
    kept.pop(name, None)
    return kept.urlencode()
