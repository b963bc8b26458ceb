"""One act on many episodes: merged into one, thrown away, or brought back. One undo."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.auth.access import rows_in
from kenoweb.episodes.forms import REASONS, discard
from memory.episodes import service as episodes
from memory.history import changes as history
from memory.models import Episode, Space

MAX_PICKED = 200


@dataclass(frozen=True)
class Result:
    said: str = ""
    refusal: str = ""
    change_id: UUID | None = None

    @property
    def changed(self) -> bool:
        return self.change_id is not None


def act(space: Space, posted: QueryDict, *, by: str, now: datetime) -> Result:
    ticked = [pk for pk in posted.getlist("pick") if pk.isascii() and pk.isdigit() and len(pk) < 19]
    if len(ticked) > MAX_PICKED:
        return Result(refusal=_("At most %(n)s episodes at once.") % {"n": MAX_PICKED})
    chosen = list(rows_in(space, Episode).filter(pk__in=ticked).order_by("started_at", "pk"))
    if not chosen:
        return Result(refusal=_("Tick the episodes first."))
    try:
        return _do(posted.get("act", ""), chosen, by=by, now=now)
    except episodes.Invalid as refusal:
        return Result(refusal=str(refusal))


@transaction.atomic
def _do(name: str, chosen: list[Episode], *, by: str, now: datetime) -> Result:
    if name == "merge":
        if len(chosen) < 2:
            return Result(refusal=_("Tick at least two episodes to merge."))
        done = episodes.merge(chosen, by=by, now=now)
        said = ngettext("Merged %(n)s episode.", "Merged %(n)s episodes into one.", len(chosen))
        return Result(said % {"n": len(chosen)}, change_id=done.change_id)
    name, _dash, why = name.partition("-")
    if name not in ("discard", "restore"):
        return Result(refusal=_("Choose what to do with them."))
    why = why if why in REASONS else "noise"
    with history.change(by=by, why=name) as context:
        done = [
            discard(one, by=by, why=why, now=now)
            if name == "discard"
            else episodes.restore(one, by=by, now=now)
            for one in chosen
        ]
    count = sum(one.changed for one in done)
    if name == "discard":
        said = ngettext("Discarded %(n)s episode.", "Discarded %(n)s episodes.", count)
    else:
        said = ngettext("Restored %(n)s episode.", "Restored %(n)s episodes.", count)
    return Result(said % {"n": count}, change_id=context.id if count else None)
