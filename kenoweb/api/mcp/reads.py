"""What an agent may read: recall, facts and episodes that the whole space may see."""

from django.utils import timezone
from django.utils.translation import gettext as _

from kenoweb.api.mcp import shapes
from kenoweb.api.mcp.caller import Refused, note, page
from kenoweb.auth.access import rows_in
from kenoweb.facts import search as facts_search
from kenoweb.ui.filters import HERE, FactFilter
from kenoweb.ui.paging import is_place, part
from memory.models import ApiToken, Episode, Fact, Space, Unit
from memory.models.unit import shared
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import recall as recall_memory
from memory.text import normalise as text

# Messages belong to their chat.
KINDS = ("fact", "episode")
MAX_TEXT = 4000


def recall(token: ApiToken, asked: shapes.Question) -> shapes.Recollection:
    space = token.space
    found = recall_memory(
        space, asked.question, person=token.user.username, limit=asked.limit, kinds=KINDS
    )
    receipt = found.receipt
    number = receipt.pk if receipt else None
    note(token, "recall", found=len(found.items), receipt=number)
    where = page("recall:receipt", space, pk=number) if receipt else ""
    if found.mode == "none":
        raise Refused(_("The recall failed. Try again; Keno's log says what was wrong."))
    return shapes.Recollection(
        memories=[_memory(one, space) for one in found.items],
        confidence=found.confidence,
        level=found.level,
        receipt=where,
        note=found.error,
    )


def facts(token: ApiToken, asked: shapes.Search) -> shapes.Facts:
    wanted = FactFilter(q=text.clean(asked.words), subject=text.one_line(asked.subject), chat=HERE)
    order = facts_search.order(wanted)
    if asked.after and not is_place(asked.after, order):
        raise Refused(_("“after” must be what the answer before gave as “next”, or be left out."))
    rows = facts_search.find(token.space, wanted, now=timezone.now())
    found = part(rows, order=order, after=asked.after, size=asked.limit)
    note(token, "facts", found=len(found.rows))
    return shapes.Facts(facts=[_fact(row, token.space) for row in found.rows], next=found.after)


def episodes(token: ApiToken, asked: shapes.Recent) -> shapes.Episodes:
    # What recall may find: nothing that was discarded, and nothing that a guard holds back.
    live = Unit.objects.filter(kind="episode", scope=shared(token.space_id), live=True)
    rows = rows_in(token.space, Episode).filter(chat=None, pk__in=live.values("owner_id"))
    found = list(rows.newest()[: asked.limit])
    note(token, "episodes", found=len(found))
    return shapes.Episodes(episodes=[_episode(row, token.space) for row in found])


def _memory(one: Scored, space: Space) -> shapes.Memory:
    unit = one.unit
    return shapes.Memory(
        kind=unit.kind,
        id=unit.owner_id,
        text=_cut(unit.text),
        # An episode has none of these.
        quote=_cut(unit.quote or ""),
        subject=unit.subject or "",
        said_by=unit.said_by or "",
        at=unit.at.astimezone(space.zone),
        score=round(one.score, 4),
        address=page(f"{unit.kind}s:detail", space, pk=unit.owner_id),
    )


def _fact(row: Fact, space: Space) -> shapes.Fact:
    same = ("text", "quote", "subject", "kind", "category", "confidence", "pinned", "said_by")
    return shapes.Fact(
        id=row.pk,
        at=row.last_seen_at.astimezone(space.zone),
        address=page("facts:detail", space, pk=row.pk),
        **{name: getattr(row, name) for name in same},
    )


def _episode(row: Episode, space: Space) -> shapes.Episode:
    return shapes.Episode(
        id=row.pk,
        title=row.title,
        text=_cut(row.body),
        tags=row.tags,
        participants=row.participants,
        started_at=row.started_at.astimezone(space.zone),
        ended_at=row.ended_at.astimezone(space.zone),
        address=page("episodes:detail", space, pk=row.pk),
    )


def _cut(said: str) -> str:
    return said if len(said) <= MAX_TEXT else f"{said[: MAX_TEXT - 1]}…"
