import pghistory
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.content import (
    Content,
    ContentField,
    ContentJSONField,
    ContentListField,
    ContentQuerySet,
)
from memory.models.space import Space


class EpisodeQuerySet(ContentQuerySet):
    def remembered(self) -> "EpisodeQuerySet":
        """Return what recall may find: everything but the trash."""
        return self.exclude(status="discarded")

    def discarded(self) -> "EpisodeQuerySet":
        return self.filter(status="discarded")

    def in_scope(self, chat: models.Model) -> "EpisodeQuerySet":
        """Return what this chat may know: its own episodes and the shared ones."""
        return self.filter(models.Q(chat=None) | models.Q(chat=chat), space=chat.space_id)

    def newest(self) -> "EpisodeQuerySet":
        return self.order_by("-started_at", "-pk")


EVENT_INDEX = models.Index(fields=["space", "-started_at", "-pgh_obj"], name="episode_then")


@pghistory.track(exclude=["salience", "salience_reasons"], meta={"indexes": [EVENT_INDEX]})
class Episode(Content):
    """Something that happened. Discarding puts it in a trash for seven days."""

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        CLOSED = "closed", _("Closed")
        DISCARDED = "discarded", _("Discarded")
        ARCHIVED = "archived", _("Archived")

    UNDO_CREATE = {"status": Status.DISCARDED, "discard_reason": "undone"}
    REMEMBERED = (Status.OPEN, Status.CLOSED, Status.ARCHIVED)

    space = models.ForeignKey(Space, models.CASCADE, related_name="episodes")
    # Null means the episode is shared by every chat of the space.
    chat = models.ForeignKey(
        "memory.Chat", models.CASCADE, null=True, blank=True, related_name="episodes"
    )
    title = ContentField(max_length=200, blank=True)
    body = ContentField(blank=True)
    language = models.CharField(max_length=8, blank=True)
    tags = ContentListField(default=list, blank=True)
    participants = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(default=timezone.now)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.OPEN)
    discard_reason = ContentField(max_length=200, blank=True)
    discarded_at = models.DateTimeField(null=True, blank=True)
    feedback = models.CharField(max_length=8, blank=True)
    trust = models.FloatField(default=0.5)
    flags = models.JSONField(default=list, blank=True)
    salience = models.FloatField(null=True, blank=True)
    salience_reasons = ContentJSONField(default=list, blank=True)
    consolidated_at = models.DateTimeField(null=True, blank=True)
    # The ids of the episodes this one is a summary or a merger of.
    summary_of = ArrayField(models.BigIntegerField(), default=list, blank=True)
    source = models.CharField(max_length=16, default="chat")
    # A person worded this row: no extraction, import or night may overwrite it.
    sticky = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = EpisodeQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ended_at__gte=models.F("started_at")),
                name="episode_ends_after_start",
            ),
            models.CheckConstraint(
                condition=models.Q(feedback__in=["", "positive", "negative"]),
                name="episode_feedback_known",
            ),
            models.UniqueConstraint(
                fields=["chat"], condition=models.Q(status="open"), name="episode_one_open_per_chat"
            ),
        ]
        indexes = [
            models.Index(fields=["space", "-started_at", "-id"], name="episode_by_day"),
            models.Index(fields=["chat", "-started_at", "-id"], name="episode_by_chat"),
            models.Index(
                fields=["space", "started_at"],
                name="episode_unconsolidated",
                condition=models.Q(consolidated_at=None, status="closed"),
            ),
            GinIndex(fields=["tags"], name="episode_tags"),
            GinIndex(fields=["summary_of"], name="episode_made_of"),
            models.Index(
                fields=["space", "-updated_at", "-id"],
                name="episode_flagged",
                condition=~models.Q(flags=[]),
            ),
        ]

    def __str__(self):
        return self.title or self.body[:60]

    def reverted(self) -> None:
        """Move the messages of a split-off part after an undo: back to the whole, or here again."""
        if self.source != "split":
            return
        whole = type(self).objects.filter(pk__in=self.summary_of[:1]).first()
        if self.status == self.Status.DISCARDED:
            self.messages.update(episode=whole)
            if whole:
                self.claims.update(episode=whole)
        elif whole:
            mine = whole.messages.filter(sent_at__gte=self.started_at, sent_at__lte=self.ended_at)
            mine.update(episode=self)
