"""The trash, by HTTP: what lies in it, for how long, and emptying it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memory import patterns
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.models import AuditEntry, Episode, Fact, Pattern
from tests.factories import (
    make_chat,
    make_client,
    make_episode,
    make_fact,
    make_member,
    make_message,
    make_pattern,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def client(owner):
    return make_client(owner.user, sudo=True)


@pytest.fixture
def thrown(owner):
    rows = {
        "facts": make_fact(owner.space, text="An old fact"),
        "episodes": make_episode(owner.space, title="An old talk"),
        "patterns": make_pattern(owner.space, trigger="an old habit"),
    }
    ago = timezone.now() - timedelta(days=2)
    facts.discard(rows["facts"], by="person:ana", now=ago)
    episodes.discard(rows["episodes"], by="person:ana", reason="a test", now=ago)
    patterns.discard(rows["patterns"], by="person:ana", now=ago)
    return rows


def page(client, **query) -> str:
    answer = client.get(reverse("trash:index", args=["casa"], query=query))
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_empty_trash_says_how_long_things_stay(client):
    assert "The trash is empty" in page(client)
    assert "7 days" in page(client)


def test_everything_is_shown_with_the_days_it_has_left(client, thrown):
    shown = page(client)
    for text in ("An old fact", "An old talk", "an old habit", "a test"):
        assert text in shown
    # Two days and a moment are gone of seven; the begun day counts.
    assert shown.count("5 days left") == 3


def test_a_talk_without_a_title_is_known_by_its_first_words(client, owner):
    episode = make_episode(owner.space, chat=make_chat(owner.space), title="", body="")
    make_message(episode.chat, text="Buy this now", episode=episode)
    episodes.discard(episode, by="person:ana", reason="spam")
    assert "Buy this now" in page(client)


@pytest.mark.parametrize("kind", ["facts", "episodes", "patterns"])
def test_one_kind_alone_and_back_to_where_it_was(client, thrown, kind):
    shown = page(client, kind=kind)
    assert shown.count("data-row") == 1
    client.post(reverse(f"{kind}:restore", args=["casa", thrown[kind].pk]))
    assert "data-row" not in page(client, kind=kind)


def test_what_is_not_shown_is_said(client, owner, thrown):
    assert "the newest of each kind" not in page(client)
    for n in range(21):
        make_fact(owner.space, text=f"old {n}", status="trashed", trashed_at=timezone.now())
    assert "the newest of each kind" in page(client)
    assert "the newest of each kind" not in page(client, kind="facts")


def test_emptying_asks_for_the_word(client, owner, thrown):
    there = reverse("trash:empty", args=["casa"])
    client.post(there, {"typed": "yes"})
    assert Fact.objects.exists()
    assert "Nothing was deleted" in page(client)
    other = make_fact(text="In another space", status="trashed", trashed_at=timezone.now())
    client.post(there, {"typed": "empty"})
    assert list(Fact.objects.all()) == [other]
    assert not Episode.objects.exists()
    assert not Pattern.objects.exists()
    assert AuditEntry.objects.filter(action__endswith=".purged").count() == 3
    assert "Deleted 3 things for good" in page(client)


def test_what_is_not_in_the_trash_is_not_emptied(client, owner):
    make_fact(owner.space)
    client.post(reverse("trash:empty", args=["casa"]), {"typed": "empty"})
    assert Fact.objects.count() == 1


def test_a_look_does_nothing(client, thrown):
    assert client.get(reverse("trash:empty", args=["casa"])).status_code == 405


def test_a_viewer_looks_and_changes_nothing(owner, thrown):
    viewer = make_client(make_member(space=owner.space, role="viewer").user)
    assert 'method="post"' not in page(viewer).split("<main")[1].split("</main>")[0]


def test_the_page_costs_the_same_for_few_and_for_many(client, owner, thrown):
    def cost():
        with CaptureQueriesContext(connection) as found:
            page(client)
        return len(found)

    few = cost()
    for _ in range(40):
        make_fact(owner.space, status="trashed", trashed_at=timezone.now())
    assert cost() == few


def test_a_viewer_never_reads_what_somebody_had_forgotten(owner):
    space, viewer = owner.space, make_client(make_member(space=owner.space, role="viewer").user)
    fact = make_fact(space, "Tom hums at night")
    facts.forget(fact, by="person:ana")
    episode = make_episode(space, title="Tom hums", body="Tom hums at night")
    episodes.discard(episode, by="person:ana")
    slug = space.slug
    lists = ("", "facts/", "facts/?status=any", "facts/?status=archived", "trash/", "episodes/")
    for client, sees in ((viewer, False), (make_client(owner.user), True)):
        shown = [client.get(f"/s/{slug}/{where}").content.decode() for where in lists]
        assert any("Tom hums" in html for html in shown) is sees
        assert (client.get(f"/s/{slug}/facts/{fact.pk}/").status_code == 200) is sees
        assert (client.get(f"/s/{slug}/episodes/{episode.pk}/").status_code == 200) is sees
