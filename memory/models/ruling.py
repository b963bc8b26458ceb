import pghistory
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.fact import Fact
from memory.models.space import Space


@pghistory.track(exclude=["times_obeyed", "last_obeyed_at"])
class Ruling(models.Model):
    """A standing human decision that extraction, import and nights obey."""

    class Kind(models.TextChoices):
        NEVER_REMEMBER = "never_remember", _("Never remember this")
        KEEP = "keep", _("Keep exactly this")

    class Status(models.TextChoices):
        ACTIVE = "active", _("In force")
        LIFTED = "lifted", _("Lifted")

    UNDO_CREATE = {"status": Status.LIFTED}

    space = models.ForeignKey(Space, models.CASCADE, related_name="rulings")
    kind = models.CharField(max_length=14, choices=Kind.choices)
    text = models.TextField()
    # SHA-256 of the normalised text, as on a fact.
    said_key = models.CharField(max_length=64, editable=False)
    fact = models.ForeignKey(Fact, models.SET_NULL, null=True, blank=True, related_name="rulings")
    reason = models.CharField(max_length=300, blank=True)
    by = models.CharField(max_length=160)
    status = models.CharField(max_length=6, choices=Status.choices, default=Status.ACTIVE)
    # How often a writer was turned away: nothing is skipped silently.
    times_obeyed = models.PositiveIntegerField(default=0)
    last_obeyed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "kind", "said_key", "fact"],
                condition=models.Q(status="active"),
                nulls_distinct=False,
                name="ruling_once",
            ),
            models.CheckConstraint(condition=~models.Q(text=""), name="ruling_says_something"),
        ]
        indexes = [models.Index(fields=["space", "kind", "status"], name="ruling_in_force")]

    def __str__(self):
        return f"{self.get_kind_display()}: {self.text[:60]}"
