from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pghistory
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.timezone import now
from django.utils.translation import gettext_lazy as _

from memory import options


@pghistory.track(exclude=["slug", "created_at"])
class Space(models.Model):
    """A hard wall: nothing remembered in one space is ever seen in another."""

    # A space is not undone; changes of its settings are.
    UNDO_CREATE = {}

    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=40, unique=True)
    language = models.CharField(max_length=8, default="en")
    timezone = models.CharField(max_length=64, default="UTC")
    settings = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(default=now)

    def __str__(self):
        return self.name

    @property
    def zone(self) -> ZoneInfo:
        """The clock of the space; UTC when its name is no longer known."""
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo("UTC")

    @property
    def options(self) -> options.Options:
        """The settings with every default filled in, typed and in range."""
        return options.read(self.settings)


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
        """Whether this member has at least the given role."""
        ladder = [self.Role.VIEWER, self.Role.CURATOR, self.Role.OWNER]
        return ladder.index(self.role) >= ladder.index(role)


class ApiToken(models.Model):
    """A key for programs. Only its SHA-256 is kept; the token is shown once."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="tokens")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=32), default=list)
    created_at = models.DateTimeField(default=now)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self):
        return f"{self.name} ({self.prefix}…)"
