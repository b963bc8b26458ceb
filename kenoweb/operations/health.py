"""How Keno is: every check with what to do, whether it is ready, and jobs that were given up."""

import datetime as dt
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
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

LEAST_FREE = 0.10
LATE = dt.timedelta(minutes=2)
# Counting what has no vector stops here.
COUNT_LIMIT = 10_000
DEAD = dt.timedelta(days=1)
MOST_BEHIND = 60
NAMES = {
    "worker": gettext_lazy("Worker"),
    "queue": gettext_lazy("Queue"),
    "provider": gettext_lazy("Language model"),
    "second_model": gettext_lazy("Small model"),
    "costs": gettext_lazy("Budget"),
    "unanswered": gettext_lazy("Answers"),
    "deliveries": gettext_lazy("Deliveries"),
    "memory": gettext_lazy("Memory"),
    "night": gettext_lazy("Night"),
    "embeddings": gettext_lazy("Embeddings"),
    "size": gettext_lazy("Main memory"),
    "database": gettext_lazy("Database"),
    "migrations": gettext_lazy("Tables"),
    "replica": gettext_lazy("Replica"),
    "disk": gettext_lazy("Disk"),
    "backup": gettext_lazy("Last backup"),
    "hooks": gettext_lazy("Hooks"),
    "walls": gettext_lazy("Walls between chats"),
    "encryption": gettext_lazy("Encryption"),
}
TO_DO = {
    "worker": gettext_lazy("Start manage.py runbot, or make run, and leave it running."),
    "queue": gettext_lazy("Start another worker, or check what the running one is doing."),
    "provider": gettext_lazy("It is retried automatically. Check the key and the provider's page."),
    "second_model": gettext_lazy("Heuristics step in meanwhile. Check the name of the model."),
    "costs": gettext_lazy("Raise the budget, or choose what happens when it is spent."),
    "unanswered": gettext_lazy("They are answered as soon as the worker and the model are OK."),
    "deliveries": gettext_lazy("Open the dead letters and retry them."),
    "memory": gettext_lazy("Check them; nothing is lost."),
    "night": gettext_lazy("A running worker starts the night. You can also start it now."),
    "embeddings": gettext_lazy(
        "They are computed in the background; manage.py memory_embed does it now."
    ),
    "size": gettext_lazy("Start it again; should it grow again, please report it."),
    "migrations": gettext_lazy("Run manage.py migrate."),
    "backup": gettext_lazy("Run manage.py keno_backup, and look at the log of the worker."),
    "walls": gettext_lazy(
        "See the notices: they name the place. Mark them as seen when it is mended."
    ),
    "encryption": gettext_lazy(
        "Set KENO_CONTENT_KEY_FILE or KENO_CONTENT_PASSPHRASE as it was, and restart."
    ),
    "hooks": gettext_lazy("Look at the executable in the folder hooks of the home, or remove it."),
    "replica": gettext_lazy("Check that it runs and that DATABASE_READ_URL is right."),
    "disk": gettext_lazy("Make room, or move KENO_HOME to a larger disk."),
}
# What a check that measures nothing says while all is well.
WELL = {
    "second_model": gettext_lazy("no failures"),
    "costs": gettext_lazy("within it"),
    "unanswered": gettext_lazy("none missing"),
    "deliveries": gettext_lazy("none failed"),
    "memory": gettext_lazy("nothing to check"),
    "migrations": gettext_lazy("up to date"),
    "hooks": gettext_lazy("no failures"),
    "walls": gettext_lazy("none crossed"),
}
NONE_YET = gettext_lazy("none yet")
NOT_ENCRYPTED = gettext_lazy("not encrypted")
PAGES = {
    "costs": "settings:index",
    "deliveries": "dead_letters:index",
    "memory": "quarantine:index",
    "night": "nights:index",
    "unanswered": "chats:index",
}


def ready(*, with_nights: bool = False) -> dict[str, str]:
    """Every check by name; all sentences empty means ready."""
    asked = CHECKS | ({"nights": late_nights} if with_nights else {})
    return {name: check() for name, check in asked.items()}


def database() -> str:
    try:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return "The database does not answer."
    return ""


def migrations() -> str:
    try:
        waiting = _shipped() - set(MigrationRecorder(connection).applied_migrations())
    except Error:
        return "The database does not answer."
    return "The tables are older than the program: run manage.py migrate." if waiting else ""


