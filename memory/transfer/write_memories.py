"""Facts, episodes, patterns, notes: each through the service that owns it, once."""

from datetime import timedelta

from memory import chats, episodes, facts, history, patterns, text, working
from memory.models import Chat, Episode, Fact, Message, Pattern, WorkingNote
from memory.screen import screen
from memory.transfer import write_messages
from memory.transfer.items import ChatItem, EpisodeItem, FactItem, PatternItem, WorkingItem
from memory.transfer.reports import Verdict
from memory.transfer.session import Session

Outcome = tuple[str, str, str]
TAKEN: Outcome = (Verdict.TAKEN, "", "")
KNOWN: Outcome = (Verdict.KNOWN, "known", "")


def fact(session: Session, item: FactItem) -> Outcome:
    said = screen(item.text, line=True).text
    if not said:
        return Verdict.SKIPPED, "nothing left", ""
    subject = text.one_line(item.subject)[:120].strip()
    chat = session.chat(item.chat)
    source = write_messages.find(session, chat=item.message_chat, external_id=item.message)
    met = _met(session, chat=chat, subject=subject, said_key=text.said_key(said))
    if met is not None:
        return _meet(session, met, archived=item.archived, source=source)
    done = facts.remember(
        session.space,
        text=item.text,
        by=session.writer,
        chat=chat,
        subject=item.subject,
        quote=item.quote,
        confidence=item.confidence,
        now=item.at,
        kind=item.fact_kind,
        category=item.category,
        said_by=item.said_by,
        message=source,
        **({"status": Fact.Status.ARCHIVED} if item.archived else {}),
    )
    if done and item.updated_at and item.at and item.updated_at > item.at:
        Fact.objects.filter(pk=done.row.pk).update(last_seen_at=item.updated_at)
    return outcome(done)


def _met(session: Session, *, chat: Chat | None, subject: str, said_key: str) -> Fact | None:
    """The row that says this already, the living before the put away."""
    same = Fact.objects.filter(space=session.space, chat=chat, subject=subject, said_key=said_key)
    ranks = list(Fact.Status.values)
    return min(same, key=lambda row: (ranks.index(row.status), -row.pk), default=None)


def _meet(session: Session, met: Fact, *, archived: bool, source: Message | None) -> Outcome:
    if met.status in (Fact.Status.ACTIVE, Fact.Status.QUARANTINED) or archived:
        return KNOWN
    if met.status == Fact.Status.SUPERSEDED:
        return Verdict.SKIPPED, "superseded", ""
    if not was_undone(met):
        return Verdict.SKIPPED, "put away", ""
    facts.restore(met, by=session.writer)
    Fact.objects.filter(pk=met.pk, message=None).update(message=source)
    return TAKEN


def was_undone(row) -> bool:
    """Whether it is gone because an import was taken back: importing again means it."""
    latest = history.history(row)[:1]
    return bool(latest) and "undoes_context" in latest[0].metadata


def episode(session: Session, item: EpisodeItem) -> Outcome:
    chat = session.chat(item.chat)
    title, body = screen(item.title, line=True).text, screen(item.body).text
    if not title and not body:
        return Verdict.SKIPPED, "nothing left", ""
    for met in _same_time(session, chat, item):
        if (met.title, met.body) == (text.short(title, 200), body) or met.body == body:
            if met.status == Episode.Status.DISCARDED and not item.discarded and was_undone(met):
                episodes.restore(met, by=session.writer)
                return TAKEN
            return KNOWN
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
    if done and item.feedback in ("positive", "negative"):
        episodes.rate(done.row, feedback=item.feedback, by=session.writer)
    if done and item.discarded:
        episodes.discard(done.row, by=session.writer, reason=item.discard_reason)
    return outcome(done)


def _same_time(session: Session, chat: Chat | None, item: EpisodeItem):
    rows = Episode.objects.filter(space=session.space, chat=chat)
    if item.at is None:
        return rows.filter(source="import")
    start = item.at.replace(second=0, microsecond=0) if item.to_the_minute else item.at
    end = start + (timedelta(minutes=1) if item.to_the_minute else timedelta(seconds=1))
    return rows.filter(started_at__gte=start, started_at__lt=end)


def pattern(session: Session, item: PatternItem) -> Outcome:
    trigger = text.short(screen(item.trigger, line=True).text, 200)
    response = screen(item.response).text
    same = Pattern.objects.filter(space=session.space, trigger=trigger, response=response)
    for met in same:
        if met.status == Pattern.Status.TRASHED and was_undone(met):
            patterns.restore(met, by=session.writer)
            return TAKEN
        return KNOWN
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


def outcome(done: history.Done) -> Outcome:
    """What a service answered, in the words of a report."""
    if done.outcome == "quarantined":
        return Verdict.QUARANTINED, "", done.reason or ", ".join(getattr(done.row, "flags", []))
    if done.outcome == "refused":
        return Verdict.SKIPPED, "ruling", done.reason
    if done.outcome == "empty":
        return Verdict.SKIPPED, "nothing left", done.reason
    return TAKEN if done else KNOWN
