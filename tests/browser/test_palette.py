import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.conftest import findings
from tests.factories import make_chat, make_episode, make_fact, make_member


@pytest.fixture
def home():
    member = make_member(role="owner")
    make_fact(member.space, text="Bo drinks tea in the morning")
    make_episode(member.space, title="Tea with the neighbours")
    make_chat(member.space, title="The tea club")
    return member


def opened(window, home, **options):
    page = window(**options).sign_in(home.user)
    page.goto(reverse("overview:index", args=[home.space.slug]))
    page.keyboard.press("Control+k")
    expect(page.locator("#jump-q")).to_be_focused()
    return page


def said(page):
    """What a screen reader would read as the chosen one."""
    return page.evaluate(
        "document.getElementById(document.getElementById('jump-q')"
        ".getAttribute('aria-activedescendant'))?.textContent.trim()"
    )


def test_ctrl_k_finds_facts_episodes_and_chats_and_the_arrows_open_one(window, home):
    page = opened(window, home)
    page.keyboard.type("tea")
    expect(page.locator("#jump-list")).to_contain_text("The tea club")
    expect(page.locator("#jump-list [role=option]")).to_have_count(3)
    expect(page.locator("#jump-told")).to_have_text("3 results")
    assert said(page).startswith("Bo drinks tea")
    page.keyboard.press("ArrowDown")
    assert said(page) == "Tea with the neighbours"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#jump-list [aria-selected=true]")).to_contain_text("The tea club")
    expect(page.locator("#jump-q")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("The tea club")


def test_ctrl_k_works_while_one_types_and_closes_it_again(window, home):
    page = window().sign_in(home.user)
    page.goto(reverse("facts:index", args=[home.space.slug]))
    page.focus("#q")
    page.keyboard.press("Control+k")
    expect(page.locator("#jump")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.locator("#jump")).to_be_hidden()


def test_enter_before_the_answer_leads_to_the_page_of_results(window, home):
    page = opened(window, home)
    page.evaluate("document.querySelector('#jump form').removeAttribute('hx-get')")
    page.keyboard.type("tea")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Search")
    expect(page.locator("#found")).to_contain_text("The tea club")


def test_what_is_not_there_is_said(window, home):
    page = opened(window, home)
    page.keyboard.type("zebra")
    expect(page.locator("#jump-list")).to_contain_text("No results for “zebra”.")
    expect(page.locator("#jump-told")).to_have_text("0 results")
    # What is left to do is the one choice, and Enter does it.
    expect(page.locator("#jump-list [role=option]")).to_have_text("See what would come to mind")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/recall/\?q=zebra$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_open_palette_has_no_serious_flaw(window, home, scheme):
    page = opened(window, home, color_scheme=scheme)
    page.keyboard.type("tea")
    expect(page.locator("#jump-list [role=option]")).to_have_count(3)
    assert findings(page) == []


def test_on_a_phone_it_opens_from_the_menu_and_a_tap_goes_there(window, home):
    page = window(phone=True).sign_in(home.user)
    page.goto(reverse("overview:index", args=[home.space.slug]))
    page.locator("nav.tabs button").click()
    page.locator("a.jump").click()
    page.fill("#jump-q", "tea")
    page.locator("#jump-list a", has_text="Tea with the neighbours").click()
    expect(page.locator("#panel")).to_contain_text("Tea with the neighbours")


def test_without_script_the_same_words_find_the_same(window, home):
    page = window(java_script_enabled=False).sign_in(home.user)
    page.goto(reverse("search:index", args=[home.space.slug]) + "?q=tea")
    expect(page.locator("#found a")).to_have_count(3)
