"""Open what a person imports: a folder, a zip or a single file."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from memory.transfer.containers import safe
from memory.transfer.containers.zip import ZipTree

# gzip, bzip2, xz, 7z; a tar says "ustar" further on.
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")


@contextmanager
def opened(path: str | Path, limits: safe.Limits | None = None) -> Iterator[safe.Tree]:
    tree = _open(Path(path), limits or safe.Limits())
    try:
        yield tree
    finally:
        tree.close()


def _open(path: Path, limits: safe.Limits) -> safe.Tree:
    try:
        if path.is_dir():
            return FolderTree(path.resolve(), limits)
        # The person named this file, so a link here is their own.
        real = path.resolve(strict=True)
        if not real.is_file():
            raise safe.Refused("special", _("%s is not an ordinary file.") % path.name)
        with real.open("rb") as file:
            start = file.read(512)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        sentence = _("%(name)s cannot be read: %(error)s.")
        raise safe.Refused("unreadable", sentence % {"name": path.name, "error": reason}) from error
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return ZipTree(real, limits)
    if start.startswith(PACKED) or start[257:262] == b"ustar":
        raise safe.Refused("packed", _("Keno reads zip files and folders. Unpack it first."))
    return FileTree(real, limits)


_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in the file's place must not make us wait
    | getattr(os, "O_BINARY", 0)
)


class FolderTree:
    def __init__(self, path: Path, limits: safe.Limits):
        self.limits = limits
        self._root = path
        sizes = dict(sorted(_walk(path, limits)))
        safe.check_names(sizes, limits)
        self._set(sizes)

    def _set(self, sizes: dict[str, os.stat_result]) -> None:
        self._stats = sizes
        self.entries = {
            name: safe.Entry(name, seen.st_size, _modified(seen)) for name, seen in sizes.items()
        }

    def open(self, name: str) -> BinaryIO:
        try:
            file = os.fdopen(os.open(self._path(name), _FLAGS), "rb")
        except OSError as error:
            raise _unreadable(name, error) from error
        now, then = os.fstat(file.fileno()), self._stats[name]
        # Somebody may have put a link or another file in its place since it was listed.
        if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino) or not stat.S_ISREG(now.st_mode):
            file.close()
            raise safe.Refused("changed", _("%s was changed while it was read.") % name)
        return file

    def close(self) -> None:
        pass

    def _path(self, name: str) -> Path:
        return self._root / name


class FileTree(FolderTree):
    """One file, named by the person who imports it."""

    def __init__(self, path: Path, limits: safe.Limits):
        self.limits = limits
        self._root = path.parent
        seen = path.lstat()
        _check_kind(path.name, seen)
        self._set({path.name: seen})


def _walk(root: Path, limits: safe.Limits) -> Iterator[tuple[str, os.stat_result]]:
    """Return every file below root by name, within the limits."""
    count, waiting = 0, [""]
    while waiting:
        folder = waiting.pop()
        for entry in _listed(root, folder):
            count += 1
            if count > limits.files:
                raise safe.Refused("files", _("It holds more than %d files.") % limits.files)
            name, seen = folder + entry.name, entry.stat(follow_symlinks=False)
            safe.check_name(name, limits)
            if stat.S_ISDIR(seen.st_mode):
                waiting.append(name + "/")
            else:
                _check_kind(name, seen)
                yield name, seen


def _listed(root: Path, folder: str) -> Iterator[os.DirEntry]:
    try:
        with os.scandir(root / folder) as entries:
            yield from entries
    except OSError as error:
        raise _unreadable(folder or root.name, error) from error


def _unreadable(name: str, error: OSError) -> safe.Refused:
    sentence = _("%(name)s cannot be read: %(error)s.")
    return safe.Refused("unreadable", sentence % {"name": name, "error": error.strerror})


def _check_kind(name: str, seen: os.stat_result) -> None:
    if stat.S_ISLNK(seen.st_mode):
        raise safe.Refused("link", _("%s is a link. Put the file in its place.") % name[:80])
    if not stat.S_ISREG(seen.st_mode):
        raise safe.Refused("special", _("%s is not an ordinary file.") % name[:80])


def _modified(seen: os.stat_result) -> datetime | None:
    try:
        return datetime.fromtimestamp(seen.st_mtime, UTC)
    except (OverflowError, ValueError, OSError):
        return None
