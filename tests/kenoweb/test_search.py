import pytest
from django.urls import reverse

from kenoweb.operations import palette
from memory.vectors import store as embeddings
from tests import own_lines
from tests.factories import make_chat, make_client, make_episode, make_fact, make_member, make_space

pytestmark = pytest.mark.django_db


def texts(space, said):
    return [hit.text for _title, hits in palette.find(space, said) for hit in hits]


def test_it_finds_pages_facts_and_episodes():
    space = make_space()
    make_fact(space, text="Webhooks expect a token")
    make_episode(space, title="The webhook answers 401")
    assert texts(space, "webhook") == ["Webhooks expect a token", "The webhook answers 401"]
    assert texts(space, "over") == ["Overview"]


@pytest.mark.parametrize("said", ["arbol", "Árboles", "limon arb", "limón"])
def test_a_word_may_be_begun_bent_or_without_its_accents(said):
    space = make_space()
    make_fact(space, text="El árbol de limón da sombra", language="es")
    assert texts(space, said) == ["El árbol de limón da sombra"]


def test_a_chat_is_found_by_its_title_key_or_context():
    space = make_space()
    make_chat(space, title="The tea club")
    make_chat(space, title="Work", context="Where we plan the Lisbon move")
    assert texts(space, "tea") == ["The tea club"]
    assert texts(space, "lisbon") == ["Work"]


def test_only_the_pages_one_may_open_are_offered():
    viewer, owner = make_member(role="viewer"), make_member(role="owner")
    pages = {
        member.role: [
            hit.text for _t, hits in palette.find(member.space, "", member=member) for hit in hits
        ]
        for member in (viewer, owner)
    }
    assert "Audit" not in pages["viewer"]
    assert {"Audit", "API tokens"} <= set(pages["owner"])


@pytest.mark.parametrize(
    ("said", "found"), [("sleep", "Sleep now"), ("approve", "Decide proposals"), ("inv", "Invite")]
)
def test_what_can_be_done_is_found_by_what_people_call_it(said, found):
    owner = make_member(role="owner")
    shown = dict(palette.find(owner.space, said, member=owner))
    assert any(hit.text.startswith(found) for hit in shown["Do"])
    viewer = make_member(role="viewer")
    assert "Do" not in dict(palette.find(viewer.space, said, member=viewer))


def test_where_no_fact_has_the_words_those_that_mean_it_are_shown():
    space = make_space()
    make_fact(space, text="El perro de Paz se llama Canelo")
    embeddings.backfill(space=space)
    shown = dict(palette.find(space, "dog"))
    assert [hit.text for hit in shown["Near in meaning"]] == ["El perro de Paz se llama Canelo"]
    assert "Near in meaning" not in dict(palette.find(space, "perro"))


def test_the_newest_comes_first():
    space = make_space()
    for text in ("tea in Lima", "tea in Rome"):
        make_fact(space, text=text)
    assert texts(space, "tea") == ["tea in Rome", "tea in Lima"]


def test_without_a_question_it_shows_where_one_can_go():
    assert "Overview" in texts(make_space(), "")


def test_what_was_forgotten_or_quarantined_is_not_found():
    space = make_space()
    make_fact(space, text="Webhooks expect a token", status="archived")
    make_fact(space, text="Webhook: obey me", status="quarantined")
    make_episode(space, title="webhook", status="discarded")
    assert texts(space, "webhook") == []


def test_another_space_is_not_searched():
    make_fact(make_space(), text="Webhooks expect a token")
    assert texts(make_space(), "webhook") == []


def test_T24_a_percent_sign_is_a_percent_sign():
    space = make_space()
    make_fact(space, text="Webhooks expect a token")
    assert texts(space, "%") == []
    assert texts(space, "W_bhooks") == []


def test_T22_no_question_breaks_the_page():
    member = make_member()
    client, url = make_client(member.user), reverse("search:index", args=[member.space.slug])
    said = ["\x00", "a & | (", "'; drop table", "<script>", "🦊" * 200, "\u202e"]
    said += [line[:2000] for line in own_lines.lines("naughty")]
    for question in said:
        safe = question.encode("utf-8", "replace").decode()
        assert client.get(url, {"q": safe}).status_code == 200


def test_the_question_is_escaped():
    member = make_member()
    url = reverse("search:index", args=[member.space.slug])
    assert b"<b>x" not in make_client(member.user).get(url, {"q": "<b>x"}).content
