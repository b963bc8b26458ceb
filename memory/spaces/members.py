"""Members: who may do what in a space."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memory.history import audit
from memory.models import AuditEntry, Member, Space

UNDOABLE = ("member.removed", "member.role_changed")


class Refused(Exception):
    """A change of membership that cannot be made, with the sentence that message why."""

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
        audit.record(
            "member.joined", actor=by, space=space, obj=member, ip=ip, user=user.pk, role=role
        )
    return member


@transaction.atomic
def change_role(member: Member, *, role: str, by: str, ip: str | None = None) -> AuditEntry | None:
    """Change the member's role; return the entry that undoes it, None when nothing changed."""
    member = _lock(member)
    if member.role == role:
        return None
    _keep_an_owner(member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    return audit.record(
        "member.role_changed",
        actor=by,
        space=member.space,
        obj=member,
        before=before,
        after=role,
        ip=ip,
        user=member.user_id,
        was=before,
        now=role,
    )


@transaction.atomic
def remove(member: Member, *, by: str, ip: str | None = None) -> AuditEntry:
    """Remove the person from the space; return the entry that undoes it."""
    member = _lock(member)
    _keep_an_owner(member)
    entry = audit.record(
        "member.removed",
        actor=by,
        space=member.space,
        obj=member,
        before=member.role,
        ip=ip,
        user=member.user_id,
        was=member.role,
    )
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


def _keep_an_owner(member: Member) -> None:
    owners = Member.objects.filter(space=member.space_id, role=Member.Role.OWNER)
    if member.role == Member.Role.OWNER and not owners.exclude(pk=member.pk).exists():
        raise LastOwner
