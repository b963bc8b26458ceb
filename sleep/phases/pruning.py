"""Pruning: archive what is stale, weak, old or twice there, reversibly and inside the loss fuse."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_noop as N_

from memory import erasure, patterns, working
from memory.episodes import grouping
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.guards.screening import ORDERS
from memory.models import Episode, Fact, Pattern, WorkingNote
from memory.operations import reset
from memory.text.normalise import short
from sleep import budgeted_model, clusters, nights, proposals
from sleep.budgeted_model import HEURISTICS
from sleep.budgeted_model import DuplicateVerdict as Verdict
from sleep.models import Night, Proposal, sentence
from sleep.phase import Fuse, Outcome, Phase, PhaseContext

BATCH = 100
WEAK = 0.3
# Episodes of one chat this alike within these days are one; a greeting every morning is not.
SAME_EPISODE_THRESHOLD = 0.9
NEAR_DAYS = timedelta(days=7)
MIN_GIST = 5
MAX_COMPARED = 2000


def plan(night: Night, now: datetime) -> list:
    last = nights.last_slept(night.space)
    duplicates = {"duplicates_since": last.isoformat() if last else ""}
    if night.held:
        return [duplicates, {"records": True}]
    spare = partial(nights.exclude_taken_back, space=night.space, now=now)
    notes = spare(_stale_notes(night, now), "stale note")
    live = Pattern.objects.filter(space=night.space, status=Pattern.Status.ACTIVE)
    weak = live.filter(confidence__lt=WEAK, use_count=0).order_by("pk")
    old = list(spare(_old_episodes(night, now), "old episodes").values_list("pk", flat=True))
    # An archived note lives on in an episode; still, not all of them in one night.
    fuse = Fuse("notes", WorkingNote.objects.filter(space=night.space).count())
    ids = {
        "notes": list(notes.values_list("pk", flat=True)[: fuse.limit]),
        "patterns": list(spare(weak, "weak pattern").values_list("pk", flat=True)),
    }
    return [
        *({name: pks} for name, pks in ids.items() if pks),
        *_episode_items(night, old),
        {"duplicate_episodes": True},
        duplicates,
        {"trash": True},
        {"records": True},
    ]


def work(context: PhaseContext, item: dict) -> Outcome:
    (name,) = item
    return WORK[name](context, item[name])


def _stale_notes(night: Night, now: datetime) -> QuerySet[WorkingNote]:
    stale = now - timedelta(days=night.space.options.working_stale_days)
    notes = WorkingNote.objects.filter(space=night.space, updated_at__lt=stale)
    return notes.exclude(task="", notes="", context=[], pending=[]).order_by("pk")


def _old_episodes(night: Night, now: datetime) -> QuerySet[Episode]:
    old = now - timedelta(days=night.space.options.retention_days)
    return (
        Episode.objects.filter(space=night.space, status=Episode.Status.CLOSED, ended_at__lt=old)
        .exclude(consolidated_at=None)
        .exclude(source="summary")
        .order_by("started_at", "pk")
    )


def _episode_items(night: Night, old: list[int]) -> list[dict]:
    if not old:  # as in most nights: then nothing is counted
        return []
    fuse = Fuse("episodes", Episode.objects.filter(space=night.space).remembered().count())
    if not fuse.allows(len(old)):
        return [{"too_many_episodes": old[:1000]}]
    return [{"episodes": old[i : i + BATCH]} for i in range(0, len(old), BATCH)]


def _archive_notes(context: PhaseContext, ids: list[int]) -> Outcome:
    """Turn each stale note into an episode; its chat starts with an empty note."""
    outcome = Outcome()
    for note in WorkingNote.objects.filter(pk__in=ids).select_related("chat").order_by("pk"):
        with context.record_change("stale note", f"{note.chat}: {note}"):
            episodes.write(
                context.space,
                chat=note.chat,
                title=(note.task or note.notes)[:80],
                body=working.as_text(note),
                by="night",
                started_at=note.updated_at,
                tags=["working-note"],
                source="night",
                # What is still to do reads like an order; it was judged when it was noted.
                ignore=ORDERS,
            )
            working.clear(note.chat, by="night", now=context.now)
        outcome.count("notes")
    return outcome


def _archive_patterns(context: PhaseContext, ids: list[int]) -> Outcome:
    weak = list(Pattern.objects.filter(pk__in=ids, status=Pattern.Status.ACTIVE).order_by("pk"))
    total = Pattern.objects.filter(space=context.space, status=Pattern.Status.ACTIVE).count()
    fuse = Fuse("patterns", total)
    if not fuse.allows(len(weak)):
        return _ask_instead(context, fuse, Proposal.Kind.RETIRE_PATTERN, weak, patterns=0)
    for pattern in weak:
        with context.record_change("weak pattern", f"{pattern.trigger} → {pattern.response}"):
            patterns.unlearn(pattern, by="night", now=context.now)
    return Outcome({"patterns": len(weak)})


def _archive_episodes(context: PhaseContext, ids: list[int]) -> Outcome:
    outcome, groups = Outcome(), defaultdict(list)
    old = Episode.objects.filter(pk__in=ids, status=Episode.Status.CLOSED)
    for episode in old.order_by("started_at", "pk"):
        groups[episode.chat_id, episode.started_at.strftime("%Y-%m")].append(episode)
    for (chat, month), group in groups.items():
        titles = "; ".join(short(str(episode), 60) for episode in group[:3])
        more = f" +{len(group) - 3}" if len(group) > 3 else ""
        with context.record_change("old episodes", f"{titles}{more}" or month):
            _summarise(context, chat, month, group)
        outcome.count("episodes", len(group))
    return outcome


def _summarise(context: PhaseContext, chat: int | None, month: str, old: list[Episode]) -> None:
    """Summarise the episodes of a chat and month; a summary that is there grows."""
    year, number = map(int, month.split("-"))
    earlier = Episode.objects.filter(
        space=context.space,
        chat=chat,
        source="summary",
        status=Episode.Status.CLOSED,
        # What a person worded stays as it is.
        sticky=False,
        started_at__year=year,
        started_at__month=number,
    )
    grouping.summarise(old, by="night", into=earlier.first(), now=context.now)


def _merge_episodes(context: PhaseContext, item: object) -> Outcome:
    """Merge what was written down twice within some days; the episode keeps every word."""
    outcome = Outcome()
    since = context.now - NEAR_DAYS
    recent = Episode.objects.filter(
        space=context.space, status=Episode.Status.CLOSED, sticky=False, ended_at__gt=since
    ).exclude(source__in=["summary", "split", "merge"])
    recent = nights.exclude_taken_back(
        recent.exclude(body="").order_by("started_at", "pk"),
        "duplicate episodes",
        space=context.space,
        now=context.now,
    )
    rows = list(recent[:MAX_COMPARED])
    texts, scopes = [row.body for row in rows], [row.chat_id for row in rows]
    for positions in clusters.group_same(texts, scopes, alike=SAME_EPISODE_THRESHOLD):
        group = [rows[i] for i in positions]
        if len(group) > 1 and len(clusters.gist(group[0].body)) >= MIN_GIST:
            with context.record_change("duplicate episodes", group[0].title):
                grouping.merge(group, by="night", now=context.now)
            outcome.count("episodes_merged", len(group))
    return outcome


def _too_many_episodes(context: PhaseContext, ids: list[int]) -> Outcome:
    old = list(Episode.objects.filter(pk__in=ids).order_by("pk"))
    total = Episode.objects.filter(space=context.space).remembered().count()
    return _ask_instead(context, Fuse("episodes", total), Proposal.Kind.RETIRE, old)


def _ask_instead(context: PhaseContext, fuse: Fuse, kind: str, rows: list, **counts) -> Outcome:
    """Archive nothing, because it is too much at once, and ask a person."""
    text = N_("More than the loss fuse allows: %(limit)s of %(total)s.")
    proposal = context.propose(
        kind,
        key=proposals.key("fuse", fuse.tier, *[row.pk for row in rows]),
        title=sentence(N_("Archive %(n)s at once: %(tier)s"), {"n": len(rows), "tier": fuse.tier}),
        rows=rows,
        rationale=sentence(text, {"limit": fuse.limit, "total": fuse.total}),
        confidence=0.4,
        flags=["loss fuse"],
    )
    return Outcome(counts | {"fuse_blown": 1, "proposed": int(proposal is not None)})


def think(context: PhaseContext, item: dict) -> None:
    if "duplicates_since" in item:
        list(_duplicates(context, item["duplicates_since"]))


def _duplicates(context: PhaseContext, since: str) -> Iterator[tuple[list[Fact], Verdict | None]]:
    """Yield facts that say nearly the same and are new in part, with the model's verdict."""
    start = datetime.fromisoformat(since) if since else None
    for group in clusters.duplicate_groups(context.space, since=start):
        texts, ask = [fact.text for fact in group], context.complete
        yield group, budgeted_model.ask_duplicates(texts, ask=ask) if ask else None


