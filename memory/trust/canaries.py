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
KIND, WALLS = "canary", "walls"
# Seconds that a process knows which canaries there are: a reply asks for them every time.
FRESH = 30
# Of the words of a canary so many, and at least so many, give it away.
SHARE, FEWEST = 0.8, 4
ROOMS = 3
PLACES = {
    "reply": N_("a reply"),
    "program": N_("an answer to a program"),
    "gateway": N_("an answer of the gateway"),
    "export": N_("an export"),
}
HELD = N_("A canary was heard outside its chat, in %(place)s. It was held.")
# Who exports may see everything of the space: the file is not held, only told of.
TAKEN_ALONG = N_("A canary left its chat, in %(place)s.")


def planted(space: Space) -> QuerySet[Fact]:
    live = Fact.objects.live().filter(space=space, tags__overlap=TAGS)
    return live.exclude(chat=None).order_by("pk")


def known(space: Space) -> list[tuple[int, int, str, str]]:
    """Number, chat, subject and text of each, as this process knows them."""
    key = f"canaries/{space.pk}"
    found = cache.get(key)
    if found is None:
        found = list(planted(space).values_list("pk", "chat_id", "subject", "text"))
        cache.set(key, found, FRESH)
    return found


def surfaced(space: Space, said: str, *, chat: Chat | None = None) -> list[int]:
    """The canaries of other chats that these words tell."""
    here = chat.pk if chat else None
    others = [one for one in known(space) if one[1] != here]
    return [pk for pk, _home, subject, text in others if _tells(text, subject, said)]


def _tells(text: str, subject: str, said: str) -> bool:
    folded = words.fold(said)
    if words.fold(text) in folded or any(words.fold(one) in folded for one in codes(text)):
        return True
    own = words.stems(text) - words.stems(subject)
    return len(own) >= FEWEST and any(
        len(own & words.stems(line)) >= SHARE * len(own) for line in said.splitlines()
    )


def watch(
    space: Space, said: str, *, place: str, chat: Chat | None = None, now: datetime | None = None
) -> bool:
    """Whether the words may go out; else the owner is told where a canary came out."""
    found = surfaced(space, said, chat=chat)
    message = TAKEN_ALONG if place == "export" else HELD
    day = space.local_date(now or timezone.now())
    for pk in found:
        notices.tell(
            space,
            kind=KIND,
            key=f"canary-{pk}-{place}-{day}",
            level=Notice.Level.ERROR,
            text=lambda: _(message) % {"place": _(PLACES[place])},
            link=f"facts/{pk}/",
        )
    return not found


def try_walls(space: Space, *, now: datetime | None = None) -> list[str]:
    """Plant canaries for a moment and ask for them from everywhere else; name the holes."""
    now, holes = now or timezone.now(), list[str]()
    rooms = list(Chat.objects.filter(space=space).order_by("-last_message_at", "-pk")[:ROOMS])
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
    asked: list[tuple[Space, Chat | None]] = [(space, room) for room in rooms if room != home]
    asked += [(space, None), *([(other, None)] if other else [])]
    holes = []
    for where, room in asked:
        found = recall(where, f"What is the canary of room {home.pk} called?", chat=room,
                       now=now, save=False)  # fmt: skip
        if any(word in item.unit.text for item in (*found.items, *found.cut)):
            holes.append(f"{home} -> {room or where}")
    return holes
