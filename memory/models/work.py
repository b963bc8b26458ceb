from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.chat import Chat, Message
from memory.models.space import Space


class OutboxItem(models.Model):
    """What must be sent to a chat. Written with the reply, so that it is never forgotten."""

    class Kind(models.TextChoices):
        REPLY = "reply", _("Reply")
        NOTICE = "notice", _("Notice")
        COMMAND = "command", _("Answer to a command")

    space = models.ForeignKey(Space, models.CASCADE, related_name="outbox")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="outbox")
    message = models.ForeignKey(
        Message, models.SET_NULL, null=True, blank=True, related_name="outbox"
    )
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.REPLY)
    text = models.TextField()
    # A second item with the same key is not sent.
    key = models.CharField(max_length=160)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)
    external_id = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "key"], name="outbox_once")]
        indexes = [
            models.Index(fields=["space", "-created_at"], name="outbox_recent"),
            models.Index(
                fields=["created_at"],
                name="outbox_waiting",
                condition=models.Q(delivered_at=None, failed_at=None),
            ),
        ]

    def __str__(self):
        return f"{self.kind} to {self.chat}: {self.text[:60]}"


class DeadLetter(models.Model):
    """A job that was given up, with the reason. A person may have it tried again."""

    space = models.ForeignKey(
        Space, models.CASCADE, null=True, blank=True, related_name="dead_letters"
    )
    job_id = models.BigIntegerField(unique=True)
    task = models.CharField(max_length=128)
    args = models.JSONField(default=dict)
    error = models.CharField(max_length=300)
    attempts = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(default=timezone.now)
    retried_at = models.DateTimeField(null=True, blank=True)
    retried_by = models.CharField(max_length=160, blank=True)

    class Meta:
        indexes = [models.Index(fields=["space", "-at"], name="dead_letter_recent")]

    def __str__(self):
        return f"{self.task}: {self.error}"


class Heartbeat(models.Model):
    """A running worker says that it lives, and what its channels do."""

    name = models.CharField(max_length=120, unique=True)
    version = models.CharField(max_length=32, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    beat_at = models.DateTimeField(default=timezone.now, db_index=True)
    # {"telegram": "running", …}
    channels = models.JSONField(default=dict, blank=True)

    def __str__(self):
        return self.name


class Notice(models.Model):
    """Something the owner must see, told once."""

    class Level(models.TextChoices):
        INFO = "info", _("Information")
        WARNING = "warning", _("Warning")
        ERROR = "error", _("Error")

    space = models.ForeignKey(Space, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=48)
    level = models.CharField(max_length=7, choices=Level.choices, default=Level.INFO)
    text = models.TextField()
    link = models.CharField(max_length=300, blank=True)
    # The same key again is the same notice: it is not told twice.
    key = models.CharField(max_length=120)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "key"], name="notice_told_once")]
        indexes = [models.Index(fields=["space", "-created_at"], name="notice_recent")]

    def __str__(self):
        return self.text
