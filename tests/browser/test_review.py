"""The review queue and a night, in a real browser: by keys alone, by mouse, and without script."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from memory.episodes import service as episodes
from memory.models import Fact
from sleep import cycle
from sleep.models import Proposal
from tests.factories import make_member, make_night, make_proposal, make_space, make_user

NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


@pytest.fixture
def owner():
    return make_member(space=make_space("home", name="Home"), user=make_user("ana"))


@pytest.fixture
def queue(owner):
    night = make_night(owner.space)
    return [
        make_proposal(
            owner.space, night=night, title=title, after={"text": title}, confidence=confidence
        )
        for title, confidence in (("Ana reads", 0.9), ("Ana sings", 0.8), ("Ana rows", 0.7))
    ]


def front(page):
    return page.locator(".desk h1")


def press(page, key):
    """Press a key once the page has taken in the last answer."""
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    page.keyboard.press(key)


def test_the_queue_empties_by_keys_alone(window, owner, queue):
    page = window().sign_in(owner.user)
    page.goto("/s/home/proposals/")
    expect(front(page)).to_have_text("Ana reads")
    press(page, "s")
    expect(front(page)).to_have_text("Ana sings")
    press(page, "x")
    expect(front(page)).to_have_text("Ana rows")
    press(page, "a")
    expect(front(page)).to_have_text("Ana reads")
    press(page, "u")
    expect(front(page)).to_have_text("Ana rows")
    press(page, "a")
    expect(front(page)).to_have_text("Ana reads")
    press(page, "a")
    expect(page.get_by_text("Nothing to decide")).to_be_visible()
    assert set(Fact.objects.live().values_list("text", flat=True)) == {"Ana reads", "Ana rows"}


def test_editing_by_key_changes_what_is_approved(window, owner, queue):
    page = window().sign_in(owner.user)
    page.goto("/s/home/proposals/")
    page.keyboard.press("e")
    page.fill("#edit-text", "Ana reads at night")
    page.get_by_role("button", name="Keep this wording").click()
    expect(page.locator(".pair .after")).to_contain_text("Ana reads at night")
    page.locator("body").press("a")
    expect(front(page)).to_have_text("Ana sings")
    assert Fact.objects.get().text == "Ana reads at night"


@pytest.mark.parametrize("phone", [False, True])
def test_deciding_works_without_script(window, owner, queue, phone):
    page = window(java_script_enabled=False, phone=phone).sign_in(owner.user)
    page.goto("/s/home/proposals/")
    page.get_by_role("button", name="Approve").first.click()
    expect(front(page)).to_have_text("Ana sings")
    page.get_by_role("button", name="Reject", exact=False).first.click()
    expect(front(page)).to_have_text("Ana rows")
    assert sorted(Proposal.objects.values_list("status", flat=True)) == [
        "approved",
        "pending",
        "rejected",
    ]


def test_a_night_is_read_and_taken_back_line_by_line(window, owner):
    for n, line in enumerate(("The server moved to Hetzner", "Ana will bring the cake")):
        at = NOW - timedelta(hours=8 + n)
        episodes.write(owner.space, body=line, by="tag", started_at=at)
    night = cycle.sleep(owner.space, now=NOW)
    page = window().sign_in(owner.user)
    page.goto(f"/s/home/nights/{night.pk}/")
    line = page.locator("li", has_text="Hetzner")
    line.get_by_role("button", name="Undo").click()
    expect(page.locator("li.undone")).to_contain_text("Hetzner")
    page.locator("li.undone").get_by_role("button", name="Redo").click()
    expect(page.locator("li.undone")).to_have_count(0)
    page.get_by_role("button", name="Undo this night").click()
    page.get_by_role("button", name="Undo the night").click()
    expect(page.locator("li.undone")).to_have_count(2)
    assert not Fact.objects.live().exists()
