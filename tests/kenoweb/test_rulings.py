"""Rulings, by HTTP."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memory import rulings
from memory.facts import service as facts
from memory.models import Ruling
from tests.factories import make_client, make_fact, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
HTMX = {"hx-request": "true"}


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def client(owner):
    return make_client(owner.user)


@pytest.fixture
def ruling(owner):
    return rulings.forbid(owner.space, text="the code of the alarm", by="person:ana").row


def at(name, *args, **query) -> str:
    return reverse(f"rulings:{name}", args=["casa", *args], query=query)


def page(client, **query) -> str:
    return client.get(at("index", **query)).content.decode()


def test_without_a_ruling_the_page_says_what_they_are_for(client):
    assert "No rulings yet" in page(client)


def test_how_often_a_ruling_was_obeyed(client, owner, ruling):
    assert "never applied yet" in page(client)
    facts.remember(owner.space, text="The code of the alarm.", by="tag")
    assert "obeyed 1 time" in page(client)


def test_a_person_adds_one_and_can_undo_it(client):
    sent = {"text": "my diagnosis", "reason": "private"}
    assert client.post(at("add"), sent).url == at("index")
    shown = page(client)
    assert "my diagnosis" in shown
    client.post(shown.split('class="toast ')[1].split('action="')[1].split('"')[0])
    assert Ruling.objects.get().status == "lifted"


def test_a_ruling_needs_words(client):
    assert client.post(at("add"), {"text": " "}).status_code == 422
    assert not Ruling.objects.exists()


@pytest.mark.parametrize("htmx", [True, False])
def test_it_is_lifted_and_stays_to_be_seen(client, ruling, htmx):
    answer = client.post(at("lift", ruling.pk), headers=HTMX if htmx else {})
    assert Ruling.objects.get().status == "lifted"
    shown = answer.content.decode() if htmx else page(client, show="lifted")
    assert "the code of the alarm" in shown
    assert "the code of the alarm" not in page(client).split('id="rulings"')[1]


def test_each_view_shows_its_own(client, owner, ruling):
    fact = make_fact(owner.space, text="Ana drinks tea")
    rulings.keep(fact, by="person:ana")
    never, keep = page(client, show="never"), page(client, show="keep")
    assert "Ana drinks tea" not in never.split('id="rulings"')[1]
    assert reverse("facts:detail", args=["casa", fact.pk]) in keep
    assert "the code of the alarm" in page(client, q="ALARM")
    assert "No ruling matches" in page(client, q="zebra")


@pytest.mark.parametrize("act", ["add", "lift"])
def test_a_look_does_nothing(client, ruling, act):
    args = [ruling.pk] if act == "lift" else []
    assert client.get(at(act, *args)).status_code == 405


def test_a_viewer_sees_no_way_to_change_anything(owner, ruling):
    viewer = make_client(make_member(space=owner.space, role="viewer").user)
    assert 'method="post"' not in page(viewer).split("<main")[1].split("</main>")[0]


def test_the_list_costs_the_same_for_100_and_for_2_000(client, owner, ruling):
    def cost(n):
        Ruling.objects.bulk_create(
            Ruling(space=owner.space, kind="never_remember", text=f"{n} {i}", said_key=f"{n}-{i}")
            for i in range(n)
        )
        with CaptureQueriesContext(connection) as found:
            client.get(at("index"))
        return len(found)

    cost(1)
    assert cost(99) == cost(1900)
