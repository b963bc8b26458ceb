"""What a night measures about Keno, and what it suggests to change. A person decides all of it.

Only what can be approved is suggested: a setting, a rule, a preference, or rows to share, release
or let go. What the built-in answers say is ours and never a reason for advice.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

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

WEEK, MONTH, UNUSED = timedelta(days=7), timedelta(days=30), timedelta(days=90)
REMOVED_STATUSES = (Fact.Status.ARCHIVED, Fact.Status.TRASHED)
ENOUGH_REPLIES, ENOUGH_FACTS = 10, 10
# So many at once: a person should be able to look at each.
MAX_PROPOSALS = 5
# What an author must have told that is believed, before a doubt about them is doubted.
TRUSTED_AFTER = 5
# The guard that judges by the sound of a line; the others name what is wrong with it.
SOUND_REASONS = ["learned"]
# So many people, or one so often, make a wish about replies worth a question.
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
    """The counts of tonight's phases, added up by name."""
    totals: Measures = {}
    for (counts,) in _counts(night=night.pk, run=night.run):
        for name, n in counts.items():
            totals[name] = totals.get(name, 0) + n
    return totals


@prepared(night="bigint", run="integer")
def _counts(night, run):
    return PhaseRun.objects.filter(night=night, run=run).values_list("counts")


def day_counts(night: Night, *, now: datetime) -> Measures:
    """What was learned in talk since the night before."""
    earlier = Night.objects.filter(space=night.space, local_date__lt=night.local_date)
    last = earlier.order_by("-local_date").values_list("started_at", flat=True).first()
    facts = Fact.objects.filter(
        space=night.space, created_at__gt=last or now - WEEK, created_at__lte=now
    )
    put_away = Fact.Status.QUARANTINED, *REMOVED_STATUSES
    by_day = facts.exclude(source=Fact.Source.NIGHT).exclude(written_by="night")
    return {"facts_by_day": by_day.exclude(status__in=put_away).count()}


def reply_measures(space: Space, *, now: datetime) -> tuple[Measures, list[str]]:
    """How a language model talked in the last week, and its replies."""
    told = _replies(space=space.pk, since=now - WEEK, now=now)
    if not told:
        return {"replies": 0}, []
    replies = [text for text, _flags in told]
    held = identity.rules.violations_of(space, replies)
    hedged = sum("hedging" in flags for _text, flags in told)
    return {
        "replies": len(replies),
        "filler_rate": round(sum(map(bool, held)) / len(replies), 4),
        "hedging_rate": round(hedged / len(replies), 4),
        "reply_length": round(sum(map(len, replies)) / len(replies), 1),
    }, replies


@prepared(space="bigint", since="timestamptz", now="timestamptz")
def _replies(space, since, now):
    asked = LlmCall.objects.filter(
        space=space, purpose=LlmCall.Purpose.CHAT, ok=True, at__gt=since
    ).exclude(provider="offline")
    rows = Message.objects.filter(
        space=space,
        role=Message.Role.ASSISTANT,
        reply_to__in=asked.values("message"),
        sent_at__gt=since,
        sent_at__lte=now,
    )
    return rows.order_by("-sent_at").values_list("text", "flags")[:2000]


def memory_measures(space: Space, *, now: datetime) -> Measures:
    """What extraction left behind, and what nobody needs."""
    extracted = dict(_extracted(space=space.pk, since=now - MONTH, now=now))
    total, junk = sum(extracted.values()), sum(extracted.get(one, 0) for one in REMOVED_STATUSES)
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
    """Old facts that no reply needed and nobody repeated for so long, the oldest first."""
    idle = Q(last_used_at=None) | Q(last_used_at__lt=now - UNUSED)
    old = Fact.objects.filter(space=space, status=Fact.Status.ACTIVE, pinned=False, sticky=False)
    return old.filter(idle, created_at__lt=now - UNUSED).order_by("created_at", "pk")


def unused_patterns(space: Space, *, now: datetime) -> QuerySet[Pattern]:
    """Patterns a month old that nothing has called for."""
    live = Pattern.objects.filter(space=space, status=Pattern.Status.ACTIVE)
    return live.filter(use_count=0, created_at__lt=now - MONTH)


def error_repeat_rate(totals: Measures) -> float:
    """The share of a night's errors that taught nothing new; others' outages do not count."""
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


def _notes_go_stale(m: Measures, _opening: str, options: dict) -> Advice | None:
    days = options.get("working_stale_days", 7)
    if m.get("notes", 0) <= 5 or days >= 30:
        return None
    return _setting(
        "stale-notes",
        "low",
        sentence(
            N_("%(n)d working notes went stale after %(days)d days."),
            {"n": m["notes"], "days": days},
        ),
        sentence(N_("Keep working notes for %(days)d days."), {"days": min(30, days * 2)}),
        "working_stale_days",
        min(30, days * 2),
    )


