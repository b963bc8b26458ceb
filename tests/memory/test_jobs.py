from datetime import UTC, datetime, timedelta

import pytest
from django.db import InterfaceError, OperationalError, connection
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateJob
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job

from memory import jobs
from memory.chats import inbox
from memory.jobs import Backoff
from memory.llm.request import ProviderError
from memory.models import DeadLetter
from memory.operations import leases
from tests.factories import make_space

pytestmark = pytest.mark.django_db
BACKOFF = Backoff(first=10, longest=100, attempts=6)


def sql(query, *values):
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchone()[0] if cursor.description else None


def worker(*, silent_for=0):
    return sql(
        "INSERT INTO procrastinate_workers (last_heartbeat)"
        " VALUES (now() - make_interval(secs => %s)) RETURNING id",
        silent_for,
    )


def job(worker_id=None, *, attempts=0, once=None, status="doing"):
    job_id = jobs.enqueue("memory.ingest", once=once, space_id=0)
    sql(
        "UPDATE procrastinate_jobs SET status = 'doing', attempts = %s, worker_id = %s"
        " WHERE id = %s",
        attempts,
        worker_id,
        job_id,
    )
    if status != "doing":
        sql(f"UPDATE procrastinate_jobs SET status = '{status}' WHERE id = %s", job_id)
    return job_id


def status(job_id):
    return ProcrastinateJob.objects.get(pk=job_id).status


def test_waiting_grows_and_ends():
    waits = [BACKOFF.wait(ValueError(), attempt=n, chance=0.5) for n in range(6)]
    assert waits == [10, 20, 40, 80, 100, None]


def test_waiting_has_jitter():
    waits = {BACKOFF.wait(ValueError(), attempt=3, chance=c / 10) for c in range(11)}
    assert (min(waits), max(waits)) == (60, 100)


def test_what_cannot_help_is_not_tried_again():
    error = ProviderError("refused the key", permanent=True)
    assert BACKOFF.wait(error, attempt=0, chance=0.5) is None


def test_a_wish_for_patience_is_granted():
    assert BACKOFF.wait(ProviderError("busy", retry_after=600), attempt=0, chance=0.5) == 600


def test_r04_after_an_outage_of_the_database_nobody_waits_long():
    waits = [BACKOFF.wait(OperationalError("gone"), attempt=n, chance=0.5) for n in range(6)]
    assert waits == [1, 2, 4, 8, 16, None]


def test_some_jobs_are_tried_again_after_an_outage_alone():
    assert jobs.AFTER_OUTAGE.wait(OperationalError("gone"), attempt=3, chance=0.5) == 8
    assert jobs.AFTER_OUTAGE.wait(ValueError("a bug"), attempt=0, chance=0.5) is None


def test_r04_no_job_of_ours_is_given_up_because_the_database_went_away():
    """A job of the clock that was cut in the middle was given up: a dead letter for nothing."""
    app.perform_import_paths()
    ours = {name: task for name, task in app.tasks.items() if "builtin" not in name}
    assert {"bot.answer", "memory.watch", "sleep.night", "transfer.work"} <= set(ours)
    given_up = [
        name
        for name, task in ours.items()
        for error in (OperationalError("gone"), InterfaceError("closed"), ConnectorException())
        if not task.get_retry_exception(exception=error, job=ours_job(name))
    ]
    assert given_up == []


def ours_job(name):
    return Job(id=1, queue="default", lock=None, queueing_lock=None, task_name=name)


def test_jobs_of_a_dead_worker_are_handed_on():
    lost, alive = job(worker(silent_for=30)), job(worker(silent_for=1))
    assert jobs.rescue() == 1
    assert (status(lost), status(alive)) == ("todo", "doing")


def test_what_a_death_cut_off_goes_before_what_only_waits():
    """Learning waits for every answer; learning that was cut off would wait for the whole rush."""
    cut, answers = job(None), [waiting("full"), waiting("text")]
    command = waiting("command")
    jobs.rescue()
    assert in_turn() == [command, cut, *answers]


def test_what_is_cut_off_again_and_again_no_longer_goes_ahead():
    """It may be what kills the workers: the others must get their turn."""
    cut, answer = job(None), waiting("full")
    for _ in range(jobs.RESCUED_PRIORITY_ATTEMPTS + 1):
        sql("UPDATE procrastinate_jobs SET status = 'doing' WHERE id = %s", cut)
        jobs.rescue()
    assert in_turn() == [answer, cut]


def waiting(kind):
    return jobs.enqueue("bot.answer", priority=inbox.PRIORITY[kind], space_id=0, message_id=0)


def in_turn() -> list[int]:
    """The jobs that wait, in the order in which a worker gets them."""
    mine, taken = worker(), []
    while found := sql("SELECT id FROM procrastinate_fetch_job_v2(NULL, %s)", mine):
        taken.append(found)
    return taken


