"""What Keno is in the middle of, chat by chat."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse

from kenoweb import changes, lists
from kenoweb.access import things
from kenoweb.changes import Step
from kenoweb.filters import WorkingFilter
from kenoweb.paging import Order, counted, part
from kenoweb.places import address
from kenoweb.words import letters
from memory import working
from memory.models import Member, Space, WorkingNote

ORDER = Order("updated_at")


@dataclass(frozen=True)
class NoteList:
    filter: WorkingFilter
    rows: list[WorkingNote]
    url: str
    query: str
    more: str
    found: int
    may: bool
    stale_before: datetime
    stale_days: int

    @property
    def count(self) -> str:
        return lists.about(self.found)

    @property
    def here(self) -> str:
        return f"{self.url}?{self.query}" if self.query else self.url


@dataclass(frozen=True)
class NotePanel:
    note: WorkingNote
    url: str
    chat_url: str
    is_stale: bool
    is_empty: bool
    steps: list[Step]


def note_list(space: Space, wanted: WorkingFilter, *, member: Member, now: datetime) -> NoteList:
    url, found = reverse("working:index", args=[space.slug]), find(space, wanted)
    page = part(found.select_related("chat"), order=ORDER, after=wanted.after)
    days = space.options.working_stale_days
    return NoteList(
        filter=wanted,
        rows=page.rows,
        url=url,
        query=wanted.query(),
        more=lists.there(url, wanted, after=page.after) if page.after else "",
        found=counted(found)[0],
        may=member.may("curator"),
        stale_before=now - timedelta(days=days),
        stale_days=days,
    )


def find(space: Space, wanted: WorkingFilter) -> QuerySet:
    """The notes that say something."""
    rows = things(space, WorkingNote).exclude(**working.EMPTY)
    return rows.filter(letters(wanted.q, "task", "notes", "chat__title")) if wanted.q else rows


def note_panel(note: WorkingNote, *, space: Space, user: User, now: datetime) -> NotePanel:
    return NotePanel(
        note=note,
        url=reverse("working:detail", args=[space.slug, note.pk]),
        chat_url=address("chats:detail", space, pk=note.chat_id),
        is_stale=working.is_stale(note, now=now),
        is_empty=working.is_empty(note),
        steps=changes.thread(note, space=space, user=user),
    )
