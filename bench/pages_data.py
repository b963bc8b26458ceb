"""A space of made-up memory, as large as asked for, written in bulk."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model

from memory.models import (
    AuditEntry,
    Chat,
    Episode,
    Fact,
    LlmCall,
    Member,
    Message,
    Notice,
    Pattern,
    Recall,
    RecallItem,
    Space,
)
from memory.operations import backup
from memory.text.normalise import said_key
from memory.vectors import store as embeddings
from memory.vectors.embed import Embedder
from sleep.models import Night, NightChange, PhaseRun, Proposal, Reflection

BATCH = 5000
DAYS = 720
CHATS = 60
PEOPLE = [
    f"{name} {letter}." for name in "Ana Bo Carla Dan Eva Félix".split() for letter in "ABCDEFGH"
]
VERBS = ["likes", "uses", "moved to", "works on", "prefers", "prefiere", "trabaja en", "compró"]
THINGS = (
    "coffee tea bread Postgres Madrid Lisboa bicycles guitars tomates zapatos rivers maps".split()
)
STATES = ["active"] * 80 + ["archived"] * 10 + ["superseded"] * 5 + ["quarantined"] * 2
STATES += ["trashed"] * 3
KINDS = list(Proposal.Kind.values)
# A layout of meaning as real text has it: topics, and spread around each.
TOPICS = """
INSERT INTO memory_embedding (unit_id, model, dims, kind, space_id, scope, live, text_hash, vector)
SELECT u.id, %(model)s, %(dims)s, u.kind, u.space_id, u.scope, u.live, u.text_hash,
  (SELECT array_agg(sin(u.id %% 200 * 1.7 + d) + random() * 0.8 + u.id * 0)::vector
   FROM generate_series(1, %(dims)s) AS d)
FROM memory_unit u WHERE u.space_id = %(space)s AND u.kind <> 'message'
"""


@contextmanager
def without_indexes() -> Iterator[None]:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        with backup.without_indexes(cursor, tables):
            yield


def fill(*, facts: int, episodes: int, now: datetime, say: Callable[[str], None]) -> Space:
    """The space, its owner "bench", and everything its pages list."""
    chance = random.Random(7)
    space = Space.objects.create(name="Bench", slug="bench", timezone="Europe/Madrid")
    owner = User.objects.create_user("bench", password=None)
    Member.objects.create(user=owner, space=space, role=Member.Role.OWNER)
    chats = _write(Chat, (_chat(space, n, now) for n in range(CHATS)))
    say("episodes")
    days = _write(
        Episode, (_episode(space, chats, n, episodes, now, chance) for n in range(episodes))
    )
    say("messages")
    said = _write(Message, (_message(space, one, n) for one in days for n in range(3)))
    say("facts")
    known = _write(Fact, (_fact(space, chats, said, n, facts, now, chance) for n in range(facts)))
    _date_events(space)
    say("receipts, calls, audit, nights, proposals")
    _receipts(space, said, known, count=episodes // 2, chance=chance)
    _write(LlmCall, (_call(space, n, episodes, now, chance) for n in range(episodes * 2)))
    _write(AuditEntry, (_entry(space, n, episodes, now) for n in range(episodes * 2)))
    _write(Notice, (_notice(space, n, now) for n in range(episodes // 10)))
    _write(Pattern, (_pattern(space, n, now) for n in range(episodes // 40)))
    _nights(space, known, now=now, chance=chance)
    return space


def give_vectors(space: Space, embedder: Embedder) -> None:
    """Made-up meanings."""
    with connection.cursor() as cursor:
        values = {"model": embedder.name, "dims": embedder.dims, "space": space.pk}
        cursor.execute(TOPICS, values)
    embeddings.switch(embedder)


def settle() -> None:
    """What autovacuum would have done within minutes."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _write(model: type[Model], rows: Iterable[Model]) -> list[Model]:
    return model.objects.bulk_create(list(rows), batch_size=BATCH)


