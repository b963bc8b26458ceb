"""The review queue and a night, in a real browser: by keys alone, by mouse, and without script."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.models import Fact
from sleep import cycle, proposals
from sleep.models import Proposal
from tests.factories import (
    make_member,
    make_night,
    make_old_fact,
    make_proposal,
    make_space,
    make_user,
)

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
    expect(page.locator("#edit-text")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" at xanadu")  # its letters are no shortcuts
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(front(page)).to_have_text("Ana sings")
    assert Fact.objects.get().text == "Ana reads at xanadu"


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


def test_still_true_is_answered_by_keys_alone(window, owner):
    for town in ("Oslo", "Rome", "Lima"):
        make_old_fact(owner.space, text=f"Ana lives in {town}", language="en")
    page = window().sign_in(owner.user)
    page.goto("/s/home/still-true/")
    expect(front(page)).to_have_text("Does Ana still live in Oslo?")
    press(page, "s")
    expect(front(page)).to_have_text("Does Ana still live in Rome?")
    press(page, "n")
    expect(front(page)).to_have_text("Does Ana still live in Lima?")
    press(page, "u")
    expect(front(page)).to_have_text("Does Ana still live in Rome?")
    press(page, "y")
    expect(front(page)).to_have_text("Does Ana still live in Lima?")
    press(page, "e")
    page.fill(".desk textarea", "Ana lives in Quito")
    page.get_by_role("button", name="Save").click()
    expect(front(page)).to_have_text("Does Ana still live in Oslo?")
    live = set(Fact.objects.live().values_list("text", flat=True))
    assert live == {"Ana lives in Oslo", "Ana lives in Rome", "Ana lives in Quito"}


@pytest.mark.parametrize("script", [True, False])
def test_a_contradiction_is_ruled_on_by_key_and_without_script(window, owner, script):
    one, other = (
        facts.remember(owner.space, text=f"Ana lives in {town}", by="extraction", subject="Ana").row
        for town in ("Lima", "Quito")
    )
    proposals.ask_about_change(one, other, "value")
    page = window(java_script_enabled=script).sign_in(owner.user)
    page.goto("/s/home/proposals/docket/")
    if script:
        press(page, "2")
        press(page, "a")
    else:
        page.get_by_role("radio", name="Newer 2").check()
        page.get_by_role("button", name="Decide").click()
    expect(page.get_by_text("No open contradiction")).to_be_visible()
    one.refresh_from_db()
    assert (one.status, one.flags) == ("superseded", ["ruled out"])


def test_a_night_is_read_and_taken_back_line_by_line(window, owner):
    for n, line in enumerate(("The server moved to Hetzner", "Ana will bring the cake")):
        at = NOW - timedelta(hours=8 + n)
        episodes.write(owner.space, body=line, by="tag", started_at=at)
    night = cycle.sleep(owner.space, now=NOW)
    page = window().sign_in(owner.user)
    page.goto(f"/s/home/nights/{night.pk}/?part=changes")
    line = page.locator("li", has_text="Hetzner")
    line.get_by_role("button", name="Undo").click()
    expect(page.locator("li.undone")).to_contain_text("Hetzner")
    page.locator("li.undone").get_by_role("button", name="Redo").click()
    expect(page.locator("li.undone")).to_have_count(0)
    page.get_by_role("link", name="Undo this night").click()
    page.get_by_role("button", name="Undo this night").click()
    expect(page.get_by_text("Took back 2 changes.")).to_be_visible()
    assert not Fact.objects.live().exists()
