"""What claims say together: believed, proposed, contradicted or left to wait; and what follows.

The first half asks the database nothing. A person is the account that spoke, never a display name:
two people called Ana in one chat do not confirm each other. What a chat said stays there; a night
only proposes to share it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory.facts import service as facts
from memory.models import Fact
from memory.text.normalise import fold, jaccard, said_key
from sleep import clusters, nights, proposals
from sleep.models import Claim, Proposal, sentence
from sleep.phase import Outcome, PhaseContext

EPISODES_TO_BELIEVE = 3
EPISODES_TO_PROPOSE = 2
SAME_THRESHOLD = 0.7


Kind = Literal[
    "known", "reinforce", "believe", "propose", "supersede", "older", "contested", "wait"
]


@dataclass(frozen=True)
class Verdict:
    kind: Kind
    said: tuple[Claim, ...]
    fact: Fact | None = None
    against: tuple[Claim, ...] = ()

    @property
    def episodes(self) -> int:
        return len({one.episode_id for one in self.said})

    @property
    def best(self) -> Claim:
        """The wording most episodes share; the earliest of equals."""
        votes = Counter(said_key(one.text) for one in self.said)
        return min(self.said, key=lambda one: (-votes[said_key(one.text)], one.said_at, one.pk))


def _person(one: Claim | Fact) -> str:
    """Whom it is about when they speak of themselves; anybody may say the rest."""
    return one.speaker if fold(one.subject) == fold(one.said_by) else ""


def _held_since(fact: Fact) -> datetime:
    return fact.valid_from or fact.last_seen_at


def judge_claims(claims: Sequence[Claim], believed: Sequence[Fact]) -> list[Verdict]:
    """One verdict for every group of claims that say the same in one chat, in order."""
    groups = [
        tuple(claims[i] for i in group)
        for group in clusters.group_same(
            [one.text for one in claims],
            [(one.chat_id, fold(one.subject), _person(one)) for one in claims],
        )
    ]
    beliefs = Index((one.text, one.subject) for one in believed)
    rivals = _rivals(groups)
    return [_verdict(i, group, groups, believed, beliefs, rivals) for i, group in enumerate(groups)]


def shared_by_chats(verdicts: Iterable[Verdict]) -> list[tuple[Claim, ...]]:
    """What one person says alike in several chats and nobody believes yet: to be shared."""
    kinds = ("believe", "propose", "wait")
    private = [v for v in verdicts if v.best.chat_id and v.best.speaker and v.kind in kinds]
    best = [v.best for v in private]
    scopes = [(fold(one.subject), one.speaker) for one in best]
    groups = clusters.group_same([one.text for one in best], scopes)
    return [
        tuple(one for i in group for one in private[i].said)
        for group in groups
        if len({best[i].chat_id for i in group}) >= EPISODES_TO_PROPOSE
    ]


def _verdict(i, group, groups, believed, beliefs: "Index", rivals) -> Verdict:
    best = Verdict("wait", group).best
    near = [believed[k] for k in beliefs.near(best.text, best.subject)]
    near = [fact for fact in near if fact.chat_id in (None, best.chat_id)]
    latest = max(one.said_at for one in group)
    for fact in near:
        if _excludes(fact, best):
            kind: Kind = "supersede" if latest > _held_since(fact) else "older"
            return Verdict(kind, group, fact=fact)
    episodes = len({one.episode_id for one in group})
    for fact in near:
        if jaccard(clusters.gist(fact.text), clusters.gist(best.text)) >= SAME_THRESHOLD:
            return Verdict(
                "reinforce" if episodes >= EPISODES_TO_BELIEVE else "known", group, fact=fact
            )
    if rivals[i]:
        against = tuple(one for j in rivals[i] for one in groups[j])
        newest = all(latest >= max(one.said_at for one in groups[j]) for j in rivals[i])
        return Verdict("contested" if newest else "older", group, against=against)
    if episodes >= EPISODES_TO_BELIEVE or any(one.curated for one in group):
        return Verdict("believe", group)
    return Verdict("propose" if episodes >= EPISODES_TO_PROPOSE else "wait", group)


def _excludes(fact: Fact, claim: Claim) -> str:
    if not _same_person(fact, claim):
        return ""
    if fold(fact.subject) != fold(claim.subject) and fact.subject and claim.subject:
        return ""
    return clusters.contradict(fact.text, claim.text, subject=claim.subject or fact.subject)


def _same_person(one: Claim | Fact, other: Claim | Fact) -> bool:
    return len({_person(one), _person(other)} - {""}) < 2


def _same_subject(one: Claim | Fact, other: Claim | Fact) -> bool:
    return fold(one.subject) == fold(other.subject) and _same_person(one, other)


def _rivals(groups: Sequence[tuple[Claim, ...]]) -> list[set[int]]:
    """For every group, the groups of its chat that say the contrary."""
    best = [Verdict("wait", group).best for group in groups]
    index = Index((one.text, one.subject) for one in best)
    rivals: list[set[int]] = [set() for _ in groups]
    for i, one in enumerate(best):
        for j in index.near(one.text, one.subject):
            other = best[j]
            if j <= i or one.chat_id != other.chat_id or not _same_subject(one, other):
                continue
            if clusters.contradict(one.text, other.text, subject=one.subject):
                rivals[i].add(j)
                rivals[j].add(i)
    return rivals


@dataclass(frozen=True)
class Across:
    """Two facts about one thing: the same in two chats of one person, or a change of mind."""

    old: Fact
    new: Fact
    why: str = ""


def compare_facts(known: Sequence[Fact], fresh: set[int]) -> list[Across]:
    """Return what the fresh facts repeat in another chat, or contradict anywhere they may.

    They meet in their chat, in what the whole space knows, and in other chats of the same person.
    """
    index = Index((one.text, one.subject) for one in known)
    found: dict[frozenset[int], Across] = {}
    for one in known:
        if one.pk not in fresh:
            continue
        for other in (known[place] for place in index.near(one.text, one.subject)):
            pair = frozenset((one.pk, other.pk))
            if len(pair) == 2 and pair not in found and _may_meet(one, other):
                old, new = sorted((one, other), key=lambda fact: (_held_since(fact), fact.pk))
                if across := _compared(old, new):
                    found[pair] = across
    return list(found.values())


def _may_meet(one: Fact, other: Fact) -> bool:
    if not _same_subject(one, other):
        return False
    is_one_person = bool(one.speaker) and one.speaker == other.speaker
    return one.chat_id == other.chat_id or None in (one.chat_id, other.chat_id) or is_one_person


def _compared(old: Fact, new: Fact) -> Across | None:
    if why := clusters.contradict(old.text, new.text, subject=new.subject):
        return Across(old, new, why)
    likeness = jaccard(clusters.gist(old.text), clusters.gist(new.text))
    apart = None not in (old.chat_id, new.chat_id) and old.chat_id != new.chat_id
    if apart and likeness >= SAME_THRESHOLD and not clusters.differ(old.text, new.text):
        return Across(old, new)
    return None


@dataclass
class Index:
    """Finds texts that could say the same as, or the contrary of, another."""

    entries: Iterable[tuple[str, str]]
    by_stem: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    by_frame: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self):
        for i, (text, subject) in enumerate(self.entries):
            for word in clusters.gist(text):
                self.by_stem[word].append(i)
            for bucket in clusters.buckets(text, subject):
                self.by_frame[bucket].append(i)

    def near(self, text: str, subject: str) -> list[int]:
        """Positions that share a frame or one of the rarer stems."""
        buckets = clusters.buckets(text, subject)
        found = {i for bucket in buckets for i in self.by_frame.get(bucket, ())}
        stems = [word for word in clusters.gist(text) if word in self.by_stem]
        rare = sorted(stems, key=lambda word: (len(self.by_stem[word]), word))
        for word in rare[: len(rare) // 2 + 1]:
            found.update(self.by_stem[word][-clusters.COMMON_STEM :])
        return sorted(found)


# From here on: what a night does with each verdict.


def _close(verdict: Verdict, context: PhaseContext) -> None:
    Claim.objects.filter(pk__in=[one.pk for one in verdict.said]).update(settled_at=context.now)


def _evidence(claims: Iterable[Claim]) -> list[dict]:
    """Where each word came from: one entry per episode, dated and quoted."""
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
    **given: Any,
) -> Proposal | None:
    """Put what a claim says before people, as a fact that would be so sure."""
    named = ("text", "subject", "kind", "category", "quote", "language", "said_by")
    after = {name: getattr(best, name) for name in named}
    after |= {"confidence": sure, "chat": None if shared else best.chat_id}
    given |= {"night": context.night, "title": best.text, "mode": best.mode}
    return proposals.propose(context.space, kind, after=after, **given)


def _key(claim: Claim) -> str:
    return proposals.key("add", claim.chat_id, claim.subject.casefold(), claim.text.casefold())


def _believe(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    """Three episodes agree, or somebody curated it: applied, logged, reversible."""
    best = verdict.best
    if Proposal.objects.filter(
        space=context.space, key=_key(best), status=Proposal.Status.REJECTED
    ).exists():
        outcome.count("rejected_before")
        return _close(verdict, context)
    if nights.was_undone(context.space, best.text):
        return _propose(
            context, verdict, outcome, why=sentence(N_("A night believed this and it was undone."))
        )
    if context.night.held:
        return _propose(
            context, verdict, outcome, why=sentence(N_("A golden question is red, so this waits."))
        )
    why = "curated" if best.curated else "agreement"
    with context.record_change(why, best.text, evidence=_evidence(verdict.said), mode=best.mode):
        done = facts.remember(
            context.space,
            text=best.text,
            by="night",
            chat=context.space.chats.get(pk=best.chat_id) if best.chat_id else None,
            subject=best.subject,
            quote=best.quote,
            confidence=min(0.95, 0.6 + 0.1 * verdict.episodes),
            why=why,
            now=context.now,
            kind=best.kind,
            category=best.category,
            language=best.language,
            said_by=best.said_by,
            mode=best.mode,
            episode_id=best.episode_id,
            evidence=_evidence(verdict.said),
        )
    outcome.count("facts_" + done.outcome)
    proposals.expire_overtaken(
        [_key(best)], space=context.space, reason=_("Three episodes agree: applied.")
    )
    return _close(verdict, context)


def _propose(context: PhaseContext, verdict: Verdict, outcome: Outcome, *, why: str = "") -> None:
    best = verdict.best
    made = _ask(
        context,
        best,
        key=_key(best),
        rationale=why or sentence(N_("%(n)s episodes say it."), {"n": verdict.episodes}),
        evidence=_evidence(verdict.said),
        confidence=min(0.95, 0.5 + 0.1 * verdict.episodes),
    )
    outcome.count("facts_proposed", bool(made))


def _whole(verdict: Verdict) -> Fact:
    """The fact with all its fields, of which few are compared."""
    assert verdict.fact
    return Fact.objects.get(pk=verdict.fact.pk)


def _supersede(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    """A contradiction is never settled without a person."""
    best, old = verdict.best, _whole(verdict)
    made = _ask(
        context,
        best,
        kind=Proposal.Kind.SUPERSEDE,
        key=proposals.key("supersede", old.pk, best.text.casefold()),
        rows=[old],
        rationale=sentence(N_("This contradicts what Keno believes.")),
        evidence=[proposals.evidence_of(old), *_evidence(verdict.said)],
        confidence=min(0.95, 0.55 + 0.1 * verdict.episodes),
        flags=["contradiction"],
    )
    outcome.count("contradictions", bool(made))
    _close(verdict, context)


def _contested(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    best = verdict.best
    made = _ask(
        context,
        best,
        sure=0.6,
        key=_key(best),
        rationale=sentence(N_("Episodes disagree; this is what was said last.")),
        evidence=_evidence([*verdict.said, *verdict.against]),
        confidence=0.5,
        flags=["contradiction"],
    )
    outcome.count("contradictions", bool(made))
    _close(verdict, context)


def _reinforce(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    fact = _whole(verdict)
    if context.night.held or nights.was_undone(context.space, fact.text):
        return _pass_over("known", context, verdict, outcome)
    with context.record_change("agreement", fact.text, evidence=_evidence(verdict.said)):
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
    outcome.count("facts_confirmed")
    return _close(verdict, context)


def _pass_over(name: str, context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count(name)
    _close(verdict, context)


def propose_promotion(context: PhaseContext, together: tuple[Claim, ...], outcome: Outcome) -> None:
    """One person says the same in several chats: the space may know it, if somebody agrees."""
    best = Verdict("propose", together).best
    made = _ask(
        context,
        best,
        shared=True,
        key=proposals.key("share", best.subject.casefold(), best.text.casefold()),
        rationale=sentence(N_("Several chats say it; approving lets the whole space know.")),
        evidence=_evidence(together),
        confidence=0.6,
        flags=["leaves its chat"],
    )
    outcome.count("promotions_proposed", bool(made))


def propose_across(context: PhaseContext, found: Iterable[Across], outcome: Outcome) -> None:
    """Propose what facts of several chats of one person say together."""
    rows = Fact.objects.in_bulk({fact.pk for one in found for fact in (one.old, one.new)})
    for one in found:
        old, new = rows[one.old.pk], rows[one.new.pk]
        if one.why and not (old.pinned or old.sticky):
            made = proposals.ask_about_change(old, new, one.why, night=context.night)
            outcome.count("contradictions", bool(made))
    alike = [(one.old.pk, one.new.pk) for one in found if not one.why]
    for group in _chains(alike):
        made = _propose_sharing(context, [rows[pk] for pk in group])
        outcome.count("promotions_proposed", bool(made))


def _chains(pairs: list[tuple[int, int]]) -> Iterator[list[int]]:
    ids = sorted({pk for pair in pairs for pk in pair})
    places = [(ids.index(a), ids.index(b)) for a, b in pairs]
    for group in clusters.connected_groups(len(ids), places):
        yield [ids[place] for place in group]


def _propose_sharing(context: PhaseContext, rows: list[Fact]) -> Proposal | None:
    shared = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE, chat=None)
    if shared.filter(said_key__in=[fact.said_key for fact in rows]).exists():
        return None
    return proposals.propose(
        context.space,
        Proposal.Kind.PROMOTE,
        key=proposals.key("promote", fold(rows[0].subject), rows[0].said_key),
        night=context.night,
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


HANDLE: dict[str, Callable[[PhaseContext, Verdict, Outcome], None]] = {
    "believe": _believe,
    "propose": _propose,
    "supersede": _supersede,
    "contested": _contested,
    "reinforce": _reinforce,
    "known": partial(_pass_over, "known"),
    "older": partial(_pass_over, "older"),
    "wait": lambda context, verdict, outcome: outcome.count("said_once"),
}
