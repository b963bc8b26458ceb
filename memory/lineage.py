"""Lineage: what a derived row rests on, and what came of a row.

A node is a kind and a number, ("message", 7). Facts, patterns and proposals name their sources in
their evidence. Episodes hold messages or sum up episodes. Rules and preferences come from offers in
messages or from proposals. The links are read from the rows and not stored again.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.apps import apps
from django.db import models, transaction
from django.utils import timezone

from memory import patterns
from memory.episodes import grouping
from memory.episodes import service as episodes
from memory.facts import rows as fact_rows
from memory.facts import service as facts
from memory.history import actors
from memory.history import changes as history
from memory.history import rows as history_rows
from memory.history.changes import ChangeResult
from memory.identity import preferences, rules
from memory.models import (
    Episode,
    Fact,
    Message,
    Pattern,
    Preference,
    RecallItem,
    Rule,
    SilencedMessage,
    Space,
)
from memory.text import normalise as text

Node = tuple[str, int]
# From the most exact link of an evidence entry to the least.
LINKS = ("message", "fact", "pattern", "episode")
MADE_BY_PROPOSALS: dict[str, Any] = {"rule": Rule, "preference": Preference}


@dataclass
class Descent:
    """What came of some rows: `alone` rests on nothing else, `shared` on other things too."""

    roots: set[Node]
    alone: set[Node] = field(default_factory=set)
    shared: set[Node] = field(default_factory=set)
    # What every row found rests on.
    sources: dict[Node, set[Node]] = field(default_factory=dict)

    @property
    def gone(self) -> set[Node]:
        return self.roots | self.alone

    def ids(self, kind: str, *, shared: bool = False) -> set[int]:
        nodes = self.shared if shared else self.gone
        return {number for name, number in nodes if name == kind}


def descent(space: Space, roots: Iterable[Node]) -> Descent:
    """Find all that rests on these rows, step by step, until nothing more does."""
    descended = Descent(set(roots))
    frontier = set(descended.roots)
    while frontier:
        for node, sources in _resting_on(space, frontier):
            descended.sources.setdefault(node, set()).update(sources)
        new = {
            node
            for node, sources in descended.sources.items()
            if node not in descended.gone and sources <= descended.gone
        }
        descended.alone |= new
        frontier = new
    descended.shared = set(descended.sources) - descended.gone
    return descended


def replies_reached(space: Space, nodes: Iterable[Node]) -> models.QuerySet:
    """Return the receipts of replies whose prompt held one of these rows."""
    in_prompt = models.Q(pk__in=[])
    for kind in ("fact", "episode", "message", "pattern"):
        ids = [number for name, number in nodes if name == kind]
        in_prompt |= models.Q(**{f"{kind}__in": ids})
    rows = RecallItem.objects.filter(in_prompt, recall__space=space, injected=True)
    return rows.exclude(recall__reply=None)


def sources_of(*rows: Any) -> dict[Node, set[Node]]:
    """Return what each of these facts, patterns or proposals rests on."""
    quotes = _Quotes(entry for row in rows for entry in _entries(row))
    sources = {}
    for row in rows:
        node = (row._meta.model_name, row.pk)
        sources[node] = {n for entry in _entries(row) for n in quotes.nodes(entry)} - {node}
    return sources


class _Quotes:
    """Finds the message behind an entry that names only an episode and the words."""

    def __init__(self, entries: Iterable[dict]):
        named = {e["episode"] for e in entries if e.get("episode") and not e.get("message")}
        self.messages: dict[int, list[tuple[int, str]]] = {}
        rows = Message.objects.filter(episode__in=named, role=Message.Role.USER)
        for episode, pk, body in rows.values_list("episode", "pk", "text"):
            self.messages.setdefault(episode, []).append((pk, body))

    def nodes(self, entry: dict) -> list[Node]:
        for name in LINKS[:-1]:
            if isinstance(entry.get(name), int):
                return [(name, entry[name])]
        episode, quote = entry.get("episode"), str(entry.get("quote") or "").strip()
        if not isinstance(episode, int):
            return []
        messages = self.messages.get(episode, ())
        exact = [("message", pk) for pk, body in messages if quote and quote in body]
        return exact or [("episode", episode)]


def _entries(row: Any) -> Iterator[dict]:
    evidence = [entry for entry in row.evidence if isinstance(entry, dict)]
    if isinstance(row, Fact) and (row.message_id or not evidence):
        yield {"message": row.message_id, "episode": row.episode_id, "quote": row.quote}
    targets = {t["id"] for t in getattr(row, "targets", ()) if t.get("type") == "fact"}
    # What a contradiction would replace is not what it rests on.
    is_change = getattr(row, "kind", "") == "supersede"
    yield from (e for e in evidence if not (is_change and e.get("fact") in targets))


def _resting_on(space: Space, nodes: set[Node]) -> Iterator[tuple[Node, set[Node]]]:
    """Yield the rows that rest on one of these directly, with all that each rests on."""
    ids = {kind: {n for name, n in nodes if name == kind} for kind, _number in nodes}
    messages, episodes = ids.get("message", set()), ids.get("episode", set())
    held = Message.objects.filter(space=space, pk__in=messages).exclude(episode=None)
    around = set(held.values_list("episode", flat=True))
    for node, sources in sources_of(*_rows_with_evidence(space, ids, around)).items():
        if sources & nodes:
            yield node, sources
    yield from _episodes(space, around, episodes)
    yield from _wishes(space, ids)


def _rows_with_evidence(space: Space, ids: dict[str, set[int]], around: set[int]) -> Iterator[Any]:
    """Yield the facts, patterns and proposals whose evidence may name one of these rows."""
    named = {kind: ids.get(kind, set()) for kind in LINKS}
    named["episode"] = named["episode"] | around
    entries = [json.dumps([{kind: n}]) for kind, numbers in named.items() for n in sorted(numbers)]
    direct = models.Q(message__in=named["message"]) | models.Q(episode__in=named["episode"])
    for model in (Fact, Pattern, apps.get_model("sleep.Proposal")):
        rows = model._base_manager.filter(space=space)
        table = model._meta.db_table
        quoted = rows.extra(where=[f'"{table}"."evidence" @> ANY(%s::jsonb[])'], params=[entries])
        by_pk = {row.pk: row for row in quoted}
        if model is Fact:
            by_pk |= {row.pk: row for row in rows.filter(direct)}
        yield from by_pk.values()


def _episodes(space: Space, around: set[int], parts: set[int]) -> Iterator[tuple[Node, set[Node]]]:
    """Yield the episodes that hold these messages, or that sum up these episodes."""
    messages = Message.objects.filter(episode__in=around, role=Message.Role.USER)
    for episode, pk in messages.values_list("episode", "pk"):
        yield ("episode", episode), {("message", pk)}
    whole = Episode.objects.filter(space=space, summary_of__overlap=sorted(parts))
    for row in whole.exclude(source="split"):
        yield ("episode", row.pk), {("episode", part) for part in row.summary_of}


def _wishes(space: Space, ids: dict[str, set[int]]) -> Iterator[tuple[Node, set[Node]]]:
    """Yield the rules and preferences that came from these messages or approved proposals."""
    messages = Message.objects.filter(space=space, pk__in=ids.get("message", ()))
    for pk, journal in messages.exclude(journal=[]).values_list("pk", "journal"):
        for line in journal:
            for kind in MADE_BY_PROPOSALS:
                if isinstance(line, dict) and isinstance(line.get(kind), int):
                    yield (kind, line[kind]), {("message", pk)}
    proposals = apps.get_model("sleep.Proposal")._base_manager.filter(space=space)
    proposals = proposals.filter(pk__in=ids.get("proposal", ())).exclude(applied_as=None)
    applied = dict(proposals.values_list("applied_as", "pk"))
    for kind, model in MADE_BY_PROPOSALS.items():
        inserts = history.events_of(model).filter(pgh_context__in=applied, pgh_label="insert")
        for pk, context in inserts.values_list("pgh_obj_id", "pgh_context_id"):
            yield (kind, pk), {("proposal", applied[context])}


def fallen(space: Space, nodes: Iterable[Node]) -> set[Node]:
    """Return those of the nodes that were discarded, or silenced with what rested on them."""
    nodes = set(nodes)
    ids = {kind: [n for name, n in nodes if name == kind] for kind in LINKS}
    silent = models.Q(episode__status=Episode.Status.DISCARDED)
    silent |= models.Q(pk__in=SilencedMessage.objects.values("message"))
    gone: dict[str, models.QuerySet] = {
        "message": Message.objects.filter(silent, pk__in=ids["message"]),
        "fact": Fact.objects.in_trash().filter(pk__in=ids["fact"]),
        "pattern": Pattern.objects.filter(pk__in=ids["pattern"], status="trashed"),
        "episode": Episode.objects.discarded().filter(pk__in=ids["episode"]),
    }
    return {
        (kind, pk)
        for kind, rows in gone.items()
        if ids[kind]
        for pk in rows.filter(space=space).values_list("pk", flat=True)
    }


@transaction.atomic
def discard(
    space: Space, roots: Iterable[Node], *, by: str, now: datetime | None = None
) -> ChangeResult:
    """Discard these rows with all that rests on them alone; one undo brings everything back.

    What also rests on other things stays, without the discarded part. A fact that a discarded one
    had superseded is believed again.
    """
    actors.require_person(by)
    now = now or timezone.now()
    descended = descent(space, roots)
    with history.change(by=by, why="discard with all that came of it") as context:
        _discard_messages(space, descended, by=by, now=now)
        _discard_facts(space, descended, by=by, now=now)
        for pattern in Pattern.objects.filter(space=space, pk__in=descended.ids("pattern")):
            patterns.discard(pattern, by=by, now=now)
        for rule in Rule.objects.filter(space=space, pk__in=descended.ids("rule"), status="active"):
            rules.retire(space, slug=rule.slug, by=by, now=now)
        wishes = Preference.objects.filter(space=space, pk__in=descended.ids("preference"))
        for preference in wishes.filter(status="active"):
            preferences.drop(preference, by=by, now=now)
        for kind in ("fact", "episode"):
            _keep_other_sources(space, descended, kind, by=by, now=now)
    return ChangeResult(None, context.id, outcome="discarded", count=len(descended.gone))


def _discard_facts(space: Space, descended: Descent, *, by: str, now: datetime) -> None:
    gone = descended.ids("fact")
    for fact in Fact.objects.filter(space=space, pk__in=gone):
        facts.discard(fact, by=by, now=now)
    overruled = Fact.objects.filter(space=space, superseded_by__in=gone).exclude(pk__in=gone)
    for fact in overruled.filter(status=Fact.Status.SUPERSEDED):
        if fact_rows.same_live_fact(fact, chat=fact.chat) is None:
            facts.restore(fact, by=by, now=now)


def _discard_messages(space: Space, descended: Descent, *, by: str, now: datetime) -> None:
    """Discard episodes that hold nothing else; from others split the messages off."""
    whole = descended.ids("episode")
    for episode in Episode.objects.filter(space=space, pk__in=whole):
        episodes.discard(episode, by=by, now=now, reason="source discarded")
    rows = _with_replies(space, descended.ids("message")).exclude(episode__in=whole)
    by_episode: dict[Episode | None, list[Message]] = {}
    for message in rows.select_related("episode").order_by("sent_at", "pk"):
        by_episode.setdefault(message.episode, []).append(message)
    for holder, messages in by_episode.items():
        part = grouping.split_off(holder, messages) if holder else grouping.gather(messages)
        _move_claims(holder, part, messages)
        episodes.discard(part, by=by, now=now, reason="source discarded")


def _move_claims(whole: Episode | None, part: Episode, messages: list[Message]) -> None:
    """Move what a night read in these messages out of the episode that stays."""
    claims = apps.get_model("sleep.Claim")._base_manager
    rows = claims.filter(episode=whole).values_list("pk", "quote", "text") if whole else ()
    texts = [message.text for message in messages]
    mine = [pk for pk, quote, claim in rows if any((quote or claim) in text for text in texts)]
    claims.filter(pk__in=mine).update(episode=part)


def _with_replies(space: Space, messages: set[int]) -> models.QuerySet:
    """Return these messages, Keno's answers to them, and replies that repeat them."""
    rows = Message.objects.filter(space=space)
    recalled = models.Q(message__in=messages) | models.Q(episode__messages__in=messages)
    items = RecallItem.objects.filter(recalled, recall__space=space, injected=True)
    reached = rows.filter(pk__in=items.exclude(recall__reply=None).values("recall__reply"))
    stems = {stem for m in rows.filter(pk__in=messages) for stem in text.stems(m.text)}
    repeats = {m.pk for m in reached if len(stems & text.stems(m.text)) >= 2}
    answers = models.Q(reply_to__in=messages) & ~models.Q(role=Message.Role.USER)
    return rows.filter(models.Q(pk__in=messages | repeats) | answers)


