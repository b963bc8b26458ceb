import pghistory.models
from django.db import models


class Event(pghistory.models.Event):
    """The base of every table of events (PGHISTORY_BASE_MODEL): ids of 64 bits.

    A busy space writes an event for every change of a row; 32 bits end while Keno still runs.
    """

    pgh_id = models.BigAutoField(primary_key=True)

    class Meta:
        abstract = True
