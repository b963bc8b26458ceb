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
from django.utils.translation import gettext_lazy

from kenoweb.auth import sessions, throttle
from kenoweb.auth.throttle import client_ip
from kenoweb.models import Account, OneTimeLink
from memory import jobs, notices
from memory.history import audit
from memory.history.actors import person
from memory.models import Member, Space
from memory.spaces import service
from memory.spaces import service as spaces

Kind = OneTimeLink.Kind
MINUTES = timedelta(minutes=30)
DAYS = timedelta(days=7)
# Where each kind of link leads. Not by `reverse`: the start prints one, and would load all pages.
PATHS = {Kind.SETUP: "setup/%s/", Kind.SIGN_IN: "enter/%s/", Kind.INVITE: "join/%s/"}


class Spent(Exception):
    """This link has been used already, or its time is over."""

    def __str__(self):
        return str(gettext_lazy("This link has been used already, or its time is over."))


def sign_in_link(base_url: str, *, now: datetime | None = None) -> str:
    """The address to print at start: makes the first owner, or signs the owner in."""
    now = now or timezone.now()
    _sweep(now)
    owner = first_owner()
    if owner:
        secret = _make(Kind.SIGN_IN, now + MINUTES, user=owner)
        return base_url.rstrip("/") + path_of(Kind.SIGN_IN, secret)
    if not is_first_run():
        return base_url.rstrip("/") + reverse("account:sign_in")
    secret = _make(Kind.SETUP, now + MINUTES)
    return base_url.rstrip("/") + path_of(Kind.SETUP, secret)


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
    return path_of(Kind.INVITE, secret)


def path_of(kind: str, secret: str) -> str:
    return f"/{PATHS[Kind(kind)] % secret}"


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


def check_link(link: OneTimeLink, *, now: datetime | None = None) -> None:
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


class WrongPassword(Exception):
    """The name and the password do not match; `left` tries remain."""

    def __init__(self, left: int):
        self.left = left
        super().__init__("That name and password do not match.")


class NameTaken(Exception):
    """Somebody took the name between the look and the leap."""


class AlreadySetUp(Exception):
    """Keno has an owner already."""


def check(request: HttpRequest, *, name: str, password: str) -> User:
    """The person with this name and password. Costs a try, given back when it was right."""
    ip = client_ip(request)
    counted = throttle.counted_name(request, name)
    left = throttle.spend(counted, ip)
    # Unknown names are hashed too: the answer takes as long and says the same.
    user = authenticate(request, username=name, password=password)
    if user is None:
        audit.record("account.refused", actor="anonymous", ip=ip, account=_known(name))
        raise WrongPassword(left)
    throttle.refund(counted, ip)
    return user


@transaction.atomic
def create_owner(
    link: OneTimeLink,
    *,
    name: str,
    password: str,
    space: str,
    language: str,
    timezone: str,
    ip: str | None,
    called: str = "",
) -> User:
    """The first person and the first space. Of two who try at once, one becomes the owner."""
    if not lock_first_run():
        raise AlreadySetUp
    redeem(link)
    user = _create(name, password, language=language, called=called)
    audit.record("account.created", actor=person(name), obj=user, ip=ip, first=True)
    spaces.create(space, owner=user, language=language, timezone=timezone, ip=ip)
    return user


@transaction.atomic
def create_member(
    link: OneTimeLink, *, name: str, password: str, language: str, ip: str | None, called: str = ""
) -> User:
    """A new account for somebody who followed an invitation."""
    user = _create(name, password, language=language, called=called)
    audit.record("account.created", actor=person(name), obj=user, ip=ip)
    accept(link, user=user, ip=ip)
    return user


@transaction.atomic
def accept(link: OneTimeLink, *, user: User, ip: str | None) -> Member:
    """Become a member by invitation, and use the invitation up."""
    redeem(link)
    member = service.join(link.space, user=user, role=link.role, by=person(user), ip=ip)
    _announce(member)
    return member


@transaction.atomic
def enter(link: OneTimeLink, *, ip: str | None) -> User:
    """Use up a sign-in link; whom it signs in."""
    redeem(link)
    audit.record("account.signed_in", actor=person(link.user), obj=link.user, ip=ip, by="link")
    return link.user


@transaction.atomic
def change_password(user: User, *, password: str, ip: str | None) -> None:
    """Set the new password and end every session that knew the old one."""
    user.set_password(password)
    user.save(update_fields=["password"])
    sessions.end_everywhere(user)
    audit.record("account.password_changed", actor=person(user), obj=user, ip=ip)


@transaction.atomic
def held_spaces(user: User) -> list[Space]:
    """The spaces that would be without an owner if this person went."""
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
        raise service.LastOwner
    audit.record("account.deleted", actor=person(user), obj=user, ip=ip, words=words)
    sessions.end_everywhere(user)
    if not words:
        user.delete()
        return
    User.objects.filter(pk=user.pk).update(is_active=False)
    jobs.enqueue("kenoweb.delete_account", once=f"account-{user.pk}", user_id=user.pk)


def prefer(user: User, **choice: str) -> None:
    """Keep the language or the theme that the person chose."""
    account, _is_new = Account.objects.get_or_create(user=user)
    for field, value in choice.items():
        setattr(account, field, value)
    account.save(update_fields=list(choice))


def _create(name: str, password: str, *, language: str, called: str) -> User:
    try:
        with transaction.atomic():
            user = User.objects.create_user(name, password=password, first_name=called)
    except IntegrityError as error:
        raise NameTaken from error
    Account.objects.create(user=user, language=language)
    return user


def _announce(member: Member) -> None:
    notices.tell(
        member.space,
        kind="member_joined",
        key=f"member_joined:{member.pk}",
        text=lambda: (
            _("%(name)s joined. Role: %(role)s.")
            % {"name": member.user.username, "role": member.get_role_display()}
        ),
        link=reverse("members:index", args=[member.space.slug]),
    )


def _known(name: str) -> str:
    # Only names that exist: an unknown one may be a password in the wrong field.
    return User.objects.filter(username=name).values_list("username", flat=True).first() or ""
