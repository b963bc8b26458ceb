"""Outcomes of imported items, as a report names them."""

from django.db import models

from memory.guards.screening import describe_reasons
from memory.history import changes as history
from memory.history import rows
from memory.transfer.reports import Verdict
from memory.transfer.session import Session

# Verdict, reason, and a sentence where the reason's own does not do.
Outcome = tuple[str, str, str]
TAKEN: Outcome = (Verdict.TAKEN, "", "")
KNOWN: Outcome = (Verdict.KNOWN, "known", "")


def outcome(done: history.ChangeResult) -> Outcome:
    """Return the outcome of a service's result."""
    if done.outcome == "quarantined":
        return quarantined(done.row, done.reason)
    if done.outcome == "refused":
        return Verdict.SKIPPED, "ruling", done.reason
    if done.outcome == "empty":
        return Verdict.SKIPPED, "nothing left", done.reason
    return TAKEN if done.changed else KNOWN


def quarantined(row: models.Model | None, reason: str = "") -> Outcome:
    return Verdict.QUARANTINED, "", reason or describe_reasons(getattr(row, "flags", []))


def before_undo(row: models.Model) -> dict | None:
    """Return the row before an import was undone; None if it is gone for another reason."""
    steps = history.history(row)
    if not steps or "undoes_context" not in steps[0].metadata:
        return None
    return next((step.after for step in steps if "undoes_context" not in step.metadata), None)


def revived(session: Session, row: models.Model, **more: object) -> Outcome:
    """Restore a row that an undo removed, because it is imported again."""
    was = before_undo(row)
    if was is None:
        return Verdict.SKIPPED, "put away", ""
    stamps = {name: None for name in ("trashed_at", "discarded_at") if name in was}
    reason = {"discard_reason": was["discard_reason"]} if "discard_reason" in was else {}
    values = {"status": was["status"]} | stamps | reason | more
    rows.change(row, by=session.writer, why="import again", now=None, **values)
    return quarantined(row) if was["status"] == "quarantined" else TAKEN
