import pghistory
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.content import Content, ContentField, ContentJSONField, ContentQuerySet
from memory.models.space import Space


class PatternQuerySet(ContentQuerySet):
    def live(self) -> "PatternQuerySet":
        return self.filter(status="active")

    def in_scope(
        self, space: Space, chat: models.Model | None, *, shared: bool = True
    ) -> "PatternQuerySet":
        """Return the habits of the chat, if any, and with `shared` those of the whole space."""
        common = models.Q(chat=None) if shared else models.Q(pk__in=[])
        return self.filter(common | models.Q(chat=chat) if chat else common, space=space)


@pghistory.track(exclude=["use_count", "last_used_at"])
class Pattern(Content):
    """A habit: when a message says this, answer so."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        ARCHIVED = "archived", _("Archived")
        QUARANTINED = "quarantined", _("Quarantined")
        TRASHED = "trashed", _("In the trash")

    UNDO_CREATE = {"status": Status.TRASHED}

    space = models.ForeignKey(Space, models.CASCADE, related_name="patterns")
    # A pattern learned in one chat stays there until a person promotes it.
    chat = models.ForeignKey(
        "memory.Chat", models.CASCADE, null=True, blank=True, related_name="patterns"
    )
    slug = ContentField(max_length=80)
    trigger = ContentField(max_length=200)
    response = ContentField()
    language = models.CharField(max_length=8, blank=True)
    confidence = models.FloatField(default=0.6)
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    learned_from = ContentField(max_length=200, blank=True)
    evidence = ContentJSONField(default=list, blank=True)
    flags = models.JSONField(default=list, blank=True)
    mode = models.CharField(max_length=64, blank=True)
    status = models.CharField(max_length=11, choices=Status.choices, default=Status.ACTIVE)
    trashed_at = models.DateTimeField(null=True, blank=True)
    # A person worded this row: no extraction, import or night may overwrite it.
    sticky = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = PatternQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1),
                name="pattern_confidence_0_1",
            ),
            models.UniqueConstraint(
                fields=["space", "slug"],
                condition=models.Q(status="active"),
                name="pattern_slug_once",
            ),
        ]
        indexes = [models.Index(fields=["space", "status", "-updated_at"], name="pattern_recent")]

    def __str__(self):
        return self.trigger[:60] or self.slug
