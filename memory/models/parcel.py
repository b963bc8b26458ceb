from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.space import Space


class Parcel(models.Model):
    """One file on its way into a space or out of it. It is gone a day later."""

    class Way(models.TextChoices):
        IN = "in", _("Import")
        OUT = "out", _("Export")

    class Status(models.TextChoices):
        LOOKING = "looking", _("Being looked at")
        READY = "ready", _("Waits for you")
        APPLYING = "applying", _("Being imported")
        APPLIED = "applied", _("Imported")
        UNDOING = "undoing", _("Being taken back")
        UNDONE = "undone", _("Taken back")
        REFUSED = "refused", _("Refused")
        PACKING = "packing", _("Being written")
        PACKED = "packed", _("Ready to download")

    # What a job is at work on, or will be.
    BUSY = (Status.LOOKING, Status.APPLYING, Status.UNDOING, Status.PACKING)

    space = models.ForeignKey(Space, models.CASCADE, related_name="parcels")
    way = models.CharField(max_length=3, choices=Way.choices, default=Way.IN)
    status = models.CharField(max_length=8, choices=Status.choices)
    name = models.CharField(max_length=200)
    size = models.BigIntegerField(default=0)
    # What the person said it is, and what it turned out to be.
    asked = models.CharField(max_length=16, default="auto")
    format = models.CharField(max_length=16, blank=True)
    guild = models.CharField(max_length=80, blank=True)
    # The language of whoever asked: a worker has none of its own.
    language = models.CharField(max_length=8, default="en")
    by = models.CharField(max_length=160)
    problem = models.TextField(blank=True)
    # {"fact": {"taken": 12, "skipped": 3}, …}; of an export {"facts": {"written": 12}, …}
    counts = models.JSONField(default=dict, blank=True)
    # The change that the import made: undo asks for it.
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
    """A part of the file: in the database, so that whichever worker takes the job has it."""

    parcel = models.ForeignKey(Parcel, models.CASCADE, related_name="pieces")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["parcel", "number"], name="piece_once")]

    def __str__(self):
        return f"{self.parcel} {self.number}"


class ParcelLine(models.Model):
    """One line of the report of an import: what was found, and what becomes of it."""

    parcel = models.ForeignKey(Parcel, models.CASCADE, related_name="lines")
    number = models.PositiveIntegerField()
    place = models.TextField()
    kind = models.CharField(max_length=40)
    verdict = models.CharField(max_length=12)
    text = models.TextField(blank=True)
    why = models.TextField(blank=True)
    count = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["parcel", "number"], name="line_once")]
        indexes = [models.Index(fields=["parcel", "verdict", "number"], name="line_by_verdict")]

    def __str__(self):
        return f"{self.place}: {self.verdict}"
