"""Check the health of a space: memory, provider, costs, worker, queue.

Each finding is a sentence. The night adds its own (sleep/nights.py). The watchdog, the page and
`manage.py doctor` show all of them.
"""

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F, Func, IntegerField, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory import jobs, notices, working
from memory.guards import screening
from memory.identity import rules
from memory.llm import choose as breaker
from memory.llm import pricing
from memory.llm.choose import Choice, choose
from memory.models import (
    Breaker,
    Chat,
    DeadLetter,
    Fact,
    Heartbeat,
    LlmCall,
    Message,
    Notice,
    OutboxItem,
    Space,
    encryption,
)
from memory.operations import backup, hooks

OK, WARNING, ERROR = "ok", "warning", "error"
MAX_WAITING_SECONDS = 120
WORKER_SILENT_AFTER = timedelta(seconds=30)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BACKUP_LATE = timedelta(hours=49)
WARN_MB, ERROR_MB = 1000, 2000
MAX_STALE_NOTES = 10
MAX_LONG_TERM_KB = 1024
MAX_UNREAD_MINUTES = 30
NOTICE_LEVELS = {
    "HEALTHY": Notice.Level.INFO,
    "DEGRADED": Notice.Level.WARNING,
    "UNHEALTHY": Notice.Level.ERROR,
}
# How long ago something may have happened that shows only now, such as an unanswered message.
WATCH_BACK = timedelta(minutes=5)


@dataclass(frozen=True)
class Finding:
    """The result of one check. `text` is empty when it is ok."""

    name: str
    level: str = OK
    text: str = ""


def check(space: Space, *, now: datetime, chosen: Choice | None = None) -> list[Finding]:
    """Run every check of the space; `chosen` is the model of the chat, where it is known."""
    chosen = chosen or choose("chat", space=space)
    measured = totals(**memory_figures(space, now=now), **figures(space, chosen, now=now))
    measured["provider"] = chosen.provider
    return [
        *judge_memory(memory_checks(space, measured)),
        *(judge(space, now, measured) for judge in JUDGES),
        *(look(space, now) for look in CHECKS),
    ]


def figures(space: Space, chat: Choice, *, now: datetime) -> dict:
    """Return the queries whose results JUDGES need, for totals()."""
    failing = Breaker.objects.filter(provider=chat.provider, model=chat.model)
    heard = Notice.objects.filter(space=space, kind__in=["canary", "walls"], seen_at=None)
    calls = LlmCall.objects.filter(space=space, at__gt=now - HOUR).exclude(purpose="chat")
    late = now - timedelta(seconds=MAX_WAITING_SECONDS)
    asked = Message.objects.filter(space=space, role=Message.Role.USER, received_at__lt=late)
    unanswered = asked.filter(handled_at=None).exclude(trace=Message.Trace.IMPORT)
    unsent = OutboxItem.objects.filter(space=space, delivered_at=None)
    return {
        "breaker_opened_at": ("max", failing.values("opened_at")),
        "small_calls": ("count", calls.values("pk")),
        "small_calls_failed": ("count", calls.filter(ok=False).values("pk")),
        "last_beat": ("max", Heartbeat.objects.values("beat_at")),
        "oldest_job": ("min", jobs.waiting_since(now=now)),
        "unanswered": ("count", unanswered.values("pk")),
        "undelivered": ("count", unsent.filter(failed_at__gt=now - DAY).values("pk")),
        "canaries_heard": ("count", heard.values("pk")),
        "dead_letters": ("count", jobs.dead_letters(space).values("pk")),
    }


def totals(**queries: tuple[str, QuerySet]) -> dict:
    """Run several aggregates in one round trip and return the results by name.

    Each query is ("count" | "sum" | "min" | "max", a queryset of one column).
    """
    parts, values = [], []
    for function, rows in queries.values():
        sql, params = rows.order_by().query.sql_with_params()
        parts.append(f"(SELECT {function}(value) FROM ({sql}) AS rows(value))")
        values += params
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(parts)}", values)
        return dict(zip(queries, cursor.fetchone(), strict=True))