def _keep_other_sources(
    space: Space, descended: Descent, kind: str, *, by: str, now: datetime
) -> None:
    """Let the rows that stay rest on their other sources only: evidence, words and trust."""
    model: Any = Fact if kind == "fact" else Episode
    for row in model.objects.filter(space=space, pk__in=descended.ids(kind, shared=True)):
        how: dict[str, Any] = {"by": by, "why": "source discarded", "now": now}
        if kind == "fact":
            fact_rows.change(row, **how, **_fact_values(row, descended))
        elif not row.sticky:
            left = descended.sources[kind, row.pk] - descended.gone
            history_rows.change(row, **how, **_episode_values(row, left))


def _fact_values(fact: Fact, descended: Descent) -> dict:
    quotes = _Quotes(_entries(fact))
    kept = [e for e in _entries(fact) if not set(quotes.nodes(e)) <= descended.gone]
    first = kept[0]
    return {
        "evidence": [e for e in fact.evidence if e in kept],
        "message_id": first.get("message"),
        "episode_id": first.get("episode"),
        "quote": str(first.get("quote") or ""),
        "trust": fact_rows.least_trust(kept, usual=fact_rows.TRUST.get(fact.written_by, 0.5)),
        "times_seen": max(1, fact.times_seen - 1),
    }


def _episode_values(episode: Episode, left: set[Node]) -> dict:
    names = ["title", "body", "tags", "participants"]
    parts = [number for kind, number in left if kind == "episode"]
    if not parts:
        values = grouping.describe(list(grouping.messages_of(episode)))
        return {name: values[name] for name in names}
    members = list(Episode.objects.filter(pk__in=parts).order_by("started_at", "pk"))
    body = grouping.make_summary([part.body or grouping.transcript(part) for part in members])
    values = grouping.joined_values(members, body=body)
    return {name: values[name] for name in [*names, "trust", "flags", "summary_of"]}