def _propose_merges(context: PhaseContext, since: str) -> Outcome:
    outcome = Outcome({"merges_proposed": 0})
    for group, verdict in _duplicates(context, since):
        if verdict and not verdict.duplicate:
            outcome.count("kept_apart")
            continue
        outcome.count("merges_proposed", bool(_propose_merge(context, group, verdict)))
    return outcome


def _propose_merge(
    context: PhaseContext, group: list[Fact], verdict: Verdict | None
) -> Proposal | None:
    keep = max(group, key=lambda fact: _worth(fact, group))
    return context.propose(
        Proposal.Kind.MERGE,
        key=proposals.key("merge", *sorted(fact.pk for fact in group)),
        title=keep.text,
        rows=group,
        after={"text": (verdict.merged if verdict else "") or keep.text, "keep": keep.pk},
        rationale=sentence(N_("%(n)s facts say nearly the same."), {"n": len(group)}),
        evidence=[{"fact": fact.pk, "quote": fact.quote} for fact in group if fact.quote],
        confidence=0.85 if verdict else 0.75,
        mode=context.complete.model if verdict else HEURISTICS,
    )


def _worth(fact: Fact, group: list[Fact]) -> tuple:
    """Rank which fact stays: a person's choice, then the wording that leaves nothing out."""
    gist = clusters.gist(fact.text)
    full = all(clusters.gist(other.text) <= gist for other in group)
    return fact.pinned, fact.sticky, full, fact.use_count, fact.confidence, -fact.pk


