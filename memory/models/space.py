import secrets
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from datetime import date, datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pghistory
import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.timezone import now
from django.utils.translation import gettext_lazy as _

from memory import options
from memory.models.content import Content, ContentJSONField

APPEND_ONLY = [
    pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete),
    pgtrigger.Trigger(
        name="no_truncate",
        level=pgtrigger.Statement,
        when=pgtrigger.Before,
        operation=pgtrigger.Truncate,
        func="RAISE EXCEPTION 'no_truncate: the audit is never emptied';",
    ),
]


def _key() -> str:
    return secrets.token_hex(16)


Value = TypeVar("Value")
_turn_cache: ContextVar[dict | None] = ContextVar("turn_cache", default=None)
# {(space, name): (version of the space, value)}
_space_cache: dict[tuple[int, str], tuple[int, Any]] = {}
MAX_CACHED = 2000


@contextmanager
def one_turn() -> Iterator[None]:
    """Cache what `once` loads, while a message is answered."""
    token = _turn_cache.set({})
    try:
        yield
    finally:
        _turn_cache.reset(token)


def in_turn() -> bool:
    return _turn_cache.get() is not None


def clear_turn_cache() -> None:
    """Forget what the turn has loaded, after a transaction was rolled back."""
    if cache := _turn_cache.get():
        cache.clear()


def once(name: Hashable, load: Callable[[], Value]) -> Value:
    """Return load(), cached until the turn ends; outside of a turn it is not cached."""
    cache = _turn_cache.get()
    if cache is None:
        return load()
    if name not in cache:
        cache[name] = load()
    return cache[name]


def store_for_turn(name: Hashable, value: object) -> None:
    """Cache what was read along with something else, so that `once` does not load it."""
    if (cache := _turn_cache.get()) is not None:
        cache[name] = value


def get_or_load(space: "Space", name: str, load: Callable[[], Value]) -> Value:
    """Return load(); turns cache it over messages until the version of the space changes.

    Triggers increase the version with every change of its rules, preferences, identity, rulings
    and patterns, so that the next message sees it. Only for values that nobody changes in place.
    """
    if not in_turn():
        return load()
    cached = _space_cache.get((space.pk, name))
    if cached is None or cached[0] != space.version:
        if len(_space_cache) >= MAX_CACHED:
            _space_cache.clear()
        cached = _space_cache[space.pk, name] = (space.version, load())
    return cached[1]


@pghistory.track(exclude=["slug", "created_at", "audit_key", "version"])
class Space(models.Model):
    """A hard wall: nothing remembered in one space is ever seen in another."""

    # What was read of the settings, and what they were then.
    _options_read: tuple[tuple[dict, dict], options.Options] | None = None
    # A space is not undone; changes of its settings are.
    UNDO_CREATE = {}

    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=40, unique=True)
    language = models.CharField(max_length=8, default="en")
    timezone = models.CharField(max_length=64, default="UTC")
    settings = models.JSONField(default=dict, blank=True)
    # The key of the digests in the audit: once it is gone with its space, nobody can guess from
    # them what was said.
    audit_key = models.CharField(max_length=32, default=_key, editable=False)
    created_at = models.DateTimeField(default=now)
    # Set aside: it does not sleep and is not among the spaces to switch to.
    archived_at = models.DateTimeField(null=True, blank=True)
    # Triggers increase it with every change of what `get_or_load` keeps.
    version = models.BigIntegerField(default=0, editable=False)

    def __str__(self):
        return self.name

    @property
    def zone(self) -> ZoneInfo:
        """Return the time zone of the space, or UTC when the system does not know its name."""
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo("UTC")

    def local_date(self, now: datetime) -> date:
        return now.astimezone(self.zone).date()

    @property
    def options(self) -> options.Options:
        """Return the settings with every default filled in, typed and in range."""
        stored = settings.OPTION_DEFAULTS, self.settings
        # A turn asks for them thirty times.
        if self._options_read is None or self._options_read[0] != stored:
            self._options_read = deepcopy(stored), options.read(self.settings)
        return self._options_read[1]


class Member(models.Model):
    """A person's role in a space."""

    class Role(models.TextChoices):
        OWNER = "owner", _("Owner")
        CURATOR = "curator", _("Curator")
        VIEWER = "viewer", _("Viewer")

    space = models.ForeignKey(Space, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices)
    joined_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "user"], name="member_once_per_space"),
        ]

    def __str__(self):
        return f"{self.user} ({self.role}) in {self.space}"

    def may(self, role: str) -> bool:
        """Tell whether this member has at least this role."""
        ladder = [self.Role.VIEWER, self.Role.CURATOR, self.Role.OWNER]
        return ladder.index(self.role) >= ladder.index(role)


