"""One door to whatever a person points at: a folder, a zip, a tar or a single file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils.translation import gettext as _

from memory.transfer import safe
from memory.transfer.safe_folder import FileTree, FolderTree
from memory.transfer.safe_tar import GZIP, TarTree, is_tar
from memory.transfer.safe_zip import ZipTree


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
    if is_tar(start) or start.startswith(GZIP):
        return TarTree(real, limits)
    if start.startswith((b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")):
        raise safe.Refused("packed", _("Keno reads zip and tar files. Unpack it first."))
    return FileTree(real, limits)
