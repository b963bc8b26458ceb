"""The dashboard's chat page: messages enter by the database and replies leave by it."""

from bot.channels.base import Channel


class WebChannel(Channel):
    name = "web"
    delivers = False
