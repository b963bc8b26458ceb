"""The bot's jobs."""

from django.utils import timezone
from procrastinate.contrib.django import app

from bot import outbox, turn
from memory.chats import inbox
from memory.jobs import Backoff, periodic
from memory.operations import webhooks


# About a day of trying: a provider may be down for a night.
@app.task(name=inbox.ANSWER_JOB, retry=Backoff(first=15, longest=1800, attempts=56))
def answer(message_id: int, space_id: int) -> None:
    turn.answer(message_id, now=timezone.now())


@app.task(name=outbox.DELIVER, retry=Backoff(first=2, longest=600, attempts=30))
async def deliver(item_id: int, space_id: int) -> None:
    await outbox.deliver(item_id)


# About a day of trying, too: then it is a dead letter, which a person may have tried again.
@app.task(name=webhooks.CALL, retry=Backoff(first=5, longest=7200, attempts=20))
async def call_webhook(delivery_id: int, space_id: int) -> None:
    await outbox.call_webhook(delivery_id)


@periodic("bot.reminders", cron="* * * * *")
def reminders(timestamp: int) -> None:
    outbox.say_reminders(now=timezone.now())


@periodic("bot.notices", cron="*/5 * * * *")
def notices(timestamp: int) -> None:
    outbox.deliver_notices(now=timezone.now())