def test_a_job_whose_worker_is_gone_altogether_is_handed_on():
    lost = job(None)
    assert jobs.rescue() == 1
    assert status(lost) == "todo"


def test_a_twin_that_waits_does_the_work():
    lost = job(None, once="sweep")
    twin = jobs.enqueue("memory.ingest", once="sweep", space_id=0)
    assert jobs.rescue() == 1
    assert (status(lost), status(twin)) == ("aborted", "todo")


def test_a_job_that_kills_its_workers_is_given_up():
    killer = job(None, attempts=jobs.MAX_DEATHS)
    jobs.rescue()
    assert status(killer) == "failed"
    assert "died" in DeadLetter.objects.get(job_id=killer).error


def test_a_job_that_failed_often_is_not_taken_for_a_killer():
    """bot.answer is tried 56 times while a provider is down; one death among them ends nothing."""
    patient = jobs.enqueue("bot.answer", space_id=0, message_id=0)
    sql(
        "UPDATE procrastinate_jobs SET status = 'doing', attempts = %s WHERE id = %s",
        jobs.MAX_DEATHS + 10,
        patient,
    )
    assert jobs.rescue() == 1
    assert status(patient) == "todo"
    assert not DeadLetter.objects.exists()


def test_a_worker_that_must_go_gives_its_jobs_back():
    mine = worker()
    running, other = job(mine), job(worker())
    assert jobs.requeue(jobs.strays(mine, busy=set())) == 1
    assert (status(running), status(other)) == ("todo", "doing")


def test_a_job_whose_end_was_never_written_is_found():
    mine = worker()
    lost, running = job(mine), job(mine)
    job(worker())
    assert jobs.strays(mine, busy={running}) == {lost}
    assert jobs.requeue({lost}) == 1
    assert (status(lost), status(running)) == ("todo", "doing")


def test_a_job_with_a_name_waits_only_once():
    assert jobs.enqueue("memory.ingest", once="sweep", space_id=0)
    assert jobs.enqueue("memory.ingest", once="sweep", space_id=0) is None


def test_a_dead_letter_is_tried_again_once():
    space = make_space()
    job_id = job(status="failed")
    given_up = Job(
        id=job_id, queue="default", lock=None, queueing_lock=None,
        task_name="memory.ingest", task_kwargs={"space_id": space.pk},
    )  # fmt: skip
    letter = jobs.record_dead_letter(given_up, error="no")
    assert list(jobs.dead_letters(space)) == [letter]
    assert jobs.dead_letters(make_space()).count() == 0
    assert jobs.retry(letter, by="person:ana")
    assert not jobs.retry(letter, by="person:bo")
    assert status(job_id) == "todo"
    assert list(jobs.dead_letters(space)) == []
    assert letter.retried_by == "person:ana"


def test_a_dead_letter_outlives_its_job():
    letter = DeadLetter.objects.create(
        job_id=10**9, task="memory.ingest", args={"space_id": 0}, error="no"
    )
    jobs.retry(letter, by="person:ana")
    assert ProcrastinateJob.objects.get().args == {"space_id": 0}


def test_the_queue_is_counted():
    jobs.enqueue("memory.ingest", space_id=0)
    job(worker())
    assert jobs.counts() == {"waiting": 1, "later": 0, "running": 1, "dead": 0}


class TestLeases:
    """What only one may do; whoever dies is followed by another within ten seconds."""

    NOW = datetime(2026, 3, 1, 3, tzinfo=UTC)

    def after(self, seconds):
        return self.NOW + timedelta(seconds=seconds)

    def test_two_do_not_hold_it_at_once(self, db):
        one, other = leases.offer("x"), leases.offer("x")
        assert leases.take(one, now=self.NOW)
        assert not leases.take(other, now=self.NOW)
        assert leases.take(leases.offer("y"), now=self.NOW)
        leases.release(other)  # not its own to give back
        assert leases.is_held("x", now=self.NOW)
        leases.release(one)
        assert leases.take(other, now=self.NOW)

    def test_a_dead_holder_is_followed_within_ten_seconds_and_keeps_nothing(self, db):
        dead, next_one = leases.offer("x"), leases.offer("x")
        assert leases.take(dead, now=self.NOW)
        assert [leases.take(next_one, now=self.after(n)) for n in (1, 7, 9)] == [0, 0, 1]
        with pytest.raises(leases.Taken):
            leases.confirm(dead, now=self.after(9))
        assert not leases.take(dead, now=self.after(9))

    def test_the_beat_keeps_what_its_process_holds(self, db):
        with leases.hold("x", now=self.NOW):
            for n in (5, 10, 15):
                leases.renew(now=self.after(n))
            assert not leases.take(leases.offer("x"), now=self.after(20))
            with pytest.raises(leases.Taken), leases.hold("x", now=self.after(20)):
                pass
        assert not leases.is_held("x", now=self.after(20))
        leases.renew(now=self.after(20))
        assert leases.take(leases.offer("x"), now=self.after(20))
