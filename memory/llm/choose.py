"""Which provider and model serves a purpose in a space, and which is left alone for a while."""

import shutil
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from django.conf import settings
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce

from memory.llm.providers import PROVIDERS
from memory.llm.request import BudgetSpent, Purpose, Resting
from memory.models import Breaker, Space
from memory.spaces import connections

TIERS: dict[Purpose, str] = {
    "chat": "chat",
    "sleep": "sleep",
    "expand": "fast",
    "extract": "fast",
    "summarise": "fast",
}
MAX_TOKENS: dict[Purpose, int] = {
    "chat": 2048,
    "sleep": 4096,
    "expand": 256,
    "extract": 1024,
    "summarise": 1024,
}

# One of these settings is enough; the first provider that has one is the automatic choice.
NEEDS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
}


@dataclass(frozen=True)
class Choice:
    provider: str
    model: str
    timeout: float
    max_tokens: int


def choose(purpose: Purpose, *, space: Space) -> Choice:
    """Return the provider and model that the settings choose, among those of the installation."""
    choice = _by_tier(TIERS[purpose], space)
    if not is_allowed(choice.provider, choice.model):
        usual = _by_tier(TIERS[purpose], Space())
        offline = _resolve("offline", "", usual.timeout)
        choice = usual if is_allowed(usual.provider, usual.model) else offline
    return replace(choice, max_tokens=MAX_TOKENS[purpose])


def is_allowed(provider: str, model: str) -> bool:
    """Tell whether the list of the installation has the model; without a list it has every one."""
    if provider in {"auto", "offline"} or not settings.KENO_MODELS:
        return True
    name = f"{provider}/{model}"
    return any(fnmatchcase(name, entry) or entry == provider for entry in settings.KENO_MODELS)


def afford(choice: Choice, *, space: Space, action: str) -> Choice:
    """Return the choice that the budget still allows; see budget.action."""
    if action == "cap":
        raise BudgetSpent("The budget of this installation is spent.", retry_after=3600)
    if action == "pause":
        raise BudgetSpent("The budget is spent and the space is set to pause.", retry_after=3600)
    small = space.options.fast_model or settings.CONSCIOUSNESS_MODEL
    small = small or PROVIDERS[choice.provider].fast_model
    is_cheap = action == "cheap" and is_allowed(choice.provider, small)
    return replace(choice, model=small) if is_cheap else choice


def _by_tier(tier: str, space: Space) -> Choice:
    options = space.options
    chat = _first(options.chat_provider, settings.PROVIDER)
    if tier == "chat":
        return _resolve(chat, options.chat_model or settings.MODEL, settings.LLM_TIMEOUT)
    if not settings.CONSCIOUSNESS_ENABLED:
        return _resolve("offline", "", settings.CONSCIOUSNESS_TIMEOUT, fast=True)
    provider = _first(options.fast_provider, settings.CONSCIOUSNESS_PROVIDER)
    model = options.fast_model or settings.CONSCIOUSNESS_MODEL
    if tier == "fast":
        # With no word about the small model it is the chat provider's own small one.
        return _resolve(_first(provider, chat), model, settings.CONSCIOUSNESS_TIMEOUT, fast=True)
    sleeper = _first(options.sleep_provider, settings.CONSOLIDATION_PROVIDER)
    sleep_model = options.sleep_model or settings.CONSOLIDATION_MODEL
    if sleeper != "auto" or sleep_model:
        provider, model = sleeper, sleep_model
    return _resolve(_first(provider, chat), model, settings.CONSOLIDATION_TIMEOUT)


def _first(*names: str) -> str:
    return next((name for name in names if name != "auto"), "auto")


def _resolve(provider: str, model: str, timeout: float, *, fast: bool = False) -> Choice:
    name = _automatic() if provider == "auto" else provider
    if name == "offline":
        model = ""
    usual = PROVIDERS[name]
    model = model or (usual.fast_model if fast else usual.model)
    return Choice(name, usual.aliases.get(model, model), timeout, 0)


def _automatic() -> str:
    names = [name for several in NEEDS.values() for name in several]
    values = dict(zip(names, connections.values(*names), strict=True))
    ready = (provider for provider in NEEDS if any(values[name] for name in NEEDS[provider]))
    return next(ready, "offline")


def is_ready(provider: str) -> bool:
    """Tell whether the provider has what it needs to be asked."""
    if provider in NEEDS:
        return any(connections.values(*NEEDS[provider]))
    return provider != "claude-cli" or bool(shutil.which(settings.CLAUDE_COMMAND))


def state(provider: str, *, now: datetime) -> str:
    """Return closed, open or half-open, by the model of the provider that failed last."""
    rows = Breaker.objects.filter(provider=provider, opened_at__isnull=False)
    row = rows.order_by("-opened_at").first()
    return state_of(row.opened_at if row else None, now=now)


def state_of(opened_at: datetime | None, *, now: datetime) -> str:
    if opened_at is None:
        return "closed"
    return "open" if now < opened_at + _cooldown() else "half-open"


def enter(provider: str, model: str = "", *, now: datetime) -> None:
    """Raise Resting while the breaker is open; when half-open let exactly one caller through."""
    row = Breaker.objects.filter(provider=provider, model=model).first()
    if row is None or row.opened_at is None:
        return
    wait = (row.opened_at + _cooldown() - now).total_seconds()
    if wait > 0:
        raise Resting(f"{row.name} failed {row.failures} times in a row.", retry_after=wait)
    # A probe whose worker died must not block the provider: after a while another may try.
    stale = now - _cooldown()
    won = Breaker.objects.filter(
        Q(probed_at=None) | Q(probed_at__lt=stale), pk=row.pk, opened_at=row.opened_at
    ).update(probed_at=now)
    if not won:
        raise Resting(f"{row.name} is being tried by another worker.", retry_after=5)


def succeeded(provider: str, model: str = "") -> None:
    Breaker.objects.filter(provider=provider, model=model, failures__gt=0).update(
        failures=0, failing_since=None, opened_at=None, probed_at=None, last_error=""
    )


def failed(provider: str, model: str = "", *, error: str, now: datetime) -> None:
    """Count the failure; the row says since when the model fails."""
    Breaker.objects.get_or_create(provider=provider, model=model)
    row = Breaker.objects.filter(provider=provider, model=model)
    row.update(
        failures=F("failures") + 1,
        failing_since=Coalesce(F("failing_since"), Value(now)),
        probed_at=None,
        last_error=error[:300],
    )
    row.filter(failures__gte=settings.CIRCUIT_BREAKER_THRESHOLD).update(opened_at=now)


def failing_since(provider: str, model: str = "") -> datetime | None:
    rows = Breaker.objects.filter(provider=provider, model=model)
    return rows.values_list("failing_since", flat=True).first()


def _cooldown() -> timedelta:
    return timedelta(seconds=settings.CIRCUIT_BREAKER_COOLDOWN)
