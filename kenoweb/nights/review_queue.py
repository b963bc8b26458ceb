"""What the review queue shows: one change in front, the others waiting beside it."""

import json
import math
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db.models import Case, F, Model, QuerySet, TextField, Value, When
from django.db.models.fields.json import KT
from django.http import HttpRequest, HttpResponse, QueryDict
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

# The HX-Location options that show the desk.
DESK = {"target": "#main", "select": "#main", "swap": "outerHTML"}
# About as long as a person who knows the matter takes for one.
SECONDS_EACH = 8
MAX_ROWS = 200
MAX_EVIDENCE = 12
MAX_TARGETS = 50
LIST_FIELDS = ("kind", "title", "digest", "confidence", "status", "reason", "decided_at")
MAX_PRECEDENTS_READ = 200
MAX_PRECEDENTS = 3
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


# The label of a target by its type, and its page.
TARGETS = {
    "fact": (gettext_lazy("Fact"), "facts:detail"),
    "pattern": (gettext_lazy("Pattern"), "patterns:detail"),
    "episode": (gettext_lazy("Episode"), "episodes:detail"),
    "rule": (gettext_lazy("Rule"), ""),
    "preference": (gettext_lazy("Preference"), ""),
    "entity": (gettext_lazy("Person"), "people:detail"),
}


def time_left(waiting: int) -> str:
    minutes = round(waiting * SECONDS_EACH / 60)
    return _("about %(n)s min left") % {"n": minutes} if minutes else _("less than a minute left")


@dataclass(frozen=True)
class ProposalFilter:
    """What the query string asks for; invalid values are ignored."""

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

    def apply(self, rows: QuerySet[Proposal]) -> QuerySet[Proposal]:
        if self.kind:
            rows = rows.filter(kind=self.kind)
        if self.about:
            rows = rows.filter(after__subject=self.about)
        if self.source:
            rows = rows.filter(mode=self.source)
        return rows.filter(flags__contains=[self.flag]) if self.flag else rows

    @property
    def query(self) -> str:
        chosen = {name: value for name, value in asdict(self).items() if value}
        return "?" + urlencode(chosen) if chosen else ""


def depends_on(space: Space, fact: Fact | None) -> dict:
    """Return what rests on a fact: the replies it reached, and the facts derived from it."""
    if fact is None or fact.pk is None:
        return {}
    replies = RecallItem.objects.filter(fact=fact, injected=True, recall__reply__isnull=False)
    derived = rows_in(space, Fact).live().filter(evidence__contains=[{"fact": fact.pk}])
    facts = list(derived.exclude(pk=fact.pk).newest()[:MAX_TARGETS])
    count = replies.count()
    return {"replies": count, "facts": facts, "count": len(facts) + bool(count)}


def precedents(proposal: Proposal) -> list[dict]:
    """Return how contradictions of the same kind, or between such speakers, were decided."""
    about, sides = _slot(proposal), _sides(proposal)
    decided = Proposal.objects.filter(space=proposal.space_id, kind=Proposal.Kind.SUPERSEDE)
    decided = decided.filter(status__in=("approved", "rejected")).exclude(pk=proposal.pk)
    found = []
    for row in decided.order_by("-decided_at")[:MAX_PRECEDENTS_READ]:
        if about and _slot(row) == about:
            why = _("about the same kind of thing")
        elif sides and _sides(row) == sides:
            why = _("what someone says of themselves")
        else:
            continue
        found.append({"proposal": row, "ruling": ruling_of(row), "why": why})
    return found[:MAX_PRECEDENTS]


def ruling_of(proposal: Proposal) -> str:
    """Return how a contradiction was decided, in words."""
    usual = proposals.THAT if proposal.status == Proposal.Status.APPROVED else proposals.THIS
    return str(RULINGS[next((flag for flag in proposal.flags if flag in RULINGS), usual)])


