"""What a token may write. Its gate decides: believed at once, held for a person, or refused."""

import hashlib
import threading
import time
from datetime import time as clock
from typing import Any

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.core.files.base import ContentFile
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.api import shapes
from kenoweb.api.calls import Refused, find, name_of, note, page, visible
from kenoweb.api.reading import moment, version_of
from kenoweb.auth.access import rows_in
from kenoweb.transfer import page as transfer_page
from memory import erasure, jobs, patterns, working
from memory.chats import inbox
from memory.chats import service as chats
from memory.extraction import ingest, intents, offers
from memory.facts import service as facts
from memory.guards.screening import describe_reasons
from memory.history import actors
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.llm.complete import complete
from memory.llm.request import BudgetSpent, ProviderError
from memory.models import ApiToken, Chat, Fact, Message, Pattern
from memory.prompt import builder
from memory.transfer import importing, tasks
from sleep import offer_proposals, proposals
from sleep.models import Proposal

Gate = ApiToken.Gate
CHANNEL = "api"
POLL_SECONDS = 0.1
# A call that waits holds a thread of the pages: at most two wait, the others ask again.
_waiting = threading.BoundedSemaphore(2)
LIVE = (Fact.Status.ACTIVE, Fact.Status.ARCHIVED)


def hold(token: ApiToken, kind: str, what: str, *, after: dict, row: Any = None) -> shapes.Done:
    """Make a proposal of what the program wants, for a person to decide."""
    proposal = proposals.hold(token, kind, what, after=after, row=row)
    outcome = "proposed" if proposal else "unchanged"
    _note_write(token, kind, outcome=outcome, proposal=proposal and proposal.pk)
    if proposal is None:
        return shapes.Done(outcome=outcome, message=_("This was proposed before, or is ruled out."))
    return shapes.Done(
        outcome=outcome,
        message=_("It waits for a person, who decides in the dashboard."),
        text=proposal.title,
        url=page("proposals:detail", token.space, pk=proposal.pk),
    )


def _note_write(token: ApiToken, what: str, **details: object) -> None:
    note(token, what, action="memory.written", **details)


@transaction.atomic
def remember(token: ApiToken, params: shapes.Saying) -> shapes.Done:
    fact = {"text": params.text, "quote": params.text, "subject": params.subject}
    times = _times(token, params)
    if token.gate == Gate.HOLD:
        return hold(token, Proposal.Kind.ADD, params.text, after=fact | {"said_by": token.name})
    result = facts.remember(token.space, by=name_of(token), **fact, **times)
    if result.outcome == "empty":
        raise Refused(_("There is nothing to remember in it: say it in words."))
    return _report(token, "remember", result)


@transaction.atomic
def revise(token: ApiToken, params: shapes.Revision) -> shapes.Done:
    fact = _fact(token, params)
    values = params.model_dump(include={"text", "subject"}, exclude_none=True)
    if not values:
        raise Refused(_("Say what changes: its text or its subject."))
    if token.gate == Gate.HOLD:
        what = params.text or fact.text
        return hold(token, Proposal.Kind.REVISE, what, after=values, row=fact)
    result = facts.revise(fact, by=name_of(token), **values)
    return _report(token, "revise", result, "revised")


@transaction.atomic
def set_times(token: ApiToken, params: shapes.Times) -> shapes.Done:
    rows = visible(token, Fact).filter(status=Fact.Status.ACTIVE).select_related("space")
    fact = find(token, rows, params.id, "fact")
    times = {name: value for name, value in _times(token, params).items() if value}
    result = facts.revise(fact, by=name_of(token), **times)
    return _report(token, "set_times", result, "revised")


def _times(token: ApiToken, params: shapes.Saying | shapes.Times) -> dict[str, Any]:
    return {
        "valid_from": moment(params.true_from, token.space, clock.min),
        "valid_to": moment(params.true_until, token.space, clock.max),
    }


