"""What claims say together: believed, proposed, contradicted or left to wait; and what follows.

The first half is pure. A person is the account that spoke, never a display name: two people called
Ana in one chat do not confirm each other. What a chat said stays there; a night only proposes to
share it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory.facts import service as facts
from memory.models import Fact
from memory.text.normalise import fold, jaccard, said_key
from sleep import clusters, nights, proposals
from sleep.apply import image, target_of
from sleep.models import Claim, Proposal, sentence
from sleep.phase import Outcome, PhaseContext

EPISODES_TO_BELIEVE = 3
EPISODES_TO_PROPOSE = 2
SAME_THRESHOLD = 0.7


@dataclass(frozen=True)
class ClaimView:
    """A claim of one episode."""

    claim: int
    episode: int
    chat: int | None
    subject: str
    text: str
    quote: str
    at: datetime
    by: str = ""
    speaker: str = ""
    language: str = ""
    kind: str = "fact"
    category: str = "other"
    curated: bool = False
    mode: str = "heuristics"

    @property
    def person(self) -> str:
        """Who it is about when they speak of themselves; anybody may say the rest."""
        return self.speaker if fold(self.subject) == fold(self.by) else ""


@dataclass(frozen=True)
class BelievedFact:
    """A fact that is believed already."""

    fact: int
    chat: int | None
    subject: str
    text: str
    at: datetime
    by: str = ""
    speaker: str = ""

    @property
    def person(self) -> str:
        return self.speaker if fold(self.subject) == fold(self.by) else ""


Kind = Literal[
    "known", "reinforce", "believe", "propose", "supersede", "older", "contested", "wait"
]


@dataclass(frozen=True)
class Verdict:
    kind: Kind
    said: tuple[ClaimView, ...]
    fact: BelievedFact | None = None
    against: tuple[ClaimView, ...] = ()

    @property
    def episodes(self) -> int:
        return len({one.episode for one in self.said})

    @property
    def best(self) -> ClaimView:
        """The wording most episodes share; the earliest of equals."""
        votes = Counter(said_key(one.text) for one in self.said)
        return min(self.said, key=lambda one: (-votes[said_key(one.text)], one.at, one.claim))


def judge_claims(claims: Sequence[ClaimView], believed: Sequence[BelievedFact]) -> list[Verdict]:
    """One verdict for every group of claims that say the same in one chat, in order."""
    groups = [
        tuple(claims[i] for i in group)
        for group in clusters.group_same(
            [one.text for one in claims],
            [(one.chat, fold(one.subject), one.person) for one in claims],
        )
    ]
    beliefs = Index((one.text, one.subject) for one in believed)
    rivals = _rivals(groups)
    return [_verdict(i, group, groups, believed, beliefs, rivals) for i, group in enumerate(groups)]


def shared_by_chats(verdicts: Iterable[Verdict]) -> list[tuple[ClaimView, ...]]:
    """What one person says alike in several chats and nobody believes yet: to be shared."""
    kinds = ("believe", "propose", "wait")
    private = [v for v in verdicts if v.best.chat and v.best.speaker and v.kind in kinds]
    best = [v.best for v in private]
    scopes = [(fold(one.subject), one.speaker) for one in best]
    groups = clusters.group_same([one.text for one in best], scopes)
    return [
        tuple(one for i in group for one in private[i].said)
        for group in groups
        if len({best[i].chat for i in group}) >= EPISODES_TO_PROPOSE
    ]


def _verdict(i, group, groups, believed, beliefs: "Index", rivals) -> Verdict:
    best = Verdict("wait", group).best
    near = [believed[k] for k in beliefs.near(best.text, best.subject)]
    near = [fact for fact in near if fact.chat in (None, best.chat)]
    latest = max(one.at for one in group)
    for fact in near:
        if _excludes(fact, best):
            return Verdict("supersede" if latest > fact.at else "older", group, fact=fact)
    episodes = len({one.episode for one in group})
    for fact in near:
        if jaccard(clusters.gist(fact.text), clusters.gist(best.text)) >= SAME_THRESHOLD:
            return Verdict(
                "reinforce" if episodes >= EPISODES_TO_BELIEVE else "known", group, fact=fact
            )
    if rivals[i]:
        against = tuple(one for j in rivals[i] for one in groups[j])
        newest = all(latest >= max(one.at for one in groups[j]) for j in rivals[i])
        return Verdict("contested" if newest else "older", group, against=against)
    if episodes >= EPISODES_TO_BELIEVE or any(one.curated for one in group):
        return Verdict("believe", group)
    return Verdict("propose" if episodes >= EPISODES_TO_PROPOSE else "wait", group)


def _excludes(fact: BelievedFact, claim: ClaimView) -> str:
    if not _same_person(fact, claim):
        return ""
    if fold(fact.subject) != fold(claim.subject) and fact.subject and claim.subject:
        return ""
    return clusters.contradict(fact.text, claim.text, subject=claim.subject or fact.subject)


def _same_person(one: "ClaimView | BelievedFact", other: "ClaimView | BelievedFact") -> bool:
    return not (one.person and other.person and one.person != other.person)


def _same_subject(one: "ClaimView | BelievedFact", other: "ClaimView | BelievedFact") -> bool:
    return fold(one.subject) == fold(other.subject) and _same_person(one, other)


def _rivals(groups: Sequence[tuple[ClaimView, ...]]) -> list[set[int]]:
    """For every group, the groups of its chat that say the contrary."""
    best = [Verdict("wait", group).best for group in groups]
    index = Index((one.text, one.subject) for one in best)
    rivals: list[set[int]] = [set() for _ in groups]
    for i, one in enumerate(best):
        for j in index.near(one.text, one.subject):
            other = best[j]
            if j <= i or one.chat != other.chat or not _same_subject(one, other):
                continue
            if clusters.contradict(one.text, other.text, subject=one.subject):
                rivals[i].add(j)
                rivals[j].add(i)
    return rivals


@dataclass(frozen=True)
class Across:
    """Two facts about one thing: the same in two chats of one person, or a change of mind."""

    old: BelievedFact
    new: BelievedFact
    why: str = ""


def compare_facts(known: Sequence[BelievedFact], fresh: set[int]) -> list[Across]:
    """Return what the fresh facts repeat in another chat, or contradict anywhere they may.

    They meet in their chat, in what the whole space knows, and in other chats of the same person.
    """
    index = Index((one.text, one.subject) for one in known)
    found: dict[frozenset[int], Across] = {}
    for one in known:
        if one.fact not in fresh:
            continue
        for other in (known[place] for place in index.near(one.text, one.subject)):
            pair = frozenset((one.fact, other.fact))
            if len(pair) == 2 and pair not in found and _may_meet(one, other):
                old, new = sorted((one, other), key=lambda fact: (fact.at, fact.fact))
                if across := _compared(old, new):
                    found[pair] = across
    return list(found.values())


def _may_meet(one: BelievedFact, other: BelievedFact) -> bool:
    if not _same_subject(one, other):
        return False
    is_one_person = bool(one.speaker) and one.speaker == other.speaker
    return one.chat == other.chat or None in (one.chat, other.chat) or is_one_person


def _compared(old: BelievedFact, new: BelievedFact) -> Across | None:
    if why := clusters.contradict(old.text, new.text, subject=new.subject):
        return Across(old, new, why)
    likeness = jaccard(clusters.gist(old.text), clusters.gist(new.text))
    apart = old.chat != new.chat and old.chat is not None and new.chat is not None
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
    Claim.objects.filter(pk__in=[one.claim for one in verdict.said]).update(settled_at=context.now)


def _evidence(claims: Iterable[ClaimView]) -> list[dict]:
    """Where each word came from: one entry per episode, dated and quoted."""
    return [
        {
            "episode": claim.episode,
            "chat": claim.chat,
            "quote": claim.quote,
            "by": claim.by,
            "at": claim.at.isoformat(),
            "language": claim.language,
        }
        for claim in {claim.episode: claim for claim in claims}.values()
    ]


def _ask(
    context: PhaseContext,
    best: ClaimView,
    *,
    kind: str = Proposal.Kind.ADD,
    sure: float = 0.7,
    **given: Any,
) -> Proposal | None:
    """Put what a claim says before people, as a fact that would be so sure."""
    named = ("text", "subject", "kind", "category", "chat", "quote", "language")
    after = {name: getattr(best, name) for name in named}
    after |= {"confidence": sure, "said_by": best.by}
    given |= {"night": context.night, "title": best.text, "mode": best.mode}
    return proposals.propose(context.space, kind, after=after, **given)


def _key(claim: ClaimView) -> str:
    return proposals.key("add", claim.chat, claim.subject.casefold(), claim.text.casefold())


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
            chat=context.space.chats.get(pk=best.chat) if best.chat else None,
            subject=best.subject,
            quote=best.quote,
            confidence=min(0.95, 0.6 + 0.1 * verdict.episodes),
            why=why,
            now=context.now,
            kind=best.kind,
            category=best.category,
            language=best.language,
            said_by=best.by,
            mode=best.mode,
            episode_id=best.episode,
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


def _supersede(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    """A contradiction is never settled without a person."""
    best, old = verdict.best, Fact.objects.get(pk=verdict.fact.fact)
    made = _ask(
        context,
        best,
        kind=Proposal.Kind.SUPERSEDE,
        key=proposals.key("supersede", old.pk, best.text.casefold()),
        targets=[target_of(old)],
        before=image(old),
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
    fact = Fact.objects.get(pk=verdict.fact.fact)
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


def _wait(context: PhaseContext, verdict: Verdict, outcome: Outcome) -> None:
    outcome.count("said_once")


def propose_promotion(
    context: PhaseContext, together: tuple[ClaimView, ...], outcome: Outcome
) -> None:
    """One person says the same in several chats: the space may know it, if somebody agrees."""
    best = Verdict("propose", together).best
    made = _ask(
        context,
        replace(best, chat=None),
        key=proposals.key("share", best.subject.casefold(), best.text.casefold()),
        rationale=sentence(N_("Several chats say it; approving lets the whole space know.")),
        evidence=_evidence(together),
        confidence=0.6,
        flags=["leaves its chat"],
    )
    outcome.count("promotions_proposed", bool(made))


def propose_across(context: PhaseContext, found: Iterable[Across], outcome: Outcome) -> None:
    """Propose what facts of several chats of one person say together."""
    ids = {fact for one in found for fact in (one.old.fact, one.new.fact)}
    rows = {fact.pk: fact for fact in Fact.objects.filter(pk__in=ids)}
    for one in found:
        old, new = rows[one.old.fact], rows[one.new.fact]
        if one.why and not (old.pinned or old.sticky):
            made = proposals.ask_about_change(old, new, one.why, night=context.night)
            outcome.count("contradictions", bool(made))
    alike = [(one.old.fact, one.new.fact) for one in found if not one.why]
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
        targets=[target_of(fact) for fact in rows],
        before=image(*rows),
        after={"count": len(rows)},
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
    "wait": _wait,
}
