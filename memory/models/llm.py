from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.chat import Chat, Message
from memory.models.space import Space


class LlmCall(models.Model):
    """One call of a language model: what it was for, what it cost, whether it worked."""

    class Purpose(models.TextChoices):
        CHAT = "chat", _("Chat")
        SLEEP = "sleep", _("Night")
        EXPAND = "expand", _("Search words")
        EXTRACT = "extract", _("Fact finding")
        SUMMARISE = "summarise", _("Summary")

    space = models.ForeignKey(Space, models.CASCADE, related_name="llm_calls")
    chat = models.ForeignKey(Chat, models.SET_NULL, null=True, blank=True, related_name="llm_calls")
    message = models.ForeignKey(
        Message, models.SET_NULL, null=True, blank=True, related_name="llm_calls"
    )
    # A plain number: the night lives one floor above and memory does not know it.
    night_id = models.BigIntegerField(null=True, blank=True, db_index=True)
    purpose = models.CharField(max_length=9, choices=Purpose.choices)
    provider = models.CharField(max_length=32)
    model = models.CharField(max_length=120, blank=True)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    tokens_cached = models.PositiveIntegerField(default=0)
    # Null means the price of the model is not known.
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    ms = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=1)
    ok = models.BooleanField(default=True)
    error = models.CharField(max_length=300, blank=True)
    trace = models.CharField(max_length=32, blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["space", "-at"], name="llm_call_recent"),
            models.Index(fields=["at"], name="llm_call_at"),
        ]

    def __str__(self):
        return f"{self.purpose} by {self.provider} {self.model}"


class Breaker(models.Model):
    """Whether a provider answers, shared by all workers. Failing too often opens it for a while."""

    provider = models.CharField(max_length=32, unique=True)
    failures = models.PositiveIntegerField(default=0)
    # When the current row of failures began: names the outage, so that it is told once.
    failing_since = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    probed_at = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)

    def __str__(self):
        return f"{self.provider}: {self.failures} failures"
