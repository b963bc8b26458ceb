"""What was said, with what stands beside it, and saying more in the browser."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
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

# Silence that is worth a line.
SILENCE = timedelta(hours=1)
# What a line shows of them; a receipt has all the rest of it on a page of its own.
LEARNED = ("text", "language", "status", "message")
RECEIPT = ("reply", "tokens", "ms", "at")
REDACTED, TRUNCATED, UNANSWERED = "redacted:", "truncated:", "unanswered"
# What a message teaches is found after the reply: that long the page waits for it.
SETTLING = timedelta(seconds=12)
# How often to look, by how long the person has been waiting; after the last, not by itself.
POLL_INTERVALS = [(timedelta(seconds=20), "700ms"), (timedelta(minutes=5), "4s")]
MAX_MESSAGES = 60
CHANNEL = "web"
# Seconds. In a browser a message is whole when it is sent; others on their way may still join it.
PAUSE = 0.4
TITLE = 60
TOOK_BACK = "take back"


@dataclass(frozen=True)
class Offer:
    """Something that was heard but not surely enough to be believed: a person says yes or no."""

    message: int
    place: int
    text: str
    language: str = ""
    declined: bool = False
    is_wish: bool = False

    @property
    def key(self) -> str:
        return f"offer-{self.message}-{self.place}"

    @property
    def question(self) -> str:
        if self.is_wish:
            return _("How I should talk, for everybody here. Save it?")
        return _("Save it?")


@dataclass
class Line:
    """One message with what belongs to it, or one notice to the chat."""

    message: Message | None = None
    notice: OutboxItem | None = None
    gap: str = ""
    learned: list[Fact] = field(default_factory=list)
    offers: list["Offer"] = field(default_factory=list)
    receipt: Recall | None = None
    cost: Decimal | None = None
    chosen: bool = False
    # What it answers, where that stands among the same lines.
    to: Message | None = None

    @property
    def needed_nothing(self) -> bool:
        """Whether it only confirms: nobody asked anything that had to be remembered."""
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
        """(tone, words) of what the message itself carries."""
        return list(_badges(self.message)) if self.message else []


def in_chat(chat: Chat) -> QuerySet[Message]:
    """The messages with the title of their episode, which is all a line says of it."""
    mine = [field.name for field in Message._meta.concrete_fields]
    said = Message.objects.filter(chat=chat).select_related("episode")
    return said.only(*mine, "episode__title")


def lines(
    chat: Chat,
    messages: Sequence[Message],
    *,
    before: Message | None = None,
    chosen: int = 0,
    to_the_end: bool = True,
) -> list[Line]:
    """The messages as lines, in a few queries however many they are."""
    if not messages:
        return []
    said = {message.pk: message for message in messages}
    made = [
        Line(message=message, chosen=message.pk == chosen, to=said.get(message.reply_to_id))
        for message in messages
    ]
    _add_learned(made)
    for line in made:
        line.offers = shown_offers(line.message)
    _add_receipts(made)
    made = sorted([*made, *_notices(chat, made, to_the_end)], key=lambda line: line.at)
    last = Line(message=before) if before else None
    for line in made:
        line.gap = _gap(last, line)
        last = line
    return made


def shown_offers(message: Message) -> list[Offer]:
    """What the message offers, and what of it was declined."""
    return [
        Offer(
            message.pk,
            place,
            line["text"],
            line.get("language", ""),
            declined=line["outcome"] == offers.DECLINED,
            is_wish=line["kind"] == ingest.WISH,
        )
        for place, line in offers.of_message(message)
    ]


def _badges(message: Message) -> Iterator[tuple[str, str]]:
    flags = [str(flag) for flag in message.flags]
    if message.trace != Message.Trace.TEXT:
        yield "", message.get_trace_display()
    if any(flag.startswith(REDACTED) for flag in flags):
        yield "warn", _("a secret was taken out")
    if any(flag.startswith(TRUNCATED) for flag in flags):
        yield "warn", _("the end was cut off")
    if UNANSWERED in flags:
        yield "warn", _("waits for an answer")


def _add_learned(made: list[Line]) -> None:
    said = {line.message.pk: line for line in made if not line.is_reply}
    facts = Fact.objects.filter(message__in=said).only(*LEARNED).order_by("pk")
    facts = facts.prefetch_related("supersedes")
    answers = _answers(made)
    for fact in facts:
        asked = said[fact.message_id]
        (_answer_to(asked, answers) or asked).learned.append(fact)


def _answers(made: list[Line]) -> dict[bool, list[Line]]:
    """The replies by what they answer: of all, and of those that do not answer a command."""
    commands = {line.message.pk for line in made if inbox.is_command(line.message.text)}
    replies = [line for line in made if line.is_reply and line.message.reply_to_id]
    replies.sort(key=_answered)
    return {True: replies, False: [one for one in replies if _answered(one) not in commands]}


def _answered(reply: Line) -> int:
    return reply.message.reply_to_id


def _answer_to(asked: Line, answers: dict[bool, list[Line]]) -> Line | None:
    """The reply that answered the message; a command is answered apart from what waits beside."""
    replies = answers[inbox.is_command(asked.message.text)]
    place = bisect_left(replies, asked.message.pk, key=_answered)
    return replies[place] if place < len(replies) else None


def _add_receipts(made: list[Line]) -> None:
    replies = {line.message.pk: line for line in made if line.is_reply}
    found = Recall.objects.filter(reply__in=replies).only(*RECEIPT)
    found = found.annotate(injected=Count("items", filter=Q(items__injected=True)))
    for receipt in found.order_by("at", "pk"):
        replies[receipt.reply_id].receipt = receipt
    answered = {line.message.reply_to_id: line for line in replies.values()}
    calls = LlmCall.objects.filter(message__in=[pk for pk in answered if pk])
    for pk, cost in calls.order_by().values_list("message").annotate(Sum("cost")):
        answered[pk].cost = cost


def _notices(chat: Chat, made: list[Line], to_the_end: bool) -> list[Line]:
    """What was sent to the chat without being a reply: that no answer can be had, for example."""
    sent = OutboxItem.objects.filter(
        chat=chat, kind=OutboxItem.Kind.NOTICE, created_at__gte=made[0].at
    )
    if not to_the_end:
        sent = sent.filter(created_at__lte=made[-1].at)
    return [Line(notice=item) for item in sent.order_by("pk")[: len(made)]]


def _gap(last: Line | None, line: Line) -> str:
    """The words of the break above a line; nothing when the talk just goes on."""
    day = localtime(line.at)
    title = _episode(line)
    if last is None or localtime(last.at).date() != day.date():
        said = dated(day.date(), _("l j F Y"))
        return _("%(day)s · episode “%(title)s”") % {"day": said, "title": title} if title else said
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
    # What is known of the answer, while it is being written; None when nothing is.
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
        """Changes when there is something new to show."""
        shown = [(line.message or line.notice).pk for line in self.lines]
        learned = [(fact.pk, fact.status) for line in self.lines for fact in line.learned]
        offered = [offer for line in self.lines for offer in line.offers]
        state = (shown, learned, offered, self.draft, self.poll_interval, self.waiting, self.nobody)
        return hashlib.sha256(repr(state).encode()).hexdigest()[:12]


def tail(chat: Chat, *, since: int, now: datetime | None = None) -> Tail:
    """Everything after the message `since`, and what the page is waiting for."""
    now = now or timezone.now()
    said = in_chat(chat)
    messages = list(said.filter(pk__gt=since).order_by("pk")[:MAX_MESSAGES])
    before = said.filter(pk=since).first() if messages else None
    asked = inbox.unanswered(chat.pk).exclude(trace=Message.Trace.IMPORT)
    first = asked.aggregate(at=Min("received_at"))["at"]
    drafts = Draft.objects.filter(chat=chat).values_list("text", flat=True)
    return Tail(
        chat=chat,
        lines=lines(chat, messages, before=before),
        since=since,
        draft=drafts.first() or "" if first else None,
        poll_interval=_poll_interval(now - first) if first else _settling(messages, now=now),
        waiting=first is not None,
        nobody=first is not None and not health.worker_runs(now=now),
    )


def beginning(chat: Chat, *, now: datetime | None = None) -> tuple[int, bool]:
    """The last message that is settled, and whether others come after it: the tail has those."""
    now = now or timezone.now()
    said = Message.objects.filter(chat=chat)
    open_ones = inbox.unanswered(chat.pk).exclude(trace=Message.Trace.IMPORT)
    fresh = said.filter(role=Message.Role.USER, ingested_at=None, handled_at__gt=now - SETTLING)
    fresh = fresh.exclude(text__startswith="/")
    firsts = [rows.aggregate(pk=Min("pk"))["pk"] for rows in (open_ones, fresh)]
    first = min([pk for pk in firsts if pk], default=None)
    settled = said.filter(pk__lt=first) if first else said
    return settled.aggregate(pk=Max("pk"))["pk"] or 0, first is not None


def _poll_interval(waited: timedelta) -> str:
    return next((poll_interval for until, poll_interval in POLL_INTERVALS if waited < until), "")


def _settling(messages: list[Message], *, now: datetime) -> str:
    """Still looking, briefly: the facts of an answered message come a moment after the answer."""
    fresh = [
        one
        for one in messages
        if one.role == Message.Role.USER
        and not one.ingested_at
        and not inbox.is_command(one.text)
        and now - (one.handled_at or one.received_at) < SETTLING
    ]
    return POLL_INTERVALS[0][1] if fresh else ""


def name_of(user: User) -> str:
    return user.get_full_name() or user.get_username()


@transaction.atomic
def begin(space: Space, *, user: User, text: str, key: str, incognito: bool = False) -> Chat:
    """A new chat with its first message; the same key again is the same chat."""
    title = _("Incognito") if incognito else _title(text, now=timezone.now())
    chat = chats.find_or_open(space, channel=CHANNEL, external_id=key, title=title)
    if incognito:
        chats.begin_incognito(chat)
    say(chat, user=user, text=text, key="first")
    if space.options.private_chats:
        member = space.members.get(user=user)
        chats.set_private(chat, owner=member, private=True, by=person(user))
    return chat


def _title(said: str, *, now: datetime) -> str:
    """A name for a chat until its first episode is over: what was said, or its day when that is a
    question or a greeting.

    The name is where a fact is known: "What do you know about me?" is no place.
    """
    if not intents.not_memory(said):
        return short(summaries.title(said).rstrip(". "), TITLE)
    return _("Chat of %(day)s") % {"day": date_format(localtime(now), "SHORT_DATETIME_FORMAT")}


def say(chat: Chat, *, user: User, text: str, key: str) -> Message | None:
    """Keep the message and have it answered. None when this key was here before."""
    return inbox.receive(
        chat,
        text=text,
        external_id=f"web-{key}",
        author=name_of(user),
        author_id=str(user.pk),
        silence=PAUSE,
    )


@transaction.atomic
def take_back(fact: Fact, *, by: str) -> ChangeResult:
    """Not learned after all: into the trash, and what it had replaced is believed again."""
    with history.change(by=by, why=TOOK_BACK) as context:
        done = facts.discard(fact, by=by)
        for old in Fact.objects.filter(superseded_by=fact, status=Fact.Status.SUPERSEDED):
            facts.restore(old, by=by)
    return ChangeResult(fact, context.id) if done.changed else done


@transaction.atomic
def take_again(fact: Fact, *, by: str) -> ChangeResult:
    """Learned all the same."""
    last = next(iter(history.history(fact, limit=1)), None)
    if last is None or last.why != TOOK_BACK:
        return facts.restore(fact, by=by)
    try:
        with transaction.atomic(), history.change(by=by, why="redo") as context:
            history.undo_context(last.context_id, by=by)
    except history.Conflict:
        # What it had replaced was changed meanwhile and stays as it is now.
        return facts.restore(fact, by=by)
    fact.refresh_from_db()
    return ChangeResult(fact, context.id)
