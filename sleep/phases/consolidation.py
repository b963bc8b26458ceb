"""Consolidation: what episodes, or chats of one person, say together is believed or asked."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Prefetch, QuerySet
from django.utils.translation import gettext_noop as N_

from memory import people
from memory.episodes import service as episodes
from memory.models import Chat, Entity, Episode, Fact, Message, Space, WorkingNote
from memory.models.content import encrypted_column
from memory.text.normalise import jaccard
from sleep import agreement, error_patterns, nights, offer_proposals, proposals
from sleep import claims as claim_reader
from sleep.budgeted_model import HEURISTICS
from sleep.claims import Habit, speaker_keys
from sleep.models import Claim, Night, Proposal, sentence
from sleep.phase import Outcome, Phase, PhaseContext

BATCH, WEIGHED_AT_ONCE = 200, 2000
# A chat that has been quiet this long has finished its episode for the night's purposes.
QUIET = timedelta(minutes=30)
# A claim that is not repeated within this time is dropped.
PATIENCE = timedelta(days=90)
# What is read of a message and of an episode; the rest would take as long to load as all this.
READ = (
    "space", "episode", "chat", "role", "author", "author_id", "text", "flags", "sent_at",
    "ingested_at",
)  # fmt: skip
EPISODE_READ = ("space", "chat", "body", "language", "participants", "source", "started_at")
# And of a fact, to be compared.
BELIEVED = (
    "space", "chat", "subject", "text", "valid_from", "last_seen_at", "said_by", "message",
)  # fmt: skip
# How alike two descriptions of one problem are.
SAME_PROBLEM_THRESHOLD = 0.4
# How many new facts a night compares with the rest.
MAX_FACTS = 400
# How many pairs of names a night asks about.
MAX_PEOPLE = 5


def plan(night: Night, now: datetime) -> list:
    """Close what is over, weigh what is new, and list the most salient to be read."""
    episodes.close_quiet(night.space, before=now - QUIET, by="night", now=now)
    ranks = _weigh_waiting(night)
    chosen = [pk for *_rank, pk in sorted(ranks)[: night.space.options.episodes_per_night]]
    # With a model, one by one: a killed night asks again about one episode at most.
    size = BATCH if night.mode == HEURISTICS else 1
    reads = [{"read": chosen[i : i + size]} for i in range(0, len(chosen), size)]
    # The time lets undoing the night find what it read and settled.
    return [*reads, {"settle": True, "waiting": len(ranks), "at": now.isoformat()}]


def _weigh_waiting(night: Night) -> list[tuple[float, datetime, int]]:
    """Store how salient each episode is; return their ranks, which begin with the most salient."""
    goals = [note.task for note in WorkingNote.objects.filter(space=night.space).exclude(task="")]
    ranks: list[tuple[float, datetime, int]] = []
    waiting = _waiting(night).order_by("pk")
    # In batches: what waits may be years of an import.
    while batch := list(waiting.filter(pk__gt=ranks[-1][2] if ranks else 0)[:WEIGHED_AT_ONCE]):
        for episode in batch:
            _weigh(episode, goals)
        _store_salience(batch)
        ranks += [(-episode.salience, episode.started_at, episode.pk) for episode in batch]
    return ranks


def _weigh(episode: Episode, goals: list[str]) -> None:
    weighed = claim_reader.weigh(
        f"{episode.title}\n{episode.body}",
        curated=claim_reader.is_curated(episode),
        feedback=episode.feedback,
        tags=episode.tags,
        goals=goals,
    )
    episode.salience, episode.salience_reasons = weighed.score, list(weighed.reasons)


def _store_salience(weighed: list[Episode]) -> None:
    # One statement: bulk_update writes a CASE per row and takes seconds for ten thousand. What
    # waits for weeks weighs the same every night.
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_episode AS e SET salience = w.score, salience_reasons = w.reasons::jsonb"
            " FROM unnest(%s::bigint[], %s::float8[], %s::text[]) AS w (id, score, reasons)"
            " WHERE e.id = w.id"
            " AND (e.salience, e.salience_reasons) IS DISTINCT FROM (w.score, w.reasons::jsonb)",
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
    texts = claim_reader.read(batch, speaker_of=speaker_of)
    for episode, messages in batch:
        claim_reader.claims_of(episode, texts[episode.pk], complete=context.complete)
        text = claim_reader.unsuspected(episode, messages)
        claim_reader.habit_of(text, complete=context.complete)


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
    texts = claim_reader.read(batch, speaker_of=speaker_keys(context.space))
    all_claims: list[Claim] = []
    for episode, messages in batch:
        text = texts[episode.pk]
        claims, kept_out = claim_reader.claims_of(episode, text, complete=context.complete)
        all_claims += claims
        outcome.count("episodes")
        outcome.count("claims", len(claims))
        outcome.count("kept_out", kept_out)
        _keep_solution(context, episode, messages, outcome)
    Claim.objects.bulk_create(all_claims, ignore_conflicts=True)
    Episode.objects.filter(pk__in=ids).update(consolidated_at=context.now)
    return outcome


def _episodes(ids: list[int]) -> Iterator[tuple[Episode, list[Message]]]:
    grouped: dict[int, list[Message]] = {}
    rows = Message.objects.filter(episode__in=ids).only(*READ).order_by("sent_at", "pk")
    # The messages are of a few chats: joined, each would bring a chat of its own.
    for message in rows.prefetch_related(Prefetch("chat", Chat.objects.only("space", "channel"))):
        grouped.setdefault(message.episode_id, []).append(message)
    closed = Episode.objects.filter(pk__in=ids, status=Episode.Status.CLOSED)
    for episode in closed.only(*EPISODE_READ).order_by("pk"):
        yield episode, grouped.get(episode.pk, [])


def _keep_solution(context: PhaseContext, episode: Episode, messages, outcome: Outcome) -> None:
    """Propose what solved a problem: as a habit, and as a procedure when it helped again."""
    text = claim_reader.unsuspected(episode, messages)
    if not error_patterns.is_error(text):
        context.untroubled.add(episode.pk)
        return
    solved = claim_reader.habit_of(text, complete=context.complete)
    if not solved:
        return
    problem = solved.quotes[0]
    earlier = _solved_before(context, episode, problem)
    claim = claim_reader.solution_claim(episode, problem, solved.response, at=context.now)
    Claim.objects.bulk_create([claim], ignore_conflicts=True)
    if earlier:
        outcome.count("procedures", _propose_procedure(context, episode, solved, earlier))
    # What is ours to mend, or how things are set up, is a lesson: the next phase asks about it.
    elif not error_patterns.lesson(text):
        outcome.count("patterns_proposed", bool(_propose_pattern(context, episode, solved)))


def _solved_before(context: PhaseContext, episode: Episode, problem: str) -> list[Claim]:
    claims = Claim.objects.filter(space=context.space, chat=episode.chat_id, kind=Claim.SOLUTION)
    claims = claims.exclude(episode=episode).exclude(episode__status=Episode.Status.DISCARDED)
    gist, like = error_patterns.gist, SAME_PROBLEM_THRESHOLD
    recent = claims.order_by("-said_at")[:200]
    return [claim for claim in recent if jaccard(gist(problem), gist(claim.quote)) >= like]


def _propose_procedure(
    context: PhaseContext, episode: Episode, solved: Habit, earlier: list[Claim]
) -> bool:
    first = earlier[-1]
    title = error_patterns.when(first.quote)
    quotes = [(episode.pk, solved.quotes[0]), *((c.episode_id, c.quote) for c in earlier)]
    evidence = [{"episode": pk, "chat": episode.chat_id, "quote": quote} for pk, quote in quotes]
    return context.propose_learned(
        Fact.Kind.PROCEDURE,
        f"{title}: {first.text}",
        episode=episode,
        key=proposals.key("procedure", episode.chat_id, first.pk),
        title=title,
        quote=first.quote,
        rationale=sentence(N_("The same solution helped %(n)s times."), {"n": len(evidence)}),
        evidence=evidence[:6],
        confidence=0.75,
        mode=solved.mode,
    )


def _propose_pattern(context: PhaseContext, episode: Episode, solved: Habit) -> Proposal | None:
    return context.propose(
        Proposal.Kind.ADD_PATTERN,
        key=proposals.key("pattern", episode.chat_id, solved.trigger.casefold()),
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
    facts = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE)
    facts = facts.filter(subject__in={claim.subject for claim in claims} | {""})
    verdicts = agreement.judge_claims(claims, _believed(context, facts) if claims else [])
    agreement.apply_verdicts(context, verdicts, outcome)
    for together in agreement.shared_by_chats(verdicts):
        agreement.propose_promotion(context, together, outcome)
    known, fresh = _facts_since(context)
    agreement.propose_across(context, agreement.compare_facts(known, fresh), outcome)
    return outcome


def _facts_since(context: PhaseContext) -> tuple[list[Fact], set[int]]:
    """Return the facts about subjects with news since the last night, and the ids of new ones."""
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


def _believed(context: PhaseContext, facts: QuerySet[Fact]) -> list[Fact]:
    rows = list(facts.order_by("pk").only(*BELIEVED))
    speaker_of = claim_reader.speakers_of_facts(context.space, rows)
    for fact in rows:
        fact.speaker = speaker_of.get(fact.pk, "")
    return rows


def ask_about_people(space: Space, *, night: Night | None = None) -> int:
    """Ask whether two names are one person: at most MAX_PEOPLE times, once about each pair."""
    made = 0
    pairs = {proposals.key("same", *(row.pk for row in pair)): pair for pair in people.alike(space)}
    known = proposals.known_keys(space, pairs)
    for key, pair in pairs.items():
        if key in known:
            continue
        proposal = proposals.propose(
            space,
            Proposal.Kind.SAME,
            key=key,
            night=night,
            title=_same_title(*pair),
            rows=pair,
            after={"names": [row.name for row in pair]},
            rationale=sentence(N_("The same name, or a name and a relation, in two places.")),
            evidence=[
                proposals.evidence_of(fact)
                for row in pair
                for fact in people.facts_of([row.pk], "about", "named").live().newest()[:2]
            ],
        )
        made += proposal is not None
        if made >= MAX_PEOPLE:
            break
    return made


def _same_title(first: Entity, second: Entity) -> str:
    values = {"name": first.name, "other": second.name}
    if first.name == second.name:
        return sentence(N_("Two are called %(name)s: are they the same person?"), values)
    return sentence(N_("Are %(name)s and %(other)s the same person?"), values)


PHASE = Phase("consolidation", plan, work, think)
