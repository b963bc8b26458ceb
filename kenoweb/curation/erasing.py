"""What rests on a memory, and discarding it with all of that; erasing it for good."""

import json
from collections import Counter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from kenoweb.auth.access import for_account, get_in_space_or_404, in_space, rows_in
from kenoweb.ui.responses import (
    ERASE,
    counted_lines,
    message_url,
    next_url,
    run_and_toast,
    space_url,
    toast_error,
    typed,
)
from memory import lineage
from memory.history import actors
from memory.history.actors import person
from memory.models import Episode, Erasure, Fact, Message, Pattern, Preference, Rule, Space
from memory.operations import erasing
from memory.spaces import service as spaces
from memory.text.normalise import short
from sleep.models import Proposal

Kind = Erasure.Kind
MAX_NODES, MAX_REPLIES = 300, 20
MODELS: dict[str, Any] = {
    model._meta.model_name: model
    for model in (Message, Fact, Episode, Pattern, Proposal, Rule, Preference)
}
LABELS = {
    "message": gettext_lazy("Messages"),
    "fact": gettext_lazy("Facts"),
    "episode": gettext_lazy("Episodes"),
    "pattern": gettext_lazy("Patterns"),
    "proposal": gettext_lazy("Proposals"),
    "rule": gettext_lazy("Rules"),
    "preference": gettext_lazy("Preferences"),
}
ICONS = {"message": "quote", "rule": "ruling", "preference": "identity"}


@in_space(role="curator")
def lineage_page(request, space, kind, pk):
    """Show all that rests on it, as a tree, with the replies it reached."""
    roots = _roots(space, kind, pk)
    descent = lineage.descent(space, roots)
    reached = lineage.replies_reached(space, descent.gone | descent.shared)
    latest = reached.order_by("-recall__at").select_related("recall")
    context = {
        "kind": kind,
        "pk": pk,
        "leaves": tree(space, descent),
        "counts": _counts(descent),
        "gone": len(descent.alone),
        "replies": latest.distinct("recall__at", "recall")[:MAX_REPLIES],
        "reached": reached.values("recall").distinct().count(),
        "may_erase": request.member.may("owner") and kind in Kind.values,
    }
    return render(request, "lineage.html", context)


@in_space(role="curator", methods="POST")
def discard(request, space, kind, pk):
    roots = _roots(space, kind, pk)
    message = _("Discarded, with all that rested on it alone.")
    run_and_toast(request, message, lineage.discard, space, roots)
    return redirect("lineage:detail", space.slug, kind, pk)


def _roots(space: Space, kind: str, pk: int) -> set[lineage.Node]:
    roots = erasing.origins(space, kind, pk)
    if roots is None:
        raise Http404
    return roots


def tree(space: Space, descent: lineage.Descent) -> list[dict]:
    """Return the rows in order, each below the first row it rests on."""
    below: dict[lineage.Node, list[lineage.Node]] = {}
    for node, sources in sorted(descent.sources.items()):
        for source in sources:
            below.setdefault(source, []).append(node)
    depths: dict[lineage.Node, int] = {}
    waiting = [(node, 0) for node in sorted(descent.roots, reverse=True)]
    while waiting and len(depths) < MAX_NODES:
        node, depth = waiting.pop()
        if node not in depths:
            depths[node] = depth
            waiting += [(child, depth + 1) for child in reversed(below.get(node, []))]
    return _leaves(space, descent, depths)


def _leaves(space: Space, descent: lineage.Descent, depths: dict[lineage.Node, int]) -> list[dict]:
    rows = {
        (kind, row.pk): row
        for kind, model in MODELS.items()
        for row in rows_in(space, model).filter(pk__in=[pk for name, pk in depths if name == kind])
    }
    return [
        {
            "depth": depth,
            "icon": ICONS.get(node[0], node[0]),
            "text": str(getattr(rows[node], "text", "") or rows[node]),
            "is_shared": node in descent.shared,
            "url": _url(space, node[0], rows[node]),
        }
        for node, depth in depths.items()
        if node in rows
    ]


