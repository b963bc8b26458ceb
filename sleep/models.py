import json

import pghistory
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory.models import Chat, Episode, Member, Space
from memory.models.content import Content, ContentField, ContentJSONField

SENTENCE = '{"sentence": '


def sentence(english: str, values: dict | None = None) -> str:
    """Return a sentence of Keno's as it is stored: its English form and the values in it.

    Mark the English form with gettext_noop; shown() translates it for the reader.
    """
    return json.dumps({"sentence": english} | (values or {}), ensure_ascii=False, default=str)


def shown(stored: str) -> str:
    """Return what is stored; translate it when it is a sentence of Keno's."""
    if not isinstance(stored, str) or not stored.startswith(SENTENCE):
        return stored
    try:
        values = json.loads(stored)
    except ValueError:  # cut or redacted
        return stored
    english = values.pop("sentence")
    # Values may be sentences themselves.
    filled = {name: shown(value) for name, value in values.items()}
    return gettext(english) % filled if filled else gettext(english)


class SentenceField(ContentField):
    """People's words as they are, or a sentence of Keno's in the reader's language."""

    def from_db_value(self, value, expression, connection):
        return shown(self.decrypt(value))


class RunStatus(models.TextChoices):
    RUNNING = "running", _("Running")
    SUCCESS = "success", _("Done")
    FAILED = "failed", _("Failed")


class Night(Content):
    """One sleep of one space, for one local date. Run again, it goes on; it never doubles."""

    Status = RunStatus
    space = models.ForeignKey(Space, models.CASCADE, related_name="nights")
    local_date = models.DateField()
    status = models.CharField(max_length=7, choices=Status.choices, default=Status.RUNNING)
    phase = models.CharField(max_length=16, blank=True)
    # Counts its runs: a night resumed after a crash is run 1 still, "sleep now" later is run 2.
    run = models.PositiveSmallIntegerField(default=1)
    asked_by = models.CharField(max_length=160, blank=True)
    mode = models.CharField(max_length=64, default="heuristics")
    error = ContentField(blank=True)
    attempts = models.PositiveSmallIntegerField(default=1)
    # A golden question is broken: this night changes nothing on its own, it only proposes.
    held = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    cost_estimate = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "local_date"], name="night_once_per_date"),
        ]
        indexes = [models.Index(fields=["space", "-local_date"], name="night_recent")]

    def __str__(self):
        return f"Night of {self.local_date}"


class PhaseRun(Content):
    """What one phase of a night did: counted, timed, resumable at its cursor."""

    SPACE = "night__space"
    Status = RunStatus
    night = models.ForeignKey(Night, models.CASCADE, related_name="phases")
    run = models.PositiveSmallIntegerField(default=1)
    phase = models.CharField(max_length=16)
    position = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=7, choices=Status.choices, default=Status.RUNNING)
    # What there was to do when the phase began, and how much of it is done. An item, its
    # effect and the cursor are one transaction, so a killed night goes on exactly there.
    plan = ContentJSONField(default=list)
    cursor = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict)
    lines = ContentJSONField(default=list)
    error = ContentField(blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["night", "run", "phase"], name="phase_once_per_run"),
        ]

    def __str__(self):
        return f"{self.phase} of {self.night}"

    @property
    def seconds(self) -> float:
        return ((self.ended_at or timezone.now()) - self.started_at).total_seconds()


