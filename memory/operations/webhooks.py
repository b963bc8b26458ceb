"""Webhooks: programs are told what happens in a space, signed; never a word of memory."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memory import jobs
from memory.history import audit
from memory.models import Space, Webhook, WebhookDelivery, WebhookEvent
from memory.spaces.connections import seal, unseal

CALL = "bot.call_webhook"
# Events in one call; an import of a year becomes a few hundred calls.
BATCH = 200
KEEP = timedelta(days=14)


@transaction.atomic
def subscribe(
    space: Space, *, url: str, events: list[str], by: str, ip: str | None = None
) -> tuple[Webhook, str]:
    """Have the address called from now on; return the row and the secret that signs the calls."""
    secret = secrets.token_urlsafe(32)
    values = {"url": url, "events": sorted(set(events)), "by": by}
    webhook = Webhook.objects.create(space=space, secret=seal(secret), **values)
    audit.record("webhook.created", actor=by, space=space, obj=webhook, ip=ip, events=events)
    return webhook, secret


@transaction.atomic
def unsubscribe(webhook: Webhook, *, by: str, ip: str | None = None) -> None:
    """Call the address no more; what waited for it is dropped."""
    audit.record("webhook.deleted", actor=by, space=webhook.space, obj=webhook, ip=ip)
    webhook.delete()


def collect(*, now: datetime) -> int:
    """Queue calls for the events that have happened; return how many."""
    waiting = WebhookEvent.objects.order_by("webhook").values_list("webhook", flat=True).distinct()
    return sum(_collect(number, now) for number in waiting)


@transaction.atomic
def _collect(number: int, now: datetime) -> int:
    # Any number of workers look; the one that locks the rows sends them.
    rows = WebhookEvent.objects.select_for_update(skip_locked=True).filter(webhook=number)
    batch = list(rows.order_by("pk")[:BATCH])
    if not batch:
        return 0
    events = [
        {"event": row.event, "action": row.action, "id": row.object_id, "at": row.at.isoformat()}
        for row in batch
    ]
    WebhookEvent.objects.filter(pk__in=[row.pk for row in batch]).delete()
    call(WebhookDelivery.objects.create(webhook_id=number, told=events, created_at=now))
    return 1


def send_test(webhook: Webhook) -> WebhookDelivery:
    """Call the address with an event that means nothing."""
    at = timezone.now().isoformat()
    return _send(webhook, [{"event": "test", "action": "created", "id": 0, "at": at}])


def replay(delivery: WebhookDelivery) -> WebhookDelivery:
    """Send the same events again, as a call of its own."""
    return _send(delivery.webhook, delivery.told)


def _send(webhook: Webhook, events: list[dict]) -> WebhookDelivery:
    delivery = WebhookDelivery.objects.create(webhook=webhook, told=events)
    call(delivery)
    return delivery


def call(delivery: WebhookDelivery) -> None:
    # One lock for each address: calls arrive in order, and a slow one holds up nobody else.
    lock, space = f"hook-{delivery.webhook_id}", delivery.webhook.space_id
    jobs.enqueue(CALL, lock=lock, delivery_id=delivery.pk, space_id=space)


def waiting(number: int) -> WebhookDelivery | None:
    rows = WebhookDelivery.objects.select_related("webhook__space")
    return rows.filter(pk=number, delivered_at=None, failed_at=None).first()


def body(delivery: WebhookDelivery) -> dict[str, Any]:
    """Return what is sent: ids alone. The words need a token, which says what it may read."""
    space = delivery.webhook.space.slug
    home = f"{settings.KENO_URL}/api/v1"
    return {"delivery": delivery.pk, "space": space, "api": home, "events": delivery.told}


def secret_of(webhook: Webhook) -> str:
    return unseal(webhook.secret)


def record(
    delivery: WebhookDelivery, *, status: int = 0, error: str = "", permanent: bool = False
) -> None:
    now = timezone.now()
    delivery.attempts += 1
    delivery.status, delivery.error = status, error[:300]
    delivery.delivered_at = None if error else now
    delivery.failed_at = now if error and permanent else None
    delivery.save()


def sweep(*, now: datetime) -> int:
    """Drop the log of calls after two weeks."""
    return WebhookDelivery.objects.filter(created_at__lt=now - KEEP).delete()[0]
