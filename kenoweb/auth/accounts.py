"""Accounts: making them, opening them with a password, changing it."""

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from kenoweb.auth import links, sessions, throttle
from kenoweb.auth.client_ip import client_ip
from kenoweb.models import Account, OneTimeLink
from memory import notices
from memory.history import audit
from memory.history.actors import person
from memory.models import Member
from memory.spaces import members
from memory.spaces import service as spaces


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
    left = throttle.spend(name, ip)
    # Unknown names are hashed too: the answer takes as long and says the same.
    user = authenticate(request, username=name, password=password)
    if user is None:
        audit.record("account.refused", actor="anonymous", ip=ip, account=_known(name))
        raise WrongPassword(left)
    throttle.refund(name, ip)
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
) -> User:
    """The first person and the first space. Of two who try at once, one becomes the owner."""
    if not links.lock_first_run():
        raise AlreadySetUp
    links.redeem(link)
    user = _create(name, password, language=language)
    audit.record("account.created", actor=person(name), obj=user, ip=ip, first=True)
    spaces.create(space, owner=user, language=language, timezone=timezone, ip=ip)
    return user


@transaction.atomic
def create_member(
    link: OneTimeLink, *, name: str, password: str, language: str, ip: str | None
) -> User:
    """A new account for somebody who followed an invitation."""
    user = _create(name, password, language=language)
    audit.record("account.created", actor=person(name), obj=user, ip=ip)
    accept(link, user=user, ip=ip)
    return user


@transaction.atomic
def accept(link: OneTimeLink, *, user: User, ip: str | None) -> Member:
    """Become a member by invitation, and use the invitation up."""
    links.redeem(link)
    member = members.join(link.space, user=user, role=link.role, by=person(user), ip=ip)
    _announce(member)
    return member


@transaction.atomic
def enter(link: OneTimeLink, *, ip: str | None) -> User:
    """Use up a sign-in link; whom it signs in."""
    links.redeem(link)
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
def prefer(user: User, **choice: str) -> None:
    """Keep the language or the theme that the person chose."""
    account, _is_new = Account.objects.get_or_create(user=user)
    for field, value in choice.items():
        setattr(account, field, value)
    account.save(update_fields=list(choice))


def _create(name: str, password: str, *, language: str) -> User:
    try:
        with transaction.atomic():
            user = User.objects.create_user(name, password=password)
    except IntegrityError as error:
        raise NameTaken from error
    Account.objects.create(user=user, language=language)
    return user


def _announce(member: Member) -> None:
    # Read later and by others: in the language of the space, not of the newcomer.
    with translation.override(member.space.language):
        said = {"name": member.user.username, "role": member.get_role_display()}
        text = _("%(name)s joined. Role: %(role)s.") % said
    link = reverse("members:index", args=[member.space.slug])
    notices.tell(
        member.space, kind="member_joined", key=f"member_joined:{member.pk}", text=text, link=link
    )


def _known(name: str) -> str:
    # Only names that exist: an unknown one may be a password in the wrong field.
    return User.objects.filter(username=name).values_list("username", flat=True).first() or ""
