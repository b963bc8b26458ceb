"""Health: every check with what to do, /readyz for monitors, and jobs that were given up."""

import datetime as dt
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt

from kenoweb.auth.access import for_anyone, get_in_space_or_404, in_space, rows_in, with_token
from kenoweb.operations.notices import letter_list
from kenoweb.operations.overview import STATES
from kenoweb.ui.formatting import channel_name, embedder_name, model_name, number, since
from kenoweb.ui.responses import refreshed, space_url, toast, toast_error
from memory import jobs
from memory.history.actors import person
from memory.llm.choose import Choice, choose
from memory.models import Breaker, DeadLetter, Heartbeat, Space, encryption
from memory.operations import backup, replica
from memory.operations import health as health_checks
from memory.operations.metrics import prometheus_text
from memory.vectors import embed
from memory.vectors import store as embeddings
from sleep import nights
from sleep.models import Night

MIN_FREE_DISK = 0.10
MAX_WAIT = dt.timedelta(minutes=2)
# Counting memories without a vector stops here.
COUNT_LIMIT = 10_000
FORGET_WORKERS_AFTER = dt.timedelta(days=1)
MAX_SECONDS_BEHIND = 60
NAMES = {
    "worker": _("Worker"),
    "queue": _("Queue"),
    "provider": _("Language model"),
    "second_model": _("Small model"),
    "costs": _("Budget"),
    "unanswered": _("Answers"),
    "deliveries": _("Deliveries"),
    "memory": _("Memory"),
    "night": _("Night"),
    "embeddings": _("Embeddings"),
    "size": _("Main memory"),
    "database": _("Database"),
    "migrations": _("Tables"),
    "replica": _("Replica"),
    "disk": _("Disk"),
    "backup": _("Last backup"),
    "hooks": _("Hooks"),
    "walls": _("Walls between chats"),
    "encryption": _("Encryption"),
}
TO_DO = {
    "worker": _("Start manage.py runbot, or make run, and leave it running."),
    "queue": _("Start another worker, or check what the running one is doing."),
    "provider": _("It is retried automatically. Check the key and the provider's page."),
    "second_model": _("Heuristics step in meanwhile. Check the name of the model."),
    "costs": _("Raise the budget, or choose what happens when it is spent."),
    "unanswered": _("They are answered as soon as the worker and the model are OK."),
    "deliveries": _("Open the dead letters and retry them."),
    "memory": _("Check them; nothing is lost."),
    "night": _("A running worker starts the night. You can also start it now."),
    "embeddings": _("They are computed in the background; manage.py memory_embed does it now."),
    "size": _("Start it again; should it grow again, please report it."),
    "migrations": _("Run manage.py migrate."),
    "backup": _("Run manage.py keno_backup, and look at the log of the worker."),
    "walls": _("See the notices: they name the place. Mark them as seen when it is mended."),
    "encryption": _("Set KENO_CONTENT_KEY_FILE or KENO_CONTENT_PASSPHRASE as it was, and restart."),
    "hooks": _("Look at the executable in the folder hooks of the home, or remove it."),
    "replica": _("Check that it runs and that DATABASE_READ_URL is right."),
    "disk": _("Make room, or move KENO_HOME to a larger disk."),
}
# What a check without a measured value says while all is well.
WELL = {
    "second_model": _("no failures"),
    "costs": _("within it"),
    "unanswered": _("none missing"),
    "deliveries": _("none failed"),
    "memory": _("nothing to check"),
    "migrations": _("up to date"),
    "hooks": _("no failures"),
    "walls": _("none crossed"),
}
NONE_YET = _("none yet")
NOT_ENCRYPTED = _("not encrypted")
PAGES = {
    "costs": "settings:index",
    "deliveries": "dead_letters:index",
    "memory": "quarantine:index",
    "night": "nights:index",
    "unanswered": "chats:index",
}


def ready(*, with_nights: bool = False) -> dict[str, str]:
    """Return the problem of every check by its name; all empty means ready."""
    checks = CHECKS | ({"nights": late_nights} if with_nights else {})
    return {name: _run(check) for name, check in checks.items()}


def _run(check: Callable[[], str]) -> str:
    try:
        return check()
    except Error:
        return "The database does not answer."


def database() -> str:
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ""


def migrations() -> str:
    waiting = _shipped() - set(MigrationRecorder(connection).applied_migrations())
    return "The tables are older than the program: run manage.py migrate." if waiting else ""


