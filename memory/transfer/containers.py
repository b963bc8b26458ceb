"""Open untrusted folders, files and zips within limits: what is opened, how much is read."""

import io
import os
import re
import stat
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, Protocol

from django.utils import timezone
from django.utils.translation import gettext as _

MB = 1024 * 1024
# A member that unpacks to less than this is no bomb, however well it packs.
RATIO_MATTERS_FROM = 256 * 1024
_DRIVE = re.compile(r"^[A-Za-z]:")
_DEVICE = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\.|$)", re.I)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# A central directory larger than this would fill the memory before a name is looked at.
DIRECTORY_LIMIT = 4 * MB
# gzip, bzip2, xz, 7z; a tar says "ustar" further on.
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")


class Refused(Exception):
    """This cannot be imported as it is."""

    def __init__(self, reason: str, sentence: str):
        self.reason = reason
        super().__init__(sentence)


@dataclass(frozen=True)
class Limits:
    files: int = 10_000
    total: int = 200 * MB
    file: int = 5 * MB
    # A file that is read piece by piece may be larger than one that is read whole.
    streamed: int = 200 * MB
    ratio: int = 100
    depth: int = 6
    name: int = 255


@dataclass(frozen=True)
class Entry:
    name: str
    size: int
    modified: datetime | None = None


class Tree(Protocol):
    """A folder, an archive or a single file, already checked; names use forward slashes."""

    limits: Limits
    entries: dict[str, Entry]

    def open(self, name: str) -> BinaryIO: ...

    def close(self) -> None: ...


def check_name(name: str, limits: Limits) -> None:
    """Refuse a name that leaves the folder or is not valid on every file system."""
    shown = name.encode("ascii", "backslashreplace").decode()[:80]
    parts = name.rstrip("/").split("/")
    # A name that is not UTF-8 comes from the file system as lone surrogates.
    if _CONTROL.search(name) or name.encode("utf-8", "replace").decode() != name:
        sentence = _("A file name contains a character that cannot be shown: %s.")
        raise Refused("name", sentence % shown)
    if name.startswith("/") or _DRIVE.match(name):
        raise Refused("absolute", _("%s is an absolute path.") % shown)
    if "\\" in name:
        raise Refused("name", _("%s holds a backslash.") % shown)
    if ".." in parts:
        raise Refused("traversal", _("%s leads out of the archive.") % shown)
    if "" in parts:
        raise Refused("name", _("A file has no name."))
    if len(parts) - 1 > limits.depth:
        sentence = _("%(name)s lies deeper than %(most)d folders.")
        raise Refused("depth", sentence % {"name": shown, "most": limits.depth})
    for part in parts:
        if len(part.encode("utf-8", "surrogatepass")) > limits.name:
            raise Refused("long name", _("The name %s… is too long.") % shown[:40])
        if _DEVICE.match(part):
            raise Refused("device", _("%s is the name of a device.") % shown)


def check_names(names: Iterable[str], limits: Limits) -> None:
    """Refuse too many names, and two that are equal on some file systems."""
    seen: dict[str, str] = {}
    for count, name in enumerate(names, 1):
        if count > limits.files:
            raise Refused("files", _("It holds more than %d files.") % limits.files)
        check_name(name, limits)
        same = unicodedata.normalize("NFC", name.rstrip("/"))
        if same in seen:
            raise Refused("duplicate", _("Two files have the same name: %s.") % same[:80])
        seen[same] = name


