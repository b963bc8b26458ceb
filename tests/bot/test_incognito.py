"""Incognito: nothing is learned from what is said, and nothing of it is left when it ends."""

from datetime import timedelta

import pytest
from django.utils import timezone

from bot import turn
from memory import rulings
from memory.chats import inbox
from memory.models import Chat, Fact, Message, OutboxItem, Recall
from memory.operations import erasing
from memory.retrieval.recall import recall
from tests.factories import make_chat, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(settings):
    settings.PROVIDER = "offline"
    return make_chat(make_space(), channel="fake")


def say(chat, text):
    chat.refresh_from_db()
    message = inbox.receive(chat, text=text, author="Ana", author_id="7")
    turn.answer(message.pk, now=timezone.now() + timedelta(seconds=5))
    return Message.objects.get(reply_to=message).text


@pytest.mark.parametrize(
    ("command", "said", "over"),
    [
        ("/incognito", "I live in Lisbon with Zebra", "is over"),
        ("/incógnito", "Vivo en Lisboa con Zebra", "terminó"),
    ],
)
def test_what_is_said_incognito_is_not_learned_and_is_gone_afterwards(chat, command, said, over):
    say(chat, "Hello Keno, I like tea")
    say(chat, command)
    say(chat, said)
    assert not Fact.objects.filter(text__icontains="Lis").exists()
    assert Message.objects.filter(text=said).exists()
    assert over in say(chat, command)
    assert not Message.objects.filter(text__contains="Zebra").exists()
    assert not OutboxItem.objects.filter(text__contains="Zebra").exists()
    assert not Recall.objects.filter(query__contains="Zebra").exists()
    assert Message.objects.filter(text="Hello Keno, I like tea").exists()


def test_incognito_keeps_nothing_on_command_either(chat):
    say(chat, "/incognito")
    assert "Incognito" in say(chat, "/remember I own a Zebra")
    assert not Fact.objects.exists()


def test_an_incognito_chat_that_nobody_writes_in_ends_by_itself(chat):
    say(chat, "/incognito")
    say(chat, "I own a Zebra")
    now = timezone.now()
    assert erasing.end_quiet_incognito(now=now + timedelta(minutes=5)) == 0
    assert erasing.end_quiet_incognito(now=now + timedelta(hours=2)) > 0
    assert not Message.objects.filter(text__contains="Zebra").exists()
    assert Chat.objects.get().incognito_since is None


@pytest.mark.parametrize(
    ("fact", "near", "named"),
    [
        ("Ana got divorced in May", "How is Ana?", "When did Ana get divorced?"),
        ("Ana se divorció en mayo", "¿Cómo está Ana?", "¿Cuándo se divorció Ana?"),
    ],
)
def test_what_is_not_to_be_mentioned_comes_only_when_asked_for_by_name(chat, fact, near, named):
    said = make_message(chat, fact, author="Ana")
    row = make_fact(chat.space, fact, subject="Ana", message=said, chat=chat, pinned=True)
    rulings.dont_mention(row, by="person:ana")
    quiet = recall(chat.space, near, chat=chat, save=False)
    assert fact not in [item.unit.text for item in quiet.items]
    asked = recall(chat.space, named, chat=chat, save=False)
    assert fact in [item.unit.text for item in asked.items]
