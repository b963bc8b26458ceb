"""The file of an archive: write its parts and manifest, and read them checked against it."""

import hashlib
import json
import zipfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC
from itertools import islice
from typing import Any, BinaryIO, TypeGuard
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import ExpressionWrapper, F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from memory.models import Space
from memory.models.content import ContentField
from memory.transfer import containers
from memory.transfer.archive import rows as archive_rows
from memory.transfer.archive.rows import BY_NAME, CONTEXTS, HISTORY, KINDS, RECORDS, Kind
from memory.transfer.containers import write_member
from memory.transfer.readers import json_values

# An archive that this installation sealed is no stranger's: it may be as large as a space gets.
OWN_TOTAL = 8 * 1024 * containers.MB
FORMAT, VERSION = "keno-archive", 1
MANIFEST = "manifest.json"
CHUNK = 2000
PART = 3_500_000


def is_archive(tree: containers.Tree) -> bool:
    if MANIFEST not in tree.entries or tree.entries[MANIFEST].size > tree.limits.file:
        return False
    try:
        return _has_format(json_values.loads(containers.read_text(tree, MANIFEST)))
    except json_values.Broken:
        return False


def _has_format(manifest: object) -> TypeGuard[dict]:
    return isinstance(manifest, dict) and manifest.get("format") == FORMAT


def manifest(tree: containers.Tree, *, sizes: bool = True) -> dict:
    """Return the manifest; refuse one that this version of Keno does not understand."""
    try:
        found = json_values.loads(containers.read_text(tree, MANIFEST))
    except json_values.Broken as error:
        raise containers.Refused("manifest", _("Its manifest is damaged: %s.") % error) from error
    if not _has_format(found):
        raise containers.Refused("manifest", _("This is not an archive of Keno."))
    version = found.get("version")
    if not isinstance(version, int) or version < 1:
        raise containers.Refused("manifest", _("Its manifest names no version."))
    if version > VERSION:
        sentence = _("A newer Keno made this archive (version %d). Update Keno, then import it.")
        raise containers.Refused("version", sentence % version)
    _check_members(tree, found, sizes=sizes)
    return found


def rows(tree: containers.Tree, manifest: dict, kind: str) -> Iterator[tuple[str, int, object]]:
    """Yield (file, line, row) of one kind; the row is None for a line that is not JSON."""
    for member in manifest["members"]:
        if member["kind"] != kind:
            continue
        name = member["name"]
        for number, line in enumerate(_read_checked(tree, member).split(b"\n"), 1):
            if line.strip():
                try:
                    yield name, number, json_values.loads(line.decode("utf-8", "replace"))
                except json_values.Broken:
                    yield name, number, None


def _check_members(tree: containers.Tree, manifest: dict, *, sizes: bool) -> None:
    members = manifest.get("members")
    if not isinstance(members, list) or not all(map(_is_member, members)):
        raise containers.Refused("manifest", _("Its manifest does not list its parts."))
    named = {member["name"] for member in members}
    for name in sorted(named - set(tree.entries)):
        raise containers.Refused("manifest", _("A part is missing: %s.") % name)
    if sizes:
        memory = {kind.name for kind in KINDS}
        read = [member["name"] for member in members if member["kind"] in memory]
        containers.check_sizes(tree, [MANIFEST, *read])


def _is_member(member: object) -> bool:
    needed = {"name": str, "sha256": str, "kind": str, "rows": int}
    return isinstance(member, dict) and all(
        isinstance(member.get(name), kind) for name, kind in needed.items()
    )


def _read_checked(tree: containers.Tree, member: dict) -> bytes:
    data = containers.read(tree, member["name"])
    if hashlib.sha256(data).hexdigest() != member["sha256"]:
        sentence = _("%s is not what the manifest says: it was damaged or changed.")
        raise containers.Refused("digest", sentence % member["name"])
    return data


def unknown(tree: containers.Tree, manifest: dict) -> list[str]:
    """Return files that the manifest does not name or whose kind is unknown."""
    known = {member["name"] for member in manifest["members"] if member["kind"] in BY_NAME}
    return sorted(set(tree.entries) - known - {MANIFEST})


