import pytest
from asgiref.sync import async_to_sync
from procrastinate.contrib.django.models import ProcrastinateJob

from bot import outbox
from bot.channels import SendFailed
from memory import jobs
from memory.models import OutboxItem
from tests.bot.conftest import NOON
from tests.factories import make_chat, make_message

pytestmark = pytest.mark.django_db(transaction=True)


def put(chat, key="reply-1", text="Hello", **given):
    return outbox.put(chat, text=text, key=key, now=NOON, **given)


def deliver(item):
    async_to_sync(outbox.deliver)(item.pk)
    item.refresh_from_db()


def test_it_is_sent_once_with_its_key(chat, fake):
    item = put(chat)
    deliver(item)
    deliver(item)
    assert [outgoing.key for outgoing in fake.sent] == ["reply-1"]
    assert item.delivered_at
    assert item.external_id == "there-1"


def test_the_same_key_again_is_nothing_new(chat):
    put(chat)
    put(chat, text="Other words")
    assert OutboxItem.objects.get().text == "Hello"
    assert ProcrastinateJob.objects.filter(task_name="bot.deliver").count() == 1


def test_deliveries_of_a_chat_wait_for_each_other(chat):
    put(chat, key="a")
    put(chat, key="b")
    put(make_chat(chat.space, channel="fake"), key="a")
    locks = ProcrastinateJob.objects.order_by("id").values_list("lock", flat=True)
    assert locks[0] == locks[1] != locks[2]


def test_it_answers_the_message_it_answers(chat, fake):
    asked = make_message(chat, external_id="77")
    reply = make_message(chat, role="assistant", reply_to=asked)
    deliver(put(chat, message=reply))
    assert fake.sent[0].reply_to == "77"


def test_a_passing_failure_keeps_it_waiting(chat, fake):
    fake.failures = [SendFailed("The network is down.")]
    item = put(chat)
    with pytest.raises(SendFailed):
        deliver(item)
    item.refresh_from_db()
    assert (item.delivered_at, item.failed_at, item.error) == (None, None, "The network is down.")
    deliver(item)
    assert (len(fake.sent), item.attempts, item.error) == (1, 2, "")


def test_a_final_failure_is_kept(chat, fake):
    fake.failures = [SendFailed("Blocked by the person.", permanent=True)]
    item = put(chat)
    with pytest.raises(SendFailed):
        deliver(item)
    item.refresh_from_db()
    assert item.failed_at
    deliver(item)
    assert fake.sent == []


def test_a_channel_that_does_not_run_here_is_not_a_loss(space):
    """It waits for a process that has the channel, whoever finds it first."""
    item = put(make_chat(space, channel="elsewhere"))
    deliver(item)
    item.refresh_from_db()
    assert (item.failed_at, item.delivered_at) == (None, None)
    queues = ProcrastinateJob.objects.filter(task_name="bot.deliver").values_list("queue_name")
    assert {*queues} == {("out.elsewhere",)}
    assert not jobs.due([jobs.ANYBODY])
    assert jobs.due(["out.elsewhere"])
