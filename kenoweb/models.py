from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models import Member, Space


class Account(models.Model):
    """What Keno keeps about a person beside name and password."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="account"
    )
    # Chosen once, used by every browser the person signs in with; empty means never chosen.
    language = models.CharField(max_length=8, blank=True)
    theme = models.CharField(max_length=8, blank=True)
    # A session that began under another epoch is over: raising it signs out everywhere.
    epoch = models.PositiveIntegerField(default=0)
    # The second factor: sealed secret (empty: none), last step used, digests of recovery codes.
    totp_secret = models.CharField(max_length=255, blank=True)
    totp_step = models.BigIntegerField(default=0)
    recovery = models.JSONField(default=list, blank=True)


class Passkey(models.Model):
    """The public half of a key that a device of this person keeps (WebAuthn)."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=60)
    credential_id = models.CharField(max_length=1400, unique=True)
    public_key = models.TextField()
    # How often the device says it was used; 0 when it does not count.
    counter = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["created_at", "pk"]


class OidcAccount(models.Model):
    """An account of another site (OpenID Connect) that this person signs in with."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="oidc_accounts")
    issuer = models.CharField(max_length=300)
    subject = models.CharField(max_length=255)
    linked_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="oidc_subject_once"),
            models.UniqueConstraint(fields=["issuer", "user"], name="oidc_user_once"),
        ]


class OneTimeLink(models.Model):
    """A door that opens once. Only the SHA-256 of its secret is kept."""

    class Kind(models.TextChoices):
        SETUP = "setup", _("First run")
        SIGN_IN = "sign_in", _("Sign in")
        INVITE = "invite", _("Invitation")

    kind = models.CharField(max_length=7, choices=Kind.choices)
    digest = models.CharField(max_length=64, unique=True)
    # The person that a sign-in link signs in.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )
    # Where an invitation leads, and as what.
    space = models.ForeignKey(
        Space, models.CASCADE, null=True, blank=True, related_name="invitations"
    )
    role = models.CharField(max_length=8, blank=True, choices=Member.Role.choices)
    label = models.CharField(max_length=120, blank=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(kind="invite")
                | models.Q(space__isnull=False) & ~models.Q(role=""),
                name="invitation_leads_somewhere",
            ),
            models.CheckConstraint(
                condition=~models.Q(kind="sign_in") | models.Q(user__isnull=False),
                name="sign_in_link_is_for_somebody",
            ),
        ]


class TokenBucket(models.Model):
    """How many tries are left for one account or one address."""

    key = models.CharField(max_length=64, primary_key=True)
    tokens = models.FloatField()
    updated_at = models.DateTimeField()
