"""Spaces, the walls between memories, and their members."""

import secrets
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone as clock
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from memory import jobs, options
from memory.history import audit, rows
from memory.history import changes as history
from memory.history.actors import person
from memory.history.changes import ChangeResult
from memory.models import AuditEntry, Member, Space

SLUG_LENGTH = 40
UNDOABLE = ("member.removed", "member.role_changed")


@transaction.atomic
def create(
    name: str, *, owner: User, language: str = "en", timezone: str = "UTC", ip: str | None = None
) -> Space:
    # Two people may choose the same name at once: the second waits here, then sees the first.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('keno.space.slug'))")
    space = Space.objects.create(
        name=name, slug=_free_slug(name, owner), language=language, timezone=timezone
    )
    member = Member.objects.create(space=space, user=owner, role=Member.Role.OWNER)
    audit.record("space.created", actor=person(owner), space=space, obj=member, ip=ip)
    return space


@transaction.atomic
def revise(
    space: Space, *, by: str, name: str, language: str, timezone: str, ip: str | None = None
) -> ChangeResult:
    """Change name, language or time zone. The slug stays, so that links keep working."""
    after: dict[str, Any] = {"name": name, "language": language, "timezone": timezone}
    before = {field: getattr(space, field) for field in after}
    done = rows.change(space, by=by, why="settings of the space", **after)
    if done.changed:
        details: dict[str, Any] = {"before": before, "after": after, "ip": ip}
        audit.record("space.revised", actor=by, space=space, obj=space, **details)
    return done


@transaction.atomic
def archive(space: Space, *, by: str, archived: bool = True, ip: str | None = None) -> ChangeResult:
    """Archive a space, or bring it back: it keeps everything and does not sleep meanwhile."""
    if bool(space.archived_at) == archived:
        return ChangeResult(space, outcome="unchanged")
    why = "archive the space" if archived else "bring the space back"
    action = "space.archived" if archived else "space.unarchived"
    audit.record(action, actor=by, space=space, obj=space, ip=ip)
    return rows.change(space, by=by, why=why, archived_at=clock.now() if archived else None)


class BadSetting(ValueError):
    """A setting that cannot have this value."""


@transaction.atomic
def configure(
    space: Space, *, by: str, values: dict[str, Any], ip: str | None = None
) -> ChangeResult:
    """Set these settings of the space, all or none. Defaults are not stored."""
    for name, value in values.items():
        if problem := options.validation_error(name, value):
            raise BadSetting(problem)
    rows.lock(space)
    defaults = options.read({})
    after = space.settings | values
    after = {n: v for n, v in after.items() if n not in values or v != getattr(defaults, n)}
    if after == space.settings:
        return ChangeResult(space, outcome="unchanged")
    details: dict[str, Any] = {"before": space.settings, "after": after, "ip": ip}
    audit.record("space.configured", actor=by, space=space, obj=space, **details)
    jobs.ask_golden(space.pk, "model")
    return rows.change(space, by=by, why="memory settings", settings=after)


def _free_slug(name: str, owner: User) -> str:
    """Return a free slug; with a random end beside spaces of others, to reveal nothing of them."""
    stem = slugify(name)[:SLUG_LENGTH].strip("-") or "space"
    taken = set(Space.objects.filter(slug__startswith=stem[:30]).values_list("slug", flat=True))
    short = stem[: SLUG_LENGTH - 6]
    if Space.objects.exclude(members__user=owner).exists():
        ends = (f"{short}-{secrets.token_hex(2)}" for _try in range(1000))
        return next(slug for slug in ends if slug not in taken)
    candidates = (f"{short}-{number}" for number in range(2, 10_000))
    return stem if stem not in taken else next(slug for slug in candidates if slug not in taken)


@transaction.atomic
def erase(space: Space, *, typed: str, by: str) -> dict[str, int]:
    """Delete a space and everything in it for good; return the number of rows by table.

    The caller types its exact name.
    """
    if typed != space.name:
        raise WrongName(f"Type the exact name of the space to erase it: {space.name}")
    audit.record("space.erased", actor=by, space=space, obj=space)
    gone, chats = space.pk, list(space.chats.values_list("pk", flat=True))
    _total, counts = space.delete()
    # Afterwards: deleting sets links to null, and triggers write events of that, too.
    history.erase_space(gone, chats=chats)
    return counts


class WrongName(ValueError):
    """What was typed is not the name of the space."""


class Refused(Exception):
    """A change of membership that cannot be made, with a sentence that says why."""

    message = ""

    def __str__(self):
        return str(self.message)


class LastOwner(Refused):
    message = _("A space needs an owner. Make someone else an owner first.")


class NotAMember(Refused):
    message = _("This person is no longer a member of the space.")


class CannotUndo(Refused):
    message = _("This can no longer be undone: the membership has changed since.")


@transaction.atomic
def join(space: Space, *, user: User, role: str, by: str, ip: str | None = None) -> Member:
    """Add the person; an existing member keeps their role."""
    member, new = Member.objects.get_or_create(space=space, user=user, defaults={"role": role})
    if new:
        details: dict[str, Any] = {"user": user.pk, "role": role, "ip": ip}
        audit.record("member.joined", actor=by, space=space, obj=member, **details)
    return member


@transaction.atomic
def change_role(member: Member, *, role: str, by: str, ip: str | None = None) -> AuditEntry | None:
    """Change the member's role; return the entry that undoes it, None when nothing changed."""
    member = _lock(member)
    if member.role == role:
        return None
    keep_an_owner(member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    details: dict[str, Any] = {"user": member.user_id, "was": before, "now": role, "ip": ip}
    details |= {"before": before, "after": role}
    return audit.record("member.role_changed", actor=by, space=member.space, obj=member, **details)


@transaction.atomic
def remove(member: Member, *, by: str, ip: str | None = None) -> AuditEntry:
    """Remove the person from the space; return the entry that undoes it."""
    member = _lock(member)
    keep_an_owner(member)
    details: dict[str, Any] = {"before": member.role, "user": member.user_id, "was": member.role}
    details["ip"] = ip
    entry = audit.record("member.removed", actor=by, space=member.space, obj=member, **details)
    member.delete()
    return entry


@transaction.atomic
def undo(entry: AuditEntry, *, by: str, ip: str | None = None) -> Member:
    """Restore the role or the membership that the entry took away."""
    user = User.objects.filter(pk=entry.details["user"]).first()
    member = Member.objects.filter(space=entry.space, user=user).first()
    if entry.action == "member.removed" and user and not member:
        return join(entry.space, user=user, role=entry.details["was"], by=by, ip=ip)
    if entry.action == "member.role_changed" and member and member.role == entry.details["now"]:
        change_role(member, role=entry.details["was"], by=by, ip=ip)
        return _lock(member)
    raise CannotUndo


def _lock(member: Member) -> Member:
    # All rows of the space: two owners who demote each other at once must not both succeed.
    rows = Member.objects.select_for_update().filter(space=member.space_id).order_by("pk")
    for row in rows.select_related("space", "user"):
        if row.pk == member.pk:
            return row
    raise NotAMember


def keep_an_owner(member: Member) -> None:
    """Raise LastOwner when the space would be without one."""
    owners = Member.objects.filter(space=member.space_id, role=Member.Role.OWNER)
    if member.role == Member.Role.OWNER and not owners.exclude(pk=member.pk).exists():
        raise LastOwner
