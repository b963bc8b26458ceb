"""Keno's own archive: a whole space in one file, to be moved, kept, and brought back the same."""

FORMAT = "keno-archive"
VERSION = 1
MANIFEST = "manifest.json"