def disk() -> str:
    """Both the data folder and, when it is ours, the database's."""
    for folder in _folders():
        usage = shutil.disk_usage(folder)
        if usage.free < usage.total * LEAST_FREE:
            return f"Less than {LEAST_FREE:.0%} of the disk is free."
    return ""


def queue() -> str:
    try:
        return _late(jobs.oldest_waiting(now=timezone.now()))
    except Error:
        return "The database does not answer."


def late_nights() -> str:
    """Only where a monitor asks: no proxy should take the pages away because nobody slept."""
    try:
        late = nights.overdue(now=timezone.now())
    except Error:
        return "The database does not answer."
    return f"{late} spaces have not slept for over a day: run manage.py sleep." if late else ""


def _late(waited: dt.timedelta) -> str:
    return "A job has waited for over two minutes: is the worker running?" if waited > LATE else ""


CHECKS: dict[str, Callable[[], str]] = {
    "database": database,
    "migrations": migrations,
    "disk": disk,
    "queue": queue,
}


@cache
def _shipped() -> set[tuple[str, str]]:
    """Every migration of this program; read from disk once."""
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
    found = ready(with_nights="nights" in request.GET)
    well = not any(found.values())
    checks = {name: sentence or "ok" for name, sentence in found.items()}
    return JsonResponse({"ready": well, "checks": checks}, status=200 if well else 503)


