"""Discord, against a server that speaks its gateway and REST protocols."""

import asyncio
import subprocess
import sys

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from bot import channels, outbox, turn
from bot.channels import Outgoing, SendFailed, discord
from bot.channels.base import AllowList
from bot.channels.discord import DiscordChannel
from bot.commands import REGISTRY
from memory.models import Chat, ChatLink, Fact, Message, OutboxItem
from memory.spaces import chat_links
from sleep.models import Proposal
from tests.bot import discord_api
from tests.bot.conftest import after
from tests.bot.discord_api import CHANNEL, GUILD, TOKEN, interaction, message
from tests.factories import make_chat_link, make_member, make_proposal, make_space, make_user

pytestmark = pytest.mark.django_db(transaction=True)
LAST = "that was all"


@pytest.fixture
def server():
    with discord_api.running() as server:
        yield server


@pytest.fixture
def keno(server, settings, monkeypatch):
    settings.DISCORD_BASE_URL, settings.DISCORD_BOT_TOKEN = server.url, TOKEN
    monkeypatch.setattr(discord.Route, "BASE", "")
    monkeypatch.setattr(discord.DiscordWebSocket, "DEFAULT_GATEWAY", None)
    channel = DiscordChannel(allow=AllowList(["1"], []))
    channel.commands = REGISTRY
    monkeypatch.setitem(channels._open, "discord", channel)
    return channel


@pytest.fixture
def owner(space):
    return make_member(space=space, user=make_user("ana"))


@pytest.fixture
def linked(owner):
    """The server belongs to the space, and Ana talks there as the owner she is."""
    make_chat_link(owner, channel="discord", author_id="7")
    make_chat_link(owner, channel="discord", author_id=f"server-{GUILD}")
    return owner


def told(keno, server, space, *events, then=None):
    """Let the gateway tell these; somebody of the list says the last word, alone with the bot."""
    last = message(LAST, person="1", guild=None)
    server.events = [*events, ("MESSAGE_CREATE", last)]

    async def run():
        stop = asyncio.Event()
        running = asyncio.create_task(keno.run(space, stop))
        said = Message.objects.filter(text=LAST)
        async with asyncio.timeout(20):
            while not await sync_to_async(said.exists)() and not running.done():
                await asyncio.sleep(0.01)
        if then:
            await then()
        stop.set()
        await running

    async_to_sync(run)()


def says(*given, **more):
    return ("MESSAGE_CREATE", message(*given, **more))


def texts():
    rows = Message.objects.filter(role="user").exclude(text=LAST)
    return list(rows.order_by("pk").values_list("text", flat=True))


def send(keno, chat, text, key="reply-1", **given):
    async def go():
        try:
            return await keno.send(Outgoing(chat=chat, text=text, key=key, **given))
        finally:
            await keno.close()

    return async_to_sync(go)()


def answer_all():
    for one in Message.objects.filter(role="user", handled_at=None).order_by("pk"):
        turn.answer(one.pk, now=after(1e9))


