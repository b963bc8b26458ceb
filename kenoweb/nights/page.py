"""A night as a pull request: its phases, every change as a line, its checks and its cost."""

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from procrastinate.contrib.django.models import ProcrastinateJob

from kenoweb.auth.access import rows_in
from kenoweb.ui import sources
from kenoweb.ui.formatting import number, share
from kenoweb.ui.responses import space_url
from memory.history import changes as history
from memory.models import Episode, Fact, Identity, LlmCall, Pattern, Space
from sleep import cycle
from sleep.models import Night, NightChange, PhaseRun, Proposal, Reflection, shown
from sleep.nights import BELIEVED_KINDS, is_stopped
from sleep.phase import Fuse

PHASES = {
    "consolidation": gettext_lazy("consolidation"),
    "errors": gettext_lazy("errors"),
    "pruning": gettext_lazy("pruning"),
    "improvement": gettext_lazy("improvement"),
    "reflection": gettext_lazy("reflection"),
}
ADDED, CUT = {"agreement", "curated", "lesson"}, {"stale note", "weak pattern", "old episodes"}
LINES = 1000
# Lines of a story before it says "and so many more".
TOLD, PIECES = 12, 2
Steps = dict[str, list[history.Change]]
KINDS = {
    "agreement": gettext_lazy("episodes agree"),
    "curated": gettext_lazy("written down on purpose"),
    "stale note": gettext_lazy("old working note"),
    "weak pattern": gettext_lazy("weak pattern"),
    "old episodes": gettext_lazy("old episodes summarised"),
    "duplicate episodes": gettext_lazy("duplicate episodes merged"),
}
ROWS = {
    "fact": gettext_lazy("Fact"),
    "episode": gettext_lazy("Episode"),
    "pattern": gettext_lazy("Pattern"),
    "workingnote": gettext_lazy("Working note"),
}
# What a phase counts, in words; what is not named here is bookkeeping.
COUNTS = {
    "questions": gettext_lazy("questions for the model"),
    "episodes": gettext_lazy("episodes read"),
    "claims": gettext_lazy("claims"),
    "offers": gettext_lazy("offers of chats"),
    "kept_out": gettext_lazy("lines kept out by the guards"),
    "facts_new": gettext_lazy("facts learned"),
    "facts_confirmed": gettext_lazy("facts confirmed"),
    "facts_proposed": gettext_lazy("facts proposed"),
    "patterns_proposed": gettext_lazy("patterns proposed"),
    "procedures": gettext_lazy("procedures proposed"),
    "promotions_proposed": gettext_lazy("promotions proposed"),
    "contradictions": gettext_lazy("contradictions"),
    "said_once": gettext_lazy("said only once"),
    "errors": gettext_lazy("errors"),
    "internal": gettext_lazy("of them Keno's own"),
    "external": gettext_lazy("of them from outside"),
    "lessons": gettext_lazy("lessons proposed"),
    "failed_calls": gettext_lazy("failed calls"),
    "notes": gettext_lazy("stale notes archived"),
    "patterns": gettext_lazy("weak patterns archived"),
    "merges_proposed": gettext_lazy("merges proposed"),
    "episodes_merged": gettext_lazy("duplicate episodes merged"),
    "fuse_blown": gettext_lazy("times the fuse stopped it"),
    "facts_deleted": gettext_lazy("facts deleted from the trash"),
    "episodes_deleted": gettext_lazy("episodes deleted from the trash"),
    "receipts_deleted": gettext_lazy("receipts past their days"),
    "calls_deleted": gettext_lazy("calls past their days"),
    "notices_deleted": gettext_lazy("notices past their days"),
    "sent_deleted": gettext_lazy("sent messages past their days"),
    "kept_apart": gettext_lazy("similar items the model kept apart"),
    "suggestions": gettext_lazy("suggestions"),
    "expired": gettext_lazy("proposals expired"),
    "insights": gettext_lazy("insights"),
}


@dataclass(frozen=True)
class Step:
    """One phase of a night under way."""

    name: str
    state: str  # "done", "now" or "to come"
    done: int = 0
    of: int = 0


