"""Not twice the same: maximal marginal relevance over what was ranked."""

from collections.abc import Callable, Sequence

from memory.retrieval.keywords import content

# From here on two memories say the same and the lower one is cut.
SAME = 0.9


def signs(said: str) -> frozenset[str]:
    """The words by which two memories are compared."""
    return frozenset(content(said))


def likeness(a: frozenset[str], b: frozenset[str]) -> float:
    """Shared words over the words of the shorter one (seed 004)."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def mmr(
    items: Sequence,
    *,
    score: Callable[[object], float],
    words: Callable[[object], frozenset[str]],
    balance: float = 0.7,
) -> list:
    """Reordered: each next one is good (balance) and unlike those before it (the rest).

    Scores are compared as they are: give 0..1.
    """
    rest, chosen = list(items), []
    worst = [0.0] * len(rest)
    said = [words(item) for item in rest]
    while rest:
        best = max(
            range(len(rest)), key=lambda i: balance * score(rest[i]) - (1 - balance) * worst[i]
        )
        picked, picked_words = rest.pop(best), said.pop(best)
        worst.pop(best)
        chosen.append(picked)
        worst = [
            max(w, likeness(picked_words, other)) for w, other in zip(worst, said, strict=True)
        ]
    return chosen


class Said:
    """What was chosen so far; asked whether another line only says it again."""

    def __init__(self, lines: Sequence[str] = ()):
        self.lines = [signs(line) for line in lines]

    def again(self, line: str) -> bool:
        words = signs(line)
        return any(_same(words, other) for other in self.lines)

    def add(self, line: str) -> None:
        self.lines.append(signs(line))


def _same(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a | b) and len(a & b) / len(a | b) >= SAME
