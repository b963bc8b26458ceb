import re
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from procrastinate.contrib.django.models import ProcrastinateJob

from kenoweb.nights import page as page_parts
from kenoweb.templatetags import memories
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.models import Fact
from sleep import cycle, nights
from sleep.phase import Outcome, Phase
from tests.factories import make_client, make_member

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def member():
    return make_member(role="curator")


@pytest.fixture
def client(member):
    return make_client(member.user)


@pytest.fixture
def night(member):
    at = NOW - timedelta(hours=8)
    episodes.write(member.space, body="The server moved to Hetzner", by="tag", started_at=at)
    return cycle.sleep(member.space, now=NOW)


def url(name, night, *args):
    return reverse(f"nights:{name}", args=[night.space.slug, *args])


def test_the_list_shows_every_night_with_what_it_did(client, night):
    cycle.sleep(night.space, now=NOW + timedelta(days=1))
    page = client.get(url("index", night)).content.decode()
    assert "Sunday 15 February" in page
    assert "Learning rate" in page


def test_no_night_yet_says_what_a_night_is(client, member):
    page = client.get(reverse("nights:index", args=[member.space.slug])).content.decode()
    assert "has not slept here yet" in page


def test_a_night_reads_like_a_story(client, night):
    page = client.get(url("detail", night, night.pk)).content.decode()
    said = " ".join(re.sub("<[^>]+>", "", page).split())
    assert "That night I read 1 episode, believed 1 thing and asked you nothing." in said
    assert "The server moved to Hetzner" in page
    assert "Every new fact has a quote" in page
    assert "Undo this night" in page


@pytest.mark.parametrize(
    "part", ["story", "changes", "proposals", "episodes", "calls", "log", "junk"]
)
def test_every_part_of_a_night_opens(client, night, part):
    assert client.get(url("detail", night, night.pk), {"part": part}).status_code == 200


def test_the_phases_of_a_night_are_told_in_words(client, night):
    page = client.get(url("detail", night, night.pk), {"part": "log"}).content.decode()
    assert "Episodes read: 1" in page
    assert "Nothing to do." in page
    assert not re.search(r"\bkept_out\b|\bfacts_new\b|\bpeople_asked\b", page)


def test_one_line_is_taken_back_and_applied_again(client, night):
    line = night.changes.get()
    html = client.post(url("undo_change", night, line.pk), headers=HTMX).content.decode()
    assert "undone" in html
    assert not Fact.objects.live().exists()
    client.post(url("redo_change", night, line.pk))
    assert Fact.objects.live().count() == 1


def test_the_whole_night_is_taken_back(client, night):
    page = client.post(url("undo", night, night.pk), follow=True).content.decode()
    assert "Took back 1 change. The next night reads its episodes again." in page
    assert not Fact.objects.live().exists()
    page = client.post(url("undo", night, night.pk), follow=True).content.decode()
    assert "undone already" in page


def test_what_was_changed_since_is_named_and_stays_unless_that_is_taken_back_too(client, night):
    fact = Fact.objects.live().get()
    facts.revise(fact, text="The server moved to Falkenstein", by="person:bo")
    page = client.get(url("detail", night, night.pk)).content.decode()
    assert "Stays: it was changed after the night." in page
    assert reverse("facts:detail", args=[night.space.slug, fact.pk]) in page
    page = client.post(url("undo", night, night.pk), follow=True).content.decode()
    assert "Took back 0 changes. 1 stays." in page
    assert not re.search(r"ended_at|summary_of|confidence,|body,", page)
    assert Fact.objects.live().get() == fact
    nights.undo(night, by="person:bo", later_too=True)
    assert not Fact.objects.live().exists()


def test_a_moon_fills_while_the_night_goes_on():
    steps = [page_parts.Step("a", "done"), page_parts.Step("b", "now", 1, 4)]
    assert memories.moon(steps[:1]) == "M12 2A10 10 0 0 1 12 22A10.0 10 0 0 1 12 2Z"
    assert memories.moon(steps) == "M12 2A10 10 0 0 1 12 22A2.5 10 0 0 1 12 2Z"


def test_sleep_now_asks_the_worker_once(client, member):
    address = reverse("nights:run", args=[member.space.slug])
    client.post(address)
    client.post(address)
    jobs = ProcrastinateJob.objects.filter(task_name="sleep.night")
    assert [job.args["space_id"] for job in jobs] == [member.space.pk]


def test_progress_stops_asking_when_nobody_sleeps(client, night):
    for asked in ({}, {"waiting": "1"}):
        response = client.get(url("progress", night), asked, headers=HTMX)
        assert response.status_code == 286
        assert "night-ended" in response["HX-Trigger"]


def test_progress_goes_on_while_the_worker_has_not_begun(client, night):
    client.post(url("run", night))
    response = client.get(url("progress", night), {"waiting": "1"}, headers=HTMX)
    assert response.status_code == 200
    assert "Waiting for the worker" in response.content.decode()
    assert "every 2s" in response.content.decode()


def test_progress_shows_every_phase_and_how_far_it_is(client, night):
    seen = []

    def work(sleeper, item):
        seen.append(client.get(url("progress", night), headers=HTMX))
        return Outcome()

    phase = Phase("consolidation", lambda night, now: [1, 2], work)
    cycle.sleep(night.space, now=NOW + timedelta(days=1), phases=(phase,))
    html = seen[1].content.decode()
    assert seen[1].status_code == 200
    assert "Asleep now" in html
    assert re.search(r'<progress\s+value="1"\s+max="2">', html)
    assert "Reflection" in html


def test_while_keno_sleeps_the_button_says_so_and_leads_to_the_night(client, night):
    overview = reverse("overview:index", args=[night.space.slug])
    seen = []

    def work(sleeper, item):
        seen.extend(client.get(page).content.decode() for page in (url("index", night), overview))
        seen.append(client.get(url("progress", night), {"waiting": "1"}, headers=HTMX))
        seen.append(client.get(url("progress", night), {"asleep": "1"}, headers=HTMX))
        return Outcome()

    phase = Phase("consolidation", lambda night, now: [1], work)
    running = cycle.sleep(night.space, now=NOW + timedelta(days=1), phases=(phase,))
    *pages, began, going_on = seen
    for html in pages:
        assert "Sleep now" not in html
        assert re.search(rf'href="{url("detail", night, running.pk)}">[^>]*>[^>]*>?[^<]*</', html)
        assert "Keno is asleep" in html
    # The page is told once that the night began: then it draws the button anew.
    assert began["HX-Trigger"] == "night-began"
    assert "HX-Trigger" not in going_on


def test_the_overview_lets_keno_sleep_and_shows_how_far_it_is(client, night):
    page = client.get(reverse("overview:index", args=[night.space.slug])).content.decode()
    assert "Sleep now" in page
    assert 'id="progress"' in page


def test_a_night_says_which_model_it_asked_and_what_it_may_spend(client, night):
    type(night).objects.update(mode="some-model", cost_estimate="0.0123")
    page = client.get(url("detail", night, night.pk)).content.decode()
    assert "some-model" in page
    assert "Estimated before" in page
    assert "May spend" in page
