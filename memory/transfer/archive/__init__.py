"""Keno's own archive: a whole space in one file that can be restored unchanged."""

FORMAT = "keno-archive"
VERSION = 1
MANIFEST = "manifest.json"
