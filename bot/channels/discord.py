"""Discord: a server is a space, a channel of it a chat. The example to copy for a new channel.

What makes a channel: `run` listens and gives each IncomingMessage to `hear`, `send` delivers,
`tell` says a word at once, `typing` shows that an answer is coming. Who may speak, limits and
rows are in base.py. It asks Discord for no right to read along: it gets what names the bot, what
is said to it alone, its slash commands and the buttons below its messages.
"""

import asyncio
import hashlib
import re
from typing import Any

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import override

from bot.channels.base import (
    AllowList,
    IncomingMessage,
    ListeningChannel,
    Outgoing,
    SendFailed,
    chunks,
    hold_leadership,
    home,
)
from memory.models import Chat, OutboxItem, Space
from memory.spaces import chat_links, connections

USUAL_BASE = "https://discord.com"
MAX_MESSAGE_LENGTH, MAX_DESCRIPTION, MAX_LABEL = 2000, 100, 80
MAX_BUTTONS, NONCE_LENGTH = 25, 25
# What a button may say for a person; nothing else that comes back from one is obeyed.
PRESSED = re.compile(r"/undo|/(?:approve|reject) \d{1,12}-[0-9a-f]{6}")
# The line below each proposal that /pending shows.
DECIDE = re.compile(r"^(/approve \d+-[0-9a-f]{6}) +(/reject \d+-[0-9a-f]{6})$", re.M)
NAME = re.compile(r"[a-z0-9_-]{1,32}")


def parse_message(
    message: discord.Message, *, me: int, edited: bool = False
) -> IncomingMessage | None:
    """What was said to the bot; None when it was not meant for it."""
    passed_on = message.message_snapshots[0] if message.message_snapshots else None
    meant = message.guild is None or any(user.id == me for user in message.mentions)
    if message.author.bot or not meant or message.is_system():
        return None
    words = _words(passed_on.content if passed_on else message.content, message.mentions, me=me)
    server = message.guild.id if message.guild else None
    return IncomingMessage(
        chat=chat_id(server, message.channel.id, message.author.id),
        person=str(message.author.id),
        author=message.author.display_name,
        # What was passed on commands nothing.
        text=f"↪ {words}" if passed_on and words.startswith("/") else words,
        external_id=str(message.id),
        sent_at=message.created_at,
        title=_title(message.channel, message.author),
        edited=edited,
        origin="" if passed_on else None,
        unreadable=not words,
        place=str(message.channel.id),
    )


def parse_interaction(asked: discord.Interaction) -> IncomingMessage | None:
    """A slash command or a button, as the message that says the same."""
    given: Any = asked.data or {}
    if asked.type is discord.InteractionType.application_command:
        values = [str(option.get("value", "")) for option in given.get("options", ())]
        text = " ".join(["/" + str(given.get("name", "")), *values]).strip()
    elif PRESSED.fullmatch(str(given.get("custom_id", ""))):
        text = given["custom_id"]
    else:
        return None
    if asked.channel_id is None:
        return None
    return IncomingMessage(
        chat=chat_id(asked.guild_id, asked.channel_id, asked.user.id),
        person=str(asked.user.id),
        author=asked.user.display_name,
        text=text,
        external_id=str(asked.id),
        sent_at=asked.created_at,
        title=_title(asked.channel, asked.user),
        place=str(asked.channel_id),
    )


def chat_id(server: int | None, channel: int, person: int) -> str:
    """A channel bears its server's number and its own; talk with one person, the person's."""
    return f"{server}_{channel}" if server else str(person)


def buttons(text: str, *, kind: str) -> list[tuple[str, str]]:
    """Label and command of what a person can do about it. A model's words make no decision."""
    if kind == OutboxItem.Kind.COMMAND:
        found = [one for pair in DECIDE.findall(text) for one in pair]
        names = {"/approve": _("Approve"), "/reject": _("Reject")}
        return [(f"{names[one.split()[0]]} {one.split()[1]}", one) for one in found][:MAX_BUTTONS]
    return [(_("Undo"), "/undo")] if text.endswith(_undo_lines()) else []


