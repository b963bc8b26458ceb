"""What was said, with what stands beside it: breaks, receipts, what was learned."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Count, Q, QuerySet, Sum
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from kenoweb.ui.formatting import dated, since, word
from memory.chats import inbox
from memory.extraction import ingest
from memory.models import Chat, Fact, LlmCall, Message, OutboxItem, Recall

# Silence that is worth a line.
SILENCE = timedelta(hours=1)
# What a line shows of them; a receipt has all the rest of it on a page of its own.
LEARNED = ("text", "language", "status", "message")
RECEIPT = ("reply", "tokens", "ms", "at")
REDACTED, TRUNCATED, UNANSWERED = "redacted:", "truncated:", "unanswered"


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
    made = [Line(message=message, chosen=message.pk == chosen) for message in messages]
    _add_learned(made)
    for line in made:
        line.offers = offers(line.message)
    _add_receipts(made)
    made = sorted([*made, *_notices(chat, made, to_the_end)], key=lambda line: line.at)
    last = Line(message=before) if before else None
    for line in made:
        line.gap = _gap(last, line)
        last = line
    return made


def offers(message: Message) -> list[Offer]:
    """What the message offers, and what of it was declined."""
    return [
        Offer(
            message.pk,
            place,
            line["text"],
            line.get("language", ""),
            declined=line["outcome"] == ingest.DECLINED,
            is_wish=line["kind"] == ingest.WISH,
        )
        for place, line in ingest.offers_of(message)
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
