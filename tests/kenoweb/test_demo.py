from datetime import UTC, datetime

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.urls import reverse
from procrastinate.contrib.django.models import ProcrastinateJob

from kenoweb import demo, tasks
from memory import facts, history, spaces
from memory.models import Episode, Fact, Recall, Space
from sleep.models import Night, Proposal
from tests.factories import (
    make_chat,
    make_client,
    make_episode,
    make_member,
    make_message,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 11, 15, 18, tzinfo=UTC)
LINES = demo.STORY.read_text().splitlines()


class Story(str):
    """A shorter one, read as the file is."""

    def read_text(self):
        return str(self)


def test_every_line_of_the_story_is_understood():
    told = [line for line in LINES if line and not line.startswith("#")]
    assert len(list(demo.read("\n".join(told)))) == len(told)


def test_the_demo_lives_sleeps_and_is_gone_in_one_command():
    owner, home = make_user("ana"), make_space("home")
    kept = facts.remember(home, text="Stays here", by="person:ana").row
    space = demo.make(owners=[owner], now=NOW, story="\n".join(LINES[:24]))
    mine = {"space": space}
    assert space.members.get().user == owner
    assert Fact.objects.live().filter(text__contains="cacahuates", **mine).exists()
    assert Night.objects.filter(**mine).count() >= 5
    assert Proposal.objects.filter(status="approved", **mine).exists()
    assert Recall.objects.filter(**mine).exists()
    assert Fact.objects.filter(use_count__gt=0, **mine).exists()
    first = Fact.objects.filter(**mine).earliest("pk")
    assert history.history(first)[-1].at.date() < NOW.date()
    assert Episode.objects.filter(**mine).exists()

    assert demo.remove()
    assert list(Space.objects.all()) == [home]
    left = [m for m in apps.get_models() if "space" in {f.name for f in m._meta.fields}]
    assert [m for m in left if m._default_manager.filter(space_id=space.pk).exists()] in (
        [],
        [apps.get_model("memory", "AuditEntry")],
    )
    kept.refresh_from_db()


def test_a_space_that_somebody_called_demo_is_never_touched():
    mine = make_space("demo", name="Demo")
    facts.remember(mine, text="Not a toy", by="person:ana")
    for arguments in ([], ["--remove"]):
        with pytest.raises(CommandError, match="somebody made"):
            call_command("demo", *arguments)
    assert Fact.objects.filter(space=mine).exists()
    assert not demo.is_welcome()


def test_one_command_makes_it_and_one_removes_it(monkeypatch, capsys):
    monkeypatch.setattr(demo, "STORY", Story("\n".join(LINES[:3])))
    make_user("ana")
    call_command("demo")
    assert "Made “Demo”" in capsys.readouterr().out
    assert demo.state() == "ready"
    call_command("demo", "--remove")
    assert not Space.objects.exists()
    call_command("demo", "--remove")
    assert "There is no demo space." in capsys.readouterr().out


def test_the_empty_overview_offers_it_and_the_worker_makes_it(monkeypatch):
    monkeypatch.setattr(demo, "STORY", Story("\n".join(LINES[:3])))
    owner = make_member(role="owner")
    client = make_client(owner.user)
    here = reverse("overview:index", args=[owner.space.slug])
    assert "Make the demo space" in client.get(here).content.decode()
    asked = client.post(reverse("spaces:make_demo"), follow=True).content.decode()
    client.post(reverse("spaces:make_demo"))
    assert "demo space is being made" in asked
    job = ProcrastinateJob.objects.get(task_name=demo.TASK)
    assert "being made" in client.get(here).content.decode()
    tasks.make_demo(**job.args)
    ProcrastinateJob.objects.all().delete()
    assert Space.objects.get(slug="demo").members.get().user == owner.user
    assert "Open the demo" in client.get(here).content.decode()


def test_only_an_owner_is_offered_it():
    viewer = make_member(role="viewer")
    client = make_client(viewer.user)
    page = client.get(reverse("overview:index", args=[viewer.space.slug])).content.decode()
    assert "Make the demo space" not in page
    assert client.post(reverse("spaces:make_demo")).status_code == 403


def test_a99_a_space_is_erased_only_by_its_exact_name():
    space, other = make_space("home", name="Home"), make_space("work")
    for one in (space, other):
        facts.remember(one, text="a secret", by="person:ana")
        make_message(make_chat(one), text="hello")
        make_episode(one)
    with pytest.raises(spaces.WrongName, match="Home"):
        spaces.erase(space, typed="home", by="person:ana")
    assert Fact.objects.filter(space=space).exists()
    gone = spaces.erase(space, typed="Home", by="person:ana")
    counted = {name: gone[f"memory.{name}"] for name in ("Fact", "Message", "Episode", "Space")}
    assert counted == {"Fact": 1, "Message": 1, "Episode": 1, "Space": 1}
    assert [row.space for row in (*Fact.objects.all(), *Episode.objects.all())] == [other, other]
