"""A backup holds everything of one moment, comes back equal, and says so when it does not."""

import os
import zipfile
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from kenoweb.data_dir import NotReady
from kenoweb.launcher import embedded_postgres, startup
from memory.facts import service as facts
from memory.operations import backup, health
from tests.factories import make_space
from tests.kenoweb.running import manage
from tests.kenoweb.servers import QUICK, Homes

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CANARY = "the heron nests behind the mill"

CALL = "from django.core.management import call_command; "
MAKE = f"""
{CALL}
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
from memory.spaces import service
from memory.facts import service as facts
service.create("Casa", owner=User.objects.create_user("ana"))
from memory.models import Space
facts.remember(Space.objects.get(), text="{CANARY}", by="person:ana")
"""
ERASE = """
from memory.models import Space
from memory.operations import erasing
space = Space.objects.get()
erasing.run(erasing.start(space, "space", space, typed="Casa", by="person:ana"))
"""
COUNT = """
from memory.models import AuditEntry, Fact
print(Fact.objects.get().text, AuditEntry.objects.count())
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1")
    print(*cursor.fetchall(), sep=chr(10))
"""


@pytest.fixture(scope="module")
def homes():
    made = Homes()
    yield made
    made.clear()


@pytest.fixture
def served(homes):
    """Makes homes whose server runs until the test ends: no command has to start and stop it."""
    with ExitStack() as servers:

        def new(name):
            home = homes.new(name)
            servers.enter_context(embedded_postgres.session(home, options=QUICK))
            return home

        yield new


@pytest.mark.processes
def test_a_backup_comes_back_equal_in_an_empty_home(served, tmp_path):
    """The whole way by the commands: another home, another database, every table as it was."""
    first, second, third = served("first"), served("second"), served("third")
    file, secret = tmp_path / "all.kenobackup.sealed", tmp_path / "secret"
    secret.write_text("open sesame")
    filled = manage(first, "shell", "-v", "0", "-c", MAKE + COUNT)
    assert CANARY in filled.stdout, filled.stderr
    assert "USING hnsw" in filled.stdout
    made = manage(first, "keno_backup", "--output", str(file), "--passphrase-file", str(secret))
    assert made.returncode == 0, made.stderr
    assert CANARY.encode() not in file.read_bytes()

    without = manage(second, "keno_restore", str(file))
    assert without.returncode == 1
    assert "give its passphrase" in without.stderr
    done = manage(second, "keno_restore", str(file), "--passphrase-file", str(secret))
    assert done.returncode == 0, done.stderr
    assert "Every table is as it was" in done.stdout
    assert manage(second, "shell", "-v", "0", "-c", COUNT).stdout == filled.stdout

    # Restored once more after it was erased in the first home, it is not brought back.
    assert manage(first, "shell", "-v", "0", "-c", ERASE).returncode == 0
    listed = str(first / "backups" / "erasures.jsonl")
    options = ["--passphrase-file", str(secret), "--erasures", listed]
    restore = f"""call_command("keno_restore", {str(file)!r}, *{options!r})"""
    erased = manage(third, "shell", "-v", "0", "-c", f"{CALL}{restore}{COUNT}")
    assert "Erased again what was erased since then: 1." in erased.stdout, erased.stderr
    assert "DoesNotExist" in erased.stderr

    again = manage(second, "keno_restore", str(file), "--passphrase-file", str(secret))
    assert again.returncode == 1
    assert "There is a memory here already" in again.stderr


@pytest.mark.processes
def test_a_backup_of_an_encrypted_space_is_read_with_its_key_alone(served, tmp_path):
    first, second = served("first of two"), served("second of two")
    file, key = tmp_path / "all.kenobackup", str(tmp_path / "content.key")
    manage(first, "memory_encrypt", "new-key", key)
    has_key = {"KENO_CONTENT_KEY_FILE": key}
    lock = """call_command("memory_encrypt", "on", "casa")"""
    keep = f"""call_command("keno_backup", "--output", "{file}")"""
    done = manage(first, "shell", "-v", "0", "-c", f"{MAKE}{lock}; {keep}", **has_key)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(file) as inside:
        assert not any(CANARY.encode() in inside.read(name) for name in inside.namelist())

    restore = f"""call_command("keno_restore", "{file}")"""
    closed = manage(second, "shell", "-v", "0", "-c", f"{CALL}{restore}{COUNT}")
    assert "Every table is as it was" in closed.stdout, closed.stderr
    assert "not to be read without their key: casa" in closed.stdout
    assert CANARY not in closed.stdout
    assert CANARY in manage(second, "shell", "-v", "0", "-c", COUNT, **has_key).stdout


