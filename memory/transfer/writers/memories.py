"""Write imported episodes, patterns, notes and chats through their services."""

from datetime import timedelta

from memory import patterns, working
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.guards.screening import redacted, screen
from memory.models import Chat, Episode, Pattern, WorkingNote
from memory.text import normalise as text
from memory.transfer.items import ChatItem, EpisodeItem, PatternItem, WorkingItem
from memory.transfer.reports import Verdict
from memory.transfer.session import Session
from memory.transfer.writers.outcomes import KNOWN, TAKEN, Outcome, before_undo, outcome, revived


def episode(session: Session, item: EpisodeItem) -> Outcome:
    chat = session.chat(item.chat)
    title, body = screen(item.title, single_line=True).text, screen(item.body).text
    if not title and not body:
        return Verdict.SKIPPED, "nothing left", ""
    for existing in _same_time(session, chat, item):
        if (existing.title, existing.body) == (
            text.short(title, 200),
            body,
        ) or existing.body == body:
            gone = existing.status == Episode.Status.DISCARDED
            return revived(session, existing) if gone and before_undo(existing) else KNOWN
    done = episodes.write(
        session.space,
        body=item.body,
        by=session.writer,
        chat=chat,
        title=item.title,
        tags=list(item.tags),
        participants=list(item.participants),
        started_at=item.at,
        ended_at=max(item.ended_at, item.at) if item.ended_at and item.at else item.at,
        source="import",
    )
    if done.changed and item.feedback in ("positive", "negative"):
        episodes.rate(done.row, feedback=item.feedback, by=session.writer)
    if done.changed and item.discarded:
        episodes.discard(done.row, by=session.writer, reason=item.discard_reason)
    return outcome(done)


def _same_time(session: Session, chat: Chat | None, item: EpisodeItem):
    found = Episode.objects.filter(space=session.space, chat=chat)
    if item.at is None:
        return found.filter(source="import")
    start = item.at.replace(second=0, microsecond=0) if item.to_the_minute else item.at
    end = start + (timedelta(minutes=1) if item.to_the_minute else timedelta(seconds=1))
    return found.filter(started_at__gte=start, started_at__lt=end)


def pattern(session: Session, item: PatternItem) -> Outcome:
    trigger = text.short(screen(item.trigger, single_line=True).text, 200)
    response = screen(item.response).text
    same = Pattern.objects.filter(space=session.space, trigger=trigger, response=response)
    for existing in same:
        gone = existing.status == Pattern.Status.TRASHED
        return revived(session, existing) if gone and before_undo(existing) else KNOWN
    try:
        done = patterns.learn(
            session.space,
            trigger=item.trigger,
            response=item.response,
            by=session.writer,
            slug=item.slug,
            confidence=item.confidence,
            now=item.at,
            use_count=item.use_count,
            learned_from=text.short(redacted(item.learned_from), 200),
        )
    except patterns.Invalid as error:
        return Verdict.SKIPPED, "bad row", str(error)
    return outcome(done)


def working_note(session: Session, item: WorkingItem) -> Outcome:
    chat = session.chat(item.chat)
    existing = WorkingNote.objects.filter(chat=chat).first()
    if existing and not working.is_empty(existing):
        given = (item.task, list(item.context), list(item.pending), item.notes)
        if (existing.task, existing.context, existing.pending, existing.notes) == given:
            return KNOWN
        if item.at is None or existing.updated_at >= item.at:
            return Verdict.SKIPPED, "newer note", ""
    done = working.replace(
        chat,
        by=session.writer,
        task=item.task,
        context=list(item.context),
        pending=list(item.pending),
        notes=item.notes,
        now=item.at,
    )
    return outcome(done)


def chat(session: Session, item: ChatItem) -> Outcome:
    known = len(session.made_chats)
    row = session.chat(item.chat)
    is_new = len(session.made_chats) > known
    title = text.short(redacted(item.title), 200)
    if title and not row.title:
        row.title = title
        row.save(update_fields=["title"])
    if not item.context:
        return TAKEN if is_new else KNOWN
    if row.context:
        same = row.context == screen(item.context).text[: chats.CONTEXT_LENGTH].strip()
        return KNOWN if same else (Verdict.SKIPPED, "own context", "")
    return outcome(chats.set_context(row, text=item.context, by=session.writer))
