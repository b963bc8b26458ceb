"""The channels of this process, by name."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from bot.channels.base import ApiChannel, Channel, Outgoing, SendFailed, WebChannel
from memory.spaces import connections

_open: dict[str, Channel] = {"web": WebChannel(), "api": ApiChannel()}


def open_channels() -> list[Channel]:
    return list(_open.values())


def get(name: str) -> Channel | None:
    return _open.get(name)


def queue(name: str) -> str:
    """Name the queue of the processes that have the channel open: they send what it should say."""
    return f"out.{name}"


def use(*channels: Channel, commands: Sequence[Any] = ()) -> None:
    """Make these channels known to this process, besides the web, and the commands to them."""
    for channel in channels:
        channel.commands = commands
        _open[channel.name] = channel


def configured_channels() -> list[Channel]:
    """The channels that the settings ask for."""
    # A channel that is not used is not loaded.
    enabled = {
        "telegram.TelegramChannel": connections.value("TELEGRAM_BOT_TOKEN"),
        "discord.DiscordChannel": connections.value("DISCORD_BOT_TOKEN"),
        "http.HttpChannel": settings.HTTP_ENABLED,
    }
    return [import_string(f"bot.channels.{name}")() for name, is_on in enabled.items() if is_on]
