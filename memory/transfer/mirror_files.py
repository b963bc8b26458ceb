"""The files in which a space is mirrored: their contents, and how they are written and read.

people/, facts/ and chats/ hold lists of facts, episodes/ and rules/ one memory a file.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Q
from django.utils.text import slugify
from django.utils.translation import gettext as _

from memory.identity import rules
from memory.models import Chat, Entity, Episode, Fact, Space
from memory.text import frontmatter
from memory.transfer.kenobot import escapes
from memory.transfer.kenobot.memory_md import HEADINGS, known_heading
from memory.trust import canaries

FACTS, PEOPLE, CHATS, EPISODES, RULES = FOLDERS = ("facts", "people", "chats", "episodes", "rules")
_ITEM = re.compile(r"[-*+] ")
_MARK = re.compile(r"\s*<!-- *(\d{1,18}) *-->")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*$")
KINDS = (Entity.Kind.PERSON, Entity.Kind.PET)


@dataclass(frozen=True)
class Item:
    """One memory as a file shows it. The key is empty for what a person added."""

    key: str
    path: str
    values: dict[str, Any]

    @property
    def digest(self) -> str:
        written = json.dumps(self.values, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(written.encode()).hexdigest()[:24]

    @property
    def text(self) -> str:
        names = ("text", "instruction", "body", "name")
        return next((str(self.values[name]) for name in names if name in self.values), "")


def paths(folder: Path) -> Iterator[str]:
    """Yield the Markdown files of our own folders without hidden ones, such as .git."""
    for name in FOLDERS:
        for here, inside, files in os.walk(folder / name):
            inside[:] = sorted(name for name in inside if not name.startswith("."))
            for file in sorted(files):
                if file.endswith(".md") and not file.startswith("."):
                    yield str((Path(here) / file).relative_to(folder))


def as_read(items: list[Item]) -> dict[str, Item]:
    """Return the items by key as they come back from disk, where two spaces become one."""
    by_key: dict[str, Item] = {}
    for path, written in pages(items).items():
        with suppress(ValueError):  # odd words of long ago stay as they are
            written = list(parse(path, render(path, written)))
        by_key |= {item.key: item for item in written}
    return by_key


def pages(items: Iterable[Item]) -> dict[str, list[Item]]:
    by_path: dict[str, list[Item]] = {}
    for item in items:
        by_path.setdefault(item.path, []).append(item)
    return by_path


def believed(space: Space) -> list[Item]:
    """Return everything the folder shows, without private chats, quarantine and canaries."""
    open_chats = dict(Chat.objects.filter(space=space, is_private=False).values_list("pk", "key"))
    items: list[Item] = []
    taken: dict[str, str] = {}
    live = Fact.objects.live().filter(space=space).exclude(tags__overlap=canaries.TAGS)
    people = Entity.objects.filter(space=space, chat=None, kind__in=KINDS).whole()
    is_known = Q(mentions__fact__in=live) | Q(name__in=live.filter(chat=None).values("subject"))
    people = people.filter(is_known).distinct()
    homes: dict[str, str] = {}
    for row in people.order_by("pk"):
        path = _path(PEOPLE, row.name, taken)
        homes.setdefault(row.name, path)
        values = {"name": row.name, "aliases": row.aliases, "kind": row.kind}
        items.append(Item(f"entity:{row.pk}", path, values))
    for fact in live.order_by("pk").iterator(chunk_size=2000):
        if fact.chat_id and fact.chat_id not in open_chats:
            continue
        where = f"{CHATS}/{open_chats[fact.chat_id]}" if fact.chat_id else FACTS
        home = None if fact.chat_id else homes.get(fact.subject)
        path = home or _path(where, fact.subject or "general", taken)
        values = {"text": fact.text, "subject": fact.subject}
        values |= {"kind": fact.kind, "category": fact.category}
        items.append(Item(f"fact:{fact.pk}", path, values))
    return [*items, *_episodes(space, open_chats), *_rules(space)]


def _path(folder: str, name: str, taken: dict[str, str]) -> str:
    """Return a file name that no other subject has; of two that look alike one gets a suffix."""
    stem = slugify(name, allow_unicode=True)[:60] or "x"
    path = f"{folder}/{stem}.md"
    if taken.setdefault(path, name) != name:
        path = f"{folder}/{stem}-{hashlib.sha256(name.encode()).hexdigest()[:6]}.md"
        taken[path] = name
    return path


def _episodes(space: Space, chats: dict[int, str]) -> Iterator[Item]:
    closed = Episode.objects.filter(space=space, status=Episode.Status.CLOSED, flags=[])
    for row in closed.exclude(body="").order_by("pk").iterator(chunk_size=2000):
        if row.chat_id and row.chat_id not in chats:
            continue
        day = row.started_at.astimezone(space.zone).date()
        values: dict[str, Any] = {"title": row.title, "body": row.body.strip("\n")}
        values |= {"tags": row.tags, "participants": row.participants}
        yield Item(f"episode:{row.pk}", f"{EPISODES}/{day.isoformat()}-{row.pk}.md", values)


def _rules(space: Space) -> Iterator[Item]:
    for row in rules.active(space, pairs=()):
        values: dict[str, Any] = {"instruction": row.instruction.strip()}
        values |= {
            "category": row.category,
            "forbidden": [phrase(entry) for entry in row.forbidden],
        }
        name = slugify(row.slug, allow_unicode=True) or "rule"
        yield Item(f"rule:{row.slug}", f"{RULES}/{name}.md", values)


def phrase(entry: dict) -> str:
    return f"/{entry['phrase']}/" if entry.get("pattern") else str(entry["phrase"])


def forbidden(phrase: str) -> dict:
    is_pattern = len(phrase) > 2 and phrase[0] == phrase[-1] == "/"
    return {"phrase": phrase[1:-1], "pattern": True} if is_pattern else {"phrase": phrase}


def render(path: str, items: list[Item]) -> str:
    """Write the file of these memories; parse() reads it back the same."""
    where = path.partition("/")[0]
    if where in (EPISODES, RULES):
        item = items[0]
        fields = {name: value for name, value in item.values.items() if name not in _BODY}
        body = next(item.values[name] for name in ("body", "instruction") if name in item.values)
        title = item.values.get("title", "")
        heading = f"# {title}\n\n" if title else ""
        return frontmatter.render({"id": _name(item)} | fields, f"{heading}{body}\n")
    facts = [item for item in items if "text" in item.values]
    person = next((item for item in items if "name" in item.values), None)
    about = facts[0].values["subject"] if facts else ""
    fields = {"id": _name(person)} | person.values if person else {}
    title = f"# {' '.join(about.split())}\n" if about and about != Fact.LORE else ""
    body = title + "".join(_lists(facts))
    return frontmatter.render(fields | {"about": about}, body) if fields or about else body


_BODY = ("title", "body", "instruction")


def _name(item: Item) -> str:
    return item.key.partition(":")[2]


def _lists(facts: list[Item]) -> Iterator[str]:
    grouped: dict[tuple[str, str], list[Item]] = {}
    for fact in facts:
        grouped.setdefault((fact.values["kind"], fact.values["category"]), []).append(fact)
    for pair, some in sorted(grouped.items(), key=lambda each: each[0] != ("fact", "other")):
        name = next((name for name, known in HEADINGS.items() if known == pair), " / ".join(pair))
        yield f"\n## {name}\n\n"
        for fact in some:
            number = f" <!-- {_name(fact)} -->" if fact.key else ""
            yield f"- {escapes.escape_item(fact.values['text'])}{number}\n"


def parse(path: str, written: str) -> Iterator[Item]:
    """Read a file of the folder; ValueError with what to do when it is not understood."""
    fields, body = frontmatter.parse(written)
    if written.startswith(frontmatter.DELIMITER) and not fields:
        raise ValueError(_("the lines between the two --- are not “name: value”: mend them"))
    where, name = path.partition("/")[0], str(fields.get("id", ""))
    if where == EPISODES:
        yield _episode(path, name, fields, body)
    elif where == RULES:
        values: dict[str, Any] = {"instruction": body.strip()}
        values["category"] = str(fields.get("category") or "general")
        values["forbidden"] = _as_list(fields.get("forbidden", ""))
        yield Item(f"rule:{name}" if name else "", path, values)
    else:
        if name and where == PEOPLE:
            values = {name: str(fields.get(name, "")) for name in ("name", "kind")}
            values["aliases"] = _as_list(fields.get("aliases", ""))
            values["kind"] = values["kind"] or "person"
            if not values["name"] or values["kind"] not in Entity.Kind.values:
                raise ValueError(_("a person needs a name, and one of the kinds"))
            yield Item(f"entity:{_number(name)}", path, values)
        about = str(fields.get("about", "") or fields.get("name", ""))
        start = written[: len(written) - len(body)].count("\n")
        yield from _facts(path, about, body, start)


def _episode(path: str, name: str, fields: dict, body: str) -> Item:
    first, _newline, rest = body.strip("\n").partition("\n")
    title, body = (first.lstrip("#").strip(), rest) if first.startswith("# ") else ("", body)
    if not body.strip():
        raise ValueError(_("it says nothing: write what happened, or take the file away"))
    values: dict[str, Any] = {"title": title, "body": body.strip("\n")}
    values |= {name: _as_list(fields.get(name, "")) for name in ("tags", "participants")}
    return Item(f"episode:{_number(name)}" if name else "", path, values)


def _facts(path: str, about: str, body: str, start: int) -> Iterator[Item]:
    """Yield each list item under its heading; refuse other lines with their number."""
    pair, open_item = ("fact", "other"), None
    for number, line in enumerate(body.split("\n"), start + 1):
        heading, item = _HEADING.match(line), _ITEM.match(line)
        if open_item and line.startswith("  ") and line.strip():
            open_item = f"{open_item} {line.strip()}"
            continue
        if open_item:
            yield _fact(path, about, pair, open_item)
        open_item = line if item else None
        if heading and len(heading[1]) == 1:
            about = about or heading[2]
        elif heading:
            pair = _pair(heading[2], number)
        elif not heading and not item and line.strip():
            raise ValueError(
                _("line %(n)s is not understood: begin a fact with “- ”") % {"n": number}
            )
    if open_item:
        yield _fact(path, about, pair, open_item)


def _fact(path: str, about: str, pair: tuple[str, str], line: str) -> Item:
    marks = _MARK.findall(line)
    number = marks[-1] if marks else ""
    text = escapes.unescape_item(_MARK.sub("", line[2:]).strip())
    if not text:
        raise ValueError(_("a list item says nothing: write the fact, or take the line away"))
    values = {"text": text, "subject": about, "kind": pair[0], "category": pair[1]}
    return Item(f"fact:{number}" if number else "", path, values)


def _pair(heading: str, number: int) -> tuple[str, str]:
    kind, _slash, category = heading.partition(" / ")
    if kind in Fact.Kind.values and category in Fact.Category.values:
        return kind, category
    if name := known_heading(heading):
        return HEADINGS[name]
    known = ", ".join(HEADINGS)
    raise ValueError(
        _("the heading in line %(n)s is not one of %(known)s") % {"n": number, "known": known}
    )


def _number(name: str) -> int:
    if not name.isdecimal() or len(name) > 18:
        raise ValueError(_("its id is not a number: take the line with it away"))
    return int(name)


def _as_list(value: frontmatter.Value) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def readme(space: Space) -> str:
    text = _(
        "This folder shows what Keno believes in “%(space)s”. Change, add or take away lines and "
        "files as you like: each change waits as a proposal until somebody decides, and stays "
        "here as you wrote it meanwhile. The numbers at the ends of lines say which memory a line "
        "is; leave them. Put the folder under version control if you want to; .git is not touched."
    )
    return f"# {space.name}\n\n{text % {'space': space.name}}\n"
