"""What the review queue shows: one change in front, the others waiting beside it."""

import datetime as dt
import json
import math
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import Case, F, Model, QuerySet, TextField, Value, When
from django.db.models.fields.json import KT
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import rows_in
from kenoweb.ui import sources
from kenoweb.ui.formatting import about as named
from kenoweb.ui.formatting import dated, day_of
from kenoweb.ui.responses import space_url
from memory.extraction.frames import frame_of
from memory.models import Chat, Fact, Member, RecallItem, Space
from memory.text.normalise import clean, fold
from sleep import nights, proposals
from sleep.apply import TargetChanged, check_targets, rows_of
from sleep.models import Proposal

ICONS = {
    "supersede": "conflict",
    "merge": "merge",
    "same": "identity",
    "add_pattern": "pattern",
    "retire_pattern": "pattern",
    "retire": "archive",
    "rule": "identity",
    "preference": "identity",
    "setting": "settings",
    "release": "shield",
    "imported": "transfer",
}

# How a page goes to the desk itself.
DESK = {"target": "#main", "select": "#main", "swap": "outerHTML"}
# A person who knows the matter decides one about this fast.
SECONDS_EACH = 8
SHOWN = 200
MAX_EVIDENCE = 12
TARGETS_SHOWN = 50
IN_A_LIST = ("kind", "title", "digest", "confidence", "status", "reason", "decided_at")
PRECEDENTS_READ, PRECEDENTS_SHOWN = 200, 3
RULINGS = {
    proposals.THIS: gettext_lazy("Older"),
    proposals.THAT: gettext_lazy("Newer"),
    proposals.BOTH: gettext_lazy("Both in their time"),
}
EDITABLE = {
    "text": gettext_lazy("Fact"),
    "subject": gettext_lazy("About"),
    "trigger": gettext_lazy("When a message says"),
    "response": gettext_lazy("Answer like this"),
    "instruction": gettext_lazy("Rule"),
    "value": gettext_lazy("Value"),
}
NOTES = {
    "contradiction": gettext_lazy("Both cannot be true at the same time. You decide."),
    "leaves its chat": gettext_lazy(
        "It was said in another chat; approving tells it beyond that chat."
    ),
    "loss fuse": gettext_lazy("More than a night may archive on its own."),
    proposals.SUSPICIOUS: gettext_lazy(
        "It reads like an instruction that somebody planted. Reject it unless you know better."
    ),
    proposals.HELD: gettext_lazy("A program asks for this; what its token writes is held."),
    proposals.GATED: gettext_lazy("What comes this way is held for you."),
    "conflict": gettext_lazy("It was changed in Keno, too, since the folder was last in step."),
    "edited": gettext_lazy("Someone changed the wording before deciding."),
}


def time_left(waiting: int) -> str:
    minutes = round(waiting * SECONDS_EACH / 60)
    return _("about %(n)s min left") % {"n": minutes} if minutes else _("less than a minute left")


@dataclass(frozen=True)
class ProposalFilter:
    """What the address bar asks for; what it does not know is ignored."""

    kind: str = ""
    flag: str = ""
    about: str = ""
    source: str = ""

    @classmethod
    def from_query(cls, query) -> "ProposalFilter":
        kind, flag = query.get("kind", ""), query.get("flag", "")
        return cls(
            kind=kind if kind in Proposal.Kind.values else "",
            flag=flag if flag in NOTES else "",
            about=clean(query.get("about", ""))[:120],
            source=clean(query.get("source", ""))[:64],
        )

    def apply(self, found: QuerySet[Proposal]) -> QuerySet[Proposal]:
        if self.kind:
            found = found.filter(kind=self.kind)
        if self.about:
            found = found.filter(after__subject=self.about)
        if self.source:
            found = found.filter(mode=self.source)
        return found.filter(flags__contains=[self.flag]) if self.flag else found

    @property
    def query(self) -> str:
        parts = {name: getattr(self, name) for name in ("kind", "flag", "about", "source")}
        chosen = {name: value for name, value in parts.items() if value}
        return "?" + urlencode(chosen) if chosen else ""