def disk() -> str:
    """Check the data folder and, when it is ours, the database's."""
    for folder in _folders():
        usage = shutil.disk_usage(folder)
        if usage.free < usage.total * MIN_FREE_DISK:
            return f"Less than {MIN_FREE_DISK:.0%} of the disk is free."
    return ""


def queue() -> str:
    return _late(jobs.oldest_waiting(now=timezone.now()))


def late_nights() -> str:
    """Check the nights, only for monitors: no proxy should stop the pages because of them."""
    late = nights.overdue(now=timezone.now())
    return f"{late} spaces have not slept for over a day: run manage.py sleep." if late else ""


def _late(waited: dt.timedelta) -> str:
    is_late = waited > MAX_WAIT
    return "A job has waited for over two minutes: is the worker running?" if is_late else ""


CHECKS: dict[str, Callable[[], str]] = {
    "database": database,
    "migrations": migrations,
    "disk": disk,
    "queue": queue,
}


@cache
def _shipped() -> set[tuple[str, str]]:
    """Return every migration of this program; read from disk once."""
    return set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def _folders() -> set[Path]:
    folders = {settings.KENO_HOME}
    if not settings.DATABASE_URL:
        from kenoweb.launcher.embedded_account import place

        folders.add(place(settings.KENO_HOME).base)
    return {_existing(folder) for folder in folders}


def _existing(folder: Path) -> Path:
    return next(part for part in (folder, *folder.parents) if part.exists())


@for_anyone()
def healthz(request):
    return HttpResponse("ok\n", content_type="text/plain")


@for_anyone()
def readyz(request):
    problems = ready(with_nights="nights" in request.GET)
    is_ready = not any(problems.values())
    checks = {name: problem or "ok" for name, problem in problems.items()}
    return JsonResponse({"ready": is_ready, "checks": checks}, status=200 if is_ready else 503)


@with_token
@csrf_exempt
def metrics(request):
    """Answer Prometheus. Without METRICS_TOKEN in the environment nobody gets in."""
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    expected = settings.METRICS_TOKEN
    if not expected or not constant_time_compare(token, expected):
        return HttpResponse("Send METRICS_TOKEN as a bearer token.\n", status=401)
    text = prometheus_text(now=timezone.now())
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


def health_page(space: Space, *, now: dt.datetime) -> dict:
    counts = jobs.counts()
    beats = list(Heartbeat.objects.order_by("-beat_at")[:12])
    chosen, waited = choose("chat", space=space), jobs.oldest_waiting(now=now)
    findings = health_checks.check(space, now=now, chosen=chosen)
    findings += [vectors(space), *installation(waited), *read_replica()]
    values = _values(space, now=now, counts=counts, beats=beats, chosen=chosen)
    checks = _checks(findings, values, space)
    return {
        "state": health_checks.overall_state(findings),
        "checks": checks,
        "unwell": [check for check in checks if check["level"] != health_checks.OK],
        "workers": [
            _worker(beat, now) for beat in beats if beat.beat_at > now - FORGET_WORKERS_AFTER
        ],
        "breakers": list(Breaker.objects.order_by("provider", "model")),
        "counts": counts,
        "oldest": since(now - waited, now=now) if waited else "–",
        "version": settings.VERSION,
        "at": now,
    }


def _worker(beat: Heartbeat, now: dt.datetime) -> dict:
    channels = [
        (channel_name(name), STATES.get(state, state), state == "running")
        for name, state in beat.channels.items()
    ]
    alive = beat.beat_at > now - health_checks.WORKER_SILENT_AFTER
    return {"beat": beat, "alive": alive, "channels": channels}


def vectors(space: Space) -> health_checks.Finding:
    model = embeddings.active()
    if model is None:
        text = gettext("Embeddings are off: memories are found by words alone.")
        return health_checks.Finding("embeddings", health_checks.WARNING, text)
    missing = embeddings.missing(model.name, space=space).order_by()[:COUNT_LIMIT].count()
    if missing < 500:
        return health_checks.Finding("embeddings")
    text = ngettext(
        "%(n)s memory has no vector yet.", "%(n)s memories have no vector yet.", missing
    )
    return health_checks.Finding("embeddings", health_checks.WARNING, text % {"n": number(missing)})


def read_replica() -> list[health_checks.Finding]:
    """Check whether the replica follows, if there is one; otherwise pages ask the primary."""
    if not replica.is_there():
        return []
    behind, text = replica.lag(), ""
    if behind is None:
        text = gettext("The replica does not answer: pages are read from the primary.")
    elif behind[1] > MAX_SECONDS_BEHIND:
        text = gettext("The replica is more than a minute behind.")
    level = health_checks.WARNING if text else health_checks.OK
    return [health_checks.Finding("replica", level, text)]


