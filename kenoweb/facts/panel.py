"""One fact with everything that is known about it: words, source, history, uses, neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count, Q, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in
from kenoweb.ui import charts, history_thread, list_page, sources
from kenoweb.ui.formatting import day_start
from kenoweb.ui.history_thread import Step
from kenoweb.ui.responses import space_url
from kenoweb.ui.sources import Source
from kenoweb.ui.text_search import near_row
from memory import rulings
from memory.facts import lasting, plans
from memory.history import changes as history
from memory.models import Fact, LlmCall, Ruling, Space
from memory.text.normalise import jaccard, stems
from sleep.clusters import contradict

MAX_FACTS = 200
# How many facts may follow each other: a longer chain is cut, never an endless one.
DEEP = 20
CHAIN = """
WITH RECURSIVE later (id, n) AS (
  SELECT %(pk)s::bigint, 0
  UNION ALL
  SELECT f.superseded_by_id, n + 1 FROM memory_fact f JOIN later ON f.id = later.id
  WHERE f.superseded_by_id IS NOT NULL AND n < %(deep)s
), earlier (id, n) AS (
  SELECT %(pk)s::bigint, 0
  UNION ALL
  SELECT f.id, n + 1 FROM memory_fact f JOIN earlier ON f.superseded_by_id = earlier.id
  WHERE n < %(deep)s
)
SELECT id FROM (SELECT id FROM later UNION SELECT id FROM earlier) AS chain LIMIT %(most)s
"""
MAX_RELATED = 5
# Facts about the same subject that are compared one by one.
LOOKED_AT = 200
CLOSE_WORDS = 0.34
SHOWN = ("text", "kind", "language", "chat")
MAX_EVIDENCE = 10
DAYS = 16
REPLIES = 5


@dataclass(frozen=True)
class Belief:
    """One wording and the time in which it held; no end means that it holds now."""

    fact: int
    text: str
    language: str
    start: datetime
    end: datetime | None = None
    sure: float = 0.5
    quote: str = ""
    said_by: str = ""


def timeline(fact: Fact) -> list[Belief]:
    """Newest first. One line alone says nothing new and is left to the page."""
    with connection.cursor() as cursor:
        cursor.execute(CHAIN, {"pk": fact.pk, "deep": DEEP, "most": DEEP * 2})
        chain = [pk for (pk,) in cursor.fetchall()]
    # Another space can never be in the chain, and if it were it would not be shown.
    events = apps.get_model("memory", "FactEvent").objects.filter(
        pgh_obj_id__in=chain, space=fact.space_id
    )
    return periods(events.order_by("pgh_obj_id", "pgh_id")[:MAX_FACTS])


def periods(events: Iterable) -> list[Belief]:
    """The times in which a wording was live; expects the events of a fact in their order."""
    found: list[Belief] = []
    open_: Belief | None = None
    for event in events:
        if open_ and open_.fact != event.pgh_obj_id:
            found.append(open_)
            open_ = None
        if open_ and (event.status != "active" or event.text != open_.text):
            found.append(replace(open_, end=_end(event, open_)))
            open_ = None
        if event.status == "active" and open_ is None:
            start, words = _start(event, found), (event.text, event.language)
            open_ = Belief(event.pgh_obj_id, *words, start, None, event.confidence)
            if not any(one.quote == event.quote for one in found):
                open_ = replace(open_, quote=event.quote, said_by=event.said_by)
    if open_:
        found.append(open_)
    return sorted(found, key=lambda one: one.start, reverse=True)


def _start(event: object, found: list[Belief]) -> datetime:
    """Since it is true, if somebody said since when; else since it was learned."""
    again = any(one.fact == event.pgh_obj_id for one in found)
    return event.pgh_created_at if again else event.valid_from or event.created_at


def _end(event: object, belief: Belief) -> datetime:
    over = event.valid_to if event.status != "active" and event.valid_to else event.pgh_created_at
    return max(over, belief.start)


@dataclass(frozen=True)
class Neighbour:
    fact: Fact
    alike: float
    why: str = ""


def of_fact(fact: Fact, *, space: Space) -> tuple[list[Neighbour], list[Neighbour]]:
    """Those close to it, and those that contradict it."""
    live = rows_in(space, Fact).live().only(*SHOWN)
    same = live.filter(subject=fact.subject).exclude(pk=fact.pk)
    about = list(same.newest()[:LOOKED_AT])
    scores = near_row(space, "fact", fact.pk, most=MAX_RELATED * 2)
    known = {other.pk: other for other in about}
    if missing := scores.keys() - known.keys():
        known |= {one.pk: one for one in live.filter(pk__in=missing)}
    if not scores:
        scores = _by_words(fact, about)
    against = [
        Neighbour(other, scores.get(pk, 0), why)
        for pk, other in known.items()
        if (why := contradict(fact.text, other.text, subject=fact.subject))
    ]
    opposed = {one.fact.pk for one in against}
    near = [
        Neighbour(known[pk], alike)
        for pk, alike in sorted(scores.items(), key=lambda one: -one[1])
        if pk in known and pk not in opposed
    ]
    return near[:MAX_RELATED], against[:MAX_RELATED]


def _by_words(fact: Fact, others: list[Fact]) -> dict[int, float]:
    mine = stems(fact.text)
    scored = ((other.pk, jaccard(mine, stems(other.text))) for other in others)
    return {pk: alike for pk, alike in scored if alike >= CLOSE_WORDS}


@dataclass(frozen=True)
class Use:
    """One reply that the fact reached."""

    query: str
    rank: int
    at: datetime
    url: str


@dataclass(frozen=True)
class Reached:
    """Where it went, and what it cost and paid back: its price."""

    count: str
    uses: list[Use]
    bars: list[tuple[str, float]]
    # In how many replies its words are, and how many tokens of prompts it took for that.
    used: int = 0
    tokens: int = 0
    # Dollars of the call that heard it; None when no model did.
    learned_for: float | None = None


@dataclass(frozen=True)
class Edge:
    """Where its truth begins or ends, and what moved that: a sentence, or somebody's hand."""

    label: str
    at: datetime | None
    moved_at: datetime
    sentence: str
    source: Source | None