@dataclass(frozen=True)
class Target:
    label: str
    text: str
    url: str
    thing: Model


@dataclass(frozen=True)
class Depends:
    """What rests on a fact: the replies it reached, and the facts derived from it."""

    replies: int = 0
    facts: list[Fact] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.facts) + bool(self.replies)


@dataclass(frozen=True)
class Precedent:
    """A contradiction of the same kind that was decided before."""

    proposal: Proposal
    ruling: str
    why: str


@dataclass
class Desk:
    """One proposal as it is put before a person."""

    proposal: Proposal
    icon: str
    targets: list[Target]
    before: str
    after: str
    evidence: list[sources.Source]
    notes: list[str]
    fields: list[tuple[str, str, str]] = field(default_factory=list)
    scope: str = ""
    # What it would change reads differently now: it cannot be approved as it is shown.
    stale: str = ""
    risky: bool = False
    # Of a contradiction: the fact that speaks against the old one where it is believed already,
    # what rests on each, when one gave way to the other, and how such a thing was decided before.
    rival: Fact | None = None
    depends: Depends = Depends()
    rival_depends: Depends = Depends()
    day: dt.date | None = None
    precedents: list[Precedent] = field(default_factory=list)

    @property
    def says_twice(self) -> bool:
        """Whether the reason is nothing but the words it proposes."""
        return self.proposal.rationale.split() == self.after.split()


def depends_on(space: Space, fact: Fact | None) -> Depends:
    if fact is None or fact.pk is None:
        return Depends()
    reached = RecallItem.objects.filter(fact=fact, injected=True, recall__reply__isnull=False)
    derived = rows_in(space, Fact).live().filter(evidence__contains=[{"fact": fact.pk}])
    return Depends(reached.count(), list(derived.exclude(pk=fact.pk).newest()[:TARGETS_SHOWN]))


def precedents(proposal: Proposal) -> list[Precedent]:
    """Those about the same kind of thing, or between the same kinds of speakers; newest first."""
    about, sides = _slot(proposal), _sides(proposal)
    decided = Proposal.objects.filter(space=proposal.space_id, kind=Proposal.Kind.SUPERSEDE)
    decided = decided.filter(status__in=("approved", "rejected")).exclude(pk=proposal.pk)
    found = []
    for one in decided.order_by("-decided_at")[:PRECEDENTS_READ]:
        if about and _slot(one) == about:
            found.append(Precedent(one, ruling_of(one), _("about the same kind of thing")))
        elif sides and _sides(one) == sides:
            found.append(Precedent(one, ruling_of(one), _("what someone says of themselves")))
    return found[:PRECEDENTS_SHOWN]


def ruling_of(proposal: Proposal) -> str:
    """How a contradiction was decided, in words."""
    given = next((flag for flag in proposal.flags if flag in RULINGS), "")
    usual = proposals.THAT if proposal.status == Proposal.Status.APPROVED else proposals.THIS
    return str(RULINGS[given or usual])


def _slot(proposal: Proposal) -> str:
    frame = frame_of(str(proposal.after.get("text", "")), subject=proposal.after.get("subject", ""))
    return frame.key.partition(":")[0] if frame else ""


def _sides(proposal: Proposal) -> tuple[bool, bool] | None:
    """Whether each side was said by whom it is about; None when that tells nothing."""
    who = fold(str(proposal.after.get("subject", "")))
    said = [fold(str(one.get("by", ""))) for one in proposal.evidence[:2]]
    if not who or len(said) < 2 or (said[0] == who) == (said[1] == who):
        return None
    return said[0] == who, said[1] == who


