"""Read an archive: its manifest and its parts, checked against the manifest."""

import hashlib
from collections.abc import Iterator

from django.utils.translation import gettext as _

from memory.transfer.archive import FORMAT, MANIFEST, VERSION, schema
from memory.transfer.archive.schema import BY_NAME
from memory.transfer.containers import safe
from memory.transfer.readers import json_values

# An archive that this installation sealed is no stranger's: it may be as large as a space gets.
OWN_TOTAL = 8 * 1024 * safe.MB


def is_archive(tree: safe.Tree) -> bool:
    if MANIFEST not in tree.entries or tree.entries[MANIFEST].size > tree.limits.file:
        return False
    try:
        found = json_values.loads(safe.read_text(tree, MANIFEST))
    except json_values.Broken:
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def manifest(tree: safe.Tree, *, sizes: bool = True) -> dict:
    """Return the manifest; refuse one that this version of Keno does not understand."""
    try:
        found = json_values.loads(safe.read_text(tree, MANIFEST))
    except json_values.Broken as error:
        raise safe.Refused("manifest", _("Its manifest is damaged: %s.") % error) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise safe.Refused("manifest", _("This is not an archive of Keno."))
    version = found.get("version")
    if not isinstance(version, int) or version < 1:
        raise safe.Refused("manifest", _("Its manifest names no version."))
    if version > VERSION:
        sentence = _("A newer Keno made this archive (version %d). Update Keno, then import it.")
        raise safe.Refused("version", sentence % version)
    _check_members(tree, found, sizes=sizes)
    return found


def is_own(manifest: dict) -> bool:
    return schema.is_valid(manifest)


def rows(tree: safe.Tree, manifest: dict, kind: str) -> Iterator[tuple[str, int, object]]:
    """Yield (file, line, row) of one kind; the row is None for a line that is not JSON."""
    for member in manifest["members"]:
        if member["kind"] != kind:
            continue
        name = member["name"]
        for number, line in enumerate(_checked(tree, member).split(b"\n"), 1):
            if line.strip():
                try:
                    yield name, number, json_values.loads(line.decode("utf-8", "replace"))
                except json_values.Broken:
                    yield name, number, None


def _check_members(tree: safe.Tree, manifest: dict, *, sizes: bool) -> None:
    members = manifest.get("members")
    if not isinstance(members, list) or not all(map(_is_member, members)):
        raise safe.Refused("manifest", _("Its manifest does not list its parts."))
    named = {member["name"] for member in members}
    for name in sorted(named - set(tree.entries)):
        raise safe.Refused("manifest", _("A part is missing: %s.") % name)
    if sizes:
        safe.check_sizes(tree, [MANIFEST, *named])


def _is_member(member: object) -> bool:
    return (
        isinstance(member, dict)
        and isinstance(member.get("name"), str)
        and isinstance(member.get("sha256"), str)
        and isinstance(member.get("kind"), str)
        and isinstance(member.get("rows"), int)
    )


def _checked(tree: safe.Tree, member: dict) -> bytes:
    data = safe.read(tree, member["name"])
    if hashlib.sha256(data).hexdigest() != member["sha256"]:
        sentence = _("%s is not what the manifest says: it was damaged or changed.")
        raise safe.Refused("digest", sentence % member["name"])
    return data


def unknown(tree: safe.Tree, manifest: dict) -> list[str]:
    """Return files that the manifest does not name or whose kind is unknown."""
    known = {member["name"] for member in manifest["members"] if member["kind"] in BY_NAME}
    return sorted(set(tree.entries) - known - {MANIFEST})
