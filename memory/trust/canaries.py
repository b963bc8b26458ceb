"""Tripwires: facts that must not be heard outside their chat, and a nightly test of the walls.

A canary is a fact of one chat with the tag "canary". Where its words come out elsewhere, the
message is held and the owner told."""

import secrets
from datetime import datetime

from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_

from memory import notices
from memory.erasure import codes
from memory.facts import service as facts
from memory.history import audit
from memory.models import Chat, Fact, Notice, Space
from memory.retrieval.recall import recall
from memory.text import normalise as words

TAGS = ["canary", "canario"]
KIND = "canary"
WALLS = "walls"
# A process asks only so often which canaries there are: every reply needs them.
CACHE_SECONDS = 30
# The share of the words of a canary, and the fewest words, that give it away.
SHARE = 0.8
MIN_WORDS = 4
MAX_ROOMS = 3
PLACES = {
    "reply": N_("a reply"),
    "program": N_("an answer to a program"),
    "gateway": N_("an answer of the gateway"),
    "export": N_("an export"),
}
HELD = N_("A canary was heard outside its chat, in %(place)s. It was held.")
# Whoever exports may see everything of the space: the file is not held, the owner is notified.
TAKEN_ALONG = N_("A canary left its chat, in %(place)s.")


def planted(space: Space) -> QuerySet[Fact]:
    live = Fact.objects.live().filter(space=space, tags__overlap=TAGS)
    return live.exclude(chat=None).order_by("pk")


def known(space: Space) -> list[tuple[int, int, str, str]]:
    """Return number, chat, subject and text of each, as this process knows them."""
    name = f"canaries/{space.pk}"
    return cache.get_or_set(name, lambda: _planted_words(space), CACHE_SECONDS) or []


def _planted_words(space: Space) -> list[tuple[int, int, str, str]]:
    return list(planted(space).values_list("pk", "chat_id", "subject", "text"))


def _tells(canary: str, subject: str, text: str) -> bool:
    folded = words.fold(text)
    if any(words.fold(part) in folded for part in (canary, *codes(canary))):
        return True
    stems = words.stems(canary) - words.stems(subject)
    return len(stems) >= MIN_WORDS and any(
        len(stems & words.stems(line)) >= SHARE * len(stems) for line in text.splitlines()
    )


def watch(
    space: Space, text: str, *, place: str, chat: Chat | None = None, now: datetime | None = None
) -> bool:
    """Tell whether the text may go out; else notify the owner where a canary came out."""
    here = chat.pk if chat else None
    others = (row for row in known(space) if row[1] != here)
    canaries = [pk for pk, _home, subject, canary in others if _tells(canary, subject, text)]
    message = TAKEN_ALONG if place == "export" else HELD
    day = space.local_date(now or timezone.now())
    for pk in canaries:
        notices.tell(
            space,
            kind=KIND,
            key=f"canary-{pk}-{place}-{day}",
            level=Notice.Level.ERROR,
            text=lambda: _(message) % {"place": _(PLACES[place])},
            link=f"facts/{pk}/",
        )
    return not canaries


def try_walls(space: Space, *, now: datetime | None = None) -> list[str]:
    """Plant canaries for a moment and ask for them from everywhere else; name the holes."""
    now, holes = now or timezone.now(), list[str]()
    rooms = list(Chat.objects.filter(space=space).order_by("-last_message_at", "-pk")[:MAX_ROOMS])
    with transaction.atomic():
        for home in rooms:
            holes += _holes(space, home, rooms, now=now)
        transaction.set_rollback(True)
    audit.record("walls.tested", actor="night", space=space, rooms=len(rooms), holes=len(holes))
    if holes:
        notices.tell(
            space,
            kind=WALLS,
            key=f"walls-{space.local_date(now)}",
            level=Notice.Level.ERROR,
            text=lambda: (
                _("The nightly test found a hole in the walls: %(hole)s") % {"hole": holes[0]}
            ),
            link="health/",
        )
    return holes


def _holes(space: Space, home: Chat, rooms: list[Chat], *, now: datetime) -> list[str]:
    word = f"{secrets.token_hex(3)}-{secrets.randbelow(9000) + 1000}"
    text = f"The canary of room {home.pk} is called {word}"
    facts.remember(space, text=text, by="night", chat=home, now=now)
    other = Space.objects.exclude(pk=space.pk).order_by("pk").first()
    places: list[tuple[Space, Chat | None]] = [(space, room) for room in rooms if room != home]
    places += [(space, None), *([(other, None)] if other else [])]
    question = f"What is the canary of room {home.pk} called?"
    holes = []
    for place, room in places:
        result = recall(place, question, chat=room, now=now, save=False)
        if any(word in item.unit.text for item in (*result.items, *result.cut)):
            holes.append(f"{home} -> {room or place}")
    return holes
