import re
from functools import lru_cache

import pghistory
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.chat import Chat
from memory.models.fact import Fact
from memory.models.space import Space
from memory.text.kinship import relatives_in
from memory.text.normalise import fold


class EntityQuerySet(models.QuerySet):
    def whole(self) -> "EntityQuerySet":
        """Return the entities that are not merged into another one."""
        return self.filter(merged_into=None)

    def in_scope(self, chat: Chat | None) -> "EntityQuerySet":
        """Return the entities that this chat may know: its own and those of the whole space."""
        return self.filter(models.Q(chat=None) | models.Q(chat=chat))

    def named(self, *names: str) -> "EntityQuerySet":
        return self.filter(keys__overlap=[key_of(name) for name in names])


def key_of(name: str) -> str:
    """Return the form in which names are compared: "Lucía Méndez" is "lucia mendez"."""
    return " ".join(re.findall(r"\w+", fold(name)))[:120]


@pghistory.track(exclude=["keys"])
class Entity(models.Model):
    """A person, pet, place, project, organisation or thing that facts speak of.

    Two rows that turn out to be one are merged by a person: one points to the other and keeps its
    own names and facts, so that parting them loses nothing.
    """

    class Kind(models.TextChoices):
        PERSON = "person", _("Person")
        PET = "pet", _("Pet")
        PLACE = "place", _("Place")
        PROJECT = "project", _("Project")
        ORGANISATION = "organisation", _("Organisation")
        THING = "thing", _("Thing")

    # Without facts nobody sees it: there is nothing to take back.
    UNDO_CREATE: dict = {}

    space = models.ForeignKey(Space, models.CASCADE, related_name="entities")
    # Null means the whole space knows it; else only this chat speaks of it.
    chat = models.ForeignKey(Chat, models.CASCADE, null=True, blank=True, related_name="entities")
    name = models.CharField(max_length=120)
    aliases = ArrayField(models.CharField(max_length=120), default=list, blank=True)
    # All names as they are compared.
    keys = ArrayField(models.CharField(max_length=120), default=list, editable=False)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.PERSON)
    # Of "Ana's sister": the entity of Ana, and "sister", in English whatever the language.
    owner = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="relatives"
    )
    relation = models.CharField(max_length=32, blank=True)
    # Accounts of channels that are this person: ["telegram:7", "web:1"].
    accounts = ArrayField(models.CharField(max_length=161), default=list, blank=True)
    merged_into = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="merged"
    )
    # Named by a person: no machine renames it.
    sticky = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = EntityQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~models.Q(name=""), name="entity_has_a_name"),
            models.CheckConstraint(
                condition=~models.Q(merged_into=models.F("id")), name="entity_not_its_own"
            ),
        ]
        indexes = [
            models.Index(fields=["space", "name", "id"], name="entity_by_name"),
            GinIndex(fields=["keys"], name="entity_keys"),
            GinIndex(fields=["accounts"], name="entity_accounts"),
        ]

    def __str__(self):
        return self.name

    def save(self, *args, **options):
        self.set_keys()
        if (fields := options.get("update_fields")) is not None:
            options["update_fields"] = {*fields, "keys"}
        super().save(*args, **options)

    def set_keys(self) -> None:
        self.keys = [key for key in dict.fromkeys(map(key_of, [self.name, *self.aliases])) if key]

    @property
    def is_unnamed(self) -> bool:
        """Tell whether it is known only by a relation: "Ana's sister"."""
        return _only_says_whose(self.name)


@lru_cache(maxsize=4096)
def _only_says_whose(name: str) -> bool:
    return any(not relative.name for relative in relatives_in(name))


class Mention(models.Model):
    """A link from a fact to an entity: who said it, who it is about, who else is named.

    It follows from the fact's words and can be made again; a trigger drops it when they change.
    """

    class Role(models.TextChoices):
        ABOUT = "about", _("About")
        SPEAKER = "speaker", _("Said by")
        NAMED = "named", _("Named")

    fact = models.ForeignKey(Fact, models.CASCADE, related_name="mentions")
    # Null: the fact was read, and no entity is certain.
    entity = models.ForeignKey(Entity, models.CASCADE, null=True, related_name="mentions")
    role = models.CharField(max_length=7, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["fact", "role", "entity"], name="mention_once"),
        ]
        indexes = [models.Index(fields=["entity", "role"], name="mention_by_entity")]

    def __str__(self):
        return f"fact {self.fact_id} {self.role} {self.entity_id}"