class TestComingIn:
    def test_a_message_becomes_a_row_of_the_servers_space(self, keno, server, space, linked):
        told(keno, server, make_space("another"), says("My dog is called Rex"))
        row = Message.objects.select_related("chat").get(author_id="7")
        assert (row.text, row.author) == ("My dog is called Rex", "Ana Ruiz")
        assert (row.chat.space, row.chat.key) == (space, f"discord-{GUILD}_{CHANNEL}")
        assert row.chat.title == "#general"

    def test_nobody_is_heard_on_a_server_that_belongs_to_no_space(self, keno, server, space, owner):
        make_chat_link(owner, channel="discord", author_id="7")
        told(keno, server, space, says("Hello"), says("Hello", person="1"))
        assert texts() == []

    def test_a_stranger_on_the_server_is_not_heard(self, keno, server, space, linked):
        slash = interaction({"id": "1", "name": "facts", "type": 1}, person="8")
        told(keno, server, space, says("Hi", person="8"), ("INTERACTION_CREATE", slash))
        assert texts() == []
        assert server.called("/callback") == []

    def test_in_an_allowed_channel_anybody_may(self, keno, server, space, linked):
        keno.allow = AllowList(["1"], [CHANNEL])
        told(keno, server, space, says("Hi", person="8"))
        assert texts() == ["Hi"]

    def test_only_what_names_the_bot_is_read(self, keno, server, space, linked):
        others = discord_api.user("8", "Bo") | {"bot": False}
        told(
            keno,
            server,
            space,
            says("nice weather", mention=False),
            says("x", content="does <@8> like bees, <@99>?", mentions=[discord_api.BOT, others]),
            says("a robot", person="99"),
        )
        assert texts() == ["does @Bo like bees?"]

    def test_an_owners_code_makes_the_server_theirs_and_brings_the_owner_in(
        self, keno, server, space, owner
    ):
        code = chat_links.offer(owner)
        told(keno, server, space, says(f"/link {code}"))
        turn.answer(Message.objects.get(author_id="7").pk, now=timezone.now())
        kept = {link.author_id: link for link in ChatLink.objects.exclude(linked_at=None)}
        assert set(kept) == {"7", f"server-{GUILD}"}
        assert kept[f"server-{GUILD}"].author == "Friends"

    def test_the_code_of_somebody_who_is_not_an_owner_opens_no_server(
        self, keno, server, space, owner
    ):
        code = chat_links.offer(make_member(space=space, user=make_user("bo"), role="curator"))
        told(keno, server, space, says(f"/link {code}"))
        assert texts() == []

    def test_the_code_of_another_space_does_not_move_a_server(self, keno, server, space, linked):
        other = make_member(space=make_space("other"), user=make_user("eve"))
        told(keno, server, space, says(f"/link {chat_links.offer(other)}", person="8"))
        assert ChatLink.objects.get(author_id=f"server-{GUILD}").space == space
        assert texts() == []

    def test_alone_with_the_bot_a_person_talks_to_their_own_space(
        self, keno, server, space, linked
    ):
        told(keno, server, make_space("another"), says("Hello", guild=None))
        row = Message.objects.select_related("chat").get(author_id="7")
        assert (row.chat.space, row.chat.external_id) == (space, "7")

    def test_the_same_twice_is_one_and_an_edit_changes_the_words(self, keno, server, space, linked):
        one = message("I live in Madird")
        better = one | {"content": "<@99> I live in Madrid"}
        better["edited_timestamp"] = "2026-03-10T12:00:05+00:00"
        twice = [("MESSAGE_CREATE", one), ("MESSAGE_CREATE", one)]
        told(keno, server, space, *twice, ("MESSAGE_UPDATE", better))
        assert texts() == ["I live in Madrid"]

    def test_a_preview_that_discord_adds_is_not_an_edit(self, keno, server, space, linked):
        one = message("See https://example.org")
        changed = ("MESSAGE_UPDATE", one | {"content": "<@99> something else"})
        told(keno, server, space, ("MESSAGE_CREATE", one), changed)
        assert texts() == ["See https://example.org"]

    def test_what_was_passed_on_commands_nothing(self, keno, server, space, linked):
        old = {"content": "/remember I own it all", "timestamp": "2026-03-10T12:00:00+00:00"}
        old |= {"edited_timestamp": None, "type": 0, "attachments": [], "embeds": [], "flags": 0}
        told(keno, server, space, says("", guild=None, message_snapshots=[{"message": old}]))
        assert texts() == ["↪ /remember I own it all"]

    def test_a_picture_without_words_gets_a_sentence(self, keno, server, space, linked):
        told(keno, server, space, says("", guild=None))
        assert texts() == []
        assert "only text" in server.sent[0]["content"]


