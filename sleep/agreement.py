"""What several episodes say together: believed, proposed, contradicted or left to wait. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memory.text.normalise import fold, jaccard, said_key
from sleep import clusters, conflicts

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
    language: str = ""
    kind: str = "fact"
    category: str = "other"
    curated: bool = False
    mode: str = "heuristics"


@dataclass(frozen=True)
class BelievedFact:
    """A fact that is believed already."""

    fact: int
    chat: int | None
    subject: str
    text: str
    at: datetime


Kind = Literal[
    "known", "reinforce", "believe", "propose", "supersede", "older", "contested", "wait"
]


@dataclass(frozen=True)
class Verdict:
    kind: Kind
    said: tuple[ClaimView, ...]
    fact: BelievedFact | None = None
    against: tuple[ClaimView, ...] = ()
    why: str = ""

    @property
    def episodes(self) -> int:
        return len({one.episode for one in self.said})

    @property
    def best(self) -> ClaimView:
        """The wording most episodes share; the earliest of equals."""
        votes = Counter(said_key(one.text) for one in self.said)
        return min(self.said, key=lambda one: (-votes[said_key(one.text)], one.at, one.claim))

    @property
    def latest(self) -> datetime:
        return max(one.at for one in self.said)


def judge_claims(claims: Sequence[ClaimView], believed: Sequence[BelievedFact]) -> list[Verdict]:
    """One verdict for every group of claims that say the same in one chat, in order."""
    groups = [
        tuple(claims[i] for i in group)
        for group in clusters.group_same(
            [one.text for one in claims], [(one.chat, fold(one.subject)) for one in claims]
        )
    ]
    beliefs = Index((one.text, one.subject) for one in believed)
    rivals = _rivals(groups)
    return [_verdict(i, group, groups, believed, beliefs, rivals) for i, group in enumerate(groups)]


def shared_by_chats(verdicts: Iterable[Verdict]) -> list[tuple[ClaimView, ...]]:
    """What several chats say alike and the space does not know: a promotion to propose."""
    private = [v for v in verdicts if v.said[0].chat and v.kind in ("believe", "propose", "wait")]
    best = [v.best for v in private]
    groups = clusters.group_same([one.text for one in best], [fold(one.subject) for one in best])
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
        if why := _excludes(fact, best):
            newer = latest > fact.at
            return Verdict("supersede" if newer else "older", group, fact=fact, why=why)
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
    if fold(fact.subject) != fold(claim.subject) and fact.subject and claim.subject:
        return ""
    return conflicts.contradict(fact.text, claim.text, subject=claim.subject or fact.subject)


def _rivals(groups: Sequence[tuple[ClaimView, ...]]) -> list[set[int]]:
    """For every group, the groups of its chat that say the contrary."""
    best = [Verdict("wait", group).best for group in groups]
    index = Index((one.text, one.subject) for one in best)
    rivals: list[set[int]] = [set() for _ in groups]
    for i, one in enumerate(best):
        for j in index.near(one.text, one.subject):
            other = best[j]
            if j <= i or one.chat != other.chat or fold(one.subject) != fold(other.subject):
                continue
            if conflicts.contradict(one.text, other.text, subject=one.subject):
                rivals[i].add(j)
                rivals[j].add(i)
    return rivals


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
            for bucket in conflicts.buckets(text, subject):
                self.by_frame[bucket].append(i)

    def near(self, text: str, subject: str) -> list[int]:
        """Positions that share a frame or one of the rarer stems."""
        buckets = conflicts.buckets(text, subject)
        found = {i for bucket in buckets for i in self.by_frame.get(bucket, ())}
        stems = [word for word in clusters.gist(text) if word in self.by_stem]
        rare = sorted(stems, key=lambda word: (len(self.by_stem[word]), word))
        for word in rare[: len(rare) // 2 + 1]:
            found.update(self.by_stem[word][-clusters.COMMON_STEM :])
        return sorted(found)
