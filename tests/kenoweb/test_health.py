"""/healthz and /readyz tell the truth, and pages say so politely while the database is away."""

import sys
from collections import namedtuple
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from kenoweb.launcher import embedded_postgres
from kenoweb.operations import health
from memory import jobs
from sleep.models import Night
from tests.factories import make_space
from tests.kenoweb.running import Keno, fetch, free_port, until
from tests.kenoweb.servers import QUICK

Usage = namedtuple("Usage", "total used free")


def test_the_process_answers_anybody_without_the_database(client, settings):
    for cookies in ({}, {settings.SESSION_COOKIE_NAME: "somebody"}):
        client.cookies.load(cookies)
        response = client.get("/healthz")
        assert (response.status_code, response.content) == (200, b"ok\n")


def test_the_probes_answer_inside_a_house_that_insists_on_https(client, settings):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/healthz").status_code == 200
    assert client.get("/sign-in/").status_code == 301


@pytest.mark.django_db
def test_ready_when_every_check_is_well(client):
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json()["ready"] is True
    assert set(response.json()["checks"].values()) == {"ok"}


@pytest.mark.django_db
def test_not_ready_while_a_migration_is_missing(client):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'memory' AND name LIKE '0002%'")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert "manage.py migrate" in response.json()["checks"]["migrations"]


@pytest.mark.django_db
@pytest.mark.parametrize(("free", "status"), [(9, 503), (11, 200)])
def test_not_ready_when_the_disk_is_nearly_full(client, monkeypatch, free, status):
    monkeypatch.setattr(health.shutil, "disk_usage", lambda path: Usage(100, 100 - free, free))
    assert client.get("/readyz").status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize(("seconds", "status"), [(119, 200), (121, 503)])
def test_not_ready_when_a_job_waits_for_too_long(client, monkeypatch, seconds, status):
    jobs.enqueue("memory.decide_recall")
    waited = timezone.now() + timedelta(seconds=seconds)
    monkeypatch.setattr(health.timezone, "now", lambda: waited)
    assert client.get("/readyz").status_code == status


@pytest.mark.django_db
def test_a_check_can_join(client, monkeypatch):
    monkeypatch.setitem(health.CHECKS, "queue", lambda: "Jobs have waited for an hour.")
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["queue"] == "Jobs have waited for an hour."


@pytest.fixture
def web(settled_home):
    """gunicorn on a database that is not its own: its home and its address."""
    home, url = settled_home, f"http://127.0.0.1:{free_port()}"
    keno = Keno(
        home,
        argv=[
            *(sys.executable, "-m", "gunicorn"),
            *("-c", "python:kenoweb.launcher.gunicorn", "kenoweb.wsgi"),
        ],
        DATABASE_URL=embedded_postgres.start(home, options=QUICK),
        KENO_BIND=url.removeprefix("http://"),
        KENO_WEB_WORKERS="1",
    )
    assert until(lambda: fetch(f"{url}/healthz")[0] == 200)
    yield home, url
    keno.close()
    embedded_postgres.stop(home)


@pytest.mark.processes
def test_pages_answer_503_while_the_database_is_away_and_recover_by_themselves(web):
    home, url = web
    assert fetch(f"{url}/sign-in/")[0] == fetch(f"{url}/readyz")[0] == 200
    embedded_postgres.stop(home)
    status, page = fetch(f"{url}/setup/nothing/")
    assert status == 503
    assert "Keno cannot reach its memory" in page
    assert fetch(f"{url}/readyz")[0] == 503
    assert fetch(f"{url}/healthz")[0] == 200
    embedded_postgres.start(home, options=QUICK)
    assert fetch(f"{url}/readyz")[0] == 200
    assert fetch(f"{url}/setup/nothing/")[0] != 503


def test_a_monitor_can_ask_whether_every_space_has_slept(client, db):
    long_ago = timezone.now() - timedelta(days=3)
    space = make_space(created_at=long_ago)
    make_space()
    told = client.get("/readyz?nights")
    assert (told.status_code, client.get("/readyz").status_code) == (503, 200)
    assert told.json()["checks"]["nights"].startswith("1 spaces have not slept")
    Night.objects.create(
        space=space, local_date=long_ago.date(), started_at=timezone.now() - timedelta(hours=8)
    )
    assert client.get("/readyz?nights").status_code == 200
