"""Rows of lists and the parts around every page: each shows its own words, and only those."""

import pytest

from tests.factories import (
    make_chat,
    make_client,
    make_fact,
    make_member,
    make_message,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db


def test_each_row_has_its_own_words_and_they_are_escaped():
    owner = make_member(space=make_space("casa"))
    for text in ('<b>tea</b> & "milk"', "plain coffee"):
        make_fact(owner.space, text=text)
    page = make_client(owner.user).get("/s/casa/facts/").content.decode()
    assert page.count("&lt;b&gt;tea&lt;/b&gt; &amp; &quot;milk&quot;") == 1
    assert page.count("plain coffee") == 1
    assert "<b>tea</b>" not in page


def test_a_text_without_a_language_has_no_lang():
    owner = make_member(space=make_space("casa"))
    make_fact(owner.space, text="hola", language="es")
    make_fact(owner.space, text="xyz", language="")
    page = make_client(owner.user).get("/s/casa/facts/").content.decode()
    assert page.count('lang="es" dir="auto"') == 1
    assert 'lang=""' not in page


def test_every_fact_learned_in_a_chat_has_an_undo_of_its_own():
    owner = make_member(space=make_space("casa"))
    chat = make_chat(owner.space)
    known = [make_fact(owner.space, message=make_message(chat, f"I like {n}")) for n in range(3)]
    page = make_client(owner.user).get(f"/s/casa/chats/{chat.pk}/").content.decode()
    for fact in known:
        assert page.count(f'action="/s/casa/chats/{chat.pk}/unlearn/{fact.pk}/"') == 1
        assert page.count(f'id="unlearn-{fact.pk}"') == 1


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