@dataclass(frozen=True)
class FactPanel:
    fact: Fact
    edges: list[Edge]
    checked: datetime
    due: datetime | None
    url: str
    source: Source | None
    more_sources: list[Source]
    steps: list[Step]
    beliefs: list[Belief]
    river: list[charts.Band]
    reached: Reached
    near: list[Neighbour]
    against: list[Neighbour]
    kept: Ruling | None
    successor: Fact | None
    episode_url: str
    # When its plan is said in the chat; "" when it is none, or was said for the last time.
    reminder: str = ""


def fact_panel(fact: Fact, *, space: Space, user: User, now: datetime) -> FactPanel:
    near, against = of_fact(fact, space=space)
    times = timeline(fact)
    spans = [(one.start, max(one.start, one.end or now), one.sure) for one in reversed(times)]
    return FactPanel(
        fact=fact,
        edges=edges(fact, space=space, user=user),
        checked=fact.checked_at,
        due=lasting.due_at(fact, space) if fact.status == Fact.Status.ACTIVE else None,
        url=reverse("facts:detail", args=[space.slug, fact.pk]),
        source=source(fact, space=space),
        more_sources=_evidence(fact, space=space),
        steps=history_thread.thread(fact, space=space, user=user),
        beliefs=times if len(times) > 1 else [],
        river=charts.river(spans, width=370, height=44) if len(times) > 1 else [],
        reached=reached(fact, space=space, now=now),
        near=near,
        against=against,
        kept=rulings.keep_ruling(fact),
        successor=fact.superseded_by,
        episode_url=space_url("episodes:detail", space, pk=fact.episode_id)
        if fact.episode_id
        else "",
        reminder=_reminder(fact),
    )


def _reminder(fact: Fact) -> str:
    reminder = getattr(fact, "reminder", None)
    return plans.when_words(fact) if reminder and reminder.next_at else ""


