"""Consolidation: what several episodes say together becomes knowledge, or a proposal of it."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from memory.episodes import service as episodes
from memory.models import Episode, Fact, Message, WorkingNote
from sleep import agreement, proposals, salience
from sleep import claims as claim_reader
from sleep import verdicts as verdict_handlers
from sleep.agreement import ClaimView
from sleep.budgeted_model import HEURISTICS
from sleep.models import Claim, Night, Proposal
from sleep.phase import Outcome, Phase, PhaseContext

BATCH = 200
# A chat that has been quiet this long has finished its episode for the night's purposes.
QUIET = timedelta(minutes=30)
# A claim nobody repeats within this time is not waited for any longer.
PATIENCE = timedelta(days=90)


def plan(night: Night, now: datetime) -> list:
    """Close what is over, weigh what is new, and read the most salient."""
    episodes.close_quiet(night.space, before=now - QUIET, by="night", now=now)
    waiting = list(_waiting(night))
    goals = [note.task for note in WorkingNote.objects.filter(space=night.space).exclude(task="")]
    for episode in waiting:
        weighed = salience.weigh(
            f"{episode.title}\n{episode.body}",
            curated=claim_reader.is_curated(episode),
            feedback=episode.feedback,
            tags=episode.tags,
            goals=goals,
        )
        episode.salience, episode.salience_reasons = weighed.score, list(weighed.reasons)
    _store_salience(waiting)
    waiting.sort(key=lambda episode: (-episode.salience, episode.started_at, episode.pk))
    chosen = [episode.pk for episode in waiting[: night.space.options.episodes_per_night]]
    # With a model, one by one: a killed night asks again about one episode at most.
    size = BATCH if night.mode == HEURISTICS else 1
    reads = [{"read": chosen[i : i + size]} for i in range(0, len(chosen), size)]
    # When it was: so that undoing the night finds what it read and settled.
    return [*reads, {"settle": True, "waiting": len(waiting), "at": now.isoformat()}]


def _store_salience(weighed: list[Episode]) -> None:
    # One statement: bulk_update writes a CASE per row and takes seconds for ten thousand.
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_episode AS e SET salience = w.score, salience_reasons = w.reasons::jsonb"
            " FROM unnest(%s::bigint[], %s::float8[], %s::text[]) AS w (id, score, reasons)"
            " WHERE e.id = w.id",
            [
                [episode.pk for episode in weighed],
                [episode.salience for episode in weighed],
                [json.dumps(episode.salience_reasons) for episode in weighed],
            ],
        )


def work(context: PhaseContext, item: dict) -> Outcome:
    return _read(context, item["read"]) if "read" in item else _settle(context, item)


def think(context: PhaseContext, item: dict) -> None:
    for episode, messages in _episodes(item.get("read", [])):
        claim_reader.claims_of(episode, messages, complete=context.complete)
        claim_reader.habit_of(episode, messages, complete=context.complete)


def _waiting(night: Night) -> QuerySet[Episode]:
    # Discarded and flagged material never enters: it is not closed, or it has flags.
    # Nor does what a night wrote itself: it would feed on its own words.
    return (
        Episode.objects.filter(
            space=night.space, status=Episode.Status.CLOSED, consolidated_at=None, flags=[]
        )
        .exclude(source__in=["night", "summary"])
        .only("title", "body", "tags", "feedback", "source", "started_at")
    )


def _read(context: PhaseContext, ids: list[int]) -> Outcome:
    outcome = Outcome()
    for episode, messages in _episodes(ids):
        claims, kept_out = claim_reader.claims_of(episode, messages, complete=context.complete)
        Claim.objects.bulk_create(claims, ignore_conflicts=True)
        outcome.count("episodes")
        outcome.count("claims", len(claims))
        outcome.count("kept_out", kept_out)
        _propose_pattern(context, episode, messages, outcome)
    Episode.objects.filter(pk__in=ids).update(consolidated_at=context.now)
    return outcome


def _episodes(ids: list[int]) -> Iterator[tuple[Episode, list[Message]]]:
    grouped: dict[int, list[Message]] = {}
    for message in Message.objects.filter(episode__in=ids).order_by("sent_at", "pk"):
        grouped.setdefault(message.episode_id, []).append(message)
    for episode in Episode.objects.filter(pk__in=ids, status="closed").order_by("pk"):
        yield episode, grouped.get(episode.pk, [])


def _propose_pattern(context: PhaseContext, episode: Episode, messages, outcome: Outcome) -> None:
    solved = claim_reader.habit_of(episode, messages, complete=context.complete)
    if not solved:
        return
    made = proposals.propose(
        context.space,
        Proposal.Kind.ADD_PATTERN,
        key=proposals.key("pattern", episode.chat_id, solved.trigger.casefold()),
        night=context.night,
        title=solved.trigger,
        after={
            "trigger": solved.trigger,
            "response": solved.response,
            "confidence": solved.confidence,
            "chat": episode.chat_id,
            "learned_from": f"episode {episode.pk}",
        },
        rationale=_("A problem was met and solved in this episode."),
        evidence=[{"episode": episode.pk, "quote": quote} for quote in solved.quotes],
        confidence=solved.confidence,
        mode=solved.mode,
    )
    outcome.count("patterns_proposed", bool(made))


def _settle(context: PhaseContext, item: dict) -> Outcome:
    outcome = Outcome({"waiting": item["waiting"]})
    claims = [_said(claim) for claim in _open_claims(context)]
    verdicts = agreement.judge_claims(claims, _known(context, claims))
    for verdict in verdicts:
        verdict_handlers.HANDLE[verdict.kind](context, verdict, outcome)
    for together in agreement.shared_by_chats(verdicts):
        verdict_handlers.propose_promotion(context, together, outcome)
    return outcome


def _open_claims(context: PhaseContext) -> QuerySet[Claim]:
    return (
        Claim.objects.filter(
            space=context.space, settled_at=None, said_at__gte=context.now - PATIENCE
        )
        .exclude(episode__status=Episode.Status.DISCARDED)
        .order_by("said_at", "pk")
    )


def _known(context: PhaseContext, claims: list[ClaimView]) -> list[agreement.BelievedFact]:
    subjects = {one.subject for one in claims} | {""}
    rows = Fact.objects.filter(
        space=context.space, status=Fact.Status.ACTIVE, subject__in=subjects
    ).order_by("pk")
    return [
        agreement.BelievedFact(pk, chat, subject, text, start or seen)
        for pk, chat, subject, text, start, seen in rows.values_list(
            "pk", "chat_id", "subject", "text", "valid_from", "last_seen_at"
        )
    ]


def _said(claim: Claim) -> ClaimView:
    return ClaimView(
        claim=claim.pk,
        episode=claim.episode_id,
        chat=claim.chat_id,
        subject=claim.subject,
        text=claim.text,
        quote=claim.quote,
        at=claim.said_at,
        by=claim.said_by,
        language=claim.language,
        kind=claim.kind,
        category=claim.category,
        curated=claim.curated,
        mode=claim.mode,
    )


PHASE = Phase("consolidation", plan, work, think)
