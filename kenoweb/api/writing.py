"""What a token may write. Its gate decides: believed at once, held for a person, or refused."""

import hashlib
import threading
import time
from collections.abc import Callable
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
LOOK_SECONDS = 0.1
# A call that waits holds a thread of the pages: so many at most, the others come back later.
_waiting = threading.BoundedSemaphore(2)
LIVE = (Fact.Status.ACTIVE, Fact.Status.ARCHIVED)


def hold(token: ApiToken, kind: str, what: str, *, after: dict, row: Any = None) -> shapes.Done:
    """Put what the program wants before a person, in the same queue as the nights' proposals."""
    made = proposals.hold(token, kind, what, after=after, row=row)
    outcome = "proposed" if made else "unchanged"
    note(token, kind, action="memory.written", outcome=outcome, proposal=made and made.pk)
    if made is None:
        return shapes.Done(outcome=outcome, message=_("This was proposed before, or is ruled out."))
    return shapes.Done(
        outcome=outcome,
        message=_("It waits for a person, who decides in the dashboard."),
        text=made.title,
        url=page("proposals:detail", token.space, pk=made.pk),
    )


@transaction.atomic
def remember(token: ApiToken, asked: shapes.Saying) -> shapes.Done:
    said = {"text": asked.text, "quote": asked.text, "subject": asked.subject}
    times = _times(token, asked)
    if token.gate == Gate.HOLD:
        return hold(token, Proposal.Kind.ADD, asked.text, after=said | {"said_by": token.name})
    done = facts.remember(token.space, by=name_of(token), **said, **times)
    if done.outcome == "empty":
        raise Refused(_("There is nothing to remember in it: say it in words."))
    return _told(token, "remember", done)


@transaction.atomic
def revise(token: ApiToken, asked: shapes.Revision) -> shapes.Done:
    fact = _fact(token, asked)
    given = {"text": asked.text, "subject": asked.subject}
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        raise Refused(_("Say what changes: its text or its subject."))
    if token.gate == Gate.HOLD:
        what = asked.text or fact.text
        return hold(token, Proposal.Kind.REVISE, what, after=values, row=fact)
    done = facts.revise(fact, by=name_of(token), **values)
    return _told(token, "revise", done, "revised")


@transaction.atomic
def set_times(token: ApiToken, asked: shapes.Times) -> shapes.Done:
    """Say since when or until when a fact holds."""
    rows = visible(token, Fact).filter(status=Fact.Status.ACTIVE).select_related("space")
    fact = find(token, rows, asked.id, "fact")
    times = {name: value for name, value in _times(token, asked).items() if value}
    return _told(token, "set_times", facts.revise(fact, by=name_of(token), **times), "revised")


def _times(token: ApiToken, asked: shapes.Saying | shapes.Times) -> dict[str, Any]:
    return {
        "valid_from": moment(asked.true_from, token.space, clock.min),
        "valid_to": moment(asked.true_until, token.space, clock.max),
    }


@transaction.atomic
def forget(token: ApiToken, asked: shapes.Removal) -> shapes.Done:
    fact = _fact(token, asked)
    if token.gate == Gate.HOLD:
        after = {"forget": True}
        return hold(token, Proposal.Kind.RETIRE, fact.text, after=after, row=fact)
    return _told(token, "forget", facts.forget(fact, by=name_of(token)), "forgotten")


@transaction.atomic
def restore(token: ApiToken, asked: shapes.Which) -> shapes.Done:
    """Only what this token put away itself: what a person forgot stays forgotten."""
    fact = find(token, visible(token, Fact), asked.id, "fact")
    last = next(iter(history.history(fact, limit=1)), None)
    if fact.status != Fact.Status.ACTIVE and (last is None or last.by != name_of(token)):
        raise Refused(_("Only a person can restore it: this token did not put it away."), 403)
    return _told(token, "restore", facts.restore(fact, by=name_of(token)), "restored")