def _undo_lines() -> tuple[str, ...]:
    found = []
    for language in ("en", "es"):
        with override(language):
            found.append(_("(/undo takes it back)"))
    return tuple(found)


def menu(commands: Any) -> Any:
    """The slash commands as Discord takes them, with their Spanish names and words."""
    return [_entry(one) for one in commands if NAME.fullmatch(one.name)]


def _entry(one: Any) -> dict:
    entry = {"name": one.name, "type": 1} | _in_both("description", one.help)
    spanish = [name for name in one.spanish if NAME.fullmatch(name)]
    if spanish:
        entry["name_localizations"] = {"es-ES": spanish[0], "es-419": spanish[0]}
    if one.usage:
        words = {"type": 3, "name": "words", "required": False} | _in_both("description", one.usage)
        entry["options"] = [words]
    return entry


def _in_both(name: str, words: str | Promise) -> dict:
    with override("en"):
        english = str(words)[:MAX_DESCRIPTION]
    with override("es"):
        spanish = str(words)[:MAX_DESCRIPTION]
    return {name: english, f"{name}_localizations": {"es-ES": spanish, "es-419": spanish}}


def _words(content: str, mentioned: Any, *, me: int) -> str:
    """What was said, without calling the bot, and with people by their names."""
    said = re.sub(rf"^\s*<@!?{me}>[\s,:]*|[\s,]*<@!?{me}>(?=\s*[?!.…]*\s*$)", "", content)
    for user in mentioned:
        for mention in (f"<@{user.id}>", f"<@!{user.id}>"):
            said = said.replace(mention, f"@{user.display_name}")
    return said.strip()


def _title(channel: Any, person: Any) -> str:
    name = getattr(channel, "name", None)
    return f"#{name}" if name else str(person.display_name)


class Listener(discord.Client):
    """Hands what Discord tells to the channel."""

    def __init__(self, channel: "DiscordChannel"):
        # No privileged intent: words of others that do not name the bot never arrive.
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True)
        nobody = discord.AllowedMentions.none()
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(intents=intents, allowed_mentions=nobody, max_messages=None)
        self.keno = channel
        # The library gives each event to a task of its own; people's words keep their order.
        self._order = asyncio.Lock()

    @property
    def number(self) -> int:
        return self.user.id if self.user else 0

    async def on_message(self, message: discord.Message) -> None:
        await self._hear(message.guild, parse_message(message, me=self.number))

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        # Discord also says so when it adds a preview: then nobody has edited.
        if event.message.edited_at:
            incoming = parse_message(event.message, me=self.number, edited=True)
            await self._hear(event.message.guild, incoming)

    async def on_interaction(self, asked: discord.Interaction) -> None:
        incoming = parse_interaction(asked)
        if not await self._hear(asked.guild, incoming) or incoming is None:
            return
        if asked.type is discord.InteractionType.component:
            await asked.response.edit_message(view=None)
        else:
            # The answer itself follows as a message; only they see that it was heard.
            await asked.response.send_message(f"`{incoming.text[:200]}`", ephemeral=True)

    async def _hear(self, server: discord.Guild | None, said: IncomingMessage | None) -> bool:
        if said is None:
            return False
        self.keno.servers[said.chat.partition("_")[0]] = server.name if server else ""
        async with self._order:
            return await self.keno.hear(self.keno.home, said) is not None


