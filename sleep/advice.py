"""What the numbers suggest changing about Keno itself. Pure: measures in, suggestions out."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

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


def _no_patterns(m: Measures, *__) -> Advice | None:
    if m.get("episodes", 0) > 10 and not m.get("patterns_proposed"):
        return Advice(
            "no-patterns", "medium",
            _("%(n)d episodes were read and no pattern was found in them.") % {"n": m["episodes"]},
            _("Say what solved a problem when it is solved, or teach a pattern with /learn."),
        )  # fmt: skip
    return None


def _many_errors(m: Measures, *__) -> Advice | None:
    if m.get("errors", 0) > 3:
        return Advice(
            "many-errors", "high",
            _("%(n)d errors in a night, %(own)d of them Keno's own.")
            % {"n": m["errors"], "own": m.get("internal", 0)},
            _("Look at the lessons of this night and approve the ones that hold."),
        )  # fmt: skip
    return None


def _notes_go_stale(m: Measures, _opening: str, options: dict) -> Advice | None:
    days = options.get("working_stale_days", 7)
    if m.get("notes", 0) > 5 and days < 30:
        return Advice(
            "stale-notes", "low",
            _("%(n)d working notes went stale after %(days)d days.")
            % {"n": m["notes"], "days": days},
            _("Keep working notes for %(days)d days.") % {"days": min(30, days * 2)},
            "setting",
            {"name": "working_stale_days", "value": min(30, days * 2)},
        )  # fmt: skip
    return None


def _weak_patterns(m: Measures, *__) -> Advice | None:
    if m.get("patterns", 0) > 3:
        return Advice(
            "weak-patterns", "medium",
            _("%(n)d weak patterns were archived unused.") % {"n": m["patterns"]},
            _("Approve fewer patterns, or write triggers people really use."),
        )  # fmt: skip
    return None


def _habitual(m: Measures, opening: str, _options: dict) -> Advice | None:
    if not opening:
        return None
    return Advice(
        "habitual-opening", "medium",
        _("More than a fifth of %(n)d replies begin with “%(opening)s”.")
        % {"n": m.get("replies", 0), "opening": opening},
        _("Do not begin a reply with “%(opening)s”.") % {"opening": opening},
        "rule",
        {
            "slug": f"no-opening-{'-'.join(opening.split())}"[:80],
            "category": "style",
            "instruction": _("Begin with the answer, not with “%(opening)s”.")
            % {"opening": opening},
            "forbidden": [{"phrase": opening, "reason": "habit", "pattern": False}],
        },
    )  # fmt: skip


def _hedging(m: Measures, *__) -> Advice | None:
    if m.get("replies", 0) >= ENOUGH_REPLIES and m.get("hedging_rate", 0) > 0.3:
        return Advice(
            "hedging", "medium",
            _("%(rate)d %% of %(n)d replies hedge.")
            % {"rate": 100 * m["hedging_rate"], "n": m["replies"]},
            _("Say plainly what is known, and plainly what is not."),
            "rule",
            {
                "slug": "plain-about-doubt",
                "category": "style",
                "instruction": _("Say plainly what you know. When you do not know, say that once."),
                "forbidden": [],
            },
        )  # fmt: skip
    return None


def _filler(m: Measures, *__) -> Advice | None:
    if m.get("replies", 0) >= ENOUGH_REPLIES and m.get("filler_rate", 0) > 0.1:
        return Advice(
            "filler", "medium",
            _("%(rate)d %% of %(n)d replies hold a forbidden phrase.")
            % {"rate": 100 * m["filler_rate"], "n": m["replies"]},
            _("Add an example of a good answer to the rule that forbids it."),
        )  # fmt: skip
    return None


def _junk(m: Measures, *__) -> Advice | None:
    if m.get("extracted", 0) >= ENOUGH_FACTS and m.get("junk_rate", 0) > 0.3:
        return Advice(
            "junk", "high",
            _("People took back %(rate)d %% of %(n)d extracted facts.")
            % {"rate": 100 * m["junk_rate"], "n": m["extracted"]},
            _("Rule out what comes back again and again."),
        )  # fmt: skip
    return None


def _unused(m: Measures, *__) -> Advice | None:
    if m.get("unused_facts", 0) >= ENOUGH_FACTS:
        return Advice(
            "unused-facts", "low",
            _("%(n)d facts were not recalled for 90 days: possibly obsolete.")
            % {"n": m["unused_facts"]},
            _("Look through them: some may be obsolete."),
        )  # fmt: skip
    return None


def _repeats(m: Measures, *__) -> Advice | None:
    if m.get("errors", 0) >= 3 and m.get("error_repeat_rate", 0) > 0.5:
        return Advice(
            "repeated-errors", "high",
            _("%(rate)d %% of %(n)d errors had happened before.")
            % {"rate": 100 * m["error_repeat_rate"], "n": m["errors"]},
            _("Approve the lesson about them, so that it is recalled in time."),
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
