from datetime import UTC, datetime
from typing import Any

import pghistory
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.chat import Chat, Message
from memory.models.content import Content, ContentField, ContentJSONField, ContentQuerySet
from memory.models.episode import Episode
from memory.models.space import Space


class FactQuerySet(ContentQuerySet):
    def live(self) -> "FactQuerySet":
        """Return what Keno believes now."""
        return self.filter(status="active")

    def in_space(self, space: Space) -> "FactQuerySet":
        return self.filter(space=space)

    def in_scope(self, chat: Chat) -> "FactQuerySet":
        """Return what this chat may know: its own facts and those of the whole space."""
        return self.known_in(chat.space_id, chat.pk)

    def known_in(self, space: Any, chat: Any) -> "FactQuerySet":
        """The same by ids, or by parameters of a prepared query."""
        return self.filter(models.Q(chat=None) | models.Q(chat=chat), space=space)

    def about(self, subject: str) -> "FactQuerySet":
        return self.filter(subject=subject)

    def quarantined(self) -> "FactQuerySet":
        return self.filter(status="quarantined")

    def in_trash(self) -> "FactQuerySet":
        return self.filter(status="trashed")

    def newest(self) -> "FactQuerySet":
        return self.order_by("-updated_at", "-pk")


ACTIVE = models.Q(status="active")
# When it was last used, or 1970 for never: ordering needs a value in every row.
USED_AT = Coalesce("last_used_at", models.Value(datetime(1970, 1, 1, tzinfo=UTC)))
EVENT_INDEX = models.Index(fields=["space", "-pgh_created_at", "-pgh_obj"], name="fact_then")


WEIGHTS = ["decisive", "helpful", "idle", "harmful"]
# Every reply counts uses, which are not changes of what Keno believes; `lasts` follows from the
# words.
UNTRACKED = ["use_count", "last_used_at", "upheld_at", "lasts", *WEIGHTS]


