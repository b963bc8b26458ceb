"""The messages of a chat with what belongs to them, and sending more in the browser."""

import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.ui.formatting import dated, since, word
from memory.chats import inbox
from memory.chats import service as chats
from memory.extraction import ingest, intents, offers
from memory.facts import service as facts
from memory.history import changes as history
from memory.history.actors import person
from memory.history.changes import ChangeResult
from memory.models import Chat, Draft, Fact, LlmCall, Message, OutboxItem, Recall, Space
from memory.operations import health
from memory.text import summaries
from memory.text.normalise import short

# A longer silence is shown as a break.
SILENCE = timedelta(hours=1)
# The fields that a line shows of a fact and of a receipt.
FACT_FIELDS = ("text", "language", "status", "message")
RECEIPT_FIELDS = ("reply", "tokens", "ms", "at")
# Labels by the beginning of the flag.
FLAG_LABELS = {
    "redacted:": gettext_lazy("a secret was taken out"),
    "truncated:": gettext_lazy("the end was cut off"),
    "unanswered": gettext_lazy("waits for an answer"),
}
# Facts are extracted after the reply: the page waits this long for them.
SETTLING = timedelta(seconds=12)
# How often to poll, by how long the person has been waiting; after the last, no more.
POLL_INTERVALS = [(timedelta(seconds=20), "700ms"), (timedelta(minutes=5), "4s")]
MAX_MESSAGES = 60
CHANNEL = "web"
# Seconds in which further messages still join this one.
PAUSE = 0.4
MAX_TITLE = 60
TOOK_BACK = "take back"


@dataclass
class Line:
    """One message with what belongs to it, or one notice to the chat."""

    message: Message | None = None
    notice: OutboxItem | None = None
    gap: str = ""
    learned: list[Fact] = field(default_factory=list)
    offers: list[dict] = field(default_factory=list)
    receipt: Recall | None = None
    cost: Decimal | None = None
    chosen: bool = False
    # The message it answers, when that is among the same lines.
    to: Message | None = None

    @property
    def needed_nothing(self) -> bool:
        """Whether it only confirms: no question had to be answered from memory."""
        if not self.to or self.message.not_recalled != Message.NotRecalled.OWN_WORDS:
            return False
        return self.to.not_recalled != Message.NotRecalled.QUESTION and "?" not in self.to.text

    @property
    def at(self) -> datetime:
        return self.message.sent_at if self.message else self.notice.created_at

    @property
    def is_reply(self) -> bool:
        return bool(self.message) and self.message.role == Message.Role.ASSISTANT

    @property
    def who(self) -> str:
        return self.message.author or ("Keno" if self.is_reply else word(self.message, "role"))

    @property
    def badges(self) -> list[tuple[str, str]]:
        """Return (tone, label) for what the message itself carries."""
        if not self.message:
            return []
        flags = [str(flag) for flag in self.message.flags]
        is_text = self.message.trace == Message.Trace.TEXT
        badges = [] if is_text else [("", self.message.get_trace_display())]
        return badges + [
            ("warn", str(label))
            for prefix, label in FLAG_LABELS.items()
            if any(flag.startswith(prefix) for flag in flags)
        ]


def in_chat(chat: Chat) -> QuerySet[Message]:
    """Return the messages, each with the title of its episode."""
    names = [field.name for field in Message._meta.concrete_fields]
    messages = Message.objects.filter(chat=chat).select_related("episode")
    return messages.only(*names, "episode__title")


def lines(
    chat: Chat,
    messages: Sequence[Message],
    *,
    before: Message | None = None,
    chosen: int = 0,
    to_the_end: bool = True,
) -> list[Line]:
    """Return the messages as lines, in a few queries however many there are."""
    if not messages:
        return []
    by_pk = {message.pk: message for message in messages}
    found = [
        Line(
            message=message,
            chosen=message.pk == chosen,
            to=by_pk.get(message.reply_to_id),
            offers=shown_offers(message),
        )
        for message in messages
    ]
    _add_learned(found)
    _add_receipts(found)
    found = sorted([*found, *_notices(chat, found, to_the_end)], key=lambda line: line.at)
    last = Line(message=before) if before else None
    for line in found:
        line.gap = _gap(last, line)
        last = line
    return found


