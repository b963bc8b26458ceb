"""The recall lab, which writes nothing but profiles, and the receipts of real recalls."""

from urllib.parse import urlencode

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.auth.sessions import go
from kenoweb.recall import lab as recall_lab
from kenoweb.recall import receipts as receipt_pages
from kenoweb.ui.responses import MARKDOWN, remember_opened, toast, toast_error, undo_url
from memory.history.actors import person
from memory.models import Recall
from memory.retrieval import profiles
from memory.spaces import service as spaces


@in_space(role="viewer")
def lab(request, space):
    me = request.user.first_name or request.user.get_username()
    asking = recall_lab.read(request.GET, space=space, default_person=me)
    context = recall_lab.page(asking, space=space, now=timezone.now())
    context["query"] = _without(request.GET, "apart")
    context["today"] = _lab(space, _without(request.GET, "as_of"))
    context["plain"] = _with_profile(context["query"], asking.saved.name)
    context["plain_query"] = _without(QueryDict(context["plain"]), "profile")
    return render(request, "recall/lab.html", context)


@in_space(role="curator", methods="POST")
def save(request, space):
    tried = request.POST.get("tried", "")
    asking = recall_lab.read(QueryDict(tried[:4000]), space=space)
    try:
        profile = profiles.save(
            space,
            name=request.POST.get("name", ""),
            weights=asking.tried.weights if asking.tried.formula == "keno" else {},
            by=person(request.user),
            base=asking.tried,
            note=request.POST.get("note", ""),
        )
    except profiles.Invalid as error:
        toast_error(request, str(error))
        return go(request, _lab(space, tried))
    toast(request, _("Saved as %(name)s.") % {"name": profile})
    return go(request, _lab(space, _with_profile(tried, profile.name)))


@in_space(role="owner", methods="POST")
def choose(request, space):
    name = request.POST.get("profile", "")[:60]
    if name.partition("@")[0] not in profiles.names(space):
        toast_error(request, _("There is no profile of that name."))
        return go(request, _lab(space, ""))
    done = spaces.configure(space, by=person(request.user), values={"recall_profile": name})
    toast(request, _("Recall ranks by %(name)s now.") % {"name": name}, undo=undo_url(space, done))
    return go(request, _lab(space, _with_profile(request.POST.get("tried", ""), name)))


@in_space(role="viewer")
def receipts(request, space):
    filters = receipt_pages.ReceiptFilter.read(request.GET)
    context = {"space": space, "list": receipt_pages.receipt_list(space, filters)}
    return render(request, "recall/receipts.html", context)


@in_space(role="viewer")
def receipt(request, space, pk):
    row = get_in_space_or_404(space, Recall, pk)
    context = receipt_pages.detail(row, space=space, apart=request.GET.get("apart", ""))
    response = render(request, "recall/receipt.html", {"space": space, **context})
    return remember_opened(response)


@in_space(role="viewer")
def receipt_card(request, space, pk):
    context = receipt_pages.card(get_in_space_or_404(space, Recall, pk), space=space)
    return render(request, "recall/card.svg", context, content_type="image/svg+xml")


@in_space(role="viewer")
def receipt_markdown(request, space, pk):
    text = receipt_pages.as_markdown(get_in_space_or_404(space, Recall, pk), space=space)
    return HttpResponse(text, content_type=MARKDOWN)


def _lab(space, query: str) -> str:
    there = reverse("recall:lab", args=[space.slug])
    return f"{there}?{query}" if query else there


def _with_profile(query: str, profile: str) -> str:
    """Return the query of the same question by a saved profile, without changed weights."""
    params = QueryDict(query[:4000])
    names = [name for name in ("q", "as", "chat", "mode", "as_of", "valid_at") if name in params]
    return urlencode({name: params[name] for name in names} | {"profile": profile})


def _without(params: QueryDict, name: str) -> str:
    others = params.copy()
    others.pop(name, None)
    return others.urlencode()
