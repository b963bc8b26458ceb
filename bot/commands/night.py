"""What waits for a decision. Only a linked curator or owner decides, and only what was shown."""

import re

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from bot.addresses import page, see
from bot.commands.asked import Asked, command, need_link
from memory import history, jobs, text
from sleep import cycle, proposals
from sleep.apply import TargetChanged
from sleep.models import Proposal

SHOWN = 5
SIGNS = 6
# /approve 12-3fa9c1: the number, and the beginning of the digest of what was shown.
CODE = re.compile(rf"#?(\d{{1,12}})(?:-([0-9a-f]{{{SIGNS}}}))?(?:\s+(.*))?", re.I | re.S)


@command("pending", es="pendientes", help=gettext_lazy("what the night proposes and you decide"))
def pending(asked: Asked) -> str:
    if not asked.may_decide:
        return need_link()
    waiting = _waiting(asked).order_by("created_at", "pk")
    count = waiting.count()
    if not count:
        return _("Nothing waits for a decision.")
    head = ngettext("%(n)d proposal waits:", "%(n)d proposals wait:", count) % {"n": count}
    shown = [_shown(one) for one in waiting[:SHOWN]]
    link = see(page("proposals:index", asked.space.slug), _("All of them:"))
    return "\n\n".join([head, *shown, *link])


@command(
    "approve",
    es="aprobar aprueba",
    usage=gettext_lazy("CODE"),
    help=gettext_lazy("apply a proposal as it was shown"),
)
def approve(asked: Asked) -> str:
    return _decide(asked, proposals.approve, _("Approved: %(title)s\nThe dashboard can undo it."))


@command(
    "reject",
    es="rechazar rechaza",
    usage=gettext_lazy("CODE [why]"),
    help=gettext_lazy("turn a proposal down"),
)
def reject(asked: Asked) -> str:
    return _decide(asked, proposals.reject, _("Rejected: %(title)s"))


@command("sleep", es="dormir duerme", help=gettext_lazy("consolidate now what was learned"))
def sleep(asked: Asked) -> str:
    if not asked.may_decide:
        return need_link()
    if cycle.asleep(asked.space):
        return _("I am asleep already; this night goes on.")
    space = asked.space.pk
    jobs.enqueue("sleep.night", once=f"night-{space}", space_id=space, asked_by=asked.by)
    link = see(page("nights:index", asked.space.slug), _("The night:"))
    return "\n".join([_("Good night. I sleep as soon as the worker is free."), *link])


def code(proposal: Proposal) -> str:
    return f"{proposal.pk}-{proposal.digest[:SIGNS]}"


def _waiting(asked: Asked):
    return Proposal.objects.filter(space=asked.space, status=Proposal.Status.PENDING)


def _decide(asked: Asked, decide, said: str) -> str:
    if not asked.may_decide:
        return need_link()
    found = CODE.fullmatch(asked.words)
    if not found:
        return _("Which one? /pending shows them with their codes.")
    proposal = Proposal.objects.filter(space=asked.space, pk=int(found[1])).first()
    if proposal is None:
        return _("There is no proposal %(n)s. /pending shows what waits.") % {"n": found[1]}
    shown = (found[2] or "").lower()
    if proposal.status == Proposal.Status.PENDING and shown != proposal.digest[:SIGNS]:
        # Only what the person has seen is decided: here it is.
        return "\n\n".join([_("This is what it says now:"), _shown(proposal)])
    return _decided(asked, proposal, decide, said, reason=found[3] or "")


def _decided(asked: Asked, proposal: Proposal, decide, said: str, *, reason: str) -> str:
    given = {"member": asked.member, "digest": proposal.digest, "reason": reason.strip()}
    try:
        decide(proposal, **given)
    except (
        proposals.AlreadyDecided,
        proposals.NotWhatWasShown,
        proposals.MayNotDecide,
        TargetChanged,
        history.Conflict,
        ValueError,
    ) as error:
        return str(error)
    return said % {"title": proposal.title}


def _shown(proposal: Proposal) -> str:
    lines = [f"{proposal.get_kind_display()}: {proposal.title}"]
    for target in proposal.targets[:3]:
        was = proposal.before.get(f"{target.get('type')}:{target.get('id')}", {})
        lines += [f"- {text.short(words, 200)}" for words in _words(was)]
    lines += [f"+ {text.short(words, 300)}" for words in _words(proposal.after)]
    if proposal.rationale:
        lines.append(text.short(proposal.rationale, 200))
    lines.append(f"/approve {code(proposal)}   /reject {code(proposal)}")
    return "\n".join(lines)


def _words(image: dict) -> list[str]:
    named = [image.get(name) for name in ("text", "trigger", "response")]
    return [words for words in named if isinstance(words, str) and words]
