"""Back up the whole database into one file, and bring it back.

The file is a zip with one member for each table, in the form of COPY, and a manifest with rows and
checksums. Everything in it is of one moment. With a passphrase it is sealed with AES-256-GCM.
"""

import hashlib
import io
import json
import os
import secrets
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from graphlib import TopologicalSorter
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from memory.models.encryption import Secret

MANIFEST, MEMBER, FORMAT = "manifest.json", "tables/{}.copy", 1
SUFFIX, SEALED_SUFFIX = ".kenobackup", ".kenobackup.sealed"
# Sessions belong to this installation; the rest says which processes run right now.
LEFT_OUT = {"django_migrations", "django_session", "memory_heartbeat", "procrastinate_workers"}
MAGIC, SALT_BYTES, CHUNK = b"KENOSEALED1\n", 16, 1024 * 1024
Progress = Callable[[str, int, int], None]

TABLES = """
SELECT c.relname, array_agg(quote_ident(a.attname) ORDER BY a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
  AND NOT a.attisdropped AND a.attgenerated = ''
GROUP BY c.relname"""
# Constraints that are checked at once: such a table is filled after the one it points to.
POINTS_TO = """
SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
WHERE contype = 'f' AND NOT condeferrable AND conrelid <> confrelid"""
# Rows load faster without these, and an index that is built at once is a better one.
PLAIN_INDEXES = """
SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = 'public'::regnamespace AND NOT i.indisunique AND NOT i.indisexclusion
  AND c.relname = ANY (%s)"""
SEQUENCES = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public'"


class BackupError(Exception):
    """A sentence that says why it cannot be done and what to do."""


def write(
    path: Path, *, now: datetime, passphrase: str = "", progress: Progress | None = None
) -> dict[str, Any]:
    """Write a backup and return its manifest. A crash leaves no half file behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        out: Any = Sealer(file, passphrase) if passphrase else file
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            manifest = _write_tables(archive, now=now, progress=progress)
            archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
        if passphrase:
            out.close()
    return manifest


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write beside the place first: a full disk, a crash or Ctrl-C leaves no half file behind."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def restore(path: Path, *, passphrase: str = "") -> dict[str, Any]:
    """Bring a backup back into an empty database and return its manifest.

    Raises BackupError, and changes nothing, when a checksum differs.
    """
    with _open_archive(path, passphrase) as archive:
        manifest = _manifest(archive)
        _prepare_tables(manifest)
        with transaction.atomic():
            _load(archive, manifest)
    call_command("migrate", verbosity=0, interactive=False)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return manifest


def differences(manifest: dict[str, Any]) -> list[str]:
    """Return the tables that do not hold what the manifest says."""
    different = []
    with connection.cursor() as cursor:
        for name, table in manifest["tables"].items():
            rows, digest = _copy_out(cursor, name, table["columns"], lambda data: None)
            if (rows, digest) != (table["rows"], table["sha256"]):
                different.append(f"{name}: {rows} rows where the backup has {table['rows']}")
    return different


def backups(folder: Path) -> list[Path]:
    """Return the backups in the folder, the newest first."""
    files = [*folder.glob(f"keno-*{SUFFIX}"), *folder.glob(f"keno-*{SEALED_SUFFIX}")]
    return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)


def age(*, now: datetime) -> timedelta | None:
    """Return the age of the newest backup, or None. Only a complete one has such a name."""
    newest = next(iter(backups(Path(settings.KENO_BACKUPS))), None)
    return now - datetime.fromtimestamp(newest.stat().st_mtime, UTC) if newest else None


def make(*, now: datetime) -> Path:
    """Back up into the folder of the backups, sealed where there is a passphrase for them."""
    passphrase = settings.KENO_BACKUP_PASSPHRASE
    path = Path(settings.KENO_BACKUPS) / file_name(now, sealed=bool(passphrase))
    write(path, now=now, passphrase=passphrase)
    return path


def file_name(now: datetime, *, sealed: bool = False) -> str:
    return f"keno-{now:%Y-%m-%d-%H%M%S}{SEALED_SUFFIX if sealed else SUFFIX}"


def run_scheduled(*, now: datetime) -> Path | None:
    """Write today's backup and delete those past their days; nothing when it is switched off."""
    days = settings.KENO_BACKUP_DAYS
    if not days:
        return None
    path = make(now=now)
    for old in backups(path.parent)[1:]:
        if old.stat().st_mtime < (now - timedelta(days=days)).timestamp():
            old.unlink()
    return path


