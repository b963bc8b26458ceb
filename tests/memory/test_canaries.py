"""Tripwires: a canary that is heard outside its chat is told, and what says it is held."""

import pytest
from django.core.cache import cache
from django.utils import timezone

from memory.facts import service as facts
from memory.models import AuditEntry, Fact, Notice
from memory.operations import health
from memory.transfer import importing
from memory.trust import canaries
from tests.factories import make_chat, make_space

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


def test_an_export_that_takes_a_canary_along_is_told(chat, tmp_path):
    with (tmp_path / "x.zip").open("wb") as file:
        importing.export(chat.space, file, by="person:ana")
    assert "an export" in str(Notice.objects.get(kind="canary"))


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