def report(findings: list[Finding], *, now: datetime) -> dict:
    """Return the findings as JSON for machines: healthy means no errors; warnings are allowed."""
    errors = [finding.text for finding in findings if finding.level == ERROR]
    return {
        "status": "unhealthy" if errors else "healthy",
        "timestamp": now.isoformat(),
        "checks": {finding.name: finding.level for finding in findings},
        "warnings": [finding.text for finding in findings if finding.level == WARNING],
        "errors": errors,
    }


def overall_state(findings: list[Finding]) -> str:
    """HEALTHY, DEGRADED (something warns) or UNHEALTHY (something is broken)."""
    levels = {finding.level for finding in findings}
    return "UNHEALTHY" if ERROR in levels else "DEGRADED" if WARNING in levels else "HEALTHY"


def provider(space: Space, now: datetime, measured: dict) -> Finding:
    name = measured["provider"]
    state = breaker.state_of(measured["breaker_opened_at"], now=now)
    if not breaker.is_ready(name):
        text = _("The provider %(name)s has no key: nothing can answer.")
    elif state == "open":
        text = _("The provider %(name)s fails and is left alone for a while.")
    elif state == "half-open":
        text = _("The provider %(name)s failed and is about to be tried again.")
        return Finding("provider", WARNING, text % {"name": name})
    else:
        return Finding("provider")
    return Finding("provider", ERROR, text % {"name": name})


def second_model(space: Space, now: datetime, measured: dict) -> Finding:
    """Check the small model: when it fails nobody notices, because heuristics step in."""
    total, failed = measured["small_calls"], measured["small_calls_failed"]
    if total < 5 or failed <= total / 2:
        return Finding("second_model")
    text = _("%(failed)s of %(total)s calls of the small model failed in the last hour.")
    level = ERROR if failed > total * 0.8 else WARNING
    return Finding("second_model", level, text % {"failed": failed, "total": total})


def worker(space: Space, now: datetime, measured: dict) -> Finding:
    last = measured["last_beat"]
    if last and last > now - WORKER_SILENT_AFTER:
        return Finding("worker")
    return Finding("worker", ERROR, _("No worker is running: start manage.py runbot."))


def worker_runs(*, now: datetime) -> bool:
    """Tell whether any worker is alive, for pages that need no other check."""
    return living_workers(now=now) > 0


def living_workers(*, now: datetime) -> int:
    return Heartbeat.objects.filter(beat_at__gt=now - WORKER_SILENT_AFTER).count()


def queue(space: Space, now: datetime, measured: dict) -> Finding:
    since = measured["oldest_job"]
    seconds = (now - since).total_seconds() if since else 0
    if seconds <= MAX_WAITING_SECONDS:
        return Finding("queue")
    text = _("The oldest job has been waiting for %(minutes)s minutes.")
    return Finding("queue", ERROR, text % {"minutes": round(seconds / 60)})


def unanswered(space: Space, now: datetime, measured: dict) -> Finding:
    count = measured["unanswered"]
    if not count:
        return Finding("unanswered")
    text = ngettext(
        "%(count)s message waits for an answer.", "%(count)s messages wait for an answer.", count
    )
    return Finding("unanswered", WARNING, text % {"count": count})


def deliveries(space: Space, now: datetime, measured: dict) -> Finding:
    failed, dead = measured["undelivered"], measured["dead_letters"]
    if not failed + dead:
        return Finding("deliveries")
    jobs = ngettext("%(n)s job was given up.", "%(n)s jobs were given up.", dead)
    replies = ngettext(
        "%(n)s reply could not be delivered.", "%(n)s replies could not be delivered.", failed
    )
    sentences = [text % {"n": n} for text, n in ((jobs, dead), (replies, failed)) if n]
    return Finding("deliveries", WARNING, " ".join(sentences))


