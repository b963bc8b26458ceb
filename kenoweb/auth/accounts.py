"""Accounts: one-time links, making them, opening them with a password, changing it."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.auth import sessions, throttle
from kenoweb.auth.throttle import client_ip
from kenoweb.models import Account, OneTimeLink
from memory import jobs, notices
from memory.history import audit
from memory.history.actors import person
from memory.models import Member, Space
from memory.spaces import service as spaces

Kind = OneTimeLink.Kind
SIGN_IN_VALID = timedelta(minutes=30)
INVITATION_VALID = timedelta(days=7)
# Expired links stay a month, so that an old link still gets its honest sentence.
KEPT_AFTER_END = timedelta(days=30)
# Where each kind of link leads. Not by `reverse`: the start prints one, and would load all pages.
PATHS = {Kind.SETUP: "setup/%s/", Kind.SIGN_IN: "enter/%s/", Kind.INVITE: "join/%s/"}


class Spent(Exception):
    """This link has been used already, or its time is over."""


def sign_in_link(base_url: str, *, now: datetime | None = None) -> str:
    """Return the address to print at start: it makes the first owner, or signs the owner in."""
    now = now or timezone.now()
    owners = Member.objects.filter(role=Member.Role.OWNER, user__is_active=True)
    if owner := owners.select_related("user").order_by("joined_at", "pk").first():
        path = _make(Kind.SIGN_IN, now, SIGN_IN_VALID, user=owner.user)
    elif is_first_run():
        path = _make(Kind.SETUP, now, SIGN_IN_VALID)
    else:
        path = reverse("account:sign_in")
    return base_url.rstrip("/") + path


@transaction.atomic
def invite(
    space: Space,
    *,
    role: str,
    by: User,
    label: str = "",
    ip: str | None = None,
    now: datetime | None = None,
) -> str:
    """Return the path of a link that makes one person a member; valid for seven days."""
    fields = {"space": space, "role": role, "label": label, "made_by": by}
    path = _make(Kind.INVITE, now or timezone.now(), INVITATION_VALID, **fields)
    audit.record("member.invited", actor=person(by), space=space, ip=ip, role=role)
    return path


def path_of(kind: str, secret: str) -> str:
    return f"/{PATHS[Kind(kind)] % secret}"


@transaction.atomic
def withdraw(link: OneTimeLink, *, by: str, ip: str | None = None) -> bool:
    closed, _rows = OneTimeLink.objects.filter(pk=link.pk, used_at=None).delete()
    if closed:
        audit.record("invitation.withdrawn", actor=by, space=link.space, ip=ip, role=link.role)
    return bool(closed)


def find(secret: str, *, kind: str) -> OneTimeLink | None:
    links = OneTimeLink.objects.exclude(user__is_active=False)
    links = links.select_related("space", "user", "made_by")
    return links.filter(kind=kind, digest=_digest(secret)).first()


def check_link(link: OneTimeLink, *, now: datetime | None = None) -> None:
    """Raise unless the link can still be used; uses nothing up."""
    if link.used_at or link.expires_at <= (now or timezone.now()):
        raise Spent


def redeem(link: OneTimeLink, *, now: datetime | None = None) -> None:
    """Use the link up. Call it inside the transaction that does what the link is for."""
    now = now or timezone.now()
    # One UPDATE guarded by used_at: of two browsers with the same link, one wins.
    unused = OneTimeLink.objects.filter(pk=link.pk, used_at=None, expires_at__gt=now)
    if not unused.update(used_at=now):
        raise Spent


def is_first_run() -> bool:
    return not User.objects.exists()


def waiting(space: Space, *, now: datetime | None = None):
    """Return invitations to the space that can still be used."""
    unused = space.invitations.filter(used_at=None, expires_at__gt=now or timezone.now())
    return unused.select_related("made_by")


def _make(kind: str, now: datetime, valid: timedelta, **fields) -> str:
    """Make a link and return its path; delete links that ended long ago."""
    old = now - KEPT_AFTER_END
    OneTimeLink.objects.filter(Q(expires_at__lt=old) | Q(used_at__lt=old)).delete()
    secret = secrets.token_urlsafe(32)
    digest = _digest(secret)
    OneTimeLink.objects.create(kind=kind, digest=digest, expires_at=now + valid, **fields)
    return path_of(kind, secret)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class WrongPassword(Exception):
    """The name and the password do not match; `left` tries remain."""

    def __init__(self, left: int):
        self.left = left
        super().__init__("That name and password do not match.")


class NameTaken(Exception):
    """The name was taken after it had been checked."""


class AlreadySetUp(Exception):
    """Keno has an owner already."""


def check(request: HttpRequest, *, name: str, password: str) -> User:
    """Return the person with this name and password. A wrong password costs a try."""
    ip = client_ip(request)
    counted = throttle.counted_name(request, name)
    left = throttle.spend(counted, ip)
    # Unknown names are hashed too: the answer takes as long and says the same.
    user = authenticate(request, username=name, password=password)
    if user is None:
        # Record only names that exist: an unknown one may be a password in the wrong field.
        existing = User.objects.filter(username=name).exists()
        account = name if existing else ""
        audit.record("account.refused", actor="anonymous", ip=ip, account=account)
        raise WrongPassword(left)
    throttle.refund(counted, ip)
    return user


@transaction.atomic
def create_owner(
    link: OneTimeLink, *, space: str, timezone: str, language: str, ip: str | None, **account: str
) -> User:
    """Make the first person and the first space. Of two at once, one becomes the owner."""
    with connection.cursor() as cursor:
        # Wait for any other first run.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('keno.first.owner'))")
    if not is_first_run():
        raise AlreadySetUp
    redeem(link)
    user = _create(language=language, ip=ip, details={"first": True}, **account)
    spaces.create(space, owner=user, language=language, timezone=timezone, ip=ip)
    return user


@transaction.atomic
def create_member(link: OneTimeLink, *, language: str, ip: str | None, **account: str) -> User:
    user = _create(language=language, ip=ip, details={}, **account)
    accept(link, user=user, ip=ip)
    return user


@transaction.atomic
def accept(link: OneTimeLink, *, user: User, ip: str | None) -> Member:
    redeem(link)
    member = spaces.join(link.space, user=user, role=link.role, by=person(user), ip=ip)
    notices.tell(
        member.space,
        kind="member_joined",
        key=f"member_joined:{member.pk}",
        text=lambda: (
            _("%(name)s joined. Role: %(role)s.")
            % {"name": user.username, "role": member.get_role_display()}
        ),
        link=reverse("members:index", args=[member.space.slug]),
    )
    return member


@transaction.atomic
def enter(link: OneTimeLink, *, ip: str | None) -> User:
    """Use up a sign-in link; return whom it signs in."""
    redeem(link)
    audit.record("account.signed_in", actor=person(link.user), obj=link.user, ip=ip, by="link")
    return link.user


@transaction.atomic
def change_password(user: User, *, password: str, ip: str | None) -> None:
    user.set_password(password)
    user.save(update_fields=["password"])
    sessions.end_everywhere(user)
    audit.record("account.password_changed", actor=person(user), obj=user, ip=ip)


def held_spaces(user: User) -> list[Space]:
    """Return the spaces that would be without an owner if this person left."""
    owners = Member.objects.filter(role=Member.Role.OWNER)
    mine = owners.filter(user=user).values("space")
    others = owners.exclude(user=user).values("space")
    return list(Space.objects.filter(pk__in=mine).exclude(pk__in=others).order_by("name"))


@transaction.atomic
def delete(user: User, *, words: bool = False, ip: str | None = None) -> None:
    """Delete the account; with `words` a job erases first what the person said in every space.

    Raises LastOwner while a space would be without an owner.
    """
    if held_spaces(user):
        raise spaces.LastOwner
    audit.record("account.deleted", actor=person(user), obj=user, ip=ip, words=words)
    sessions.end_everywhere(user)
    if not words:
        user.delete()
        return
    User.objects.filter(pk=user.pk).update(is_active=False)
    jobs.enqueue("kenoweb.delete_account", once=f"account-{user.pk}", user_id=user.pk)


def prefer(user: User, **choice: str) -> None:
    account, _is_new = Account.objects.get_or_create(user=user)
    for field, value in choice.items():
        setattr(account, field, value)
    account.save(update_fields=list(choice))


def _create(
    *, name: str, password: str, called: str = "", language: str, ip: str | None, details: dict
) -> User:
    try:
        with transaction.atomic():
            user = User.objects.create_user(name, password=password, first_name=called)
    except IntegrityError as error:
        raise NameTaken from error
    Account.objects.create(user=user, language=language)
    audit.record("account.created", actor=person(name), obj=user, ip=ip, **details)
    return user
