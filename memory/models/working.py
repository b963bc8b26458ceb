import pghistory
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memory.models.chat import Chat
from memory.models.space import Space


@pghistory.track()
class WorkingNote(models.Model):
    """What Keno is in the middle of, in one chat. Replaced whole, never appended to."""

    UNDO_CREATE = {"task": "", "context": [], "pending": [], "notes": ""}

    space = models.ForeignKey(Space, models.CASCADE, related_name="working_notes")
    chat = models.OneToOneField(Chat, models.CASCADE, related_name="working_note")
    task = models.TextField(blank=True)
    context = ArrayField(models.TextField(), default=list, blank=True)
    pending = ArrayField(models.TextField(), default=list, blank=True)
    notes = models.TextField(blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["space", "-updated_at"], name="working_recent")]

    def __str__(self):
        return self.task or self.notes[:60]