def _date_events(space: Space) -> None:
    """The triggers say that it happened now; the pages of the past need it spread."""
    with connection.cursor() as cursor:
        for table, field in (("fact", "created_at"), ("episode", "started_at")):
            cursor.execute(
                f"UPDATE memory_{table}event SET pgh_created_at = {field} WHERE space_id = %s",
                [space.pk],
            )


def _chat(space: Space, n: int, now: datetime) -> Chat:
    return Chat(
        space=space, channel="web", external_id=str(n), key=f"web-{n}", title=f"Chat {n}",
        last_message_at=now - timedelta(hours=n),
    )  # fmt: skip


def _episode(space, chats, n, count, now, chance) -> Episode:
    at = now - timedelta(days=DAYS * (n + 1) / count)
    status = chance.choice(["closed"] * 8 + ["archived", "discarded"])
    body = " ".join(_sentence(chance) for _ in range(6))
    return Episode(
        space=space, chat=chance.choice(chats), title=f"Talk {n} about {chance.choice(THINGS)}",
        body=body, tags=[chance.choice(THINGS)], participants=[chance.choice(PEOPLE)],
        started_at=at, ended_at=at + timedelta(minutes=20), status=status, language="en",
        discarded_at=now if status == "discarded" else None, created_at=at, updated_at=at,
        consolidated_at=None if n < count // 20 else at + timedelta(hours=9),
        feedback=chance.choice(["", "", "", "positive"]),
    )  # fmt: skip


def _message(space: Space, episode: Episode, n: int) -> Message:
    reply = n == 2
    return Message(
        space=space, chat_id=episode.chat_id, episode=episode,
        role="assistant" if reply else "user", author="Keno" if reply else episode.participants[0],
        text=f"{episode.title}, {n}: {episode.body[n * 40 : n * 40 + 120]}", language="en",
        external_id=f"{episode.pk}-{n}", sent_at=episode.started_at + timedelta(minutes=n),
        handled_at=episode.started_at,
    )  # fmt: skip


def _fact(space, chats, said, n, count, now, chance) -> Fact:
    message = said[chance.randrange(len(said))]
    at = now - timedelta(days=DAYS * (n + 1) / count)
    text = f"{_sentence(chance)} {n}"
    used = chance.random() < 0.4
    return Fact(
        space=space, chat=chance.choice(chats) if chance.random() < 0.3 else None,
        subject=chance.choice(PEOPLE) if n % 3 else f"topic {n % 900}", text=text,
        said_key=said_key(text), quote=text, language="en", status=chance.choice(STATES),
        kind=chance.choice(Fact.Kind.values), category=chance.choice(Fact.Category.values),
        confidence=round(chance.betavariate(5, 2), 2), source=chance.choice(Fact.Source.values),
        message=message, episode_id=message.episode_id, said_by=message.author, pinned=n % 200 == 0,
        use_count=n % 9 if used else 0,
        last_used_at=at + (now - at) * chance.random() if used else None,
        created_at=at, updated_at=at + (now - at) * chance.random() ** 3, last_seen_at=at,
    )  # fmt: skip


def _sentence(chance: random.Random) -> str:
    """A few common words and a rare one, as people talk."""
    rare = f"w{int(chance.paretovariate(0.4)) % 40_000:x}"
    parts = chance.choice(PEOPLE), chance.choice(VERBS), chance.choice(THINGS)
    return f"{' '.join(parts)} with {rare} near {chance.choice(THINGS)}."


def _receipts(space, said, known, *, count, chance) -> None:
    asked = [one for one in said if one.role == "user"]
    replies = [one for one in said if one.role == "assistant"]
    made = _write(
        Recall,
        (
            Recall(space=space, chat_id=reply.chat_id, reply=reply, query=asked[n * 2].text,
                   profile="keno", level=chance.choice(Recall.Level.values), tokens=300,
                   budget=2000, candidates=40, at=reply.sent_at, keywords=["coffee"],
                   sections={"facts": 300}, ms={"total": 20})
            for n, reply in enumerate(replies[:count])
        ),
    )  # fmt: skip
    parts = [["semantic", 0.7, 0.4, 0.28], ["words", 0.5, 0.3, 0.15]]
    _write(
        RecallItem,
        (
            RecallItem(recall=one, kind="fact", fact=chance.choice(known), rank=rank, score=0.43,
                       parts=parts, lanes=["words"], injected=rank < 5,
                       cut="" if rank < 5 else "gate")
            for one in made
            for rank in range(1, 9)
        ),
    )  # fmt: skip


