"""Who Keno is, by HTTP: what owners write, what curators may, and what stays inert."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memory.identity import core, preferences, rules
from memory.models import AuditEntry, Identity, Preference, Rule, SelfCheck
from tests.factories import (
    make_chat,
    make_client,
    make_member,
    make_message,
    make_preference,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db
HTMX = {"hx-request": "true"}
RULE = {"slug": "no_filler", "instruction": "No filler.", "forbidden": "Great question | filler"}


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def space(owner):
    return owner.space


@pytest.fixture
def client(owner):
    return make_client(owner.user, sudo=True)


def at(name, *args, **query) -> str:
    return reverse(f"identity:{name}", args=["casa", *args], query=query)


def page(client, name="index", *args, **query) -> str:
    answer = client.get(at(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def own(space):
    return Rule.objects.get(space=space, status="active")


def test_a_fresh_space_shows_what_keno_brings_along(client, space):
    found = page(client)
    assert "I am Keno" in found
    assert "Answer first" in found
    assert ">answer-first<" not in found
    assert "built in" in found
    assert "Nothing has been changed yet" in found


def test_an_owner_writes_the_core_and_takes_it_back(client, space):
    assert client.post(at("edit"), {"text": "I am Ada. About $5."}).url == at("index")
    client.post(at("edit"), {"text": "I am Ada. About $4."})
    found = page(client)
    assert "About $4." in found
    assert "<del>" in found, "the versions show the difference"
    assert AuditEntry.objects.filter(action="identity.core").count() == 2
    undo = found.partition('action="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    assert core.read(space) == "I am Ada. About $5."


def test_an_empty_core_is_the_shipped_one(client, space):
    client.post(at("edit"), {"text": "I am Ada."})
    client.post(at("edit"), {"text": ""})
    assert core.read(space) == core.shipped("en")


def test_the_core_asks_for_the_password_again(owner):
    answer = make_client(owner.user).post(at("edit"), {"text": "I am Eve."})
    assert answer.url.startswith(reverse("account:sudo"))
    assert not Identity.objects.exists()


def test_a_curator_cannot_write_the_core(space):
    curator = make_client(make_member(space=space, role="curator").user, sudo=True)
    assert curator.post(at("edit"), {"text": "I am Eve."}).status_code == 403
    assert at("edit") not in page(curator)


def test_a_rule_is_added_worded_anew_and_retired(client, space):
    client.post(at("rule"), RULE | {"good-0": "8443.", "bad-0": "Great question! 8443."})
    rule = own(space)
    assert rule.forbidden == [{"phrase": "Great question", "reason": "filler", "pattern": False}]
    assert rule.examples == [{"good": "8443.", "bad": "Great question! 8443."}]
    assert "8443." in page(client, "rule", slug="no_filler")
    client.post(at("rule", slug="no_filler"), {"instruction": "No filler at all."})
    assert own(space).instruction == "No filler at all."
    assert client.post(at("retire"), {"slug": "no_filler"}).url == at("index")
    assert not Rule.objects.filter(space=space, status="active").exists()


def test_a_rule_that_came_along_is_retired_and_brought_back(client, space):
    client.post(at("retire"), {"slug": "answer-first"})
    found = page(client)
    assert "Retired:" in found
    undo = found.partition('action="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    assert "answer-first" in {rule.slug for rule in rules.active(space)}


def test_with_htmx_the_page_fetches_itself(client, space):
    answer = client.post(at("retire"), {"slug": "answer-first"}, headers=HTMX)
    assert "rows-changed" in answer["HX-Trigger"]
    assert "Undo" in answer.content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"instruction": "  "}, "A rule needs an instruction"),
        ({"forbidden": "/(unclosed/"}, "This pattern cannot be used"),
        ({"instruction": "x" * 5000}, "at most 4000"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused_in_words(client, space, given, said):
    answer = client.post(at("rule"), given)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Rule.objects.exists()


def test_a_rule_that_is_not_there_is_not_found(client, space):
    assert client.get(at("rule", slug="nobody")).status_code == 404
    assert client.get(at("prefer", pk="x")).status_code == 404


def test_a_reply_is_held_against_the_rules(client, space):
    client.post(at("rule"), RULE)
    assert "No filler" in page(client, reply="Great question! It is 8443.").partition("tried")[2]
    assert "No rule forbids this." in page(client, reply="It is 8443.")


def test_how_often_a_rule_was_broken_is_said(client, space):
    client.post(at("rule"), RULE)
    chat = make_chat(space)
    for _ in range(2):
        reply = make_message(chat, role="assistant", sent_at=timezone.now())
        SelfCheck.objects.create(
            space=space, reply=reply, quality="poor", score=0.4, forbidden=["Great question"]
        )
    assert "broken 2 times this week" in page(client)


def test_a_preference_is_noted_reworded_and_dropped(client, space):
    client.post(at("prefer"), {"key": "Tone", "value": "short"})
    one = Preference.objects.get()
    assert one.sticky
    client.post(at("prefer", pk=one.pk), {"key": "Voice", "value": "short and plain"})
    assert [row.key for row in preferences.active(space)] == ["Voice"]
    now = preferences.active(space)[0]
    assert client.post(at("drop", now.pk)).url == at("index")
    assert not preferences.active(space)
    undo = page(client).partition('action="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    assert [row.key for row in preferences.active(space)] == ["Voice"]


def test_a_preference_without_words_is_refused(client, space):
    assert client.post(at("prefer"), {"key": "Tone", "value": " "}).status_code == 422


def test_the_prompt_is_shown_as_a_model_reads_it(client, space):
    make_preference(space, key="Tone", value="short", sticky=True)
    found = page(client, "as_prompt")
    assert "## Behavioral Guidelines" in found
    assert "- Tone: short" in found


def test_viewers_look(space):
    guest = make_client(make_member(space=space, role="viewer").user)
    found = page(guest)
    assert at("rule") not in found
    assert guest.post(at("retire"), {"slug": "answer-first"}).status_code == 403


@pytest.mark.parametrize("act", ["retire", "drop"])
def test_a_look_does_nothing(client, space, act):
    args = [make_preference(space).pk] if act == "drop" else []
    assert client.get(at(act, *args)).status_code == 405


def test_the_page_costs_the_same_however_much_there_is(client, space):
    def cost():
        with CaptureQueriesContext(connection) as found:
            page(client)
        return len(found)

    def grow(count, start):
        for n in range(start, start + count):
            rules.put(space, by="person:ana", slug=f"r{n}", instruction=f"Rule {n}.")
            preferences.put(space, by="person:ana", key=f"k{n}", value="v")

    core.write(space, text="I am Ada.", by="person:ana")
    grow(2, 0)
    before = cost()
    grow(20, 2)
    assert cost() == before


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_hostile_words_are_inert(client, space):
    core.write(space, text=HOSTILE, by="person:ana")
    example = {"user": HOSTILE, "good": HOSTILE, "bad": HOSTILE}
    rules.put(
        space, by="person:ana", slug=HOSTILE, instruction=HOSTILE, examples=[example],
        forbidden=[{"phrase": HOSTILE, "reason": HOSTILE}],
    )  # fmt: skip
    make_preference(space, key=HOSTILE[:80], value=HOSTILE, section=HOSTILE[:80])
    Identity.objects.update(bootstrap={HOSTILE: HOSTILE})
    for found in (page(client, reply=HOSTILE), page(client, "as_prompt"), page(client, "edit")):
        assert "<script>alert" not in found
        assert "<img src=x" not in found
