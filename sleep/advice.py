"""Measure how Keno behaves and suggest what to change. A person decides all of it.

Only what can be approved is suggested: a setting, a rule, a preference, or rows to share, release
or let go. Built-in answers are never a reason for advice.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from itertools import chain, islice

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory import identity
from memory.guards import screening
from memory.history import audit
from memory.models import AuditEntry, Fact, LlmCall, Message, Pattern, Space
from memory.models.prepared import prepared
from memory.spaces.chat_links import whom
from memory.text.normalise import fold, words
from memory.trust import golden
from sleep import claims, error_patterns, proposals
from sleep.models import Night, PhaseRun, Proposal, sentence
from sleep.phase import PhaseContext

WEEK = timedelta(days=7)
MONTH = timedelta(days=30)
UNUSED_AFTER = timedelta(days=90)
REMOVED_STATUSES = (Fact.Status.ARCHIVED, Fact.Status.TRASHED)
ENOUGH_REPLIES, ENOUGH_FACTS = 10, 10
# A person should be able to look at each.
MAX_PROPOSALS = 5
# How many facts of a speaker must be believed before one in quarantine is proposed for release.
TRUSTED_AFTER = 5
# The guard that judges by the sound of a line; the others name what is wrong with it.
SOUND_REASONS = ["learned"]
# A wish about replies is worth a question when it comes from so many people, or so often.
MIN_PEOPLE, MIN_TIMES = 2, 3
_WISH = re.compile(
    r"^(?:A )?(?P<who>\S+) (?:likes?|prefers?|wants?|prefiere|prefiero|quiere|quiero|"
    r"le gustan?|gustan?) "
    r"(?:(?:my|their|his|her|mis?|sus?) )?(?P<what>.*?\b(?P<of>answers|replies|reports|summaries|"
    r"respuestas|reportes|informes|resúmenes)\b.*?)(?:,? (?:please|por favor))?\.?$"
)
RESCANNED = "guards.rescanned"
ORDERING = (Fact.Kind.LESSON, Fact.Kind.PROCEDURE)
Measures = dict[str, float]
Kind = Proposal.Kind


def night_totals(night: Night) -> Measures:
    """Return the counts of tonight's phases, added up by name."""
    totals: Counter = Counter()
    for (counts,) in _counts(night=night.pk, run=night.run):
        totals.update(counts)
    return dict(totals)


@prepared(night="bigint", run="integer")
def _counts(night, run):
    return PhaseRun.objects.filter(night=night, run=run).values_list("counts")


def day_counts(night: Night, *, now: datetime) -> Measures:
    """Count what was learned in talk since the night before."""
    earlier = Night.objects.filter(space=night.space, local_date__lt=night.local_date)
    last = earlier.order_by("-local_date").values_list("started_at", flat=True).first()
    since = last or now - WEEK
    facts = Fact.objects.filter(space=night.space, created_at__gt=since, created_at__lte=now)
    by_day = facts.exclude(source=Fact.Source.NIGHT).exclude(written_by="night")
    kept = by_day.exclude(status__in=[Fact.Status.QUARANTINED, *REMOVED_STATUSES])
    return {"facts_by_day": kept.count()}


def reply_measures(space: Space, *, now: datetime) -> tuple[Measures, list[str]]:
    """Measure how a language model talked in the last week; also return its replies."""
    rows = _replies(space=space.pk, since=now - WEEK, now=now)
    if not rows:
        return {"replies": 0}, []
    replies = [text for text, _flags in rows]
    violations = identity.rules.violations_of(space, replies)
    hedged = sum("hedging" in flags for _text, flags in rows)
    return {
        "replies": len(replies),
        "filler_rate": round(sum(map(bool, violations)) / len(replies), 4),
        "hedging_rate": round(hedged / len(replies), 4),
        "reply_length": round(sum(map(len, replies)) / len(replies), 1),
    }, replies


@prepared(space="bigint", since="timestamptz", now="timestamptz")
def _replies(space, since, now):
    calls = LlmCall.objects.filter(
        space=space, purpose=LlmCall.Purpose.CHAT, ok=True, at__gt=since
    ).exclude(provider="offline")
    rows = Message.objects.filter(
        space=space,
        role=Message.Role.ASSISTANT,
        reply_to__in=calls.values("message"),
        sent_at__gt=since,
        sent_at__lte=now,
    )
    return rows.order_by("-sent_at").values_list("text", "flags")[:2000]


