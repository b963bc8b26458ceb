"""The channels of this process, by name."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings

from bot.channels.base import ApiChannel, Channel, Outgoing, SendFailed, WebChannel
from memory.spaces import connections

_open: dict[str, Channel] = {"web": WebChannel(), "api": ApiChannel()}


def open_channels() -> list[Channel]:
    return list(_open.values())


def get(name: str) -> Channel | None:
    return _open.get(name)


def queue(name: str) -> str:
    """The jobs of processes that have the channel open: what is said there goes out there."""
    return f"out.{name}"


def use(*channels: Channel, commands: Sequence[Any] = ()) -> None:
    """Make these channels known to this process, besides the web, and the commands to them."""
    for channel in channels:
        channel.commands = commands
        _open[channel.name] = channel


def configured() -> list[Channel]:
    """The channels that the settings ask for."""
    # Imported when asked for: who does not use a channel does not load it.
    found: list[Channel] = []
    if connections.value("TELEGRAM_BOT_TOKEN"):
        from bot.channels.telegram import TelegramChannel

        found.append(TelegramChannel())
    if connections.value("DISCORD_BOT_TOKEN"):
        from bot.channels.discord import DiscordChannel

        found.append(DiscordChannel())
    if settings.HTTP_ENABLED:
        from bot.channels.http import HttpChannel

        found.append(HttpChannel())
    return found
