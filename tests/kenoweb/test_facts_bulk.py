"""One act on many facts, by HTTP: those that are ticked, or all that match; one undo."""

import pytest
from django.urls import reverse

from memory.models import Fact, Ruling
from tests.factories import make_chat, make_client, make_fact, make_member, make_space, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def client(owner):
    return make_client(owner.user)


@pytest.fixture
def rows(owner):
    return [make_fact(owner.space, text=f"fact number {n}") for n in range(3)]


def do(client, act, rows, headers=None, **more) -> str:
    picks = {"act": act, "pick": [row.pk for row in rows], "where": "", "chat": "space"}
    there = reverse("facts:bulk", args=["casa"])
    answer = client.post(there, picks | more, follow=True, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def found(**given) -> set[str]:
    return set(Fact.objects.filter(**given).values_list("text", flat=True))


@pytest.mark.parametrize("headers", [{}, {"hx-request": "true"}])
@pytest.mark.parametrize(
    ("act", "more", "then"),
    [
        ("pin", {}, {"pinned": True}),
        ("forget", {}, {"status": "archived"}),
        ("category", {"category": "profile"}, {"category": "profile"}),
        ("subject", {"subject": "Bo"}, {"subject": "Bo"}),
    ],
)
def test_what_is_ticked_is_changed_and_one_undo_takes_it_back(
    client, rows, act, more, then, headers
):
    page = do(client, act, rows[:2], headers, **more)
    assert found(**then) == {"fact number 0", "fact number 1"}
    undo = page.partition('action="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    assert found(**then) == set()


def test_facts_move_to_a_chat_and_back_to_the_whole_space(client, owner, rows):
    chat = make_chat(owner.space)
    do(client, "chat", rows, chat=str(chat.pk))
    assert len(found(chat=chat)) == 3
    do(client, "chat", rows, chat="space")
    assert len(found(chat=None)) == 3


def test_one_undo_brings_what_was_moved_back_to_where_it_was(client, owner, rows):
    here, there = make_chat(owner.space), make_chat(owner.space)
    Fact.objects.filter(pk=rows[0].pk).update(chat=here)
    page = do(client, "chat", rows, chat=str(there.pk))
    assert len(found(chat=there)) == 3
    undo = page.partition('action="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    assert (found(chat=here), len(found(chat=None))) == ({"fact number 0"}, 2)


def test_what_another_chat_knows_already_is_not_moved_there(client, owner, rows):
    chat = make_chat(owner.space)
    make_fact(owner.space, text="fact number 1", subject=rows[1].subject, chat=chat)
    assert "1 was left: another live fact says the same." in do(
        client, "chat", rows, chat=str(chat.pk)
    )
    assert Fact.objects.filter(chat=chat).count() == 3


def test_never_again_makes_a_ruling_of_each(client, rows):
    do(client, "never", rows[:2])
    assert Ruling.objects.filter(kind="never_remember").count() == 2
    assert found(status="active") == {"fact number 2"}


def test_all_that_match_are_more_than_the_page_shows(client, owner, rows):
    for n in range(60):
        make_fact(owner.space, text=f"tea {n}", subject=f"Bo {n}")
    do(client, "pin", [], everything="1", where="q=tea")
    assert Fact.objects.filter(pinned=True).count() == 60
    assert found(pinned=True).isdisjoint({"fact number 0"})


@pytest.mark.parametrize(
    ("act", "more", "said"),
    [
        ("pin", {"pick": []}, "Tick the facts first."),
        ("pin", {"pick": ["x", "²", "9" * 30]}, "Tick the facts first."),
        ("explode", {}, "Choose what to do with them."),
        ("category", {"category": "nonsense"}, "Choose what to do with them."),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_changes(client, rows, act, more, said):
    assert said in do(client, act, rows, **more)
    assert Fact.objects.filter(status="active", pinned=False).count() == 3


def test_facts_of_another_space_stay_as_they_are(client, rows):
    theirs = make_fact(make_space("theirs"))
    do(client, "forget", [*rows, theirs])
    assert found(status="active") == {theirs.text}


def test_a_viewer_changes_nothing(owner, rows):
    guest = make_client(make_member(space=owner.space, role="viewer").user)
    there = reverse("facts:bulk", args=["casa"])
    assert guest.post(there, {"act": "pin", "pick": [rows[0].pk]}).status_code == 403
    assert make_client(owner.user).get(there).status_code == 405
