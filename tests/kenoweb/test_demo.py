from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.urls import reverse
from procrastinate.contrib.django.models import ProcrastinateJob

from kenoweb import demo, tasks
from kenoweb.demo import days as acts
from kenoweb.nights.review_queue import precedents
from memory.chats import service as chats
from memory.facts import service as facts
from memory.history import changes as history
from memory.models import (
    Chat,
    Episode,
    Erasure,
    Fact,
    LlmCall,
    Message,
    Pattern,
    Recall,
    Ruling,
    Space,
    WorkingNote,
)
from memory.spaces import service as spaces
from sleep import proposals
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


def test_every_line_of_the_story_is_understood_and_comes_in_order():
    told = [line for line in LINES if line and not line.startswith("#")]
    read = list(demo.read("\n".join(told), now=NOW))
    assert len(read) == len(told)
    assert [line.at for line in read] == sorted(line.at for line in read)
    assert read[-1].at < NOW
    assert {line.chat for line in read} == {*demo.CHATS, "!"}
    assert {line.who for line in read if line.chat == "!"} <= set(acts.ACTS)


def test_the_same_replies_have_receipts_at_any_hour():
    """Also the one that somebody new looks up in bench.jobs."""
    kept = []
    for hour in range(24):
        now = NOW.replace(hour=0) + timedelta(hours=hour)
        told = demo.read("\n".join(LINES), now=now)
        days = [line for line in told if line.day and line.at > demo.receipts_from(now)]
        kept.append({line.text for line in days})
    assert "Where do the backups go?" in kept[0]
    assert all(some == kept[0] for some in kept)


def test_the_whole_story_gives_every_page_something_to_show():
    space = demo.make(owners=[make_user("ana")], now=NOW)
    mine = {"space": space}
    facts_of = Fact.objects.filter(**mine)
    assert 80 <= facts_of.live().count() <= 140
    assert {"fact", "lore", "lesson", "procedure", "concept"} == set(kinds(facts_of, "kind"))
    assert {"quarantined", "archived", "trashed", "superseded"} < set(kinds(facts_of, "status"))
    assert {"preference", "profile", "relationship", "project", "other"} == set(
        kinds(facts_of, "category")
    )
    assert Episode.objects.filter(**mine).count() > 100
    calls = LlmCall.objects.filter(**mine)
    assert {"chat", "sleep"} == set(kinds(calls, "purpose"))
    assert not calls.filter(message=None, night_id=None).exists(), "each belongs to something"
    assert all(night.cost > 0 for night in Night.objects.filter(**mine))
    assert {"open", "closed", "archived", "discarded"} == set(
        kinds(Episode.objects.filter(**mine), "status")
    )
    assert 4 <= Pattern.objects.filter(status="active", **mine).count() <= 12
    decided = Proposal.objects.filter(**mine)
    assert {"pending", "approved", "rejected", "undone"} <= set(kinds(decided, "status"))
    waiting = decided.filter(status="pending")
    assert 4 <= waiting.count() <= 16
    assert waiting.filter(flags__contains=["held"]).count() == 2
    assert Erasure.objects.filter(status="done", **mine).count() == 1
    assert not Message.objects.filter(text__contains="4711", **mine).exists()
    assert len(set(facts_of.values_list("confidence", flat=True))) > 5
    asked = {"add", "add_pattern", "promote", "preference"}
    assert asked <= set(kinds(waiting, "kind"))
    docket = decided.filter(kind="supersede")
    assert 1 <= docket.filter(status="pending").count() <= 3
    assert "both in their time" in docket.filter(status="approved").latest("pk").flags
    assert precedents(docket.get(status="pending", title__contains="Querétaro"))
    assert WorkingNote.objects.filter(**mine).count() == 2
    assert {"keep", "never_remember"} == set(kinds(Ruling.objects.filter(**mine), "kind"))
    assert Message.objects.filter(sent_at__gt=NOW - timedelta(hours=4), **mine).exists()
    assert facts_of.filter(created_at__gt=NOW - timedelta(hours=24)).exists()
    nights = Night.objects.filter(local_date__gt=NOW.date() - timedelta(days=14), **mine)
    assert nights.count() == 14
    # Nothing bears the time at which the demo was made.
    for model, name in ((Night, "ended_at"), (Proposal, "created_at"), (Fact, "updated_at")):
        late = {f"{name}__gt": NOW}
        assert not model.objects.filter(**mine, **late).exists(), model
    assert not apps.get_model("memory", "FactEvent").objects.filter(pgh_created_at__gt=NOW)


def test_the_pages_say_that_the_demo_is_being_made_until_it_is():
    owner, seen = make_user("ana"), []

    def look(done, of):
        page = make_client(owner).get(reverse("overview:index", args=["demo"]))
        seen.append((demo.state(), demo.far(), "being made" in page.content.decode()))

    demo.make(owners=[owner], now=NOW, story="-1 09:12 dev Adrian: I live in Goa.", progress=look)
    assert seen == [("making", 50, True), ("making", 99, True)]
    assert demo.state() == "ready"
    page = make_client(owner).get(reverse("overview:index", args=["demo"]))
    assert "being made" not in page.content.decode()
    page = make_client(owner).get(reverse("settings:index", args=["demo"]))
    assert not page.context["versions"], "nobody changed a setting"