class SpaceKey(models.Model):
    """One version of the data key of a space, wrapped by the key of the installation."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="content_keys")
    version = models.PositiveIntegerField()
    salt = models.CharField(max_length=32)
    wrapped = models.TextField()
    made_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "version"], name="space_key_version_once"),
        ]

    def __str__(self):
        return f"{self.space_id}.{self.version}"


class SpaceEncryption(models.Model):
    """Whether a space is encrypted, and the progress of the job that rewrites its rows."""

    class Status(models.TextChoices):
        ENCRYPTING = "encrypting", _("Encrypting what was there before")
        ON = "on", _("Encrypted")
        DECRYPTING = "decrypting", _("Decrypting")
        OFF = "off", _("Not encrypted")

    space = models.OneToOneField(Space, models.CASCADE, related_name="encryption")
    # With which version of its key new words are written; null: in plain.
    version = models.PositiveIntegerField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OFF)
    # Where the job continues: {"table": 3, "after": 1200, "changed": 7}.
    position = models.JSONField(default=dict, blank=True)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    by = models.CharField(max_length=160, blank=True)
    changed_at = models.DateTimeField(default=now)
    done_at = models.DateTimeField(null=True, blank=True)

    def __str__(self):
        return f"{self.space_id}: {self.status}"

    @property
    def is_busy(self) -> bool:
        return self.status in (self.Status.ENCRYPTING, self.Status.DECRYPTING)


class ApiToken(models.Model):
    """A key for programs. Only its SHA-256 is kept; the token is shown once."""

    class Gate(models.TextChoices):
        """What becomes of what its program writes."""

        BELIEVE = "believe", _("Believe: it is memory at once")
        HOLD = "hold", _("Hold for me: it becomes a proposal")
        READ_ONLY = "read_only", _("Read only: it can ask, never write")

    # Set by api_tokens.find().
    member: Member | None = None

    space = models.ForeignKey(Space, models.CASCADE, related_name="tokens")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=32), default=list)
    gate = models.CharField(max_length=9, choices=Gate.choices, default=Gate.HOLD)
    # The id of a program connected by OAuth; its keys are the program's own.
    client = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "client"],
                condition=models.Q(revoked_at=None) & ~models.Q(client=""),
                name="a_client_is_connected_once",
            )
        ]

    def __str__(self):
        return f"{self.name} ({self.prefix}…)"


class ApiCall(Content):
    """The answer to a call with an idempotency key, repeated to the same call for a day."""

    SPACE = "token__space"

    token = models.ForeignKey(ApiToken, models.CASCADE, related_name="calls")
    key = models.CharField(max_length=255)
    # SHA-256 of the request: another one under the same key is a mistake.
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = ContentJSONField(default=dict)
    at = models.DateTimeField(default=now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="api_call_once")]

    def __str__(self):
        return f"{self.key} of {self.token_id}"


class AuditEntry(models.Model):
    """Who did or read what. The database refuses to change or delete a row."""

    # No database constraint: the entry outlives the space it speaks of.
    space = models.ForeignKey(
        Space, models.DO_NOTHING, null=True, blank=True, related_name="audit", db_constraint=False
    )
    at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=160)
    action = models.CharField(max_length=64)
    object_type = models.CharField(max_length=32, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    before_digest = models.CharField(max_length=64, blank=True)
    after_digest = models.CharField(max_length=64, blank=True)
    ip = models.GenericIPAddressField(null=True, blank=True)
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["space", "-at"], name="audit_recent"),
            # A few imports among the readings of every reply.
            models.Index(
                fields=["space", "-at"],
                name="audit_imports",
                condition=models.Q(action__in=["import", "import.undone"]),
            ),
        ]
        triggers = APPEND_ONLY

    def __str__(self):
        return f"{self.actor} {self.action} {self.object_type} {self.object_id}"


class AuditSeal(models.Model):
    """An entry of the audit in its chain: a digest of it and of the seal before.

    Entries are sealed after they are committed, so that writers do not wait for each other.
    """

    entry = models.OneToOneField(
        AuditEntry, models.DO_NOTHING, related_name="seal", db_constraint=False
    )
    # Of the details alone, under the salt: erasing words from them erases the salt, so that
    # nobody finds the words by guessing.
    salt = models.CharField(max_length=32, blank=True)
    details_digest = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        triggers = APPEND_ONLY

    def __str__(self):
        return f"{self.pk} {self.digest[:12]}"


class ChatLink(models.Model):
    """A person of a channel is a member of the space. Until its code is used it is an offer."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="chat_links")
    member = models.ForeignKey(Member, models.CASCADE, related_name="chat_links")
    # SHA-256 of the code, which is shown once.
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    channel = models.CharField(max_length=32, blank=True)
    author_id = models.CharField(max_length=128, blank=True)
    author = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    linked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "channel", "author_id"],
                condition=models.Q(linked_at__isnull=False),
                name="chat_link_once",
            ),
        ]

    def __str__(self):
        return f"{self.channel} {self.author or self.author_id} is {self.member}"
