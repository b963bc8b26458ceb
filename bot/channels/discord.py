"""Discord: a server is a space, a channel of it a chat. The example to copy for a new channel.

What makes a channel: `run` listens and gives each IncomingMessage to `hear`, `send` delivers,
`tell` replies at once, `typing` shows that an answer is coming. Who may write, limits and rows
are in base.py. It asks Discord for no right to read along: it gets what mentions the bot, private
messages to it, its slash commands and the buttons below its messages.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from bot.channels import base
from bot.channels.base import IncomingMessage, Outgoing, SendFailed
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
    """Return the message to the bot; None when it was not meant for it."""
    forwarded = message.message_snapshots[0] if message.message_snapshots else None
    is_for_bot = message.guild is None or any(user.id == me for user in message.mentions)
    if message.author.bot or not is_for_bot or message.is_system():
        return None
    words = _words(forwarded.content if forwarded else message.content, message.mentions, me=me)
    server = message.guild.id if message.guild else None
    return IncomingMessage(
        chat=chat_id(server, message.channel.id, message.author.id),
        person=str(message.author.id),
        author=message.author.display_name,
        # A forwarded message is never a command.
        text=f"↪ {words}" if forwarded and words.startswith("/") else words,
        external_id=str(message.id),
        sent_at=message.created_at,
        title=_title(message.channel, message.author),
        edited=edited,
        origin="" if forwarded else None,
        unreadable=not words,
        place=str(message.channel.id),
    )


def parse_interaction(event: discord.Interaction) -> IncomingMessage | None:
    """Turn a slash command or a button into the message that says the same."""
    data: Any = event.data or {}
    if event.type is discord.InteractionType.application_command:
        values = [str(option.get("value", "")) for option in data.get("options", ())]
        text = " ".join(["/" + str(data.get("name", "")), *values]).strip()
    elif PRESSED.fullmatch(str(data.get("custom_id", ""))):
        text = data["custom_id"]
    else:
        return None
    if event.channel_id is None:
        return None
    return IncomingMessage(
        chat=chat_id(event.guild_id, event.channel_id, event.user.id),
        person=str(event.user.id),
        author=event.user.display_name,
        text=text,
        external_id=str(event.id),
        sent_at=event.created_at,
        title=_title(event.channel, event.user),
        place=str(event.channel_id),
    )


def chat_id(server: int | None, channel: int, person: int) -> str:
    """Name a channel by its server's number and its own, a private chat by the person's number."""
    return f"{server}_{channel}" if server else str(person)


def buttons(text: str, *, kind: str) -> list[tuple[str, str]]:
    """Return label and command of each button. Only commands and /undo get any, never a model."""
    if kind == OutboxItem.Kind.COMMAND:
        commands = [command.split() for pair in DECIDE.findall(text) for command in pair]
        names = {"/approve": _("Approve"), "/reject": _("Reject")}
        return [(f"{names[n]} {code}", f"{n} {code}") for n, code in commands][:MAX_BUTTONS]
    is_undoable = text.endswith(tuple(in_languages(gettext_lazy("(/undo takes it back)"))))
    return [(_("Undo"), "/undo")] if is_undoable else []


def in_languages(text: str | Promise) -> Iterator[str]:
    for language in ("en", "es"):
        with override(language):
            yield str(text)


def menu(commands: Any) -> Any:
    return [_menu_entry(command) for command in commands if NAME.fullmatch(command.name)]


def _menu_entry(command: Any) -> dict:
    entry = {"name": command.name, "type": 1} | _described(command.help)
    spanish = [name for name in command.spanish if NAME.fullmatch(name)]
    if spanish:
        entry["name_localizations"] = {"es-ES": spanish[0], "es-419": spanish[0]}
    if command.usage:
        option = {"type": 3, "name": "words", "required": False}
        entry["options"] = [option | _described(command.usage)]
    return entry


def _described(text: str | Promise) -> dict:
    english, spanish = (words[:MAX_DESCRIPTION] for words in in_languages(text))
    localised = {"es-ES": spanish, "es-419": spanish}
    return {"description": english, "description_localizations": localised}


def _words(content: str, mentioned: Any, *, me: int) -> str:
    """Return the text without the bot's name, and with people by their names."""
    text = re.sub(rf"^\s*<@!?{me}>[\s,:]*|[\s,]*<@!?{me}>(?=\s*[?!.…]*\s*$)", "", content)
    for user in mentioned:
        for mention in (f"<@{user.id}>", f"<@!{user.id}>"):
            text = text.replace(mention, f"@{user.display_name}")
    return text.strip()


