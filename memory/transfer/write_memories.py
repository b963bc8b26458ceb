"""Episodes, patterns, notes and chats: each through the service that owns it, once."""

from datetime import timedelta

from memory import chats, episodes, patterns, text, working
from memory.models import Chat, Episode, Pattern, WorkingNote
from memory.screen import screen
from memory.transfer.items import ChatItem, EpisodeItem, PatternItem, WorkingItem
from memory.transfer.outcomes import KNOWN, TAKEN, Outcome, before_undo, outcome, revived
from memory.transfer.reports import Verdict
from memory.transfer.session import Session


def episode(session: Session, item: EpisodeItem) -> Outcome:
    chat = session.chat(item.chat)
    title, body = screen(item.title, line=True).text, screen(item.body).text
    if not title and not body:
        return Verdict.SKIPPED, "nothing left", ""
    for met in _same_time(session, chat, item):
        if (met.title, met.body) == (text.short(title, 200), body) or met.body == body:
            gone = met.status == Episode.Status.DISCARDED
            return revived(session, met) if gone and before_undo(met) else KNOWN
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
    trigger = text.short(screen(item.trigger, line=True).text, 200)
    response = screen(item.response).text
    same = Pattern.objects.filter(space=session.space, trigger=trigger, response=response)
    for met in same:
        gone = met.status == Pattern.Status.TRASHED
        return revived(session, met) if gone and before_undo(met) else KNOWN
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
            learned_from=text.short(text.clean(item.learned_from), 200),
        )
    except patterns.Invalid as error:
        return Verdict.SKIPPED, "bad row", str(error)
    return outcome(done)


def working_note(session: Session, item: WorkingItem) -> Outcome:
    chat = session.chat(item.chat)
    met = WorkingNote.objects.filter(chat=chat).first()
    if met and not working.is_empty(met):
        given = (item.task, list(item.context), list(item.pending), item.notes)
        if (met.task, met.context, met.pending, met.notes) == given:
            return KNOWN
        if item.at is None or met.updated_at >= item.at:
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
    title = text.short(text.clean(item.title), 200)
    if title and not row.title:
        row.title = title
        row.save(update_fields=["title"])
    if not item.context:
        return TAKEN if is_new else KNOWN
    if row.context:
        same = row.context == screen(item.context).text[: chats.CONTEXT_LENGTH].strip()
        return KNOWN if same else (Verdict.SKIPPED, "own context", "")
    return outcome(chats.set_context(row, text=item.context, by=session.writer))
