"""Is Keno fit to work? Each check gives a sentence about what is wrong, or nothing."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpResponse, JsonResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from kenoweb.auth.access import public, with_token
from memory.operations.metrics import prometheus_text

LEAST_FREE = 0.10


def ready() -> dict[str, str]:
    """Every check by name; all sentences empty means ready."""
    return {name: check() for name, check in CHECKS.items()}


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


# More checks join here: CHECKS["queue"] = queue.age
CHECKS: dict[str, Callable[[], str]] = {
    "database": database,
    "migrations": migrations,
    "disk": disk,
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
    return {next(part for part in (folder, *folder.parents) if part.exists()) for folder in folders}


@public
@require_safe
def healthz(request):
    return HttpResponse("ok\n", content_type="text/plain")


@public
@require_safe
def readyz(request):
    found = ready()
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
