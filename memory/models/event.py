import pghistory.models
from django.db import models

from memory.models.content import Content, ContentQuerySet


class EventQuerySet(ContentQuerySet, pghistory.models.EventQuerySet):
    pass


class Event(Content, pghistory.models.Event):
    """The base of every table of events (PGHISTORY_BASE_MODEL): ids of 64 bits.

    A busy space writes an event for every change of a row; 32 bits end while Keno still runs.
    """

    pgh_id = models.BigAutoField(primary_key=True)

    objects = EventQuerySet.as_manager()  # type: ignore[misc]

    class Meta:
        abstract = True
