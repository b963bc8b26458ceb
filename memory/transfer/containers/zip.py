"""An untrusted zip: listed and read member by member, never unpacked; and writing members."""

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO

from django.utils import timezone
from django.utils.translation import gettext as _

from memory.transfer.containers import safe

# A central directory larger than this would fill the memory before a name is looked at.
DIRECTORY_LIMIT = 4 * safe.MB


class _Careful:
    """Refuse large reads: zipfile reads the directory in one go."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def read(self, n: int = -1) -> bytes:
        data = self._file.read(min(n, DIRECTORY_LIMIT + 1) if n >= 0 else DIRECTORY_LIMIT + 1)
        if len(data) > DIRECTORY_LIMIT:
            raise safe.Refused("files", _("Its list of files is too long."))
        return data

    def __getattr__(self, name: str):
        return getattr(self._file, name)


class ZipTree:
    def __init__(self, path: Path, limits: safe.Limits):
        self.limits = limits
        self._file = path.open("rb")
        try:
            self._zip = zipfile.ZipFile(_Careful(self._file))
            self._members = _checked(self._zip.infolist(), path.stat().st_size, limits)
        except safe.Refused:
            self._file.close()
            raise
        except Exception as error:  # zipfile raises struct.error, OverflowError … on crafted bytes
            self._file.close()
            raise safe.Refused("zip", _("The zip is damaged: %s.") % error) from error
        self.entries = {
            name: safe.Entry(name, member.file_size, _modified(member))
            for name, member in self._members.items()
        }

    def open(self, name: str) -> BinaryIO:
        try:
            return _Member(self._zip.open(self._members[name]), name)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
            raise _damaged(name, error) from error

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
            raise _damaged(self._name, error) from error

    def close(self) -> None:
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def _damaged(name: str, error: Exception) -> safe.Refused:
    sentence = _("%(name)s cannot be unpacked: %(error)s.")
    return safe.Refused("zip", sentence % {"name": name, "error": error})


def _checked(
    members: list[zipfile.ZipInfo], packed: int, limits: safe.Limits
) -> dict[str, zipfile.ZipInfo]:
    # The original name: zipfile cuts a name at NUL and turns separators.
    safe.check_names((_plain(member) for member in members), limits)
    for member in members:
        _check(member, limits)
    safe.check_ratio(_("The zip"), sum(m.file_size for m in members), packed, limits)
    return {_plain(member): member for member in members if not member.is_dir()}


def _check(member: zipfile.ZipInfo, limits: safe.Limits) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise safe.Refused("link", _("%s is a link, not a file.") % member.filename)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise safe.Refused("special", _("%s is not an ordinary file.") % member.filename)
    if member.flag_bits & 0x1:
        raise safe.Refused("encrypted", _("%s is encrypted.") % member.filename)
    safe.check_ratio(member.filename, member.file_size, member.compress_size, limits)


def _plain(member: zipfile.ZipInfo) -> str:
    return member.orig_filename.removeprefix("./")


def _modified(member: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
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
        entry.compress_type = (
            zipfile.ZIP_DEFLATED
            if size <= MAX_WRITTEN_RATIO * max(packed, 1)
            else zipfile.ZIP_STORED
        )
        spool.seek(0)
        with archive.open(entry, "w", force_zip64=size > 2**31) as member:
            copyfileobj(spool, member)
    return size
