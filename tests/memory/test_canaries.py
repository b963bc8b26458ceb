"""Tripwires: a canary that is heard outside its chat is told, and what says it is held."""

import pytest
from django.core.cache import cache
from django.utils import timezone

from bot import turn
from kenoweb.api import operations
from kenoweb.api.calls import Refused
from memory.chats import inbox
from memory.facts import service as facts
from memory.models import AuditEntry, Fact, Message, Notice
from memory.operations import health
from memory.transfer import importing
from memory.trust import canaries
from tests.bot.conftest import NOON, after, llm  # noqa: F401
from tests.factories import make_chat, make_member, make_space, make_token

pytestmark = pytest.mark.django_db
TEXT = "The spare key of the cellar hangs behind the blue mirror"


@pytest.fixture
def chat():
    cache.clear()
    chat = make_chat(make_space("home"), title="Family")
    facts.remember(chat.space, text=TEXT, by="person:ana", chat=chat)
    Fact.objects.filter(space=chat.space).update(tags=["canary"])
    return chat


def watch(home, said, *, chat):
    return canaries.watch(home.space, said, place="reply", chat=chat)


@pytest.mark.parametrize(
    "said",
    [TEXT, f"Of course! {TEXT.lower()}.", "Behind the blue mirror hangs the cellar's spare key"],
)
def test_what_tells_a_canary_elsewhere_is_held_and_the_owner_told(chat, said):
    assert not watch(chat, said, chat=make_chat(chat.space))
    assert "outside its chat, in a reply" in str(Notice.objects.get(kind="canary"))
    found = {one.name: one.level for one in health.check(chat.space, now=timezone.now())}
    assert found["walls"] == health.ERROR


def test_in_its_own_chat_it_may_be_said_and_other_words_anywhere(chat):
    assert watch(chat, TEXT, chat=chat)
    assert watch(chat, "The spare key of the garage is red", chat=make_chat(chat.space))
    assert not Notice.objects.exists()


def test_an_export_that_takes_a_canary_along_is_told_and_not_said_to_be_held(chat, tmp_path):
    with (tmp_path / "x.zip").open("wb") as file:
        importing.export(chat.space, file, by="person:ana")
    notice = str(Notice.objects.get(kind="canary"))
    assert "left its chat, in an export" in notice
    assert "held" not in notice


def _reply(chat, model):
    model.usual = TEXT
    message = inbox.receive(make_chat(chat.space), text="Hello", author="Bob", now=NOON)
    turn.answer(message.pk, now=after(9))
    return Message.objects.get(role="assistant").text


def _program(chat, model):
    user = make_member(space=chat.space).user
    _, key = make_token(chat.space, user=user, scopes=["read", "private"])
    operation = operations.OPERATIONS["fact"]
    with pytest.raises(Refused) as refused:
        operations.perform(operation, key, operation.takes(id=Fact.objects.get().pk))
    return str(refused.value)


@pytest.mark.parametrize("place", [_reply, _program])
def test_every_way_out_holds_it(chat, llm, place):  # noqa: F811
    said = place(chat, llm)
    assert "mirror" not in said
    assert "held" in said.lower()
    assert Notice.objects.filter(kind="canary").count() == 1


def test_the_nightly_test_finds_no_hole_and_leaves_nothing_behind(chat):
    make_chat(chat.space), make_space("other")
    before = Fact.objects.count()
    assert canaries.try_walls(chat.space) == []
    assert Fact.objects.count() == before
    assert AuditEntry.objects.get(action="walls.tested").details["holes"] == 0


def test_the_nightly_test_sees_a_hole(chat, monkeypatch):
    make_chat(chat.space)
    real = canaries.recall
    leak = lambda *args, **given: real(*args, **given, everywhere=True)  # noqa: E731
    monkeypatch.setattr(canaries, "recall", leak)
    assert canaries.try_walls(chat.space)
    assert "a hole in the walls" in str(Notice.objects.get(kind="walls"))
