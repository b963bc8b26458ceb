"""Find the believed facts that a new statement changes or ends, and let them give way."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Concat

from memory.extraction import intents
from memory.extraction.frames.compare import Likeness, Verdict, compare
from memory.extraction.frames.reading import frames_of, remainder
from memory.extraction.frames.vocabulary import terms, tokens
from memory.facts import service as facts
from memory.guards.screening import redacted
from memory.history import actors
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Chat, Fact, Message, RecallItem, Space
from memory.models.prepared import prepared
from memory.spaces.chat_links import said_by_same, speaker_of
from memory.vectors.likeness import likeness as likeness_of

# The newest facts about one subject that are looked at.
MAX_CANDIDATES = 200
# A shorter word is in too many facts to find those that a statement without a subject is about.
MIN_WORD = 3
# Both may be true after all: somebody who dislikes cats may have got one.
UNSURE = {"taste", "diet"}
# The line in a reply's journal.
WRONG = "wrong"
# What is kept of a fact whose text falls into several.
_ORIGIN = "chat subject quote language kind category confidence message episode said_by mode"
# What puts a change before people: (the old fact, the new one, why). Memory knows of no proposals;
# sleep adds its own.
ASK: list[Callable[[Fact, Fact, str], object]] = []


class Superseded(NamedTuple):
    fact: Fact
    verdict: Verdict


@transaction.atomic(savepoint=False)
def settle(new: Fact, *, message: Message, by: str, now: datetime | None = None) -> list[Fact]:
    """Let what the new fact makes untrue give way; return the facts that did, newest first.

    What only a person may change, what the whole space knows and what may be true beside it after
    all is put before people instead.
    """
    replaced = []
    for superseded in find_superseded(
        new.space, new.chat, new.text, new.subject, whole_space=True, speaker=message,
        correcting=intents.read(message.text).name == "correct", ignore=new,
    ):  # fmt: skip
        if not _is_before(superseded.fact, message):
            continue
        own = superseded.fact.chat_id == new.chat_id and _is_sure(superseded.verdict)
        if own and give_way(superseded, new=new, by=by, now=now).changed:
            replaced.append(superseded.fact)
        else:
            for ask in ASK:
                ask(superseded.fact, new, superseded.verdict.reason)
    return replaced


def _is_before(fact: Fact, message: Message) -> bool:
    """Return whether an earlier message says it, or none; facts of one message stand together."""
    source = fact.message
    return source is None or (source.pk != message.pk and source.sent_at <= message.sent_at)


def _is_sure(verdict: Verdict) -> bool:
    # Without a frame only the numbers of two like sentences differ.
    return verdict.reason not in UNSURE and (verdict.frame is not None or verdict.kind == "ends")


def find_superseded(
    space: Space,
    chat: Chat | None,
    text: str,
    subject: str,
    *,
    whole_space: bool = False,
    speaker: Message | None = None,
    correcting: bool = False,
    ignore: Fact | None = None,
    likeness: Likeness | None = likeness_of,
) -> list[Superseded]:
    """Return the believed facts of that chat that the statement changes or ends, newest first.

    `whole_space` also looks at what the whole space knows; give it only when whoever speaks may
    change that. With `speaker`, a message, only what the same person said is found, and what
    nobody in particular did. `correcting` is for an open correction ("no, …"), see `compare`.
    """
    reach: dict[str, Any] = {"whole_space": whole_space, "speaker": speaker}
    superseded = judge(
        _compared(space, chat, text, subject, ignore=ignore, **reach),
        text,
        # One thing may be called "Ana's dog" and "el perro de Ana": both are told of its owner.
        subject=speaker.author if speaker else subject,
        about=subject,
        correcting=correcting,
        likeness=likeness,
    )
    if not superseded:
        return []
    rows = reachable(space, chat, **reach).in_bulk([entry.fact.pk for entry in superseded])
    return [
        entry._replace(fact=rows[entry.fact.pk]) for entry in superseded if entry.fact.pk in rows
    ]


def _compared(
    space: Space,
    chat: Chat | None,
    text: str,
    subject: str,
    *,
    whole_space: bool,
    speaker: Message | None,
    ignore: Fact | None,
) -> Iterable[Fact]:
    """Return up to two hundred facts in short: only the few that give way are read whole."""
    if speaker and ignore and subject:
        filters = {"space": space.pk, "chat": chat and chat.pk, "subject": subject}
        filters |= {"new": ignore.pk, "whole_space": whole_space}
        if not speaker.author_id:
            return _told_by_name(here=speaker.chat_id, author=speaker.author, **filters)
        accounts = [f"{channel}:{number}" for channel, number in speaker_of(speaker)]
        return _told_by(accounts=accounts, **filters)
    rows = reachable(space, chat, whole_space=whole_space, speaker=speaker)
    if ignore is not None:
        rows = rows.exclude(pk=ignore.pk)
    return _candidates(rows, text, subject, is_told=speaker is not None)


@prepared(space="bigint", chat="bigint", new="bigint", subject="varchar", accounts="varchar[]")
def _told_by(space, chat, new, subject, accounts, whole_space):
    """Prepare the query of the usual case: what one person told of somebody."""
    account = Concat("message__chat__channel", Value(":"), "message__author_id")
    rows = reachable(space, chat, whole_space=whole_space).exclude(pk=new).alias(account=account)
    by_speaker = Q(account__any_of=accounts, message__role=Message.Role.USER)
    rows = rows.filter(by_speaker | Q(message=None))
    return _candidates(rows, "", subject, is_told=True)


@prepared(
    space="bigint", chat="bigint", new="bigint", subject="varchar", here="bigint", author="varchar"
)
def _told_by_name(space, chat, new, subject, here, author, whole_space):
    """The same where one chat knows a person by name alone."""
    rows = reachable(space, chat, whole_space=whole_space).exclude(pk=new)
    by_speaker = Q(message__chat=here, message__author_id="", message__author=author)
    rows = rows.filter(by_speaker | Q(message=None))
    return _candidates(rows, "", subject, is_told=True)


@transaction.atomic
def give_way(
    superseded: Superseded, *, new: Fact, by: str, now: datetime | None = None
) -> ChangeResult:
    """Let the new fact take the old one's place; what else the old one told stays believed.

    One change, so that one undo brings all of it back. ChangeResult.row is the new fact.
    """
    old, frame = superseded.fact, superseded.verdict.old
    rest = remainder(old.text, frame, subject=old.subject) if frame else []
    with history.change(by=by, why="supersede"):
        # "I have lived in Oslo since March": Rome was home until then.
        done = facts.supersede(old, by=by, new=new, until=new.valid_from, now=now)
        for words in rest if done.changed else []:
            origin = {name: getattr(old, name) for name in _ORIGIN.split()}
            facts.remember(old.space, text=words, by=by, why="supersede", now=now, **origin)
    return done


def judge(
    believed: Iterable[Fact],
    text: str,
    *,
    subject: str = "",
    about: str = "",
    correcting: bool = False,
    likeness: Likeness | None = likeness_of,
) -> list[Superseded]:
    """Return those of the facts that cannot stand beside the statement, in their order.

    `subject` is who speaks, `about` whom the statement is filed under.
    """
    superseded = []
    for fact in believed:
        is_same = about not in ("", subject, Fact.LORE) and fact.subject == about
        verdict = compare(
            fact.text, text, subject=subject or fact.subject, correcting=correcting,
            same_person=is_same, likeness=likeness,
        )  # fmt: skip
        if verdict.changes:
            superseded.append(Superseded(fact, verdict))
    return superseded


def reachable(
    space: Any, chat: Any, *, whole_space: bool = False, speaker: Message | None = None
) -> QuerySet:
    """Return the believed facts that a statement in this chat may change; a pinned one stays."""
    where = Q(chat=chat)
    if whole_space:
        where |= Q(chat=None)
    rows = Fact.objects.in_space(space).live().filter(where, pinned=False)
    rows = rows.select_related("message", "space")
    if speaker is None:
        return rows
    # By the same person, or by nobody in particular; a name proves nothing.
    return rows.filter(said_by_same(speaker, prefix="message__") | Q(message=None))


def _candidates(rows: QuerySet, text: str, subject: str, *, is_told: bool) -> QuerySet:
    """Return what the speaker said, what has the subject, or what shares a word, in short."""
    about = Q(subject=subject)
    if not subject:
        about &= _sharing_a_word(text)
    if is_told:
        about |= Q(message__isnull=False)
    rows = rows.filter(about).select_related(None).only("space", "text", "subject")
    return rows.order_by("-last_seen_at", "-pk")[:MAX_CANDIDATES]


def _sharing_a_word(text: str) -> Q:
    """Match the words of the text: a fact without a subject names what it is about."""
    named = {word for frame in frames_of(text) for word in (frame.key, *frame.holder)}
    words = (
        terms(text)
        | {*tokens(text)}
        | {part for word in named for part in word.replace(":", " ").split()}
    )
    conditions = (Q(text__icontains=word) for word in sorted(words) if len(word) >= MIN_WORD)
    return reduce(or_, conditions, Q(pk__in=[]))


@transaction.atomic
def mark_wrong(
    reply: Message, *, by: str, right: str = "", now: datetime | None = None
) -> ChangeResult:
    """Keep that a reply was wrong, as a question to be tried again; see wrong_replies().

    With `right`, how it is, that is believed from now on, in the place of the one fact that the
    reply used.
    """
    actors.require_person(by)
    words = redacted(right, single_line=True)
    done = _put_right(reply, words, by=by, now=now) if words else ChangeResult(reply, None, "kept")
    reply.refresh_from_db(
        fields=["journal"], from_queryset=Message.objects.select_for_update(of=("self",))
    )
    line = {"outcome": WRONG, "by": by, "text": words}
    reply.journal = [*(entry for entry in reply.journal if entry.get("outcome") != WRONG), line]
    reply.save(update_fields=["journal"])
    return done


def _put_right(reply: Message, words: str, *, by: str, now: datetime | None) -> ChangeResult:
    used = RecallItem.objects.filter(recall__reply=reply, mark=RecallItem.Mark.USED)
    believed = list(Fact.objects.live().filter(recalled__in=used).distinct()[:2])
    if len(believed) == 1:
        return facts.supersede(believed[0], by=by, text=words, now=now)
    return facts.remember(reply.space, text=words, by=by, chat=reply.chat, now=now)


def wrong_replies(space: Space) -> QuerySet[Message]:
    """Return the replies that somebody called wrong, newest first: their questions are tests."""
    marked = Message.objects.filter(space=space, journal__contains=[{"outcome": WRONG}])
    return marked.exclude(reply_to=None).select_related("reply_to").order_by("-pk")
