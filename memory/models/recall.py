import pghistory
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.chat import Chat, Message
from memory.models.content import Content, ContentField, ContentJSONField, ContentListField
from memory.models.episode import Episode
from memory.models.fact import Fact
from memory.models.pattern import Pattern
from memory.models.space import Space


class RecallProfile(models.Model):
    """One version of a way to rank. A version is never changed: saving makes the next one."""

    # Null: built in, the same for every space.
    space = models.ForeignKey(
        Space, models.CASCADE, null=True, blank=True, related_name="recall_profiles"
    )
    name = models.CharField(max_length=40)
    version = models.PositiveIntegerField(default=1)
    # Which formula reads the weights: "keno" or "classic".
    formula = models.CharField(max_length=16, default="keno")
    weights = models.JSONField(default=dict)
    # Gate, diversity, decay: whatever is not a weight.
    settings = models.JSONField(default=dict, blank=True)
    note = models.CharField(max_length=300, blank=True)
    made_by = models.CharField(max_length=160, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "name", "version"],
                nulls_distinct=False,
                name="recall_profile_version_once",
            ),
        ]

    def __str__(self):
        return f"{self.name} v{self.version}"


class Recall(Content):
    """One retrieval with its reasons: the receipt of a reply."""

    class Level(models.TextChoices):
        NONE = "none", _("Nothing found")
        LOW = "low", _("Low")
        MEDIUM = "medium", _("Medium")
        HIGH = "high", _("High")

    space = models.ForeignKey(Space, models.CASCADE, related_name="recalls", db_index=False)
    chat = models.ForeignKey(
        Chat, models.CASCADE, null=True, blank=True, related_name="recalls", db_index=False
    )
    # The message that was to be answered, and the answer.
    message = models.ForeignKey(
        Message, models.SET_NULL, null=True, blank=True, related_name="recalls"
    )
    reply = models.ForeignKey(
        Message, models.SET_NULL, null=True, blank=True, related_name="receipts"
    )
    query = ContentField()
    person = models.CharField(max_length=120, blank=True)
    language = models.CharField(max_length=8, blank=True)
    keywords = ContentListField(default=list, blank=True)
    expansion = ContentListField(default=list, blank=True)
    names = ContentListField(default=list, blank=True)
    # {"phrase": "last week", "start": "2026-…", "end": "2026-…"}, or empty.
    cue = ContentJSONField(default=dict, blank=True)
    # hybrid (words and meaning), words, or none (recall is off, or failed).
    mode = models.CharField(max_length=8, default="hybrid")
    profile = models.CharField(max_length=40)
    profile_version = models.PositiveIntegerField(default=1)
    strict = models.BooleanField(default=False)
    confidence = models.FloatField(default=0)
    level = models.CharField(max_length=6, choices=Level.choices, default=Level.NONE)
    candidates = models.PositiveIntegerField(default=0)
    tokens = models.PositiveIntegerField(default=0)
    budget = models.PositiveIntegerField(default=0)
    # Milliseconds a stage, {"understand": 1.2, "embed": 5.0, "lanes": 8.1, …, "total": 17.0}.
    ms = models.JSONField(default=dict, blank=True)
    # What else went into the prompt: {"working": 40, "history": 300, …} in tokens.
    sections = models.JSONField(default=dict, blank=True)
    error = ContentField(blank=True)
    # What the gate and the limits cut, as one value: see memory/retrieval/receipts.py.
    left_out = models.JSONField(default=dict, blank=True)
    # Whether its facts have counted what each was to the answer.
    weighed = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["space", "-at", "-id"], name="recall_recent"),
            models.Index(fields=["chat", "-at", "-id"], name="recall_by_chat"),
        ]

    def __str__(self):
        return self.query[:60]


