"""The recall lab, the receipts and the map, in a real browser."""

from datetime import timedelta

import pytest
from django.conf import settings
from playwright.sync_api import expect

from memory.models import Fact, Recall, RecallProfile
from memory.vectors import store as embeddings
from tests.browser.conftest import in_both_themes
from tests.factories import (
    make_chat,
    make_episode,
    make_fact,
    make_member,
    make_receipt,
    make_space,
    make_user,
)

SAID = (
    "The webhook of n8n wants its token in the address",
    "Ana drinks green tea in the morning",
    "Backups run at half past three",
    "<img src=x onerror=alert(1)> n8n webhook",
)
LAB = "/s/home/recall/"


@pytest.fixture
def owner():
    member = make_member(space=make_space("home", name="Home"), user=make_user("ana"))
    for text in SAID:
        make_fact(member.space, text, pinned=text == SAID[2])
    make_episode(member.space, title="A walk by the sea")
    make_chat(member.space, title="Kitchen")
    embeddings.backfill()
    return member


def first(page):
    return page.locator(".cands .words a").first


def test_asking_in_the_lab_answers_in_place(window, owner):
    page = window().sign_in(owner.user)
    page.goto(LAB)
    page.keyboard.press("/")
    page.keyboard.type("why does the n8n webhook want a token?")
    page.keyboard.press("Enter")
    expect(first(page)).to_have_text(SAID[0])
    page.locator("#apart summary").click()
    expect(page.locator("#apart .total")).to_be_visible()
    assert "q=why" in page.url
    page.locator(".cands .sum a").nth(1).click()
    expect(page.locator("#apart th").first).to_contain_text("2 ·")
    page.locator("details.prompt summary").click()
    assert not Recall.objects.exists()


def test_a_slider_ranks_again_and_what_was_tried_is_saved(window, owner):
    page = window().sign_in(owner.user)
    page.goto(f"{LAB}?q=the+webhook+token+and+the+backups")
    page.locator("#weights summary").click()
    page.locator("#w-pin").focus()
    page.keyboard.press("End")
    expect(page.locator("#w-pin + output")).to_have_text("10.00")
    expect(page.locator(".cands .move").first).to_be_visible()
    page.fill("#profile-name", "mine")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#toasts")).to_contain_text("Saved as mine v1")
    assert RecallProfile.objects.get().weights["pin"] == 10
    page.get_by_role("button", name="Let the space recall by mine").click()
    expect(page.locator("#toasts")).to_contain_text("Recall ranks by mine now")
    page.select_option("#profile", "classic")
    expect(page.locator(".panel .note")).to_contain_text("fixed")


@pytest.mark.parametrize("phone", [False, True])
def test_the_lab_works_without_script(window, owner, phone):
    page = window(java_script_enabled=False, phone=phone).sign_in(owner.user)
    page.goto(LAB)
    page.fill("#q", "when do backups run?")
    page.get_by_role("button", name="Recall", exact=True).click()
    expect(first(page)).to_have_text(SAID[2])
    page.fill("#profile-name", "mine")
    page.get_by_role("button", name="Save", exact=True).click()
    assert RecallProfile.objects.get().name == "mine"


@pytest.mark.parametrize("phone", [False, True])
def test_full_pages_are_quiet_and_accessible(window, owner, phone):
    receipt = make_receipt(owner.space, SAID[3], fact=make_fact(owner.space), keywords=["n8n"])
    opened = window(color_scheme="light", phone=phone)
    page = opened.sign_in(owner.user)
    for path in (
        f"{LAB}?q=n8n+webhook+yesterday&w-pin=4",
        "/s/home/receipts/",
        f"/s/home/receipts/{receipt.pk}/",
        "/s/home/map/",
    ):
        page.goto(path)
        assert in_both_themes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    opened.check()


def test_receipts_filter_as_one_types_and_open_by_keys(window, owner):
    make_receipt(owner.space, "what tea?", fact=make_fact(owner.space, "Bo likes oolong"))
    make_receipt(owner.space, "which bicycle?")
    page = window().sign_in(owner.user)
    page.goto("/s/home/receipts/")
    page.keyboard.press("/")
    page.keyboard.type("tea")
    expect(page.locator("#receipt-rows tr")).to_have_count(1)
    page.locator("#receipt-rows tr").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".cands")).to_contain_text("Bo likes oolong")
    page.get_by_role("link", name="Try it in the lab").click()
    expect(page.locator("#q")).to_have_value("what tea?")