def installation(waited: dt.timedelta) -> list[health_checks.Finding]:
    """Run the checks of /readyz, but for those whose result is known already."""
    findings = []
    known = {"database": lambda: "", "queue": lambda: _late(waited)}
    for name, check in (CHECKS | known).items():
        problem = _run(check)
        level = health_checks.ERROR if problem else health_checks.OK
        findings.append(health_checks.Finding(name, level, problem and gettext(problem)))
    return findings


def _checks(
    findings: list[health_checks.Finding], values: dict[str, str], space: Space
) -> list[dict]:
    levels = [health_checks.OK, health_checks.WARNING, health_checks.ERROR]
    checks = []
    for name, label in NAMES.items():
        own = [finding for finding in findings if finding.name == name]
        if not own:
            continue
        level = max((finding.level for finding in own), key=levels.index)
        well = level == health_checks.OK
        value = values.get(name, "") or (WELL.get(name, "") if well else "")
        check = {
            "name": label,
            "level": level,
            "value": value,
            # Nothing is wrong, but nothing was done yet either: no tick.
            "is_open": well and value in (NONE_YET, NOT_ENCRYPTED),
            "texts": [finding.text for finding in own if finding.text],
            "to_do": "" if well else TO_DO.get(name, ""),
            "url": space_url(PAGES[name], space) if name in PAGES else "",
        }
        checks.append(check)
    return checks


def _values(
    space: Space,
    *,
    now: dt.datetime,
    counts: dict[str, int],
    beats: list[Heartbeat],
    chosen: Choice,
) -> dict[str, str]:
    """Return what each check measures, in a few words, also when all is well."""
    seen = gettext("never seen")
    if beats:
        seen = gettext("seen %(age)s") % {"age": since(beats[0].beat_at, now=now, long=True)}
    last = rows_in(space, Night).order_by("-local_date").first()
    usage = shutil.disk_usage(_existing(settings.KENO_HOME))
    backup_age = backup.age(now=now)
    waiting = {"n": number(counts["waiting"]), "m": number(counts["running"])}
    return {
        "worker": seen,
        "queue": gettext("%(n)s waiting, %(m)s running") % waiting,
        "provider": model_name(chosen.model, chosen.provider),
        "night": date_format(last.local_date, gettext("j F")) if last else str(NONE_YET),
        "embeddings": embedder_name(embed.current().name) if embed.enabled() else gettext("off"),
        "backup": since(now - backup_age, now=now, long=True) if backup_age else str(NONE_YET),
        "replica": _behind(),
        "encryption": "" if encryption.has_keys(space.pk) else str(NOT_ENCRYPTED),
        "database": f"PostgreSQL {connection.pg_version // 10_000}",
        "size": f"{number(health_checks.resident_mb())} MB",
        "disk": gettext("%(share)s %% free") % {"share": number(100 * usage.free / usage.total)},
    }


def _behind() -> str:
    behind = replica.lag() if replica.is_there() else None
    return gettext("%(n)s bytes behind") % {"n": number(behind[0])} if behind else ""


@in_space(role="viewer")
def index(request, space):
    return render(request, "health/index.html", {"page": health_page(space, now=timezone.now())})


@in_space(role="curator")
def dead_letters(request, space):
    letters = letter_list(space, after=request.GET.get("after", ""))
    return render(request, "dead_letters/index.html", {"list": letters})


@in_space(role="curator", methods="POST")
def retry(request, space, pk):
    if jobs.retry(get_in_space_or_404(space, DeadLetter, pk), by=person(request.user)):
        toast(request, _("It is being tried again."))
    else:
        toast_error(request, _("Someone has already decided that."))
    return _done(request, space)


@in_space(role="curator", methods="POST")
def discard(request, space, pk):
    if jobs.discard(get_in_space_or_404(space, DeadLetter, pk), by=person(request.user)):
        toast(request, _("Discarded."), undo=space_url("dead_letters:restore", space, pk))
    else:
        toast_error(request, _("Someone has already decided that."))
    return _done(request, space)


@in_space(role="curator", methods="POST")
def restore(request, space, pk):
    if jobs.undiscard(get_in_space_or_404(space, DeadLetter, pk)):
        toast(request, _("It is open again."))
    return _done(request, space)


def _done(request, space):
    return refreshed(request, back=space_url("dead_letters:index", space))
