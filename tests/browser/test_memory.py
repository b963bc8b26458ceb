"""Facts and episodes in a real browser: by keyboard, without script, on a phone."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from memory.facts import service as facts
from memory.models import Episode, Fact
from tests.factories import (
    make_chat,
    make_episode,
    make_member,
    make_message,
    make_space,
    make_user,
)


@pytest.fixture
def home():
    member = make_member(space=make_space("home", name="Home"), user=make_user("ana"))
    for text in ("Ana lives in Lima", "Bo drinks tea", "Deploys happen after 22:00"):
        facts.remember(member.space, text=text, quote=text, by="tag", subject=text.split()[0])
    return member


@pytest.fixture
def episode(home):
    """Two messages in one, and an older one beside it."""
    chat, now = make_chat(home.space, title="Kitchen"), timezone.now()
    older = {"started_at": now - timedelta(days=1), "ended_at": now - timedelta(days=1)}
    make_episode(home.space, chat=chat, title="The kettle broke", body="It *leaks*.", **older)
    found = make_episode(home.space, chat=chat, title="Oaxaca", body="We **go** in May.")
    for n, text in enumerate(("We go to Oaxaca in May", "And the gas bill is due")):
        make_message(chat, text=text, episode=found, sent_at=now + timedelta(minutes=n))
    facts.remember(home.space, text="They go to Oaxaca", by="night", episode=found, subject="Ana")
    return found


def test_what_can_be_done_with_picked_facts_fits_on_a_phone(window, home):
    opened = window(phone=True)
    page = opened.sign_in(home.user)
    chosen = {"name": settings.LANGUAGE_COOKIE_NAME, "value": "es", "url": opened.base}
    page.context.add_cookies([chosen])
    page.goto("/s/home/facts/")
    page.locator("[data-one]").first.check()
    page.locator("#bulk summary").click()
    for part in page.locator("#bulk > .btn, #bulk .menu").all():
        box = part.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    expect(page.locator("#bulk .menu button").last).to_be_in_viewport()


def test_the_days_of_episodes_stand_below_each_other(window, episode, home):
    page = window().sign_in(home.user)
    page.goto("/s/home/episodes/")
    days = [day.bounding_box() for day in page.locator("#episode-days .day").all()]
    assert len(days) == 2
    assert days[0]["x"] == days[1]["x"]
    assert days[0]["y"] + days[0]["height"] <= days[1]["y"]


def test_one_long_word_leaves_the_other_columns_in_sight(window, home):
    facts.remember(home.space, text="See https://example.com/" + "a" * 300, quote="", by="tag")
    page = window().sign_in(home.user)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/s/home/facts/")
    box = page.locator("th.when").bounding_box()
    assert box["x"] + box["width"] <= 1280


def test_what_is_found_is_not_wider_than_a_phone(window, home):
    long = "Ana lives in Lima, not far from the harbour, with two cats and a very old piano"
    facts.remember(home.space, text=long, quote=long, by="tag", subject="Ana")
    page = window(phone=True).sign_in(home.user)
    page.goto("/s/home/search/?q=harbour")
    box = page.locator("main #found a", has_text="harbour").bounding_box()
    assert box["x"] + box["width"] <= 390


def test_facts_are_searched_opened_reworded_and_forgotten_by_keyboard(window, home):
    page = window().sign_in(home.user)
    page.goto("/s/home/facts/")
    page.keyboard.press("/")
    page.keyboard.type("tea")
    expect(page.locator("#fact-rows [data-row]")).to_have_count(1)
    expect(page).to_have_url("/s/home/facts/?q=tea&status=active")
    page.reload()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#panel")).to_contain_text("Bo drinks tea")
    page.keyboard.press("e")
    field = page.locator("#panel textarea").first
    expect(field).to_have_value("Bo drinks tea")
    field.fill("Bo drinks green tea")
    page.locator("#panel").get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#panel .claim")).to_contain_text("Bo drinks green tea")
    expect(page.locator("#fact-rows")).to_contain_text("green tea")
    row = page.locator("#fact-rows [data-row]").first
    row.focus()
    page.keyboard.press("x")
    expect(page.locator("#fact-rows .gone")).to_have_count(1)
    page.keyboard.press("u")
    expect(page.locator("#fact-rows .gone")).to_have_count(0)
    assert Fact.objects.get(text="Bo drinks green tea").status == "active"


def test_many_facts_are_pinned_with_one_undo(window, home):
    page = window().sign_in(home.user)
    page.goto("/s/home/facts/")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("Space")
    expect(page.locator("[data-picked]")).to_have_text("2")
    page.locator("#bulk").get_by_role("button", name="Pin", exact=True).press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Undo")
    assert Fact.objects.filter(pinned=True).count() == 2
    page.keyboard.press("u")
    expect(page.locator("#fact-rows .pin")).to_have_count(0)
    assert Fact.objects.filter(pinned=True).count() == 0


def test_an_episode_is_split_merged_rated_and_discarded(window, home, episode):
    page = window().sign_in(home.user)
    page.goto("/s/home/episodes/?look=list")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    expect(panel.locator("strong")).to_have_text("go")
    expect(panel).to_contain_text("What it left behind")
    panel.get_by_text("2 messages").click()
    panel.get_by_role("button", name="split here").click()
    expect(page.locator("#toasts")).to_contain_text("is an episode of its own now")
    expect(page.locator("#episodes [data-row]:not(.gone)")).to_have_count(3)
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(page.locator("#episodes [data-row]:not(.gone)")).to_have_count(2)
    for box in page.locator("#episodes [data-row]:not(.gone) [data-one]").all():
        box.check()
    page.locator("#bulk").get_by_role("button", name="Merge").click()
    expect(page.locator("#toasts")).to_contain_text("Merged 2 episodes")
    assert Episode.objects.filter(source="merge", summary_of__contains=[episode.pk]).exists()
    page.keyboard.press("u")
    expect(page.locator("#episodes [data-row]:not(.gone)")).to_have_count(2)
    page.locator("#panel summary[title=More]").click()
    page.get_by_role("button", name="It was good").click()
    expect(page.locator("#episodes")).to_contain_text("was good")
    expect(panel).to_contain_text("You gave feedback")
    page.locator("h1").click()
    page.keyboard.press("x")
    page.locator("dialog#discard").get_by_role("button", name="Discard").press("Enter")
    expect(page.locator("#panel")).to_contain_text("Discarded: Noise")
    page.keyboard.press("u")
    expect(page.locator("#panel")).not_to_contain_text("Discarded: Noise")


def test_facts_and_episodes_work_without_script(window, home, episode):
    page = window(java_script_enabled=False).sign_in(home.user)
    page.goto("/s/home/facts/")
    page.locator("#q").fill("Lima")
    page.locator("#q").press("Enter")
    page.get_by_role("link", name="Ana lives in Lima").click()
    page.get_by_role("link", name="Edit").last.click()
    page.locator("#panel textarea").first.fill("Ana lives in Cusco")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#panel .claim")).to_contain_text("Cusco")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator("body")).to_contain_text("Lima")
    page.goto(f"/s/home/episodes/{episode.pk}/")
    page.locator("#discard-plain").get_by_role("button", name="Discard").click()
    expect(page.locator("#panel")).to_contain_text("Discarded: Noise")
    page.locator("#panel").get_by_role("button", name="Restore").click()
    expect(page.locator("#panel")).not_to_contain_text("Discarded: Noise")
    page.locator("summary", has_text="2 messages").click()
    page.get_by_role("button", name="split here").click()
    expect(page.locator(".toast")).to_contain_text("is an episode of its own now")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    assert Episode.objects.filter(source="split", status="closed").count() == 0