@pytest.mark.parametrize("language", ["en", "es"])
def test_what_can_be_done_with_a_receipt_takes_two_rows_on_a_phone(window, owner, language):
    receipt = make_receipt(owner.space, "what tea?")
    opened = window(phone=True)
    page = opened.sign_in(owner.user)
    chosen = {"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": opened.base}
    page.context.add_cookies([chosen])
    page.goto(f"/s/home/receipts/{receipt.pk}/")
    expect(page.locator("html")).to_have_attribute("lang", language)
    buttons = page.locator(".head .push .btn")
    boxes = [buttons.nth(n).bounding_box() for n in range(buttons.count())]
    assert len({round(box["y"] + box["height"] / 2) for box in boxes}) <= 2
    assert all(box["x"] + box["width"] <= 390 for box in boxes)
    page.locator(".head .drop summary").click()
    menu = page.locator(".head .menu").bounding_box()
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= 390
    expect(page.locator(".head .menu a")).to_have_count(2)


def test_the_map_says_what_lies_under_the_pointer_and_opens_it(window, owner):
    page = window().sign_in(owner.user)
    page.goto("/s/home/map/")
    page.wait_for_selector("[data-map][data-loaded]")
    points = page.evaluate("fetch('/s/home/map/points/').then((got) => got.json())")["points"]
    x, y, _label, text, url, *_drawn = next(one for one in points if "tea" in one[3])
    page.locator("[data-zoom='all']").click()
    at = "([x, y]) => { const s = document.querySelector('.stage > svg');"
    at += " const p = new DOMPoint(x, y).matrixTransform(s.getScreenCTM()); return [p.x, p.y]; }"
    spot = page.evaluate(at, [x, y])
    page.mouse.move(*spot)
    expect(page.locator("[data-tip]")).to_contain_text(text)
    page.mouse.wheel(0, -400)
    assert page.locator(".stage > svg").get_attribute("viewBox") != "0 0 1200 680"
    page.mouse.click(*spot)
    expect(page).to_have_url(f"{page.url.split('/s/')[0]}{url}")


def test_the_map_is_walked_by_keys_and_played(window, owner):
    first = Fact.objects.earliest("pk")
    Fact.objects.filter(pk=first.pk).update(created_at=first.created_at - timedelta(days=60))
    opened = window()
    page = opened.sign_in(owner.user)
    page.goto("/s/home/map/")
    page.wait_for_selector("[data-map][data-loaded]")
    page.locator(".stage > svg").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-tip]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("[data-tip]")).to_be_hidden()
    page.keyboard.press("+")
    assert page.locator(".stage > svg").get_attribute("viewBox") != "0 0 1200 680"
    page.keyboard.press("0")
    dots = (
        "[...document.querySelectorAll('[data-dots] path')].map(p => p.getAttribute('d')).join('')"
    )
    everything = page.evaluate(dots)
    page.locator("[data-play]").click()
    assert len(page.evaluate(dots)) < len(everything)
    page.locator("[data-until]").press("End")
    opened.check()


def test_on_a_phone_two_fingers_bring_the_map_nearer_and_one_moves_it(window, owner):
    opened = window(phone=True)
    page = opened.sign_in(owner.user)
    page.goto("/s/home/map/")
    page.wait_for_selector("[data-map][data-loaded]")
    stage, hand = page.locator(".stage > svg"), opened.context.new_cdp_session(page)
    box = stage.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def touch(kind, *places):
        points = [{"x": x + aside, "y": y, "id": n} for n, aside in enumerate(places)]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def view():
        return [float(number) for number in stage.get_attribute("viewBox").split()]

    touch("touchStart", -20, 20)
    touch("touchMove", -60, 60)
    touch("touchEnd")
    expect(stage).not_to_have_attribute("viewBox", "0 0 1200 680")
    left, _top, wide, _high = view()
    assert 300 < wide < 600
    touch("touchStart", 0)
    touch("touchMove", -30)
    touch("touchMove", -60)
    touch("touchEnd")
    page.wait_for_function(
        "left => document.querySelector('.stage > svg').viewBox.baseVal.x > left",
        arg=left,
    )
    assert view()[2] == wide
    assert "/map/" in page.url


def test_the_map_is_a_picture_and_a_table_without_script(window, owner):
    page = window(java_script_enabled=False).sign_in(owner.user)
    page.goto("/s/home/map/")
    expect(page.locator(".stage > svg path").first).to_be_visible()
    expect(page.locator("#map-rows")).to_contain_text("Ana drinks green tea")
