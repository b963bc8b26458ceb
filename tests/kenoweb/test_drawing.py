"""Rows that are drawn once: whatever a person writes stays what it is."""

import pytest
from django.test import RequestFactory
from django.utils.safestring import mark_safe

from kenoweb import drawing
from tests.factories import (
    make_chat,
    make_client,
    make_fact,
    make_member,
    make_message,
    make_space,
    make_user,
)

SHAPE = {"icon": "fact"}
WORDS = {"page": "/", "current": "", "title": "", "sure": "0.9", "kind": "Fact"}


class Nothing:
    query = ""


@pytest.fixture
def request_(db):
    return RequestFactory().get("/")


def drawn(request, **words) -> str:
    return drawing.row(request, "proposals/_row.html", SHAPE, WORDS | words, filter=Nothing())


def test_each_row_has_its_own_words(request_):
    assert [word for word in ("one", "two") if word in drawn(request_, title="one")] == ["one"]
    assert [word for word in ("one", "two") if word in drawn(request_, title="two")] == ["two"]


def test_words_are_escaped_unless_they_are_marked_as_safe(request_):
    assert "&lt;b&gt;&amp;&quot;" in drawn(request_, title='<b>&"')
    assert "<b>bold</b>" in drawn(request_, title=mark_safe("<b>bold</b>"))


def test_a_word_may_look_like_the_place_of_another(request_):
    trick = f"{drawing.MARK}kind{drawing.MARK}"
    for _again in range(2):
        assert f">{trick}<" in drawn(request_, title=trick)


def test_another_shape_is_another_drawing(request_):
    first = drawn(request_)
    other = drawing.row(request_, "proposals/_row.html", {"icon": "pin"}, WORDS, filter=Nothing())
    assert ("#fact" in first, "#pin" in first) == (True, False)
    assert ("#fact" in other, "#pin" in other) == (False, True)


def test_nothing_of_one_answer_reaches_the_next():
    """What is drawn has the token of its form in it: it belongs to one request."""
    first, second = RequestFactory().get("/"), RequestFactory().get("/")
    drawn(first)
    assert "drawn" in vars(first)
    assert "drawn" not in vars(second)


@pytest.mark.django_db
def test_every_fact_learned_in_a_chat_has_an_undo_of_its_own():
    owner = make_member(space=make_space("casa"))
    chat = make_chat(owner.space)
    known = [make_fact(owner.space, message=make_message(chat, f"I like {n}")) for n in range(3)]
    page = make_client(owner.user).get(f"/s/casa/chats/{chat.pk}/").content.decode()
    for fact in known:
        assert page.count(f'action="/s/casa/chats/{chat.pk}/unlearn/{fact.pk}/"') == 1
        assert page.count(f'id="unlearn-{fact.pk}"') == 1


def test_an_attribute_that_says_nothing_is_not_there():
    assert drawing.attribute("lang", "") == ""
    assert drawing.attribute("lang", 'e"s') == ' lang="e&quot;s"'


@pytest.mark.django_db
def test_keys_and_jumps_are_those_of_the_role_the_space_and_the_language():
    owner = make_member(space=make_space("casa"))
    viewer = make_member(space=owner.space, role="viewer", user=make_user("eva"))
    other = make_member(space=make_space("otra"), user=owner.user)
    asked = [(owner, "en"), (viewer, "en"), (other, "en"), (owner, "es"), (owner, "en")]
    pages = [_dialogs(member, language) for member, language in asked]
    first, viewers, elsewhere, spanish, again = pages
    assert first == again
    assert "/s/casa/audit/" in first
    assert "/s/casa/audit/" not in viewers
    assert ("API tokens" in first, "API tokens" in viewers) == (True, False)
    assert "/s/otra/facts/" in elsewhere
    assert "/s/casa/" not in elsewhere
    assert "Facts" in first
    assert "Hechos" in spanish


def _dialogs(member, language: str) -> str:
    client = make_client(member.user)
    client.cookies["django_language"] = language
    page = client.get(f"/s/{member.space.slug}/notices/", headers={"accept-language": language})
    return page.content.decode().split('<dialog class="dialog palette"')[1]
