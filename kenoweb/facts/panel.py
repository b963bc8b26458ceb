"""One fact with everything known about it: words, source, history, uses, related facts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import attrgetter, itemgetter

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
from kenoweb.ui.responses import space_url
from kenoweb.ui.sources import Source
from kenoweb.ui.text_search import near_row
from memory import rulings
from memory.facts import lasting, plans
from memory.history import changes as history
from memory.models import Fact, LlmCall, RecallItem, Space
from memory.text.normalise import jaccard, stems
from sleep.clusters import contradict

MAX_EVENTS = 200
# Facts that replaced each other: a longer chain is cut, and a circle ends.
MAX_CHAIN = 20
CHAIN_SQL = """
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
MAX_COMPARED = 200
MIN_OVERLAP = 0.34
RELATED_FIELDS = ("text", "kind", "language", "chat")
MAX_EVIDENCE = 10
DAYS = 16
MAX_REPLIES = 5


@dataclass(frozen=True)
class Belief:
    """One wording and the time in which it held; no end means that it holds now."""

    fact: int
    text: str
    language: str
    start: datetime
    end: datetime | None = None
    confidence: float = 0.5
    quote: str = ""
    said_by: str = ""


def timeline(fact: Fact) -> list[Belief]:
    """Return what was believed of it over time, newest first."""
    with connection.cursor() as cursor:
        cursor.execute(CHAIN_SQL, {"pk": fact.pk, "deep": MAX_CHAIN, "most": MAX_CHAIN * 2})
        chain = [pk for (pk,) in cursor.fetchall()]
    # The filter on the space is a guard: a chain never leaves its space.
    events = apps.get_model("memory", "FactEvent").objects.filter(
        pgh_obj_id__in=chain, space=fact.space_id
    )
    return periods(events.order_by("pgh_obj_id", "pgh_id")[:MAX_EVENTS])


def periods(events: Iterable) -> list[Belief]:
    """Return the times in which a wording was live; expects the events of a fact in order."""
    closed: list[Belief] = []
    current: Belief | None = None
    for event in events:
        if current and current.fact != event.pgh_obj_id:
            closed.append(current)
            current = None
        if current and (event.status != "active" or event.text != current.text):
            closed.append(replace(current, end=_end(event, current)))
            current = None
        if event.status == "active" and current is None:
            start, words = _start(event, closed), (event.text, event.language)
            current = Belief(event.pgh_obj_id, *words, start, None, event.confidence)
            if not any(belief.quote == event.quote for belief in closed):
                current = replace(current, quote=event.quote, said_by=event.said_by)
    if current:
        closed.append(current)
    return sorted(closed, key=attrgetter("start"), reverse=True)


def _start(event: object, closed: list[Belief]) -> datetime:
    """Return since when it is true, if that was said; else when it was learned."""
    again = any(belief.fact == event.pgh_obj_id for belief in closed)
    return event.pgh_created_at if again else event.valid_from or event.created_at


def _end(event: object, belief: Belief) -> datetime:
    over = event.valid_to if event.status != "active" and event.valid_to else event.pgh_created_at
    return max(over, belief.start)


def related_facts(fact: Fact, *, space: Space) -> tuple[list[dict], list[dict]]:
    """Return the facts close to this one, and those that contradict it."""
    live = rows_in(space, Fact).live().only(*RELATED_FIELDS)
    same = live.filter(subject=fact.subject).exclude(pk=fact.pk)
    about = list(same.newest()[:MAX_COMPARED])
    scores = near_row(space, "fact", fact.pk, most=MAX_RELATED * 2)
    known = {other.pk: other for other in about}
    if missing := scores.keys() - known.keys():
        known |= live.in_bulk(missing)
    if not scores:
        scores = _scores_by_words(fact, about)
    against = [
        {"fact": other, "why": why}
        for other in known.values()
        if (why := contradict(fact.text, other.text, subject=fact.subject))
    ]
    opposed = {row["fact"].pk for row in against}
    near = [
        {"fact": known[pk], "alike": alike}
        for pk, alike in sorted(scores.items(), key=itemgetter(1), reverse=True)
        if pk in known and pk not in opposed
    ]
    return near[:MAX_RELATED], against[:MAX_RELATED]


def _scores_by_words(fact: Fact, others: list[Fact]) -> dict[int, float]:
    mine = stems(fact.text)
    scored = ((other.pk, jaccard(mine, stems(other.text))) for other in others)
    return {pk: alike for pk, alike in scored if alike >= MIN_OVERLAP}


