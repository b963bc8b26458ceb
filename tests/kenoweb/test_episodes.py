"""The page of episodes, by HTTP: days and list, the panel, every act, and who may not."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from kenoweb.episodes.listing import Row, by_day
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.models import AuditEntry, Episode, Fact, Message, Ruling
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
HTMX = {"hx-request": "true"}


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def space(owner):
    return owner.space


@pytest.fixture
def chat(space):
    return make_chat(space, title="Casa chat")


@pytest.fixture
def client(owner):
    return make_client(owner.user, sudo=True)


@pytest.fixture
def episode(space, chat):
    episode = make_episode(
        space,
        chat=chat,
        title="The webhook answers 401",
        body="We tried:\n\n1. a header\n2. **a query**",
        tags=["n8n", "webhook"],
        participants=["Ana"],
    )
    for n in range(4):
        when = episode.started_at + timedelta(minutes=n)
        make_message(chat, text=f"line {n}", episode=episode, sent_at=when)
    return episode


def at(name, *args, **query) -> str:
    return reverse(f"episodes:{name}", args=["casa", *args], query=query)


def page(client, name, *args, **query) -> str:
    answer = client.get(at(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def now(episode) -> Episode:
    return Episode.objects.get(pk=episode.pk)


def last_toast(shown: str) -> str:
    return shown.split('class="toast ')[1].split('action="')[1].split('"')[0]


def test_an_empty_space_says_what_belongs_here(client):
    assert "Nothing has happened yet" in page(client, "index")


@pytest.mark.parametrize("look", ["", "list"])
def test_both_looks_show_the_episode_and_what_it_holds(client, episode, look):
    make_fact(episode.space, episode=episode)
    shown = page(client, "index", look=look)
    assert "The webhook answers 401" in shown
    assert "4 messages" in shown
    assert "1 fact" in shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "webho"}, True),
        ({"q": "zebra"}, False),
        ({"state": "waiting"}, True),
        ({"state": "done"}, False),
        ({"state": "discarded"}, False),
        ({"tag": "n8n"}, True),
        ({"tag": "n8"}, False),
        ({"who": "Ana"}, True),
        ({"who": "Bo"}, False),
        ({"feedback": "positive"}, False),
        ({"chat": "space"}, False),
        ({"month": "1999-01"}, False),
    ],
    ids=str,
)
def test_each_filter_keeps_and_leaves_out(client, episode, query, found):
    assert ("The webhook answers 401" in page(client, "index", **query)) == found


def test_words_are_found_in_the_trash_too(client, episode):
    episodes.discard(episode, by="person:ana")
    assert "The webhook answers 401" in page(client, "index", q="query")


def test_days_are_those_of_the_space(space):
    def row(at):
        return Row(Episode(pk=1, started_at=at), "", "", [])

    late = datetime(2026, 2, 14, 3, tzinfo=UTC)
    with timezone.override("America/Mexico_City"):
        days = by_day([row(late)], today=timezone.localdate(late))
        assert (days[0].name, days[0].date) == ("Today", "13 Feb")


def test_the_panel_shows_the_body_as_markdown_and_what_it_left(client, space, episode):
    make_fact(space, text="From the episode", episode=episode)
    make_fact(space, text="Rests on it", evidence=[{"episode": episode.pk, "quote": "x"}])
    make_fact(space, text="Nothing to do with it")
    make_pattern(space, trigger="n8n 401", evidence=[{"episode": episode.pk}])
    shown = page(client, "detail", episode.pk).split('id="panel"')[1]
    assert "<strong>a query</strong>" in shown
    assert "From the episode" in shown
    assert "Rests on it" in shown
    assert "n8n 401" in shown
    assert "Nothing to do with it" not in shown
    assert "line 3" in shown


@pytest.mark.parametrize("htmx", [True, False])
def test_discarding_keeps_its_reason_and_can_be_undone(client, episode, htmx):
    sent = {"why": "wrong", "note": "it was a test"}
    answer = client.post(at("discard", episode.pk), sent, headers=HTMX if htmx else {})
    assert now(episode).status == "discarded"
    assert now(episode).discard_reason == "Wrong: it was a test"
    shown = answer.content.decode() if htmx else page(client, "index")
    client.post(last_toast(shown))
    assert (now(episode).status, now(episode).discard_reason) == ("closed", "")


def test_discarding_without_a_reason_changes_nothing_and_says_so(client, episode):
    client.post(at("discard", episode.pk), {})
    assert now(episode).status == "closed"
    assert "Say why" in page(client, "index")


def test_what_it_left_can_go_with_it_and_comes_back_with_it(client, space, episode):
    fact = make_fact(space, episode=episode)
    client.post(at("discard", episode.pk), {"why": "noise", "with_facts": "1"})
    assert Fact.objects.get(pk=fact.pk).status == "archived"
    client.post(last_toast(page(client, "index")))
    assert Fact.objects.get(pk=fact.pk).status == "active"


def test_what_is_private_makes_a_ruling_which_the_undo_lifts(client, episode):
    client.post(at("discard", episode.pk), {"why": "private"})
    assert Ruling.objects.get().status == "active"
    client.post(last_toast(page(client, "index")))
    assert Ruling.objects.get().status == "lifted"


def test_restoring_brings_the_row_back(client, episode):
    episodes.discard(episode, by="person:ana", reason="a test")
    assert "Discarded: a test" in page(client, "index")
    answer = client.post(at("restore", episode.pk), headers=HTMX)
    assert f'id="episode-{episode.pk}"' in answer.content.decode()
    assert now(episode).status == "closed"


def test_what_lay_too_long_is_refused_in_words(client, episode):
    old = timezone.now() - timedelta(days=30)
    episodes.discard(episode, by="person:ana", now=old)
    client.post(at("restore", episode.pk))
    assert "too long" in page(client, "index")


def test_erasing_shows_what_goes_asks_for_the_word_and_erases_what_was_said(client, episode):
    assert "Messages" in page(client, "purge", episode.pk)
    client.post(at("purge", episode.pk), {"typed": ""})
    assert now(episode)
    client.post(at("purge", episode.pk), {"typed": "erase"})
    assert not Episode.objects.filter(pk=episode.pk).exists()
    assert set(Message.objects.values_list("text", flat=True)) == {"[erased]"}
    assert AuditEntry.objects.filter(action="episode.purged").exists()


def test_a_person_rewords_it_and_tags_are_parted_by_commas(client, episode):
    sent = {"title": "Solved", "body": "It works.", "tags": "n8n, ¡listo!, n8n", "participants": ""}
    answer = client.post(at("revise", episode.pk), sent)
    assert answer.url == at("detail", episode.pk)
    after = now(episode)
    assert (after.title, after.tags, after.sticky) == ("Solved", ["n8n", "¡listo!"], True)


def test_a_title_is_needed(client, episode):
    assert client.post(at("revise", episode.pk), {"title": ""}).status_code == 422


def test_feedback_is_kept(client, episode):
    client.post(at("rate", episode.pk), {"feedback": "negative"})
    assert now(episode).feedback == "negative"
    client.post(at("rate", episode.pk), {"feedback": "splendid"})
    assert now(episode).feedback == "negative"


def test_it_is_split_at_a_message(client, episode):
    third = episode.messages.order_by("sent_at")[2]
    client.post(at("split", episode.pk), {"message": third.pk})
    new = Episode.objects.get(source="split")
    assert [m.text for m in new.messages.order_by("sent_at")] == ["line 2", "line 3"]


@pytest.mark.parametrize("message", ["", "x", "-3"])
def test_a_split_nowhere_is_refused_in_words(client, episode, message):
    client.post(at("split", episode.pk), {"message": message})
    assert "Choose a time between two messages" in page(client, "index")


def test_it_is_not_split_at_a_message_of_another_chat(client, episode):
    other = make_message(make_chat(episode.space))
    assert client.post(at("split", episode.pk), {"message": other.pk}).status_code == 404


def test_several_become_one_with_one_undo(client, space, chat, episode):
    other = make_episode(space, chat=chat, title="More of it")
    client.post(at("bulk"), {"act": "merge", "pick": [episode.pk, other.pk]})
    assert Episode.objects.get(source="merge").summary_of
    assert now(other).status == "archived"
    client.post(last_toast(page(client, "index")))
    assert now(other).status == "closed"


def test_only_what_belongs_together_is_merged(client, space, episode):
    other = make_episode(space, chat=make_chat(space))
    client.post(at("bulk"), {"act": "merge", "pick": [episode.pk, other.pk]})
    assert "Only episodes of the same chat" in page(client, "index")
    client.post(at("bulk"), {"act": "merge", "pick": [episode.pk]})
    assert "at least two" in page(client, "index")


def test_many_are_discarded_and_brought_back_at_once(client, space, episode):
    other = make_episode(space)
    pick = {"pick": [episode.pk, other.pk]}
    answer = client.post(at("bulk"), {"act": "discard-wrong"} | pick, headers=HTMX)
    assert 'id="episodes"' in answer.content.decode()
    assert {now(one).discard_reason for one in (episode, other)} == {"Wrong"}
    client.post(at("bulk"), {"act": "restore"} | pick)
    assert {now(one).status for one in (episode, other)} == {"closed"}


@pytest.mark.parametrize("sent", [{}, {"act": "merge"}, {"act": "dance", "pick": "1"}])
def test_a_bulk_that_says_nothing_changes_nothing(client, episode, sent):
    client.post(at("bulk"), sent)
    assert now(episode).status == "closed"


def test_no_row_of_another_space_is_touched_by_a_bulk(client):
    theirs = make_episode()
    client.post(at("bulk"), {"act": "discard", "pick": theirs.pk})
    assert now(theirs).status == "closed"


def test_copied_as_markdown_it_is_a_file_with_front_matter(client, episode):
    shown = client.get(at("markdown", episode.pk)).content.decode()
    assert "session: telegram-" in shown
    assert "## The webhook answers 401" in shown


@pytest.mark.parametrize("act", ["discard", "restore", "rate", "split", "revise"])
def test_a_look_does_nothing(client, episode, act):
    assert client.get(at(act, episode.pk)).status_code == 405


def test_a_viewer_sees_no_way_to_change_anything(space, episode):
    viewer = make_client(make_member(space=space, role="viewer").user)
    for shown in (page(viewer, "index"), page(viewer, "detail", episode.pk, look="list")):
        main = shown.split("<main")[1].split("</main>")[0]
        assert "<form" not in main.replace('<form class="filters"', "")


def test_what_was_remembered_on_a_day(client, space):
    long_ago = timezone.now() - timedelta(days=40)
    episode = make_episode(space, title="First title", started_at=long_ago, ended_at=long_ago)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memory_episodeevent SET pgh_created_at = %s", [long_ago])
    episodes.revise(episode, by="person:ana", title="Second title")
    day = (long_ago + timedelta(days=3)).date().isoformat()
    shown = page(client, "index", as_of=day)
    assert "First title" in shown
    assert "Second title" not in shown
    assert "First title" in page(client, "detail", episode.pk, as_of=day)
    before = (long_ago - timedelta(days=3)).date().isoformat()
    assert "Nothing was remembered on" in page(client, "index", as_of=before)


def cost(client, url) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(url).status_code == 200
    return len(found)


def test_list_and_panel_cost_the_same_for_100_and_for_1_000(client, space, chat, episode):
    def many(n):
        Episode.objects.bulk_create(
            Episode(space=space, chat=chat, title=f"bulk {i}", status="closed") for i in range(n)
        )
        urls = [
            at("index"),
            at("index", look="list"),
            at("detail", episode.pk),
            at("index", q="bulk"),
        ]
        return [cost(client, url) for url in urls]

    many(1)
    few = many(99)
    assert many(900) == few
    assert max(few) <= 26


def test_facts_that_rest_on_it_are_forgotten_by_nobody_else(client, space, episode):
    other = facts.remember(space, text="Stays", by="tag").row
    client.post(at("discard", episode.pk), {"why": "noise", "with_facts": "1"})
    assert Fact.objects.get(pk=other.pk).status == "active"


@pytest.mark.parametrize("look", ["", "list"])
def test_an_open_episode_is_known_by_its_first_words(space, chat, client, look):
    still = make_episode(space, chat=chat, title="", body="", status=Episode.Status.OPEN)
    start = timezone.now()
    for n, text in enumerate(["Shall we paint the <b>shed</b>?", "Yes, green"]):
        sent = {"sent_at": start + timedelta(minutes=n), "episode": still}
        make_message(chat, text, external_id=f"shed-{n}", **sent)
    page = client.get(reverse("episodes:index", args=[space.slug]), {"look": look})
    assert "Shall we paint the &lt;b&gt;shed&lt;/b&gt;?" in page.content.decode()
    assert "Yes, green" not in page.content.decode()


def test_an_open_episode_is_called_by_what_it_is_about_and_never_by_what_is_forgotten(
    client, space, chat
):
    episode = make_episode(space, chat=chat, title="", body="", status="open")
    asked = {"not_recalled": "question", "episode": episode}
    make_message(chat, "What do you know about me?", **asked)
    code = make_message(chat, "The code of the cellar is 4711.", episode=episode, not_recalled="")
    chats.silence(space, [code.pk])
    shown = page(client, "index")
    assert "What do you know about me?" in shown
    make_message(chat, "Hi! We moved to Lisbon.", episode=episode, not_recalled="")
    shown = page(client, "index")
    assert "We moved to Lisbon." in shown
    assert "What do you know about me?" not in shown
    assert "4711" not in shown
