"""Write a space into an archive, streamed in parts with a digest of each."""

import hashlib
import json
import zipfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import BinaryIO

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from memory.models import Space
from memory.transfer.archive import FORMAT, MANIFEST, VERSION, rows, schema
from memory.transfer.archive.schema import KINDS, Kind
from memory.transfer.containers.zip import write_member

CHUNK = 2000
PART = 3_500_000


def write(space: Space, file: BinaryIO, *, progress=lambda done, total, what: None) -> dict:
    """Write the archive and return its manifest."""
    with steady(), zipfile.ZipFile(file, "w") as archive:
        ids = {kind.name: _ids(kind, space) for kind in KINDS}
        total, done = sum(map(len, ids.values())), 0
        places, members = rows.Places(ids), []
        for kind in KINDS:
            for part, (count, data) in enumerate(_parts(kind, space, places), 1):
                name = f"{kind.name}.jsonl" if part == 1 else f"{kind.name}-{part}.jsonl"
                write_member(archive, name, [data])
                members.append(_member(kind, name, count, data))
                done += count
                progress(done, total, kind.name)
        manifest = _manifest(space, members, {name: len(found) for name, found in ids.items()})
        write_member(
            archive, MANIFEST, [json.dumps(manifest, ensure_ascii=False, indent=1).encode()]
        )
    return manifest


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


def _ids(kind: Kind, space: Space) -> array:
    found = kind.table._base_manager.filter(space=space).order_by("pk")
    return array("q", found.values_list("pk", flat=True).iterator(chunk_size=CHUNK))


def _parts(kind: Kind, space: Space, places: rows.Places) -> Iterator[tuple[int, bytes]]:
    """Yield rows as JSON lines, in parts small enough to be read into memory."""
    buffer, count = bytearray(), 0
    found = kind.table._base_manager.filter(space=space).order_by("pk").values()
    for row in found.iterator(chunk_size=CHUNK):
        line = json.dumps(rows.encode(kind, row, places), ensure_ascii=False)
        buffer += line.encode() + b"\n"
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
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "keno": settings.VERSION,
        "made_at": datetime.isoformat(timezone.now()),
        "space": {
            "name": space.name,
            "slug": space.slug,
            "language": space.language,
            "timezone": space.timezone,
            "settings": space.settings,
        },
        "counts": counts,
        "members": members,
    }
    return manifest | {"seal": schema.sign(manifest)}
