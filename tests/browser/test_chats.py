"""Talking to Keno in a real browser: the first minute, with and without script, on a phone."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from bot import turn
from memory.chats import inbox
from memory.extraction import ingest
from memory.facts import service as facts
from memory.models import Chat, Draft, Heartbeat, Message
from tests.browser.conftest import findings, in_both_themes
from tests.factories import make_chat, make_fact, make_member, make_message, make_space, make_user

SAID = "Remember that the spare key lies under the blue pot"


@pytest.fixture
def owner():
    Heartbeat.objects.create(name="w1", beat_at=timezone.now() + timedelta(hours=1))
    return make_member(space=make_space("home", name="Home"), user=make_user("ana"))


def work(page=None) -> None:
    """The worker's part, done here so that the test says when."""
    for _ in range(50):
        waiting = list(inbox.unanswered(Chat.objects.get().pk))
        if waiting:
            break
        page.wait_for_timeout(100)
    now = timezone.now() + timedelta(seconds=3)
    for message in waiting:
        turn.answer(message.pk, now=now)
        ingest.ingest_waiting(message.space, now=now)


def test_the_first_minute_by_keyboard(window, owner):
    page = window().sign_in(owner.user)
    page.goto("/s/home/chats/")
    expect(page.get_by_label("Your message")).to_be_focused()
    page.keyboard.type(SAID)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/chats/\d+/"))
    work(page)
    learned = page.locator(".learned")
    expect(learned).to_contain_text("he spare key lies under the blue pot")
    expect(page.locator("#tail[aria-busy]")).to_have_count(0)
    page.get_by_label("Your message").fill("Where does the spare key lie?")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Your message")).to_have_value("")
    expect(page.locator(".msg.person").last).to_contain_text("Where does the spare key lie?")
    Draft.objects.create(chat=Chat.objects.get(), text="The spare k")
    expect(page.locator("#draft")).to_contain_text("The spare k")
    work(page)
    expect(page.locator("#draft")).to_have_count(0)
    expect(page.locator(".msg").last).to_contain_text("under the blue pot")
    expect(page.locator("#panel")).to_contain_text("Used 1")
    page.locator(".learned button").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".learned.undone")).to_contain_text("Redo")
    expect(page.locator(".toast")).to_contain_text("Undo")
    assert findings(page) == []


def test_talking_works_without_script(window, owner):
    page = window(java_script_enabled=False).sign_in(owner.user)
    page.goto("/s/home/chats/")
    page.get_by_label("Your message").fill(SAID)
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".msg.person")).to_contain_text(SAID)
    work(page)
    page.get_by_role("link", name="Check again").click()
    expect(page.locator(".learned")).to_contain_text("he spare key lies under the blue pot")
    page.locator(".learned").get_by_role("button", name="Undo").click()
    expect(page.locator(".learned.undone")).to_be_visible()
    page.locator(".learned").get_by_role("button", name="Redo").click()
    expect(page.locator(".learned.undone")).to_have_count(0)
    page.get_by_label("Your message").fill("Where is the spare key?")
    page.get_by_role("button", name="Send").click()
    work(page)
    page.get_by_role("link", name="Check again").click()
    page.get_by_role("link", name="recalled").click()
    expect(page.locator("#panel")).to_contain_text("Receipt")


@pytest.fixture
def long_chat(owner):
    space = owner.space
    facts.remember(space, text="The kettle is in the kitchen", by="tag")
    chat = make_chat(space, channel="web", title="Kettles")
    began = timezone.now() - timedelta(days=2)
    for n in range(70):
        said = began + timedelta(minutes=n)
        make_message(chat, text=f"line {n}", sent_at=said, handled_at=said, ingested_at=said)
    inbox.receive(chat, text="Where is the kettle?", author="ana")
    work()
    return chat


def test_a_transcript_begins_at_its_end_and_stays_where_one_reads(window, long_chat, owner):
    page = window().sign_in(owner.user)
    page.goto(f"/s/home/chats/{long_chat.pk}/")
    expect(page.get_by_text("Where is the kettle?")).to_be_in_viewport()
    page.locator(".list").evaluate("list => list.scrollTop = 0")
    first = page.locator(".msg").first
    words = first.locator(".text").inner_text()
    page.get_by_role("link", name="Earlier messages").click()
    expect(page.get_by_text("line 0", exact=True)).to_be_attached()
    expect(page.get_by_text(words, exact=True)).to_be_in_viewport()
    expect(page.get_by_text("line 0", exact=True)).not_to_be_in_viewport()


def test_on_a_phone_the_receipt_is_a_page_of_its_own(window, long_chat, owner):
    page = window(phone=True).sign_in(owner.user)
    page.goto(f"/s/home/chats/{long_chat.pk}/")
    expect(page.get_by_text("Where is the kettle?")).to_be_in_viewport()
    page.get_by_role("link", name="recalled").click()
    expect(page.locator("#panel")).to_contain_text("The kettle is in the kitchen")
    expect(page.locator(".msg").last).to_be_hidden()
    page.get_by_role("link", name="Back").click()
    expect(page.get_by_text("Where is the kettle?")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_pages_of_a_chat_are_accessible(window, long_chat, owner):
    page = window(color_scheme="light").sign_in(owner.user)
    reply = Message.objects.get(role="assistant")
    for path in ("", f"?reply={reply.pk}", "about/", "facts/", "?q=line"):
        page.goto(f"/s/home/chats/{long_chat.pk}/{path}")
        assert in_both_themes(page) == []


def test_hostile_words_do_nothing(window, owner):
    opened = window()
    page = opened.sign_in(owner.user)
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    lines = [
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        '<a hx-get="/s/home/" hx-trigger="load">x</a>',
        "[x](javascript:alert(1)) ![y](https://example.invalid/z.png)",
    ]
    chat = make_chat(owner.space, channel="web", title=lines[0])
    for line in lines:
        asked = make_message(chat, text=line, author=line, handled_at=timezone.now())
        make_message(chat, text=line, role="assistant", reply_to=asked)
        make_fact(owner.space, text=line, message=asked)
    page.goto(f"/s/home/chats/{chat.pk}/")
    page.goto("/s/home/chats/")
    page.wait_for_timeout(200)
    assert dialogs == []