class TestCommandsAndButtons:
    def test_slash_commands_are_offered_in_both_languages(self, keno, server, space, linked):
        told(keno, server, space)
        offered = {one["name"]: one for one in server.called("/commands")[0]}
        assert {"remember", "forget", "pending", "approve", "undo", "why"} <= set(offered)
        assert offered["pending"]["name_localizations"]["es-ES"] == "pendientes"
        assert offered["approve"]["options"][0]["name"] == "words"
        assert all(1 <= len(one["description"]) <= 100 for one in offered.values())

    def test_a_slash_command_is_a_message_and_only_they_see_that_it_was_heard(
        self, keno, server, space, linked
    ):
        data = {"id": "1", "name": "remember", "type": 1}
        data["options"] = [{"name": "words", "type": 3, "value": "Ana keeps bees"}]
        told(keno, server, space, ("INTERACTION_CREATE", interaction(data)))
        assert texts() == ["/remember Ana keeps bees"]
        (heard,) = server.called("/callback")
        assert heard["data"]["flags"] == 64
        answer_all()
        assert Fact.objects.filter(text__contains="bees").exists()

    def test_a_proposal_has_its_buttons_and_pressing_one_decides(self, keno, server, space, linked):
        offered = make_proposal(space)
        chat = _server_chat(space)
        shown = f"/approve {offered.pk}-{offered.digest[:6]}"
        text = f"+ Ana keeps bees\n{shown}   {shown.replace('approve', 'reject')}"
        send(keno, chat, text, kind="command")
        row = server.sent[-1]["components"][0]["components"]
        assert [one["custom_id"] for one in row] == [shown, shown.replace("approve", "reject")]
        pressed = interaction({"custom_id": shown, "component_type": 2}, kind=3)
        told(keno, server, space, ("INTERACTION_CREATE", pressed))
        answer_all()
        offered.refresh_from_db()
        assert offered.status == Proposal.Status.APPROVED
        assert server.called("/callback")[0]["data"]["components"] == []

    def test_a_button_that_we_did_not_make_does_nothing(self, keno, server, space, linked):
        odd = interaction({"custom_id": "/forget everything", "component_type": 2}, kind=3)
        told(keno, server, space, ("INTERACTION_CREATE", odd))
        assert texts() == []

    def test_words_of_a_model_make_no_button_that_decides(self):
        said = "Do this:\n/approve 1-aaaaaa   /reject 1-aaaaaa"
        assert discord.buttons(said, kind="reply") == []
        learned = "All right.\n\nNoted — Ana keeps bees\n(/undo takes it back)"
        assert discord.buttons(learned, kind="reply") == [("Undo", "/undo")]


def _server_chat(space):
    return Chat.objects.create(
        space=space, channel="discord", external_id=f"{GUILD}_{CHANNEL}", key="discord-x"
    )


class TestGoingOut:
    def test_nobody_is_called_by_name_and_nothing_linked_is_shown(self, keno, server, space):
        send(keno, _server_chat(space), "@everyone see https://example.org", reply_to="12")
        (given,) = server.sent
        assert given["allowed_mentions"]["parse"] == []
        assert given["flags"] & 4
        assert given["message_reference"]["message_id"] == 12

    def test_a_long_answer_comes_in_parts_and_again_it_is_the_same_messages(
        self, keno, server, space
    ):
        chat, long = _server_chat(space), "\n".join(f"line {n} " + "x" * 90 for n in range(50))
        first = send(keno, chat, long)
        assert "\n".join(one["content"] for one in server.sent) == long
        assert max(len(one["content"]) for one in server.sent) <= 2000
        assert send(keno, chat, long) == first
        assert len(server.nonces) == len(server.sent) / 2

    def test_a_person_is_written_to_alone(self, keno, server, space):
        chat = Chat.objects.create(space=space, channel="discord", external_id="7", key="discord-7")
        send(keno, chat, "Hello")
        assert server.called("/users/@me/channels") == [{"recipient_id": 7}]
        assert server.calls[-1][0] == f"/channels/{discord_api.DIRECT}/messages"

    @pytest.mark.parametrize(
        ("status", "permanent"), [(403, True), (404, True), (400, True), (418, False)]
    )
    def test_where_it_may_not_write_it_stops_trying(self, keno, server, space, status, permanent):
        server.faults = [(status, {"code": 50001, "message": "Missing Access"})]
        with pytest.raises(SendFailed) as failed:
            send(keno, _server_chat(space), "Hello")
        assert failed.value.permanent is permanent

    def test_a_wrong_token_is_said(self, keno, server, space):
        keno.token = "wrong"
        with pytest.raises(SendFailed, match="token"):
            send(keno, _server_chat(space), "Hello")


def test_from_the_wire_to_the_wire(keno, server, space, linked, llm):
    async def deliver():
        await sync_to_async(answer_all)()
        async for item in OutboxItem.objects.order_by("pk"):
            await outbox.deliver(item.pk)

    told(keno, server, space, says("My dog is called Rex"), then=deliver)
    assert server.sent[0]["content"].startswith("All right.")
    assert server.called("identify")[0]["intents"] & (1 << 15) == 0


def test_who_does_not_use_discord_does_not_load_it():
    code = "import bot.management.commands.runbot, sys; print('discord' in sys.modules)"
    setup = "import django; django.setup(); "
    env = {"DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", setup + code], capture_output=True, env=env)
    assert done.stdout.strip().splitlines()[-1:] == [b"False"], done.stderr
