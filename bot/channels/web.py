"""The dashboard's chat page: messages enter by the database and replies leave by it."""

from django.utils import timezone

from bot.channels.base import Channel
from memory.models import Chat, Draft


class WebChannel(Channel):
    name = "web"
    delivers = False
    streams = True

    def draft(self, chat: Chat, text: str) -> None:
        Draft.objects.update_or_create(
            chat=chat, defaults={"text": text, "updated_at": timezone.now()}
        )