@transaction.atomic
def undo(token: ApiToken, asked: shapes.Undoing) -> shapes.Done:
    """Take back a change of this token; whatever anybody else did is not its business."""
    steps = history.changes_in(asked.change)
    mine = [
        s for s in steps if s.by == name_of(token) and s.after.get("space_id") == token.space_id
    ]
    if not steps or len(mine) != len(steps):
        raise Refused(_("There is no change of this token with that id."), 404)
    try:
        history.undo_context(asked.change, by=name_of(token))
    except (history.Conflict, ObjectDoesNotExist) as conflict:
        raise Refused(str(conflict), 409) from None
    note(token, "undo", action="memory.written", change=asked.change)
    return shapes.Done(outcome="undone", message=_("Taken back."))


def _fact(token: ApiToken, asked: shapes.Removal | shapes.Revision) -> Fact:
    rows = visible(token, Fact).filter(status__in=LIVE).select_related("space")
    fact = find(token, rows.select_for_update(of=["self"]), asked.id, "fact")
    if asked.version and asked.version != version_of(fact):
        raise Refused(_("It was changed since you read it. Read it again, then decide."), 412)
    return fact


def _told(token: ApiToken, what: str, done: ChangeResult, outcome: str = "") -> shapes.Done:
    """Note what a writer did, and say it."""
    row = done.row
    outcome = outcome if outcome and done else done.outcome
    note(token, what, action="memory.written", outcome=outcome, row=row and row.pk)
    if row is None:
        return shapes.Done(outcome=outcome, message=done.reason or outcome)
    held = row.status == "quarantined"
    name = "quarantine:index" if held else f"{row._meta.model_name}s:detail"
    return shapes.Done(
        outcome="quarantined" if held and outcome == "revised" else outcome,
        message=_what_happened(outcome, done),
        id=row.pk,
        text=row.text if isinstance(row, Fact) else row.trigger,
        version=version_of(row),
        change=str(done.change_id or ""),
        url=page(name, token.space, **({} if held else {"pk": row.pk})),
    )


def _what_happened(outcome: str, done: ChangeResult) -> str:
    if outcome == "again" and isinstance(done.row, Fact):
        times = done.row.times_seen
        return ngettext(
            "Known already: said %(n)s time now, and believed the more.",
            "Known already: said %(n)s times now, and believed the more.",
            times,
        ) % {"n": times}
    if outcome == "quarantined":
        return _("Held back until a person has looked at it: %(why)s.") % {
            "why": done.reason or describe_reasons(done.row.flags)
        }
    sentences = {
        "new": _("Remembered."),
        "restored": _("It had been put away and is believed again."),
        "revised": _("Revised."),
        "forgotten": _("Forgotten: nothing recalls it any more. A person can undo it."),
        "unchanged": _("It was so before."),
    }
    return done.reason or sentences.get(outcome, outcome)


@transaction.atomic
def learn_pattern(token: ApiToken, asked: shapes.Habit) -> shapes.Done:
    given = asked.model_dump()
    if token.gate == Gate.HOLD:
        after = given | {"confidence": 0.6, "learned_from": name_of(token)}
        return hold(token, Proposal.Kind.ADD_PATTERN, asked.trigger, after=after)
    try:
        done = patterns.learn(token.space, by=name_of(token), **given)
    except patterns.Invalid as bad:
        raise Refused(str(bad)) from None
    return _told(token, "learn_pattern", done)


@transaction.atomic
def retire_pattern(token: ApiToken, asked: shapes.Which) -> shapes.Done:
    rows = visible(token, Pattern).filter(status="active")
    pattern = find(token, rows, asked.id, "pattern")
    if token.gate == Gate.HOLD:
        return hold(token, Proposal.Kind.RETIRE_PATTERN, pattern.trigger, after={}, row=pattern)
    done = patterns.unlearn(pattern, by=name_of(token))
    return _told(token, "retire_pattern", done, "forgotten")


