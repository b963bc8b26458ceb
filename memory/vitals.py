"""How Keno is at this moment: memory, provider, costs, worker, queue. Each finding is a sentence.

The night adds its own (sleep/health.py); the watchdog, the page and `manage.py doctor` show all.
"""

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from memory import health, jobs
from memory.llm import breaker, budget
from memory.llm.choose import choose
from memory.models import Heartbeat, LlmCall, Message, OutboxItem, Space

OK, WARNING, ERROR = "ok", "warning", "error"
QUEUE_SECONDS = 120
SILENT = timedelta(seconds=30)
HOUR = timedelta(hours=1)
LARGE_MB, HUGE_MB = 1000, 2000


@dataclass(frozen=True)
class Finding:
    """One check. `text` is empty when all is well."""

    name: str
    level: str = OK
    text: str = ""


def check(space: Space, *, now: datetime) -> list[Finding]:
    return [*memory(space, now), *(one(space, now) for one in CHECKS)]


def report(findings: list[Finding], *, now: datetime) -> dict:
    """As machines read it: healthy means no errors; warnings are allowed."""
    errors = [found.text for found in findings if found.level == ERROR]
    return {
        "status": "unhealthy" if errors else "healthy",
        "timestamp": now.isoformat(),
        "checks": {found.name: found.level for found in findings},
        "warnings": [found.text for found in findings if found.level == WARNING],
        "errors": errors,
    }


def state(findings: list[Finding]) -> str:
    """HEALTHY, DEGRADED (something warns) or UNHEALTHY (something is broken)."""
    levels = {found.level for found in findings}
    return "UNHEALTHY" if ERROR in levels else "DEGRADED" if WARNING in levels else "HEALTHY"


def memory(space: Space, now: datetime) -> list[Finding]:
    found = health.health(space, now=now)
    unwell = [Finding("memory", ERROR, text) for text in found.errors]
    unwell += [Finding("memory", WARNING, text) for text in found.warnings]
    return unwell or [Finding("memory")]


def provider(space: Space, now: datetime) -> Finding:
    name = choose("chat", space=space).provider
    found = breaker.state(name, now=now)
    if found == "open":
        text = _("The provider %(name)s fails and is left alone for a while.")
        return Finding("provider", ERROR, text % {"name": name})
    if found == "half-open":
        text = _("The provider %(name)s failed and is about to be tried again.")
        return Finding("provider", WARNING, text % {"name": name})
    return Finding("provider")


def second_model(space: Space, now: datetime) -> Finding:
    """The small model may fail without anybody noticing: heuristics step in."""
    calls = LlmCall.objects.filter(space=space, at__gt=now - HOUR).exclude(purpose="chat")
    total, failed = calls.count(), calls.filter(ok=False).count()
    if total < 5 or failed <= total / 2:
        return Finding("second_model")
    text = _("%(failed)s of %(total)s calls of the small model failed in the last hour.")
    level = ERROR if failed > total * 0.8 else WARNING
    return Finding("second_model", level, text % {"failed": failed, "total": total})


def costs(space: Space, now: datetime) -> Finding:
    for one in budget.budgets(space, now=now):
        if one.share >= budget.WARN_AT:
            text = _("%(spent).2f of %(limit).2f US dollars are spent (%(name)s).")
            values = {"spent": one.spent, "limit": one.limit, "name": one.name}
            return Finding("costs", ERROR if one.is_spent else WARNING, text % values)
    return Finding("costs")


def worker(space: Space, now: datetime) -> Finding:
    if Heartbeat.objects.filter(beat_at__gt=now - SILENT).exists():
        return Finding("worker")
    return Finding("worker", ERROR, _("No worker runs: start manage.py runbot."))


def queue(space: Space, now: datetime) -> Finding:
    seconds = jobs.oldest_waiting(now=now).total_seconds()
    if seconds <= QUEUE_SECONDS:
        return Finding("queue")
    text = _("The oldest job has been waiting for %(minutes)s minutes.")
    return Finding("queue", ERROR, text % {"minutes": round(seconds / 60)})


def unanswered(space: Space, now: datetime) -> Finding:
    old = Message.objects.filter(
        space=space,
        role=Message.Role.USER,
        handled_at=None,
        received_at__lt=now - timedelta(seconds=QUEUE_SECONDS),
    ).exclude(trace=Message.Trace.IMPORT)
    count = old.count()
    if not count:
        return Finding("unanswered")
    return Finding(
        "unanswered", WARNING, _("%(count)s messages wait for an answer.") % {"count": count}
    )


def deliveries(space: Space, now: datetime) -> Finding:
    failed = OutboxItem.objects.filter(
        space=space, failed_at__gt=now - timedelta(days=1), delivered_at=None
    ).count()
    dead = jobs.dead_letters(space).count()
    if not failed + dead:
        return Finding("deliveries")
    text = _("%(dead)s jobs were given up and %(failed)s replies could not be delivered.")
    return Finding("deliveries", WARNING, text % {"dead": dead, "failed": failed})


def size(space: Space, now: datetime) -> Finding:
    """The process that looks: the worker once a minute, the web server on its page."""
    used = resident_mb()
    if used <= LARGE_MB:
        return Finding("size")
    text = _("This process holds %(used)s MB of main memory; usual are 200 to 400.")
    level = ERROR if used > HUGE_MB else WARNING
    return Finding("size", level, text % {"used": used})


def resident_mb() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() // 2**20
    except OSError:
        # Not Linux: the most it ever held, which macOS counts in bytes.
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // (2**20 if sys.platform == "darwin" else 2**10)


CHECKS: list[Callable[[Space, datetime], Finding]] = [
    provider,
    second_model,
    costs,
    worker,
    queue,
    unanswered,
    deliveries,
    size,
]


def setup() -> list[str]:
    """What in the settings cannot work, in sentences; for `manage.py doctor`."""
    problems = []
    if settings.PROVIDER == "anthropic" and not settings.ANTHROPIC_API_KEY:
        problems.append(_("PROVIDER is anthropic but ANTHROPIC_API_KEY is not set."))
    if settings.PROVIDER == "openai" and not (settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL):
        problems.append(_("PROVIDER is openai but OPENAI_API_KEY is not set."))
    return problems
