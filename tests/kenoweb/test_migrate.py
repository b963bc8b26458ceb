"""Migrations and those who are at work meanwhile: nobody waits long for a table."""

from threading import Thread

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands.migrate import Command as Migrate
from django.db import connection, transaction

from kenoweb.management.commands import migrate

EPISODES = "SELECT count(*) FROM memory_episode"
BLOCKED = """
SELECT count(*) FROM pg_stat_activity
WHERE application_name = 'a long report' AND wait_event_type = 'Lock'
"""
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def at_work():
    """Somebody who reads the facts in a transaction that stays open."""
    given = connection.get_connection_params()
    given = {name: given[name] for name in ("dbname", "user", "host", "port") if name in given}
    with psycopg.connect(**given, application_name="a long report") as other:
        other.execute("SELECT count(*) FROM memory_fact")
        yield other


@pytest.fixture
def tries(monkeypatch):
    """How often a migration that changes the table of facts was begun; it changes nothing else."""
    begun = []

    def change_facts(self, *args, **options):
        begun.append(options["database"])
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE memory_fact IN ACCESS EXCLUSIVE MODE")

    monkeypatch.setattr(Migrate, "handle", change_facts)
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT", "20ms")
    monkeypatch.setattr(migrate, "ATTEMPTS", 3)
    return begun


def test_r11_a_migration_does_not_wait_for_long_and_says_who_is_at_work(at_work, tries):
    with pytest.raises(CommandError, match=r"a long report \(process \d+ of Postgres\)") as said:
        call_command("migrate", verbosity=0)
    assert len(tries) == 3
    assert "nothing was changed" in str(said.value)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_r11_a_migration_goes_on_when_the_table_is_free_again(at_work, tries, monkeypatch):
    wait = Migrate.handle

    def then_the_report_ends(self, *args, **options):
        if len(tries) == 2:
            at_work.rollback()
        wait(self, *args, **options)

    monkeypatch.setattr(Migrate, "handle", then_the_report_ends)
    call_command("migrate", verbosity=0)
    assert len(tries) == 3


def test_r11_a_migration_that_crosses_with_a_reader_steps_back_and_goes_on(
    at_work, tries, monkeypatch
):
    """It has the episodes and wants the facts; the reader has the facts and wants the episodes."""
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT", "30s")
    reader = Thread(target=lambda: (at_work.execute(EPISODES), at_work.rollback()))

    def cross(self, *args, **options):
        tries.append("")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE memory_episode IN ACCESS EXCLUSIVE MODE")
            if len(tries) == 1:
                reader.start()
                while not cursor.execute(BLOCKED).fetchone()[0]:
                    pass
            cursor.execute("LOCK TABLE memory_fact IN ACCESS EXCLUSIVE MODE")

    monkeypatch.setattr(Migrate, "handle", cross)
    call_command("migrate", verbosity=0)
    reader.join()
    assert tries == ["", ""]


def test_r11_any_other_trouble_is_told_at_once(tries, monkeypatch):
    def fail(self, *args, **options):
        tries.append("")
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM memory_nothing")

    monkeypatch.setattr(Migrate, "handle", fail)
    with pytest.raises(Exception, match="memory_nothing"):
        call_command("migrate", verbosity=0)
    assert tries == [""]