def fact_panel(fact: Fact, *, space: Space, user: User, now: datetime) -> dict:
    near, against = related_facts(fact, space=space)
    beliefs = timeline(fact)
    spans = [(b.start, max(b.start, b.end or now), b.confidence) for b in reversed(beliefs)]
    is_revised = len(beliefs) > 1
    return {
        "fact": fact,
        "edges": edges(fact, space=space, user=user),
        "checked": fact.checked_at,
        "due": lasting.due_at(fact, space) if fact.status == Fact.Status.ACTIVE else None,
        "url": reverse("facts:detail", args=[space.slug, fact.pk]),
        "source": source(fact, space=space),
        "more_sources": _evidence(fact, space=space),
        "steps": history_thread.thread(fact, space=space, user=user),
        "beliefs": beliefs if is_revised else [],
        "river": charts.river(spans, width=370, height=44) if is_revised else [],
        "reached": uses_of(fact, space=space, now=now),
        "near": near,
        "against": against,
        "kept": rulings.keep_ruling(fact),
        "successor": fact.superseded_by,
        "episode_url": space_url("episodes:detail", space, pk=fact.episode_id)
        if fact.episode_id
        else "",
        "reminder": _reminder(fact),
    }


def _reminder(fact: Fact) -> str:
    """Say when its plan is announced in the chat; empty when it is not, or no more."""
    reminder = getattr(fact, "reminder", None)
    return plans.when_words(fact) if reminder and reminder.next_at else ""


def edges(fact: Fact, *, space: Space, user: User) -> list[dict]:
    """Return when its truth begins and ends, where known, and what moved each of them last."""
    changes = history.history(fact, limit=history_thread.MAX_STEPS)
    found = []
    for name, label in (("valid_from", _("True from")), ("valid_to", _("True until"))):
        for change in changes:
            if name in change.fields or (change.is_create and change.after[name]):
                found.append(
                    {
                        "label": label,
                        "at": getattr(fact, name),
                        "moved_at": change.at,
                        "sentence": history_thread.sentence(change, user),
                        "source": _moved_by(fact, change, name, space=space),
                    }
                )
                break
    return found


def _moved_by(fact: Fact, change: history.Change, name: str, *, space: Space) -> Source | None:
    if change.is_create:
        return source(fact, space=space)
    replaced = name == "valid_to" and "superseded_by_id" in change.fields
    new = rows_in(space, Fact).filter(pk=change.after["superseded_by_id"]).first()
    return source(new, space=space) if replaced and new else None


def source(fact: Fact, *, space: Space) -> Source | None:
    """Return the quote inside its message, where that is known; else the quote alone."""
    if fact.message_id:
        return sources.in_message(fact.quote, fact.message, space=space, lang=fact.language)
    if not fact.quote or (not fact.said_by and _is_evidence(fact)):
        return None
    where = str(fact.chat) if fact.chat_id else ""
    return Source(fact.quote, "", fact.language, fact.said_by, where, when=fact.created_at)


def _is_evidence(fact: Fact) -> bool:
    """Whether the evidence repeats the quote, with who said it."""
    return any(item.get("quote") == fact.quote for item in fact.evidence if isinstance(item, dict))


def _evidence(fact: Fact, *, space: Space) -> list[Source]:
    items = [item for item in fact.evidence if isinstance(item, dict)][:MAX_EVIDENCE]
    return [quote for quote in sources.of_evidence(space, items) if quote.text]


def uses_of(fact: Fact, *, space: Space, now: datetime) -> dict:
    """Return the replies that were given the fact: how many, the last ones, and how many a day.

    Beside them its price: in how many replies its words are, the tokens it took in prompts, and
    the dollars of the call that heard it (None when no model did).
    """
    items = RecallItem.objects.filter(fact=fact, injected=True)
    latest = list(items.select_related("recall").order_by("-pk")[:MAX_REPLIES])
    learned_for = _cost_of_hearing(fact)
    if not latest:
        return {"learned_for": learned_for}
    today = timezone.localdate(now)
    days: dict = {}
    if latest[0].recall.at >= day_start(today - timedelta(days=DAYS - 1)):
        days = charts.per_day(items, "recall__at", end=today, days=DAYS)
    total = items.aggregate(
        n=Count("pk"), tokens=Sum("tokens"), used=Count("pk", filter=Q(mark="used"))
    )
    return {
        "count": list_page.capped_number(total["n"]),
        "used": total["used"],
        "tokens": total["tokens"] or 0,
        "learned_for": learned_for,
        "uses": [
            {
                "query": item.recall.query,
                "rank": item.rank,
                "at": item.recall.at,
                "url": space_url("recall:receipt", space, pk=item.recall_id),
            }
            for item in latest
        ],
        "bars": charts.series(days, end=today, days=DAYS) if days else [],
    }


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
