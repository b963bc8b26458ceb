"""What waits for a person. An agent learns that it waits and what it is called, and no more:
there is no tool that decides."""

from collections.abc import Iterable

from kenoweb.api.mcp import shapes
from kenoweb.api.mcp.caller import note, page
from kenoweb.auth.access import rows_in
from memory.models import ApiToken, Episode, Fact, Pattern, Space
from sleep.models import Proposal
from sleep.proposals import SUSPICIOUS

ROWS = {"fact": Fact, "episode": Episode, "pattern": Pattern}
NOT_FOR_ALL = {SUSPICIOUS, "leaves its chat"}


def waiting(token: ApiToken, asked: shapes.Recent) -> shapes.Waiting:
    space = token.space
    rows = rows_in(space, Proposal).filter(status=Proposal.Status.PENDING)
    count, found = rows.count(), list(rows.order_by("created_at", "pk")[: asked.limit])
    known = _shared(space, (one for row in found for one in _speaks_of(row)))
    note(token, "waiting", found=count)
    return shapes.Waiting(
        count=count,
        proposals=[
            shapes.Proposal(
                kind=row.kind,
                title=row.title if _for_all(row, known) else None,
                since=row.created_at.astimezone(space.zone),
                address=page("proposals:detail", space, pk=row.pk),
            )
            for row in found
        ],
        address=page("proposals:index", space),
    )


def _for_all(row: Proposal, known: set[tuple[str, int]]) -> bool:
    """Whether its title comes only from what the whole space may see, and from no attack."""
    if NOT_FOR_ALL.intersection(row.flags) or row.after.get("chat"):
        return False
    if any(one.get("chat") or one.get("message") for one in row.evidence):
        return False
    return set(_speaks_of(row)) <= known


def _speaks_of(row: Proposal) -> list[tuple[str, int]]:
    aims = [(one["type"], one["id"]) for one in row.targets if one["type"] in ROWS]
    return aims + [(kind, one[kind]) for one in row.evidence for kind in ROWS if one.get(kind)]


def _shared(space: Space, named: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Those of the rows that the whole space may see; one query a kind."""
    wanted: dict[str, set[int]] = {}
    for kind, pk in named:
        wanted.setdefault(kind, set()).add(pk)
    return {
        (kind, pk)
        for kind, pks in wanted.items()
        for pk in rows_in(space, ROWS[kind])
        .filter(chat=None, pk__in=pks)
        .values_list("pk", flat=True)
    }
