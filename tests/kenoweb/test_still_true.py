"""The page "Still true?": a few facts a day, answered with y, n, e, s and u."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memory.models import Fact
from tests.factories import make_client, make_fact, make_member, make_old_fact

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def member():
    return make_member(role="curator")


@pytest.fixture
def client(member):
    return make_client(member.user)


@pytest.fixture
def space(member):
    return member.space


def at(name, space, *args):
    return reverse(f"still_true:{name}", args=[space.slug, *args])


def test_an_empty_space_has_nothing_to_check(client, space):
    make_fact(space, text="Ana lives in Oslo")
    assert "Nothing to check" in client.get(at("index", space)).content.decode()


def test_the_page_asks_in_words_and_offers_its_keys(client, space):
    make_old_fact(space, text="Ana lives in Oslo", language="en", quote="I live in Oslo")
    page = client.get(at("index", space)).content.decode()
    assert "Does Ana still live in Oslo?</h1>" in page
    assert "Not checked for 26 months" in page
    assert all(f'data-key="{key}"' in page for key in "yne")


def test_yes_confirms_and_u_takes_it_back(client, space):
    fact = make_old_fact(space, text="Ana lives in Oslo")
    answer = client.post(at("confirm", space, fact.pk), headers=HTMX)
    assert "That is all for today" in answer.content.decode()
    fact.refresh_from_db()
    assert fact.confirmed_at
    client.post(at("undo", space))
    fact.refresh_from_db()
    assert fact.confirmed_at is None
    assert "still live in Oslo" in client.get(at("index", space)).content.decode()


def test_no_ends_it_and_the_next_one_is_shown(client, space):
    first = make_old_fact(space, text="Ana lives in Oslo", use_count=20)
    second = make_old_fact(space, text="Ana works at Acme")
    answer = client.post(at("end", space, first.pk))
    assert answer["Location"] == at("detail", space, second.pk)
    first.refresh_from_db()
    assert (first.status, "deprecated" in first.flags) == ("archived", True)
    assert first.valid_to


def test_a_correction_takes_its_place_since_the_day_that_is_said(client, space):
    old = make_old_fact(space, text="Ana lives in Oslo")
    said = {"text": "Ana lives in Rome", "since": "2026-03-01"}
    client.post(at("correct", space, old.pk), said)
    old.refresh_from_db()
    new = Fact.objects.get(text="Ana lives in Rome")
    assert (old.status, old.superseded_by) == ("superseded", new)
    assert timezone.localtime(new.valid_from).date().isoformat() == "2026-03-01"
    assert old.valid_to == new.valid_from


def test_a_correction_without_words_says_so_and_changes_nothing(client, space):
    old = make_old_fact(space, text="Ana lives in Oslo")
    page = client.post(at("correct", space, old.pk), {"text": ""}, follow=True).content.decode()
    assert "Say how it is now" in page
    old.refresh_from_db()
    assert old.status == "active"


def test_a_viewer_sees_the_queue_without_buttons(space):
    make_old_fact(space, text="Ana lives in Oslo")
    viewer = make_client(make_member(space=space, role="viewer").user)
    page = viewer.get(at("index", space)).content.decode()
    assert "Oslo" in page
    assert 'data-key="y"' not in page


def test_five_a_day_and_the_rest_on_other_days(client, space):
    for n in range(7):
        make_old_fact(space, text=f"Ana lives in town {n}")
    page = client.get(at("index", space)).content.decode()
    assert page.count('<span class="meta">Not checked') == 5
    assert "2 more on other days" in page


def test_the_form_sets_the_days_a_fact_holds_also_ahead(client, space):
    fact = make_fact(space, text="Ana lives in Oslo")
    url = reverse("facts:revise", args=[space.slug, fact.pk])
    form = {"text": fact.text, "kind": "fact", "category": "other", "confidence": "0.9"}
    client.post(url, form | {"chat": "space", "valid_from": "2026-01-05", "valid_to": "2099-12-31"})
    fact.refresh_from_db()
    days = [timezone.localtime(one).date().isoformat() for one in (fact.valid_from, fact.valid_to)]
    assert days == ["2026-01-05", "2099-12-31"]
    page = client.get(reverse("facts:detail", args=[space.slug, fact.pk])).content.decode()
    assert "Since when and until when" in page


def test_the_list_shows_what_held_on_a_day(client, space):
    old = make_old_fact(space, text="Ana lives in Oslo")
    said = {"text": "Ana lives in Rome", "since": "2026-03-01"}
    client.post(at("correct", space, old.pk), said, follow=True)
    page = reverse("facts:index", args=[space.slug])
    then = client.get(f"{page}?valid_at=2026-02-01").content.decode()
    now = client.get(f"{page}?valid_at=2026-04-01").content.decode()
    assert "Oslo" in then
    assert "Rome" not in then
    assert "Rome" in now
    assert "Oslo" not in now
