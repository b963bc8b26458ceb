"""Circuit breaker: a provider that keeps failing is left alone for a while, by all workers."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce

from memory.llm.request import Resting
from memory.models import Breaker


def state(provider: str, *, now: datetime) -> str:
    """Return closed, open or half-open."""
    row = Breaker.objects.filter(provider=provider).first()
    return state_of(row.opened_at if row else None, now=now)


def state_of(opened_at: datetime | None, *, now: datetime) -> str:
    if opened_at is None:
        return "closed"
    return "open" if now < opened_at + _cooldown() else "half-open"


def enter(provider: str, *, now: datetime) -> None:
    """Raise Resting while the breaker is open; when half-open let exactly one caller through."""
    row = Breaker.objects.filter(provider=provider).first()
    if row is None or row.opened_at is None:
        return
    wait = (row.opened_at + _cooldown() - now).total_seconds()
    if wait > 0:
        raise Resting(f"{provider} failed {row.failures} times in a row.", retry_after=wait)
    # A probe whose worker died must not block the provider: after a while another may try.
    stale = now - _cooldown()
    won = Breaker.objects.filter(
        Q(probed_at=None) | Q(probed_at__lt=stale), pk=row.pk, opened_at=row.opened_at
    ).update(probed_at=now)
    if not won:
        raise Resting(f"{provider} is being tried by another worker.", retry_after=5)


def succeeded(provider: str) -> None:
    Breaker.objects.filter(provider=provider, failures__gt=0).update(
        failures=0, failing_since=None, opened_at=None, probed_at=None, last_error=""
    )


def failed(provider: str, *, error: str, now: datetime) -> Breaker:
    """Count the failure; the row says since when the provider fails."""
    Breaker.objects.get_or_create(provider=provider)
    Breaker.objects.filter(provider=provider).update(
        failures=F("failures") + 1,
        failing_since=Coalesce(F("failing_since"), Value(now)),
        probed_at=None,
        last_error=error[:300],
    )
    Breaker.objects.filter(
        provider=provider, failures__gte=settings.CIRCUIT_BREAKER_THRESHOLD
    ).update(opened_at=now)
    return Breaker.objects.get(provider=provider)


def failing_since(provider: str) -> datetime | None:
    return Breaker.objects.filter(provider=provider).values_list("failing_since", flat=True).first()


def _cooldown() -> timedelta:
    return timedelta(seconds=settings.CIRCUIT_BREAKER_COOLDOWN)
