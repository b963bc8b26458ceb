"""Limits for untrusted files: which may be opened, and how much of them is read."""

import io
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol

from django.utils.translation import gettext as _

MB = 1024 * 1024
# A member that unpacks to less than this is no bomb, however well it packs.
RATIO_MATTERS_FROM = 256 * 1024
_DRIVE = re.compile(r"^[A-Za-z]:")
_DEVICE = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\.|$)", re.I)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


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
    if _CONTROL.search(name) or not _encodes(name):
        raise Refused(
            "name", _("A file name contains a character that cannot be shown: %s.") % shown
        )
    if name.startswith("/") or _DRIVE.match(name):
        raise Refused("absolute", _("%s is an absolute path.") % shown)
    if "\\" in name:
        raise Refused("name", _("%s holds a backslash.") % shown)
    if ".." in parts:
        raise Refused("traversal", _("%s leads out of the archive.") % shown)
    if "" in parts:
        raise Refused("name", _("A file has no name."))
    if len(parts) - 1 > limits.depth:
        raise Refused(
            "depth",
            _("%(name)s lies deeper than %(most)d folders.")
            % {"name": shown, "most": limits.depth},
        )
    for part in parts:
        if len(part.encode("utf-8", "surrogatepass")) > limits.name:
            raise Refused("long name", _("The name %s… is too long.") % shown[:40])
        if _DEVICE.match(part):
            raise Refused("device", _("%s is the name of a device.") % shown)


def _encodes(name: str) -> bool:
    # A name that is no UTF-8 comes from the file system as lone surrogates.
    return name.encode("utf-8", "replace").decode() == name


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
