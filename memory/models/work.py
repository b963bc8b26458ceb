from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from memory.models.chat import Chat, Message
from memory.models.content import Content, ContentField, ContentJSONField
from memory.models.space import Space


class OutboxItem(Content):
    """What must be sent to a chat. Written with the reply, so that it is never forgotten."""

    class Kind(models.TextChoices):
        REPLY = "reply", _("Reply")
        NOTICE = "notice", _("Notice")
        COMMAND = "command", _("Answer to a command")

    space = models.ForeignKey(Space, models.CASCADE, related_name="outbox")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="outbox")
    message = models.ForeignKey(
        Message, models.SET_NULL, null=True, blank=True, related_name="outbox"
    )
    kind = models.CharField(max_length=8, choices=Kind.choices, default=Kind.REPLY)
    text = ContentField()
    # A second item with the same key is not sent.
    key = models.CharField(max_length=160)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = ContentField(max_length=300, blank=True)
    external_id = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "key"], name="outbox_once")]
        indexes = [
            models.Index(fields=["space", "-created_at"], name="outbox_recent"),
            models.Index(
                fields=["created_at"],
                name="outbox_waiting",
                condition=models.Q(delivered_at=None, failed_at=None),
            ),
        ]

    def __str__(self):
        return f"{self.kind} to {self.chat}: {self.text[:60]}"


class DeadLetter(models.Model):
    """A job that was given up, with the reason. A person may have it tried again."""

    space = models.ForeignKey(
        Space, models.CASCADE, null=True, blank=True, related_name="dead_letters"
    )
    job_id = models.BigIntegerField(unique=True)
    task = models.CharField(max_length=128)
    args = models.JSONField(default=dict)
    error = models.CharField(max_length=300)
    attempts = models.PositiveIntegerField(default=0)
    at = models.DateTimeField(default=timezone.now)
    retried_at = models.DateTimeField(null=True, blank=True)
    retried_by = models.CharField(max_length=160, blank=True)

    class Meta:
        indexes = [models.Index(fields=["space", "-at"], name="dead_letter_recent")]

    def __str__(self):
        return f"{self.task}: {self.error}"


class Heartbeat(models.Model):
    """The last sign of life of a worker, and the state of its channels."""

    name = models.CharField(max_length=120, unique=True)
    version = models.CharField(max_length=32, blank=True)
    started_at = models.DateTimeField(default=timezone.now)
    beat_at = models.DateTimeField(default=timezone.now, db_index=True)
    # {"telegram": "running", …}
    channels = models.JSONField(default=dict, blank=True)

    def __str__(self):
        return self.name


class Lease(models.Model):
    """A task for one process at a time: its holder, and until when unless it is renewed."""

    name = models.CharField(max_length=120, primary_key=True)
    holder = models.CharField(max_length=120)
    until = models.DateTimeField()

    def __str__(self):
        return f"{self.name}: {self.holder}"


class Notice(Content):
    """Something the owner must see, told once."""

    class Level(models.TextChoices):
        INFO = "info", _("Information")
        WARNING = "warning", _("Warning")
        ERROR = "error", _("Error")

    space = models.ForeignKey(Space, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=48)
    level = models.CharField(max_length=7, choices=Level.choices, default=Level.INFO)
    text = ContentField()
    # The same in every language of readers; empty in old rows.
    words = ContentJSONField(default=dict, blank=True)
    link = models.CharField(max_length=300, blank=True)
    # The same key again is the same notice: it is not told twice.
    key = ContentField(max_length=120)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "key"], name="notice_told_once")]
        indexes = [models.Index(fields=["space", "-created_at"], name="notice_recent")]

    def __str__(self):
        return self.words.get(get_language() or "", self.text)


