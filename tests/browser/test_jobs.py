"""Ten jobs of somebody new, done by clicking as they would: none takes more than five clicks."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from kenoweb.auth import accounts
from memory import people
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.models import Episode, Erasure, Fact, Member
from sleep import cycle
from tests.factories import (
    PASSWORD,
    make_chat,
    make_member,
    make_message,
    make_proposal,
    make_receipt,
    make_space,
    make_user,
)

MOST = 5


class Newcomer:
    """Clicks, types and counts."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, role, name, *, within="body", exact=False):
        self.clicks += 1
        found = self.page.locator(within).get_by_role(role, name=name, exact=exact)
        found.filter(visible=True).first.click()

    def rail(self, name):
        self.click("link", name, within="#rail")

    def see(self, text, *, within="main"):
        expect(self.page.locator(within).get_by_text(text).first).to_be_visible()

    def done(self):
        assert self.clicks <= MOST


@pytest.fixture
def owner():
    return make_member(space=make_space("home", name="Home"), user=make_user("ana"))


@pytest.fixture
def newcomer(window, owner):
    page = window().sign_in(owner.user)
    page.goto("/s/home/")
    person = Newcomer(page)
    yield person
    person.done()


@pytest.fixture
def moved(owner):
    """Ana lived in Lugo, and in Lima since."""
    chat = make_chat(owner.space, title="Family")
    said = make_message(chat, "I live in Lugo", author="Ana", author_id="7")
    people.speaker(said)
    given = {"by": "tag", "subject": "Ana", "message": said, "quote": "I live in Lugo"}
    old = facts.remember(owner.space, text="Ana lives in Lugo", **given).row
    facts.supersede(old, by="tag", text="Ana lives in Lima")
    return old


def test_move_in_and_see_what_to_try_first(window, live_server):
    page = window(timezone_id="Europe/Madrid").page
    page.goto(accounts.sign_in_link(live_server.url))
    person = Newcomer(page)
    person.click("button", "Español")
    page.fill("[name=called]", "Ana María")
    page.fill("[name=name]", "ana")
    page.fill("[name=new]", PASSWORD)
    page.fill("[name=again]", PASSWORD)
    page.locator("main form button.main").click()
    person.see("Primeros pasos")
    person.see("Cuenta un hecho")
    member = Member.objects.get()
    assert (member.user.first_name, member.space.timezone) == ("Ana María", "Europe/Madrid")
    person.done()


def test_find_out_why_it_said_that(newcomer, owner):
    fact = facts.remember(owner.space, text="Bo likes oolong", by="tag").row
    make_receipt(owner.space, "what tea does Bo like?", fact=fact)
    newcomer.rail("Receipts")
    newcomer.click("link", "what tea does Bo like?")
    newcomer.see("Bo likes oolong")
    newcomer.see("Copy as picture")


def test_put_a_wrong_fact_right(newcomer, owner):
    facts.remember(owner.space, text="Bo likes coffee", by="tag")
    newcomer.rail("Facts")
    newcomer.click("link", "Bo likes coffee")
    newcomer.click("link", "Edit", within="#panel")
    newcomer.page.locator("#panel textarea").first.fill("Bo likes tea")
    newcomer.click("button", "Save", within="#panel")
    newcomer.see("Bo likes tea", within="#panel .claim")
    assert Fact.objects.get().text == "Bo likes tea"


def test_leave_out_a_conversation_and_take_it_back(newcomer, owner):
    at = timezone.now() - timedelta(hours=5)
    episodes.write(owner.space, body="Only a joke about Mars", by="tag", started_at=at)
    newcomer.rail("Episodes")
    newcomer.click("link", "Only a joke about Mars")
    newcomer.click("link", "Discard", within="#panel")
    newcomer.click("button", "Discard", within="dialog[open]", exact=True)
    newcomer.see("Discarded: Noise", within="#panel")
    newcomer.click("button", "Undo", within="#toasts")
    expect(newcomer.page.locator("#panel")).not_to_contain_text("Discarded: Noise")
    assert Episode.objects.get().status != "discarded"


def test_decide_three_things_by_keyboard(newcomer, owner):
    for n in range(3):
        words = {"title": f"Ana likes tree {n}", "after": {"text": f"Ana likes tree {n}"}}
        make_proposal(owner.space, confidence=0.9 - n / 10, key=f"k{n}", **words)
    newcomer.rail("Proposals")
    for n in range(3):
        expect(newcomer.page.locator(".desk h1")).to_have_text(f"Ana likes tree {n}")
        expect(newcomer.page.locator(".htmx-request")).to_have_count(0)
        newcomer.page.keyboard.press("a")
    newcomer.see("Nothing to decide")
    assert newcomer.page.locator("#toasts .toast").count() <= 1
    assert Fact.objects.live().count() == 3


def test_take_back_a_night(newcomer, owner):
    at = timezone.now() - timedelta(hours=8)
    episodes.write(owner.space, body="The server moved to Hetzner", by="tag", started_at=at)
    cycle.sleep(owner.space, now=timezone.now())
    newcomer.rail("Nights")
    newcomer.page.locator("tr[data-row] a").first.click()
    newcomer.see("night I")
    newcomer.click("link", "Undo this night")
    newcomer.click("button", "Undo the night")
    newcomer.see("Took back 1 change.", within="#toasts")
    assert not Fact.objects.live().exists()


def test_see_all_about_a_person_and_how_a_belief_changed(newcomer, moved):
    newcomer.rail("People and things")
    newcomer.click("link", "Ana", exact=True)
    newcomer.see("Ana lives in Lima")
    newcomer.see("How beliefs changed")
    expect(newcomer.page.locator(".banks")).to_contain_text("I live in Lugo")
    assert newcomer.page.locator(".river path").count() == 2


def test_forget_a_person_for_good(newcomer, moved):
    newcomer.rail("People and things")
    newcomer.click("link", "Ana", exact=True)
    newcomer.click("link", "Erase all about them…")
    newcomer.see("This is erased, wherever it was written down:")
    word = newcomer.page.locator(".field .label code").inner_text()
    newcomer.page.fill("[name=typed]", word)
    newcomer.click("button", "Erase")
    expect(newcomer.page.locator("main")).not_to_contain_text("Erase it for good?")
    assert Erasure.objects.filter(kind="person").exists()


def test_take_everything_away(newcomer, owner):
    facts.remember(owner.space, text="Bo likes tea", by="tag")
    newcomer.rail("Import and export")
    with newcomer.page.expect_download() as got:
        newcomer.click("button", "Export")
    assert got.value.suggested_filename.endswith(".zip")


def test_let_somebody_and_a_program_in(newcomer, owner):
    newcomer.page.locator("#rail summary.space").click()
    newcomer.click("link", "Members", within="#rail")
    newcomer.click("button", "Create a link")
    expect(newcomer.page.locator("main input[readonly]").first).to_be_visible()
    newcomer.rail("Connect")
    newcomer.see("Language model")
    newcomer.see("Telegram")
