import pgtrigger
from django.db import models
from django.utils import timezone

from memory.models.space import Space


class AuditEntry(models.Model):
    """Who did or read what. The database refuses to change or delete a row."""

    # No database constraint: the entry outlives the space it speaks of.
    space = models.ForeignKey(
        Space, models.DO_NOTHING, null=True, blank=True, related_name="audit", db_constraint=False
    )
    at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=160)
    action = models.CharField(max_length=64)
    object_type = models.CharField(max_length=32, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    before_digest = models.CharField(max_length=64, blank=True)
    after_digest = models.CharField(max_length=64, blank=True)
    ip = models.GenericIPAddressField(null=True, blank=True)
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["space", "-at"], name="audit_recent"),
            # A few imports among the readings of every reply.
            models.Index(
                fields=["space", "-at"],
                name="audit_imports",
                condition=models.Q(action__in=["import", "import.undone"]),
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete)
        ]

    def __str__(self):
        return f"{self.actor} {self.action} {self.object_type} {self.object_id}"
