"""Throwing an episode away with its reason, and (if asked) what it left behind: one change."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from kenoweb.episodes.panel import derived_facts
from memory import rulings
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Episode

REASONS = {
    "noise": (_("Noise"), _("small talk, a test, repeated messages")),
    "wrong": (_("Wrong"), _("it did not happen like this")),
    "private": (_("Private"), _("and never remember things like it")),
}


@transaction.atomic
def discard(
    episode: Episode,
    *,
    by: str,
    why: str,
    note: str = "",
    with_facts: bool = False,
    now: datetime | None = None,
) -> ChangeResult:
    """To the trash; undo brings back all of it, facts and rulings too."""
    reason = ": ".join(part for part in (str(REASONS[why][0]), note) if part)
    with history.change(by=by, why="discard") as context:
        done = episodes.discard(episode, by=by, reason=reason, now=now)
        if not done.changed:
            return done
        if why == "private":
            rulings.forbid(episode.space, text=str(episode), by=by, reason=note or reason)
        if with_facts:
            for fact in derived_facts(episode, space=episode.space).live():
                facts.forget(fact, by=by, now=now)
    return ChangeResult(episode, context.id)