def write(space: Space, file: BinaryIO, *, progress=lambda done, total, what: None) -> dict:
    """Write the archive and return counts by kind."""
    with steady(), zipfile.ZipFile(file, "w") as archive:
        ids = {
            kind.name: array(
                "q", _rows_of(kind, space).values_list("pk", flat=True).iterator(CHUNK)
            )
            for kind in (*KINDS, *RECORDS)
        }
        counts = {name: len(pks) for name, pks in ids.items()}
        counts |= {kind.name: _rows_of(kind, space).count() for kind in HISTORY}
        total, done, members = sum(counts.values()), 0, []
        names = dict(space.members.values_list("pk", "user__username"))
        places = archive_rows.Places(ids, names)
        # The contexts of changes come last: by then every one is known.
        for kind in (*KINDS, *RECORDS, *HISTORY, CONTEXTS):
            rows = _contexts(places) if kind is CONTEXTS else _rows(kind, space, places)
            for part, (count, data) in enumerate(_parts(rows), 1):
                name = f"{kind.name}.jsonl" if part == 1 else f"{kind.name}-{part}.jsonl"
                write_member(archive, name, [data])
                members.append(_member(kind, name, count, data))
                done += count
                progress(min(done, total), total, kind.name)
        counts[CONTEXTS.name] = len(places.contexts)
        manifest = json.dumps(_manifest(space, members, counts), ensure_ascii=False, indent=1)
        write_member(archive, MANIFEST, [manifest.encode()])
    return counts


@contextmanager
def steady() -> Iterator[None]:
    """Read everything inside from one snapshot of the database."""
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def _rows_of(kind: Kind, space: Space) -> QuerySet:
    return kind.table._base_manager.filter(**{kind.way: space}).order_by("pk")


def _rows(kind: Kind, space: Space, places: archive_rows.Places) -> Iterator[dict]:
    # Sentences of Keno as they are stored, not in the language of whoever exports them.
    stored = {
        f"stored_{name}": ExpressionWrapper(F(name), output_field=ContentField())
        for name in kind.sentences
    }
    rows = _rows_of(kind, space).annotate(**stored).values()
    for number, row in enumerate(rows.iterator(chunk_size=CHUNK), 1):
        row |= {name: row[f"stored_{name}"] for name in kind.sentences}
        encoded = archive_rows.encode(kind, row, places)
        # Nothing points to an earlier state: it is only counted.
        yield encoded | {"id": number} if kind.is_history else encoded


def _contexts(places: archive_rows.Places) -> Iterator[dict]:
    known = dict(places.contexts)

    def place(kind: str, pk: Any) -> Any:
        return known.get(UUID(str(pk))) if kind == CONTEXTS.name else places(kind, pk)

    waiting = iter(known)
    while pks := list(islice(waiting, CHUNK)):
        rows = CONTEXTS.table.objects.in_bulk(pks)
        for row in (rows[pk] for pk in pks if pk in rows):
            metadata = archive_rows.metadata(row.metadata, place)
            at = row.created_at.astimezone(UTC).isoformat()
            yield {"id": known[row.pk], "at": at, "metadata": metadata}


def _parts(rows: Iterator[dict]) -> Iterator[tuple[int, bytes]]:
    """Yield rows as JSON lines, in parts small enough to be read into memory."""
    buffer, count = bytearray(), 0
    for row in rows:
        buffer += json.dumps(row, ensure_ascii=False).encode() + b"\n"
        count += 1
        if len(buffer) >= PART:
            yield count, bytes(buffer)
            buffer, count = bytearray(), 0
    if count:
        yield count, bytes(buffer)


def _member(kind: Kind, name: str, count: int, data: bytes) -> dict:
    digest = hashlib.sha256(data).hexdigest()
    return {"name": name, "kind": kind.name, "rows": count, "bytes": len(data), "sha256": digest}


def _manifest(space: Space, members: list[dict], counts: dict[str, int]) -> dict:
    columns = ("name", "slug", "language", "timezone", "settings")
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "keno": settings.VERSION,
        "made_at": timezone.now().isoformat(),
        "space": {name: getattr(space, name) for name in columns},
        "counts": counts,
        "members": members,
    }
    return manifest | {"seal": archive_rows.sign(manifest)}
