"""manage.py sleep: what it says and what it leaves alone."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.facts import service as facts
from memory.models import Fact
from sleep import cycle, proposals
from sleep.models import Night, Proposal
from tests.factories import make_episode, make_space

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def said(capsys):
    def said(*arguments):
        call_command("sleep", *arguments)
        return capsys.readouterr().out

    return said


def test_what_waits_is_told_with_its_reasons_and_its_age(said):
    space = make_space("home", name="Home")
    assert "nothing to decide" in said("--proposals")
    old = facts.remember(space, text="Ana lives in Lima", by="person:ana").row
    made = proposals.propose(
        space, "supersede", key="k", title="Ana lives in Quito", rows=[old],
        after={"text": "Ana lives in Quito"}, flags=["contradiction"],
        rationale="Both cannot be true.",
        evidence=[{"quote": "I moved to Quito", "by": "Ana", "at": "2026-02-14T10:00:00+00:00"}],
    )  # fmt: skip
    Proposal.objects.filter(pk=made.pk).update(created_at=timezone.now() - timedelta(days=9))
    told = said("--proposals", "--space", "home")
    for part in (
        f"{made.pk}  Contradiction",
        "[contradiction]",
        "9 days old, by heuristics",
        "- Ana lives in Lima",
        "+ Ana lives in Quito",
        "Both cannot be true.",
        "“I moved to Quito” (Ana, 2026-02-14)",
    ):
        assert part in told, part


def test_the_status_of_the_last_nights(said):
    space = make_space("home", name="Home")
    assert "has never slept" in said("--status")
    cycle.sleep(space, now=timezone.now())
    told = said("--status")
    assert "0 applied, 0 to decide" in told
    assert "not due" in told


def test_a_dry_run_says_what_would_be_and_keeps_nothing(said):
    space = make_space("home")
    make_episode(space, body="The server moved to Hetzner", source="tag", status="closed")
    told = said("--now", "--dry-run")
    assert "rehearsed, nothing kept" in told
    assert "facts_new 1" in told
    assert not Night.objects.exists()
    assert not Fact.objects.exists()


def test_resume_goes_on_only_where_a_night_stopped(said):
    space = make_space("home", name="Home")
    assert "Home: nothing to resume." in said("--resume")
    Night.objects.create(space=space, local_date=timezone.localdate(), status="failed")
    assert "reflection" in said("--resume")
    assert Night.objects.get().status == "success"


def test_an_unknown_space_is_named():
    with pytest.raises(CommandError, match="no space called attic"):
        call_command("sleep", "--space", "attic")