def shown_offers(message: Message) -> list[dict]:
    """Return what was heard in the message, but not surely enough: a person says yes or no."""
    return [
        {
            "key": f"offer-{message.pk}-{place}",
            "message": message.pk,
            "place": place,
            "text": line["text"],
            "language": line.get("language", ""),
            "declined": line["outcome"] == offers.DECLINED,
            "question": _("How I should talk, for everybody here. Save it?")
            if line["kind"] == ingest.WISH
            else _("Save it?"),
        }
        for place, line in offers.of_message(message)
    ]


def _add_learned(rows: list[Line]) -> None:
    questions = {line.message.pk: line for line in rows if not line.is_reply}
    facts = Fact.objects.filter(message__in=questions).only(*FACT_FIELDS).order_by("pk")
    replies = sorted(
        (line for line in rows if line.is_reply and line.message.reply_to_id), key=_question_of
    )
    commands = {line.message.pk for line in rows if inbox.is_command(line.message.text)}
    to_messages = [line for line in replies if _question_of(line) not in commands]
    for fact in facts.prefetch_related("supersedes"):
        line = questions[fact.message_id]
        # A command is answered by itself, also while other messages wait for their reply.
        answers = replies if inbox.is_command(line.message.text) else to_messages
        place = bisect_left(answers, line.message.pk, key=_question_of)
        (answers[place] if place < len(answers) else line).learned.append(fact)


def _question_of(reply: Line) -> int:
    return reply.message.reply_to_id


def _add_receipts(rows: list[Line]) -> None:
    replies = {line.message.pk: line for line in rows if line.is_reply}
    recalls = Recall.objects.filter(reply__in=replies).only(*RECEIPT_FIELDS)
    recalls = recalls.annotate(injected=Count("items", filter=Q(items__injected=True)))
    for receipt in recalls.order_by("at", "pk"):
        replies[receipt.reply_id].receipt = receipt
    answered = {line.message.reply_to_id: line for line in replies.values()}
    calls = LlmCall.objects.filter(message__in=[pk for pk in answered if pk])
    for pk, cost in calls.order_by().values_list("message").annotate(Sum("cost")):
        answered[pk].cost = cost


def _notices(chat: Chat, rows: list[Line], to_the_end: bool) -> list[Line]:
    """Return what was sent without being a reply, such as that no answer can be had."""
    sent = OutboxItem.objects.filter(
        chat=chat, kind=OutboxItem.Kind.NOTICE, created_at__gte=rows[0].at
    )
    if not to_the_end:
        sent = sent.filter(created_at__lte=rows[-1].at)
    return [Line(notice=item) for item in sent.order_by("pk")[: len(rows)]]


def _gap(last: Line | None, line: Line) -> str:
    """Return the text of the break above a line; empty when the talk just goes on."""
    day = localtime(line.at)
    title = _episode(line)
    if last is None or localtime(last.at).date() != day.date():
        date = dated(day.date(), _("l j F Y"))
        return _("%(day)s · episode “%(title)s”") % {"day": date, "title": title} if title else date
    silence = line.at - last.at
    if silence < SILENCE:
        return ""
    words = {"time": since(last.at, now=line.at)}
    if title and title != _episode(last):
        return _("%(time)s of silence · episode “%(title)s”") % (words | {"title": title})
    return _("%(time)s of silence") % words


def _episode(line: Line) -> str:
    episode = line.message.episode if line.message else None
    return episode.title if episode else ""


@dataclass(frozen=True)
class Tail:
    chat: Chat
    lines: list[Line]
    since: int
    # The answer as far as it is written; None when none is on its way.
    draft: str | None = None
    poll_interval: str = ""
    waiting: bool = False
    nobody: bool = False

    @property
    def last(self) -> int:
        return max([self.since, *(line.message.pk for line in self.lines if line.message)])

    @property
    def answer(self) -> Message | None:
        replies = [line.message for line in self.lines if line.is_reply]
        return replies[-1] if replies else None

    @property
    def seen(self) -> str:
        """Return a digest that changes when there is something new to show."""
        shown = [(line.message or line.notice).pk for line in self.lines]
        learned = [(fact.pk, fact.status) for line in self.lines for fact in line.learned]
        offered = [offer for line in self.lines for offer in line.offers]
        state = (shown, learned, offered, self.draft, self.poll_interval, self.waiting, self.nobody)
        return hashlib.sha256(repr(state).encode()).hexdigest()[:12]


