import re

import pytest
from django.urls import reverse

from memory.models import ChatLink
from memory.spaces import chat_links
from tests.factories import (
    make_chat,
    make_chat_link,
    make_client,
    make_member,
    make_message,
    make_space,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def ana():
    return make_member(space=make_space("home"))


def test_the_code_on_the_page_links_the_chat(ana):
    page = make_client(ana.user).post(reverse("chat_links:offer"), {"space": "home"})
    code = re.search(r"/link (\w+)", page.content.decode())[1]
    message = make_message(make_chat(ana.space), author_id="7")
    assert chat_links.redeem(message, code=code, now=message.sent_at) == ana
    shown = make_client(ana.user).get(reverse("account:index")).content.decode()
    assert "<p>Telegram ·" in shown


def test_it_refuses_get(ana):
    assert make_client(ana.user).get(reverse("chat_links:offer")).status_code == 405


def test_a_new_code_ends_the_old_one(ana):
    old = chat_links.offer(ana)
    chat_links.offer(ana)
    message = make_message(make_chat(ana.space), author_id="7")
    assert chat_links.redeem(message, code=old, now=message.sent_at) is None


def test_unlinking_ends_it(ana):
    link = make_chat_link(ana)
    make_client(ana.user).post(reverse("chat_links:unlink", args=[link.pk]))
    assert chat_links.member_of(make_message(make_chat(ana.space), author_id="7")) is None


def test_nobody_unlinks_somebody_else(ana):
    link = make_chat_link(make_member(space=ana.space))
    answer = make_client(ana.user).post(reverse("chat_links:unlink", args=[link.pk]))
    assert answer.status_code == 404
    assert ChatLink.objects.filter(pk=link.pk).exists()


def test_a_stranger_sees_nothing(ana):
    stranger = make_client(make_member().user)
    assert stranger.post(reverse("chat_links:offer"), {"space": "home"}).status_code == 404