class RecallItem(models.Model):
    """One memory that a recall scored: every part of its score, and what became of it."""

    SPACE = "recall__space"

    class Cut(models.TextChoices):
        NOT_CUT = "", _("Used")
        GATE = "gate", _("Not relevant enough")
        LIMIT = "limit", _("Beyond the limit")
        SAME = "same", _("Says the same as a better one")
        BUDGET = "budget", _("No room in the token budget")
        SEEN = "seen", _("Already in the prompt")
        RULED = "ruled", _("Not to be mentioned")

    class Mark(models.TextChoices):
        USED = "used", _("Used in the reply")
        CONTRADICTED = "contradicted", _("The reply says otherwise")

    recall = models.ForeignKey(Recall, models.CASCADE, related_name="items", db_index=False)
    kind = models.CharField(max_length=7)
    # Null in all of them: the memory was purged since.
    fact = models.ForeignKey(Fact, models.CASCADE, null=True, blank=True, related_name="recalled")
    episode = models.ForeignKey(
        Episode, models.CASCADE, null=True, blank=True, related_name="recalled"
    )
    message = models.ForeignKey(
        Message, models.CASCADE, null=True, blank=True, related_name="recalled"
    )
    pattern = models.ForeignKey(
        Pattern, models.CASCADE, null=True, blank=True, related_name="recalled"
    )
    rank = models.PositiveIntegerField()
    score = models.FloatField()
    confidence = models.FloatField(default=0)
    # [["semantic", value, weight, value x weight], …]; the last numbers add up to the score.
    parts = models.JSONField(default=list, blank=True)
    lanes = ArrayField(models.CharField(max_length=10), default=list, blank=True)
    injected = models.BooleanField(default=False)
    cut = models.CharField(max_length=6, choices=Cut.choices, blank=True)
    tokens = models.PositiveIntegerField(default=0)
    # What the reply made of it, by its words.
    mark = models.CharField(max_length=12, choices=Mark.choices, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["recall", "rank"], name="recall_item_rank_once"),
        ]

    def __str__(self):
        return f"{self.rank}. {self.kind} {self.score:.3f}"


class SelfCheck(Content):
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
    forbidden = ContentJSONField(default=list, blank=True)

    class Meta:
        indexes = [models.Index(fields=["space", "quality"], name="selfcheck_quality")]

    def __str__(self):
        return f"{self.quality} ({self.score})"


@pghistory.track(exclude=["state", "broke", "checked_at", "green_at"])
class GoldenQuestion(Content):
    """A question whose answer must not get worse: what must be found, what must not be said."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("Asked")
        RETIRED = "retired", _("Retired")

    class State(models.TextChoices):
        NEW = "", _("Not asked yet")
        GREEN = "green", _("As it should be")
        RED = "red", _("Broken")

    UNDO_CREATE = {"status": Status.RETIRED}

    space = models.ForeignKey(Space, models.CASCADE, related_name="golden_questions")
    # Null: asked outside every chat, about what the whole space knows.
    chat = models.ForeignKey(
        Chat, models.CASCADE, null=True, blank=True, related_name="golden_questions"
    )
    question = ContentField()
    person = models.CharField(max_length=120, blank=True)
    # [{"fact": 3, "quote": "…"}, {"message": 8, "quote": "…"}, {"quote": "words by hand"}, …]
    found = ContentJSONField(default=list)
    unfound = ContentJSONField(default=list)
    # Words that the answer must not have.
    unsaid = ContentListField(default=list, blank=True)
    by = models.CharField(max_length=160)
    status = models.CharField(max_length=7, choices=Status.choices, default=Status.ACTIVE)
    # When it was first asked: "yesterday" stays the day before that.
    asked_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=5, choices=State.choices, blank=True)
    # {"missing": ["…"], "found": ["…"], "said": ["…"]}: what was wrong the last time.
    broke = ContentJSONField(default=dict, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    green_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["space", "status", "-created_at"], name="golden_recent")]

    def __str__(self):
        return self.question[:80]


class GoldenRun(models.Model):
    """The golden questions of a space, asked once: a row of the trend."""

    class Why(models.TextChoices):
        NIGHT = "night", _("after a night")
        IMPORT = "import", _("after an import")
        MERGE = "merge", _("after a merge")
        DECISION = "decision", _("after a decision")
        ERASURE = "erasure", _("after an erasure")
        MODEL = "model", _("after a change of model or weights")
        UNDO = "undo", _("after an undo")
        HAND = "hand", _("by hand")

    space = models.ForeignKey(Space, models.CASCADE, related_name="golden_runs", db_index=False)
    why = models.CharField(max_length=8, choices=Why.choices)
    green = models.PositiveIntegerField(default=0)
    red = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["space", "-at"], name="golden_run_recent")]

    def __str__(self):
        return f"{self.green} of {self.green + self.red}"