def edges(fact: Fact, *, space: Space, user: User) -> list[Edge]:
    """Both edges that are known, each with the sentence that moved it last."""
    changes = history.history(fact, limit=history_thread.MAX_STEPS)
    found = []
    for name, label in (("valid_from", _("True from")), ("valid_to", _("True until"))):
        for change in changes:
            if name in change.fields or (change.is_create and change.after[name]):
                said = _moved_by(fact, change, name, space=space)
                told = history_thread.sentence(change, user)
                found.append(Edge(label, getattr(fact, name), change.at, told, said))
                break
    return found


def _moved_by(fact: Fact, change: history.Change, name: str, *, space: Space) -> Source | None:
    if change.is_create:
        return source(fact, space=space)
    replaced = name == "valid_to" and "superseded_by_id" in change.fields
    new = rows_in(space, Fact).filter(pk=change.after["superseded_by_id"]).first()
    return source(new, space=space) if replaced and new else None


def source(fact: Fact, *, space: Space) -> Source | None:
    """The quote inside its message, where that is known; else the quote alone."""
    if fact.message_id:
        return sources.in_message(fact.quote, fact.message, space=space, lang=fact.language)
    if not fact.quote or (not fact.said_by and _is_evidence(fact)):
        return None
    where = str(fact.chat) if fact.chat_id else ""
    return Source(fact.quote, "", fact.language, fact.said_by, where, when=fact.created_at)


def _is_evidence(fact: Fact) -> bool:
    """Whether the quote stands there again, with who said it."""
    return any(one.get("quote") == fact.quote for one in fact.evidence if isinstance(one, dict))


def _evidence(fact: Fact, *, space: Space) -> list[Source]:
    """What else it rests on."""
    told = [one for one in fact.evidence if isinstance(one, dict)][:MAX_EVIDENCE]
    return [one for one in sources.of_evidence(space, told) if one.text]


def reached(fact: Fact, *, space: Space, now: datetime) -> Reached:
    """The replies it was injected into: how many, the last ones, and how many a day."""
    items = apps.get_model("memory", "RecallItem").objects.filter(fact=fact, injected=True)
    latest = list(items.select_related("recall").order_by("-pk")[:REPLIES])
    today = timezone.localdate(now)
    since = day_start(today - timedelta(days=DAYS - 1))
    days: dict = {}
    if latest and latest[0].recall.at >= since:
        days = charts.per_day(items, "recall__at", end=today, days=DAYS)
    price = {"n": Count("pk"), "tokens": Sum("tokens"), "used": Count("pk", filter=Q(mark="used"))}
    paid = items.aggregate(**price) if latest else {}
    return Reached(
        count=list_page.capped_number(paid["n"]) if latest else "",
        used=paid.get("used") or 0,
        tokens=paid.get("tokens") or 0,
        learned_for=_cost_of_hearing(fact),
        uses=[
            Use(
                one.recall.query,
                one.rank,
                one.recall.at,
                space_url("recall:receipt", space, pk=one.recall_id),
            )
            for one in latest
        ],
        bars=charts.series(days, end=today, days=DAYS) if days else [],
    )


def _cost_of_hearing(fact: Fact) -> float | None:
    if ":" not in fact.mode or not fact.message_id:
        return None
    calls = LlmCall.objects.filter(message=fact.message_id, purpose=LlmCall.Purpose.EXTRACT)
    return calls.aggregate(cost=Sum("cost"))["cost"]


def as_markdown(fact: Fact) -> str:
    """The fact for people and models, with the words it came from."""
    about = f"**{fact.subject}**: " if fact.subject and fact.subject != Fact.LORE else ""
    lines = [f"{about}{fact.text}"]
    if fact.quote:
        lines += ["", *(f"> {line}" for line in fact.quote.splitlines())]
    known = f"{fact.kind}, {fact.category}, confidence {fact.confidence:.2f}, {fact.source}"
    return "\n".join([*lines, "", f"Fact {fact.pk}: {known}, {fact.created_at:%Y-%m-%d}", ""])