class Parcel(Content):
    """One file on its way into a space or out of it. It is gone a day later."""

    class Way(models.TextChoices):
        IN = "in", _("Import")
        OUT = "out", _("Export")

    class Status(models.TextChoices):
        LOOKING = "looking", _("Checking")
        READY = "ready", _("Waiting for you")
        APPLYING = "applying", _("Importing")
        APPLIED = "applied", _("Imported")
        UNDOING = "undoing", _("Undoing")
        UNDONE = "undone", _("Undone")
        REFUSED = "refused", _("Refused")
        PACKING = "packing", _("Writing")
        PACKED = "packed", _("Ready to download")

    # A job works on it, or will.
    BUSY = (Status.LOOKING, Status.APPLYING, Status.UNDOING, Status.PACKING)

    space = models.ForeignKey(Space, models.CASCADE, related_name="parcels")
    way = models.CharField(max_length=3, choices=Way.choices, default=Way.IN)
    status = models.CharField(max_length=8, choices=Status.choices)
    name = ContentField(max_length=200)
    size = models.BigIntegerField(default=0)
    # The format that the person chose, and the one that it has.
    asked = models.CharField(max_length=16, default="auto")
    format = models.CharField(max_length=16, blank=True)
    guild = models.CharField(max_length=80, blank=True)
    # The language of the person, for the worker.
    language = models.CharField(max_length=8, default="en")
    by = models.CharField(max_length=160)
    problem = ContentField(blank=True)
    # {"fact": {"taken": 12, "skipped": 3}, …}; of an export {"facts": {"written": 12}, …}
    counts = models.JSONField(default=dict, blank=True)
    # The id of the change that the import made, for undo.
    change = models.CharField(max_length=36, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["space", "-created_at"], name="parcel_recent")]

    def __str__(self):
        return self.name

    @property
    def is_busy(self) -> bool:
        return self.status in self.BUSY


class ParcelPiece(models.Model):
    """A part of the file, in the database so that every worker has it."""

    parcel = models.ForeignKey(Parcel, models.CASCADE, related_name="pieces")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["parcel", "number"], name="piece_once")]

    def __str__(self):
        return f"{self.parcel} {self.number}"


class ParcelLine(Content):
    """One line of the report of an import: what the file holds, and what becomes of it."""

    SPACE = "parcel__space"

    parcel = models.ForeignKey(Parcel, models.CASCADE, related_name="lines")
    number = models.PositiveIntegerField()
    place = ContentField()
    kind = models.CharField(max_length=40)
    verdict = models.CharField(max_length=12)
    text = ContentField(blank=True)
    why = ContentField(blank=True)
    count = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["parcel", "number"], name="line_once")]
        indexes = [models.Index(fields=["parcel", "verdict", "number"], name="line_by_verdict")]

    def __str__(self):
        return f"{self.place}: {self.verdict}"


class Erasure(models.Model):
    """Something that a job erases for good; afterwards the receipt, without its words."""

    class Kind(models.TextChoices):
        MESSAGE = "message", _("Message")
        CHAT = "chat", _("Chat")
        PERSON = "person", _("Person")
        MEMBER = "member", _("Member")
        IMPORT = "import", _("Import")
        SPACE = "space", _("Space")

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")

    # Null once the space itself is erased: the receipt stays.
    space = models.ForeignKey(
        Space, models.SET_NULL, null=True, blank=True, related_name="erasures"
    )
    kind = models.CharField(max_length=7, choices=Kind.choices)
    object_id = models.BigIntegerField()
    status = models.CharField(max_length=7, choices=Status.choices, default=Status.WAITING)
    by = models.CharField(max_length=160)
    # How many rows of each table, {"memory.Message": 12, …}.
    counts = models.JSONField(default=dict, blank=True)
    # Keyed digests of the rows that were erased, never of their words, so that they can be erased
    # again from a restored backup.
    salt = models.CharField(max_length=32, blank=True)
    digests = models.JSONField(default=list, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    asked_at = models.DateTimeField(default=timezone.now)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["space", "-asked_at"], name="erasure_recent")]

    def __str__(self):
        return f"{self.kind} {self.object_id}"