def memory_measures(space: Space, *, now: datetime) -> Measures:
    """Measure what extraction left behind, and what nobody needs."""
    extracted = Counter(dict(_extracted(space=space.pk, since=now - MONTH, now=now)))
    total, junk = extracted.total(), sum(extracted[status] for status in REMOVED_STATUSES)
    return {
        "extracted": total,
        "junk_rate": round(junk / total, 4) if total else 0,
        "unused_facts": unused_facts(space, now=now).count(),
        "unused_patterns": unused_patterns(space, now=now).count(),
    }


@prepared(space="bigint", since="timestamptz", now="timestamptz")
def _extracted(space, since, now):
    rows = Fact.objects.filter(
        space=space, written_by="extraction", created_at__gt=since, created_at__lte=now
    )
    return rows.order_by().values("status").annotate(n=Count("pk")).values_list("status", "n")


def unused_facts(space: Space, *, now: datetime) -> QuerySet[Fact]:
    """Return old facts that no reply needed and nobody repeated for long, the oldest first."""
    idle = Q(last_used_at=None) | Q(last_used_at__lt=now - UNUSED_AFTER)
    old = Fact.objects.filter(space=space, status=Fact.Status.ACTIVE, pinned=False, sticky=False)
    return old.filter(idle, created_at__lt=now - UNUSED_AFTER).order_by("created_at", "pk")


def unused_patterns(space: Space, *, now: datetime) -> QuerySet[Pattern]:
    live = Pattern.objects.filter(space=space, status=Pattern.Status.ACTIVE)
    return live.filter(use_count=0, created_at__lt=now - MONTH)


def error_repeat_rate(totals: Measures) -> float:
    """Return the share of a night's errors that taught nothing new, without others' outages."""
    errors = totals.get("errors", 0)
    repeated = max(0, errors - totals.get("lessons", 0) - totals.get("external", 0))
    return round(min(1.0, repeated / errors), 4) if errors else 0.0


@dataclass(frozen=True)
class Advice:
    """One suggestion with its numbers. `change` is what approving applies, if anything."""

    name: str
    priority: str
    observation: str
    suggestion: str
    kind: str = "advice"
    change: dict = field(default_factory=dict)


def advise(m: Measures, opening: str = "", options: dict | None = None) -> list[Advice]:
    """Return the suggestions these measures justify, the most urgent first."""
    suggestions = filter(None, (rule(m, opening, options or {}) for rule in RULES))
    return sorted(suggestions, key=lambda advice: ("high", "medium", "low").index(advice.priority))


def habitual_opening(replies: Iterable[str], *, share: float = 0.2, length: int = 2) -> str:
    """Return the first words that too many replies begin with; empty when none do."""
    starts = [" ".join(words(reply)[:length]) for reply in replies]
    starts = [start for start in starts if start.count(" ") == length - 1]
    if len(starts) < ENOUGH_REPLIES:
        return ""
    start, n = Counter(starts).most_common(1)[0]
    return start if n / len(starts) > share else ""


def _notes_go_stale(m: Measures, _opening: str, options: dict) -> Advice | None:
    days = options.get("working_stale_days", 7)
    if m.get("notes", 0) <= 5 or days >= 30:
        return None
    longer = min(30, days * 2)
    stale = N_("%(n)d working notes went stale after %(days)d days.")
    return Advice(
        "stale-notes",
        "low",
        sentence(stale, {"n": m["notes"], "days": days}),
        sentence(N_("Keep working notes for %(days)d days."), {"days": longer}),
        "setting",
        {"name": "working_stale_days", "value": longer},
    )


def _junk(m: Measures, _opening: str, options: dict) -> Advice | None:
    sure = options.get("believe_from", 0.8)
    if m.get("extracted", 0) < ENOUGH_FACTS or m.get("junk_rate", 0) <= 0.3 or sure >= 0.95:
        return None
    surer = round(min(0.95, sure + 0.05), 2)
    rate = {"rate": 100 * m["junk_rate"], "n": m["extracted"]}
    return Advice(
        "junk",
        "high",
        sentence(N_("People took back %(rate)d %% of %(n)d extracted facts."), rate),
        sentence(N_("Believe only what Keno is surer of: from %(sure)s."), {"sure": surer}),
        "setting",
        {"name": "believe_from", "value": surer},
    )


def _habitual(m: Measures, opening: str, _options: dict) -> Advice | None:
    if not opening:
        return None
    values = {"n": m.get("replies", 0), "opening": opening}
    return Advice(
        "habitual-opening",
        "medium",
        sentence(N_("More than a fifth of %(n)d replies begin with “%(opening)s”."), values),
        sentence(N_("Do not begin a reply with “%(opening)s”."), {"opening": opening}),
        "rule",
        {
            "slug": f"no-opening-{'-'.join(opening.split())}"[:80],
            "category": "style",
            "instruction": _("Begin with the answer, not with “%(opening)s”.") % values,
            "forbidden": [{"phrase": opening, "reason": "habit", "pattern": False}],
        },
    )


