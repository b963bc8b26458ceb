"""Write a space as a KenoBot folder, in the layout of its own documents."""

import json
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import BinaryIO

from django.db.models import QuerySet

from memory import working
from memory.identity import preferences, rules
from memory.models import (
    Chat,
    Episode,
    Fact,
    Identity,
    Message,
    Pattern,
    Rule,
    Space,
    WorkingNote,
)
from memory.text import frontmatter, summaries
from memory.transfer.containers import write_member
from memory.transfer.kenobot import escapes, memory_md
from memory.transfer.session import Progress

CHUNK = 1000
TITLE = "# KenoBot Memory\n"
ORDER = ("chat_id", "subject", "kind", "category", "pk")


def write(space: Space, file: BinaryIO, *, progress: Progress) -> dict:
    """Write the folder and return counts by kind; trash and quarantine are left out."""
    counts: dict[str, int] = {}
    with zipfile.ZipFile(file, "w") as archive:
        for done, (name, kind, lines) in enumerate(_files(space), 1):
            write_member(archive, name, _counted(lines, kind, counts))
            progress(done, 0, name)
    return counts


def _counted(lines: Iterable[tuple[str, int]], kind: str, counts: dict) -> Iterator[bytes]:
    for words, count in lines:
        counts[kind] = counts.get(kind, 0) + count
        yield words.encode("utf-8", "replace")


def _files(space: Space) -> Iterator[tuple[str, str, Iterable[tuple[str, int]]]]:
    """Yield (name, kind, pieces), each piece with its number of rows."""
    chats = dict(Chat.objects.filter(space=space).values_list("pk", "key"))
    yield from _facts(space, chats)
    yield from _episodes(space, chats)
    for chat in Chat.objects.filter(space=space).exclude(context="").order_by("pk"):
        yield f"memory/chats/{chat.key}/context.md", "chats", [(chat.context + "\n", 1)]
    for note in WorkingNote.objects.filter(space=space).order_by("pk"):
        if not working.is_empty(note):
            key = chats[note.chat_id]
            yield f"memory/working/{key}.json", "working_notes", [(_working(note, key), 1)]
    yield "memory/procedural/patterns.json", "patterns", [_patterns(space)]
    yield from _identity(space)
    all_messages = Message.objects.filter(space=space).order_by("chat_id", "sent_at", "pk")
    for key, messages in _by_chat(all_messages, chats):
        yield f"data/sessions/{key}.jsonl", "messages", map(_session_line, messages)


def _by_chat(rows: QuerySet, chats: dict[int, str]) -> Iterator[tuple[str, Iterator]]:
    for chat_id, group in groupby(rows.iterator(chunk_size=CHUNK), key=lambda row: row.chat_id):
        yield chats.get(chat_id, ""), group


def _facts(space: Space, chats: dict[int, str]) -> Iterator:
    live = Fact.objects.live().filter(space=space)
    for key, facts in _by_chat(live.order_by(*ORDER), chats):
        folder = f"memory/chats/{key}" if key else "memory"
        yield f"{folder}/MEMORY.md", "facts", _memory_md(facts)


def _memory_md(facts: Iterator[Fact]) -> Iterator[tuple[str, int]]:
    yield TITLE, 0
    heading = None
    for fact in facts:
        under = memory_md.heading_for(fact.kind, fact.category, " ".join(fact.subject.split()))
        if under != heading:
            yield f"\n## {under}\n", 0
            heading = under
        yield f"- {escapes.escape_item(fact.text)}\n", 1


def _episodes(space: Space, chats: dict[int, str]) -> Iterator:
    statuses = [Episode.Status.CLOSED, Episode.Status.ARCHIVED]
    kept = Episode.objects.filter(space=space, status__in=statuses).exclude(body="")
    for key, episodes in _by_chat(kept.order_by("chat_id", "started_at", "pk"), chats):
        folder = f"memory/chats/{key}" if key else "memory"
        for day, group in groupby(episodes, key=lambda each: _utc(each).date()):
            pieces = ((entry(each, key=key), 1) for each in group)
            yield f"{folder}/{day.isoformat()}.md", "episodes", pieces


def entry(episode: Episode, *, key: str = "") -> str:
    """Return an episode as an entry of a daily log, with front matter if it has more fields."""
    body = escapes.escape_body(episode.body.strip("\n"))
    plain = "\n" not in body and not body.startswith("\\")
    has_more = episode.tags or episode.participants or episode.feedback
    if plain and not has_more and episode.title == summaries.title(episode.body):
        return f"## {_utc(episode):%H:%M} — {escapes.escape_item(body)}\n\n"
    fields = {
        "timestamp": _stamp(episode.started_at),
        "ended": _stamp(episode.ended_at),
        "session": key,
        "participants": list(episode.participants),
        "tags": list(episode.tags),
        "feedback": episode.feedback,
        "title": episode.title,
    }
    return frontmatter.render(fields, body) + "\n\n"


def _utc(episode: Episode) -> datetime:
    return episode.started_at.astimezone(UTC)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _working(note: WorkingNote, key: str) -> str:
    parts = {name: getattr(note, name) for name in ("task", "context", "pending", "notes")}
    return _json({"session": key} | parts | {"updated": _stamp(note.updated_at)})


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _patterns(space: Space) -> tuple[str, int]:
    live = Pattern.objects.filter(space=space, status=Pattern.Status.ACTIVE).order_by("pk")
    patterns = [
        {
            "id": row.slug,
            "trigger": row.trigger,
            "response": row.response,
            "confidence": row.confidence,
            "usageCount": row.use_count,
            "learnedFrom": row.learned_from,
            "createdAt": _stamp(row.created_at),
        }
        for row in live
    ]
    return _json({"patterns": patterns}), len(patterns)


def _identity(space: Space) -> Iterator:
    """Return the identity that people wrote; the shipped one is left out."""
    folder = "memory/identity"
    mine = Identity.objects.filter(space=space).exclude(core="").first()
    if mine:
        yield f"{folder}/core.md", "identity", [(mine.core + "\n", 1)]
    worded = Rule.objects.filter(space=space, status=Rule.Status.ACTIVE)
    held = [rule for rule in worded if rule.instruction or rule.forbidden]
    if held:
        yield f"{folder}/rules.json", "rules", [(_json(rules.as_json(held)), len(held))]
    # KenoBot talks to one person: preferences that others have for themselves are left out.
    if liked := preferences.active(space, pairs=()):
        words = preferences.as_markdown(liked) + "\n"
        yield f"{folder}/preferences.md", "preferences", [(words, len(liked))]


def _session_line(message: Message) -> tuple[str, int]:
    stamp = int(message.sent_at.timestamp() * 1000)
    line = {"role": message.role, "content": message.text, "timestamp": stamp}
    return json.dumps(line, ensure_ascii=False) + "\n", 1