@pghistory.track(exclude=UNTRACKED, meta={"indexes": [EVENT_INDEX]})
class Fact(Content):
    """One thing Keno believes. Forgetting archives it; only purge deletes."""

    class Kind(models.TextChoices):
        FACT = "fact", _("Fact")
        CONCEPT = "concept", _("Concept")
        PROCEDURE = "procedure", _("Procedure")
        LESSON = "lesson", _("Lesson")
        LORE = "lore", _("Lore")
        GOAL = "goal", _("Goal")
        NOTE = "note", _("Note")

    class Category(models.TextChoices):
        PREFERENCE = "preference", _("Preference")
        PROFILE = "profile", _("Profile")
        RELATIONSHIP = "relationship", _("Relationship")
        PROJECT = "project", _("Project")
        OTHER = "other", _("Other")

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        ARCHIVED = "archived", _("Forgotten")
        SUPERSEDED = "superseded", _("Superseded")
        QUARANTINED = "quarantined", _("Quarantined")
        TRASHED = "trashed", _("In the trash")

    class Source(models.TextChoices):
        MESSAGE = "message", _("Message")
        EPISODE = "episode", _("Episode")
        NIGHT = "night", _("Night")
        PERSON = "person", _("Person")
        IMPORT = "import", _("Import")

    class Lasts(models.TextChoices):
        """How long such a thing usually holds; empty when it is never asked about."""

        HOME = "home", _("Home and work")
        TASTE = "taste", _("Likes")
        HEALTH = "health", _("Health")
        PLAN = "plan", _("Plan")

    LORE = "__lore__"
    UNDO_CREATE = {"status": Status.TRASHED, "forgotten": True}

    # The account that said it, set by nights.
    speaker = ""

    space = models.ForeignKey(Space, models.CASCADE, related_name="facts")
    # Null means the whole space knows it.
    chat = models.ForeignKey(Chat, models.CASCADE, null=True, blank=True, related_name="facts")
    subject = models.CharField(max_length=120, blank=True)
    text = ContentField()
    # SHA-256 of the normalised text: two statements with the same key are one fact.
    said_key = ContentField(max_length=64, editable=False)
    quote = ContentField(blank=True)
    language = models.CharField(max_length=8, blank=True)
    kind = models.CharField(max_length=9, choices=Kind.choices, default=Kind.FACT)
    category = models.CharField(max_length=12, choices=Category.choices, default=Category.OTHER)
    confidence = models.FloatField(default=0.5)
    trust = models.FloatField(default=0.5)
    pinned = models.BooleanField(default=False)
    status = models.CharField(max_length=11, choices=Status.choices, default=Status.ACTIVE)
    flags = models.JSONField(default=list, blank=True)
    superseded_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="supersedes"
    )
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_to = models.DateTimeField(null=True, blank=True)
    # When a plan or an event happens; null for what holds.
    occurs_at = models.DateTimeField(null=True, blank=True)
    # When a plan is over: "next month" has its last day.
    occurs_until = models.DateTimeField(null=True, blank=True)
    lasts = models.CharField(max_length=6, choices=Lasts.choices, blank=True)
    # A person said that it is still so; a reply used it and nobody objected. The newest of these
    # and last_seen_at is when it was last checked.
    confirmed_at = models.DateTimeField(null=True, blank=True)
    upheld_at = models.DateTimeField(null=True, blank=True)
    # Forgotten by someone: the messages it rests on are not recalled either.
    forgotten = models.BooleanField(default=False)
    source = models.CharField(max_length=7, choices=Source.choices, default=Source.PERSON)
    message = models.ForeignKey(
        Message, models.SET_NULL, null=True, blank=True, related_name="facts"
    )
    episode = models.ForeignKey(
        Episode, models.SET_NULL, null=True, blank=True, related_name="facts"
    )
    # Further episodes and messages a derived fact rests on: [{"episode": 3, "quote": "…"}, …].
    evidence = ContentJSONField(default=list, blank=True)
    said_by = models.CharField(max_length=120, blank=True)
    # People's own words to find it by; no machine sets one.
    tags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    # What wrote the row: tag, extraction, night, person, import …
    written_by = models.CharField(max_length=64, default="person")
    # How: "" for a person, "heuristics", or the name of the model.
    mode = models.CharField(max_length=64, blank=True)
    # A person worded this row: no extraction, import or night may overwrite it.
    sticky = models.BooleanField(default=False)
    use_count = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    # How past answers changed when they were given again without it: see trust/golden.py.
    decisive = models.PositiveIntegerField(default=0, db_default=0)
    helpful = models.PositiveIntegerField(default=0, db_default=0)
    idle = models.PositiveIntegerField(default=0, db_default=0)
    harmful = models.PositiveIntegerField(default=0, db_default=0)
    times_seen = models.PositiveIntegerField(default=1)
    last_seen_at = models.DateTimeField(default=timezone.now)
    trashed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = FactQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1), name="fact_confidence_0_1"
            ),
            models.CheckConstraint(
                condition=models.Q(trust__gte=0, trust__lte=1), name="fact_trust_0_1"
            ),
            models.CheckConstraint(condition=~models.Q(text=""), name="fact_says_something"),
            models.CheckConstraint(
                condition=models.Q(valid_to=None)
                | models.Q(valid_from=None)
                | models.Q(valid_to__gte=models.F("valid_from")),
                name="fact_valid_in_order",
            ),
            models.UniqueConstraint(
                fields=["space", "chat", "subject", "said_key"],
                condition=ACTIVE,
                nulls_distinct=False,
                name="fact_said_once",
            ),
        ]
        indexes = [
            models.Index(fields=["space", "status", "-updated_at", "-id"], name="fact_recent"),
            models.Index(fields=["space", "subject"], name="fact_by_subject"),
            models.Index(fields=["space", "-created_at"], name="fact_by_age"),
            models.Index(
                fields=["chat"], name="fact_by_chat", condition=models.Q(chat__isnull=False)
            ),
            models.Index(fields=["space", "last_used_at"], name="fact_unused", condition=ACTIVE),
            # What may be due for a check.
            models.Index(
                fields=["space", "lasts", "last_seen_at"],
                name="fact_lasts",
                condition=ACTIVE & ~models.Q(lasts=""),
            ),
            # From an episode to what rests on it.
            GinIndex(
                fields=["evidence"],
                opclasses=["jsonb_path_ops"],
                name="fact_evidence",
                condition=~models.Q(evidence=[]),
            ),
            GinIndex(fields=["tags"], name="fact_tags"),
            # One for each order of the list, so that its first page costs the same at any size.
            models.Index(fields=["space", "-updated_at", "-id"], name="fact_recent_any"),
            models.Index(
                fields=["space", "-confidence", "-id"], name="fact_by_confidence", condition=ACTIVE
            ),
            models.Index(
                "space", USED_AT.desc(), models.F("id").desc(), name="fact_by_use", condition=ACTIVE
            ),
        ]

    def __str__(self):
        return self.text

    @property
    def checked_at(self) -> datetime:
        """Return when it was last said, confirmed, or used in a reply that nobody contradicted."""
        return max(at for at in (self.last_seen_at, self.confirmed_at, self.upheld_at) if at)


class Reminder(models.Model):
    """When Keno reminds a chat of a plan. The words are those of the fact."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="reminders")
    fact = models.OneToOneField(Fact, models.CASCADE, related_name="reminder")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="reminders")
    # Null when it was said and does not repeat.
    next_at = models.DateTimeField(null=True, blank=True, db_index=True)
    # The weekdays on which it repeats ("04": Mondays and Fridays), or the day of each month
    # ("m5"); empty: never.
    every = models.CharField(max_length=8, blank=True)
    said_at = models.DateTimeField(null=True, blank=True)

    def __str__(self):
        return f"fact {self.fact_id} at {self.next_at}"


class SilencedMessage(models.Model):
    """A message that a forgotten fact rests on, or that repeated it: recall does not see it.

    A database trigger on facts writes the rows, so that every way of forgetting and restoring,
    also undo, silences and wakes the same messages.
    """

    # Null when the fact was purged: its words stay silent.
    fact = models.ForeignKey(Fact, models.SET_NULL, null=True, related_name="silenced")
    message = models.ForeignKey(Message, models.CASCADE, related_name="silenced_by")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["fact", "message"], name="silenced_once"),
        ]

    def __str__(self):
        return f"message {self.message_id} for fact {self.fact_id}"
