"""Facts, episodes, patterns, notes: each through the service that owns it, once."""

from datetime import timedelta

from memory import chats, episodes, facts, history, patterns, rows, text, working
from memory.models import Chat, Episode, Fact, Message, Pattern, WorkingNote
from memory.screen import in_words, screen
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
        said_by=text.one_line(item.said_by),
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
    return revived(session, met, **({"message": source} if source else {}))


def before_undo(row) -> dict | None:
    """How the row was before an import was taken back; None when it is gone for another reason."""
    steps = history.history(row)
    if not steps or "undoes_context" not in steps[0].metadata:
        return None
    return next((step.after for step in steps if "undoes_context" not in step.metadata), None)


def revived(session: Session, row, **more: object) -> Outcome:
    """Bring back what an undo took away: importing again means it."""
    was = before_undo(row)
    if was is None:
        return Verdict.SKIPPED, "put away", ""
    stamps = {name: None for name in ("trashed_at", "discarded_at") if name in was}
    reason = {"discard_reason": was["discard_reason"]} if "discard_reason" in was else {}
    values = {"status": was["status"]} | stamps | reason | more
    rows.change(row, by=session.writer, why="import again", now=None, **values)
    if was["status"] == "quarantined":
        return Verdict.QUARANTINED, "", in_words(row.flags)
    return TAKEN


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
    if done and item.feedback in ("positive", "negative"):
        episodes.rate(done.row, feedback=item.feedback, by=session.writer)
    if done and item.discarded:
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


def outcome(done: history.Done) -> Outcome:
    """What a service answered, in the words of a report."""
    if done.outcome == "quarantined":
        return Verdict.QUARANTINED, "", done.reason or in_words(getattr(done.row, "flags", []))
    if done.outcome == "refused":
        return Verdict.SKIPPED, "ruling", done.reason
    if done.outcome == "empty":
        return Verdict.SKIPPED, "nothing left", done.reason
    return TAKEN if done else KNOWN
