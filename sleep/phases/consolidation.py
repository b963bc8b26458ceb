"""Consolidation: what episodes, or chats of one person, say together is believed or asked."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext_noop as N_

from memory import people
from memory.episodes import service as episodes
from memory.models import Entity, Episode, Fact, Message, Space, WorkingNote
from memory.models.content import encrypted_column
from memory.text.normalise import jaccard
from sleep import agreement, error_patterns, nights, offer_proposals, proposals
from sleep import claims as claim_reader
from sleep.budgeted_model import HEURISTICS
from sleep.claims import Habit, speaker_keys
from sleep.models import Claim, Night, Proposal, sentence
from sleep.phase import Outcome, Phase, PhaseContext

BATCH = 200
# A chat that has been quiet this long has finished its episode for the night's purposes.
QUIET = timedelta(minutes=30)
# A claim nobody repeats within this time is not waited for any longer.
PATIENCE = timedelta(days=90)
# What is read of a message; the rest of its row would take as long to load as all this.
READ = (
    "space", "episode", "chat__channel", "role", "author", "author_id", "text", "flags", "sent_at",
    "ingested_at",
)  # fmt: skip
# And of a fact, to be compared.
BELIEVED = (
    "space", "chat", "subject", "text", "valid_from", "last_seen_at", "said_by", "message",
)  # fmt: skip
# How alike two problems are that are one, and so many facts of a subject are compared.
SAME_PROBLEM, MAX_FACTS = 0.4, 400
# So many pairs of names a night.
MAX_PEOPLE = 5


def plan(night: Night, now: datetime) -> list:
    """Close what is over, weigh what is new, and read the most salient."""
    episodes.close_quiet(night.space, before=now - QUIET, by="night", now=now)
    waiting = list(_waiting(night))
    goals = [note.task for note in WorkingNote.objects.filter(space=night.space).exclude(task="")]
    for episode in waiting:
        weighed = claim_reader.weigh(
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
                [json.dumps(encrypted_column(episode, "salience_reasons")) for episode in weighed],
            ],
        )


def work(context: PhaseContext, item: dict) -> Outcome:
    if "read" in item:
        return _read(context, item["read"])
    outcome = _settle(context, item)
    offered = offer_proposals.propose_offers(context.space, now=context.now, night=context.night)
    outcome.count("offers", offered)
    people.fill(context.space)
    outcome.count("people_asked", ask_about_people(context.space, night=context.night))
    return outcome


def think(context: PhaseContext, item: dict) -> None:
    speaker_of = speaker_keys(context.space)
    batch = list(_episodes(item.get("read", [])))
    told = claim_reader.read(batch, speaker_of=speaker_of)
    for episode, messages in batch:
        claim_reader.claims_of(episode, told[episode.pk], complete=context.complete)
        claim_reader.habit_of(episode, messages, complete=context.complete)


def _waiting(night: Night) -> QuerySet[Episode]:
    # Discarded and flagged material never enters: it is not closed, or it has flags.
    # Nor does what a night wrote itself: it would feed on its own words.
    return (
        Episode.objects.filter(
            space=night.space, status=Episode.Status.CLOSED, consolidated_at=None, flags=[]
        )
        .exclude(source__in=["night", "summary"])
        .only("space", "title", "body", "tags", "feedback", "source", "started_at")
    )


def _read(context: PhaseContext, ids: list[int]) -> Outcome:
    outcome, batch = Outcome(), list(_episodes(ids))
    told = claim_reader.read(batch, speaker_of=speaker_keys(context.space))
    found: list[Claim] = []
    for episode, messages in batch:
        claims, kept_out = claim_reader.claims_of(
            episode, told[episode.pk], complete=context.complete
        )
        found += claims
        outcome.count("episodes")
        outcome.count("claims", len(claims))
        outcome.count("kept_out", kept_out)
        _keep_solution(context, episode, messages, outcome)
    Claim.objects.bulk_create(found, ignore_conflicts=True)
    Episode.objects.filter(pk__in=ids).update(consolidated_at=context.now)
    return outcome


def _episodes(ids: list[int]) -> Iterator[tuple[Episode, list[Message]]]:
    grouped: dict[int, list[Message]] = {}
    rows = Message.objects.filter(episode__in=ids).select_related("chat")
    for message in rows.only(*READ).order_by("sent_at", "pk"):
        grouped.setdefault(message.episode_id, []).append(message)
    for episode in Episode.objects.filter(pk__in=ids, status="closed").order_by("pk"):
        yield episode, grouped.get(episode.pk, [])


def _keep_solution(context: PhaseContext, episode: Episode, messages, outcome: Outcome) -> None:
    """Ask to keep what solved a problem: as a habit, and as a procedure when it helped again."""
    solved = claim_reader.habit_of(episode, messages, complete=context.complete)
    if not solved:
        return
    problem = solved.quotes[0]
    earlier = _solved_before(context, episode, problem)
    Claim.objects.bulk_create(
        [claim_reader.solution_claim(episode, problem, solved.response, at=context.now)],
        ignore_conflicts=True,
    )
    if earlier:
        outcome.count("procedures", bool(_propose_procedure(context, episode, solved, earlier)))
    # What is ours to mend, or how things are set up, is a lesson: the next phase asks about it.
    elif not error_patterns.lesson(claim_reader.unsuspected(episode, messages)):
        outcome.count("patterns_proposed", bool(_propose_pattern(context, episode, solved)))


def _solved_before(context: PhaseContext, episode: Episode, problem: str) -> list[Claim]:
    """Solutions of the same problem that earlier episodes of this chat tell."""
    told = Claim.objects.filter(
        space=context.space, chat=episode.chat_id, kind=Claim.SOLUTION
    ).exclude(episode=episode)
    told = told.exclude(episode__status=Episode.Status.DISCARDED).order_by("-said_at")[:200]
    mine = error_patterns.gist(problem)
    return [one for one in told if jaccard(mine, error_patterns.gist(one.quote)) >= SAME_PROBLEM]


def _propose_procedure(
    context: PhaseContext, episode: Episode, solved: Habit, earlier: list[Claim]
) -> Proposal | None:
    first = earlier[-1]
    title = error_patterns.when(first.quote)
    evidence = [
        {"episode": pk, "chat": episode.chat_id, "quote": quote}
        for pk, quote in [
            (episode.pk, solved.quotes[0]),
            *((c.episode_id, c.quote) for c in earlier),
        ]
    ]
    return proposals.propose(
        context.space,
        Proposal.Kind.ADD,
        key=proposals.key("procedure", episode.chat_id, first.pk),
        night=context.night,
        title=title,
        after={
            "text": f"{title}: {first.text}",
            "subject": "",
            "kind": Fact.Kind.PROCEDURE,
            "category": Fact.Category.OTHER,
            "chat": episode.chat_id,
            "confidence": 0.75,
            "quote": first.quote,
            "language": episode.language,
        },
        rationale=sentence(N_("The same solution helped %(n)s times."), {"n": len(evidence)}),
        evidence=evidence[:6],
        confidence=0.75,
        mode=solved.mode,
    )


def _propose_pattern(context: PhaseContext, episode: Episode, solved: Habit) -> Proposal | None:
    return proposals.propose(
        context.space,
        Proposal.Kind.ADD_PATTERN,
        key=proposals.key("pattern", episode.chat_id, solved.trigger.casefold()),
        night=context.night,
        title=solved.title,
        after={
            "trigger": solved.trigger,
            "response": solved.response,
            "confidence": solved.confidence,
            "chat": episode.chat_id,
            "learned_from": f"episode {episode.pk}",
        },
        rationale=sentence(N_("A problem was met and solved in this episode.")),
        evidence=[{"episode": episode.pk, "quote": quote} for quote in solved.quotes],
        confidence=solved.confidence,
        mode=solved.mode,
    )


def _settle(context: PhaseContext, item: dict) -> Outcome:
    outcome = Outcome({"waiting": item["waiting"]})
    claims = list(_open_claims(context))
    verdicts = agreement.judge_claims(claims, _known(context, claims))
    for verdict in verdicts:
        agreement.HANDLE[verdict.kind](context, verdict, outcome)
    for together in agreement.shared_by_chats(verdicts):
        agreement.propose_promotion(context, together, outcome)
    known, fresh = _facts_since(context)
    agreement.propose_across(context, agreement.compare_facts(known, fresh), outcome)
    return outcome


def _facts_since(context: PhaseContext) -> tuple[list[Fact], set[int]]:
    """What is believed about the subjects that were spoken of since the last night, and what of it
    is new."""
    since = nights.last_slept(context.space)
    live = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE)
    new = live.filter(created_at__gt=since) if since else live
    fresh = set(new.order_by("-pk").values_list("pk", flat=True)[:MAX_FACTS])
    subjects = live.filter(pk__in=fresh).values("subject")
    return _believed(context, live.filter(subject__in=subjects)), fresh


def _open_claims(context: PhaseContext) -> QuerySet[Claim]:
    return (
        Claim.objects.filter(
            space=context.space, settled_at=None, said_at__gte=context.now - PATIENCE
        )
        .exclude(kind=Claim.SOLUTION)
        .exclude(episode__status=Episode.Status.DISCARDED)
        .order_by("said_at", "pk")
    )


def _known(context: PhaseContext, claims: list[Claim]) -> list[Fact]:
    subjects = {one.subject for one in claims} | {""}
    live = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE)
    return _believed(context, live.filter(subject__in=subjects)) if claims else []


def _believed(context: PhaseContext, facts: QuerySet[Fact]) -> list[Fact]:
    rows = list(facts.order_by("pk").only(*BELIEVED))
    speaker_of = claim_reader.speakers_of_facts(context.space, rows)
    for fact in rows:
        fact.speaker = speaker_of.get(fact.pk, "")
    return rows


def ask_about_people(space: Space, *, night: Night | None = None) -> int:
    """Ask whether two names are one person; so many at a time, and never twice about a pair."""
    made = 0
    pairs = {
        proposals.key("same", one.pk, other.pk): (one, other) for one, other in people.alike(space)
    }
    asked = proposals.known_keys(space, pairs)
    for key, (one, other) in pairs.items():
        if key in asked:
            continue
        given: dict[str, Any] = {
            "key": key,
            "night": night,
            "title": _same_title(one, other),
            "rows": [one, other],
            "after": {"names": [one.name, other.name]},
            "rationale": sentence(N_("The same name, or a name and a relation, in two places.")),
            "evidence": [
                proposals.evidence_of(fact)
                for row in (one, other)
                for fact in people.facts_of([row.pk], "about", "named").live().newest()[:2]
            ],
        }
        made += proposals.propose(space, Proposal.Kind.SAME, **given) is not None
        if made >= MAX_PEOPLE:
            break
    return made


def _same_title(one: Entity, other: Entity) -> str:
    if one.name == other.name:
        return sentence(
            N_("Two are called %(name)s: are they the same person?"), {"name": one.name}
        )
    names = {"name": one.name, "other": other.name}
    return sentence(N_("Are %(name)s and %(other)s the same person?"), names)


PHASE = Phase("consolidation", plan, work, think)