def waiting(space: Space, chosen: ProposalFilter) -> QuerySet[Proposal]:
    """What waits, in the order it is shown: the newest night first, the surest first in it.

    What an import brought comes after the nights, together by whom it is about.
    """
    found = rows_in(space, Proposal).filter(status=Proposal.Status.PENDING)
    imported = When(kind=Proposal.Kind.IMPORTED, then=KT("after__subject"))
    found = chosen.apply(found).annotate(
        about=Case(imported, default=Value(""), output_field=TextField())
    )
    newest_night = F("night_id").desc(nulls_last=True)
    return found.select_related("night").order_by(newest_night, "about", "-confidence", "pk")


def listed(space: Space, chosen: ProposalFilter) -> list[Proposal]:
    """The same with what a list shows of them: the evidence of two hundred takes long to read."""
    return list(waiting(space, chosen).only(*IN_A_LIST, "night__local_date")[:SHOWN])


def queue(space: Space, chosen: ProposalFilter) -> dict:
    """The list beside the desk: waiting by night, then what of the same was decided today."""
    rows = listed(space, chosen)
    last = nights.latest(space) if rows else None
    groups = [
        (_heading(night, about, is_last=night == last), about, list(some))
        for (night, about), some in groupby(rows, key=lambda one: (one.night, one.about))
    ]
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    decided = chosen.apply(rows_in(space, Proposal).filter(decided_at__gte=today))
    decided = decided.only(*IN_A_LIST).order_by("-decided_at")[:20]
    for one in [*rows, *decided]:
        one.icon = ICONS.get(one.kind, "fact")
    return {"groups": groups, "rows": rows, "decided": list(decided)}


def following(rows: list, after: int | None) -> Any:
    """The one to show after this one: the next in the list, else the first that is left."""
    places = [one.pk for one in rows]
    if after in places and places.index(after) + 1 < len(rows):
        return rows[places.index(after) + 1]
    return next((one for one in rows if one.pk != after), None)


def around(rows: list, done: list, current: Model | None, *, alone: bool, member: Member) -> dict:
    """What both desks say of the one in front: its place among the others, and the time left."""
    place = next((n for n, one in enumerate(rows, 1) if one == current), None)
    return {
        "open": alone,
        "place": place + len(done) if place else None,
        "total": len(rows) + len(done),
        "time_left": time_left(len(rows)),
        "coming": following(rows, current.pk if current else None),
        "may_decide": member.may(Member.Role.CURATOR),
    }


def from_toast(request: HttpRequest, there: str) -> HttpResponse | None:
    """Send the page to the desk where a toast asked: it has no room for one."""
    if not request.htmx or request.htmx.target == "proposals":
        return None
    return HttpResponse(headers={"HX-Location": json.dumps({"path": there, **DESK})})


def steps(shown: dict, current: Proposal | None) -> list[str]:
    """One dash each: decided ones coloured, the one in front marked."""
    tone = {"approved": "yes", "rejected": "no"}
    done = [tone.get(one.status, "") for one in reversed(shown["decided"])]
    return [*done, *("now" if one == current else "" for one in shown["rows"])][:40]


def desk(space: Space, proposal: Proposal) -> Desk:
    rows = rows_of([proposal])
    targets = [_target(space, one, proposal, rows) for one in proposal.targets[:TARGETS_SHOWN]]
    after = proposal.after
    return Desk(
        proposal=proposal,
        icon=ICONS.get(proposal.kind, "fact"),
        targets=targets,
        before=_before(proposal, targets),
        after=_wording(after, proposal),
        evidence=sources.of_evidence(space, proposal.evidence[:MAX_EVIDENCE]),
        notes=[str(NOTES[flag]) for flag in proposal.flags if flag in NOTES],
        fields=[
            (name, str(label), str(after[name]))
            for name, label in EDITABLE.items()
            if name in after
        ],
        scope=_scope(space, proposal),
        stale=_stale(proposal, rows),
        risky=proposals.is_risky(proposal),
        **(_contradiction(space, proposal, targets) if proposal.kind == "supersede" else {}),
    )


