"""The channels of this process, by name."""

from bot.channels.base import Channel, Outgoing, SendFailed
from bot.channels.web import WebChannel

__all__ = ["Channel", "Outgoing", "SendFailed", "get", "open_channels", "use"]

_open: dict[str, Channel] = {"web": WebChannel()}


def open_channels() -> list[Channel]:
    return list(_open.values())


def get(name: str) -> Channel | None:
    return _open.get(name)


def use(*channels: Channel) -> None:
    """Make these channels known to this process, besides the web."""
    _open.update({channel.name: channel for channel in channels})