def _slot(proposal: Proposal) -> str:
    frame = frame_of(str(proposal.after.get("text", "")), subject=proposal.after.get("subject", ""))
    return frame.key.partition(":")[0] if frame else ""


def _sides(proposal: Proposal) -> tuple[bool, bool] | None:
    """Whether each side was said by the person it is about; None when that tells nothing."""
    who = fold(str(proposal.after.get("subject", "")))
    speakers = [fold(str(item.get("by", ""))) for item in proposal.evidence[:2]]
    if not who or len(speakers) < 2 or (speakers[0] == who) == (speakers[1] == who):
        return None
    return speakers[0] == who, speakers[1] == who


def waiting(space: Space, filters: ProposalFilter) -> QuerySet[Proposal]:
    """Return what waits: the newest night first, the surest first in it.

    Imported proposals come after the nights, grouped by their subject.
    """
    rows = rows_in(space, Proposal).filter(status=Proposal.Status.PENDING)
    imported = When(kind=Proposal.Kind.IMPORTED, then=KT("after__subject"))
    rows = filters.apply(rows).annotate(
        about=Case(imported, default=Value(""), output_field=TextField())
    )
    newest_night = F("night_id").desc(nulls_last=True)
    return rows.select_related("night").order_by(newest_night, "about", "-confidence", "pk")


def waiting_rows(space: Space, filters: ProposalFilter) -> list[Proposal]:
    """Return what waits without its evidence, which takes long to read for two hundred."""
    return list(waiting(space, filters).only(*LIST_FIELDS, "night__local_date")[:MAX_ROWS])


def queue(space: Space, filters: ProposalFilter) -> dict:
    """Return the list beside the desk: what waits, by night, and what was decided today."""
    rows = waiting_rows(space, filters)
    last = nights.latest(space) if rows else None
    groups = [
        (_heading(night, about, is_last=night == last), about, list(group))
        for (night, about), group in groupby(rows, key=attrgetter("night", "about"))
    ]
    today = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    decided = filters.apply(rows_in(space, Proposal).filter(decided_at__gte=today))
    decided = list(decided.only(*LIST_FIELDS).order_by("-decided_at")[:20])
    for row in [*rows, *decided]:
        row.icon = ICONS.get(row.kind, "fact")
    return {"groups": groups, "rows": rows, "decided": decided}


def following(rows: list, after: int | None) -> Any:
    """Return the row to show after this one: the next in the list, else the first other one."""
    places = [row.pk for row in rows]
    if after in places and places.index(after) + 1 < len(rows):
        return rows[places.index(after) + 1]
    return next((row for row in rows if row.pk != after), None)


def desk_context(
    rows: list, done: list, current: Model | None, *, alone: bool, member: Member
) -> dict:
    """Return what both desks show around the current row: its place, and the time left."""
    place = next((n for n, row in enumerate(rows, 1) if row == current), None)
    return {
        "open": alone,
        "place": place + len(done) if place else None,
        "total": len(rows) + len(done),
        "time_left": time_left(len(rows)),
        "coming": following(rows, current.pk if current else None),
        "may_decide": member.may(Member.Role.CURATOR),
    }


def desk_for_toast(request: HttpRequest, url: str) -> HttpResponse | None:
    """Send a toast's request to the desk: the answer does not fit in the toast."""
    if not request.htmx or request.htmx.target == "proposals":
        return None
    return HttpResponse(headers={"HX-Location": json.dumps({"path": url, **DESK})})


def steps(context: dict, current: Proposal | None) -> list[str]:
    """Return the tone of each dash: coloured when decided, marked when in front."""
    tones = {"approved": "yes", "rejected": "no"}
    done = [tones.get(row.status, "") for row in reversed(context["decided"])]
    return [*done, *("now" if row == current else "" for row in context["rows"])][:40]


