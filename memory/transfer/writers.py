"""Write what an import found, each with its outcome: messages and facts in batches."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import Max
from django.db.models.functions import Greatest
from django.utils import timezone

from memory import notices, patterns, rulings, working
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import rows as fact_rows
from memory.guards.screening import HELD, ORDERS, describe_reasons, redacted, screen, screen_message
from memory.history import actors, rows
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.identity import core as cores
from memory.identity import preferences, rules
from memory.models import (
    Chat,
    Episode,
    Fact,
    Identity,
    Message,
    Pattern,
    Preference,
    Rule,
    WorkingNote,
)
from memory.text import normalise as text
from memory.transfer.items import (
    ChatItem,
    CoreItem,
    EpisodeItem,
    FactItem,
    MessageItem,
    PatternItem,
    PreferenceItem,
    RuleItem,
    WorkingItem,
)
from memory.transfer.reports import Verdict
from memory.transfer.session import Session

# Verdict, reason, and a sentence where the reason's own does not do.
Outcome = tuple[str, str, str]
TAKEN: Outcome = (Verdict.TAKEN, "", "")
KNOWN: Outcome = (Verdict.KNOWN, "known", "")
Key = tuple[int | None, str, str]
_RANKS = list(Fact.Status.values)


def outcome(done: history.ChangeResult) -> Outcome:
    if done.outcome == "quarantined":
        return quarantined(done.row, done.reason)
    if done.outcome == "refused":
        return Verdict.SKIPPED, "ruling", done.reason
    if done.outcome == "empty":
        return Verdict.SKIPPED, "nothing left", done.reason
    return TAKEN if done.changed else KNOWN


def quarantined(row: models.Model | None, reason: str = "") -> Outcome:
    return Verdict.QUARANTINED, "", reason or describe_reasons(getattr(row, "flags", []))


def before_undo(row: models.Model) -> dict | None:
    """Return the row before an import was undone; None if it is gone for another reason."""
    steps = history.history(row)
    if not steps or "undoes_context" not in steps[0].metadata:
        return None
    return next((step.after for step in steps if "undoes_context" not in step.metadata), None)


def revived(session: Session, row: models.Model, **more: Any) -> Outcome:
    """Restore a row that an undo removed, because it is imported again."""
    was = before_undo(row)
    if was is None:
        return Verdict.SKIPPED, "put away", ""
    values = {name: was[name] for name in ("status", "discard_reason") if name in was}
    values |= {name: None for name in ("trashed_at", "discarded_at") if name in was}
    rows.change(row, by=session.writer, why="import again", now=None, **values | more)
    return quarantined(row) if was["status"] == "quarantined" else TAKEN


def write_messages(session: Session, items: list[MessageItem]) -> list[Outcome]:
    """Insert the messages that are not there yet, each under its own id in its chat."""
    keys = [(session.chat(item.chat).pk, _external_id(item)) for item in items]
    rows = Message.objects.filter(
        chat_id__in={chat for chat, _name in keys}, external_id__in={name for _chat, name in keys}
    )
    known = set(rows.values_list("chat_id", "external_id"))
    fresh: dict[tuple[int, str], tuple[MessageItem, Message]] = {}
    outcomes: list[Outcome] = []
    for key, item in zip(keys, items, strict=True):
        if key in known or key in fresh:
            outcomes.append((Verdict.KNOWN, "known" if key in known else "twice", ""))
        elif not (message := _message(session, item)).text:
            outcomes.append((Verdict.SKIPPED, "empty message", ""))
        else:
            fresh[key] = (item, message)
            outcomes.append(TAKEN)
    messages = Message.objects.bulk_create([message for _item, message in fresh.values()])
    session.made_messages += [message.pk for message in messages]
    _link_replies(fresh.values())
    _touch({message.chat_id for message in messages})
    return outcomes


def find(session: Session, references: list[tuple[str, str]]) -> list[int | None]:
    """Return the source messages of facts, by chat (if known) and id; None if missing."""
    names = [chats.stored_id(name) for _chat, name in references]
    rows = Message.objects.filter(space=session.space, external_id__in=set(names) - {""})
    ids: dict[tuple[int | None, str], int] = {}
    for pk, chat, name in rows.order_by("-pk").values_list("pk", "chat_id", "external_id"):
        ids[chat, name] = ids[None, name] = pk
    return [
        ids.get((session.chat(chat).pk if chat else None, name)) if name else None
        for (chat, _external), name in zip(references, names, strict=True)
    ]


def _message(session: Session, item: MessageItem) -> Message:
    screened, now = screen_message(item.text, role=item.role), timezone.now()
    at = item.at or now
    return Message(
        space=session.space,
        chat=session.chat(item.chat),
        role=item.role,
        author=text.short(text.clean(item.author), 120),
        author_id=text.clean(item.author_id)[:128],
        text=screened.text,
        language=text.detect_language(screened.text),
        external_id=_external_id(item),
        trace=Message.Trace.IMPORT,
        flags=[*screened.flags, *chats.truncation_flag(item.text)],
        sent_at=at,
        # Nobody waits for an answer to an old message of another program.
        handled_at=at,
        ingested_at=now,
    )


def _external_id(item: MessageItem) -> str:
    return chats.stored_id(item.external_id) or text.said_key(item.text)[:32]


def _link_replies(pairs: Iterable[tuple[MessageItem, Message]]) -> None:
    answered = {message: chats.stored_id(item.reply_to) for item, message in pairs}
    answered = {message: name for message, name in answered.items() if name}
    rows = Message.objects.filter(
        chat_id__in={message.chat_id for message in answered},
        external_id__in=set(answered.values()),
    )
    ids = {(chat, name): pk for pk, chat, name in rows.values_list("pk", "chat_id", "external_id")}
    for message, name in answered.items():
        message.reply_to_id = ids.get((message.chat_id, name))
    Message.objects.bulk_update(answered, ["reply_to"])


def _touch(chat_ids: set[int]) -> None:
    newest = Message.objects.filter(chat_id__in=chat_ids).values("chat_id")
    for row in newest.annotate(newest=Max("sent_at")):
        # Greatest ignores a null: an import never moves the clock back.
        Chat.objects.filter(pk=row["chat_id"]).update(
            last_message_at=Greatest("last_message_at", row["newest"])
        )


def write_facts(session: Session, items: list[FactItem]) -> list[Outcome]:
    """Write the facts; return one outcome for each item, in order."""
    forbidding = rulings.forbidding_rulings(session.space)
    sources = find(session, [(item.message_chat, item.message) for item in items])
    pairs = zip(items, sources, strict=True)
    drafts = [_draft(session, item, source, among=forbidding) for item, source in pairs]
    existing = _existing(session, drafts)
    outcomes: list[Outcome] = []
    fresh: dict[Key, Fact] = {}
    for draft, item in zip(drafts, items, strict=True):
        if isinstance(draft, ChangeResult):
            outcomes.append(outcome(draft))
        elif _key(draft) in fresh:
            outcomes.append((Verdict.KNOWN, "twice", ""))
        elif row := existing.get(_key(draft)):
            outcomes.append(_meet(session, row, item, draft))
        else:
            fresh[_key(draft)] = draft
            held = draft.status == Fact.Status.QUARANTINED
            outcomes.append(quarantined(draft) if held else TAKEN)
    _insert(session, list(fresh.values()))
    return outcomes


def _draft(session: Session, item: FactItem, source: int | None, *, among) -> Fact | ChangeResult:
    draft = fact_rows.draft(
        session.space,
        text=item.text,
        by=session.writer,
        chat=session.chat(item.chat),
        subject=item.subject,
        quote=item.quote,
        confidence=item.confidence,
        now=item.at,
        among=among,
        kind=item.fact_kind,
        category=item.category,
        said_by=text.one_line(item.said_by),
        message_id=source,
        suspicions=[HELD] if session.is_held else [],
        **({"status": Fact.Status.ARCHIVED} if item.archived else {}),
    )
    if isinstance(draft, Fact) and item.updated_at:
        draft.last_seen_at = max(draft.last_seen_at, item.updated_at)
    return draft


def _existing(session: Session, drafts: list[Fact | ChangeResult]) -> dict[Key, Fact]:
    """Return existing rows with the same text, live ones before archived ones."""
    keys = {draft.said_key for draft in drafts if isinstance(draft, Fact)}
    rows = Fact.objects.filter(space=session.space, said_key__in=keys)
    ordered = sorted(rows, key=lambda row: (_RANKS.index(row.status), -row.pk), reverse=True)
    return {_key(row): row for row in ordered}


def _meet(session: Session, existing: Fact, item: FactItem, draft: Fact) -> Outcome:
    if existing.status in (Fact.Status.ACTIVE, Fact.Status.QUARANTINED) or item.archived:
        return KNOWN
    if existing.status == Fact.Status.SUPERSEDED:
        return Verdict.SKIPPED, "superseded", ""
    return revived(session, existing, message_id=draft.message_id)


def _insert(session: Session, fresh: list[Fact]) -> None:
    try:
        with transaction.atomic():
            Fact.objects.bulk_create(fresh)
    except IntegrityError:
        # One of these was remembered meanwhile: one by one, it strengthens the existing row.
        for fact in fresh:
            fact.pk = None
            fact_rows.insert_or_strengthen(fact, by=session.writer, change_id=None)


def _key(fact: Fact) -> Key:
    return fact.chat_id, fact.subject, fact.said_key


def core(session: Session, item: CoreItem) -> Outcome:
    """Write the core identity, only for a person and only if it is still empty."""
    existing = Identity.objects.filter(space=session.space).first()
    if existing and existing.core.strip():
        same = existing.core == redacted(item.text)
        return KNOWN if same else (Verdict.SKIPPED, "own identity", "")
    return _refusal(session, item, item.text) or outcome(
        cores.write(session.space, text=item.text, by=session.by)
    )


def rule(session: Session, item: RuleItem) -> Outcome:
    active = Rule.objects.filter(space=session.space, status=Rule.Status.ACTIVE)
    if existing := active.filter(slug=item.slug).first():
        same = existing.instruction == redacted(item.instruction)
        return KNOWN if same else (Verdict.SKIPPED, "own rule", "")
    if refusal := _refusal(session, item, f"{item.text}\n{item.examples}"):
        return refusal
    values = {name: getattr(item, name) for name in ("slug", "instruction", "category")}
    values |= {"examples": list(item.examples), "forbidden": list(item.forbidden)}
    return outcome(rules.put(session.space, by=session.by, **values))


def _refusal(session: Session, item: CoreItem | RuleItem, words: str) -> Outcome | None:
    """Refuse what only a person may write; tell the owner of suspicious words."""
    if not actors.is_person(session.by):
        return Verdict.SKIPPED, "needs a person", ""
    # Every prompt carries these words, so a suspicious one goes to the owner instead.
    if reasons := screen(words, ignore=ORDERS).reasons:
        done = notices.set_aside(session.space, what=item.kind, text=item.text, reasons=reasons)
        return outcome(done)
    return None


def preference(session: Session, item: PreferenceItem) -> Outcome:
    line = item.text.replace("**", "")
    keyed = preferences.KEYED.fullmatch(line)
    key, value = (keyed[1], keyed[2]) if keyed else (preferences.LEARNED, line)
    section = text.short(text.one_line(item.section), 80)
    value = screen(value, single_line=True).text
    standing = Preference.objects.filter(
        space=session.space, status=Preference.Status.ACTIVE, key=key.strip(), section=section
    )
    if standing.filter(value=value).exists():
        return KNOWN
    if key != preferences.LEARNED and standing.exists():
        return Verdict.SKIPPED, "own preference", ""
    done = preferences.put(
        session.space, key=key, value=value, section=section, by=session.writer, now=item.at
    )
    return outcome(done)


def episode(session: Session, item: EpisodeItem) -> Outcome:
    chat = session.chat(item.chat)
    body = screen(item.body).text
    if not body and not screen(item.title, single_line=True).text:
        return Verdict.SKIPPED, "nothing left", ""
    for existing in _same_time(session, chat, item):
        if existing.body == body:
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
    parts: dict[str, Any] = {"task": item.task, "notes": item.notes}
    parts |= {"context": list(item.context), "pending": list(item.pending)}
    existing = WorkingNote.objects.filter(chat=chat).first()
    if existing and not working.is_empty(existing):
        if all(getattr(existing, name) == value for name, value in parts.items()):
            return KNOWN
        if item.at is None or existing.updated_at >= item.at:
            return Verdict.SKIPPED, "newer note", ""
    return outcome(working.replace(chat, by=session.writer, now=item.at, **parts))


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