@transaction.atomic
def write_note(token: ApiToken, asked: shapes.NoteText) -> shapes.Done:
    """Replace the working note of a chat; nothing in it clears the note."""
    chat = find(token, rows_in(token.space, Chat).select_related("space"), asked.id, "chat")
    parts = asked.model_dump(exclude={"id"})
    by = name_of(token)
    done = (
        working.replace(chat, by=by, **parts) if any(parts.values()) else working.clear(chat, by=by)
    )
    note(token, "write_note", action="memory.written", outcome=done.outcome, chat=chat.pk)
    return shapes.Done(
        outcome=done.outcome,
        message=done.reason or _("The note is written."),
        id=done.row.pk if done.row else None,
        change=str(done.change_id or ""),
        url=page("working:index", token.space),
    )


def begin_night(token: ApiToken, asked: shapes.Nothing) -> shapes.Done:
    """Asked for twice it is one night: the job waits under the name of the space."""
    given = {"space_id": token.space_id, "asked_by": actors.person(token.user)}
    jobs.enqueue("sleep.night", once=f"night-{token.space_id}", **given)
    note(token, "begin_night", action="memory.written")
    said = _("A night begins as soon as the worker is free.")
    return shapes.Done(outcome="accepted", message=said, url=page("nights:index", token.space))


def erasure_preview(token: ApiToken, asked: shapes.Which) -> shapes.Erased:
    fact = find(token, visible(token, Fact).select_related("space"), asked.id, "fact")
    rows = erasure.purge(fact, by=name_of(token), preview=True)
    note(token, "erasure_preview", id=fact.pk)
    return shapes.Erased(rows=rows, url=page("facts:detail", token.space, pk=fact.pk))


def import_file(token: ApiToken, asked: shapes.File) -> shapes.Imported:
    """Look at a file and say what importing it would bring. A person imports it, on its page."""
    file = ContentFile(asked.content.encode(), name=asked.name)
    given = {"asked": asked.format} if asked.format else {}
    parcel = tasks.upload(token.space, file, by=name_of(token), now=True, **given)
    note(token, "import", action="memory.written", parcel=parcel.pk)
    return shapes.Imported(
        id=parcel.pk,
        status=parcel.status,
        counts=parcel.counts,
        problem=parcel.problem,
        url=page("transfer:detail", token.space, pk=parcel.pk),
    )


def export_file(token: ApiToken, asked: shapes.Nothing) -> tuple[Any, str, str]:
    """The whole space as an archive, with its name and type; over HTTP only."""
    if not transfer_page.is_short_export(token.space):
        said = _("This space is too large for one answer: export it on the page “Transfer”.")
        raise Refused(said, 409)
    note(token, "export")
    file = transfer_page.written(token.space, "keno", by=name_of(token), ip="")
    return file, importing.file_name(token.space), importing.EXPORTS["keno"].content_type


def ask(token: ApiToken, asked: shapes.Query) -> shapes.Answer:
    """Let the chosen language model answer from memory. Nothing of it is kept but the receipt."""
    chat = conversation(token, "ask")
    built = builder.build(chat, asked.query, person=token.user.username)
    prompt = {"system": built.system, "messages": built.messages, "briefing": built.briefing}
    try:
        done = complete("chat", space=token.space, chat=chat, **prompt)
    except ProviderError as error:
        raise refused(error) from error
    number = built.recall.receipt.pk if built.recall and built.recall.receipt else None
    note(token, "ask", receipt=number)
    return shapes.Answer(
        answer=done.text,
        model=done.model or done.provider,
        level=built.recall.level if built.recall else "none",
        receipt=number,
        url=page("recall:receipt", token.space, pk=number) if number else "",
    )


def conversation(token: ApiToken, name: str) -> Chat:
    """A chat of this token alone: no program joins the talk of another."""
    return chats.find_or_open(
        token.space, channel=CHANNEL, external_id=f"token-{token.pk}-{name}"[:128], title=name
    )


