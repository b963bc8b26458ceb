"""A folder or a file of a stranger: regular files only, no link is ever followed."""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from memory.transfer import safe

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
        found = dict(sorted(_walk(path, limits)))
        safe.check_names(found, limits)
        self._set(found)

    def _set(self, found: dict[str, os.stat_result]) -> None:
        self._stats = found
        self.entries = {
            name: safe.Entry(name, seen.st_size, _modified(seen)) for name, seen in found.items()
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
    """Every file below root by name, and nothing more than the limits allow."""
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