def _junk(m: Measures, _opening: str, options: dict) -> Advice | None:
    sure = options.get("believe_from", 0.8)
    if m.get("extracted", 0) < ENOUGH_FACTS or m.get("junk_rate", 0) <= 0.3 or sure >= 0.95:
        return None
    surer = round(min(0.95, sure + 0.05), 2)
    return _setting(
        "junk",
        "high",
        sentence(
            N_("People took back %(rate)d %% of %(n)d extracted facts."),
            {"rate": 100 * m["junk_rate"], "n": m["extracted"]},
        ),
        sentence(N_("Believe only what Keno is surer of: from %(sure)s."), {"sure": surer}),
        "believe_from",
        surer,
    )


def _habitual(m: Measures, opening: str, _options: dict) -> Advice | None:
    if not opening:
        return None
    return Advice(
        "habitual-opening",
        "medium",
        sentence(
            N_("More than a fifth of %(n)d replies begin with “%(opening)s”."),
            {"n": m.get("replies", 0), "opening": opening},
        ),
        sentence(N_("Do not begin a reply with “%(opening)s”."), {"opening": opening}),
        "rule",
        {
            "slug": f"no-opening-{'-'.join(opening.split())}"[:80],
            "category": "style",
            "instruction": _("Begin with the answer, not with “%(opening)s”.")
            % {"opening": opening},
            "forbidden": [{"phrase": opening, "reason": "habit", "pattern": False}],
        },
    )


def _hedging(m: Measures, *__) -> Advice | None:
    if m.get("replies", 0) < ENOUGH_REPLIES or m.get("hedging_rate", 0) <= 0.3:
        return None
    return Advice(
        "hedging",
        "medium",
        sentence(
            N_("%(rate)d %% of %(n)d replies hedge."),
            {"rate": 100 * m["hedging_rate"], "n": m["replies"]},
        ),
        sentence(N_("Say plainly what is known, and plainly what is not.")),
        "rule",
        {
            "slug": "plain-about-doubt",
            "category": "style",
            "instruction": _("Say plainly what you know. When you do not know, say that once."),
            "forbidden": [],
        },
    )


def _setting(name: str, priority: str, seen: str, told: str, option: str, value: float) -> Advice:
    return Advice(name, priority, seen, told, "setting", {"name": option, "value": value})


RULES: tuple[Callable[..., Advice | None], ...] = (_junk, _habitual, _hedging, _notes_go_stale)


def suggest(context: PhaseContext, *, most: int | None = None) -> int:
    """Propose what is worth it, at most so many; how many are new."""
    made = 0
    for look in (_release, _retire_patterns, _retire_facts, _prefer):
        for one in look(context):
            made += bool(one)
            if most is not None and made >= most:
                return made
    return made


def _release(context: PhaseContext) -> Iterator[Proposal | None]:
    """Kept out by its sound alone, from somebody whose other words are believed."""
    held = list(
        Fact.objects.filter(space=context.space, status=Fact.Status.QUARANTINED).order_by("pk")
    )
    if not held:
        return
    # All that is believed, but no more of it than who said it.
    live = Fact.objects.filter(space=context.space, status=Fact.Status.ACTIVE).only("message")
    # Who somebody is says their account, not the name they chose.
    speaker_of = claims.speakers_of_facts(context.space, [*held, *live])
    told = Counter(speaker_of.get(fact.pk, "") for fact in live)
    doubtful = {speaker_of.get(fact.pk, "") for fact in held if fact.flags != SOUND_REASONS}
    rows = [
        fact
        for fact in held
        if (who := speaker_of.get(fact.pk, ""))
        and who not in doubtful
        and told[who] >= TRUSTED_AFTER
    ]
    for fact in rows[:MAX_PROPOSALS]:
        yield proposals.propose(
            context.space,
            Kind.RELEASE,
            key=proposals.key("release", fact.pk),
            night=context.night,
            title=fact.text,
            rows=[fact],
            rationale=sentence(
                N_("It only sounds like an order; %(n)s other facts from %(who)s are believed."),
                {"n": told[speaker_of[fact.pk]], "who": fact.said_by},
            ),
            evidence=[proposals.evidence_of(fact)],
            confidence=0.4,
            flags=[proposals.SUSPICIOUS],
        )


def _retire_patterns(context: PhaseContext) -> Iterator[Proposal | None]:
    """Patterns that nothing called for in a month; asked once a month."""
    key = proposals.key("unused-patterns", context.now.strftime("%Y-%m"))
    if proposals.is_known(context.space, key):
        return
    rows = list(unused_patterns(context.space, now=context.now).order_by("pk"))
    if not rows:
        return
    yield _retire(
        context,
        rows,
        kind=Kind.RETIRE_PATTERN,
        key=key,
        title=sentence(N_("Retire %(n)s patterns that were never used"), {"n": len(rows)}),
        rationale="\n".join(f"{_named(one)}: {one.response}" for one in rows[:20]),
    )


def _named(pattern: Pattern) -> str:
    return error_patterns.habit_title(pattern.trigger, pattern.evidence)