def progress(space: Space, *, asked: bool = False) -> dict:
    """Whether the space is asleep, and how far its night has come; `asked`: it soon will be."""
    night = rows_in(space, Night).order_by("-local_date").first()
    found = progress_of(night, space)
    return found | {"asked": not found["asleep"] and asked and _is_queued(space)}


def progress_of(night: Night | None, space: Space, runs: list[PhaseRun] | None = None) -> dict:
    """The same of a night, and phases, that were read already."""
    running, found = cycle.is_asleep(space), []
    if running and night:
        found = steps(list(night.phases.filter(run=night.run)) if runs is None else runs)
    stopping = bool(running and night and is_stopped(night))
    told = {"asleep": running, "asked": False, "stopping": stopping}
    return told | {"night": night, "steps": found}


def steps(runs: list[PhaseRun]) -> list[Step]:
    by_name = {run.phase: run for run in runs}
    return [_step(name, by_name.get(name)) for name in PHASES]


def _step(name: str, run: PhaseRun | None) -> Step:
    title = str(PHASES[name]).capitalize()
    if run is None:
        return Step(title, "to come")
    state = "done" if run.status == PhaseRun.Status.SUCCESS else "now"
    return Step(title, state, run.cursor, len(run.plan))


def _is_queued(space: Space) -> bool:
    return ProcrastinateJob.objects.filter(
        task_name="sleep.night", status__in=["todo", "doing"], args__space_id=space.pk
    ).exists()


@dataclass(frozen=True)
class Check:
    label: str
    ok: bool
    told: str


@dataclass
class Line:
    """A change the night applied: what, on which row, and how it reads now."""

    change: NightChange
    kind: str
    sign: str
    tone: str
    url: str
    label: str
    before: str
    after: str
    # Its words before and after, where the night changed them.
    wording: tuple[str, str] | None = None
    # The fact it made, as it was made: with the words of the person.
    made: dict | None = None
    # Changed since by somebody else: undoing the night leaves it.
    stays: bool = False


def listed(space: Space) -> QuerySet[Night]:
    """The nights with their numbers, each counted by itself: joined, they would multiply."""
    asked = Proposal.objects.filter(night=OuterRef("pk"))
    return (
        rows_in(space, Night)
        .annotate(
            applied=_number(NightChange.objects.filter(night=OuterRef("pk"), undone_at=None)),
            asked=_number(asked),
            to_decide=_number(asked.filter(status=Proposal.Status.PENDING)),
        )
        .order_by("-local_date")
    )


def _number(rows: QuerySet) -> Coalesce:
    counted = rows.order_by().values("night").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)


def trends(space: Space) -> list[tuple[str, str, list[float], float]]:
    """(name, meaning, values, latest) of each success metric, of the nights that measured it."""
    rows = list(rows_in(space, Reflection).order_by("-at").values_list("numbers", flat=True)[:60])
    rows.reverse()
    if len(rows) < 2:
        return []
    labels = {
        "learning_rate": (_("Learning rate"), _("facts learned per episode read")),
        "consolidation_yield": (_("Consolidation yield"), _("findings per episode read")),
        "error_repeat_rate": (_("Errors repeated"), _("share of errors that came back")),
        "filler_rate": (_("Filler"), _("share of replies with empty phrases")),
        "voice_consistency": (_("Voice consistency"), _("1 is the same tone throughout")),
    }
    return [
        (*said, [row.get(name, 0) for row in rows], rows[-1].get(name, 0))
        for name, said in labels.items()
    ]


def phases(night: Night) -> list[PhaseRun]:
    runs = list(night.phases.filter(run=night.run).order_by("position"))
    for run in runs:
        run.lines = [shown(line) for line in run.lines]
    return runs


def insights(night: Night) -> list[str]:
    """What the reflection says, in the reader's language."""
    reflection = getattr(night, "reflection", None)
    return [shown(line) for line in reflection.insights] if reflection else []


def name_of(run: PhaseRun) -> str:
    return str(PHASES.get(run.phase, run.phase)).capitalize()