class Connection(models.Model):
    """A key or address that the home uses, set in the dashboard: memory/spaces/connections.py."""

    name = models.CharField(max_length=40, primary_key=True)
    sealed = models.TextField()
    by = models.CharField(max_length=160)
    changed_at = models.DateTimeField(default=timezone.now)

    def __str__(self):
        return self.name


class Webhook(models.Model):
    """A program that is told that something happened in the space, without any words."""

    class Event(models.TextChoices):
        FACT = "fact", _("Facts")
        PROPOSAL = "proposal", _("Proposals")
        NIGHT = "night", _("Nights")
        QUARANTINE = "quarantine", _("Quarantine")
        ERASURE = "erasure", _("Erasures")

    space = models.ForeignKey(Space, models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = ArrayField(models.CharField(max_length=10, choices=Event.choices), default=list)
    # Signs the calls; sealed by the key of the installation.
    secret = models.TextField()
    by = models.CharField(max_length=160)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self):
        return self.url


class WebhookEvent(models.Model):
    """An event that waits to be told; written by a trigger, with the change itself."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="waiting")
    event = models.CharField(max_length=10)
    action = models.CharField(max_length=8)
    object_id = models.BigIntegerField()
    at = models.DateTimeField(default=timezone.now)

    def __str__(self):
        return f"{self.event} {self.object_id} {self.action}"


class WebhookDelivery(models.Model):
    """One call of a webhook: the events, and the answer."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    # [{"event": "fact", "action": "created", "id": 7, "at": "…"}, …]
    told = models.JSONField(default=list)
    attempts = models.PositiveSmallIntegerField(default=0)
    status = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    delivered_at = models.DateTimeField(null=True, blank=True)
    failed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["webhook", "-created_at"], name="webhook_recent")]

    def __str__(self):
        return f"{len(self.told)} to {self.webhook}"


class LlmCall(Content):
    """One call of a language model: what it was for, what it cost, whether it worked."""

    class Purpose(models.TextChoices):
        CHAT = "chat", _("Chat")
        SLEEP = "sleep", _("Night")
        EXPAND = "expand", _("Search words")
        EXTRACT = "extract", _("Fact finding")
        SUMMARISE = "summarise", _("Summary")

    space = models.ForeignKey(Space, models.CASCADE, related_name="llm_calls")
    chat = models.ForeignKey(Chat, models.SET_NULL, null=True, blank=True, related_name="llm_calls")
    message = models.ForeignKey(
        Message, models.SET_NULL, null=True, blank=True, related_name="llm_calls"
    )
    # A plain number: nights belong to `sleep`, which memory does not import.
    night_id = models.BigIntegerField(null=True, blank=True, db_index=True)
    purpose = models.CharField(max_length=9, choices=Purpose.choices)
    provider = models.CharField(max_length=32)
    model = models.CharField(max_length=120, blank=True)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    tokens_cached = models.PositiveIntegerField(default=0)
    # Null means the price of the model is not known.
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    ms = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=1)
    ok = models.BooleanField(default=True)
    error = ContentField(max_length=300, blank=True)
    trace = models.CharField(max_length=32, blank=True)
    # Question and answer, without secrets; empty unless the space keeps them for some days.
    prompt = ContentField(blank=True)
    answer = ContentField(blank=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["space", "-at"], name="llm_call_recent"),
            models.Index(fields=["at"], name="llm_call_at"),
        ]

    def __str__(self):
        return f"{self.purpose} by {self.provider} {self.model}"


class Breaker(models.Model):
    """Whether a model answers, shared by all workers. Failing too often opens it for a while."""

    provider = models.CharField(max_length=32)
    # The wrong model of one space says nothing about the models of others.
    model = models.CharField(max_length=120, blank=True)
    failures = models.PositiveIntegerField(default=0)
    # When the current row of failures began: names the outage, so that it is told once.
    failing_since = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    probed_at = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "model"], name="breaker_once"),
        ]

    def __str__(self):
        return f"{self.name}: {self.failures} failures"

    @property
    def name(self) -> str:
        return f"{self.provider} {self.model}".strip()
