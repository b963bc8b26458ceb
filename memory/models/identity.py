from collections.abc import Collection

import pghistory
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.content import Content, ContentField, ContentJSONField
from memory.models.fact import Fact
from memory.models.space import Space


@pghistory.track(exclude=["bootstrap"])
class Identity(Content):
    """Who Keno is in one space. Only a person writes it; no row means the shipped identity."""

    UNDO_CREATE = {"core": ""}

    space = models.OneToOneField(Space, models.CASCADE, related_name="identity")
    core = ContentField(blank=True)
    # The state of the first conversation; null when it is over or never began.
    bootstrap = ContentJSONField(null=True, blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "identities"

    def __str__(self):
        return f"Identity of {self.space}"


class ForPerson(Content):
    """A row in force for one person of a channel, by their id, or for everybody without one."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("In force")
        ARCHIVED = "archived", _("Archived")

    UNDO_CREATE = {"status": Status.ARCHIVED}

    channel = models.CharField(max_length=32, blank=True)
    author_id = models.CharField(max_length=128, blank=True)
    # What they call themselves: only for display, as it proves nothing.
    person = models.CharField(max_length=120, blank=True)

    class Meta:
        abstract = True
        ordering = ["position", "pk"]

    def holds_for(self, pairs: Collection[tuple[str, str]]) -> bool:
        """Tell whether it is for everybody, or for a person with these (channel, id) pairs."""
        return not self.channel or (self.channel, self.author_id) in pairs


@pghistory.track()
class Rule(ForPerson):
    """How Keno behaves: an instruction, examples, and phrases it must not say."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="rules")
    slug = ContentField(max_length=80)
    category = models.CharField(max_length=60, default="general")
    instruction = ContentField(blank=True)
    # [{"user": "…", "good": "…", "bad": "…"}] or plain sentences.
    examples = ContentJSONField(default=list, blank=True)
    # [{"phrase": "…", "reason": "…", "pattern": false}]
    forbidden = ContentJSONField(default=list, blank=True)
    position = models.PositiveIntegerField(default=0)
    status = models.CharField(
        max_length=8, choices=ForPerson.Status.choices, default=ForPerson.Status.ACTIVE
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta(ForPerson.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["space", "slug"], condition=models.Q(status="active"), name="rule_slug_once"
            ),
        ]

    def __str__(self):
        return self.instruction[:60] or self.slug


@pghistory.track()
class Preference(ForPerson):
    """One thing someone likes or has ruled out in how Keno talks to them."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="preferences")
    # The heading it is listed under; empty for the list at the top.
    section = ContentField(max_length=80, blank=True)
    key = ContentField(max_length=80)
    value = ContentField()
    source = models.CharField(max_length=64, default="person")
    sticky = models.BooleanField(default=False)
    position = models.PositiveIntegerField(default=0)
    status = models.CharField(
        max_length=8, choices=ForPerson.Status.choices, default=ForPerson.Status.ACTIVE
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta(ForPerson.Meta):
        indexes = [models.Index(fields=["space", "status"], name="preference_in_force")]

    def __str__(self):
        return f"{self.key}: {self.value[:60]}"


@pghistory.track(exclude=["times_obeyed", "last_obeyed_at"])
class Ruling(Content):
    """A standing human decision that extraction, import and nights obey."""

    class Kind(models.TextChoices):
        NEVER_REMEMBER = "never_remember", _("Never remember this")
        KEEP = "keep", _("Keep exactly this")
        DONT_MENTION = "dont_mention", _("Don't mention")

    class Status(models.TextChoices):
        ACTIVE = "active", _("In force")
        LIFTED = "lifted", _("Removed")

    UNDO_CREATE = {"status": Status.LIFTED}

    space = models.ForeignKey(Space, models.CASCADE, related_name="rulings")
    kind = models.CharField(max_length=14, choices=Kind.choices)
    text = ContentField()
    # SHA-256 of the normalised text, as on a fact.
    said_key = ContentField(max_length=64, editable=False)
    fact = models.ForeignKey(Fact, models.SET_NULL, null=True, blank=True, related_name="rulings")
    reason = ContentField(max_length=300, blank=True)
    by = models.CharField(max_length=160)
    status = models.CharField(max_length=6, choices=Status.choices, default=Status.ACTIVE)
    # How often it stopped a writer: nothing is skipped silently.
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