def _url(space: Space, kind: str, row: Any) -> str:
    if kind == "message":
        return message_url(space, row.pk, row.chat_id)
    if kind in ("rule", "preference"):
        return space_url("identity:index", space)
    return space_url(f"{kind}s:detail", space, row.pk)


def _counts(descent: lineage.Descent) -> list[tuple[str, int, int]]:
    """Count per kind what rests on it alone, and what also rests on other rows."""
    alone = Counter(kind for kind, _pk in descent.alone)
    shared = Counter(kind for kind, _pk in descent.shared)
    return [(label, alone[k], shared[k]) for k, label in LABELS.items() if alone[k] or shared[k]]


@in_space(role="owner", methods="GET POST", sudo=True)
def preview(request, space, kind, pk):
    row = erasing.find(space, kind, pk) if kind in Kind.values else None
    chat = row.pk if row and kind == Kind.CHAT else getattr(row, "chat_id", None)
    if row is None or chat in space.hidden_chats:
        raise Http404
    if request.method == "POST":
        return _start(request, space, kind, row)
    result = erasing.preview(space, kind, row, by=person(request.user))
    context = {
        "row": result.name or short(str(row), 200),
        "kind": Kind(kind).label,
        "back": next_url(request) or _page_of(space, kind, row),
        "lines": counted_lines(result.counts),
        "preview": result,
        "word": result.name or pgettext("typed to confirm", ERASE),
    }
    return render(request, "erase.html", context)


def _page_of(space: Space, kind: str, row: Any) -> str:
    """Return the URL of the page that shows the row."""
    if kind == Kind.MESSAGE:
        return _url(space, kind, row)
    own = {Kind.CHAT: "chats:detail", Kind.PERSON: "people:detail"}
    if kind in own:
        return space_url(own[kind], space, row.pk)
    lists = {Kind.MEMBER: "members:index", Kind.IMPORT: "transfer:index"}
    return space_url(lists.get(kind, "settings:index"), space)


@in_space(role="owner", sudo=True)
def detail(request, space, pk):
    return _page(request, get_in_space_or_404(space, Erasure, pk), space)


@in_space(role="owner", sudo=True)
def receipt(request, space, pk):
    return _file(get_in_space_or_404(space, Erasure, pk))


@for_account(sudo=True)
def mine(request, pk):
    """Show the receipt of a deleted space to the person who had it erased."""
    erasure = erasing.asked_by(person(request.user), pk)
    if erasure is None:
        raise Http404
    return _file(erasure) if "file" in request.GET else _page(request, erasure, None)


def _start(request: HttpRequest, space: Space, kind: str, row: Any) -> HttpResponse:
    text = request.POST.get("typed", "")
    try:
        if not erasing.name_of(row) and not typed(request, ERASE):
            raise erasing.WrongName
        erasure = erasing.start(space, kind, row, typed=text, by=person(request.user))
    except (erasing.WrongName, spaces.Refused) as refusal:
        toast_error(request, str(refusal))
        return redirect("erase:preview", space.slug, kind, row.pk)
    if kind == Kind.SPACE:
        return redirect("account:erasure", erasure.pk)
    return redirect("erase:detail", space.slug, erasure.pk)


def _page(request: HttpRequest, erasure: Erasure, space: Space | None) -> HttpResponse:
    is_done = erasure.status == Erasure.Status.DONE
    title = _("Erased: %(kind)s") if is_done else _("Erasing: %(kind)s")
    file = reverse("account:erasure", args=[erasure.pk]) + "?file"
    if space:
        file = reverse("erase:receipt", args=[space.slug, erasure.pk])
    context = {
        "asked": erasure,
        "who": actors.name(erasure.by),
        "lines": counted_lines(erasure.counts),
        "file": file,
        "what": title % {"kind": erasure.get_kind_display()},
    }
    return render(request, "erased.html", context)


def _file(erasure: Erasure) -> HttpResponse:
    data = json.dumps(erasing.receipt(erasure), indent=1)
    response = HttpResponse(data, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="erasure-{erasure.pk}.json"'
    return response