class NightChange(Content):
    """One line of a night: something it applied on its own, with why, and how to take it back."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="night_changes")
    night = models.ForeignKey(Night, models.CASCADE, related_name="changes")
    phase = models.CharField(max_length=16)
    kind = models.CharField(max_length=32)
    text = ContentField()
    # The history context that undo takes back.
    context = models.UUIDField()
    evidence = ContentJSONField(default=list)
    mode = models.CharField(max_length=64, default="heuristics")
    at = models.DateTimeField(default=timezone.now)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.CharField(max_length=160, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self):
        return self.text


class Claim(Content):
    """Something an episode says. Claims of several episodes that agree become a fact."""

    # The kind of a claim that tells what helped against a problem: it never becomes a fact itself.
    SOLUTION = "solution"

    space = models.ForeignKey(Space, models.CASCADE, related_name="claims")
    chat = models.ForeignKey(Chat, models.CASCADE, null=True, blank=True, related_name="claims")
    episode = models.ForeignKey(Episode, models.CASCADE, related_name="claims")
    subject = models.CharField(max_length=120, blank=True)
    text = ContentField()
    key = ContentField(max_length=64)
    quote = ContentField(blank=True)
    said_by = models.CharField(max_length=120, blank=True)
    # Which account said it, the same in every chat; a name proves nothing.
    speaker = models.CharField(max_length=170, blank=True)
    language = models.CharField(max_length=8, blank=True)
    kind = models.CharField(max_length=9, default="fact")
    category = models.CharField(max_length=12, default="other")
    curated = models.BooleanField(default=False)
    mode = models.CharField(max_length=64, default="heuristics")
    said_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["episode", "key"], name="claim_once_per_episode"),
        ]
        indexes = [
            models.Index(fields=["space", "said_at"], name="claim_recent"),
            models.Index(
                fields=["space", "episode"], name="claim_open", condition=models.Q(settled_at=None)
            ),
        ]

    def __str__(self):
        return self.text


@pghistory.track()
class Proposal(Content):
    """A change that waits for a person. `after` is exactly what approving writes."""

    class Kind(models.TextChoices):
        ADD = "add", _("New fact")
        REVISE = "revise", _("Revise")
        SUPERSEDE = "supersede", _("Contradiction")
        MERGE = "merge", _("Merge")
        RETIRE = "retire", _("Retire")
        PROMOTE = "promote", _("Promote to the space")
        ADD_PATTERN = "add_pattern", _("New pattern")
        RETIRE_PATTERN = "retire_pattern", _("Retire a pattern")
        RULE = "rule", _("Change a rule")
        PREFERENCE = "preference", _("Change a preference")
        SETTING = "setting", _("Change a setting")
        RELEASE = "release", _("Release from quarantine")
        IMPORTED = "imported", _("Imported item")
        SAME = "same", _("The same person?")
        ADVICE = "advice", _("Advice")

    class Status(models.TextChoices):
        PENDING = "pending", _("Waiting")
        APPROVED = "approved", _("Approved")
        REJECTED = "rejected", _("Rejected")
        EXPIRED = "expired", _("Expired")
        UNDONE = "undone", _("Undone")

    space = models.ForeignKey(Space, models.CASCADE, related_name="proposals")
    night = models.ForeignKey(
        Night, models.SET_NULL, null=True, blank=True, related_name="proposals"
    )
    kind = models.CharField(max_length=14, choices=Kind.choices)
    # Says what this proposes, in any night: the same key is not proposed twice.
    key = ContentField(max_length=64)
    title = SentenceField()
    # Ids of the rows it would change; their fields as they were stand in `before`.
    targets = models.JSONField(default=list)
    before = ContentJSONField(default=dict)
    after = ContentJSONField(default=dict)
    digest = ContentField(max_length=64)
    rationale = SentenceField(blank=True)
    evidence = ContentJSONField(default=list)
    confidence = models.FloatField(default=0.5)
    flags = models.JSONField(default=list)
    mode = models.CharField(max_length=64, default="heuristics")
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.PENDING)
    decided_by = models.ForeignKey(
        Member, models.SET_NULL, null=True, blank=True, related_name="decisions"
    )
    decided_name = models.CharField(max_length=160, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    reason = ContentField(max_length=300, blank=True)
    # The history context of the approval: what undo takes back.
    applied_as = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "key"], name="proposal_once"),
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1),
                name="proposal_confidence_0_1",
            ),
        ]
        indexes = [
            models.Index(fields=["space", "status", "created_at"], name="proposal_queue"),
            models.Index(fields=["night"], name="proposal_by_night"),
        ]

    def __str__(self):
        return self.title

    @property
    def seen_as(self) -> str:
        """What a form says about it: which proposal it showed, and in which words."""
        return f"{self.pk}:{self.digest[:16]}"


class Reflection(Content):
    """What a night measured about Keno itself; a row per night makes the trend."""

    night = models.OneToOneField(Night, models.CASCADE, related_name="reflection")
    space = models.ForeignKey(Space, models.CASCADE, related_name="reflections")
    numbers = models.JSONField(default=dict)
    insights = ContentJSONField(default=list)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self):
        return f"Reflection of {self.night}"
