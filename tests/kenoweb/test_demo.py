from datetime import UTC, datetime

import pytest
from django.apps import apps

from kenoweb import demo
from memory import facts, history, spaces
from memory.models import Episode, Fact, Recall, Space
from sleep.models import Night, Proposal
from tests.factories import make_space, make_user

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 11, 15, 18, tzinfo=UTC)
LINES = demo.STORY.read_text().splitlines()


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


def test_a99_a_space_is_erased_only_by_its_exact_name():
    space = make_space("home", name="Home")
    facts.remember(space, text="a secret", by="person:ana")
    with pytest.raises(spaces.WrongName, match="Home"):
        spaces.erase(space, typed="home", by="person:ana")
    spaces.erase(space, typed="Home", by="person:ana")
    assert not Fact.objects.exists()
