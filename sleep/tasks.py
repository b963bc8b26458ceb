"""The night's jobs: an hourly look at who is due, and one job per space that sleeps."""

from django.utils import timezone, translation
from procrastinate.contrib.django import app

from memory import jobs
from memory.jobs import AFTER_OUTAGE
from memory.models import AuditEntry, Message, Space
from sleep import advice, budgeted_model, cycle, imports, proposals


@app.periodic(cron="7 * * * *")
@app.task(name="sleep.look", queueing_lock="sleep.look", retry=AFTER_OUTAGE)
def look(timestamp: int) -> None:
    """Begin the nights that are due, and remind of what waits.

    A night that failed is due again an hour later.
    """
    now = timezone.now()
    for space in Space.objects.filter(archived_at=None).order_by("pk"):
        if cycle.is_due(space, now=now) or cycle.has_stopped_night(space):
            jobs.enqueue("sleep.night", space_id=space.pk, once=f"night-{space.pk}")
        proposals.remind(space, now=now)
        if advice.needs_rescan(space):
            jobs.enqueue("sleep.rescan", space_id=space.pk, once=f"rescan-{space.pk}")


@app.task(name="sleep.night", retry=AFTER_OUTAGE)
def night(space_id: int, asked_by: str = "") -> None:
    space = Space.objects.get(pk=space_id)
    try:
        given = {
            "asked_by": asked_by,
            "if_due": not asked_by,
            **budgeted_model.model_for_space(space),
        }
        cycle.sleep(space, now=timezone.now(), **given)
    except (cycle.AlreadyAsleep, cycle.NotDue):
        return


@app.task(name="sleep.propose_held", retry=AFTER_OUTAGE)
def propose_held(space_id: int, message_ids: list[int]) -> None:
    """Put what a gate holds of these messages before people."""
    heard = Message.objects.filter(space=space_id, pk__in=message_ids)
    proposals.propose_held(heard.select_related("space", "chat"), now=timezone.now())


@app.task(name="sleep.rescan", retry=AFTER_OUTAGE)
def rescan(space_id: int) -> None:
    """Look through what is believed with guards that changed."""
    advice.rescan(Space.objects.get(pk=space_id))


@app.task(name="sleep.learn_import", retry=AFTER_OUTAGE)
def learn_import(space_id: int, entry_id: int, speaker: str = "", language: str = "en") -> None:
    """Learn from what an import brought; a job that was cut off goes on where it stopped."""
    entry = AuditEntry.objects.select_related("space").filter(pk=entry_id, space=space_id).first()
    if entry and imports.state(entry.space, entry).is_running:
        with translation.override(language):
            imports.learn(entry.space, entry, speaker=speaker, now=timezone.now())
