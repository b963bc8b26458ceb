from django.db import models
from django.utils.translation import gettext_lazy as _

from memory.models.chat import Message
from memory.models.space import Space


class SelfCheck(models.Model):
    """What Keno thought of its own reply afterwards. It belongs to the receipt."""

    class Quality(models.TextChoices):
        GOOD = "good", _("Good")
        UNCERTAIN = "uncertain", _("Uncertain")
        POOR = "poor", _("Poor")

    space = models.ForeignKey(Space, models.CASCADE, related_name="selfchecks")
    reply = models.OneToOneField(Message, models.CASCADE, related_name="selfcheck")
    quality = models.CharField(max_length=9, choices=Quality.choices)
    score = models.FloatField()
    signals = models.JSONField(default=list, blank=True)
    forbidden = models.JSONField(default=list, blank=True)

    class Meta:
        indexes = [models.Index(fields=["space", "quality"], name="selfcheck_quality")]

    def __str__(self):
        return f"{self.quality} ({self.score})"
