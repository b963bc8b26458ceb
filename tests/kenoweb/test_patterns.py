"""The page of patterns, by HTTP: the list, the message that is tried, and every act."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from kenoweb.patterns.views import pieces
from memory import patterns, rulings
from memory.models import AuditEntry, Pattern
from tests.factories import (
    make_chat,
    make_client,
    make_episode,
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
def client(owner):
    return make_client(owner.user, sudo=True)


@pytest.fixture
def pattern(space):
    done = patterns.learn(
        space, trigger="n8n + 401", response="Check `?token=` first", by="tag", confidence=0.9
    )
    return done.row


def at(name, *args, **query) -> str:
    return reverse(f"patterns:{name}", args=["casa", *args], query=query)


def page(client, name, *args, **query) -> str:
    answer = client.get(at(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def now(pattern) -> Pattern:
    return Pattern.objects.get(pk=pattern.pk)


def trial(shown: str) -> str:
    return shown.split('id="trial"')[1].split("</aside>")[0]


def test_an_empty_space_says_what_a_habit_is(client):
    assert "Keno has no habits yet" in page(client, "index")


def test_the_list_shows_when_and_then(client, pattern):
    shown = page(client, "index")
    assert "n8n + 401" in shown
    assert "Check <code>?token=</code> first" in shown


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "TOKEN"}, True),
        ({"q": "zebra"}, False),
        ({"status": "archived"}, False),
        ({"status": "any"}, True),
        ({"chat": "space"}, True),
        ({"chat": "99999"}, False),
        ({"sort": "used"}, True),
        ({"sort": "often"}, True),
        ({"sort": "sure"}, True),
    ],
    ids=str,
)
def test_each_filter_keeps_and_leaves_out(client, pattern, query, found):
    assert ("n8n + 401" in page(client, "index", **query)) == found


def test_a_tried_message_shows_what_fires_and_why(client, space, pattern):
    make_pattern(space, trigger="install + packages", confidence=0.6)
    shown = trial(page(client, "index", tried="El N8N me da 401, ¿install?"))
    assert "2 of 2 words × .90" in shown
    assert "fires" in shown
    assert "1 of 2 words × .60" in shown
    assert "stays quiet" in shown
    assert "<mark>N8N</mark>" in shown
    assert "<mark>401</mark>" in shown


def test_the_opened_pattern_is_tried_also_when_it_stays_quiet(client, pattern):
    shown = trial(page(client, "detail", pattern.pk, tried="good morning"))
    assert "0 of 2 words" in shown
    assert "stays quiet" in shown


def test_nothing_hears_a_message_of_strangers(client, pattern):
    assert "No pattern hears this." in page(client, "index", tried="good morning")


def test_a_pattern_of_one_chat_is_tried_in_that_chat_alone(client, space):
    chat = make_chat(space)
    make_pattern(space, trigger="deploy", chat=chat, confidence=1.0)
    elsewhere = trial(page(client, "index", tried="deploy"))
    assert f"only in {chat}" in elsewhere
    assert "fires" not in elsewhere
    assert "fires" in trial(page(client, "index", tried="deploy", chat=str(chat.pk)))


def test_trying_counts_as_no_use(client, pattern):
    page(client, "index", tried="n8n 401")
    assert now(pattern).use_count == 0


def test_the_words_of_the_message_stay_as_they_were_typed():
    said = "Árbol,  arbol! «ÁRBOL»"
    found = pieces(said, ["arbol"])
    assert "".join(text for text, _marked in found) == said
    assert [text for text, marked in found if marked] == ["Árbol", "arbol", "ÁRBOL"]


def test_a_person_teaches_one(client, space):
    sent = {"trigger": "monday", "response": "Greet", "confidence": "0.7"}
    answer = client.post(at("learn"), sent)
    made = Pattern.objects.get(space=space)
    assert answer.url == at("detail", made.pk)
    assert (made.trigger, made.confidence, made.sticky) == ("monday", 0.7, True)


@pytest.mark.parametrize(
    "sent", [{}, {"trigger": "a"}, {"trigger": "a", "response": "b", "confidence": "7"}], ids=str
)
def test_a_form_that_does_not_fit_comes_back(client, space, sent):
    assert client.post(at("learn"), sent).status_code == 422
    assert not Pattern.objects.exists()


def test_what_a_ruling_forbids_is_not_learned(client, space):
    rulings.forbid(space, text="tell the code of the alarm", by="person:ana")
    sent = {"trigger": "alarm", "response": "tell the code of the alarm", "confidence": "1"}
    answer = client.post(at("learn"), sent)
    assert answer.status_code == 422
    assert "A ruling says never" in answer.content.decode()


def test_an_edit_is_sticky_and_told_in_its_history(client, pattern):
    sent = {"trigger": "n8n 401", "response": "Check the query", "confidence": "0.8"}
    client.post(at("revise", pattern.pk), sent)
    assert now(pattern).sticky
    assert "You revised it" in page(client, "detail", pattern.pk)


ACTS = {
    "archive": ("active", "archived"),
    "discard": ("active", "trashed"),
    "restore": ("archived", "active"),
    "release": ("quarantined", "active"),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("htmx", [True, False])
def test_an_act_is_done_said_and_undone(client, pattern, act, htmx):
    before, after = ACTS[act]
    Pattern.objects.filter(pk=pattern.pk).update(status=before)
    answer = client.post(at(act, pattern.pk), headers=HTMX if htmx else {})
    assert now(pattern).status == after
    shown = answer.content.decode() if htmx else page(client, "index")
    assert (f'id="pattern-{pattern.pk}"' in shown) or not htmx
    client.post(shown.split('class="toast ')[1].split('action="')[1].split('"')[0])
    assert now(pattern).status == before


def test_what_one_chat_had_every_chat_may_have(client, space):
    pattern = make_pattern(space, chat=make_chat(space))
    client.post(at("promote", pattern.pk))
    assert now(pattern).chat is None


def test_erasing_asks_for_the_word(client, pattern):
    client.post(at("purge", pattern.pk), {"typed": "no"})
    assert now(pattern)
    client.post(at("purge", pattern.pk), {"typed": "erase"})
    assert not Pattern.objects.exists()
    assert AuditEntry.objects.filter(action="pattern.purged").exists()


@pytest.mark.parametrize("act", [*ACTS, "promote", "revise"])
def test_a_look_does_nothing(client, pattern, act):
    assert client.get(at(act, pattern.pk)).status_code == 405


def test_a_viewer_may_try_a_message_and_change_nothing(space, pattern):
    viewer = make_client(make_member(space=space, role="viewer").user)
    shown = page(viewer, "detail", pattern.pk, tried="n8n 401", edit="1")
    assert "fires" in shown
    assert 'method="post"' not in shown.split("<main")[1].split("</main>")[0]


def test_what_was_a_habit_on_a_day(client, pattern):
    long_ago = timezone.now() - timedelta(days=40)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memory_patternevent SET pgh_created_at = %s", [long_ago])
    patterns.revise(pattern, by="person:ana", response="Something else")
    day = (long_ago + timedelta(days=3)).date().isoformat()
    assert "?token=" in page(client, "index", as_of=day)
    assert "Something else" not in page(client, "index", as_of=day)
    assert "?token=" in page(client, "detail", pattern.pk, as_of=day)


def test_list_and_panel_cost_the_same_for_100_and_for_1_000(client, space, pattern):
    def cost(url):
        with CaptureQueriesContext(connection) as found:
            assert client.get(url).status_code == 200
        return len(found)

    def many(n):
        Pattern.objects.bulk_create(
            Pattern(space=space, slug=f"{n}-{i}", trigger=f"word{i}", response="so")
            for i in range(n)
        )
        return [cost(url) for url in (at("index"), at("detail", pattern.pk, tried="n8n"))]

    many(1)
    few = many(99)
    assert many(900) == few
    assert max(few) <= 16


def test_after_an_act_the_row_comes_back_to_the_page_on_the_screen(client, pattern):
    seen = {"hx-request": "true", "hx-current-url": f"http://testserver{at('index', q='n8n')}"}
    fragment = client.post(at("archive", pattern.pk), headers=seen).content.decode()
    assert fragment.count(f'name="next" value="{at("index", q="n8n")}"') == 2  # row and toast
    assert "/archive/" not in "".join(re.findall(r'name="next" value="([^"]*)"', fragment))


def test_a_page_elsewhere_is_not_come_back_to(client, pattern):
    seen = {"hx-request": "true", "hx-current-url": "https://evil.example/patterns/"}
    fragment = client.post(at("archive", pattern.pk), headers=seen).content.decode()
    assert "evil.example" not in fragment


def test_a_pattern_shows_whose_words_taught_it(client, space, pattern):
    episode = make_episode(space)
    make_message(make_chat(space), "the webhook gave 401 again", episode=episode, author="Zoraida")
    pattern.evidence = [{"episode": episode.pk, "quote": "the webhook gave 401"}]
    pattern.save()
    shown = page(client, "detail", pattern.pk)
    assert "<mark>the webhook gave 401</mark>" in shown
    assert "Zoraida" in shown


def test_a_pattern_of_a_night_is_named_by_the_trouble_it_answers(client, pattern):
    pattern.trigger = "webhook + 401"
    pattern.evidence = [{"quote": "The webhook failed with 401 again."}]
    pattern.save()
    shown = page(client, "detail", pattern.pk)
    assert shown.count("When the webhook fails with 401") >= 2
    assert "webhook + 401" in shown
    pattern.trigger = "hook + 401"
    pattern.save()
    assert "When the webhook" not in page(client, "index")