def _title(channel: Any, person: Any) -> str:
    name = getattr(channel, "name", None)
    return f"#{name}" if name else str(person.display_name)


class Listener(discord.Client):
    """Pass Discord's events on to the channel."""

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

    async def on_interaction(self, event: discord.Interaction) -> None:
        incoming = parse_interaction(event)
        if not await self._hear(event.guild, incoming) or incoming is None:
            return
        if event.type is discord.InteractionType.component:
            await event.response.edit_message(view=None)
        else:
            # The answer itself follows as a message; only they see that it was received.
            await event.response.send_message(f"`{incoming.text[:200]}`", ephemeral=True)

    async def _hear(self, server: discord.Guild | None, incoming: IncomingMessage | None) -> bool:
        if incoming is None:
            return False
        self.keno.servers[incoming.chat.partition("_")[0]] = server.name if server else ""
        async with self._order:
            return await self.keno.hear(self.keno.home, incoming) is not None


class DiscordChannel(base.ListeningChannel):
    name = "discord"

    def __init__(self, *, token: str = "", allow: base.AllowList | None = None):
        if (url := settings.DISCORD_BASE_URL) != USUAL_BASE:
            Route.BASE = f"{url}/api/v10"
            DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(f"ws{url.removeprefix('http')}/gateway")
        usual = base.AllowList(settings.DISCORD_ALLOWED_USERS, settings.DISCORD_ALLOWED_CHANNELS)
        super().__init__(allow or usual)
        self.token = token or connections.value("DISCORD_BOT_TOKEN")
        self.home: Space | None = None
        self.servers: dict[str, str] = {}
        self._client: Listener | None = None
        self._is_over = False
        self._opening = asyncio.Lock()

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        self.home, self._is_over = await base.wait_for_space(space, stop), False
        try:
            async with base.hold_leadership(self.name, stop) as leads:
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
        """Return the space of the server; in a private chat, the space of the person."""
        server = incoming.chat.partition("_")[0] if "_" in incoming.chat else ""
        linked = chat_links.space_of(
            channel=self.name,
            person=incoming.person,
            server=server,
            name=self.servers.get(server, ""),
            code=incoming.code,
        )
        return super().admit(linked if server else linked or space, incoming)

    async def client(self) -> Listener:
        """Return the client that is signed in; sending needs no open connection."""
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
        # The lock waits for a sign-in under way: what it opens is closed, too.
        async with self._opening:
            if self._client is not None:
                await self._client.close()
                self._client = None

    async def _leave(self) -> None:
        """Close the connection for good: a task that still shows typing must not open another."""
        self._is_over = True
        self.stop_typing()
        await self.close()

    async def _listen(self, stop: asyncio.Event) -> None:
        client = await self.client()
        if self.commands:
            number = client.application_id or client.number
            await client.http.bulk_upsert_global_commands(number, menu(self.commands))
        listening = asyncio.create_task(client.connect())
        await base.first_done(asyncio.wait({listening}), stop.wait())
        await self._leave()
        await listening

    async def _send(self, place: discord.PartialMessageable, outgoing: Outgoing) -> str:
        parts, sent = base.chunks(outgoing.text, longest=MAX_MESSAGE_LENGTH), None
        for n, part in enumerate(parts):
            options: dict[str, Any] = _view(outgoing) if n == len(parts) - 1 else {}
            if n == 0 and outgoing.reply_to.isdigit():
                options["reference"] = discord.MessageReference(
                    message_id=int(outgoing.reply_to), channel_id=place.id, fail_if_not_exists=False
                )
            # Discord drops a part that comes again with the same nonce.
            key = hashlib.sha256(f"{outgoing.chat.pk}/{outgoing.key}/{n}".encode()).hexdigest()
            sent = await place.send(part, nonce=key[:NONCE_LENGTH], suppress_embeds=True, **options)
        return str(sent.id) if sent else ""

    async def _place(self, chat: Chat) -> int:
        server, _line, channel = chat.external_id.partition("_")
        if channel:
            return int(channel)
        return int((await (await self.client()).http.start_private_message(int(server)))["id"])


def _view(outgoing: Outgoing) -> dict[str, discord.ui.View]:
    with override(outgoing.chat.language or outgoing.chat.space.language):
        labelled = buttons(outgoing.text, kind=outgoing.kind)
    if not labelled:
        return {}
    view = discord.ui.View(timeout=None)
    for label, command in labelled:
        view.add_item(discord.ui.Button(label=label[:MAX_LABEL], custom_id=command))
    # This process does not wait for it: on_interaction() gets it, also after a restart.
    view.stop()
    return {"view": view}