@transaction.atomic
def forget(token: ApiToken, params: shapes.Removal) -> shapes.Done:
    fact = _fact(token, params)
    if token.gate == Gate.HOLD:
        return hold(token, Proposal.Kind.RETIRE, fact.text, after={"forget": True}, row=fact)
    return _report(token, "forget", facts.forget(fact, by=name_of(token)), "forgotten")


@transaction.atomic
def restore(token: ApiToken, params: shapes.Which) -> shapes.Done:
    fact = find(token, visible(token, Fact), params.id, "fact")
    last = next(iter(history.history(fact, limit=1)), None)
    if fact.status != Fact.Status.ACTIVE and (last is None or last.by != name_of(token)):
        raise Refused(_("Only a person can restore it: this token did not put it away."), 403)
    return _report(token, "restore", facts.restore(fact, by=name_of(token)), "restored")


@transaction.atomic
def undo(token: ApiToken, params: shapes.Undoing) -> shapes.Done:
    steps = history.changes_in(params.change)
    own = (name_of(token), token.space_id)
    if not steps or any((step.by, step.after.get("space_id")) != own for step in steps):
        raise Refused(_("There is no change of this token with that id."), 404)
    try:
        history.undo_context(params.change, by=name_of(token))
    except (history.Conflict, ObjectDoesNotExist) as conflict:
        raise Refused(str(conflict), 409) from None
    _note_write(token, "undo", change=params.change)
    return shapes.Done(outcome="undone", message=_("Taken back."))


def _fact(token: ApiToken, params: shapes.Removal | shapes.Revision) -> Fact:
    rows = visible(token, Fact).filter(status__in=LIVE).select_related("space")
    fact = find(token, rows.select_for_update(of=["self"]), params.id, "fact")
    if params.version and params.version != version_of(fact):
        raise Refused(_("It was changed since you read it. Read it again, then decide."), 412)
    return fact


def _report(token: ApiToken, what: str, result: ChangeResult, outcome: str = "") -> shapes.Done:
    """Note what a service did, and return it for the program."""
    row = result.row
    outcome = outcome if outcome and result else result.outcome
    _note_write(token, what, outcome=outcome, row=row and row.pk)
    if row is None:
        return shapes.Done(outcome=outcome, message=result.reason or outcome)
    held = row.status == "quarantined"
    name = "quarantine:index" if held else f"{row._meta.model_name}s:detail"
    return shapes.Done(
        outcome="quarantined" if held and outcome == "revised" else outcome,
        message=_sentence(outcome, result),
        id=row.pk,
        text=row.text if isinstance(row, Fact) else row.trigger,
        version=version_of(row),
        change=str(result.change_id or ""),
        url=page(name, token.space, **({} if held else {"pk": row.pk})),
    )


def _sentence(outcome: str, result: ChangeResult) -> str:
    if outcome == "again" and isinstance(result.row, Fact):
        times = result.row.times_seen
        return ngettext(
            "Known already: said %(n)s time now, and believed the more.",
            "Known already: said %(n)s times now, and believed the more.",
            times,
        ) % {"n": times}
    if outcome == "quarantined":
        return _("Held back until a person has looked at it: %(why)s.") % {
            "why": result.reason or describe_reasons(result.row.flags)
        }
    sentences = {
        "new": _("Remembered."),
        "restored": _("It had been put away and is believed again."),
        "revised": _("Revised."),
        "forgotten": _("Forgotten: nothing recalls it any more. A person can undo it."),
        "unchanged": _("It was so before."),
    }
    return result.reason or sentences.get(outcome, outcome)


@transaction.atomic
def learn_pattern(token: ApiToken, params: shapes.Habit) -> shapes.Done:
    habit = params.model_dump()
    if token.gate == Gate.HOLD:
        after = habit | {"confidence": 0.6, "learned_from": name_of(token)}
        return hold(token, Proposal.Kind.ADD_PATTERN, params.trigger, after=after)
    try:
        result = patterns.learn(token.space, by=name_of(token), **habit)
    except patterns.Invalid as bad:
        raise Refused(str(bad)) from None
    return _report(token, "learn_pattern", result)


