"""Rows as they were on another day: to be shown, never to be saved."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Model
from django.http import Http404

from kenoweb.access import things
from memory import history
from memory.models import Space


def as_they_were(model: type[Model], events: Iterable) -> list[Model]:
    return [_copy(model, event) for event in events]


def as_it_was(space: Space, model: type[Model], pk: int, when: datetime) -> Model:
    """The row as it was then; what was not there yet is not found."""
    event = history.as_of(things(space, model).filter(pk=pk), when).first()
    if event is None:
        raise Http404
    return _copy(model, event)


def _copy(model: type[Model], event: object) -> Model:
    names = [field.attname for field in model._meta.fields]
    known = {name: getattr(event, name) for name in names if hasattr(event, name)}
    row = model(**known | {"id": event.pgh_obj_id})
    if event.chat_id:
        row.chat = event.chat
    return row