class DiscordChannel(ListeningChannel):
    name = "discord"

    def __init__(self, *, token: str = "", allow: AllowList | None = None):
        if (base := settings.DISCORD_BASE_URL) != USUAL_BASE:
            Route.BASE = f"{base}/api/v10"
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(f"ws{base.removeprefix('http')}/gateway")
        usual = AllowList.of(settings.DISCORD_ALLOWED_USERS, settings.DISCORD_ALLOWED_CHANNELS)
        super().__init__(allow or usual)
        self.token = token or connections.value("DISCORD_BOT_TOKEN")
        self.home: Space | None = None
        self.servers: dict[str, str] = {}
        self._client: Listener | None = None
        self._is_over = False
        self._opening = asyncio.Lock()

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        self.home, self._is_over = await home(space, stop), False
        try:
            async with hold_leadership(self.name, stop) as leads:
                if leads:
                    await self._listen(stop)
        finally:
            await self._leave()

    async def send(self, outgoing: Outgoing) -> str:
        try:
            client = await self.client()
            place = client.get_partial_messageable(await self._place(outgoing.chat))
            return await self._send(place, outgoing)
        except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
            refused = getattr(error, "status", 0) in (400, 403, 404)
            raise SendFailed(str(error), permanent=refused) from error

    async def tell(self, incoming: IncomingMessage, text: str) -> None:
        place = (await self.client()).get_partial_messageable(int(incoming.place))
        await place.send(text)

    async def typing(self, chat: Chat) -> None:
        await (await self.client()).http.send_typing(await self._place(chat))

    def admit(self, space: Space | None, incoming: IncomingMessage) -> Space | None:
        """The server's space, and nobody else's; alone with the bot, the space of the person."""
        server = incoming.chat.partition("_")[0] if "_" in incoming.chat else ""
        found = chat_links.space_of(
            channel=self.name,
            person=incoming.person,
            server=server,
            name=self.servers.get(server, ""),
            code=incoming.code,
        )
        return super().admit(found if server else found or space, incoming)

    async def client(self) -> Listener:
        """The one that is signed in; who only sends needs no open line."""
        async with self._opening:
            if self._is_over:
                raise SendFailed("This process has left Discord.")
            if self._client is None or self._client.is_closed():
                client = Listener(self)
                try:
                    await client.login(self.token)
                except BaseException:
                    await client.close()
                    raise
                self._client = client
            return self._client

    async def close(self) -> None:
        # Behind whoever is just signing in: what they open is closed, too.
        async with self._opening:
            if self._client is not None:
                await self._client.close()
                self._client = None

    async def _leave(self) -> None:
        """Close the line; whoever still shows typing, or was heard last, opens no second one."""
        self._is_over = True
        self.stop_typing()
        await self.close()

    async def _listen(self, stop: asyncio.Event) -> None:
        client = await self.client()
        if self.commands:
            number, offered = client.application_id or client.number, menu(self.commands)
            await client.http.bulk_upsert_global_commands(number, offered)
        listening = asyncio.create_task(client.connect())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({listening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await self._leave()
        await listening

    async def _send(self, place: discord.PartialMessageable, outgoing: Outgoing) -> str:
        parts, sent = chunks(outgoing.text, longest=MAX_MESSAGE_LENGTH), None
        for n, part in enumerate(parts):
            given: dict[str, Any] = {}
            if n == len(parts) - 1:
                given |= _below(outgoing)
            if n == 0 and outgoing.reply_to.isdigit():
                given["reference"] = discord.MessageReference(
                    message_id=int(outgoing.reply_to), channel_id=place.id, fail_if_not_exists=False
                )
            # The same part again is the same message: Discord looks at the nonce.
            key = hashlib.sha256(f"{outgoing.chat.pk}/{outgoing.key}/{n}".encode()).hexdigest()
            sent = await place.send(part, nonce=key[:NONCE_LENGTH], suppress_embeds=True, **given)
        return str(sent.id) if sent else ""

    async def _place(self, chat: Chat) -> int:
        server, _line, channel = chat.external_id.partition("_")
        if channel:
            return int(channel)
        return int((await (await self.client()).http.start_private_message(int(server)))["id"])


def _below(outgoing: Outgoing) -> dict[str, discord.ui.View]:
    with override(outgoing.chat.language or outgoing.chat.space.language):
        found = buttons(outgoing.text, kind=outgoing.kind)
    if not found:
        return {}
    view = discord.ui.View(timeout=None)
    for label, command in found:
        view.add_item(discord.ui.Button(label=label[:MAX_LABEL], custom_id=command))
    # Nobody waits for it in this process: whoever listens hears it, also after a restart.
    view.stop()
    return {"view": view}