def _hedging(m: Measures, *__) -> Advice | None:
    if m.get("replies", 0) < ENOUGH_REPLIES or m.get("hedging_rate", 0) <= 0.3:
        return None
    rate = {"rate": 100 * m["hedging_rate"], "n": m["replies"]}
    return Advice(
        "hedging",
        "medium",
        sentence(N_("%(rate)d %% of %(n)d replies hedge."), rate),
        sentence(N_("Say plainly what is known, and plainly what is not.")),
        "rule",
        {
            "slug": "plain-about-doubt",
            "category": "style",
            "instruction": _("Say plainly what you know. When you do not know, say that once."),
            "forbidden": [],
        },
    )


RULES: tuple[Callable[..., Advice | None], ...] = (_junk, _habitual, _hedging, _notes_go_stale)


def suggest(context: PhaseContext, *, most: int | None = None) -> int:
    """Propose what is worth it, at most `most`; return how many proposals are new."""
    looks = (look(context) for look in (_release, _retire_patterns, _retire_facts, _prefer))
    return len(list(islice(filter(None, chain.from_iterable(looks)), most)))


def _release(context: PhaseContext) -> Iterator[Proposal | None]:
    """Propose to release what was kept out by its sound alone, from a trusted speaker."""
    facts = Fact.objects.filter(space=context.space)
    suspects = list(facts.filter(status=Fact.Status.QUARANTINED).order_by("pk"))
    if not suspects:
        return
    # All that is believed, but no more of it than who said it.
    live = facts.filter(status=Fact.Status.ACTIVE).only("message")
    # The account tells who somebody is, not the name they chose.
    speaker_of = claims.speakers_of_facts(context.space, [*suspects, *live])
    believed = Counter(speaker_of.get(fact.pk, "") for fact in live)
    doubtful = {speaker_of.get(fact.pk, "") for fact in suspects if fact.flags != SOUND_REASONS}
    trusted = {who for who, n in believed.items() if n >= TRUSTED_AFTER} - doubtful - {""}
    rows = [fact for fact in suspects if speaker_of.get(fact.pk) in trusted]
    why = N_("It only sounds like an order; %(n)s other facts from %(who)s are believed.")
    for fact in rows[:MAX_PROPOSALS]:
        values = {"n": believed[speaker_of[fact.pk]], "who": fact.said_by}
        yield context.propose(
            Kind.RELEASE,
            key=proposals.key("release", fact.pk),
            title=fact.text,
            rows=[fact],
            rationale=sentence(why, values),
            evidence=[proposals.evidence_of(fact)],
            confidence=0.4,
            flags=[proposals.SUSPICIOUS],
        )


def _retire_patterns(context: PhaseContext) -> Iterator[Proposal | None]:
    """Propose, once a month, to retire patterns that were never used."""
    key = proposals.key("unused-patterns", context.now.strftime("%Y-%m"))
    if proposals.is_known(context.space, key):
        return
    rows = list(unused_patterns(context.space, now=context.now).order_by("pk"))
    if not rows:
        return
    yield context.propose(
        Kind.RETIRE_PATTERN,
        key=key,
        title=sentence(N_("Retire %(n)s patterns that were never used"), {"n": len(rows)}),
        rows=rows,
        rationale="\n".join(
            f"{error_patterns.habit_title(row.trigger, row.evidence)}: {row.response}"
            for row in rows[:20]
        ),
        confidence=0.4,
    )


def _retire_facts(context: PhaseContext) -> Iterator[Proposal | None]:
    """Propose, once a month, to forget facts that no reply needed, when there are many."""
    key = proposals.key("unused-facts", context.now.strftime("%Y-%m"))
    if proposals.is_known(context.space, key):
        return
    rows = list(unused_facts(context.space, now=context.now)[:20])
    if len(rows) < ENOUGH_FACTS:
        return
    rows, proof = golden.unneeded(context.space, rows, now=context.now)
    if not rows:
        return
    yield context.propose(
        Kind.RETIRE,
        key=key,
        title=sentence(N_("Forget %(n)s facts that were not needed for 90 days"), {"n": len(rows)}),
        rows=rows,
        rationale=sentence(_PROVEN[bool(proof.answers), bool(proof.questions)], asdict(proof)),
        evidence=[{"fact": fact.pk, "quote": fact.text} for fact in rows],
        confidence=0.4,
    )