@with_token
@csrf_exempt
def metrics(request):
    """For Prometheus. Without METRICS_TOKEN in the environment nobody gets in."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    known = settings.METRICS_TOKEN
    if not known or not constant_time_compare(given, known):
        return HttpResponse("Send METRICS_TOKEN as a bearer token.\n", status=401)
    text = prometheus_text(now=timezone.now())
    return HttpResponse(text, content_type="text/plain; version=0.0.4; charset=utf-8")


@dataclass(frozen=True)
class Check:
    name: str
    level: str
    value: str = ""
    texts: list[str] = field(default_factory=list)
    to_do: str = ""
    url: str = ""

    @property
    def is_open(self) -> bool:
        """Nothing is wrong, but nothing was done yet either: no tick."""
        return self.level == health_checks.OK and self.value in (NONE_YET, NOT_ENCRYPTED)


@dataclass(frozen=True)
class Worker:
    beat: Heartbeat
    alive: bool
    channels: list[tuple[str, str, bool]]


@dataclass(frozen=True)
class HealthPage:
    state: str
    checks: list[Check]
    workers: list[Worker]
    breakers: list[Breaker]
    counts: dict[str, int]
    oldest: str
    version: str
    at: dt.datetime

    @property
    def unwell(self) -> list[Check]:
        return [check for check in self.checks if check.level != health_checks.OK]


def health_page(space: Space, *, now: dt.datetime) -> HealthPage:
    counts = jobs.counts()
    beats = list(Heartbeat.objects.order_by("-beat_at")[:12])
    chosen, waited = choose("chat", space=space), jobs.oldest_waiting(now=now)
    found = health_checks.check(space, now=now, chosen=chosen)
    found += [vectors(space), *installation(waited), *read_replica()]
    values = _values(space, now=now, counts=counts, beats=beats, chosen=chosen)
    return HealthPage(
        state=health_checks.overall_state(found),
        checks=_checks(found, values, space),
        workers=workers(beats, now=now),
        breakers=list(Breaker.objects.order_by("provider", "model")),
        counts=counts,
        oldest=since(now - waited, now=now) if waited else "–",
        version=settings.VERSION,
        at=now,
    )


def workers(beats: list[Heartbeat], *, now: dt.datetime) -> list[Worker]:
    return [
        Worker(
            beat, beat.beat_at > now - health_checks.WORKER_SILENT_AFTER, _channels(beat.channels)
        )
        for beat in beats
        if beat.beat_at > now - DEAD
    ]


def _channels(states: dict) -> list[tuple[str, str, bool]]:
    return [
        (channel_name(name), str(STATES.get(state, state)), state == "running")
        for name, state in states.items()
    ]


def vectors(space: Space) -> health_checks.Finding:
    model = embeddings.active()
    if model is None:
        text = _("Embeddings are off: memories are found by words alone.")
        return health_checks.Finding("embeddings", health_checks.WARNING, text)
    missing = embeddings.missing(model.name, space=space).order_by()[:COUNT_LIMIT].count()
    if missing < 500:
        return health_checks.Finding("embeddings")
    text = ngettext(
        "%(n)s memory has no vector yet.", "%(n)s memories have no vector yet.", missing
    )
    return health_checks.Finding("embeddings", health_checks.WARNING, text % {"n": number(missing)})


def read_replica() -> list[health_checks.Finding]:
    """Where there is a replica, whether it follows; without it pages ask the primary."""
    if not replica.is_there():
        return []
    behind, text = replica.lag(), ""
    if behind is None:
        text = _("The replica does not answer: pages are read from the primary.")
    elif behind[1] > MOST_BEHIND:
        text = _("The replica is more than a minute behind.")
    level = health_checks.WARNING if text else health_checks.OK
    return [health_checks.Finding("replica", level, text)]


def installation(waited: dt.timedelta) -> list[health_checks.Finding]:
    """The checks of /readyz; that the database answers and how long a job waits is known."""
    known = {"database": "", "queue": _late(waited)}
    ready = {name: known[name] if name in known else run() for name, run in CHECKS.items()}
    return [
        health_checks.Finding(
            name, health_checks.ERROR if said else health_checks.OK, _(said) if said else ""
        )
        for name, said in ready.items()
    ]


def _checks(
    found: list[health_checks.Finding], values: dict[str, str], space: Space
) -> list[Check]:
    checks = []
    for name, label in NAMES.items():
        mine = [one for one in found if one.name == name]
        if not mine:
            continue
        level = max(
            (one.level for one in mine),
            key=[health_checks.OK, health_checks.WARNING, health_checks.ERROR].index,
        )
        well = level == health_checks.OK
        checks.append(
            Check(
                name=str(label),
                level=level,
                value=values.get(name, "") or (str(WELL.get(name, "")) if well else ""),
                texts=[one.text for one in mine if one.text],
                to_do="" if well else str(TO_DO.get(name, "")),
                url=space_url(PAGES[name], space) if name in PAGES else "",
            )
        )
    return checks


def _values(
    space: Space,
    *,
    now: dt.datetime,
    counts: dict[str, int],
    beats: list[Heartbeat],
    chosen: Choice,
) -> dict[str, str]:
    """What a check measures, in a few words, also when all is well."""
    beat = beats[0] if beats else None
    last = rows_in(space, Night).order_by("-local_date").first()
    usage = shutil.disk_usage(_existing(settings.KENO_HOME))
    kept = backup.age(now=now)
    waiting = {"n": number(counts["waiting"]), "m": number(counts["running"])}
    return {
        "worker": _("seen %(age)s") % {"age": since(beat.beat_at, now=now, long=True)}
        if beat
        else _("never seen"),
        "queue": _("%(n)s waiting, %(m)s running") % waiting,
        "provider": model_name(chosen.model, chosen.provider),
        "night": date_format(last.local_date, _("j F")) if last else str(NONE_YET),
        "embeddings": embedder_name(embed.current().name) if embed.enabled() else _("off"),
        "backup": since(now - kept, now=now, long=True) if kept else str(NONE_YET),
        "replica": _behind(),
        "encryption": "" if encryption.has_keys(space.pk) else str(NOT_ENCRYPTED),
        "database": f"PostgreSQL {connection.pg_version // 10_000}",
        "size": f"{number(health_checks.resident_mb())} MB",
        "disk": _("%(share)s %% free") % {"share": number(100 * usage.free / usage.total)},
    }


def _behind() -> str:
    behind = replica.lag() if replica.is_there() else None
    return _("%(n)s bytes behind") % {"n": number(behind[0])} if behind else ""


@in_space(role="viewer")
def index(request, space):
    return render(request, "health/index.html", {"page": health_page(space, now=timezone.now())})


@in_space(role="curator")
def dead_letters(request, space):
    found = letter_list(space, after=request.GET.get("after", ""))
    return render(request, "dead_letters/index.html", {"list": found})


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
        toast(request, _("Discarded."), undo=reverse("dead_letters:restore", args=[space.slug, pk]))
    else:
        toast_error(request, _("Someone has already decided that."))
    return _done(request, space)


@in_space(role="curator", methods="POST")
def restore(request, space, pk):
    if jobs.undiscard(get_in_space_or_404(space, DeadLetter, pk)):
        toast(request, _("It is open again."))
    return _done(request, space)


def _done(request, space):
    return refreshed(request, back=reverse("dead_letters:index", args=[space.slug]))
