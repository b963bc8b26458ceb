"""The night's jobs: an hourly look for spaces that are due, and one job per space that sleeps."""

import logging
from contextlib import suppress
from typing import Any

from django.utils import timezone, translation
from procrastinate.contrib.django import app

from memory import jobs
from memory.jobs import AFTER_OUTAGE, periodic
from memory.models import AuditEntry, Message, Space
from memory.operations import health
from sleep import advice, budgeted_model, cycle, imports, mirror, offer_proposals, reminding

logger = logging.getLogger(__name__)

NIGHT_PRIORITY = -5


@periodic("sleep.look", cron="7 * * * *")
def look(timestamp: int) -> None:
    """Begin the nights that are due, and remind of what waits.

    A night that failed is due again an hour later.
    """
    now = timezone.now()
    awake = Space.objects.filter(archived_at=None)
    lanes = max(1, health.living_workers(now=now))
    for n, space in enumerate(cycle.due_spaces(awake, now=now)):
        # One night at a time for each worker, behind everything that people wait for.
        jobs.enqueue(
            "sleep.night",
            space_id=space.pk,
            lock=f"nights-{n % lanes}",
            once=f"night-{space.pk}",
            priority=NIGHT_PRIORITY,
        )
    for space in reminding.spaces_to_remind(awake, now=now):
        reminding.remind(space, now=now)
    for pk in advice.spaces_to_rescan(awake):
        jobs.enqueue("sleep.rescan", space_id=pk, once=f"rescan-{pk}")


@app.task(name="sleep.night", retry=AFTER_OUTAGE)
def night(space_id: int, asked_by: str = "") -> None:
    space = Space.objects.get(pk=space_id)
    options: dict[str, Any] = {"asked_by": asked_by, "if_due": not asked_by}
    with suppress(cycle.AlreadyAsleep, cycle.NotDue):
        options |= budgeted_model.model_for_space(space)
        cycle.sleep(space, now=timezone.now(), **options)


@app.task(name="sleep.propose_held", retry=AFTER_OUTAGE)
def propose_held(space_id: int, message_ids: list[int]) -> None:
    messages = Message.objects.filter(space=space_id, pk__in=message_ids)
    offer_proposals.propose_held(messages.select_related("space", "chat"), now=timezone.now())


@app.task(name="sleep.rescan", retry=AFTER_OUTAGE)
def rescan(space_id: int) -> None:
    advice.rescan(Space.objects.get(pk=space_id))


@app.task(name="sleep.learn_import", retry=AFTER_OUTAGE)
def learn_import(space_id: int, entry_id: int, speaker: str = "", language: str = "en") -> None:
    """Learn from what an import brought; a job that was cut off goes on where it stopped."""
    entry = AuditEntry.objects.select_related("space").filter(pk=entry_id, space=space_id).first()
    if entry and imports.state(entry.space, entry).is_running:
        with translation.override(language):
            imports.learn(entry.space, entry, speaker=speaker, now=timezone.now())


@periodic("sleep.mirror", cron="* * * * *")
def keep_mirrors(timestamp: int) -> None:
    for space in Space.objects.filter(archived_at=None, settings__mirror=True).order_by("pk"):
        try:
            mirror.sync(space, mirror.folder_of(space))
        except (OSError, mirror.Busy) as error:
            logger.warning("mirror of space %s: %s", space.pk, error)
