"""Files that wait: one import whoever presses, a sentence whatever happens, gone after a day."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone, translation
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob

from memory.models import AuditEntry, Fact, Parcel, ParcelPiece
from memory.transfer import (
    importing,
    staged_files,
    tasks,
)
from tests.factories import make_fact, make_parcel, make_space

pytestmark = pytest.mark.django_db(transaction=True)
BY = "person:ana"


@pytest.fixture
def space():
    return make_space("casa")


def file(count=3, name="mem0.json"):
    memories = [
        {"id": str(n), "memory": f"Likes tea number {n}", "user_id": "ana"} for n in range(count)
    ]
    return ContentFile(json.dumps(memories).encode(), name=name)


def kept(space, **given):
    return tasks.upload(space, file(**given), by=BY, now=True)


def press(parcel, status="applying", after=("ready",), now=True):
    return tasks.start_step(parcel, status=status, after=after, asker=BY, now=now)


def test_m8_what_a_file_holds_is_not_in_the_database_in_clear(space, settings, real_guard):
    word = "Zeta" + "9lemon"
    data = json.dumps([{"memory": f"the wifi password is {word}"}]).encode()
    parcel = tasks.upload(space, ContentFile(data, name="m.json"), by=BY, now=True)
    sealed = bytes(ParcelPiece.objects.get(parcel=parcel).data)
    assert word.encode() not in sealed
    assert [line.text for line in parcel.lines.all() if word in line.text] == []
    assert b"".join(staged_files.chunks(parcel)) == data
    # A piece of another place, or under another key, is refused with a sentence.
    settings.SECRET_KEY = "another " * 8
    press(parcel)
    parcel.refresh_from_db()
    assert (parcel.status, "send it again" in parcel.problem) == ("refused", True)


def test_a_file_is_kept_in_pieces_and_given_back_the_same(space, monkeypatch):
    monkeypatch.setattr(staged_files, "PIECE_BYTES", 100)
    data = bytes(range(256)) * 4
    parcel = staged_files.store(space, [data[:7], data[7:500], data[500:]], name="x.bin", by=BY)
    assert ParcelPiece.objects.filter(parcel=parcel).count() == 11
    assert b"".join(staged_files.chunks(parcel)) == data
    with staged_files.on_disk(parcel) as path:
        assert path.read_bytes() == data
        assert path.stat().st_mode & 0o777 & ~0o644 == 0
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.exists()


def test_eight_who_press_import_get_one_import(space):
    parcel = kept(space)

    def work(_):
        try:
            return press(Parcel.objects.get(pk=parcel.pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(work, range(8)))
    assert sum(won) == 1
    assert AuditEntry.objects.filter(action="import").count() == 1
    assert Fact.objects.live().count() == 3


def test_a_job_that_runs_twice_at_once_imports_once(space):
    """A worker that was taken for dead goes on beside the one that took its job."""
    parcel = kept(space)
    press(parcel, now=False)

    def work(_):
        try:
            tasks.work(parcel.pk, space.pk, by=BY)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    parcel.refresh_from_db()
    assert (parcel.status, parcel.problem) == ("applied", "")
    assert AuditEntry.objects.filter(action="import").count() == 1
    assert parcel.counts["fact"] == {"taken": 3}


def test_who_is_killed_on_the_way_is_followed_by_a_job(space, monkeypatch):
    monkeypatch.setattr(tasks, "work", lambda *args, **kwargs: None)
    parcel = kept(space)
    assert parcel.status == "looking"
    job = ProcrastinateJob.objects.get(task_name="transfer.work")
    assert job.scheduled_at > timezone.now()
    monkeypatch.undo()
    tasks.work(**job.args)
    parcel.refresh_from_db()
    assert parcel.status == "ready"


def test_the_job_for_a_crash_makes_no_other_file_wait(space):
    kept(space)
    tasks.upload(space, file(), by=BY, now=False)
    locks = list(ProcrastinateJob.objects.values_list("lock", flat=True))
    assert len(locks) == 2
    assert len(set(locks)) == 2


def test_an_import_that_fails_leaves_nothing_and_a_sentence(space, monkeypatch, caplog):
    parcel = kept(space)

    def fail(session):
        raise ZeroDivisionError("a secret of the file")

    monkeypatch.setattr(importing, "_details", fail)
    press(parcel)
    parcel.refresh_from_db()
    assert parcel.status == "refused"
    assert "Nothing was imported." in parcel.problem
    assert "secret" not in parcel.problem
    assert not Fact.objects.exists()
    assert "ZeroDivisionError" in caplog.text


def test_how_far_it_is_can_be_seen_before_it_is_done(space, monkeypatch):
    monkeypatch.setattr(staged_files, "PROGRESS_FROM_BYTES", 10)
    monkeypatch.setattr(staged_files, "PROGRESS_SECONDS", 0.0)
    monkeypatch.setattr(importing, "BATCH", 10)
    parcel = kept(space, count=40)
    seen, real = [], importing._batches

    def slowly(found):
        for batch in real(found):
            yield batch
            seen.append(_from_outside(parcel))

    monkeypatch.setattr(importing, "_batches", slowly)
    press(parcel)
    assert ("applying", 20, 40) in seen
    assert Fact.objects.live().count() == 40


def _from_outside(parcel):
    found = []

    def look():
        found.extend(Parcel.objects.filter(pk=parcel.pk).values_list("status", "done", "total"))
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found[0]


def test_a_file_that_is_removed_while_it_is_looked_at_is_gone(space, monkeypatch):
    real = importing.dry_run

    def look(*args, **kwargs):
        assert staged_files.discard(Parcel.objects.get())
        return real(*args, **kwargs)

    monkeypatch.setattr(importing, "dry_run", look)
    parcel = staged_files.store(space, [file().read()], name="mem0.json", by=BY)
    tasks.work(parcel.pk, space.pk, by=BY)
    assert not Parcel.objects.exists()


def test_a_worker_answers_in_the_language_of_who_asked(space):
    with translation.override("es"):
        parcel = tasks.upload(space, ContentFile(b"?", name="x"), by=BY, now=False)
    tasks.work(parcel.pk, space.pk, by=BY)
    parcel.refresh_from_db()
    assert "Keno no reconoce" in parcel.problem


def test_a_day_later_it_is_swept_away_and_what_it_brought_stays(space):
    parcel = kept(space)
    press(parcel)
    now = timezone.now()
    assert staged_files.delete_expired(now=now + timedelta(hours=23)) == 0
    assert staged_files.delete_expired(now=now + timedelta(hours=25)) == 1
    assert not ParcelPiece.objects.exists()
    assert Fact.objects.live().count() == 3


def test_an_export_that_is_packed_twice_is_one_file(space):
    make_fact(space, text="Likes tea")
    parcel = tasks.request_export(space, "snapshot", by=BY)
    tasks.work(parcel.pk, space.pk, by=BY)
    Parcel.objects.update(status="packing")
    tasks.work(parcel.pk, space.pk, by=BY)
    parcel.refresh_from_db()
    data = b"".join(staged_files.chunks(parcel))
    assert (parcel.status, len(data)) == ("packed", parcel.size)
    assert data.count(b"Likes tea") == 1


def test_the_sweep_and_the_work_are_known_to_the_worker():
    assert tasks.__name__ in settings.PROCRASTINATE_IMPORT_PATHS
    assert {"transfer.work", "transfer.sweep"} <= set(app.tasks)


def test_erasing_a_space_takes_its_files_along(space):
    make_parcel(space)
    space.delete()
    assert not ParcelPiece.objects.exists()
