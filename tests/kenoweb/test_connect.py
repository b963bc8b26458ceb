"""Connect: a newcomer sets up a model, Telegram and webhooks on one page, against real servers."""

import base64
import json
import os
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from kenoweb.environment import read_file
from memory.llm.choose import choose
from memory.llm.complete import complete
from memory.models import AuditEntry, Connection, LlmCall, Webhook, WebhookDelivery
from memory.operations import health, webhooks
from memory.spaces import chat_links, connections
from tests.bot import bot_api, discord_api
from tests.factories import make_chat_link, make_client, make_member, make_space, make_user
from tests.llm import servers

pytestmark = pytest.mark.django_db
KEY = "sk-ant-" + "x" * 30


@pytest.fixture
def ana():
    return make_member(space=make_space("home"), user=make_user("ana")).user


@pytest.fixture
def browser(ana):
    return make_client(ana, sudo=True)


def at(name, *args):
    return reverse(f"connect:{name}", args=["home", *args])


def shown(response) -> str:
    return response.content.decode()


class TestModel:
    def test_a_key_and_an_address_make_it_answer_and_the_test_says_so(self, browser):
        with servers.running() as server:
            given = {"provider": "openai", "base": f"{server.url}/v1", "chat": "small-one"}
            assert browser.post(at("model"), given | {"key": KEY}).status_code == 302
            page = shown(browser.post(at("test_model")))
        assert page.count("ok, ") == 3
        headers = {name.lower(): value for name, value in server.headers_seen[0].items()}
        assert headers["authorization"] == f"Bearer {KEY}"
        assert {one["model"] for one in server.requests} >= {"small-one"}
        assert LlmCall.objects.filter(ok=True).count() == 3

    def test_a_test_that_fails_says_why(self, browser):
        with servers.running() as server:
            given = {"provider": "openai", "base": f"{server.url}/v1"}
            browser.post(at("model"), given)
        page = browser.post(at("test_model"))
        assert 'class="bad"' in shown(page)
        # Somebody waits: each is asked once.
        assert set(LlmCall.objects.values_list("attempts", flat=True)) == {1}

    def test_the_key_is_sealed_and_never_shown_whole(self, browser, ana):
        browser.post(at("model"), {"provider": "anthropic", "key": KEY})
        assert KEY not in Connection.objects.get(name="ANTHROPIC_API_KEY").sealed
        assert connections.value("ANTHROPIC_API_KEY") == KEY
        page = shown(browser.get(at("index")))
        assert KEY not in page
        assert f"{KEY[:6]}…{KEY[-4:]}" in page
        assert KEY not in json.dumps(list(AuditEntry.objects.values_list("details", flat=True)))

    def test_saving_without_a_key_keeps_the_one_that_is_there(self, browser):
        browser.post(at("model"), {"provider": "anthropic", "key": KEY})
        browser.post(at("model"), {"provider": "anthropic", "chat": "opus"})
        assert connections.value("ANTHROPIC_API_KEY") == KEY

    @pytest.mark.parametrize("where", ["page", "environment"])
    def test_t14_a_key_is_never_sent_to_another_address_than_its_own(
        self, browser, settings, where
    ):
        if where == "page":
            browser.post(at("model"), {"provider": "openai", "key": KEY})
        else:
            settings.OPENAI_API_KEY = KEY
        moved = {"provider": "openai", "base": "https://evil.example/v1"}
        answer = browser.post(at("model"), moved)
        assert "was given for another address" in shown(answer)
        assert (answer.status_code, connections.value("OPENAI_BASE_URL")) == (422, "")
        answer = browser.post(at("model"), moved | {"key": f"{KEY}y"})
        if where == "page":
            assert connections.value("OPENAI_API_KEY") == f"{KEY}y"
        else:
            assert (answer.status_code, connections.value("OPENAI_BASE_URL")) == (422, "")

    def test_the_environment_wins_and_is_shown_as_such(self, browser, settings):
        settings.ANTHROPIC_API_KEY = "from-the-environment"
        browser.post(at("model"), {"provider": "anthropic", "key": KEY})
        assert connections.value("ANTHROPIC_API_KEY") == "from-the-environment"
        assert "ANTHROPIC_API_KEY</code> is set in the environment" in shown(
            browser.get(at("index"))
        )

    def test_a_provider_that_cannot_work_cannot_be_chosen(self, browser):
        answer = browser.post(at("model"), {"provider": "anthropic"})
        assert answer.status_code == 422
        assert "give it its key" in shown(answer)
        whole = {"chat_provider": "anthropic"}
        answer = browser.post(reverse("settings:index", args=["home"]), whole)
        assert "It has no key yet" in shown(answer)

    def test_a_key_that_goes_away_makes_health_red_at_once(self, browser, ana):
        browser.post(at("model"), {"provider": "anthropic", "key": KEY})
        space = ana.memberships.get().space
        assert choose("chat", space=space).provider == "anthropic"
        Connection.objects.all().delete()
        found = {one.name: one for one in health.check(space, now=space.created_at)}
        assert found["provider"].level == "error"

    def test_an_owner_of_another_space_changes_no_key_of_the_home(self, ana):
        bo = make_member(space=make_space("other"), user=make_user("bo")).user
        stranger = make_client(bo, sudo=True)
        given = {"provider": "openai", "key": KEY, "base": "https://evil.example/v1"}
        stranger.post(reverse("connect:model", args=["other"]), given)
        token = {"token": bot_api.TOKEN}
        assert (
            stranger.post(reverse("connect:bot", args=["other", "telegram"]), token).status_code
            == 403
        )
        assert not Connection.objects.exists()

    def test_nothing_is_kept_without_the_password(self, ana):
        answer = make_client(ana).post(at("model"), {"provider": "anthropic", "key": KEY})
        assert answer.url.startswith("/account/sudo/")
        assert not Connection.objects.exists()