def _empty_trash(context: PhaseContext, item: object) -> Outcome:
    """Erase what has lain in the trash long enough: the one thing a night deletes."""
    old_facts = list(facts.expired(context.space, now=context.now))
    old_episodes = list(episodes.expired(context.space, now=context.now).select_related("space"))
    for row in (*old_facts, *old_episodes):
        _erase(row)
    counts = {
        "facts_deleted": len(old_facts),
        "episodes_deleted": len(old_episodes),
        "patterns_deleted": patterns.expire(context.space, now=context.now),
    }
    return Outcome(counts)


def _erase(row: Fact | Episode) -> None:
    """Erase it with the words it rests on, unless the same is believed again: then those stay."""
    if isinstance(row, Fact) and _is_believed_again(row):
        facts.purge(row, by="system")
    elif type(row).objects.filter(pk=row.pk).exists():  # one may have taken another with it
        erasure.purge(row, by="system")


def _is_believed_again(fact: Fact) -> bool:
    same = Q(said_key=fact.said_key) | Q(text__icontains=fact.text)
    same |= Q(text__icontains=fact.quote) if fact.quote else Q()
    return Fact.objects.in_space(fact.space).live().filter(same).exists()


def _drop_records(context: PhaseContext, item: object) -> Outcome:
    """Delete receipts and logs past their days; never more at once than the fuse allows."""
    outcome = Outcome()
    for records in reset.expired(context.space, now=context.now):
        fuse = Fuse(records.name, records.everything.count())
        gone = reset.delete(records, most=fuse.limit)
        outcome.count(f"{records.name}_deleted", gone)
        if gone and (left := records.old.count()):
            text = N_("%(n)s %(what)s past their days are left for the next nights: the limit.")
            outcome.lines.append(sentence(text, {"n": left, "what": records.name}))
    return outcome


WORK = {
    "notes": _archive_notes,
    "patterns": _archive_patterns,
    "episodes": _archive_episodes,
    "too_many_episodes": _too_many_episodes,
    "duplicate_episodes": _merge_episodes,
    "duplicates_since": _propose_merges,
    "trash": _empty_trash,
    "records": _drop_records,
}
PHASE = Phase("pruning", plan, work, think)
