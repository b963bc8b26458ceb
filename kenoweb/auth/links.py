"""One-time links: the first owner, a sign-in from the console, an invitation."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kenoweb.models import OneTimeLink
from memory.history import audit
from memory.history.actors import person
from memory.models import Member, Space

Kind = OneTimeLink.Kind
MINUTES = timedelta(minutes=30)
DAYS = timedelta(days=7)
PAGE = {Kind.SETUP: "links:setup", Kind.SIGN_IN: "links:enter", Kind.INVITE: "links:join"}


class Spent(Exception):
    """This link has been used already, or its time is over."""

    def __str__(self):
        return str(_("This link has been used already, or its time is over."))


def sign_in_link(base_url: str, *, now: datetime | None = None) -> str:
    """The address to print at start: makes the first owner, or signs the owner in."""
    now = now or timezone.now()
    _sweep(now)
    owner = first_owner()
    if owner:
        secret = _make(Kind.SIGN_IN, now + MINUTES, user=owner)
        return base_url.rstrip("/") + reverse(PAGE[Kind.SIGN_IN], args=[secret])
    if not is_first_run():
        return base_url.rstrip("/") + reverse("account:sign_in")
    secret = _make(Kind.SETUP, now + MINUTES)
    return base_url.rstrip("/") + reverse(PAGE[Kind.SETUP], args=[secret])


def invite(
    space: Space,
    *,
    role: str,
    by: User,
    label: str = "",
    ip: str | None = None,
    now: datetime | None = None,
) -> str:
    """The path of a link that makes one person a member; good for seven days."""
    now = now or timezone.now()
    _sweep(now)
    with transaction.atomic():
        secret = _make(Kind.INVITE, now + DAYS, space=space, role=role, label=label, made_by=by)
        audit.record("member.invited", actor=person(by), space=space, ip=ip, role=role)
    return reverse(PAGE[Kind.INVITE], args=[secret])


def withdraw(link: OneTimeLink, *, by: str, ip: str | None = None) -> bool:
    """Close an invitation that nobody has used yet."""
    with transaction.atomic():
        closed, _rows = OneTimeLink.objects.filter(pk=link.pk, used_at=None).delete()
        if closed:
            audit.record("invitation.withdrawn", actor=by, space=link.space, ip=ip, role=link.role)
    return bool(closed)


def find(secret: str, *, kind: str) -> OneTimeLink | None:
    links = OneTimeLink.objects.exclude(user__is_active=False)
    links = links.select_related("space", "user", "made_by")
    return links.filter(kind=kind, digest=_digest(secret)).first()


def check(link: OneTimeLink, *, now: datetime | None = None) -> None:
    """Raise unless the link can still be used; uses nothing up."""
    if link.used_at or link.expires_at <= (now or timezone.now()):
        raise Spent


def redeem(link: OneTimeLink, *, now: datetime | None = None) -> None:
    """Use the link up. Call it inside the transaction that does what the link is for."""
    now = now or timezone.now()
    # One UPDATE guarded by used_at: of two browsers with the same link one wins.
    unused = OneTimeLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=now)
    if not unused.update(used_at=now):
        raise Spent


def is_first_run() -> bool:
    return not User.objects.exists()


def lock_first_run() -> bool:
    """Wait for any other first run in this transaction; whether there is still no user."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('keno.first.owner'))")
    return is_first_run()


def first_owner() -> User | None:
    owners = Member.objects.filter(role=Member.Role.OWNER, user__is_active=True)
    member = owners.select_related("user").order_by("joined_at", "pk").first()
    return member.user if member else None


def waiting(space: Space, *, now: datetime | None = None):
    """Invitations to the space that can still be used."""
    return space.invitations.filter(
        used_at=None, expires_at__gt=now or timezone.now()
    ).select_related("made_by")


def _make(kind: str, expires_at: datetime, **fields) -> str:
    secret = secrets.token_urlsafe(32)
    OneTimeLink.objects.create(kind=kind, digest=_digest(secret), expires_at=expires_at, **fields)
    return secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _sweep(now: datetime) -> None:
    # Kept a month after their end, so that an old link still gets its honest sentence.
    old = now - timedelta(days=30)
    OneTimeLink.objects.filter(Q(expires_at__lt=old) | Q(used_at__lt=old)).delete()
