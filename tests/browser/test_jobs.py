"""The jobs people come for, done by clicking as a newcomer would: none takes over five clicks."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from bench import jobs
from kenoweb.auth import accounts
from kenoweb.models import OneTimeLink
from memory import people
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.models import Episode, Erasure, Fact, LlmCall, Member, Message
from memory.spaces import connections
from sleep import cycle
from tests.bot import bot_api
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
from tests.llm import servers


@pytest.fixture
def owner():
    return make_member(space=make_space("home", name="Home"), user=make_user("ana"))


@pytest.fixture
def newcomer(window, owner):
    page = window().sign_in(owner.user)
    page.goto("/s/home/")
    person = jobs.Newcomer(page)
    yield person
    assert person.clicks <= jobs.MOST


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
    person = jobs.Newcomer(page)
    person.click("button", "Español")
    page.fill("[name=called]", "Ana María")
    page.fill("[name=name]", "ana")
    page.fill("[name=new]", PASSWORD)
    page.fill("[name=again]", PASSWORD)
    person.press_on(page.locator("main form button.main"))
    person.see("Primeros pasos")
    person.see("Cuenta un hecho")
    member = Member.objects.get()
    assert (member.user.first_name, member.space.timezone) == ("Ana María", "Europe/Madrid")
    assert person.clicks <= jobs.MOST


def test_every_job_of_the_bench_is_done_here(tmp_path):
    """Whatever the bench times has a promise beside it."""
    known = {job.do.__name__ for job in jobs.jobs(folder=tmp_path, model="", telegram="")}
    here = Path(__file__).read_text()
    assert len(known) == 15
    assert [name for name in known if f"jobs.{name}(" not in here] == []


def test_find_out_why_it_said_that(newcomer, owner):
    fact = facts.remember(owner.space, text="Bo likes oolong", by="tag").row
    make_receipt(owner.space, "what tea does Bo like?", fact=fact)
    jobs.why_did_it_say_that(newcomer, question="what tea does Bo like?", memory="Bo likes oolong")


def test_put_a_wrong_fact_right(newcomer, owner):
    facts.remember(owner.space, text="Bo likes coffee", by="tag")
    jobs.fix_a_wrong_fact(newcomer, wrong="Bo likes coffee", right="Bo likes tea")
    assert Fact.objects.get().text == "Bo likes tea"


def test_leave_out_a_conversation_and_take_it_back(newcomer, owner):
    at = timezone.now() - timedelta(hours=5)
    episodes.write(owner.space, body="Only a joke about Mars", by="tag", started_at=at)
    jobs.discard_and_restore(newcomer, episode="Only a joke about Mars")
    assert Episode.objects.get().status != "discarded"


def test_decide_ten_things_by_keyboard(newcomer, owner):
    for n in range(10):
        words = {"title": f"Ana likes tree {n}", "after": {"text": f"Ana likes tree {n}"}}
        make_proposal(owner.space, confidence=0.9 - n / 20, key=f"k{n}", **words)
    jobs.decide_by_keyboard(newcomer, how_many=10)
    newcomer.see("Nothing to decide")
    assert newcomer.keys == 10
    assert newcomer.page.locator("#toasts .toast").count() <= 1
    assert Fact.objects.live().count() == 10


def test_take_back_a_night(newcomer, owner):
    at = timezone.now() - timedelta(hours=8)
    episodes.write(owner.space, body="The server moved to Hetzner", by="tag", started_at=at)
    cycle.sleep(owner.space, now=timezone.now())
    jobs.take_back_a_night(newcomer)
    assert not Fact.objects.live().exists()


def test_see_all_about_a_person(newcomer, moved):
    jobs.all_about_a_person(newcomer, name="Ana", fact="Ana lives in Lima")
    newcomer.see("How beliefs changed")
    expect(newcomer.page.locator(".banks")).to_contain_text("I live in Lugo")


def test_see_how_a_belief_changed(newcomer, moved):
    jobs.how_a_belief_changed(newcomer, fact="Ana lives in Lima")
    newcomer.see("I live in Lugo", within="#panel")


def test_forget_a_person_for_good(newcomer, moved):
    jobs.forget_a_person(newcomer, name="Ana")
    assert Erasure.objects.filter(kind="person").exists()


def test_take_everything_away(newcomer, owner):
    facts.remember(owner.space, text="Bo likes tea", by="tag")
    jobs.export_everything(newcomer)


def test_bring_chatgpt_along_and_have_it_learned_from(newcomer, owner, tmp_path):
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps(jobs.CHATGPT))
    jobs.import_from_chatgpt(newcomer, file=file)
    assert Message.objects.filter(text="I keep bees in Oaxaca.").exists()


def test_connect_a_language_model(newcomer, owner):
    with servers.running() as server:
        jobs.connect_a_model(newcomer, address=f"{server.url}/v1")
    assert LlmCall.objects.filter(ok=True).exists()


def test_connect_telegram(newcomer, owner, settings):
    with bot_api.running() as server:
        settings.TELEGRAM_BASE_URL = server.url
        jobs.connect_telegram(newcomer, token=bot_api.TOKEN)
    assert connections.value("TELEGRAM_BOT_TOKEN") == bot_api.TOKEN


def test_invite_somebody(newcomer, owner):
    jobs.invite_somebody(newcomer)
    assert OneTimeLink.objects.filter(space=owner.space).exists()


def test_let_a_script_in(newcomer, owner):
    facts.remember(owner.space, text="Bo keeps bees", by="tag")
    assert "Bo keeps bees" in jobs.token_and_curl(newcomer)


def test_let_an_agent_in(newcomer):
    assert "serverInfo" in jobs.token_and_mcp(newcomer)