def _call(space, n, count, now, chance) -> LlmCall:
    return LlmCall(
        space=space, purpose=chance.choice(LlmCall.Purpose.values), provider="anthropic",
        model=chance.choice(["claude-small", "claude-large"]), tokens_in=900, tokens_out=120,
        tokens_cached=300, cost=Decimal("0.0021"), ms=chance.randrange(200, 4000),
        ok=n % 50 > 0, at=now - timedelta(days=DAYS * n / count / 2),
    )  # fmt: skip


def _entry(space, n, count, now) -> AuditEntry:
    action = ["memory.read", "account.signed_in", "fact.purged", "export"][n % 4]
    return AuditEntry(
        space=space, actor="bot" if n % 4 == 0 else "person:bench", action=action,
        object_type="fact", object_id=str(n), at=now - timedelta(days=DAYS * n / count / 2),
        details={"count": n},
    )  # fmt: skip


def _notice(space: Space, n: int, now: datetime) -> Notice:
    return Notice(
        space=space, kind="night", text=f"Night {n} did not end.", key=f"night {n}",
        level="warning", created_at=now - timedelta(hours=n), seen_at=now if n % 3 else None,
    )  # fmt: skip


def _pattern(space: Space, n: int, now: datetime) -> Pattern:
    return Pattern(
        space=space, slug=f"habit-{n}", trigger=f"how about {THINGS[n % 12]} {n}",
        response="Say it short.", use_count=n % 7, updated_at=now - timedelta(hours=n),
    )  # fmt: skip


def _nights(space, known, *, now, chance) -> None:
    """A year of them, each with phases, changes and proposals; the last ones still wait."""
    day = now.date()
    nights = _write(
        Night,
        (
            Night(space=space, local_date=day - timedelta(days=n), status="success",
                  started_at=now - timedelta(days=n), ended_at=now - timedelta(days=n))
            for n in range(365)
        ),
    )  # fmt: skip
    names = ["consolidation", "errors", "pruning", "improvement", "reflection"]
    _write(
        PhaseRun,
        (
            PhaseRun(night=night, phase=name, position=n, status="success",
                     started_at=night.started_at, ended_at=night.started_at,
                     counts={"episodes": 20})
            for night in nights
            for n, name in enumerate(names)
        ),
    )  # fmt: skip
    numbers = {"learning_rate": 0.4, "filler_rate": 0.1}
    _write(
        Reflection,
        (
            Reflection(night=night, space=space, numbers=numbers, at=night.started_at)
            for night in nights
        ),
    )
    _write(
        NightChange,
        (
            NightChange(space=space, night=night, phase="consolidation", kind="agreement",
                        text=f"Learned {n}", context=uuid4(), at=night.started_at)
            for night in nights
            for n in range(40)
        ),
    )  # fmt: skip
    wanted = [(night, n) for night in nights for n in range(300 if night is nights[0] else 12)]
    _write(Proposal, (_proposal(space, night, known, n, chance) for night, n in wanted))


def _proposal(space, night, known, n, chance) -> Proposal:
    target = known[chance.randrange(len(known))]
    waits = n % 12 == 0 or night.local_date.day == 1
    return Proposal(
        space=space, night=night, kind="revise", key=f"{night.pk}-{n}", title=f"Reword {target.pk}",
        targets=[{"type": "fact", "id": target.pk}], after={"text": f"{target.text} more"},
        before={f"fact:{target.pk}": {"text": target.text}}, digest="0" * 64,
        evidence=[{"episode": target.episode_id, "quote": target.text}], confidence=0.7,
        status="pending" if waits else "approved", created_at=night.started_at,
        decided_at=None if waits else night.started_at,
    )  # fmt: skip
