"""Judge what claims say together (believe, propose, contradict or wait) and apply the verdicts.

The first half does not use the database. A person is the account that spoke, never a display name:
two people called Ana in one chat do not confirm each other. What a chat said stays there; a night
only proposes to share it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory import rulings
from memory.facts import service as facts
from memory.models import Chat, Fact, Ruling
from memory.text.normalise import fold, jaccard, said_key
from sleep import clusters, nights, proposals
from sleep.models import Claim, Proposal, sentence
from sleep.phase import Outcome, PhaseContext

EPISODES_TO_BELIEVE = 3
EPISODES_TO_PROPOSE = 2
# What a claim and the fact that it becomes have in common.
FACT_FIELDS = ("text", "subject", "kind", "category", "quote", "language", "said_by")

Kind = Literal[
    "known", "reinforce", "believe", "propose", "supersede", "older", "contested", "wait"
]


@dataclass(frozen=True)
class Verdict:
    kind: Kind
    claims: tuple[Claim, ...]
    fact: Fact | None = None
    against: tuple[Claim, ...] = ()

    @property
    def episodes(self) -> int:
        return len({claim.episode_id for claim in self.claims})

    @property
    def best(self) -> Claim:
        return best_claim(self.claims)


def best_claim(claims: Iterable[Claim]) -> Claim:
    """Return the wording that most episodes share; the earliest of equals."""
    votes = Counter(said_key(claim.text) for claim in claims)
    return min(claims, key=lambda claim: (-votes[said_key(claim.text)], claim.said_at, claim.pk))


def _person(statement: Claim | Fact) -> str:
    """Return who speaks of themselves; anybody may say the rest."""
    own = fold(statement.subject) == fold(statement.said_by)
    return statement.speaker if own else ""


def _held_since(fact: Fact) -> datetime:
    return fact.valid_from or fact.last_seen_at


def judge_claims(claims: Sequence[Claim], believed: Sequence[Fact]) -> list[Verdict]:
    """Return a verdict for every group of claims that say the same in one chat, in order."""
    scopes = [(claim.chat_id, fold(claim.subject), _person(claim)) for claim in claims]
    groups = [
        tuple(claims[i] for i in group)
        for group in clusters.group_same([claim.text for claim in claims], scopes)
    ]
    beliefs = Index(believed)
    rivals = _rivals(groups)
    return [
        _verdict(group, beliefs.near(best_claim(group)), [groups[j] for j in rivals[i]])
        for i, group in enumerate(groups)
    ]


def shared_by_chats(verdicts: Iterable[Verdict]) -> list[tuple[Claim, ...]]:
    """Return what one person says alike in several chats and nobody believes yet."""
    kinds = ("believe", "propose", "wait")
    private = [v for v in verdicts if v.best.chat_id and v.best.speaker and v.kind in kinds]
    best = [v.best for v in private]
    scopes = [(fold(claim.subject), claim.speaker) for claim in best]
    groups = clusters.group_same([claim.text for claim in best], scopes)
    return [
        tuple(claim for i in group for claim in private[i].claims)
        for group in groups
        if len({best[i].chat_id for i in group}) >= EPISODES_TO_PROPOSE
    ]


def _verdict(group: tuple[Claim, ...], near: list[Fact], rivals: list[tuple]) -> Verdict:
    best = best_claim(group)
    near = [fact for fact in near if fact.chat_id in (None, best.chat_id)]
    latest = max(claim.said_at for claim in group)
    for fact in near:
        if _contradicts(fact, best):
            kind: Kind = "supersede" if latest > _held_since(fact) else "older"
            return Verdict(kind, group, fact=fact)
    episodes = len({claim.episode_id for claim in group})
    for fact in near:
        if jaccard(clusters.gist(fact.text), clusters.gist(best.text)) >= clusters.SAME_THRESHOLD:
            kind = "reinforce" if episodes >= EPISODES_TO_BELIEVE else "known"
            return Verdict(kind, group, fact=fact)
    if rivals:
        against = tuple(claim for rival in rivals for claim in rival)
        newest = all(latest >= claim.said_at for claim in against)
        return Verdict("contested" if newest else "older", group, against=against)
    if episodes >= EPISODES_TO_BELIEVE or any(claim.curated for claim in group):
        return Verdict("believe", group)
    return Verdict("propose" if episodes >= EPISODES_TO_PROPOSE else "wait", group)


def _contradicts(fact: Fact, claim: Claim) -> bool:
    if not _same_person(fact, claim):
        return False
    if fold(fact.subject) != fold(claim.subject) and fact.subject and claim.subject:
        return False
    subject = claim.subject or fact.subject
    return bool(clusters.contradict(fact.text, claim.text, subject=subject))


def _same_person(first: Claim | Fact, second: Claim | Fact) -> bool:
    return len({_person(first), _person(second)} - {""}) < 2


def _same_subject(first: Claim | Fact, second: Claim | Fact) -> bool:
    return fold(first.subject) == fold(second.subject) and _same_person(first, second)


def _rivals(groups: Sequence[tuple[Claim, ...]]) -> list[set[int]]:
    """Return, for every group, the positions of groups of its chat that say the contrary."""
    best = [best_claim(group) for group in groups]
    index = Index(best)
    rivals: list[set[int]] = [set() for _ in groups]
    for i, claim in enumerate(best):
        for j in index.positions_near(claim):
            other = best[j]
            if j <= i or claim.chat_id != other.chat_id or not _same_subject(claim, other):
                continue
            if clusters.contradict(claim.text, other.text, subject=claim.subject):
                rivals[i].add(j)
                rivals[j].add(i)
    return rivals


class FactPair(NamedTuple):
    """Two facts about one thing: the same in two chats of one person, or a change of mind."""

    old: Fact
    new: Fact
    why: str = ""


def compare_facts(facts: Sequence[Fact], fresh: set[int]) -> list[FactPair]:
    """Return what the fresh facts repeat in another chat, or contradict anywhere they may.

    They meet in their chat, in what the whole space knows, and in other chats of the same person.
    """
    index = Index(facts)
    pairs: dict[frozenset[int], FactPair] = {}
    for fact in (fact for fact in facts if fact.pk in fresh):
        for other in index.near(fact):
            ids = frozenset((fact.pk, other.pk))
            if len(ids) == 2 and ids not in pairs and _may_meet(fact, other):
                old, new = sorted((fact, other), key=lambda row: (_held_since(row), row.pk))
                if pair := _compare_pair(old, new):
                    pairs[ids] = pair
    return list(pairs.values())


def _may_meet(first: Fact, second: Fact) -> bool:
    if not _same_subject(first, second):
        return False
    chats = {first.chat_id, second.chat_id}
    same_speaker = bool(first.speaker) and first.speaker == second.speaker
    return len(chats) == 1 or None in chats or same_speaker


def _compare_pair(old: Fact, new: Fact) -> FactPair | None:
    if why := clusters.contradict(old.text, new.text, subject=new.subject):
        return FactPair(old, new, why)
    likeness = jaccard(clusters.gist(old.text), clusters.gist(new.text))
    apart = None not in (old.chat_id, new.chat_id) and old.chat_id != new.chat_id
    same = apart and likeness >= clusters.SAME_THRESHOLD and not clusters.differ(old.text, new.text)
    return FactPair(old, new) if same else None


class Index:
    """Find claims or facts that could say the same as, or the contrary of, another."""

    def __init__(self, rows: Sequence[Any]):
        self.rows = rows
        self.by_stem: dict[str, list[int]] = defaultdict(list)
        self.by_frame: dict[str, list[int]] = defaultdict(list)
        for i, row in enumerate(rows):
            for word in clusters.gist(row.text):
                self.by_stem[word].append(i)
            for bucket in clusters.buckets(row.text, row.subject):
                self.by_frame[bucket].append(i)

    def positions_near(self, row: Claim | Fact) -> list[int]:
        """Return the positions of rows that share a frame or one of the rarer stems."""
        buckets = clusters.buckets(row.text, row.subject)
        positions = {i for bucket in buckets for i in self.by_frame.get(bucket, ())}
        stems = [word for word in clusters.gist(row.text) if word in self.by_stem]
        rare = sorted(stems, key=lambda word: (len(self.by_stem[word]), word))
        for word in rare[: len(rare) // 2 + 1]:
            positions.update(self.by_stem[word][-clusters.COMMON_STEM :])
        return sorted(positions)

    def near(self, row: Claim | Fact) -> list[Any]:
        return [self.rows[i] for i in self.positions_near(row)]


# From here on: what a night does with each verdict.


@dataclass
class Settlement:
    """What the verdicts of a night are held against, loaded once, and what is written after all."""

    context: PhaseContext
    outcome: Outcome
    # What was proposed before, by key, and what became of it.
    proposed: dict[str, str]
    # What nights believed and a person took back.
    undone: set[str]
    rulings: list[Ruling]
    chats: dict[int, Chat]
    settled: list[int] = field(default_factory=list)
    believed: list[str] = field(default_factory=list)

    def close(self, verdict: Verdict) -> None:
        self.settled += [claim.pk for claim in verdict.claims]

    def ask(self, verdict: Verdict, **fields: Any) -> bool:
        fields |= {"key": _key(verdict), "old_keys": self.proposed, "among": self.rulings}
        return _ask(self.context, verdict.best, **fields)


def apply_verdicts(context: PhaseContext, verdicts: Sequence[Verdict], outcome: Outcome) -> None:
    """Believe, propose or pass over what the claims say, and close those that are settled."""
    settlement = _begin_settlement(context, verdicts, outcome)
    for verdict in verdicts:
        HANDLE[verdict.kind](settlement, verdict)
    Claim.objects.filter(pk__in=settlement.settled).update(settled_at=context.now)
    reason = _("Three episodes agree: applied.")
    proposals.expire_overtaken(settlement.believed, space=context.space, reason=reason)


def _begin_settlement(
    context: PhaseContext, verdicts: Sequence[Verdict], outcome: Outcome
) -> Settlement:
    space = context.space
    chats = {verdict.best.chat_id for verdict in verdicts if verdict.kind == "believe"} - {None}
    texts = {verdict.fact.text if verdict.fact else verdict.best.text for verdict in verdicts}
    return Settlement(
        context,
        outcome,
        proposed=proposals.known_keys(space, map(_key, verdicts)),
        undone=nights.undone_texts(space, texts),
        rulings=rulings.forbidding_rulings(space),
        chats=space.chats.in_bulk(chats),
    )


def _evidence(claims: Iterable[Claim]) -> list[dict]:
    """Return where each word came from: one entry per episode, dated and quoted."""
    return [
        {
            "episode": claim.episode_id,
            "chat": claim.chat_id,
            "quote": claim.quote,
            "by": claim.said_by,
            "at": claim.said_at.isoformat(),
            "language": claim.language,
        }
        for claim in {claim.episode_id: claim for claim in claims}.values()
    ]


def _ask(
    context: PhaseContext,
    best: Claim,
    *,
    kind: str = Proposal.Kind.ADD,
    sure: float = 0.7,
    shared: bool = False,
    **fields: Any,
) -> bool:
    """Propose what a claim says, as a fact of confidence `sure`; tell whether that is new."""
    after = {name: getattr(best, name) for name in FACT_FIELDS}
    after |= {"confidence": sure, "chat": None if shared else best.chat_id}
    fields |= {"after": after, "title": best.text, "mode": best.mode}
    return context.propose(kind, **fields) is not None


def _key(verdict: Verdict) -> str:
    """Return the key of what the verdict would propose."""
    best = verdict.best
    if verdict.kind == "supersede":
        return proposals.key("supersede", verdict.fact and verdict.fact.pk, best.text.casefold())
    return proposals.key("add", best.chat_id, best.subject.casefold(), best.text.casefold())


def _believe(settlement: Settlement, verdict: Verdict) -> None:
    """Believe what three episodes, or a curated one, say: applied, logged, reversible."""
    context, best, key = settlement.context, verdict.best, _key(verdict)
    if settlement.proposed.get(key) == Proposal.Status.REJECTED:
        return _pass_over("rejected_before", settlement, verdict)
    if best.text in settlement.undone:
        undone = sentence(N_("A night believed this and it was undone."))
        return _propose(settlement, verdict, why=undone)
    if context.night.held:
        waits = sentence(N_("A golden question is red, so this waits."))
        return _propose(settlement, verdict, why=waits)
    why = "curated" if best.curated else "agreement"
    evidence = _evidence(verdict.claims)
    with context.record_change(why, best.text, evidence=evidence, mode=best.mode):
        done = facts.remember(
            context.space,
            by="night",
            chat=settlement.chats[best.chat_id] if best.chat_id else None,
            confidence=min(0.95, 0.6 + 0.1 * verdict.episodes),
            why=why,
            now=context.now,
            mode=best.mode,
            episode_id=best.episode_id,
            evidence=evidence,
            among=settlement.rulings,
            **{name: getattr(best, name) for name in FACT_FIELDS},
        )
    settlement.outcome.count("facts_" + done.outcome)
    settlement.believed.append(key)
    return settlement.close(verdict)


def _propose(settlement: Settlement, verdict: Verdict, *, why: str = "") -> None:
    made = settlement.ask(
        verdict,
        rationale=why or sentence(N_("%(n)s episodes say it."), {"n": verdict.episodes}),
        evidence=_evidence(verdict.claims),
        confidence=min(0.95, 0.5 + 0.1 * verdict.episodes),
    )
    settlement.outcome.count("facts_proposed", made)


def _whole_fact(verdict: Verdict) -> Fact:
    """Load the fact with all its fields; only a few were compared."""
    assert verdict.fact
    return Fact.objects.get(pk=verdict.fact.pk)


def _supersede(settlement: Settlement, verdict: Verdict) -> None:
    """Propose the change: a contradiction is never settled without a person."""
    settlement.close(verdict)
    if _key(verdict) in settlement.proposed:
        return settlement.outcome.count("contradictions", 0)
    old = _whole_fact(verdict)
    made = settlement.ask(
        verdict,
        kind=Proposal.Kind.SUPERSEDE,
        rows=[old],
        rationale=sentence(N_("This contradicts what Keno believes.")),
        evidence=[proposals.evidence_of(old), *_evidence(verdict.claims)],
        confidence=min(0.95, 0.55 + 0.1 * verdict.episodes),
        flags=["contradiction"],
    )
    return settlement.outcome.count("contradictions", made)


def _contested(settlement: Settlement, verdict: Verdict) -> None:
    made = settlement.ask(
        verdict,
        sure=0.6,
        rationale=sentence(N_("Episodes disagree; this is what was said last.")),
        evidence=_evidence([*verdict.claims, *verdict.against]),
        confidence=0.5,
        flags=["contradiction"],
    )
    settlement.outcome.count("contradictions", made)
    settlement.close(verdict)


def _reinforce(settlement: Settlement, verdict: Verdict) -> None:
    fact, context = _whole_fact(verdict), settlement.context
    if context.night.held or fact.text in settlement.undone:
        return _pass_over("known", settlement, verdict)
    with context.record_change("agreement", fact.text, evidence=_evidence(verdict.claims)):
        facts.remember(
            context.space,
            text=fact.text,
            by="night",
            chat=fact.chat,
            subject=fact.subject,
            confidence=min(0.95, fact.confidence + 0.1),
            why="agreement",
            now=context.now,
        )
    settlement.outcome.count("facts_confirmed")
    return settlement.close(verdict)


def _pass_over(name: str, settlement: Settlement, verdict: Verdict) -> None:
    settlement.outcome.count(name)
    settlement.close(verdict)


def propose_promotion(context: PhaseContext, claims: tuple[Claim, ...], outcome: Outcome) -> None:
    """Propose to tell the whole space what one person says in several chats."""
    best = best_claim(claims)
    made = _ask(
        context,
        best,
        shared=True,
        key=proposals.key("share", best.subject.casefold(), best.text.casefold()),
        rationale=sentence(N_("Several chats say it; approving lets the whole space know.")),
        evidence=_evidence(claims),
        confidence=0.6,
        flags=["leaves its chat"],
    )
    outcome.count("promotions_proposed", made)


def propose_across(context: PhaseContext, pairs: Iterable[FactPair], outcome: Outcome) -> None:
    """Propose what facts of several chats of one person say together."""
    rows = Fact.objects.in_bulk({fact.pk for pair in pairs for fact in (pair.old, pair.new)})
    for pair in pairs:
        old, new = rows[pair.old.pk], rows[pair.new.pk]
        if pair.why and not (old.pinned or old.sticky):
            made = proposals.ask_about_change(old, new, pair.why, night=context.night)
            outcome.count("contradictions", bool(made))
    alike = [(pair.old.pk, pair.new.pk) for pair in pairs if not pair.why]
    ids = sorted({pk for pair in alike for pk in pair})
    positions = [(ids.index(a), ids.index(b)) for a, b in alike]
    for group in clusters.connected_groups(len(ids), positions):
        made = _propose_sharing(context, [rows[ids[i]] for i in group])
        outcome.count("promotions_proposed", bool(made))


def _propose_sharing(context: PhaseContext, rows: list[Fact]) -> Proposal | None:
    shared = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE, chat=None)
    if shared.filter(said_key__in=[fact.said_key for fact in rows]).exists():
        return None
    return context.propose(
        Proposal.Kind.PROMOTE,
        key=proposals.key("promote", fold(rows[0].subject), rows[0].said_key),
        title=rows[0].text,
        rows=rows,
        rationale=sentence(
            N_("%(who)s said it in %(n)s chats; approving lets the whole space know."),
            {"who": rows[0].said_by, "n": len({fact.chat_id for fact in rows})},
        ),
        evidence=[proposals.evidence_of(fact) for fact in rows],
        confidence=0.6,
        flags=["leaves its chat"],
    )


HANDLE: dict[str, Callable[[Settlement, Verdict], None]] = {
    "believe": _believe,
    "propose": _propose,
    "supersede": _supersede,
    "contested": _contested,
    "reinforce": _reinforce,
    "known": partial(_pass_over, "known"),
    "older": partial(_pass_over, "older"),
    "wait": lambda settlement, verdict: settlement.outcome.count("said_once"),
}
