from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.space import Space


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