# By whether there were past answers, and golden questions, to ask again.
_PROVEN = {
    (True, True): N_(
        "No past answer and no golden question would change without them (asked again: "
        "%(answers)s and %(questions)s). Approving forgets all of them."
    ),
    (True, False): N_(
        "No past answer would change without them (asked again: %(answers)s). "
        "Approving forgets all of them."
    ),
    (False, True): N_(
        "No golden question would change without them (asked again: %(questions)s). "
        "Approving forgets all of them."
    ),
    (False, False): N_("No past answer would change without them. Approving forgets all of them."),
}


def _prefer(context: PhaseContext) -> Iterator[Proposal | None]:
    """Propose how people like to be answered, when several or one again and again say so."""
    wishes = defaultdict(list)
    rows = Fact.objects.filter(
        space=context.space,
        status=Fact.Status.ACTIVE,
        category=Fact.Category.PREFERENCE,
        last_seen_at__gt=context.now - timedelta(days=90),
    )
    # Little of what people prefer is about replies: only that is loaded as a whole.
    texts = rows.only("space", "text")
    matches = {row.pk: match for row in texts if (match := _WISH.match(row.text))}
    for fact in Fact.objects.filter(pk__in=matches).order_by("pk").select_related("message__chat"):
        wishes[fold(matches[fact.pk]["of"])].append(fact)
    known = {fold(row.key) for row in identity.preferences.active(context.space)} if wishes else ()
    for name, facts in sorted(wishes.items()):
        people, times = {fact.subject for fact in facts}, max(fact.times_seen for fact in facts)
        if name in known or (len(people) < MIN_PEOPLE and times < MIN_TIMES):
            continue
        wish = _capitalised(matches[facts[0].pk]["what"])
        first, _space, rest = wish.partition(" ")
        # The value does not repeat its key: "Reports" and "As bullet points".
        value = _capitalised(rest) if rest and fold(first) == name else wish
        yield context.propose(
            Kind.PREFERENCE,
            key=proposals.key("preference", name),
            title=wish,
            after={"key": name.capitalize(), "value": value} | _whose_wish(facts),
            rationale=_said_so(sorted(people)),
            evidence=[proposals.evidence_of(fact) for fact in facts],
            confidence=0.6,
        )


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _said_so(names: list[str]) -> str:
    if len(names) == 1:
        return sentence(N_("%(who)s said so."), {"who": names[0]})
    values = {"some": ", ".join(names[:-1]), "last": names[-1]}
    return sentence(N_("%(some)s and %(last)s said so."), values)


def _whose_wish(facts: list[Fact]) -> dict:
    """Return for whom a preference holds: one person who wishes it, else everybody."""
    people = {tuple(whom(fact.message).items()) for fact in facts if fact.message}
    return dict(people.pop()) if len(people) == 1 and all(fact.message for fact in facts) else {}


def needs_rescan(space: Space) -> bool:
    """Whether what is believed was not yet screened with the present guards."""
    return bool(spaces_to_rescan(Space.objects.filter(pk=space.pk)))


def spaces_to_rescan(spaces: QuerySet[Space]) -> list[int]:
    """Return the ids of the spaces that need a rescan."""
    scans = AuditEntry.objects.filter(action=RESCANNED, space__in=spaces)
    newest = scans.order_by("space", "-pk").distinct("space")
    version = screening.version()
    done = {entry.space_id for entry in newest if entry.details.get("version") == version}
    return [pk for pk in spaces.order_by("pk").values_list("pk", flat=True) if pk not in done]


def rescan(space: Space) -> int:
    """Screen what is believed with new guards; propose to let go what they find.

    A second run after a crash goes on: the same fact is not proposed twice.
    """
    if not needs_rescan(space):
        return 0
    made, live = 0, Fact.objects.in_space(space).live().filter(sticky=False)
    for fact in live.order_by("pk").iterator(chunk_size=500):
        ignore = screening.ORDERS if fact.kind in ORDERING else frozenset()
        texts = (fact.text, fact.quote)
        reasons = {r for text in texts for r in screening.screen(text, ignore=ignore).reasons}
        if reasons and screening.RELEASED not in fact.flags:
            made += _propose_to_retire(space, fact, sorted(reasons)) is not None
    audit.record(RESCANNED, actor="system", space=space, version=screening.version(), found=made)
    return made


def _propose_to_retire(space: Space, fact: Fact, reasons: list[str]) -> Proposal | None:
    why = N_("The guards changed and find something in it: %(why)s.")
    return proposals.propose(
        space,
        Kind.RETIRE,
        key=proposals.key("rescan", fact.pk, screening.version()),
        title=fact.text,
        rows=[fact],
        rationale=sentence(why, {"why": screening.describe_reasons(reasons)}),
        evidence=[proposals.evidence_of(fact)],
        confidence=0.6,
    )
