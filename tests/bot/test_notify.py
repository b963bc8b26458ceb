from datetime import timedelta

import pytest

from bot import outbox
from memory import notices
from memory.models import ChatLink, Notice, OutboxItem
from tests.bot.conftest import NOON
from tests.factories import make_chat, make_member

pytestmark = pytest.mark.django_db(transaction=True)


def linked(space, *, role="owner", author="501", channel="fake"):
    member = make_member(space=space, role=role)
    return ChatLink.objects.create(
        space=space, member=member, digest=author + role, expires_at=NOON, linked_at=NOON,
        channel=channel, author_id=author,
    )  # fmt: skip


def told(space, *, link="proposals/", key="k", at=NOON):
    said = {"text": lambda: "3 items wait", "link": link}
    notice = notices.tell(space, kind="proposals_new", key=key, **said)
    Notice.objects.filter(pk=notice.pk).update(created_at=at)
    return notice


@pytest.fixture
def alone(chat):
    return make_chat(chat.space, channel="fake", external_id="501")


def test_a73_the_owner_gets_a_message_with_a_link_once(chat, alone):
    linked(chat.space)
    told(chat.space)
    assert outbox.deliver_notices(now=NOON) == 1
    assert outbox.deliver_notices(now=NOON) == 0
    item = OutboxItem.objects.get()
    assert (item.chat, item.kind) == (alone, "notice")
    assert item.text.startswith("3 items wait\n")
    assert item.text.endswith(f"/s/{chat.space.slug}/proposals/")


def test_a73_without_a_link_there_is_none_in_the_text(chat, alone):
    linked(chat.space)
    told(chat.space, link="")
    outbox.deliver_notices(now=NOON)
    assert OutboxItem.objects.get().text == "3 items wait"


def test_a73_without_an_owner_there_is_no_message(chat, alone):
    linked(chat.space, role="viewer")
    told(chat.space)
    assert outbox.deliver_notices(now=NOON) == 0
    assert not OutboxItem.objects.exists()


def test_it_never_goes_to_a_group_or_to_another_space(chat):
    linked(chat.space)
    make_chat(channel="fake", external_id="501")
    told(chat.space)
    assert outbox.deliver_notices(now=NOON) == 0


def test_old_news_is_not_sent(chat, alone):
    linked(chat.space)
    told(chat.space, at=NOON - timedelta(days=2))
    assert outbox.deliver_notices(now=NOON) == 0