def _write_tables(
    archive: zipfile.ZipFile, *, now: datetime, progress: Progress | None
) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        columns_of = _tables(cursor)
        for n, (name, columns) in enumerate(columns_of.items(), 1):
            with archive.open(MEMBER.format(name), "w", force_zip64=True) as out:
                rows, digest = _copy_out(cursor, name, columns, out.write)
            tables[name] = {"columns": columns, "rows": rows, "sha256": digest}
            if progress:
                progress(name, n, len(columns_of))
        cursor.execute(SEQUENCES)
        sequences = {name: last for name, last in cursor.fetchall() if last is not None}
    return {
        "format": FORMAT,
        "version": settings.VERSION,
        "made_at": now.isoformat(),
        "migrations": sorted(map(list, _applied_migrations(MigrationLoader(connection)))),
        "tables": tables,
        "sequences": sequences,
    }


def _tables(cursor: Any) -> dict[str, list[str]]:
    """Return the columns of each table, in an order in which they can be filled."""
    cursor.execute(TABLES)
    columns = {name: list(names) for name, names in cursor.fetchall() if name not in LEFT_OUT}
    graph: dict[str, set[str]] = {name: set() for name in sorted(columns)}
    cursor.execute(POINTS_TO)
    for name, other in cursor.fetchall():
        if name in graph and other in graph:
            graph[name].add(other)
    return {name: columns[name] for name in TopologicalSorter(graph).static_order()}


def _copy_out(cursor: Any, name: str, columns: list[str], write: Callable) -> tuple[int, str]:
    digest, rows = hashlib.sha256(), 0
    with cursor.copy(_copy(name, columns, "TO STDOUT")) as copied:
        for data in copied:
            block = bytes(data)
            digest.update(block)
            rows += block.count(b"\n")
            write(block)
    return rows, digest.hexdigest()


def _copy(name: str, columns: list[str], direction: str) -> sql.Composed:
    # The names of columns come quoted from the database, or from a manifest held to it.
    listed = sql.SQL(", ").join(map(sql.SQL, columns))
    return sql.SQL("COPY {} ({}) " + direction).format(sql.Identifier(name), listed)


def _applied_migrations(loader: MigrationLoader) -> set[tuple[str, str]]:
    """Return the migrations that made the tables, without those that others replaced."""
    return set(loader.applied_migrations) & set(loader.graph.nodes)


@contextmanager
def _open_archive(path: Path, passphrase: str) -> Iterator[zipfile.ZipFile]:
    try:
        with path.open("rb") as file:
            is_sealed = file.read(len(MAGIC)) == MAGIC
            if is_sealed and not passphrase:
                raise BackupError("This backup is sealed: give its passphrase.")
            with tempfile.TemporaryFile() as plain:
                if is_sealed:
                    unseal(file, plain, passphrase)
                with zipfile.ZipFile(plain if is_sealed else file) as archive:
                    yield archive
    except FileNotFoundError:
        raise BackupError(f"There is no file {path}.") from None
    except zipfile.BadZipFile:
        raise BackupError(f"{path.name} is not a backup of Keno, or it breaks off.") from None


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        manifest = json.loads(archive.read(MANIFEST))
    except (KeyError, ValueError):
        raise BackupError("This is not a backup of Keno: it has no manifest.") from None
    if manifest.get("format") != FORMAT:
        raise BackupError("This backup was made by a newer Keno: update this one first.")
    return manifest


def _prepare_tables(manifest: dict[str, Any]) -> None:
    """Make the tables as they were when the backup was made, and see that they are empty."""
    migrations = {(app, name) for app, name in manifest["migrations"]}
    executor = MigrationExecutor(connection)
    if migrations - set(executor.loader.graph.nodes):
        raise BackupError("This backup was made by a newer Keno: update this one first.")
    if not executor.loader.applied_migrations:
        _make_tables(executor, migrations)
    elif _applied_migrations(executor.loader) != migrations:
        raise BackupError(
            "This backup is of another version, and tables are here already: "
            "set KENO_HOME (or DATABASE_URL) to an empty place and restore there."
        )
    with connection.cursor() as cursor:
        for name in ("auth_user", "memory_space"):
            cursor.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(sql.Identifier(name)))
            if cursor.fetchone():
                raise BackupError(
                    "There is a memory here already: set KENO_HOME (or DATABASE_URL) to an "
                    "empty place and restore there. Nothing was changed."
                )


