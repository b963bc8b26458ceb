"""When no answer can be had: one honest sentence to the person, one notice to the owner."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from bot import outbox
from memory import notices
from memory.llm import breaker
from memory.llm.choose import choose
from memory.llm.request import BudgetSpent, ProviderError
from memory.models import Chat, Message, Notice, OutboxItem

UNANSWERED = "unanswered"


@transaction.atomic
def send_outage_reply(
    chat: Chat, group: Sequence[Message], error: ProviderError, *, now: datetime
) -> None:
    """Once per outage and chat. The messages are marked until they are answered."""
    provider = choose("chat", space=chat.space).provider
    outage = _outage_key(provider, group, error, now=now)
    outbox.put(
        chat,
        text=_sentence(error),
        key=f"sorry-{outage}",
        kind=OutboxItem.Kind.NOTICE,
        now=now,
    )
    for message in Message.objects.select_for_update().filter(pk__in=[m.pk for m in group]):
        if UNANSWERED not in message.flags:
            message.flags = [*message.flags, UNANSWERED]
            message.save(update_fields=["flags"])
    if not isinstance(error, BudgetSpent):
        _tell_owner(chat, provider, outage, error)


def _outage_key(
    provider: str, group: Sequence[Message], error: ProviderError, *, now: datetime
) -> str:
    """A name that stays the same until the provider has answered again."""
    if isinstance(error, BudgetSpent):
        return f"budget-{now:%Y-%m-%d}"
    since = breaker.failing_since(provider)
    return f"{provider}-{since:%Y%m%dT%H%M%S}" if since else f"message-{group[0].pk}"


def _sentence(error: ProviderError) -> str:
    if isinstance(error, BudgetSpent):
        return _(
            "I have reached the spending limit I was given. Your message is kept,"
            " and I will answer when I may spend again."
        )
    if error.permanent:
        return _("I cannot answer right now, and my owner has been told. Your message is kept.")
    return _(
        "I cannot think clearly right now: my language model does not answer."
        " Your message is kept, and I will answer as soon as I can."
    )


def _tell_owner(chat: Chat, provider: str, outage: str, error: ProviderError) -> None:
    text = _("The provider %(provider)s does not answer: %(error)s")
    notices.tell(
        chat.space,
        kind="provider",
        key=f"provider-{outage}",
        level=Notice.Level.ERROR if error.permanent else Notice.Level.WARNING,
        text=text % {"provider": provider, "error": error},
    )