@pytest.mark.django_db(transaction=True)
def test_the_manifest_says_what_every_table_held(tmp_path):
    space = make_space("casa")
    facts.remember(space, text=CANARY, by="person:ana")
    manifest = backup.write(tmp_path / "one.kenobackup", now=NOW)
    assert manifest["tables"]["memory_fact"]["rows"] == 1
    assert "django_session" not in manifest["tables"]
    assert backup.differences(manifest) == []
    facts.remember(space, text="Ana rows on Sundays", by="person:ana")
    assert any(line.startswith("memory_fact: 2 rows") for line in backup.differences(manifest))


def test_a_file_that_is_not_a_backup_is_refused(db, tmp_path):
    with pytest.raises(backup.BackupError, match="no file"):
        backup.restore(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(backup.BackupError, match="not a backup"):
        backup.restore(tmp_path / "text")
    with zipfile.ZipFile(tmp_path / "empty", "w"):
        pass
    with pytest.raises(backup.BackupError, match="no manifest"):
        backup.restore(tmp_path / "empty")


@pytest.mark.parametrize("harm", ["cut", "letter", "swap", "passphrase"])
def test_a_sealed_file_that_was_touched_is_refused(tmp_path, harm, monkeypatch):
    monkeypatch.setattr(backup, "CHUNK", 100)
    path, plain = tmp_path / "sealed", tmp_path / "plain"
    with path.open("wb") as file:
        sealer = backup.Sealer(file, "right")
        sealer.write(bytes(range(250)))
        sealer.close()
    head, block = len(backup.MAGIC) + backup.SALT_BYTES, 100 + 16 + 4
    data = path.read_bytes()
    first, second = data[head : head + block], data[head + block : head + 2 * block]
    harmed = {
        "cut": data[: head + 2 * block],
        "letter": data[:-1] + bytes([data[-1] ^ 1]),
        "swap": data[:head] + second + first + data[head + 2 * block :],
        "passphrase": data,
    }[harm]
    path.write_bytes(harmed)
    with path.open("rb") as file, plain.open("wb+") as out, pytest.raises(backup.BackupError):
        backup.unseal(file, out, "wrong" if harm == "passphrase" else "right")
    path.write_bytes(data)
    with path.open("rb") as file, plain.open("wb+") as out:
        backup.unseal(file, out, "right")
        assert out.read() == bytes(range(250))


@pytest.mark.django_db(transaction=True)
def test_daily_backups_are_kept_for_their_days(tmp_path, settings):
    settings.KENO_BACKUPS, settings.KENO_BACKUP_DAYS = str(tmp_path), 0
    assert backup.run_scheduled(now=NOW) is None
    settings.KENO_BACKUP_DAYS = 7
    now = datetime.now(UTC)
    old = tmp_path / backup.file_name(now - timedelta(days=9))
    old.write_bytes(b"")
    past = (now - timedelta(days=9)).timestamp()
    os.utime(old, (past, past))
    made = backup.run_scheduled(now=now)
    assert backup.backups(tmp_path) == [made]


def test_the_health_of_a_space_tells_how_old_the_last_backup_is(
    transactional_db, tmp_path, settings
):
    settings.KENO_BACKUPS, settings.KENO_BACKUP_DAYS = str(tmp_path), 7
    space, now = make_space(), timezone.now()
    assert health.last_backup(space, now).level == health.WARNING
    backup.run_scheduled(now=now)
    assert health.last_backup(space, timezone.now()).level == health.OK
    assert health.last_backup(space, now + timedelta(days=3)).level == health.WARNING
    settings.KENO_BACKUP_DAYS = 0
    assert health.last_backup(space, now + timedelta(days=3)).level == health.OK


def test_a_newer_program_backs_up_before_it_changes_a_table(
    transactional_db, tmp_path, settings, monkeypatch
):
    settings.KENO_BACKUPS = str(tmp_path / "kept")
    done, told = [], []

    def migrate(*_args, **_given):
        done.append([len(backup.backups(tmp_path / "kept")), *told])

    monkeypatch.setattr(startup, "call_command", migrate)
    assert (startup.migrate(told.append), done, told) == (0, [], [])
    app, last = sorted(MigrationRecorder(connection).applied_migrations())[-1]
    MigrationRecorder(connection).record_unapplied(app, last)
    try:
        assert startup.migrate(told.append) == 1
    finally:
        MigrationRecorder(connection).record_applied(app, last)
    # Written whole, and said where, before the tables are touched.
    assert done == [[1, *told]]
    assert told[0].startswith(str(tmp_path / "kept"))
    settings.KENO_BACKUPS = str(tmp_path / "kept" / "file")
    (tmp_path / "kept" / "file").write_text("in the way")
    MigrationRecorder(connection).record_unapplied(app, last)
    try:
        with pytest.raises(NotReady, match="Nothing was changed"):
            startup.migrate(told.append)
    finally:
        MigrationRecorder(connection).record_applied(app, last)
    assert len(done) == 1


def test_an_older_program_refuses_the_database_of_a_newer_one(db):
    MigrationRecorder(connection).record_applied("memory", "9999_from_next_year")
    with pytest.raises(NotReady, match=r"by a newer Keno .*memory\.9999_from"):
        startup.migrate()