@transaction.atomic
def retire_pattern(token: ApiToken, params: shapes.Which) -> shapes.Done:
    rows = visible(token, Pattern).filter(status="active")
    pattern = find(token, rows, params.id, "pattern")
    if token.gate == Gate.HOLD:
        return hold(token, Proposal.Kind.RETIRE_PATTERN, pattern.trigger, after={}, row=pattern)
    result = patterns.unlearn(pattern, by=name_of(token))
    return _report(token, "retire_pattern", result, "forgotten")


@transaction.atomic
def write_note(token: ApiToken, params: shapes.NoteText) -> shapes.Done:
    chat = find(token, rows_in(token.space, Chat).select_related("space"), params.id, "chat")
    parts = params.model_dump(exclude={"id"})
    by = name_of(token)
    if any(parts.values()):
        result = working.replace(chat, by=by, **parts)
    else:
        result = working.clear(chat, by=by)
    _note_write(token, "write_note", outcome=result.outcome, chat=chat.pk)
    return shapes.Done(
        outcome=result.outcome,
        message=result.reason or _("The note is written."),
        id=result.row.pk if result.row else None,
        change=str(result.change_id or ""),
        url=page("working:index", token.space),
    )


def begin_night(token: ApiToken, params: shapes.Nothing) -> shapes.Done:
    # The job waits under the name of the space, so that two calls make one night.
    night = {"space_id": token.space_id, "asked_by": actors.person(token.user)}
    jobs.enqueue("sleep.night", once=f"night-{token.space_id}", **night)
    _note_write(token, "begin_night")
    sentence = _("A night begins as soon as the worker is free.")
    return shapes.Done(outcome="accepted", message=sentence, url=page("nights:index", token.space))


def erasure_preview(token: ApiToken, params: shapes.Which) -> shapes.Erased:
    fact = find(token, visible(token, Fact).select_related("space"), params.id, "fact")
    rows = erasure.purge(fact, by=name_of(token), preview=True)
    note(token, "erasure_preview", id=fact.pk)
    return shapes.Erased(rows=rows, url=page("facts:detail", token.space, pk=fact.pk))


def import_file(token: ApiToken, params: shapes.File) -> shapes.Imported:
    file = ContentFile(params.content.encode(), name=params.name)
    options = {"asked": params.format} if params.format else {}
    parcel = tasks.upload(token.space, file, by=name_of(token), now=True, **options)
    _note_write(token, "import", parcel=parcel.pk)
    result = {name: getattr(parcel, name) for name in ("id", "status", "counts", "problem")}
    return shapes.Imported(**result, url=page("transfer:detail", token.space, pk=parcel.pk))


def export_file(token: ApiToken, params: shapes.Nothing) -> tuple[Any, str, str]:
    """Return the whole space as an archive, with its name and type; over HTTP only."""
    if not transfer_page.is_short_export(token.space):
        raise Refused(
            _("This space is too large for one answer: export it on the page “Transfer”."), 409
        )
    note(token, "export")
    file = transfer_page.written(token.space, "keno", by=name_of(token), ip="")
    return file, importing.file_name(token.space), importing.EXPORTS["keno"].content_type


def ask(token: ApiToken, params: shapes.Query) -> shapes.Answer:
    chat = conversation(token, "ask")
    built = builder.build(chat, params.query, person=token.user.username)
    prompt = {"system": built.system, "messages": built.messages, "briefing": built.briefing}
    try:
        answer = complete("chat", space=token.space, chat=chat, **prompt)
    except ProviderError as error:
        raise refusal(error) from error
    number = built.recall.receipt.pk if built.recall and built.recall.receipt else None
    note(token, "ask", receipt=number)
    return shapes.Answer(
        answer=answer.text,
        model=answer.model or answer.provider,
        level=built.recall.level if built.recall else "none",
        receipt=number,
        url=page("recall:receipt", token.space, pk=number) if number else "",
    )


