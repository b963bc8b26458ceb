"""An untrusted tar, plain or gzipped: listed and read member by member, never unpacked."""

import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from memory.transfer.containers import safe

GZIP = b"\x1f\x8b"
_MARK, _MARK_AT = b"ustar", 257
_CHUNK = safe.MB
# Headers, padding and the end of the tape: what a tar may hold beside its files.
_BESIDE = 16 * safe.MB


def is_tar(start: bytes) -> bool:
    return start[_MARK_AT : _MARK_AT + len(_MARK)] == _MARK


class TarTree:
    def __init__(self, path: Path, limits: safe.Limits):
        self.limits = limits
        self._file = _plain(path, limits)
        try:
            self._members = dict(_listed(self._file, limits))
            safe.check_names(self._members, limits)
        except safe.Refused:
            self._file.close()
            raise
        except Exception as error:  # tarfile raises ValueError, struct.error … on crafted bytes
            self._file.close()
            raise _damaged(error) from error
        self.entries = {
            name: safe.Entry(name, member.size, _modified(member))
            for name, member in self._members.items()
        }

    def open(self, name: str) -> BinaryIO:
        member = self._members[name]
        return _Member(self._file, member.offset_data, member.size)

    def close(self) -> None:
        self._file.close()


class _Member:
    """The bytes of one member: a plain range of the file."""

    def __init__(self, file: BinaryIO, start: int, size: int):
        self._file, self._at, self._end = file, start, start + size

    def read(self, n: int = -1) -> bytes:
        left = self._end - self._at
        self._file.seek(self._at)
        data = self._file.read(left if n < 0 else min(n, left))
        self._at += len(data)
        if left and n and not data:
            raise _damaged(_("it breaks off"))
        return data

    def close(self) -> None:
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class _Careful:
    """Refuse large reads: tarfile reads a header's long name in one go."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def read(self, n: int = -1) -> bytes:
        if not 0 <= n <= _CHUNK:
            raise safe.Refused("tar", _("The tar is damaged: %s.") % _("a header is too long"))
        return self._file.read(n)

    def __getattr__(self, name: str):
        return getattr(self._file, name)


def _listed(file: BinaryIO, limits: safe.Limits) -> Iterator[tuple[str, tarfile.TarInfo]]:
    """Return regular files by name; count on the way, because a crafted tar may be endless."""
    with tarfile.open(fileobj=_Careful(file), mode="r:", errorlevel=2) as tape:
        count, seen = 0, set()
        while (member := tape.next()) is not None:
            count += 1
            if count > limits.files:
                raise safe.Refused("files", _("It holds more than %d files.") % limits.files)
            tape.members.clear()
            name = member.name.removeprefix("./")
            _check(member)
            if member.isdir():
                if name not in ("", "."):
                    safe.check_name(name, limits)
                continue
            if name in seen:
                raise safe.Refused("duplicate", _("Two files have the same name: %s.") % name[:80])
            seen.add(name)
            yield name, member


def _check(member: tarfile.TarInfo) -> None:
    shown = member.name[:80]
    if member.islnk() or member.issym():
        raise safe.Refused("link", _("%s is a link, not a file.") % shown)
    if not (member.isreg() or member.isdir()) or member.issparse():
        raise safe.Refused("special", _("%s is not an ordinary file.") % shown)
    if member.size < 0 or member.offset_data < 0:
        raise _damaged(shown)


def _plain(path: Path, limits: safe.Limits) -> BinaryIO:
    """Return the tar, a gzipped one decompressed into a temporary file up to the limit."""
    file = path.open("rb")
    if file.read(2) != GZIP:
        file.seek(0)
        return file
    out = tempfile.TemporaryFile()  # noqa: SIM115 - the tree closes it
    try:
        with file:
            file.seek(0)
            _let_out(file, out, packed=path.stat().st_size, limits=limits)
    except BaseException:
        out.close()
        raise
    return out


def _let_out(file: BinaryIO, out: BinaryIO, *, packed: int, limits: safe.Limits) -> None:
    size = 0
    for data in _unzipped(file):
        if not size and not is_tar(data):
            raise safe.Refused("packed", _("Keno reads zip and tar files. Unpack it first."))
        size += out.write(data)
        safe.check_ratio(_("The tar"), size, packed, limits)
        if size > limits.total + _BESIDE:
            raise safe.Refused("total", _("It holds more than %d MB.") % (limits.total // safe.MB))
    out.seek(0)


def _unzipped(file: BinaryIO) -> Iterator[bytes]:
    """Yield decompressed pieces of at most a megabyte."""
    unzip = zlib.decompressobj(wbits=31)
    try:
        while data := unzip.unconsumed_tail or file.read(_CHUNK):
            piece = unzip.decompress(data, _CHUNK)
            if piece:
                yield piece
            if unzip.eof:
                return
    except zlib.error as error:
        raise _damaged(error) from error
    raise _damaged(_("it breaks off"))


def _damaged(error: object) -> safe.Refused:
    return safe.Refused("tar", _("The tar is damaged: %s.") % error)


def _modified(member: tarfile.TarInfo) -> datetime | None:
    try:
        return datetime.fromtimestamp(member.mtime, UTC)
    except (OverflowError, ValueError, OSError, TypeError):
        return None