def refused(error: ProviderError) -> Refused:
    """Why a model gave no answer, for programs."""
    if isinstance(error, BudgetSpent):
        return Refused(str(error), 429, after=round(error.retry_after or 60))
    return Refused(_("The language model does not answer: %(why)s") % {"why": error}, 502)


def say(token: ApiToken, asked: shapes.Message) -> shapes.Reply:
    """Say something in a chat as the token's own person and wait for Keno's answer."""
    if token.gate != Gate.BELIEVE and is_command(asked.content):
        said = _("What this token writes is held: it cannot command. Say it in words.")
        raise Refused(said, 403)
    chat = conversation(token, asked.chat)
    name = f"{token.pk}-{asked.id}" if asked.id else ""
    external_id = hashlib.sha256(name.encode()).hexdigest() if name else ""
    taken = inbox.receive(
        chat,
        text=asked.content,
        external_id=external_id,
        author=asked.author or speaker(token),
        # Who calls is who the key says, so that nobody speaks as a person whose chat is linked.
        author_id=f"token-{token.pk}",
        silence=0,
        **passed_on(token),
    )
    message = taken or Message.objects.get(chat=chat, external_id=external_id)
    note(token, "say", action="memory.written", message=message.pk)
    reply = _wait_for(message, seconds=min(asked.wait, settings.HTTP_TIMEOUT))
    status = "accepted" if reply is None else "answered"
    return shapes.Reply(id=message.pk, chat=asked.chat, status=status, response=reply or "")


def is_command(words: str) -> bool:
    """Whether the chat would obey it at once, past any gate."""
    return inbox.is_command(words) or bool(intents.to_forget(words))


def passed_on(token: ApiToken) -> dict[str, str]:
    """What a held token says counts as passed on: it is offered to people, never believed."""
    return {"origin": token.name} if token.gate != Gate.BELIEVE else {}


def _wait_for(message: Message, *, seconds: float) -> str | None:
    """What was answered, by whichever worker; None when that takes too long."""
    reply, until = inbox.answer_to(message), time.monotonic() + seconds
    if reply is not None or not seconds or not _waiting.acquire(blocking=False):
        return reply
    try:
        while reply is None and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
            reply = inbox.answer_to(message)
    finally:
        _waiting.release()
    return reply


def speaker(token: ApiToken) -> str:
    """Who speaks where a program names nobody: the person whose token it is."""
    return token.user.get_full_name() or token.user.username


def learn_from(
    token: ApiToken, chat: Chat, said: list[tuple[str, str]], *, author: str = ""
) -> list[dict]:
    """Hear what a person said elsewhere; what it holds is believed or held, as the gate says.

    `said` are (role, text) in order. Gives the lines of what was learned, offered or refused.
    """
    if token.gate == Gate.READ_ONLY:
        return []
    heard = []
    for role, words in said:
        stored = chats.receive(
            chat,
            text=words,
            role=Message.Role.USER if role == "user" else Message.Role.ASSISTANT,
            author=author or speaker(token) if role == "user" else "",
            author_id=f"token-{token.pk}" if role == "user" else "",
            **(passed_on(token) if role == "user" else {}),
        )
        Message.objects.filter(pk=stored.message.pk).update(handled_at=timezone.now())
        heard += [stored.message] if role == "user" else []
    ingest.ingest_waiting(token.space, chat=chat)
    lines: list[dict] = []
    for message in Message.objects.filter(pk__in=[one.pk for one in heard]).select_related("chat"):
        _propose_offers(message)
        lines += message.journal
    note(token, "learn", action="memory.written", found=len(lines))
    return lines


def _propose_offers(message: Message) -> None:
    for place, line in offers.of_message(message):
        offer_proposals.propose_offer(message, place, line, now=timezone.now())


def told_by(do: Callable) -> str:
    """The sentence that describes an operation, from its function."""
    return " ".join((do.__doc__ or "").split())
