"""Keys of models and bots for the whole installation, set in the dashboard.

Environment variables win. Values are encrypted under KENO_SECRET_KEY: the database alone does not
reveal them, and after a change of that key they must be entered again.
"""

import base64
import hashlib
from collections.abc import Iterable

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from memory.history import audit
from memory.history.actors import person
from memory.models import Connection, Member, Space

NAMES = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "TELEGRAM_BOT_TOKEN",
    "TELEGRAM_ALLOWED_USERS",
    "DISCORD_BOT_TOKEN",
)
SECRETS = {name for name in NAMES if name.endswith(("_KEY", "_TOKEN"))}


def seal(words: str) -> str:
    return _cipher().encrypt(words.encode()).decode()


def unseal(sealed: str) -> str:
    """Return the words, or "" when they were sealed with another key."""
    try:
        return _cipher().decrypt(sealed.encode()).decode() if sealed else ""
    except InvalidToken:
        return ""


def _cipher() -> Fernet:
    seed = hashlib.sha256(f"keno.sealing {settings.SECRET_KEY}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(seed))


def from_environment(name: str) -> str:
    value = getattr(settings, name)
    return value if isinstance(value, str) else ",".join(value)


def value(name: str) -> str:
    """Return the value of the environment, else the one set in the dashboard."""
    return values(name)[0]


def values(*names: str) -> list[str]:
    """Return several values, by one query."""
    in_database = stored(name for name in names if not from_environment(name))
    return [from_environment(name) or in_database.get(name, "") for name in names]


def stored(names: Iterable[str]) -> dict[str, str]:
    rows = Connection.objects.filter(name__in=list(names))
    return {row.name: unseal(row.sealed) for row in rows}


def hints() -> dict[str, str]:
    """Return the beginning and end of each secret, which may be shown."""
    names = sorted(SECRETS)
    return {
        name: f"{secret[:6]}…{secret[-4:]}" if len(secret) > 20 else "…" * bool(secret)
        for name, secret in zip(names, values(*names), strict=True)
    }


@transaction.atomic
def save(values: dict[str, str], *, user: User, space: Space, ip: str | None = None) -> list[str]:
    """Store the values that differ, sealed; delete empty ones. Return the names that changed."""
    before, by = stored(values), person(user)
    changed = [name for name, value in values.items() if value != before.get(name, "")]
    for name in changed:
        columns = {"sealed": seal(values[name]), "by": by, "changed_at": timezone.now()}
        if values[name]:
            Connection.objects.update_or_create(name=name, defaults=columns)
        else:
            Connection.objects.filter(name=name).delete()
    if changed:
        audit.record("home.connected", actor=by, space=space, ip=ip, names=changed)
    return changed


def may_change(user: User) -> bool:
    """Tell whether the user owns the first space: connections are those of every space."""
    first = Space.objects.order_by("pk").first()
    owners = Member.objects.filter(space=first, role=Member.Role.OWNER)
    return owners.filter(user=user).exists()
