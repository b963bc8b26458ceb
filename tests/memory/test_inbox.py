import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections
from procrastinate.contrib.django.models import ProcrastinateJob

from memory.chats import inbox
from memory.models import Chat, Message
from tests.factories import make_chat

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def chat(db):
    return make_chat()


def take(chat, text="hello", seconds=0, **given):
    return inbox.receive(chat, text=text, now=NOON + timedelta(seconds=seconds), **given)


def jobs():
    return list(ProcrastinateJob.objects.order_by("id"))


def due(job):
    return (job.scheduled_at - NOON).total_seconds() if job.scheduled_at else None


def test_a_message_comes_with_the_job_that_answers_it(chat):
    message = take(chat, external_id="7", author="Ana")
    (job,) = jobs()
    assert job.args == {"message_id": message.pk, "space_id": chat.space_id}
    assert job.lock == f"chat-{chat.pk}"
    assert due(job) == 2


def test_the_same_message_again_is_nothing_new(chat):
    take(chat, external_id="7")
    assert take(chat, external_id="7") is None
    assert len(jobs()) == Message.objects.count() == 1


def test_r02_a_hundred_duplicates_from_eight_threads_are_one_row_and_one_job(transactional_db):
    chat = make_chat()
    barrier = threading.Barrier(8)

    def send():
        barrier.wait()
        for _ in range(13):
            inbox.receive(Chat.objects.get(pk=chat.pk), text="hello", external_id="7")
        connections.close_all()

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(jobs()) == Message.objects.count() == 1


def test_a_command_does_not_wait(chat):
    take(chat)
    take(chat, text="/why")
    text, command = jobs()
    assert due(command) is None
    assert command.priority > text.priority


def test_the_fifth_message_does_not_wait(chat):
    for n in range(5):
        take(chat, text=f"part {n}", seconds=n / 10)
    assert [due(job) for job in jobs()] == [2, 2.1, 2.2, 2.3, None]


def test_typing_on_delays_the_answer_but_not_for_ever(chat):
    chat.space.settings = {"batch_size": 50}
    chat.space.save()
    for n in range(7):
        take(chat, text=f"part {n}", seconds=n * 1.5)
    assert [due(job) for job in jobs()] == [2, 3.5, 5, 6.5, 8, 9.5, 10]


@pytest.mark.parametrize(
    ("text", "pause"),
    [
        ("My dog is called Rex.", 2),
        ("ok", 2),
        ("wait a moment", 4),
        ("Wait...", 4),
        ("espera un momento", 4),
        ("and then…", 4),
        ("I cannot wait for May", 2),
    ],
)
def test_081_what_is_not_finished_yet_gets_a_longer_pause(chat, text, pause):
    take(chat, text=text)
    assert due(jobs()[0]) == pause


def test_081_chats_do_not_wait_for_each_other(chat):
    take(chat, text="wait…")
    take(make_chat(chat.space), text="Hello", seconds=1)
    assert [due(job) for job in jobs()] == [4, 3]


def test_a_channel_may_have_its_own_silence(chat):
    take(chat, silence=0)
    assert due(jobs()[0]) == 0


def test_nothing_said_is_nothing_to_answer(chat):
    message = take(chat, text=" \x00 ")
    message.refresh_from_db()
    assert message.handled_at
    assert jobs() == []


def test_nobody_outside_can_take_the_place_of_a_reply(chat):
    assert take(chat, external_id="reply-1").external_id == "in-reply-1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/why", True), ("/olvidar último", True), ("/2 of them", False), ("a /why", False)],
)
def test_what_a_command_looks_like(text, expected):
    assert inbox.is_command(text) is expected
