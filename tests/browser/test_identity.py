"""The identity in a real browser: by keyboard, without script, accessible in both themes."""

import pytest
from playwright.sync_api import expect

from memory.identity import bootstrap, preferences, rules
from tests.browser.conftest import in_both_themes
from tests.factories import make_member, make_space, make_user


@pytest.fixture
def owner():
    found = make_member(space=make_space("home", name="Home"), user=make_user("ana"))
    rules.put(
        found.space,
        by="person:ana",
        slug="no_filler",
        instruction="No filler.",
        forbidden=[{"phrase": "Great question", "reason": "filler"}],
        examples=[{"user": "Port?", "good": "8443.", "bad": "Great question!"}],
    )
    preferences.put(found.space, key="Tone", value="short", by="tag")
    return found


def test_a_rule_is_retired_by_key_and_u_brings_it_back(window, owner):
    page = window().sign_in(owner.user)
    page.goto("/s/home/identity/")
    expect(page.locator(".rules b", has_text="No filler").first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator(".toast")).to_contain_text("out of force")
    expect(page.locator(".rules b", has_text="No filler")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator(".rules b", has_text="No filler").first).to_be_visible()


def test_a_reply_is_tried_while_one_types(window, owner):
    page = window().sign_in(owner.user)
    page.goto("/s/home/identity/")
    page.get_by_label("What Keno might say").press_sequentially("Great question! Sure.")
    expect(page.locator("#tried")).to_contain_text("No filler")
    page.get_by_label("What Keno might say").fill("8443.")
    expect(page.locator("#tried")).to_contain_text("No rule forbids this.")


def test_everything_works_without_script(window, owner):
    page = window(java_script_enabled=False).sign_in(owner.user)
    page.goto("/s/home/identity/")
    page.get_by_label("What Keno might say").fill("Great question!")
    page.get_by_role("button", name="Check against the rules").click()
    expect(page.locator("#tried")).to_contain_text("No filler")
    page.locator("section", has_text="Preferences").get_by_role("link", name="Add").last.click()
    page.get_by_label("What about").fill("Language")
    page.get_by_label("How it should be").fill("Spanish")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Language:")).to_be_visible()
    page.get_by_role("button", name="Retire No filler").click()
    expect(page.locator(".rules b", has_text="No filler")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    page.goto("/s/home/identity/")
    expect(page.locator(".rules b", has_text="No filler").first).to_be_visible()


def test_the_first_conversation_is_ended_here_and_what_it_kept_taken_back(window, owner):
    bootstrap.start(owner.space)
    for said in ("I would appreciate docker", "Kindly check it"):
        bootstrap.advance(owner.space, bootstrap.next_step(owner.space, message=said))
    page = window().sign_in(owner.user)
    page.goto("/s/home/identity/")
    talk = page.locator("#talk")
    expect(talk).to_contain_text("2 of 5 messages heard")
    talk.get_by_role("link", name="Correct Tone").click()
    page.get_by_label("How it should be").fill("like a pirate")
    page.get_by_role("button", name="Save").click()
    expect(talk).to_contain_text("like a pirate")
    talk.get_by_role("button", name="End it here").press("Enter")
    expect(talk).to_contain_text("complete")
    expect(page.locator("#identity")).to_contain_text("docker")
    expect(page.locator("#toasts")).to_contain_text("is over")
    page.keyboard.press("u")
    expect(page.locator("#identity")).not_to_contain_text("docker")
    expect(page.locator("#identity")).to_contain_text("like a pirate")


def test_the_pages_are_accessible(window, owner):
    page = window(color_scheme="light").sign_in(owner.user)
    for path in ("", "?reply=Great+question", "edit/", "rule/", "preference/", "prompt/"):
        page.goto(f"/s/home/identity/{path}")
        assert in_both_themes(page) == []


def test_nothing_scrolls_sideways_on_a_phone(window, owner):
    page = window(phone=True).sign_in(owner.user)
    for path in ("", "edit/", "rule/?slug=no_filler", "prompt/"):
        page.goto(f"/s/home/identity/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
