"""What the numbers suggest changing about Keno itself. Pure: measures in, suggestions out."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from memory.text import words

ENOUGH_REPLIES = 10
ENOUGH_FACTS = 10


@dataclass(frozen=True)
class Advice:
    """One suggestion with its numbers. `change` is what approving applies, if anything."""

    name: str
    priority: str
    observation: str
    suggestion: str
    kind: str = "advice"
    change: dict = field(default_factory=dict)


Measures = dict[str, float]


def advise(m: Measures, *, opening: str = "", options: dict | None = None) -> list[Advice]:
    """The suggestions these measures justify, the most urgent first."""
    found = [rule(m, opening, options or {}) for rule in RULES]
    order = {"high": 0, "medium": 1, "low": 2}
    return sorted((one for one in found if one), key=lambda one: order[one.priority])


def habitual_opening(replies: Iterable[str], *, share: float = 0.2, length: int = 2) -> str:
    """The first words that too many replies begin with; empty when none do."""
    starts = [" ".join(words(reply)[:length]) for reply in replies]
    starts = [start for start in starts if start.count(" ") == length - 1]
    if len(starts) < ENOUGH_REPLIES:
        return ""
    start, n = Counter(starts).most_common(1)[0]
    return start if n / len(starts) > share else ""


def _no_patterns(m: Measures, *_) -> Advice | None:
    if m.get("episodes", 0) > 10 and not m.get("patterns_proposed"):
        return Advice(
            "no-patterns", "medium",
            f"{m['episodes']:.0f} episodes were read and no pattern was found in them.",
            "Say what solved a problem when it is solved, or teach a pattern with /learn.",
        )  # fmt: skip
    return None


def _many_errors(m: Measures, *_) -> Advice | None:
    if m.get("errors", 0) > 3:
        return Advice(
            "many-errors", "high",
            f"{m['errors']:.0f} errors in a night, {m.get('internal', 0):.0f} of them Keno's own.",
            "Look at the lessons of this night and approve the ones that hold.",
        )  # fmt: skip
    return None


def _notes_go_stale(m: Measures, _opening: str, options: dict) -> Advice | None:
    days = options.get("working_stale_days", 7)
    if m.get("notes", 0) > 5 and days < 30:
        return Advice(
            "stale-notes", "low",
            f"{m['notes']:.0f} working notes went stale after {days} days.",
            f"Keep working notes for {min(30, days * 2)} days.",
            "setting",
            {"name": "working_stale_days", "value": min(30, days * 2)},
        )  # fmt: skip
    return None


def _weak_patterns(m: Measures, *_) -> Advice | None:
    if m.get("patterns", 0) > 3:
        return Advice(
            "weak-patterns", "medium",
            f"{m['patterns']:.0f} weak patterns were archived unused.",
            "Approve fewer patterns, or write triggers people really use.",
        )  # fmt: skip
    return None


def _habitual(m: Measures, opening: str, _options: dict) -> Advice | None:
    if not opening:
        return None
    return Advice(
        "habitual-opening", "medium",
        f"More than a fifth of {m.get('replies', 0):.0f} replies begin with “{opening}”.",
        f"Do not begin a reply with “{opening}”.",
        "rule",
        {
            "slug": f"no-opening-{'-'.join(opening.split())}"[:80],
            "category": "style",
            "instruction": f"Begin with the answer, not with “{opening}”.",
            "forbidden": [{"phrase": opening, "reason": "habit", "pattern": False}],
        },
    )  # fmt: skip


def _hedging(m: Measures, *_) -> Advice | None:
    if m.get("replies", 0) >= ENOUGH_REPLIES and m.get("hedging_rate", 0) > 0.3:
        return Advice(
            "hedging", "medium",
            f"{m['hedging_rate']:.0%} of {m['replies']:.0f} replies hedge.",
            "Say plainly what is known, and plainly what is not.",
            "rule",
            {
                "slug": "plain-about-doubt",
                "category": "style",
                "instruction": "Say plainly what you know. When you do not know, say that once.",
                "forbidden": [],
            },
        )  # fmt: skip
    return None


def _filler(m: Measures, *_) -> Advice | None:
    if m.get("replies", 0) >= ENOUGH_REPLIES and m.get("filler_rate", 0) > 0.1:
        return Advice(
            "filler", "medium",
            f"{m['filler_rate']:.0%} of {m['replies']:.0f} replies hold a forbidden phrase.",
            "Add an example of a good answer to the rule that forbids it.",
        )  # fmt: skip
    return None


def _junk(m: Measures, *_) -> Advice | None:
    if m.get("extracted", 0) >= ENOUGH_FACTS and m.get("junk_rate", 0) > 0.3:
        return Advice(
            "junk", "high",
            f"People took back {m['junk_rate']:.0%} of {m['extracted']:.0f} extracted facts.",
            "Rule out what comes back again and again, or turn extraction off for a chat.",
        )  # fmt: skip
    return None


def _unused(m: Measures, *_) -> Advice | None:
    if m.get("unused_facts", 0) >= 50:
        return Advice(
            "unused-facts", "low",
            f"{m['unused_facts']:.0f} facts were not recalled for 90 days.",
            "Look through them: some may be obsolete.",
        )  # fmt: skip
    return None


def _repeats(m: Measures, *_) -> Advice | None:
    if m.get("errors", 0) >= 3 and m.get("error_repeat_rate", 0) > 0.5:
        return Advice(
            "repeated-errors", "high",
            f"{m['error_repeat_rate']:.0%} of {m['errors']:.0f} errors had happened before.",
            "Approve the lesson about them, so that it is recalled in time.",
        )  # fmt: skip
    return None


RULES: tuple[Callable[..., Advice | None], ...] = (
    _many_errors,
    _repeats,
    _junk,
    _no_patterns,
    _weak_patterns,
    _habitual,
    _hedging,
    _filler,
    _notes_go_stale,
    _unused,
)
