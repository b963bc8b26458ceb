"""Lineage: what every derived row rests on, and all that came of a row.

A node is a kind and a number, ("message", 7). Facts, patterns and proposals name what they rest on
in their evidence, episodes hold messages or sum up episodes, rules and preferences come of what a
message offered or a proposal asked. Nothing here is stored twice: the links are read from the rows.
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
    """All that came of some rows: `alone` rests on nothing else, `shared` on other things too."""

    roots: set[Node]
    alone: set[Node] = field(default_factory=set)
    shared: set[Node] = field(default_factory=set)
    # Of every row found, what it rests on.
    sources: dict[Node, set[Node]] = field(default_factory=dict)

    @property
    def gone(self) -> set[Node]:
        return self.roots | self.alone

    def ids(self, kind: str, *, shared: bool = False) -> set[int]:
        found = self.shared if shared else self.gone
        return {number for name, number in found if name == kind}


def descent(space: Space, roots: Iterable[Node]) -> Descent:
    """Find all that rests on these rows, step by step, until nothing more does."""
    found = Descent(set(roots))
    frontier = set(found.roots)
    while frontier:
        for node, sources in _resting_on(space, frontier):
            found.sources.setdefault(node, set()).update(sources)
        new = {
            node
            for node, sources in found.sources.items()
            if node not in found.gone and sources <= found.gone
        }
        found.alone |= new
        frontier = new
    found.shared = set(found.sources) - found.gone
    return found


def replies_reached(space: Space, nodes: Iterable[Node]) -> models.QuerySet:
    """The receipts of replies whose prompt held one of these rows."""
    given = models.Q(pk__in=[])
    for kind in ("fact", "episode", "message", "pattern"):
        ids = [number for name, number in nodes if name == kind]
        given |= models.Q(**{f"{kind}__in": ids})
    rows = RecallItem.objects.filter(given, recall__space=space, injected=True)
    return rows.exclude(recall__reply=None)


def sources_of(*rows: Any) -> dict[Node, set[Node]]:
    """What each of these facts, patterns or proposals rests on, as exactly as it is known."""
    said = _Quotes(entry for row in rows for entry in _entries(row))
    return {
        (row._meta.model_name, row.pk): {
            node for entry in _entries(row) for node in said.nodes(entry)
        }
        - {(row._meta.model_name, row.pk)}
        for row in rows
    }


class _Quotes:
    """Finds the message behind an entry that names only an episode and the words."""

    def __init__(self, entries: Iterable[dict]):
        wanted = {e["episode"] for e in entries if e.get("episode") and not e.get("message")}
        self.said: dict[int, list[tuple[int, str]]] = {}
        rows = Message.objects.filter(episode__in=wanted, role=Message.Role.USER)
        for episode, pk, words in rows.values_list("episode", "pk", "text"):
            self.said.setdefault(episode, []).append((pk, words))

    def nodes(self, entry: dict) -> list[Node]:
        for name in LINKS[:-1]:
            if isinstance(entry.get(name), int):
                return [(name, entry[name])]
        episode, quote = entry.get("episode"), str(entry.get("quote") or "").strip()
        if not isinstance(episode, int):
            return []
        said = self.said.get(episode, ())
        exact = [("message", pk) for pk, words in said if quote and quote in words]
        return exact or [("episode", episode)]


def _entries(row: Any) -> Iterator[dict]:
    evidence = [entry for entry in row.evidence if isinstance(entry, dict)]
    if isinstance(row, Fact) and (row.message_id or not evidence):
        yield {"message": row.message_id, "episode": row.episode_id, "quote": row.quote}
    targets = {one["id"] for one in getattr(row, "targets", ()) if one.get("type") == "fact"}
    # What a contradiction would replace is not what it rests on.
    is_change = getattr(row, "kind", "") == "supersede"
    yield from (e for e in evidence if not (is_change and e.get("fact") in targets))


def _resting_on(space: Space, nodes: set[Node]) -> Iterator[tuple[Node, set[Node]]]:
    """Yield the rows that rest on one of these directly, with all that each rests on."""
    ids = {kind: {n for name, n in nodes if name == kind} for kind, _number in nodes}
    messages, episodes = ids.get("message", set()), ids.get("episode", set())
    held = Message.objects.filter(space=space, pk__in=messages).exclude(episode=None)
    around = set(held.values_list("episode", flat=True))
    for node, sources in sources_of(*_evidenced(space, ids, around)).items():
        if sources & nodes:
            yield node, sources
    yield from _episodes(space, around, episodes)
    yield from _wishes(space, ids)


def _evidenced(space: Space, ids: dict[str, set[int]], around: set[int]) -> Iterator[Any]:
    """The facts, patterns and proposals whose evidence may name one of these rows."""
    named = {kind: ids.get(kind, set()) for kind in LINKS}
    named["episode"] = named["episode"] | around
    entries = [json.dumps([{kind: n}]) for kind, numbers in named.items() for n in sorted(numbers)]
    direct = models.Q(message__in=named["message"]) | models.Q(episode__in=named["episode"])
    for model in (Fact, Pattern, apps.get_model("sleep.Proposal")):
        rows = model._base_manager.filter(space=space)
        table = model._meta.db_table
        quoted = rows.extra(where=[f'"{table}"."evidence" @> ANY(%s::jsonb[])'], params=[entries])
        found = {row.pk: row for row in quoted}
        if model is Fact:
            found |= {row.pk: row for row in rows.filter(direct)}
        yield from found.values()


def _episodes(space: Space, around: set[int], parts: set[int]) -> Iterator[tuple[Node, set[Node]]]:
    """Episodes that hold these messages, or that sum up these episodes."""
    said = Message.objects.filter(episode__in=around, role=Message.Role.USER)
    for episode, pk in said.values_list("episode", "pk"):
        yield ("episode", episode), {("message", pk)}
    whole = Episode.objects.filter(space=space, summary_of__overlap=sorted(parts))
    for row in whole.exclude(source="split"):
        yield ("episode", row.pk), {("episode", part) for part in row.summary_of}


def _wishes(space: Space, ids: dict[str, set[int]]) -> Iterator[tuple[Node, set[Node]]]:
    """Rules and preferences: from what a message offered, or from an approved proposal."""
    said = Message.objects.filter(space=space, pk__in=ids.get("message", ()))
    for pk, journal in said.exclude(journal=[]).values_list("pk", "journal"):
        for line in journal:
            for kind in MADE_BY_PROPOSALS:
                if isinstance(line, dict) and isinstance(line.get(kind), int):
                    yield (kind, line[kind]), {("message", pk)}
    asked = apps.get_model("sleep.Proposal")._base_manager.filter(
        space=space, pk__in=ids.get("proposal", ())
    )
    applied = dict(asked.exclude(applied_as=None).values_list("applied_as", "pk"))
    for kind, model in MADE_BY_PROPOSALS.items():
        made = history.events_of(model).filter(pgh_context__in=list(applied), pgh_label="insert")
        for pk, context in made.values_list("pgh_obj_id", "pgh_context_id"):
            yield (kind, pk), {("proposal", applied[context])}


def fallen(space: Space, nodes: Iterable[Node]) -> set[Node]:
    """Those of the nodes that were discarded, or silenced with what rested on them."""
    some = set(nodes)
    ids = {kind: [n for name, n in some if name == kind] for kind in LINKS}
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

    What also rests on other things stays, without the part that fell; what a discarded fact had
    taken the place of is believed again.
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
        wished = Preference.objects.filter(space=space, pk__in=descended.ids("preference"))
        for preference in wished.filter(status="active"):
            preferences.drop(preference, by=by, now=now)
        for kind in ("fact", "episode"):
            _lean_on_the_rest(space, descended, kind, by=by, now=now)
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
    """Episodes that hold nothing else are discarded; from others the messages are split off."""
    whole = descended.ids("episode")
    for episode in Episode.objects.filter(space=space, pk__in=whole):
        episodes.discard(episode, by=by, now=now, reason="source discarded")
    said = _with_replies(space, descended.ids("message")).exclude(episode__in=whole)
    by_episode: dict[Episode | None, list[Message]] = {}
    for message in said.select_related("episode").order_by("sent_at", "pk"):
        by_episode.setdefault(message.episode, []).append(message)
    for holder, some in by_episode.items():
        part = grouping.split_off(holder, some) if holder else grouping.gather(some)
        _move_claims(holder, part, some)
        episodes.discard(part, by=by, now=now, reason="source discarded")


def _move_claims(whole: Episode | None, part: Episode, messages: list[Message]) -> None:
    """What a night read in these messages is no longer of the episode that stays."""
    claims = apps.get_model("sleep.Claim")._base_manager
    said = [message.text for message in messages]
    read = claims.filter(episode=whole).values_list("pk", "quote", "text") if whole else ()
    mine = [pk for pk, quote, words in read if any((quote or words) in one for one in said)]
    claims.filter(pk__in=mine).update(episode=part)


def _with_replies(space: Space, messages: set[int]) -> models.QuerySet:
    """These messages, Keno's answers to them, and answers that repeat what they were given."""
    said = Message.objects.filter(space=space)
    given = RecallItem.objects.filter(
        models.Q(message__in=messages) | models.Q(episode__messages__in=messages),
        recall__space=space, injected=True, recall__reply__isnull=False,
    )  # fmt: skip
    reached = said.filter(pk__in=given.values("recall__reply"))
    stems = {stem for m in said.filter(pk__in=messages) for stem in text.stems(m.text)}
    repeats = {m.pk for m in reached if len(stems & text.stems(m.text)) >= 2}
    answers = models.Q(reply_to__in=messages) & ~models.Q(role=Message.Role.USER)
    return said.filter(models.Q(pk__in=messages | repeats) | answers)