def told(run: PhaseRun) -> list[str]:
    """What the phase counted, in words and in its own order."""
    named = COUNTS | ({"episodes": _("old episodes archived")} if run.phase == "pruning" else {})
    return [
        f"{capfirst(label)}: {number(run.counts[name])}"
        for name, label in named.items()
        if run.counts.get(name)
    ]


def took(runs: list[PhaseRun]) -> float:
    """Seconds from the first phase's start to the last one's end."""
    began = min((run.started_at for run in runs), default=None)
    return max(((run.started_at - began).total_seconds() + run.seconds for run in runs), default=0)


def steps_of(changes: list[NightChange]) -> Steps:
    """What each change did to which rows, by its context."""
    found = history.changes_in(*[change.context for change in changes]) if changes else []
    by_context: Steps = {}
    for step in found:
        by_context.setdefault(str(step.context_id), []).append(step)
    return by_context


def lines(space: Space, changes: list[NightChange], steps: Steps) -> list[Line]:
    """The changes, each with the row it changed."""
    standing = [str(one.context) for one in changes if not one.undone_at]
    blocked = history.changed_since([step for key in standing for step in steps.get(key, [])])
    found = []
    for one in changes:
        own = steps.get(str(one.context), [])
        line = _line(space, one, own)
        line.stays = any((step.model, step.object_id) in blocked for step in own)
        found.append(line)
    return found


def _line(space: Space, change: NightChange, steps: list[history.Change]) -> Line:
    first = steps[0] if steps else None
    sign, tone = (
        ("+", "add")
        if change.kind in ADDED
        else ("−", "cut")
        if change.kind in CUT
        else ("~", "mod")
    )
    before, after = "", ""
    if first and not first.is_create and "confidence" in first.fields:
        sign, tone = "~", "mod"
        before, after = (share(value) for value in first.fields["confidence"])
    name = first.model._meta.model_name if first else ""
    page = {"fact": "facts:detail", "episode": "episodes:detail", "pattern": "patterns:detail"}.get(
        name
    )
    url = space_url(page, space, pk=first.object_id) if page else ""
    label = f"{ROWS.get(name, name)} {first.object_id}" if first else ""
    kind = str(KINDS.get(change.kind, change.kind))
    line = Line(change, kind, sign, tone, url, label, before, after)
    if first and not first.is_create:
        line.wording = first.fields.get("text")
    elif first and first.model is Fact:
        line.made = first.after
    return line


def story(night: Night, runs: list[PhaseRun], found: list[Line], asked: int) -> dict:
    """The night in one sentence, what it believed, and phase by phase what else it did."""
    believed = [line for line in found if line.change.kind in BELIEVED_KINDS]
    others: dict[str, list[Line]] = {}
    for line in found:
        if line not in believed:
            others.setdefault(line.change.phase, []).append(line)
    return {
        "lead": _lead(night, runs, len(believed), asked),
        "believed": believed[:TOLD],
        "phases": [
            (run, name_of(run), told(run), others.get(run.phase, [])[:TOLD]) for run in runs
        ],
        "put_away": sum(line.tone == "cut" for line in found),
        "goes": [line for line in found if not (line.stays or line.change.undone_at)],
        "stays": [line for line in found if line.stays],
    }


def _lead(night: Night, runs: list[PhaseRun], believed: int, asked: int) -> SafeString:
    read = int(sum(run.counts.get("episodes", 0) for run in runs if run.phase == "consolidation"))
    heard = ngettext("read %(n)s episode", "read %(n)s episodes", read)
    took_in = ngettext("believed %(n)s thing", "believed %(n)s things", believed)
    question = ngettext("asked you %(n)s thing", "asked you %(n)s things", asked)
    parts = {
        "read": _part(read, heard, "?part=episodes") or _("read nothing new"),
        "believed": _part(believed, took_in, "#believed") or _("believed nothing"),
        "asked": _part(asked, question, "#asks") or _("asked you nothing"),
    }
    is_last = timezone.localdate() - night.local_date <= timedelta(days=1)
    sentence = (
        _("Last night I %(read)s, %(believed)s and %(asked)s.")
        if is_last
        else _("That night I %(read)s, %(believed)s and %(asked)s.")
    )
    return mark_safe(sentence % parts)  # the parts are escaped, the sentence is ours


