"""One act on many facts: those that were ticked, or all that match what the list shows."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kenoweb.facts import search as facts_search
from kenoweb.facts.forms import BulkForm
from kenoweb.facts.listing import chat_of
from kenoweb.ui import list_page
from kenoweb.ui.filters import FactFilter
from memory.facts import bulk as fact_bulk
from memory.facts import service as facts
from memory.facts.bulk import MAX_FACTS, BulkResult
from memory.models import Space


@dataclass(frozen=True)
class Result:
    said: str = ""
    refusal: str = ""
    change_id: UUID | None = None

    @property
    def changed(self) -> bool:
        return self.change_id is not None


def act(space: Space, posted: QueryDict, *, by: str, now: datetime) -> Result:
    form = BulkForm(posted, chats=list_page.chat_choices(list_page.chats_of(space)))
    if not form.is_valid():
        return Result(refusal=_("Choose what to do with them."))
    chosen = form.cleaned_data
    pks = picked(space, posted, chosen, now=now)
    if not pks:
        return Result(refusal=_("Tick the facts first."))
    try:
        many = _writer(space, chosen)(space, pks, by=by, now=now)
    except (fact_bulk.TooMany, facts.DuplicateFact, facts.Invalid) as refusal:
        return Result(refusal=str(refusal))
    return Result(said=_said(chosen["act"], many), change_id=many.change_id)


def picked(space: Space, posted: QueryDict, chosen: dict, *, now: datetime) -> list[int]:
    """Ids; one more than may be done at once when there are too many."""
    if not chosen["everything"]:
        ticked = posted.getlist("pick")[: MAX_FACTS + 1]
        return [int(pk) for pk in ticked if pk.isascii() and pk.isdigit() and len(pk) < 19]
    wanted = FactFilter.read(QueryDict(chosen["where"]))
    if wanted.when:
        return []  # what was cannot be changed
    found = facts_search.find(space, wanted, now=now)
    return list(found.order_by("pk").values_list("pk", flat=True)[: MAX_FACTS + 1])


def _writer(space: Space, chosen: dict) -> Callable[..., BulkResult]:
    def move(*args, **kwargs):
        return fact_bulk.move(*args, chat=chat_of(space, chosen["chat"]), **kwargs)

    def merge(*args, **kwargs):
        return fact_bulk.merge(*args, keep=chosen["keep"], **kwargs)

    def with_value(write, name):
        return lambda *args, **kwargs: write(*args, **{name: chosen[name]} | kwargs)

    return {
        "forget": fact_bulk.forget,
        "restore": fact_bulk.restore,
        "pin": fact_bulk.pin,
        "unpin": lambda *args, **kwargs: fact_bulk.pin(*args, pinned=False, **kwargs),
        "category": with_value(fact_bulk.recategorise, "category"),
        "subject": with_value(fact_bulk.retag, "subject"),
        "chat": move,
        "never": fact_bulk.never_again,
        "merge": merge,
    }[chosen["act"]]


def _said(act: str, many: BulkResult) -> str:
    done = {
        "forget": ngettext("Forgot %(n)s fact.", "Forgot %(n)s facts.", many.count),
        "restore": ngettext("Restored %(n)s fact.", "Restored %(n)s facts.", many.count),
        "pin": ngettext("Pinned %(n)s fact.", "Pinned %(n)s facts.", many.count),
        "unpin": ngettext("Unpinned %(n)s fact.", "Unpinned %(n)s facts.", many.count),
        "chat": ngettext("Moved %(n)s fact.", "Moved %(n)s facts.", many.count),
        "merge": ngettext(
            "Merged %(n)s fact into one.", "Merged %(n)s facts into one.", many.count
        ),
        "never": ngettext(
            "Will never remember %(n)s fact again.",
            "Will never remember %(n)s facts again.",
            many.count,
        ),
    }.get(act, ngettext("Changed %(n)s fact.", "Changed %(n)s facts.", many.count))
    words = done % {"n": list_page.capped_number(many.count, MAX_FACTS)}
    if many.duplicates:
        left = ngettext(
            "%(n)s was left: another live fact says the same.",
            "%(n)s were left: other live facts say the same.",
            many.duplicates,
        )
        words = f"{words} {left % {'n': many.duplicates}}"
    return words
