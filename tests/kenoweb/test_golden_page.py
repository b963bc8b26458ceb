"""Golden questions, by HTTP."""

import pytest
from django.urls import reverse

from memory.facts import service as facts
from memory.models import GoldenQuestion
from memory.trust import golden
from tests.factories import (
    make_chat,
    make_client,
    make_fact,
    make_golden,
    make_member,
    make_receipt,
    make_space,
    make_user,
)  # fmt: skip

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def client(owner):
    return make_client(owner.user)


def at(name, *args, **query) -> str:
    return reverse(f"golden:{name}", args=["casa", *args], query=query)


def test_the_empty_page_says_what_they_are_for(client):
    assert "No golden question yet" in client.get(at("index")).content.decode()


def test_a_receipt_becomes_a_golden_question_with_what_its_reply_used(client, owner):
    fact = make_fact(owner.space, text="Marta is allergic to peanuts")
    receipt = make_receipt(owner.space, "What is Marta allergic to?", fact=fact)
    seen = client.get(reverse("recall:receipt", args=["casa", receipt.pk])).content.decode()
    assert at("new", receipt=receipt.pk) in seen
    form = client.get(at("new", receipt=receipt.pk)).content.decode()
    assert "Marta is allergic to peanuts" in form
    sent = {"question": "What is Marta allergic to?", "found": "0", "unsaid": "walnuts"}
    client.post(at("new", receipt=receipt.pk), sent)
    row = GoldenQuestion.objects.get()
    assert row.found == [{"fact": fact.pk, "quote": fact.text}]
    assert (row.unsaid, row.state) == (["walnuts"], "green")


def test_one_by_hand_needs_something_to_hold_it_to(client):
    shown = client.post(at("new"), {"question": "Where?"}).content.decode()
    assert "what must be found or must not be said" in shown
    client.post(at("new"), {"question": "Where?", "tells": "Rome\nParis"})
    assert [one["quote"] for one in GoldenQuestion.objects.get().found] == ["Rome", "Paris"]


@pytest.mark.django_db(transaction=True)
def test_a_broken_one_shows_what_came_between_and_its_undo(client, owner):
    fact = facts.remember(owner.space, text="Marta is allergic to peanuts", by="tag").row
    found = [{"fact": fact.pk, "quote": fact.text}]
    given = {"question": "What is Marta allergic to?", "found": found, "by": "person:ana"}
    row = golden.keep(owner.space, **given).row
    golden.run(owner.space, why="hand")
    facts.forget(fact, by="person:ana")
    client.post(at("run"))
    shown = client.get(at("detail", row.pk)).content.decode()
    assert "Not found any more" in shown
    row.refresh_from_db()
    step = next(one for one in golden.between(row) if one.why == "forget")
    client.post(at("undo", row.pk, step.change))
    row.refresh_from_db()
    assert row.state == "green"


def test_only_what_came_between_can_be_undone_there(client, owner):
    row = make_golden(owner.space, state="red")
    golden.check(row, now=row.created_at)
    other = facts.remember(make_space("other"), text="Ana lives in Rome", by="tag")
    client.post(at("undo", row.pk, other.change_id))
    other.row.refresh_from_db()
    assert other.row.status == "active"


def test_retiring_and_accepting(client, owner):
    row = make_golden(owner.space)
    client.post(at("accept", row.pk))
    client.post(at("retire", row.pk))
    row.refresh_from_db()
    assert row.status == "retired"
    assert row.question in client.get(at("index", show="retired")).content.decode()


def test_what_was_asked_in_a_private_chat_of_somebody_else_is_not_shown(owner, client):
    other = make_member(space=owner.space, user=make_user("eva"))
    chat = make_chat(owner.space, is_private=True, owner=other)
    row = make_golden(owner.space, "the secret of eva", chat=chat)
    assert "the secret of eva" not in client.get(at("index")).content.decode()
    assert client.get(at("detail", row.pk)).status_code == 404
    receipt = make_receipt(owner.space, "the secret of eva", chat=chat)
    assert client.get(at("new", receipt=receipt.pk)).status_code == 404


def test_the_overview_fetches_the_trend_by_itself(client, owner):
    overview = reverse("overview:index", args=["casa"])
    assert at("trend") not in client.get(overview).content.decode()
    make_fact(owner.space)
    make_golden(owner.space)
    golden.run(owner.space, why="hand")
    assert at("trend") in client.get(overview).content.decode()
    fetched = client.get(at("trend"), headers={"hx-request": "true"})
    assert "broken" in fetched.content.decode()
