from django.db import models
from django.utils import timezone

from memory.models.chat import Chat


class Draft(models.Model):
    """The answer that is being written in a chat, so far. Gone when the reply is there."""

    chat = models.OneToOneField(Chat, models.CASCADE, primary_key=True, related_name="draft")
    text = models.TextField(blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    def __str__(self):
        return self.text[:60]