def _retire_facts(context: PhaseContext) -> Iterator[Proposal | None]:
    """Facts that no reply needed for three months, when there are many; asked once a month."""
    key = proposals.key("unused-facts", context.now.strftime("%Y-%m"))
    if proposals.is_known(context.space, key):
        return
    rows = list(unused_facts(context.space, now=context.now)[:20])
    if len(rows) < ENOUGH_FACTS:
        return
    rows, proof = golden.unneeded(context.space, rows, now=context.now)
    if not rows:
        return
    yield _retire(
        context,
        rows,
        key=key,
        title=sentence(N_("Forget %(n)s facts that were not needed for 90 days"), {"n": len(rows)}),
        rationale=sentence(_PROVEN[bool(proof.answers), bool(proof.questions)], asdict(proof)),
        evidence=[{"fact": fact.pk, "quote": fact.text} for fact in rows],
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


def _retire(
    context: PhaseContext, rows: list, *, kind: str = Kind.RETIRE, **given: Any
) -> Proposal | None:
    given |= {"night": context.night, "rows": rows, "confidence": 0.4}
    return proposals.propose(context.space, kind, **given)


def _prefer(context: PhaseContext) -> Iterator[Proposal | None]:
    """How people like to be answered, said by several or again and again."""
    wishes = defaultdict(list)
    rows = Fact.objects.filter(
        space=context.space,
        status=Fact.Status.ACTIVE,
        category=Fact.Category.PREFERENCE,
        last_seen_at__gt=context.now - timedelta(days=90),
    )
    # Of all that people prefer little is about replies: only that is read whole.
    short = rows.only("space", "text")
    wished = {one.pk: wish for one in short if (wish := _WISH.match(one.text))}
    for fact in Fact.objects.filter(pk__in=wished).order_by("pk").select_related("message__chat"):
        wish = wished[fact.pk]
        wishes[fold(wish["of"])].append((fact, wish["what"]))
    named = {fold(one.key) for one in identity.preferences.active(context.space)} if wishes else ()
    for name, some in sorted(wishes.items()):
        facts = [fact for fact, _what in some]
        people, times = {fact.subject for fact in facts}, max(fact.times_seen for fact in facts)
        if name in named or (len(people) < MIN_PEOPLE and times < MIN_TIMES):
            continue
        told = some[0][1][:1].upper() + some[0][1][1:]
        yield proposals.propose(
            context.space,
            Kind.PREFERENCE,
            key=proposals.key("preference", name),
            night=context.night,
            title=told,
            after={"key": name.capitalize(), "value": _without(name, told)} | _whom(facts),
            rationale=_said_so(sorted(people)),
            evidence=[proposals.evidence_of(fact) for fact in facts],
            confidence=0.6,
        )


def _without(name: str, told: str) -> str:
    """Leave the key out of its value: "Reports" and "As bullet points"."""
    first, _space, rest = told.partition(" ")
    return rest[:1].upper() + rest[1:] if rest and fold(first) == name else told


def _said_so(names: list[str]) -> str:
    if len(names) == 1:
        return sentence(N_("%(who)s said so."), {"who": names[0]})
    some = {"some": ", ".join(names[:-1]), "last": names[-1]}
    return sentence(N_("%(some)s and %(last)s said so."), some)


def _whom(facts: list[Fact]) -> dict:
    """What one person wishes is theirs; what several wish, everybody's."""
    said = {tuple(whom(fact.message).items()) for fact in facts if fact.message}
    return dict(said.pop()) if len(said) == 1 and all(fact.message for fact in facts) else {}


def needs_rescan(space: Space) -> bool:
    """Whether what is believed was not yet looked through with the guards as they are now."""
    return bool(to_rescan(Space.objects.filter(pk=space.pk)))


def to_rescan(spaces: QuerySet[Space]) -> list[int]:
    """Return those of the spaces that need it."""
    seen = AuditEntry.objects.filter(action=RESCANNED, space__in=spaces)
    newest = seen.order_by("space", "-pk").distinct("space")
    known = {one.space_id for one in newest if one.details.get("version") == screening.version()}
    return [pk for pk in spaces.order_by("pk").values_list("pk", flat=True) if pk not in known]


def rescan(space: Space) -> int:
    """Look through what is believed with new guards; propose to let go what they name.

    Run again after a crash it goes on: the same fact is not proposed twice.
    """
    if not needs_rescan(space):
        return 0
    made, live = 0, Fact.objects.in_space(space).live().filter(sticky=False)
    for fact in live.order_by("pk").iterator(chunk_size=500):
        ignore = screening.ORDERS if fact.kind in ORDERING else frozenset()
        found = {
            reason
            for words in (fact.text, fact.quote)
            for reason in screening.screen(words, ignore=ignore).reasons
        }
        if found and screening.RELEASED not in fact.flags:
            made += _doubt(space, fact, sorted(found)) is not None
    audit.record(RESCANNED, actor="system", space=space, version=screening.version(), found=made)
    return made


def _doubt(space: Space, fact: Fact, reasons: list[str]) -> Proposal | None:
    return proposals.propose(
        space,
        Kind.RETIRE,
        key=proposals.key("rescan", fact.pk, screening.version()),
        title=fact.text,
        rows=[fact],
        rationale=sentence(
            N_("The guards changed and find something in it: %(why)s."),
            {"why": screening.describe_reasons(reasons)},
        ),
        evidence=[proposals.evidence_of(fact)],
        confidence=0.6,
    )