def desk(space: Space, proposal: Proposal) -> dict:
    """Return one proposal as it is put before a person."""
    rows = rows_of([proposal])
    targets = [_target(space, item, proposal, rows) for item in proposal.targets[:MAX_TARGETS]]
    after, words = proposal.after, _wording(proposal)
    is_contradiction = proposal.kind == Proposal.Kind.SUPERSEDE
    return {
        "proposal": proposal,
        "icon": ICONS.get(proposal.kind, "fact"),
        "targets": targets,
        "before": _before(proposal, targets),
        "after": words,
        # Whether the reason only repeats the proposed words.
        "says_twice": proposal.rationale.split() == words.split(),
        "evidence": sources.of_evidence(space, proposal.evidence[:MAX_EVIDENCE]),
        "notes": [str(NOTES[flag]) for flag in proposal.flags if flag in NOTES],
        "fields": [
            (name, str(label), str(after[name]))
            for name, label in EDITABLE.items()
            if name in after
        ],
        "scope": _scope(space, proposal),
        # Why it cannot be approved as shown: what it would change reads differently now.
        "stale": _stale(proposal, rows),
        "risky": proposals.is_risky(proposal),
        **(_contradiction(space, proposal, targets) if is_contradiction else {}),
    }


def _contradiction(space: Space, proposal: Proposal, targets: list[dict]) -> dict:
    """Return the fact that contradicts the old one, what rests on each, and the precedents."""
    rival = proposals.rival_of(proposal)
    item = proposal.evidence[1] if len(proposal.evidence) > 1 else {}
    since = parse_datetime(item.get("at") or "") or proposal.created_at
    return {
        "rival": rival,
        "depends": depends_on(space, targets[0]["thing"] if targets else None),
        "rival_depends": depends_on(space, rival),
        "day": day_of((rival and rival.valid_from) or since),
        "precedents": precedents(proposal),
    }


def edited_values(proposal: Proposal, posted: QueryDict) -> dict[str, object]:
    """Return what a form changed, each as the type it was; ValueError when it does not fit."""
    changes: dict[str, object] = {}
    for name, label in EDITABLE.items():
        text = posted.get(name, "").strip()
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


def _target(space: Space, item: dict, proposal: Proposal, rows: dict) -> dict:
    kind, pk = item["type"], item["id"]
    label, page = TARGETS[kind]
    row = rows.get((kind, pk))
    return {
        "label": f"{label} {pk}",
        "text": _text_of(proposal.before.get(f"{kind}:{pk}", {})) or str(row or ""),
        "url": space_url(page, space, pk=pk) if page else "",
        "thing": row,
    }


def _before(proposal: Proposal, targets: list[dict]) -> str:
    if proposal.kind == Proposal.Kind.SETTING:
        name = proposal.after.get("name", "")
        return f"{name}: {proposal.before.get(name)}"
    shows_old = proposal.kind in ("revise", "supersede", "rule") and targets
    return targets[0]["text"] if shows_old else ""


def _wording(proposal: Proposal) -> str:
    after = proposal.after
    if proposal.kind == Proposal.Kind.SETTING:
        return f"{after.get('name')}: {after.get('value')}"
    if proposal.kind == Proposal.Kind.ADD_PATTERN:
        return f"{after.get('trigger')} → {after.get('response')}"
    if proposal.kind == Proposal.Kind.PREFERENCE:
        return f"{after.get('key')}: {after.get('value')}"
    return _text_of(after)


def _text_of(image: dict) -> str:
    """Return the words of a memory of any kind, as they were or would be."""
    if "body" in image:
        return f"{image.get('title', '')}\n\n{image['body']}".strip()
    if "aliases" in image:
        return ", ".join([image.get("name", ""), *image["aliases"]])
    names = ("text", "instruction", "trigger", "title", "name")
    return str(next((image[name] for name in names if image.get(name)), ""))


def _scope(space: Space, proposal: Proposal) -> str:
    if "chat" not in proposal.after:
        return ""
    number = proposal.after["chat"]
    chat = rows_in(space, Chat).filter(pk=number).first() if number else None
    return str(chat) if chat else _("every chat")