def _lean_on_the_rest(
    space: Space, descended: Descent, kind: str, *, by: str, now: datetime
) -> None:
    """Let what stays rest on its other sources only: its evidence, words and trust."""
    model: Any = Fact if kind == "fact" else Episode
    for row in model.objects.filter(space=space, pk__in=descended.ids(kind, shared=True)):
        left = descended.sources[kind, row.pk] - descended.gone
        values = _fact_values(row, descended) if kind == "fact" else _episode_values(row, left)
        if kind == "fact":
            fact_rows.change(row, by=by, why="source discarded", now=now, **values)
        elif not row.sticky:
            history_rows.change(row, by=by, why="source discarded", now=now, **values)


def _fact_values(fact: Fact, descended: Descent) -> dict:
    said = _Quotes(_entries(fact))
    kept = [e for e in _entries(fact) if not set(said.nodes(e)) <= descended.gone]
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
    parts = [number for kind, number in left if kind == "episode"]
    if not parts:
        made = grouping.describe(list(grouping.messages_of(episode)))
        return {name: made[name] for name in ("title", "body", "tags", "participants")}
    members = list(Episode.objects.filter(pk__in=parts).order_by("started_at", "pk"))
    body = grouping.make_summary([one.body or grouping.transcript(one) for one in members])
    made = grouping.joined_values(members, body=body)
    names = ("title", "body", "tags", "participants", "trust", "flags", "summary_of")
    return {name: made[name] for name in names}
