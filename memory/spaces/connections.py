"""What the home needs to reach others: keys of models and of bots, set in the dashboard.

A variable of the environment wins. What is set here is kept under the home's key: whoever has the
database alone reads nothing, and whoever changes KENO_SECRET_KEY enters it anew.
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
    """The words, or nothing when they were sealed with another key."""
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
    """What holds: the environment, else what was set in the dashboard."""
    return from_environment(name) or stored([name]).get(name, "")


def values(*names: str) -> list[str]:
    """The same for several, in one query."""
    kept = stored(name for name in names if not from_environment(name))
    return [from_environment(name) or kept.get(name, "") for name in names]


def stored(names: Iterable[str]) -> dict[str, str]:
    asked = list(names)
    rows = Connection.objects.filter(name__in=asked) if asked else []
    return {row.name: unseal(row.sealed) for row in rows}


def hints() -> dict[str, str]:
    """The secrets as they may be shown: their beginning and end."""
    names = sorted(SECRETS)
    found = zip(names, values(*names), strict=True)
    return {
        name: f"{words[:6]}…{words[-4:]}" if len(words) > 20 else "…" * bool(words)
        for name, words in found
    }


@transaction.atomic
def save(values: dict[str, str], *, user: User, space: Space, ip: str | None = None) -> list[str]:
    """Keep what differs, sealed; an empty value removes it. Return the names that changed."""
    kept, by = stored(values), person(user)
    changed = [name for name, words in values.items() if words != kept.get(name, "")]
    for name in changed:
        given = {"sealed": seal(values[name]), "by": by, "changed_at": timezone.now()}
        if values[name]:
            Connection.objects.update_or_create(name=name, defaults=given)
        else:
            Connection.objects.filter(name=name).delete()
    if changed:
        audit.record("home.connected", actor=by, space=space, ip=ip, names=changed)
    return changed


def may_change(user: User) -> bool:
    """Whether the person owns the first space: what is set here holds for every space."""
    first = Space.objects.order_by("pk").first()
    owners = Member.objects.filter(space=first, role=Member.Role.OWNER)
    return owners.filter(user=user).exists()
