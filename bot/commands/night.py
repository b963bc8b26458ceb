"""What waits for a decision. Only a linked curator or owner decides, and only what was shown."""

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from bot.commands.registry import CommandCall, command, need_link
from bot.outbox import page
from memory import jobs
from memory.history import changes as history
from memory.text import normalise as text
from sleep import cycle, proposals
from sleep.apply import TargetChanged
from sleep.models import Proposal

SHOWN = 5
CODE_LENGTH = 6
REFUSALS = (
    proposals.AlreadyDecided,
    proposals.NotWhatWasShown,
    proposals.MayNotDecide,
    TargetChanged,
    history.Conflict,
    ValueError,
)
# /approve 12-3fa9c1: the number, and the beginning of the digest of what was shown.
CODE = re.compile(rf"#?(\d{{1,12}})(?:-([0-9a-f]{{{CODE_LENGTH}}}))?(?:\s+(.*))?", re.I | re.S)


@command("pending", "pendientes", gettext_lazy("what the night proposes and you decide"))
def pending(call: CommandCall) -> str:
    if not call.may_decide:
        return need_link()
    waiting = Proposal.objects.filter(space=call.space, status=Proposal.Status.PENDING)
    waiting = waiting.order_by("created_at", "pk")
    count = waiting.count()
    if not count:
        return _("Nothing waits for a decision.")
    head = ngettext("%(n)d proposal waits:", "%(n)d proposals wait:", count) % {"n": count}
    shown = [_describe(proposal) for proposal in waiting[:SHOWN]]
    link = f"{_('All of them:')} {page('proposals:index', call.space.slug)}"
    return "\n\n".join([head, *shown, link])


@command(
    "approve",
    "aprobar aprueba",
    gettext_lazy("apply a proposal as it was shown"),
    usage=gettext_lazy("CODE"),
)
def approve(call: CommandCall) -> str:
    return _decide(call, proposals.approve, _("Approved: %(title)s\nThe dashboard can undo it."))


@command(
    "reject",
    "rechazar rechaza",
    gettext_lazy("turn a proposal down"),
    usage=gettext_lazy("CODE [why]"),
)
def reject(call: CommandCall) -> str:
    return _decide(call, proposals.reject, _("Rejected: %(title)s"))


@command("sleep", "dormir duerme", gettext_lazy("consolidate now what was learned"))
def sleep(call: CommandCall) -> str:
    if not call.may_decide:
        return need_link()
    if cycle.is_asleep(call.space):
        return _("I am asleep already; this night goes on.")
    space = call.space.pk
    jobs.enqueue("sleep.night", once=f"night-{space}", space_id=space, asked_by=call.by)
    link = f"{_('The night:')} {page('nights:index', call.space.slug)}"
    return "\n".join([_("Good night. I sleep as soon as the worker is free."), link])


def _decide(call: CommandCall, decide, sentence: str) -> str:
    if not call.may_decide:
        return need_link()
    match = CODE.fullmatch(call.words)
    if not match:
        return _("Which one? /pending shows them with their codes.")
    proposal = Proposal.objects.filter(space=call.space, pk=int(match[1])).first()
    if proposal is None:
        return _("There is no proposal %(n)s. /pending shows what waits.") % {"n": match[1]}
    shown = (match[2] or "").lower()
    if proposal.status == Proposal.Status.PENDING and shown != proposal.digest[:CODE_LENGTH]:
        # A person decides only what they have seen.
        return "\n\n".join([_("This is what it says now:"), _describe(proposal)])
    reason = (match[3] or "").strip()
    try:
        decide(proposal, member=call.member, digest=proposal.digest, reason=reason)
    except REFUSALS as error:
        return str(error)
    return sentence % {"title": proposal.title}


def _describe(proposal: Proposal) -> str:
    lines = [f"{proposal.get_kind_display()}: {proposal.title}"]
    for target in proposal.targets[:3]:
        before = proposal.before.get(f"{target.get('type')}:{target.get('id')}", {})
        lines += [f"- {text.short(words, 200)}" for words in _words(before)]
    lines += [f"+ {text.short(words, 300)}" for words in _words(proposal.after)]
    if proposal.rationale:
        lines.append(text.short(proposal.rationale, 200))
    code = f"{proposal.pk}-{proposal.digest[:CODE_LENGTH]}"
    return "\n".join([*lines, f"/approve {code}   /reject {code}"])


def _words(image: dict) -> list[str]:
    values = [image.get(name) for name in ("text", "trigger", "response")]
    return [value for value in values if isinstance(value, str) and value]