def _contradiction(space: Space, proposal: Proposal, targets: list[Target]) -> dict:
    rival = proposals.rival_of(proposal)
    said = proposal.evidence[1] if len(proposal.evidence) > 1 else {}
    since = parse_datetime(said.get("at") or "") or proposal.created_at
    return {
        "rival": rival,
        "depends": depends_on(space, targets[0].thing if targets else None),
        "rival_depends": depends_on(space, rival),
        "day": day_of((rival and rival.valid_from) or since),
        "precedents": precedents(proposal),
    }


def edited(proposal: Proposal, given) -> dict[str, object]:
    """What a form changed, each as the kind of value it was; ValueError when it does not fit."""
    changes: dict[str, object] = {}
    for name, label in EDITABLE.items():
        text = given.get(name, "").strip()
        if text and name in proposal.after:
            changes[name] = _like(proposal.after[name], text, label)
    return changes


def _like(was: object, text: str, label: str) -> object:
    if isinstance(was, bool):
        return text.casefold() in {"true", "yes", "on", "1", "sí", "si"}
    if not isinstance(was, int | float):
        return text
    try:
        if not math.isfinite(number := type(was)(text)):
            raise ValueError
        return number
    except (ValueError, OverflowError):
        raise ValueError(_("%(label)s must be a number.") % {"label": label}) from None


def _stale(proposal: Proposal, rows: dict) -> str:
    if proposal.status != Proposal.Status.PENDING:
        return ""
    try:
        check_targets(proposal, rows)
    except TargetChanged as error:
        return str(error)
    return ""


def _heading(night, about: str, *, is_last: bool) -> str:
    if about:
        return _("From an import: %(about)s") % {"about": named(about)}
    if night is None:
        return _("Without a night")
    if is_last:
        return _("From the last night")
    return dated(night.local_date, _("l j F"))


def _target(space: Space, target: dict, proposal: Proposal, rows: dict) -> Target:
    kind, pk = target["type"], target["id"]
    before = proposal.before.get(f"{kind}:{pk}", {})
    row = rows.get((kind, pk))
    text = _said(before) or str(row or "")
    url = space_url(_PAGES[kind], space, pk=pk) if kind in _PAGES else ""
    return Target(f"{_LABELS[kind]} {pk}", text, url, row)


_PAGES = {
    "fact": "facts:detail",
    "pattern": "patterns:detail",
    "episode": "episodes:detail",
    "entity": "people:detail",
}
_LABELS = {
    "fact": gettext_lazy("Fact"),
    "pattern": gettext_lazy("Pattern"),
    "episode": gettext_lazy("Episode"),
    "rule": gettext_lazy("Rule"),
    "preference": gettext_lazy("Preference"),
    "entity": gettext_lazy("Person"),
}


def _before(proposal: Proposal, targets: list[Target]) -> str:
    if proposal.kind == Proposal.Kind.SETTING:
        name = proposal.after.get("name", "")
        return f"{name}: {proposal.before.get(name)}"
    return targets[0].text if proposal.kind in ("revise", "supersede", "rule") and targets else ""


def _wording(after: dict, proposal: Proposal) -> str:
    if proposal.kind == Proposal.Kind.SETTING:
        return f"{after.get('name')}: {after.get('value')}"
    if proposal.kind == Proposal.Kind.ADD_PATTERN:
        return f"{after.get('trigger')} → {after.get('response')}"
    if proposal.kind == Proposal.Kind.PREFERENCE:
        return f"{after.get('key')}: {after.get('value')}"
    return _said(after)


def _said(image: dict) -> str:
    """The words of a memory of any kind, as they were or would be."""
    if "body" in image:
        return f"{image.get('title', '')}\n\n{image['body']}".strip()
    if "aliases" in image:
        return ", ".join([image.get("name", ""), *image["aliases"]])
    named = ("text", "instruction", "trigger", "title", "name")
    return str(next((image[one] for one in named if image.get(one)), ""))


def _scope(space: Space, proposal: Proposal) -> str:
    if "chat" not in proposal.after:
        return ""
    number = proposal.after["chat"]
    chat = rows_in(space, Chat).filter(pk=number).first() if number else None
    return str(chat) if chat else _("every chat")
