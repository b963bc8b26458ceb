"""The page of the audit: who did what, in words."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import in_space, rows_in
from kenoweb.ui import history_thread
from kenoweb.ui.filters import SINCE, Filter, of_age
from kenoweb.ui.formatting import number
from kenoweb.ui.list_page import ListPage, Order, counted, part
from kenoweb.ui.responses import space_url
from kenoweb.ui.text_search import contains
from memory.models import ApiToken, AuditEntry, Chat, Entity, Episode, Fact, Member, Pattern, Space
from memory.text.normalise import short
from sleep.models import Proposal

KINDS = {
    "member": _("Members"),
    "token": _("API tokens"),
    "account": _("Accounts"),
    "space": _("The space"),
    "identity": _("Identity"),
    "fact": _("Facts"),
    "import": _("Imports"),
    "export": _("Exports"),
    "memory": _("Memory"),
    "night": _("Nights"),
    "erasure": _("Erasures"),
    "invitation": _("Invitations"),
    "chat": _("Chats"),
}
ACTIONS = {
    "account.created": _("created an account"),
    "account.signed_in": _("signed in"),
    "account.signed_out": _("signed out"),
    "account.signed_out_everywhere": _("signed out everywhere"),
    "account.two_factor_on": _("switched the second factor on"),
    "account.two_factor_off": _("switched the second factor off"),
    "account.recovery_renewed": _("made new recovery codes"),
    "account.passkey_added": _("added a passkey"),
    "account.passkey_removed": _("removed a passkey"),
    "account.oidc_linked": _("linked another sign-in"),
    "account.oidc_unlinked": _("unlinked another sign-in"),
    "account.password_changed": _("changed the password"),
    "account.refused": _("was refused"),
    "export": _("exported memory"),
    "export.downloaded": _("downloaded an export"),
    "import": _("imported memory"),
    "import.undone": _("undid an import"),
    "import.learned": _("had Keno learn from an import"),
    "import.unlearned": _("took back what was learned from an import"),
    "fact.purged": _("erased a fact"),
    "guards.rescanned": _("looked through the memory with new guards"),
    "words.erased": _("erased words for good"),
    "erasure.asked": _("asked to erase"),
    "erasure.done": _("erased for good"),
    "erasure.replayed": _("erased again what a backup brought back"),
    "identity.core": _("wrote the core identity"),
    "invitation.withdrawn": _("withdrew an invitation"),
    "member.invited": _("invited someone"),
    "member.joined": _("joined"),
    "member.removed": _("removed a member"),
    "member.left": _("left"),
    "member.role_changed": _("changed a role"),
    "memory.reset": _("reset the memory"),
    "night.stopped": _("stopped a night"),
    "night.undone": _("undid a night"),
    "space.created": _("created the space"),
    "space.revised": _("changed the space"),
    "space.configured": _("changed the settings"),
    "account.deleted": _("deleted an account"),
    "space.archived": _("archived the space"),
    "space.encrypted": _("had the space encrypted"),
    "space.encryption_done": _("encrypted all words of the space"),
    "space.decrypted": _("had the encryption of the space removed"),
    "space.decryption_done": _("removed the encryption of the space"),
    "space.key_changed": _("had the key of the space changed"),
    "space.key_wrapped": _("put the key of the space under the key of the installation"),
    "space.unarchived": _("brought the space back"),
    "space.erased": _("erased a space"),
    "token.created": _("created an API token"),
    "token.revoked": _("revoked an API token"),
    "token.gate": _("set the gate of an API token"),
    "chat.closed": _("made a chat private"),
    "chat.shared": _("shared a private chat"),
    "chat.read": _("opened a private chat"),
    "account.chat_linked": _("connected a chat account"),
    "account.chat_unlinked": _("disconnected a chat account"),
    "home.connected": _("changed a connection"),
    "night.change undone": _("undid a line of a night"),
    "proposal.approve": _("approved a proposal"),
    "proposal.reject": _("rejected a proposal"),
    "proposal.undo approved": _("took back an approval"),
    "proposal.undo rejected": _("took back a rejection"),
    "proposal.edit": _("reworded a proposal"),
    "proposal.reopen": _("opened a proposal again"),
    "proposal.rebase": _("brought a proposal up to date"),
    "space.option": _("changed a setting"),
    "walls.tested": _("tried the walls between chats"),
    "webhook.created": _("created a webhook"),
    "webhook.deleted": _("deleted a webhook"),
    "episode.purged": _("erased an episode"),
    "pattern.purged": _("erased a pattern"),
    "memory.read": _("read memory"),
    "memory.written": _("changed memory"),
}
DETAILS = {
    "role": _("role"),
    "was": _("before"),
    "kind": _("kind"),
    "format": _("format"),
    "channel": _("channel"),
    "name": _("name"),
    "now": _("now"),
    "source": _("source"),
    "token": _("token"),
    "count": _("how many"),
    "counts": _("how many"),
    "filename": _("file"),
    "outcome": _("result"),
    "why": _("why"),
}
# What an entry can be about, and the page that shows it.
THINGS = {
    "fact": (_("fact"), "facts:detail"),
    "episode": (_("episode"), "episodes:detail"),
    "pattern": (_("pattern"), "patterns:detail"),
    "chat": (_("chat"), "chats:detail"),
    "night": (_("night"), "nights:detail"),
    "entity": (_("person"), "people:detail"),
    "proposal": (_("proposal"), "proposals:detail"),
    "message": (_("message"), ""),
    "user": (_("account"), ""),
    "member": (_("member"), ""),
    "invitation": (_("invitation"), ""),
    "apitoken": (_("token"), ""),
    "erasure": (_("erasure"), "erase:detail"),
}
# Where the names of these things are looked up now: the audit itself keeps no words.
NAMED = {
    "fact": (Fact, "text"),
    "episode": (Episode, "title"),
    "pattern": (Pattern, "trigger"),
    "chat": (Chat, "title"),
    "entity": (Entity, "name"),
    "proposal": (Proposal, "title"),
    "member": (Member, "user__username"),
    "apitoken": (ApiToken, "name"),
}
# An erasure keeps no words either: it is named after the kind of what was erased.
ERASED = {
    "message": _("a message"),
    "chat": _("a chat"),
    "person": _("a person"),
    "member": _("what a member said"),
    "import": _("an import"),
    "space": _("a space"),
}
WORDS = dict(Member.Role.choices)
WORDS |= {"person": _("person"), "space": _("space"), "import": _("import")}
MAX_NAME = 70
WHO = {"": _("Everybody"), "person": _("People"), "machine": _("Keno itself")}


@dataclass(frozen=True)
class AuditFilter(Filter):
    kind: str = ""
    who: str = ""
    since: str = ""

    CHOICES: ClassVar = {
        "kind": {"": _("Everything")} | KINDS,
        "who": WHO,
        "since": {"": _("At any time")} | {key: label for key, (label, _d) in SINCE.items()},
    }


class AuditList(ListPage):
    @property
    def selects(self) -> list[tuple[str, str, dict]]:
        choices = self.filter.CHOICES.items()
        return [(name, getattr(self.filter, name), labels) for name, labels in choices]


def audit_list(space: Space, params: QueryDict, *, user: User, now) -> AuditList:
    filters = AuditFilter.read(params)
    rows = rows_in(space, AuditEntry).filter(_condition(filters, now=now)).select_related("seal")
    page = part(rows, order=Order("at"), after=filters.after)
    names = _names(page.rows, space)
    return AuditList(
        rows=[_entry(row, space, user, names=names) for row in page.rows],
        filter=filters,
        found=counted(rows)[0] if page.after or filters.after else len(page.rows),
        url=space_url("audit:index", space),
        after=page.after,
        nothing_yet=not page.rows and filters.is_bare(),
    )


def _entry(row: AuditEntry, space: Space, user: User, *, names: dict) -> dict:
    """Put an entry into words, with the thing it is about."""
    page = THINGS[row.object_type][1] if row.object_type in THINGS else ""
    # "created the space" needs no name: the page is about that space.
    is_thing = bool(row.object_id) and not row.action.startswith("space.")
    details = dict(row.details)
    name = names.get((row.object_type, row.object_id), "")
    if row.object_type == "erasure" and details.get("kind") in ERASED:
        name = str(ERASED[details.pop("kind")])
    # What is gone, or hidden from this reader, has a number and no page.
    is_there = bool(name) or row.object_type not in NAMED
    if not name and row.object_type in THINGS:
        name = gettext("no. %(number)s") % {"number": row.object_id}
    return {
        "row": row,
        "is_sealed": hasattr(row, "seal"),
        "who": history_thread.who(row.actor, user),
        "did": ACTIONS.get(row.action) or re.sub(r"[._]+", " ", row.action),
        "thing": name if is_thing else "",
        "url": space_url(page, space, row.object_id) if is_thing and page and is_there else "",
        "details": [
            (str(DETAILS[name]), _detail_text(value))
            for name, value in list(details.items())[:6]
            if name in DETAILS and value
        ],
    }


def _names(rows: Sequence[AuditEntry], space: Space) -> dict[tuple[str, str], str]:
    """Look up the names of the things of these entries, one query for each kind of them."""
    pks = defaultdict(list)
    for row in rows:
        if row.object_type in NAMED and row.object_id.isdigit():
            pks[row.object_type].append(int(row.object_id))
    names = {}
    for kind in pks:
        model, field = NAMED[kind]
        things = rows_in(space, model).filter(pk__in=pks[kind])
        for pk, name in things.values_list("pk", field):
            names[kind, str(pk)] = short(name, MAX_NAME) or str(THINGS[kind][0])
    return names


def _detail_text(value: object) -> str:
    """Write a detail in words; an unknown value stays as it is."""
    if isinstance(value, dict):
        # {"fact": 3} or, for an import, {"fact": {"taken": 3, "known": 1}}.
        counts = [n.get("taken", 0) if isinstance(n, dict) else n for n in value.values()]
        return number(sum(n for n in counts if isinstance(n, int)))
    text = str(value)
    label, _page = THINGS.get(text, (text, ""))
    return str(WORDS.get(text) or label)[:120]


def _condition(filters: AuditFilter, *, now) -> Q:
    condition = of_age(filters.since, field="at", now=now)
    if filters.kind:
        condition &= Q(action=filters.kind) | Q(action__startswith=f"{filters.kind}.")
    if filters.who:
        person = Q(actor__startswith="person:")
        condition &= person if filters.who == "person" else ~person
    if filters.q:
        text = filters.q.lower()
        condition &= contains("actor", text) | contains("action", text) | Q(object_id=filters.q)
    return condition


@in_space(role="curator")
def index(request, space):
    page = audit_list(space, request.GET, user=request.user, now=timezone.now())
    return render(request, "audit/index.html", {"list": page})