def _make_tables(executor: MigrationExecutor, migrations: set[tuple[str, str]]) -> None:
    if migrations.issuperset(executor.loader.graph.leaf_nodes()):
        # The backup is of this very version: make all tables at once, where that can be done.
        call_command("migrate", verbosity=0, interactive=False)
        return
    nodes = executor.loader.graph.node_map
    followed = {
        node for node in migrations for child in nodes[node].children if child.key in migrations
    }
    executor.migrate(sorted(migrations - followed))


def _load(archive: zipfile.ZipFile, manifest: dict) -> None:
    with connection.cursor() as cursor:
        here = _tables(cursor)
        if here != {name: was["columns"] for name, was in manifest["tables"].items()}:
            raise BackupError("The tables of this backup are not those of its version.")
        names = [sql.Identifier(name) for name in here]
        for name in names:
            cursor.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(name))
        cursor.execute(sql.SQL("TRUNCATE {}").format(sql.SQL(", ").join(names)))
        with without_indexes(cursor, list(here)):
            for table, columns in here.items():
                digest = _copy_in(cursor, archive, table, columns)
                if digest != manifest["tables"][table]["sha256"]:
                    raise BackupError(f"{table} is damaged in this backup. Nothing was restored.")
            for sequence, last in manifest["sequences"].items():
                cursor.execute("SELECT setval(quote_ident(%s)::regclass, %s)", [sequence, last])
            # Now, because Postgres makes no index while a row is still to be checked.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for name in names:
            cursor.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(name))


@contextmanager
def without_indexes(cursor: Any, tables: list[str]) -> Iterator[None]:
    """Drop the indexes that no constraint needs, and make them again after the rows have come."""
    cursor.execute(PLAIN_INDEXES, [tables])
    found = cursor.fetchall()
    for name, _definition in found:
        cursor.execute(f"DROP INDEX {name}")
    yield
    cursor.execute("SET maintenance_work_mem = '512MB'")
    for _name, definition in found:
        cursor.execute(definition)


def _copy_in(cursor: Any, archive: zipfile.ZipFile, name: str, columns: list[str]) -> str:
    digest = hashlib.sha256()
    with (
        archive.open(MEMBER.format(name)) as member,
        cursor.copy(_copy(name, columns, "FROM STDIN")) as copied,
    ):
        while block := member.read(CHUNK):
            digest.update(block)
            copied.write(block)
    return digest.hexdigest()


class Sealer(io.RawIOBase):
    """Encrypts what is written to it, a block at a time, under a key made from a passphrase.

    The number of a block and a mark on the last one are authenticated, so blocks that were left
    out, added or moved are found.
    """

    def __init__(self, out: IO[bytes], passphrase: str):
        self.out, self.number, self.held = out, 0, bytearray()
        salt = secrets.token_bytes(SALT_BYTES)
        out.write(MAGIC + salt)
        self.cipher = _cipher(passphrase, salt)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.held += data
        while len(self.held) > CHUNK:
            self._seal(bytes(self.held[:CHUNK]))
            del self.held[:CHUNK]
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._seal(bytes(self.held), last=True)
        super().close()

    def _seal(self, block: bytes, *, last: bool = False) -> None:
        sealed = self.cipher.encrypt(_nonce(self.number), block, b"last" if last else b"more")
        self.out.write(len(sealed).to_bytes(4, "big") + sealed)
        self.number += 1


def unseal(file: IO[bytes], out: IO[bytes], passphrase: str) -> None:
    """Decrypt what a Sealer wrote; BackupError when a byte of it or the passphrase is wrong."""
    file.seek(len(MAGIC))
    cipher, number, ended = _cipher(passphrase, file.read(SALT_BYTES)), 0, False
    upcoming = file.read(4)
    while upcoming:
        block = file.read(int.from_bytes(upcoming, "big"))
        upcoming = file.read(4)
        ended = not upcoming
        try:
            out.write(cipher.decrypt(_nonce(number), block, b"last" if ended else b"more"))
        except InvalidTag:
            raise BackupError("The passphrase is wrong, or the file is damaged.") from None
        number += 1
    if not ended:
        raise BackupError("The file breaks off.")
    out.seek(0)


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _cipher(passphrase: str, salt: bytes) -> AESGCM:
    return AESGCM(Secret(passphrase.encode(), is_passphrase=True).key(salt))
