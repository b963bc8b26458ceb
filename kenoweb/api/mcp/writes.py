"""What an agent may change: remember through the guards, and forget so that it can be undone."""

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.api.mcp import shapes
from kenoweb.api.mcp.caller import Refused, name_of, note, page
from kenoweb.auth.access import rows_in
from memory.facts import service as facts
from memory.guards.screening import describe_reasons
from memory.history.changes import ChangeResult
from memory.models import ApiToken, Fact


@transaction.atomic
def remember(token: ApiToken, asked: shapes.Saying) -> shapes.Kept:
    said = {"text": asked.text, "quote": asked.text, "subject": asked.subject}
    done = facts.remember(token.space, by=name_of(token), **said)
    if done.outcome == "empty":
        raise Refused(_("There is nothing to remember in it: say it in words."))
    row = done.row
    note(token, "remember", action="memory.written", outcome=done.outcome, fact=row and row.pk)
    if row is None:
        return shapes.Kept(outcome=done.outcome, said=done.reason)
    held = row.status == Fact.Status.QUARANTINED
    where = page("quarantine:index", token.space) if held else ""
    return shapes.Kept(
        outcome=done.outcome,
        said=_what_happened(done),
        id=row.pk,
        text=row.text,
        address=where or page("facts:detail", token.space, pk=row.pk),
    )


@transaction.atomic
def forget(token: ApiToken, asked: shapes.Which) -> shapes.Forgotten:
    mine = rows_in(token.space, Fact).filter(chat=None, pk=asked.id)
    fact = mine.filter(status__in=(Fact.Status.ACTIVE, Fact.Status.ARCHIVED)).first()
    if fact is None:
        raise Refused(
            _("There is no fact %(id)s to forget. Look for its id with “facts” or “recall”.")
            % {"id": asked.id}
        )
    done = facts.forget(fact, by=name_of(token))
    outcome = "forgotten" if done else done.outcome
    note(token, "forget", action="memory.written", outcome=outcome, fact=fact.pk)
    where = page("facts:detail", token.space, pk=fact.pk)
    return shapes.Forgotten(
        outcome=outcome, said=_what_is_left(outcome, done, where), id=fact.pk, address=where
    )


def _what_is_left(outcome: str, done: ChangeResult, where: str) -> str:
    if outcome == "forgotten":
        said = _("Forgotten: nothing recalls it any more. A person can undo it at %(page)s.")
    elif outcome == "unchanged":
        said = _("It was forgotten before. A person can undo that at %(page)s.")
    else:
        return done.reason
    return said % {"page": where}


def _what_happened(done: ChangeResult) -> str:
    if done.outcome == "new":
        return _("Remembered.")
    if done.outcome == "restored":
        return _("It had been put away and is believed again.")
    if done.outcome == "again":
        times = done.row.times_seen
        return ngettext(
            "Known already: said %(n)s time now, and believed the more.",
            "Known already: said %(n)s times now, and believed the more.",
            times,
        ) % {"n": times}
    if done.outcome == "quarantined":
        return _("Held back until a person has looked at it: %(why)s.") % {
            "why": done.reason or describe_reasons(done.row.flags)
        }
    return done.reason