def costs(space: Space, now: datetime) -> Finding:
    for limit in pricing.budgets(space, now=now):
        if limit.share >= pricing.WARN_AT:
            text = _("%(spent).2f of %(limit).2f US dollars are spent (%(name)s).")
            values = {"spent": limit.spent, "limit": limit.limit, "name": limit.name}
            return Finding("costs", ERROR if limit.is_spent else WARNING, text % values)
    return Finding("costs")


def size(space: Space, now: datetime) -> Finding:
    """Check how much main memory this process holds."""
    used = resident_mb()
    if used <= WARN_MB:
        return Finding("size")
    text = _("This process holds %(used)s MB of main memory; 200 to 400 is usual.")
    level = ERROR if used > ERROR_MB else WARNING
    return Finding("size", level, text % {"used": used})


def last_backup(space: Space, now: datetime) -> Finding:
    """Check that the daily backup was made."""
    age = backup.age(now=now)
    if settings.KENO_BACKUP_DAYS and (age is None or age > BACKUP_LATE):
        return Finding("backup", WARNING, _("There is no backup of the last two days."))
    return Finding("backup")


def failed_hooks(space: Space, now: datetime) -> Finding:
    failed = hooks.failures(space, now=now)
    return Finding("hooks", WARNING, "\n".join(failed)) if failed else Finding("hooks")


def content_key(space: Space, now: datetime) -> Finding:
    """Check that the key of an encrypted space can be opened: without it nothing is written."""
    try:
        encryption.writing_key(space.pk)
    except encryption.KeyMissing:
        return Finding("encryption", ERROR, _("This space is encrypted and its key is missing."))
    return Finding("encryption")


def walls(space: Space, now: datetime, measured: dict) -> Finding:
    """Check that no canary was heard outside its chat, nor by the nightly test of the walls."""
    if not measured["canaries_heard"]:
        return Finding("walls")
    return Finding("walls", ERROR, _("A canary was heard outside its chat. See the notices."))


def resident_mb() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() // 2**20
    except OSError:
        # Not Linux: the most it ever held, which macOS counts in bytes.
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // (2**20 if sys.platform == "darwin" else 2**10)


# Checks that need only figures(), which come in one statement.
JUDGES = (provider, second_model, worker, queue, unanswered, deliveries, walls)
# Checks that make their own queries; other apps append theirs.
CHECKS: list[Callable[[Space, datetime], Finding]] = []
CHECKS += costs, size, last_backup, failed_hooks, content_key


def settings_problems() -> list[str]:
    """Return sentences about settings that cannot work, for `manage.py doctor`."""
    needs = breaker.NEEDS.get(settings.PROVIDER)
    if not needs or breaker.is_ready(settings.PROVIDER):
        return []
    values = {"provider": settings.PROVIDER, "name": needs[0]}
    return [_("PROVIDER is %(provider)s but %(name)s is not set.") % values]


def memory_health(space: Space, *, now: datetime | None = None) -> dict:
    """Check the memory alone (no provider, worker or queue), as JSON in the shape KenoBot uses."""
    now = now or timezone.now()
    checks = memory_checks(space, totals(**memory_figures(space, now=now)))
    return report(judge_memory(checks), now=now) | {"checks": checks}


def memory_figures(space: Space, *, now: datetime) -> dict:
    """Return the queries that memory_checks() needs, for totals()."""
    facts, *others = (rows.values("pk") for rows in screening.pending(space).values())
    unread_since = now - timedelta(minutes=MAX_UNREAD_MINUTES)
    answered = Message.objects.filter(space=space, role="user", handled_at__lt=unread_since)
    unread = answered.filter(ingested_at=None).exclude(trace="import")
    return {
        "stale_notes": ("count", working.stale(space, now=now).values("pk")),
        "long_term_bytes": ("sum", live_sizes(space)),
        "quarantined": ("count", facts.union(*others, all=True)),
        "waiting_messages": ("count", unread.values("pk")),
    }


def memory_checks(space: Space, measured: dict) -> dict[str, Any]:
    names = ("stale_notes", "quarantined", "waiting_messages")
    return {name: measured[name] for name in names} | {
        "long_term_kb": (measured["long_term_bytes"] or 0) // 1024,
        # The core cannot be empty: without one of its own a space has the shipped one.
        "identity": bool(rules.active(space)),
    }


