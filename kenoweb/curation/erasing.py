"""What came of something, and discarding it with all of that; erasing something for good."""

import json
from collections import Counter
from dataclasses import dataclass
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
    "message": Message, "fact": Fact, "episode": Episode, "pattern": Pattern,
    "proposal": Proposal, "rule": Rule, "preference": Preference,
}  # fmt: skip
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


@dataclass(frozen=True)
class Leaf:
    """One row of the tree: how deep, what it says, and whether it rests on other things too."""

    kind: str
    row: Any
    depth: int
    is_shared: bool
    url: str

    @property
    def icon(self) -> str:
        return ICONS.get(self.kind, self.kind)

    @property
    def text(self) -> str:
        return str(getattr(self.row, "text", "") or self.row)


@in_space(role="curator")
def came(request, space, kind, pk):
    """All that came of it, as a tree, with the replies it reached."""
    roots = erasing.origins(space, kind, pk)
    if roots is None:
        raise Http404
    found = lineage.descent(space, roots)
    reached = lineage.replies_reached(space, found.gone | found.shared)
    latest = (
        reached.order_by("-recall__at").select_related("recall").distinct("recall__at", "recall")
    )
    context = {
        "kind": kind,
        "pk": pk,
        "leaves": tree(space, found),
        "counts": _counts(found),
        "gone": len(found.alone),
        "replies": latest[:MAX_REPLIES],
        "reached": reached.values("recall").distinct().count(),
        "may_erase": request.member.may("owner") and kind in Kind.values,
    }
    return render(request, "lineage.html", context)


@in_space(role="curator", methods="POST")
def discard(request, space, kind, pk):
    roots = erasing.origins(space, kind, pk)
    if roots is None:
        raise Http404
    said = _("Discarded, with all that rested on it alone.")
    run_and_toast(request, said, lineage.discard, space, roots)
    return redirect("lineage:detail", space.slug, kind, pk)


def tree(space: Space, found: lineage.Descent) -> list[Leaf]:
    """The rows in order, each below the first thing it rests on."""
    below: dict[lineage.Node, list[lineage.Node]] = {}
    for node, sources in sorted(found.sources.items()):
        for source in sources:
            below.setdefault(source, []).append(node)
    order: list[tuple[lineage.Node, int]] = []
    seen: set[lineage.Node] = set()
    waiting = [(node, 0) for node in sorted(found.roots, reverse=True)]
    while waiting and len(order) < MAX_NODES:
        node, depth = waiting.pop()
        if node not in seen:
            seen.add(node)
            order.append((node, depth))
            waiting += [(child, depth + 1) for child in reversed(below.get(node, []))]
    return _leaves(space, found, order)


def _leaves(space: Space, found: lineage.Descent, order: list) -> list[Leaf]:
    wanted: dict[str, set[int]] = {}
    for (kind, number), _depth in order:
        wanted.setdefault(kind, set()).add(number)
    rows = {
        (kind, row.pk): row
        for kind, model in MODELS.items()
        for row in rows_in(space, model).filter(pk__in=wanted.get(kind, ()))
    }
    return [
        Leaf(node[0], rows[node], depth, node in found.shared, _url(space, node[0], rows[node]))
        for node, depth in order
        if node in rows
    ]


def _url(space: Space, kind: str, row: Any) -> str:
    if kind == "message":
        return message_url(space, row.pk, row.chat_id)
    if kind in ("rule", "preference"):
        return space_url("identity:index", space)
    return space_url(f"{kind}s:detail", space, row.pk)


def _counts(found: lineage.Descent) -> list[tuple[str, int, int]]:
    """Of each kind, how many rest on it alone and how many on other things too."""
    alone = Counter(kind for kind, _number in found.alone)
    shared = Counter(kind for kind, _number in found.shared)
    return [(label, alone[k], shared[k]) for k, label in LABELS.items() if alone[k] or shared[k]]


@in_space(role="owner", methods="GET POST", sudo=True)
def preview(request, space, kind, pk):
    row = erasing.find(space, kind, pk) if kind in Kind.values else None
    chat = row.pk if row and kind == Kind.CHAT else getattr(row, "chat_id", None)
    if row is None or chat in space.hidden_chats:
        raise Http404
    if request.method == "POST":
        return _start(request, space, kind, row)
    found = erasing.preview(space, kind, row, by=person(request.user))
    context = {
        "row": found.name or short(str(row), 200),
        "kind": Kind(kind).label,
        "back": next_url(request) or _page_of(space, kind, row),
        "lines": counted_lines(found.counts),
        "preview": found,
        "word": found.name or pgettext("typed to confirm", ERASE),
    }
    return render(request, "erase.html", context)


def _page_of(space: Space, kind: str, row: Any) -> str:
    """Where the row stands."""
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
    """The receipt of a space that is gone, for whoever had it erased."""
    asked = erasing.asked_by(person(request.user), pk)
    if asked is None:
        raise Http404
    return _file(asked) if "file" in request.GET else _page(request, asked, None)


def _start(request: HttpRequest, space: Space, kind: str, row: Any) -> HttpResponse:
    given = request.POST.get("typed", "")
    try:
        if not erasing.name_of(row) and not typed(request, ERASE):
            raise erasing.WrongName
        asked = erasing.start(space, kind, row, typed=given, by=person(request.user))
    except (erasing.WrongName, spaces.Refused) as refusal:
        toast_error(request, str(refusal))
        return redirect("erase:preview", space.slug, kind, row.pk)
    if kind == Kind.SPACE:
        return redirect("account:erasure", asked.pk)
    return redirect("erase:detail", space.slug, asked.pk)


def _page(request: HttpRequest, asked: Erasure, space: Space | None) -> HttpResponse:
    is_done = asked.status == Erasure.Status.DONE
    title = _("Erased: %(kind)s") if is_done else _("Erasing: %(kind)s")
    file = reverse("account:erasure", args=[asked.pk]) + "?file"
    if space:
        file = reverse("erase:receipt", args=[space.slug, asked.pk])
    context = {
        "asked": asked,
        "who": actors.name(asked.by),
        "lines": counted_lines(asked.counts),
        "file": file,
        "what": title % {"kind": asked.get_kind_display()},
    }
    return render(request, "erased.html", context)


def _file(asked: Erasure) -> HttpResponse:
    data = json.dumps(erasing.receipt(asked), indent=1)
    answer = HttpResponse(data, content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="erasure-{asked.pk}.json"'
    return answer