def conversation(token: ApiToken, name: str) -> Chat:
    """Return a chat of this token alone: no program joins the talk of another."""
    return chats.find_or_open(
        token.space, channel=CHANNEL, external_id=f"token-{token.pk}-{name}"[:128], title=name
    )


def refusal(error: ProviderError) -> Refused:
    if isinstance(error, BudgetSpent):
        return Refused(str(error), 429, after=round(error.retry_after or 60))
    return Refused(_("The language model does not answer: %(why)s") % {"why": error}, 502)


def say(token: ApiToken, params: shapes.Message) -> shapes.Reply:
    # The chat would obey a command at once, past any gate.
    is_command = inbox.is_command(params.content) or intents.to_forget(params.content)
    if token.gate != Gate.BELIEVE and is_command:
        raise Refused(_("What this token writes is held: it cannot command. Say it in words."), 403)
    chat = conversation(token, params.chat)
    name = f"{token.pk}-{params.id}" if params.id else ""
    external_id = hashlib.sha256(name.encode()).hexdigest() if name else ""
    received = inbox.receive(
        chat,
        text=params.content,
        external_id=external_id,
        author=params.author or speaker(token),
        # The key says who calls, so that nobody speaks as a person whose chat is linked.
        author_id=f"token-{token.pk}",
        silence=0,
        **_origin(token),
    )
    message = received or Message.objects.get(chat=chat, external_id=external_id)
    _note_write(token, "say", message=message.pk)
    reply = _wait_for(message, seconds=min(params.wait, settings.HTTP_TIMEOUT))
    status = "accepted" if reply is None else "answered"
    return shapes.Reply(id=message.pk, chat=params.chat, status=status, response=reply or "")


def _origin(token: ApiToken) -> dict[str, str]:
    """Mark what a held token says as passed on: it is offered to people, never believed."""
    return {"origin": token.name} if token.gate != Gate.BELIEVE else {}


def _wait_for(message: Message, *, seconds: float) -> str | None:
    """Return the answer of any worker; None when that takes too long."""
    reply, until = inbox.answer_to(message), time.monotonic() + seconds
    if reply is not None or not seconds or not _waiting.acquire(blocking=False):
        return reply
    try:
        while reply is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
            reply = inbox.answer_to(message)
    finally:
        _waiting.release()
    return reply


def speaker(token: ApiToken) -> str:
    """Return who speaks where a program names nobody: the person whose token it is."""
    return token.user.get_full_name() or token.user.username


def learn_from(
    token: ApiToken, chat: Chat, messages: list[tuple[str, str]], *, author: str = ""
) -> list[dict]:
    """Learn from messages, (role, text), that were sent elsewhere; the gate decides how.

    Return the lines of what was learned, offered or refused.
    """
    if token.gate == Gate.READ_ONLY:
        return []
    person = {"author": author or speaker(token), "author_id": f"token-{token.pk}"} | _origin(token)
    user_messages = []
    for role, text in messages:
        if role == "user":
            message = chats.receive(chat, text=text, role=Message.Role.USER, **person).message
            user_messages.append(message.pk)
        else:
            message = chats.receive(chat, text=text, role=Message.Role.ASSISTANT).message
        Message.objects.filter(pk=message.pk).update(handled_at=timezone.now())
    ingest.ingest_waiting(token.space, chat=chat)
    lines: list[dict] = []
    for message in Message.objects.filter(pk__in=user_messages).select_related("chat"):
        for place, line in offers.of_message(message):
            offer_proposals.propose_offer(message, place, line, now=timezone.now())
        lines += message.journal
    _note_write(token, "learn", found=len(lines))
    return lines