def check_sizes(tree: Tree, whole: Iterable[str], streamed: Iterable[str] = ()) -> None:
    """Refuse files that are too large, alone or together, before they are read."""
    total = 0
    for names, most in ((whole, tree.limits.file), (streamed, tree.limits.streamed)):
        for name in names:
            size = tree.entries[name].size
            total += size
            if size > most:
                raise too_large(name, most)
    if total > tree.limits.total:
        raise Refused("total", _("It holds more than %d MB.") % (tree.limits.total // MB))


def check_ratio(name: str, size: int, packed: int, limits: Limits) -> None:
    if size > RATIO_MATTERS_FROM and size > limits.ratio * max(packed, 1):
        sentence = _("%(name)s unpacks to more than %(most)d times its size.")
        raise Refused("ratio", sentence % {"name": name, "most": limits.ratio})


def too_large(name: str, most: int) -> Refused:
    sentence = _("%(name)s is larger than %(most)d MB.")
    return Refused("size", sentence % {"name": name[:80], "most": most // MB})


def read(tree: Tree, name: str) -> bytes:
    """Return the whole file; refuse one that is larger than announced or allowed."""
    with tree.open(name) as file:
        data = file.read(tree.limits.file + 1)
    if len(data) > tree.limits.file:
        raise too_large(name, tree.limits.file)
    return data


def read_text(tree: Tree, name: str) -> str:
    return decode(read(tree, name))


def decode(data: bytes) -> str:
    """Decode text in any usual encoding; invalid bytes become the replacement character."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


class Bounded(io.RawIOBase):
    """A stream that raises Refused when it is longer than allowed."""

    def __init__(self, file: BinaryIO, name: str, most: int):
        self._file, self._name, self._most, self._left = file, name, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        data = self._file.read(min(len(buffer), self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise too_large(self._name, self._most)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def stream(tree: Tree, name: str) -> io.BufferedReader:
    """Open the file for streaming, up to the limit for streamed files."""
    return io.BufferedReader(Bounded(tree.open(name), name, tree.limits.streamed))


class _Careful:
    """Refuse large reads: zipfile reads the directory in one go."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def read(self, n: int = -1) -> bytes:
        data = self._file.read(min(n, DIRECTORY_LIMIT + 1) if n >= 0 else DIRECTORY_LIMIT + 1)
        if len(data) > DIRECTORY_LIMIT:
            raise Refused("files", _("Its list of files is too long."))
        return data

    def __getattr__(self, name: str):
        return getattr(self._file, name)


class ZipTree:
    def __init__(self, path: Path, limits: Limits):
        self.limits = limits
        self._file = path.open("rb")
        try:
            self._zip = zipfile.ZipFile(_Careful(self._file))
            self._members = _check_members(self._zip.infolist(), path.stat().st_size, limits)
        except Exception as error:  # zipfile raises struct.error, OverflowError … on crafted bytes
            self._file.close()
            if isinstance(error, Refused):
                raise
            raise Refused("zip", _("The zip is damaged: %s.") % error) from error
        self.entries = {
            name: Entry(name, member.file_size, _modified(member))
            for name, member in self._members.items()
        }

    def open(self, name: str) -> BinaryIO:
        try:
            return _Member(self._zip.open(self._members[name]), name)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
            raise _damaged_error(name, error) from error

    def close(self) -> None:
        self._zip.close()
        self._file.close()


class _Member:
    """An open member; damaged data raises Refused with a sentence."""

    def __init__(self, file: BinaryIO, name: str):
        self._file, self._name = file, name

    def read(self, n: int = -1) -> bytes:
        try:
            return self._file.read(n)
        except Exception as error:  # zlib.error, BadZipFile, EOFError, lzma.LZMAError …
            raise _damaged_error(self._name, error) from error

    def close(self) -> None:
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def _damaged_error(name: str, error: Exception) -> Refused:
    sentence = _("%(name)s cannot be unpacked: %(error)s.")
    return Refused("zip", sentence % {"name": name, "error": error})


def _check_members(
    members: list[zipfile.ZipInfo], packed: int, limits: Limits
) -> dict[str, zipfile.ZipInfo]:
    # The original name: zipfile cuts a name at NUL and turns separators.
    names = [member.orig_filename.removeprefix("./") for member in members]
    check_names(names, limits)
    for member in members:
        _check(member, limits)
    check_ratio(_("The zip"), sum(m.file_size for m in members), packed, limits)
    pairs = zip(names, members, strict=True)
    return {name: member for name, member in pairs if not member.is_dir()}


def _check(member: zipfile.ZipInfo, limits: Limits) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise Refused("link", _("%s is a link, not a file.") % member.filename)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise Refused("special", _("%s is not an ordinary file.") % member.filename)
    if member.flag_bits & 0x1:
        raise Refused("encrypted", _("%s is encrypted.") % member.filename)
    check_ratio(member.filename, member.file_size, member.compress_size, limits)


def _modified(member: zipfile.ZipInfo) -> datetime | None:
    with suppress(ValueError):
        return datetime(*member.date_time, tzinfo=UTC)
    return None


# A member that compresses better than this would look like a zip bomb to a reader.
MAX_WRITTEN_RATIO = 50
_SPOOL_BYTES = 4_000_000


def write_member(archive: zipfile.ZipFile, name: str, chunks: Iterable[bytes]) -> int:
    """Write one member from chunks of any total size; return that size."""
    packer, packed, size = zlib.compressobj(1), 0, 0
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        for chunk in chunks:
            size += spool.write(chunk)
            packed += len(packer.compress(chunk))
        packed += len(packer.flush())
        entry = zipfile.ZipInfo(name, date_time=timezone.now().timetuple()[:6])
        entry.external_attr = 0o600 << 16
        fits = size <= MAX_WRITTEN_RATIO * max(packed, 1)
        entry.compress_type = zipfile.ZIP_DEFLATED if fits else zipfile.ZIP_STORED
        spool.seek(0)
        with archive.open(entry, "w", force_zip64=size > 2**31) as member:
            copyfileobj(spool, member)
    return size


@contextmanager
def opened(path: str | Path, limits: Limits | None = None) -> Iterator[Tree]:
    tree = _open(Path(path), limits or Limits())
    try:
        yield tree
    finally:
        tree.close()


def _open(path: Path, limits: Limits) -> Tree:
    try:
        if path.is_dir():
            return FolderTree(path.resolve(), limits)
        # The person named this file, so a link here is their own.
        real = path.resolve(strict=True)
        if not real.is_file():
            raise Refused("special", _("%s is not an ordinary file.") % path.name)
        with real.open("rb") as file:
            start = file.read(512)
    except (OSError, ValueError) as error:
        raise _unreadable_error(path.name, error) from error
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZipTree(real, limits)
    if start.startswith(PACKED) or start[257:262] == b"ustar":
        raise Refused("packed", _("Keno reads zip files and folders. Unpack it first."))
    return FileTree(real, limits)


_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in the file's place must not make us wait
    | getattr(os, "O_BINARY", 0)
)


class FolderTree:
    def __init__(self, path: Path, limits: Limits):
        stats = dict(sorted(_walk(path, limits)))
        check_names(stats, limits)
        self._set(path, limits, stats)

    def _set(self, root: Path, limits: Limits, stats: dict[str, os.stat_result]) -> None:
        self._root, self.limits, self._stats = root, limits, stats
        self.entries = {
            name: Entry(name, each.st_size, _file_modified(each)) for name, each in stats.items()
        }

    def open(self, name: str) -> BinaryIO:
        try:
            file = os.fdopen(os.open(self._root / name, _FLAGS), "rb")
        except OSError as error:
            raise _unreadable_error(name, error) from error
        now, then = os.fstat(file.fileno()), self._stats[name]
        # A link or another file may have been put in its place since it was listed.
        if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino) or not stat.S_ISREG(now.st_mode):
            file.close()
            raise Refused("changed", _("%s was changed while it was read.") % name)
        return file

    def close(self) -> None:
        pass


class FileTree(FolderTree):
    """One file, named by the person who imports it."""

    def __init__(self, path: Path, limits: Limits):
        stats = path.lstat()
        _check_kind(path.name, stats)
        self._set(path.parent, limits, {path.name: stats})


def _walk(root: Path, limits: Limits) -> Iterator[tuple[str, os.stat_result]]:
    """Return every file below root by name, within the limits."""
    count, waiting = 0, [""]
    while waiting:
        folder = waiting.pop()
        for entry in _scan(root, folder):
            count += 1
            if count > limits.files:
                raise Refused("files", _("It holds more than %d files.") % limits.files)
            name, seen = folder + entry.name, entry.stat(follow_symlinks=False)
            check_name(name, limits)
            if stat.S_ISDIR(seen.st_mode):
                waiting.append(name + "/")
            else:
                _check_kind(name, seen)
                yield name, seen


def _scan(root: Path, folder: str) -> Iterator[os.DirEntry]:
    try:
        with os.scandir(root / folder) as entries:
            yield from entries
    except OSError as error:
        raise _unreadable_error(folder or root.name, error) from error


def _unreadable_error(name: str, error: OSError | ValueError) -> Refused:
    sentence = _("%(name)s cannot be read: %(error)s.")
    reason = getattr(error, "strerror", None) or str(error)
    return Refused("unreadable", sentence % {"name": name, "error": reason})


def _check_kind(name: str, seen: os.stat_result) -> None:
    if stat.S_ISLNK(seen.st_mode):
        raise Refused("link", _("%s is a link. Put the file in its place.") % name[:80])
    if not stat.S_ISREG(seen.st_mode):
        raise Refused("special", _("%s is not an ordinary file.") % name[:80])


def _file_modified(stats: os.stat_result) -> datetime | None:
    with suppress(OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(stats.st_mtime, UTC)
    return None