def judge_memory(checks: dict[str, Any]) -> list[Finding]:
    """Turn the checks into warnings and errors."""
    findings = [Finding("memory", WARNING, text) for text in _memory_warnings(checks)]
    if not checks["identity"]:
        findings.insert(0, Finding("memory", ERROR, _("The identity is empty.")))
    return findings or [Finding("memory")]


def live_sizes(space: Space) -> QuerySet:
    """Return the size in bytes of the text of each live fact."""
    # Postgres keeps the number of bytes beside a text; characters it has to count.
    size = Func("text", function="octet_length", output_field=IntegerField())
    return Fact.objects.in_space(space).live().values(size=size)


def _memory_warnings(checks: dict) -> list[str]:
    warnings = []
    if checks["stale_notes"] > MAX_STALE_NOTES:
        warnings.append(_("%(n)s working notes are stale.") % {"n": checks["stale_notes"]})
    if checks["long_term_kb"] > MAX_LONG_TERM_KB:
        warnings.append(_("The live facts hold %(n)s KB of text.") % {"n": checks["long_term_kb"]})
    if n := checks["quarantined"]:
        text = ngettext(
            "%(n)s memory waits in quarantine.", "%(n)s memories wait in quarantine.", n
        )
        warnings.append(text % {"n": n})
    if n := checks["waiting_messages"]:
        text = ngettext(
            "%(n)s message has not been read for facts yet.",
            "%(n)s messages have not been read for facts yet.",
            n,
        )
        warnings.append(text % {"n": n})
    return warnings


def watch(space: Space, *, now: datetime) -> Notice | None:
    """Tell the owner when the state of health changed; None when it is as before."""
    current = overall_state(check(space, now=now))
    if current == last_state(space):
        return None
    return notices.tell(
        space,
        kind="health",
        key=f"health-{current}-{now:%Y%m%dT%H%M%S}",
        level=NOTICE_LEVELS[current],
        text=lambda: (
            " ".join(finding.text for finding in check(space, now=now) if finding.text)
            or _("Everything works again.")
        ),
    )


def to_watch(*, now: datetime) -> QuerySet[Space]:
    """Return the spaces whose health may have changed, a few even of many.

    These are all when the installation itself is unwell. Otherwise those in which something
    happened a moment ago or whose last notice was bad, and each minute a sixtieth of the others.
    """
    since = now - WATCH_BACK
    health = Notice.objects.filter(kind="health").order_by("space", "-created_at", "-pk")
    last_levels = health.distinct("space").values_list("space", "level")
    happened = [
        Chat.objects.filter(last_message_at__gt=since).values("space"),
        LlmCall.objects.filter(at__gt=since).values("space"),
        OutboxItem.objects.filter(failed_at__gt=since).values("space"),
        DeadLetter.objects.filter(at__gt=since).values("space"),
        Notice.objects.filter(created_at__gt=since).exclude(kind="health").values("space"),
    ]
    moved = {row["space"] for rows in happened for row in rows.distinct()}
    unwell = {space for space, level in last_levels if level != Notice.Level.INFO}
    spaces = Space.objects.order_by("pk")
    is_late = jobs.oldest_waiting(now=now) > timedelta(seconds=MAX_WAITING_SECONDS)
    if is_late or Breaker.objects.exclude(opened_at=None).exists():
        return spaces
    turn = Q(remainder=now.minute, archived_at=None)
    return spaces.annotate(remainder=F("pk") % 60).filter(turn | Q(pk__in=moved | unwell))


def last_state(space: Space) -> str:
    """Return the state that the newest health notice told about."""
    last = Notice.objects.filter(space=space, kind="health").order_by("-created_at", "-pk").first()
    if last is None:
        return "HEALTHY"
    return next(name for name, level in NOTICE_LEVELS.items() if level == last.level)


def forget_dead_workers(*, now: datetime) -> int:
    return Heartbeat.objects.filter(beat_at__lt=now - DAY).delete()[0]
