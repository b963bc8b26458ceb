"""Compile the catalogues (.po) for Python's gettext (.mo) without a program beside Python."""

from contextlib import suppress
from pathlib import Path

import polib

CHECKOUT, PACKAGE = Path(__file__).resolve().parents[2], Path(__file__).resolve().parents[1]
LOCALE = next(
    (root / "locale" for root in (CHECKOUT, PACKAGE) if (root / "locale").is_dir()),
    CHECKOUT / "locale",
)


def compile_all(folder: Path = LOCALE) -> list[Path]:
    """Compile every catalogue whose source is newer; return the files written."""
    stale = [po for po in sorted(folder.glob("*/LC_MESSAGES/*.po")) if _is_stale(po)]
    written = []
    for po in stale:
        with suppress(PermissionError):  # another account's checkout: English has to do
            mo, part = po.with_suffix(".mo"), po.with_suffix(".mo.part")
            polib.pofile(str(po)).save_as_mofile(str(part))
            part.replace(mo)
            written.append(mo)
    return written


def _is_stale(po: Path) -> bool:
    mo = po.with_suffix(".mo")
    return not mo.exists() or mo.stat().st_mtime < po.stat().st_mtime
