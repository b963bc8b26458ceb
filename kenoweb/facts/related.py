"""What is close to a fact in meaning or words, and what cannot be true beside it."""

from dataclasses import dataclass

from kenoweb.auth.access import rows_in
from kenoweb.ui.vector_search import near_row
from memory.models import Fact, Space
from memory.text.normalise import jaccard, stems
from sleep.conflicts import contradict

MAX_RELATED = 5
# Facts about the same subject that are compared one by one.
LOOKED_AT = 200
CLOSE_WORDS = 0.34
SHOWN = ("text", "kind", "language", "chat")


@dataclass(frozen=True)
class Neighbour:
    fact: Fact
    alike: float
    why: str = ""


def of_fact(fact: Fact, *, space: Space) -> tuple[list[Neighbour], list[Neighbour]]:
    """Those close to it, and those that contradict it."""
    live = rows_in(space, Fact).live().only(*SHOWN)
    same = live.filter(subject=fact.subject).exclude(pk=fact.pk)
    about = list(same.newest()[:LOOKED_AT])
    scores = near_row(space, "fact", fact.pk, most=MAX_RELATED * 2)
    known = {other.pk: other for other in about}
    if missing := scores.keys() - known.keys():
        known |= {one.pk: one for one in live.filter(pk__in=missing)}
    if not scores:
        scores = _by_words(fact, about)
    against = [
        Neighbour(other, scores.get(pk, 0), why)
        for pk, other in known.items()
        if (why := contradict(fact.text, other.text, subject=fact.subject))
    ]
    opposed = {one.fact.pk for one in against}
    near = [
        Neighbour(known[pk], alike)
        for pk, alike in sorted(scores.items(), key=lambda one: -one[1])
        if pk in known and pk not in opposed
    ]
    return near[:MAX_RELATED], against[:MAX_RELATED]


def _by_words(fact: Fact, others: list[Fact]) -> dict[int, float]:
    mine = stems(fact.text)
    scored = ((other.pk, jaccard(mine, stems(other.text))) for other in others)
    return {pk: alike for pk, alike in scored if alike >= CLOSE_WORDS}
