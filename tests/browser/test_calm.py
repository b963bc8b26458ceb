"""Pages that stay where they are: nothing jumps, the focus is kept, and what happened is said."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory.facts import service as facts
from memory.models import Fact
from tests.factories import (
    make_chat,
    make_episode,
    make_member,
    make_message,
    make_night,
    make_notice,
    make_pattern,
    make_proposal,
    make_receipt,
    make_space,
    make_user,
)

# What a page may move on its own while it loads; Google calls 0.1 good.
STILL = 0.1
WATCH = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.moved += one.value;
}).observe({ type: "layout-shift", buffered: true });
"""
# Two frames and a moment: what moves late moves by then.
SETTLED = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 400))"
NOW = ("", "facts/", "episodes/", "episodes/?look=list", "chats/", "proposals/", "patterns/")
CARE = ("nights/", "receipts/", "recall/", "map/", "costs/", "health/", "trash/", "audit/")


@pytest.fixture
def home():
    """A space with enough in it that lists are longer than the window."""
    member = make_member(space=make_space("home", name="Home"), user=make_user("ana"))
    space, now = member.space, timezone.now()
    for n in range(60):
        who = "Luis" if n % 2 else "Ana"
        facts.remember(space, text=f"{who} planted tree {n}", by="tag", subject=who)
    chat, night = make_chat(space, title="Garden"), make_night(space)
    episode = make_episode(space, chat=chat, title="The apple tree", body="It **grows**.")
    for n in range(30):
        sent = {"sent_at": now + timedelta(minutes=n), "external_id": f"m{n}"}
        make_message(chat, f"And then we watered row {n}", episode=episode, **sent)
    for n in range(5):
        words = {"title": f"Ana likes tree {n}", "after": {"text": f"Ana likes tree {n}"}}
        make_proposal(space, night=night, confidence=0.9 - n / 10, **words)
    make_pattern(space)
    make_notice(space)
    make_receipt(space)
    return member


def moved(page) -> float:
    page.evaluate(SETTLED)
    return page.evaluate("window.moved")


@pytest.mark.parametrize("width", [1360, 390])
def test_no_page_jumps_while_it_loads(window, home, width):
    page = window(viewport={"width": width, "height": 844}).sign_in(home.user)
    page.add_init_script(WATCH)
    jumped = {}
    for path in NOW + CARE:
        answer = page.goto(f"/s/home/{path}")
        assert answer.status == 200, path
        if (far := moved(page)) >= STILL:
            jumped[path] = far
    assert jumped == {}
    page.evaluate("document.querySelector('#main').style.paddingTop = '300px'")
    assert moved(page) >= STILL, "the watch sees nothing"


@pytest.mark.parametrize("width", [1360, 390])
def test_the_graph_of_people_comes_into_the_room_that_was_kept_for_it(window, home, width):
    page = window(viewport={"width": width, "height": 844}).sign_in(home.user)
    page.add_init_script(WATCH)
    page.goto("/s/home/")
    graph = page.locator("#people-graph")
    room = graph.bounding_box()["height"]
    graph.scroll_into_view_if_needed()
    expect(graph.get_by_role("link", name="Luis")).to_be_visible()
    assert moved(page) < STILL
    assert graph.bounding_box()["height"] == pytest.approx(room, abs=1)


def test_without_script_the_overview_leads_to_the_graph(window, home):
    page = window(java_script_enabled=False).sign_in(home.user)
    page.goto("/s/home/")
    expect(page.locator("#people-graph svg")).to_be_hidden()
    page.get_by_role("link", name="All people and things").click()
    expect(page.locator("#people-graph").get_by_role("link", name="Luis")).to_be_visible()


def test_opening_and_scrolling_move_nothing_else(window, home):
    page = window().sign_in(home.user)
    page.add_init_script(WATCH)
    page.goto("/s/home/facts/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#panel .claim")).to_be_visible()
    page.locator("#fact-rows .more a").scroll_into_view_if_needed()
    expect(page.locator("#fact-rows [data-row]")).to_have_count(60)
    assert moved(page) < STILL


def test_the_place_in_a_list_is_kept_and_what_happened_is_said(window, home):
    page = window().sign_in(home.user)
    page.goto("/s/home/facts/")
    said = page.locator("#toasts[role=status][aria-live=polite]")
    expect(said).to_have_text("")
    said.evaluate("region => { region.here = true; }")
    in_focus = page.locator("#fact-rows [data-row]:focus")
    rows = [f"fact-{pk}" for pk in Fact.objects.newest().values_list("pk", flat=True)[:4]]
    for _ in range(3):
        page.keyboard.press("j")
    expect(in_focus).to_have_id(rows[2])
    page.keyboard.press("x")
    expect(said).to_contain_text("Forgot")
    expect(in_focus).to_have_id(rows[2])
    page.keyboard.press("j")
    expect(in_focus).to_have_id(rows[3])
    page.keyboard.press("u")
    expect(said).to_contain_text("Undone.")
    expect(in_focus).to_have_count(1)
    assert said.evaluate("region => region.here"), "a region that is new says nothing"
    assert Fact.objects.live().count() == 60


def test_one_who_decides_by_tab_and_enter_stays_at_the_desk(window, home):
    page = window().sign_in(home.user)
    page.goto("/s/home/proposals/")
    said = page.locator("#toasts[role=status]")
    said.evaluate("region => { region.here = true; }")
    for title in ("Ana likes tree 0", "Ana likes tree 1"):
        expect(page.locator(".desk h1")).to_have_text(title)
        page.get_by_role("button", name="Approve").first.focus()
        page.keyboard.press("Enter")
        expect(said).to_contain_text(f"Approved “{title}”.")
        expect(page.locator(".desk h1")).not_to_have_text(title)
        expect(page.locator(".desk :focus")).to_contain_text("Approve")
    assert said.evaluate("region => region.here")


def test_an_open_dialog_outlives_a_panel_that_looks_again(window, home):
    page = window().sign_in(home.user)
    episode = home.space.episodes.get()
    page.goto(f"/s/home/episodes/{episode.pk}/")
    page.get_by_role("link", name="Discard").or_(
        page.get_by_role("button", name="Discard")
    ).first.click()
    dialog = page.locator("dialog#discard")
    expect(dialog).to_be_visible()
    dialog.get_by_label("A note, if you like").fill("Only a test")
    type(episode).objects.filter(pk=episode.pk).update(title="The pear tree")
    with page.expect_response(lambda got: f"/episodes/{episode.pk}/" in got.url):
        page.evaluate("htmx.trigger(document.body, 'memory-changed')")
    page.evaluate(SETTLED)
    expect(dialog).to_be_visible()
    expect(dialog.get_by_label("A note, if you like")).to_have_value("Only a test")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#panel .claim")).to_have_text("The pear tree")
