"""Export and import memories, always with a report.

Import from here: detect, dry_run, run, undo, imports, export, and Refused for what cannot be read.
"""

from memory.transfer.containers import Refused
from memory.transfer.importing import (
    AUTO,
    EXPORTS,
    UnknownImport,
    detect,
    dry_run,
    export,
    file_name,
    imports,
    run,
    undo,
)
from memory.transfer.readers.formats import FORMATS
from memory.transfer.reports import Line, Report, Verdict