def tail(chat: Chat, *, since: int, now: datetime | None = None) -> Tail:
    """Return everything after the message `since`, and what the page is waiting for."""
    now = now or timezone.now()
    rows = in_chat(chat)
    messages = list(rows.filter(pk__gt=since).order_by("pk")[:MAX_MESSAGES])
    before = rows.filter(pk=since).first() if messages else None
    open_messages = inbox.unanswered(chat.pk).exclude(trace=Message.Trace.IMPORT)
    first = open_messages.aggregate(at=Min("received_at"))["at"]
    drafts = Draft.objects.filter(chat=chat).values_list("text", flat=True)
    return Tail(
        chat=chat,
        lines=lines(chat, messages, before=before),
        since=since,
        draft=drafts.first() or "" if first else None,
        poll_interval=_poll_interval(messages, first, now=now),
        waiting=first is not None,
        nobody=first is not None and not health.worker_runs(now=now),
    )


def last_settled(chat: Chat, *, now: datetime | None = None) -> tuple[int, bool]:
    """Return the last settled message, and whether the tail has others that come after it."""
    now = now or timezone.now()
    messages = Message.objects.filter(chat=chat)
    open_messages = inbox.unanswered(chat.pk).exclude(trace=Message.Trace.IMPORT)
    fresh = messages.filter(role=Message.Role.USER, ingested_at=None, handled_at__gt=now - SETTLING)
    fresh = fresh.exclude(text__startswith="/")
    firsts = [rows.aggregate(pk=Min("pk"))["pk"] for rows in (open_messages, fresh)]
    first = min([pk for pk in firsts if pk], default=None)
    settled = messages.filter(pk__lt=first) if first else messages
    return settled.aggregate(pk=Max("pk"))["pk"] or 0, first is not None


def _poll_interval(messages: list[Message], first: datetime | None, *, now: datetime) -> str:
    """Return how often to poll; `first` is since when a message waits for its answer."""
    if first:
        return next((every for until, every in POLL_INTERVALS if now - first < until), "")
    # The facts of an answered message come a moment after the answer.
    is_settling = any(
        message.role == Message.Role.USER
        and not message.ingested_at
        and not inbox.is_command(message.text)
        and now - (message.handled_at or message.received_at) < SETTLING
        for message in messages
    )
    return POLL_INTERVALS[0][1] if is_settling else ""


@transaction.atomic
def begin(space: Space, *, user: User, text: str, key: str, incognito: bool = False) -> Chat:
    """Open a chat with its first message; the same key again returns the same chat."""
    title = _("Incognito") if incognito else _title(text, now=timezone.now())
    chat = chats.find_or_open(space, channel=CHANNEL, external_id=key, title=title)
    if incognito:
        chats.begin_incognito(chat)
    say(chat, user=user, text=text, key="first")
    if space.options.private_chats:
        member = space.members.get(user=user)
        chats.set_private(chat, owner=member, private=True, by=person(user))
    return chat


def _title(message: str, *, now: datetime) -> str:
    """Name a chat until its first episode ends: by what was said, or by its day.

    The name tells where a fact is known; a question or a greeting would be a poor place.
    """
    if not intents.not_memory(message):
        return short(summaries.title(message).rstrip(". "), MAX_TITLE)
    return _("Chat of %(day)s") % {"day": date_format(localtime(now), "SHORT_DATETIME_FORMAT")}


def say(chat: Chat, *, user: User, text: str, key: str) -> Message | None:
    """Keep the message and have it answered; None when this key was used before."""
    return inbox.receive(
        chat,
        text=text,
        external_id=f"web-{key}",
        author=user.get_full_name() or user.get_username(),
        author_id=str(user.pk),
        silence=PAUSE,
    )


@transaction.atomic
def take_back(fact: Fact, *, by: str) -> ChangeResult:
    """Put what was learned in the trash and believe again what it had replaced."""
    with history.change(by=by, why=TOOK_BACK) as context:
        result = facts.discard(fact, by=by)
        for old in Fact.objects.filter(superseded_by=fact, status=Fact.Status.SUPERSEDED):
            facts.restore(old, by=by)
    return ChangeResult(fact, context.id) if result.changed else result


@transaction.atomic
def take_again(fact: Fact, *, by: str) -> ChangeResult:
    """Undo that the fact was taken back."""
    last = next(iter(history.history(fact, limit=1)), None)
    if last is None or last.why != TOOK_BACK:
        return facts.restore(fact, by=by)
    try:
        with transaction.atomic(), history.change(by=by, why="redo") as context:
            history.undo_context(last.context_id, by=by)
    except history.Conflict:
        # The fact it had replaced was changed meanwhile and stays as it is now.
        return facts.restore(fact, by=by)
    fact.refresh_from_db()
    return ChangeResult(fact, context.id)
