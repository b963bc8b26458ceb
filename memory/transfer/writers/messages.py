"""Write imported messages in batches: a conversation has thousands."""

import hashlib
from collections.abc import Iterable

from django.db.models import Max
from django.db.models.functions import Greatest
from django.utils import timezone

from memory.guards.screening import screen_message
from memory.models import Chat, Message
from memory.text import normalise as text
from memory.transfer.items import MessageItem
from memory.transfer.reports import Verdict
from memory.transfer.session import Session
from memory.transfer.writers.outcomes import TAKEN, Outcome


def write(session: Session, items: list[MessageItem]) -> list[Outcome]:
    """Insert the messages that are not there yet, each under its own id in its chat."""
    known = _known(session, items)
    fresh: dict[tuple[int, str], tuple[MessageItem, Message]] = {}
    found: list[Outcome] = []
    for item in items:
        key = (session.chat(item.chat).pk, _external_id(item))
        if key in known or key in fresh:
            found.append((Verdict.KNOWN, "known" if key in known else "twice", ""))
        elif not (message := _message(session, item)).text:
            found.append((Verdict.SKIPPED, "empty message", ""))
        else:
            fresh[key] = (item, message)
            found.append(TAKEN)
    made = Message.objects.bulk_create([message for _item, message in fresh.values()])
    session.made_messages += [message.pk for message in made]
    _link_replies(session, fresh.values())
    _touch(session, {message.chat_id for message in made})
    return found


def find(session: Session, references: list[tuple[str, str]]) -> list[int | None]:
    """Return the source messages of facts, by chat (if known) and id; None if missing."""
    names = [_name(name) for _chat, name in references]
    rows = Message.objects.filter(space=session.space, external_id__in=set(names) - {""})
    ids: dict[tuple[int | None, str], int] = {}
    for pk, chat, name in rows.order_by("-pk").values_list("pk", "chat_id", "external_id"):
        ids[chat, name] = ids[None, name] = pk
    return [
        ids.get((session.chat(chat).pk if chat else None, name)) if name else None
        for (chat, _given), name in zip(references, names, strict=True)
    ]


def _known(session: Session, items: list[MessageItem]) -> set[tuple[int, str]]:
    rows = Message.objects.filter(
        chat_id__in={session.chat(item.chat).pk for item in items},
        external_id__in={_external_id(item) for item in items},
    )
    return set(rows.values_list("chat_id", "external_id"))


def _message(session: Session, item: MessageItem) -> Message:
    said, now = screen_message(item.text, role=item.role), timezone.now()
    at = item.at or now
    return Message(
        space=session.space,
        chat=session.chat(item.chat),
        role=item.role,
        author=text.short(text.clean(item.author), 120),
        author_id=text.clean(item.author_id)[:128],
        text=said.text,
        language=text.detect_language(said.text),
        external_id=_external_id(item),
        trace=Message.Trace.IMPORT,
        flags=[*said.flags, *_cut(item.text)],
        sent_at=at,
        # Nobody waits for an answer to what was said elsewhere, long ago.
        handled_at=at,
        ingested_at=now,
    )


def _external_id(item: MessageItem) -> str:
    return _name(item.external_id) or text.said_key(item.text)[:32]


def _name(raw_id: str) -> str:
    """Return an id as it is stored: a long one as its digest."""
    name = text.clean(raw_id, limit=None).strip()
    return name if len(name) <= 128 else hashlib.sha256(name.encode()).hexdigest()


def _cut(whole: str) -> list[str]:
    """Cut text at the limit (T-18) and mark that it was cut."""
    if len(whole) <= text.MAX_LENGTH:
        return []
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return [f"truncated:{len(whole)}:{digest}"]


def _link_replies(session: Session, pairs: Iterable[tuple[MessageItem, Message]]) -> None:
    answers = [(name, message) for item, message in pairs if (name := _name(item.reply_to))]
    if not answers:
        return
    rows = Message.objects.filter(
        chat_id__in={message.chat_id for _name, message in answers},
        external_id__in={name for name, _message in answers},
    )
    ids = {(chat, name): pk for pk, chat, name in rows.values_list("pk", "chat_id", "external_id")}
    for name, message in answers:
        message.reply_to_id = ids.get((message.chat_id, name))
    Message.objects.bulk_update([message for _name, message in answers], ["reply_to"])


def _touch(session: Session, chat_ids: set[int]) -> None:
    newest = Message.objects.filter(chat_id__in=chat_ids).values("chat_id")
    for row in newest.annotate(newest=Max("sent_at")):
        # Greatest ignores a null: an import never moves the clock back.
        Chat.objects.filter(pk=row["chat_id"]).update(
            last_message_at=Greatest("last_message_at", row["newest"])
        )
