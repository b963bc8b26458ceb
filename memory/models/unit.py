from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils.translation import gettext_lazy as _
from pgvector.django import VectorField

from memory.models.chat import Chat
from memory.models.space import Space

LIVE = models.Q(live=True)


class Unit(models.Model):
    """One searchable piece of memory: what recall looks at instead of three tables.

    Database triggers on facts, episodes and messages keep it, so that no bulk insert, import or
    raw SQL can leave a memory without words. Nothing else writes it.
    """

    class Kind(models.TextChoices):
        FACT = "fact", _("Fact")
        EPISODE = "episode", _("Episode")
        MESSAGE = "message", _("Message")

    kind = models.CharField(max_length=7, choices=Kind.choices)
    owner_id = models.BigIntegerField()
    space = models.ForeignKey(Space, models.CASCADE, related_name="units", db_index=False)
    chat = models.ForeignKey(
        Chat, models.CASCADE, null=True, blank=True, related_name="units", db_index=False
    )
    # Who may see it, as one number: the id of the chat, or shared(space) for the whole space.
    scope = models.BigIntegerField()
    # The same with anywhere(space) beside it: what the word index filters by.
    scopes = models.GeneratedField(
        expression=models.Func(
            "scope", -2 * models.F("space") - 1, template="ARRAY[%(expressions)s]::bigint[]"
        ),
        output_field=ArrayField(models.BigIntegerField()),
        db_persist=True,
    )
    episode_id = models.BigIntegerField(null=True, blank=True)
    # The author of a message or the subject of a fact, folded, to match names in a question.
    speaker = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField()
    until = models.DateTimeField()
    pinned = models.BooleanField(default=False)
    # False when archived, superseded, quarantined or in the trash; then it has no words.
    live = models.BooleanField(default=True)
    words = SearchVectorField(null=True)
    # The hash of the text of the stored vectors: another one makes them stale.
    text_hash = models.CharField(max_length=32)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "owner_id"], name="unit_once_per_owner"),
        ]
        indexes = [
            # Without a pending list: it would have to be read through by every search.
            GinIndex(fields=["scopes", "words"], name="unit_words", fastupdate=False),
            models.Index(fields=["scope", "kind", "-at"], name="unit_recent", condition=LIVE),
            models.Index(
                fields=["scope"], name="unit_pinned", condition=models.Q(live=True, pinned=True)
            ),
            models.Index(
                models.F("scope"),
                models.Func("speaker", models.Value(" "), 1, function="split_part"),
                name="unit_by_first_name",
                condition=LIVE & ~models.Q(speaker=""),
            ),
            models.Index(
                fields=["episode_id", "at", "id"],
                name="unit_by_episode",
                condition=models.Q(live=True, kind="message"),
            ),
            models.Index(fields=["space"], name="unit_by_space"),
        ]

    def __str__(self):
        return f"{self.kind} {self.owner_id}"


def shared(space_id: int) -> int:
    """Return the scope of what the whole space knows."""
    return -2 * space_id


def anywhere(space_id: int) -> int:
    """Return the scope of every unit of the space: for its owner, never for a reply."""
    return -2 * space_id - 1


class EmbeddingModel(models.Model):
    """A model whose vectors are stored. Recall uses the active one; another may be in progress."""

    name = models.CharField(max_length=160, unique=True)
    provider = models.CharField(max_length=16)
    model = models.CharField(max_length=120, blank=True)
    dims = models.PositiveIntegerField()
    active = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["active"], condition=models.Q(active=True), name="embedding_one_active"
            ),
        ]

    def __str__(self):
        return self.name


class Embedding(models.Model):
    """What a unit means, as one model says it. One partial HNSW index a model."""

    # The database deletes it with its unit, also under raw SQL: see the migration.
    unit = models.ForeignKey(
        Unit, models.CASCADE, related_name="embeddings", db_index=False, db_constraint=False
    )
    model = models.CharField(max_length=160)
    dims = models.PositiveSmallIntegerField()
    # Beside the vector, because an index scan cannot look into another table.
    kind = models.CharField(max_length=7, default="")
    space = models.ForeignKey(Space, models.CASCADE, related_name="+", db_index=False)
    scope = models.BigIntegerField()
    live = models.BooleanField(default=True)
    text_hash = models.CharField(max_length=32)
    vector = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["unit", "model"], name="embedding_once_per_model"),
        ]
        indexes = [
            models.Index(
                fields=["space", "scope", "model"], name="embedding_by_scope", condition=LIVE
            ),
        ]

    def __str__(self):
        return f"{self.unit_id} by {self.model}"