def _part(count: int, words: str, url: str) -> str:
    said = words % {"n": number(count)}
    return format_html('<a href="{}">{}</a>', url, said) if count else ""


def checks(changes: list[NightChange], by_context: Steps) -> list[Check]:
    """What must hold after every night, looked up and not assumed; what was undone is gone."""
    standing = [one for one in changes if not one.undone_at]
    steps = [step for one in standing for step in by_context.get(str(one.context), [])]
    made = [step.after for step in steps if step.model is Fact and step.is_create]
    quoted = sum(bool(one["quote"]) for one in made)
    touched = [step for step in steps if step.model is Fact and not step.is_create]
    pinned = sum(step.before["pinned"] or step.before["sticky"] for step in touched)
    crossed = sum(one["chat_id"] is None and _private(one["evidence"]) for one in made)
    core = sum(step.model is Identity for step in steps)
    return [
        Check(_("Every new fact has a quote"), quoted == len(made), f"{quoted}/{len(made)}"),
        Check(_("No pinned or hand-written fact changed"), not pinned, str(pinned)),
        Check(_("Nothing left its chat"), not crossed, str(crossed)),
        Check(_("Core identity unchanged"), not core, str(core)),
    ]


def _private(evidence: list[dict]) -> bool:
    return any(item.get("chat") for item in evidence)


def fuses(night: Night, runs: list[PhaseRun]) -> list[dict]:
    """How close the night came to the loss fuse, per tier."""
    counts = next((run.counts for run in runs if run.phase == "pruning"), {})
    tiers = (
        (_("Episodes"), "episodes", rows_in(night.space, Episode).count()),
        (_("Patterns"), "patterns", rows_in(night.space, Pattern).filter(status="active").count()),
    )
    found = []
    for label, name, total in tiers:
        taken = int(counts.get(name, 0))
        fuse = Fuse(name, total + (taken if name == "patterns" else 0))
        sentence = _("%(taken)s of %(total)s archived, limit %(limit)s") % fuse.state(taken)
        top = max(fuse.total, fuse.limit, 1)
        shown = {"label": label, "parts": [(label, taken)], "sentence": sentence, "top": top}
        found.append(shown | fuse.state(taken))
    return found


def calls(night: Night) -> dict:
    rows = rows_in(night.space, LlmCall).filter(night_id=night.pk)
    totals = rows.aggregate(
        cost=Sum("cost"), n=Count("pk"), tin=Sum("tokens_in"), out=Sum("tokens_out")
    )
    return totals | {"rows": list(rows.order_by("pk")[:200])}


def read_episodes(night: Night) -> list[Episode]:
    """What the night read, the most salient first."""
    run = night.phases.filter(run=night.run, phase="consolidation").first()
    ids = [pk for item in (run.plan if run else []) if "read" in item for pk in item["read"]]
    return list(
        rows_in(night.space, Episode).filter(pk__in=ids[:500]).order_by("-salience", "pk")[:200]
    )


def with_words(
    space: Space, proposals: list[Proposal]
) -> list[tuple[Proposal, list[sources.Source]]]:
    """The first proposals, each with two pieces of what it rests on."""
    told = [(one, _quoted(one)) for one in proposals[:TOLD]]
    said = iter(sources.of_evidence(space, [piece for _one, pieces in told for piece in pieces]))
    return [
        (one, [part for part in islice(said, len(pieces)) if part.text]) for one, pieces in told
    ]


def _quoted(proposal: Proposal) -> list[dict]:
    return [piece for piece in proposal.evidence[:PIECES] if piece.get("quote")]


def neighbours(night: Night) -> tuple[Night | None, Night | None]:
    rows = rows_in(night.space, Night)
    before = rows.filter(local_date__lt=night.local_date).order_by("-local_date").first()
    return before, rows.filter(local_date__gt=night.local_date).order_by("local_date").first()
