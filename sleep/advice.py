"""What the numbers suggest changing about Keno itself. Pure: measures in, suggestions out."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Count
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory import identity
from memory.models import Fact
from memory.text.normalise import fold, words
from sleep import measures, proposals
from sleep.apply import image, target_of
from sleep.models import Proposal
from sleep.phase import PhaseContext

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


Kind = Proposal.Kind
# So many at once: a person should be able to look at each.
MAX_PROPOSALS = 5
# What an author must have told that is believed, before a doubt about them is doubted.
TRUSTED_AFTER = 5
# The guard that judges by the sound of a line; the others name what is wrong with it.
SOUND_REASONS = ["learned"]
# So many people, or one so often, make a wish about replies a preference of the space.
MIN_PEOPLE, MIN_TIMES = 2, 3
_WISH = re.compile(
    r"^(?:A )?(?P<who>\S+) (?:likes?|prefers?|wants?|prefiere|quiere|le gustan?) "
    r"(?:(?:their|his|her|sus?) )?(?P<what>.*?\b(?P<of>answers|replies|reports|summaries|"
    r"respuestas|reportes|informes|resúmenes)\b.*)$"
)


def suggest(context: PhaseContext) -> int:
    """Propose what is worth it; how many are new."""
    made = [
        one for look in (_release, _promote, _retire_patterns, _prefer) for one in look(context)
    ]
    return sum(map(bool, made))


def _release(context: PhaseContext) -> Iterable[Proposal | None]:
    """Kept out by its sound alone, from somebody whose other words are believed."""
    held = Fact.objects.filter(space=context.space, status=Fact.Status.QUARANTINED)
    doubtful = set(held.exclude(flags=SOUND_REASONS).values_list("said_by", flat=True))
    rows = list(held.filter(flags=SOUND_REASONS).exclude(said_by="").order_by("pk"))
    if not rows:
        return
    live = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE)
    told = dict(live.values_list("said_by").annotate(n=Count("pk")).order_by())
    rows = [one for one in rows if one.said_by not in doubtful]
    for fact in [one for one in rows if told.get(one.said_by, 0) >= TRUSTED_AFTER][:MAX_PROPOSALS]:
        yield proposals.propose(
            context.space,
            Kind.RELEASE,
            key=proposals.key("release", fact.pk),
            night=context.night,
            title=fact.text,
            targets=[target_of(fact)],
            before=image(fact),
            after={"count": 1},
            rationale=_(
                "It only sounds like an order; %(n)s other facts from %(who)s are believed."
            )
            % {"n": told[fact.said_by], "who": fact.said_by},
            evidence=_quotes([fact]),
            confidence=0.4,
            flags=[proposals.SUSPICIOUS],
        )


def _promote(context: PhaseContext) -> Iterable[Proposal | None]:
    """Several chats know the same, and the space does not."""
    live = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE)
    shared = live.filter(chat=None).values("said_key")
    alone = live.exclude(chat=None).exclude(said_key__in=shared).order_by()
    several = alone.values("said_key", "subject").annotate(n=Count("chat", distinct=True))
    keys = several.filter(n__gte=2).values_list("said_key", "subject").order_by("said_key")
    for said_key, subject in list(keys[:MAX_PROPOSALS]):
        rows = list(alone.filter(said_key=said_key, subject=subject).order_by("pk"))
        yield proposals.propose(
            context.space,
            Kind.PROMOTE,
            key=proposals.key("promote", subject.casefold(), said_key),
            night=context.night,
            title=rows[0].text,
            targets=[target_of(fact) for fact in rows],
            before=image(*rows),
            after={"count": len(rows)},
            rationale=_("%(n)s chats know it; approving lets the whole space know.")
            % {"n": len({fact.chat_id for fact in rows})},
            evidence=_quotes(rows),
            confidence=0.6,
            flags=["leaves its chat"],
        )


def _retire_patterns(context: PhaseContext) -> Iterable[Proposal | None]:
    """Patterns that nothing called for in a month; asked once a month."""
    rows = list(measures.unused_patterns(context.space, now=context.now).order_by("pk"))
    if not rows:
        return
    title = ngettext(
        "Retire %(n)s pattern that was never used",
        "Retire %(n)s patterns that were never used",
        len(rows),
    )
    yield proposals.propose(
        context.space,
        Kind.RETIRE_PATTERN,
        key=proposals.key("unused-patterns", context.now.strftime("%Y-%m")),
        night=context.night,
        title=title % {"n": len(rows)},
        targets=[target_of(pattern) for pattern in rows],
        before=image(*rows),
        after={"count": len(rows)},
        rationale="\n".join(f"{one.trigger} → {one.response}" for one in rows[:20]),
        confidence=0.4,
    )


def _prefer(context: PhaseContext) -> Iterable[Proposal | None]:
    """How people like to be answered, said by several or again and again."""
    wishes = defaultdict(list)
    rows = Fact.objects.filter(
        space=context.space,
        status=Fact.Status.ACTIVE,
        category=Fact.Category.PREFERENCE,
        last_seen_at__gt=context.now - timedelta(days=90),
    )
    for fact in rows.order_by("pk"):
        if wish := _WISH.match(fact.text):
            wishes[fold(wish["of"])].append((fact, wish["what"]))
    named = {fold(one.key) for one in identity.preferences.active(context.space)} if wishes else ()
    for name, some in sorted(wishes.items()):
        said = [fact for fact, _what in some]
        people, times = {fact.subject for fact in said}, max(fact.times_seen for fact in said)
        if name in named or (len(people) < MIN_PEOPLE and times < MIN_TIMES):
            continue
        told = some[0][1][:1].upper() + some[0][1][1:]
        yield proposals.propose(
            context.space,
            Kind.PREFERENCE,
            key=proposals.key("preference", name),
            night=context.night,
            title=told,
            after={"key": name.capitalize(), "value": told},
            rationale=_("%(who)s said so.") % {"who": ", ".join(sorted(people))},
            evidence=_quotes(said),
            confidence=0.6,
        )


def _quotes(rows: Iterable[Fact]) -> list[dict]:
    return [
        {
            "fact": fact.pk,
            "episode": fact.episode_id,
            "quote": fact.quote or fact.text,
            "by": fact.said_by,
            "at": fact.last_seen_at.isoformat(),
            "language": fact.language,
        }
        for fact in rows
    ]