def test_a_demo_whose_maker_was_stopped_can_be_made_again(monkeypatch):
    space, _life = demo.begin([make_user("ana")], now=NOW)
    assert demo.state() == "making"
    monkeypatch.setattr(demo, "SILENT", timedelta(0))
    assert demo.state() == ""
    page = make_client(space.members.get().user).get(reverse("overview:index", args=["demo"]))
    assert "being made" not in page.content.decode()
    demo.make(owners=[space.members.get().user], now=NOW, story="-1 09:12 dev Bo: I live in Goa.")
    assert demo.state() == "ready"


def kinds(rows, name):
    return rows.order_by().values_list(name, flat=True).distinct()


def test_the_same_story_gives_the_same_space_twice():
    owner, told = make_user("ana"), "\n".join(LINES[:40])

    def seen():
        space = demo.make(owners=[owner], now=NOW, story=told)
        rows = Fact.objects.filter(space=space).order_by("pk")
        return [
            list(rows.values_list("subject", "text", "status", "confidence", "use_count")),
            [(one.title, one.status, one.reason) for one in space.proposals.order_by("pk")],
            [(one.title, one.started_at) for one in space.episodes.order_by("pk")],
            [[run.counts for run in night.phases.all()] for night in space.nights.order_by("pk")],
        ]

    assert seen() == seen()


def test_a_change_of_the_story_can_be_undone_as_any_other():
    space = demo.make(owners=[make_user("ana")], now=NOW, story="\n".join(LINES[:40]))
    approved = Proposal.objects.filter(space=space, status="approved").exclude(kind="advice")
    assert len(approved) > 2
    for proposal in approved:
        undone = proposals.undo(proposal, member=space.members.get())
        assert undone.status == "undone"
    assert not Pattern.objects.filter(space=space, status="active").exists()


def test_the_demo_lives_sleeps_and_is_gone_in_one_command():
    owner, home = make_user("ana"), make_space("home")
    kept = facts.remember(home, text="Stays here", by="person:ana").row
    later = "-1 18:40 familia Lucía: ¿A qué soy alérgica?\n-1 18:40 familia Keno: A los cacahuates."
    space = demo.make(owners=[owner], now=NOW, story="\n".join([*LINES[:40], later]))
    mine = {"space": space}
    assert space.members.get().user == owner
    assert Fact.objects.live().filter(text__contains="cacahuates", **mine).exists()
    assert Night.objects.filter(**mine).count() >= 5
    assert Proposal.objects.filter(status="approved", **mine).exists()
    asked = Recall.objects.get(query="¿A qué soy alérgica?", **mine)
    assert asked.reply.text == "A los cacahuates."
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
    monkeypatch.setattr(demo, "STORY", Story("\n".join(LINES[:8])))
    make_user("ana")
    call_command("demo")
    assert "Made “Demo”" in capsys.readouterr().out
    assert demo.state() == "ready"
    call_command("demo", "--remove")
    assert not Space.objects.exists()
    call_command("demo", "--remove")
    assert "There is no demo space." in capsys.readouterr().out


def test_the_empty_overview_offers_it_and_the_worker_makes_it(monkeypatch):
    monkeypatch.setattr(demo, "STORY", Story("\n".join(LINES[:8])))
    owner = make_member(role="owner")
    client = make_client(owner.user)
    here = reverse("overview:index", args=[owner.space.slug])
    assert "Create the demo space" in client.get(here).content.decode()
    asked = client.post(reverse("spaces:make_demo"), follow=True).content.decode()
    client.post(reverse("spaces:make_demo"))
    assert "demo is being created" in asked
    job = ProcrastinateJob.objects.get(task_name=demo.TASK)
    assert "being created" in client.get(here).content.decode()
    tasks.make_demo(**job.args)
    ProcrastinateJob.objects.all().delete()
    assert Space.objects.get(slug="demo").members.get().user == owner.user
    assert "Open the demo" in client.get(here).content.decode()


def test_only_an_owner_is_offered_it():
    viewer = make_member(role="viewer")
    client = make_client(viewer.user)
    page = client.get(reverse("overview:index", args=[viewer.space.slug])).content.decode()
    assert "Create the demo space" not in page
    assert client.post(reverse("spaces:make_demo")).status_code == 403


def test_a99_a_space_is_erased_only_by_its_exact_name():
    space, other = make_space("home", name="Home"), make_space("work")
    for one in (space, other):
        facts.remember(one, text="a secret", by="person:ana")
        chat = make_chat(one)
        chats.revise(chat, title="Ours", context="words", by="person:ana")
        make_message(chat, text="hello")
        make_episode(one)
    with pytest.raises(spaces.WrongName, match="Home"):
        spaces.erase(space, typed="home", by="person:ana")
    assert Fact.objects.filter(space=space).exists()
    gone = spaces.erase(space, typed="Home", by="person:ana")
    counted = {name: gone[f"memory.{name}"] for name in ("Fact", "Message", "Episode", "Space")}
    assert counted == {"Fact": 1, "Message": 1, "Episode": 1, "Space": 1}
    assert [row.space for row in (*Fact.objects.all(), *Episode.objects.all())] == [other, other]
    assert {event.pgh_obj.space for event in history.events_of(Chat)} == {other}