class TestBots:
    def test_the_token_is_tried_before_it_is_kept(self, browser, settings):
        with bot_api.running() as server:
            settings.TELEGRAM_BASE_URL = server.url
            assert browser.post(at("bot", "telegram"), {"token": "nonsense"}).status_code == 422
            assert browser.post(at("bot", "telegram"), {"token": bot_api.TOKEN}).status_code == 302
            assert "@KenoTestBot" in shown(browser.get(at("index")))
        assert connections.value("TELEGRAM_BOT_TOKEN") == bot_api.TOKEN
        browser.post(at("bot", "telegram"), {"off": "on"})
        assert connections.value("TELEGRAM_BOT_TOKEN") == ""

    def test_a_token_that_nobody_knows_is_not_kept(self, browser, settings):
        settings.TELEGRAM_BASE_URL = "http://127.0.0.1:9"
        answer = browser.post(at("bot", "telegram"), {"token": bot_api.TOKEN})
        assert answer.status_code == 422
        assert not Connection.objects.exists()

    @pytest.mark.parametrize("token", ["nonsense", "abcde", "ñ.x.y"])
    def test_a_token_of_the_environment_that_is_none_does_not_break_the_page(
        self, browser, settings, token
    ):
        settings.DISCORD_BOT_TOKEN = token
        page = browser.get(at("index"))
        assert page.status_code == 200
        assert "oauth2/authorize" not in shown(page)

    def test_discord_is_set_up_the_same_way_and_its_link_invites_the_bot(self, browser, settings):
        with discord_api.running() as server:
            settings.DISCORD_BASE_URL = server.url
            assert browser.post(at("bot", "discord"), {"token": "no.t.one"}).status_code == 422
            given = {"token": discord_api.TOKEN}
            assert browser.post(at("bot", "discord"), given).url == at("index")
            assert "Discord knows the bot: @Keno" in shown(page := browser.get(at("index")))
        assert connections.value("DISCORD_BOT_TOKEN") == discord_api.TOKEN
        assert discord_api.TOKEN not in shown(page)
        assert "client_id=000000000000000099" in shown(page)
        assert browser.post(at("bot", "carrier-pigeon"), {}).status_code == 404

    def test_an_owner_removes_who_was_let_in(self, browser, ana):
        link = make_chat_link(ana.memberships.get(), channel="telegram", author_id="7")
        elsewhere = make_chat_link(make_member(space=make_space("other")), author_id="8")
        assert at("remove_person", link.pk) in shown(browser.get(at("index")))
        assert browser.post(at("remove_person", elsewhere.pk)).status_code == 404
        assert browser.post(at("remove_person", link.pk)).url == at("index")
        assert not chat_links.is_linked(link.space, channel="telegram", author_id="7")
        assert AuditEntry.objects.filter(action="account.chat_unlinked").count() == 1

    def test_a_code_lets_one_person_in(self, ana):
        member = ana.memberships.get()
        code = chat_links.offer(member)
        assert chat_links.is_open(member.space, code=code)
        assert not chat_links.is_open(member.space, code="ABCDEFGH")
        assert not chat_links.is_open(make_space("other"), code=code)
        assert not chat_links.is_linked(member.space, channel="telegram", author_id="7")


class TestWebhooks:
    def test_from_the_form_to_the_log_and_back(self, browser, ana):
        given = {"url": "https://example.org/keno", "events": ["fact", "night"]}
        page = browser.post(at("new_webhook"), given)
        hook = Webhook.objects.get()
        assert webhooks.secret_of(hook) in shown(page)
        assert webhooks.secret_of(hook) not in shown(browser.get(at("index")))
        browser.post(at("test_webhook", hook.pk))
        delivery = WebhookDelivery.objects.get()
        assert "test.created" in shown(browser.get(at("index")))
        browser.post(at("replay", hook.pk, delivery.pk))
        assert WebhookDelivery.objects.count() == 2
        browser.post(at("delete_webhook", hook.pk))
        assert not Webhook.objects.exists()

    def test_what_is_not_an_address_is_refused(self, browser):
        for url in ("javascript:alert(1)", "ftp://example.org/", "nowhere"):
            given = {"url": url, "events": ["fact"]}
            assert browser.post(at("new_webhook"), given).status_code == 422
        assert not Webhook.objects.exists()


def test_the_links_that_install_carry_the_address(browser):
    page = browser.get(at("index"))
    cursor = parse_qs(urlsplit(page.context["cursor"]).query)
    assert json.loads(base64.b64decode(cursor["config"][0])) == {"url": "http://testserver/mcp"}
    assert "http%3A%2F%2Ftestserver%2Fmcp" in page.context["vscode"]
    assert json.loads(page.context["mcp_json"])["mcpServers"]["keno"]["url"].endswith("/mcp")


def test_the_file_env_of_the_home_is_read_and_the_environment_wins(tmp_path, monkeypatch):
    file = tmp_path / ".env"
    file.write_text("# mine\nexport KENO_X='a b'\nKENO_Y=2\nnot a line\nkeno_z=3\n")
    monkeypatch.setenv("KENO_Y", "1")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    read_file(file)
    assert (os.environ["KENO_X"], os.environ["KENO_Y"]) == ("a b", "1")
    assert "keno_z" not in os.environ
    read_file(tmp_path / "nothing")


def test_complete_uses_the_key_of_the_page(ana, browser):
    with servers.running() as server:
        given = {"provider": "anthropic", "key": KEY, "base": server.url}
        browser.post(at("model"), given)
        space = ana.memberships.get().space
        asked = [{"role": "user", "content": "Hello"}]
        said = complete("chat", space=space, system="", messages=asked)
    assert said.text == server.reply
