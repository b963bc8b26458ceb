"""A night as a pull request: its phases, every change as a line, its checks and its cost."""

from collections import defaultdict
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
# The sign and the tone of a line by its kind; any other is a change.
SIGNS = {
    **dict.fromkeys(("agreement", "curated", "lesson"), ("+", "add")),
    **dict.fromkeys(("stale note", "weak pattern", "old episodes"), ("−", "cut")),
}
CHANGED = ("~", "mod")
MAX_LINES = 1000
# Lines of each part of the story, and quotes of each proposal.
MAX_STORY_LINES = 12
MAX_QUOTES = 2
Steps = dict[str, list[history.Change]]
KINDS = {
    "agreement": gettext_lazy("episodes agree"),
    "curated": gettext_lazy("written down on purpose"),
    "stale note": gettext_lazy("old working note"),
    "weak pattern": gettext_lazy("weak pattern"),
    "old episodes": gettext_lazy("old episodes summarised"),
    "duplicate episodes": gettext_lazy("duplicate episodes merged"),
}
# The label of a changed row by its model, and its page.
ROWS = {
    "fact": (gettext_lazy("Fact"), "facts:detail"),
    "episode": (gettext_lazy("Episode"), "episodes:detail"),
    "pattern": (gettext_lazy("Pattern"), "patterns:detail"),
    "workingnote": (gettext_lazy("Working note"), ""),
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


def progress(space: Space, *, requested: bool = False) -> dict:
    """Return whether the space is asleep, how far its night is, and whether one waits to begin."""
    night = rows_in(space, Night).order_by("-local_date").first()
    context = progress_of(night, space)
    return context | {"asked": not context["asleep"] and requested and _is_queued(space)}


def progress_of(night: Night | None, space: Space, runs: list[PhaseRun] | None = None) -> dict:
    """Return the progress of a night, and phases, that were read already."""
    is_asleep = cycle.is_asleep(space)
    is_running = bool(is_asleep and night)
    if is_running and runs is None:
        runs = list(night.phases.filter(run=night.run))
    return {
        "asleep": is_asleep,
        "asked": False,
        "stopping": is_running and is_stopped(night),
        "night": night,
        "steps": steps(runs) if is_running else [],
    }


def steps(runs: list[PhaseRun]) -> list[Step]:
    by_name = {run.phase: run for run in runs}
    found = []
    for name, label in PHASES.items():
        title, run = str(label).capitalize(), by_name.get(name)
        if run is None:
            found.append(Step(title, "to come"))
            continue
        state = "done" if run.status == PhaseRun.Status.SUCCESS else "now"
        found.append(Step(title, state, run.cursor, len(run.plan)))
    return found


def _is_queued(space: Space) -> bool:
    return ProcrastinateJob.objects.filter(
        task_name="sleep.night", status__in=["todo", "doing"], args__space_id=space.pk
    ).exists()


def night_list(space: Space) -> QuerySet[Night]:
    """Return the nights with their numbers, each counted by itself: a join would multiply them."""
    proposals = Proposal.objects.filter(night=OuterRef("pk"))
    return (
        rows_in(space, Night)
        .annotate(
            applied=_count(NightChange.objects.filter(night=OuterRef("pk"), undone_at=None)),
            asked=_count(proposals),
            to_decide=_count(proposals.filter(status=Proposal.Status.PENDING)),
        )
        .order_by("-local_date")
    )


def _count(rows: QuerySet) -> Coalesce:
    numbers = rows.order_by().values("night").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(numbers), 0)


def trends(space: Space) -> list[tuple[str, str, list[float], float]]:
    """Return (name, meaning, values, latest) of each success metric over the last nights."""
    newest = rows_in(space, Reflection).order_by("-at").values_list("numbers", flat=True)
    rows = list(newest[:60])[::-1]
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
        (*words, [row.get(name, 0) for row in rows], rows[-1].get(name, 0))
        for name, words in labels.items()
    ]


def phases(night: Night) -> list[PhaseRun]:
    runs = list(night.phases.filter(run=night.run).order_by("position"))
    for run in runs:
        run.lines = [shown(line) for line in run.lines]
    return runs


def insights(night: Night) -> list[str]:
    """Return what the reflection found, in the reader's language."""
    reflection = getattr(night, "reflection", None)
    return [shown(line) for line in reflection.insights] if reflection else []


def name_of(run: PhaseRun) -> str:
    return str(PHASES.get(run.phase, run.phase)).capitalize()


def count_sentences(run: PhaseRun) -> list[str]:
    """Return what the phase counted, in words."""
    labels = COUNTS | ({"episodes": _("old episodes archived")} if run.phase == "pruning" else {})
    return [
        f"{capfirst(label)}: {number(run.counts[name])}"
        for name, label in labels.items()
        if run.counts.get(name)
    ]


def duration(runs: list[PhaseRun]) -> float:
    """Return the seconds from the start of the first phase to the end of the last."""
    began = min((run.started_at for run in runs), default=None)
    return max(((run.started_at - began).total_seconds() + run.seconds for run in runs), default=0)


def steps_of(changes: list[NightChange]) -> Steps:
    """Return what each change did to which rows, by its context."""
    by_context: Steps = defaultdict(list)
    for step in history.changes_in(*[change.context for change in changes]) if changes else []:
        by_context[str(step.context_id)].append(step)
    return by_context


def lines(space: Space, changes: list[NightChange], by_context: Steps) -> list[dict]:
    """Return the changes, each with the row it changed."""
    standing = [str(change.context) for change in changes if not change.undone_at]
    blocked = history.changed_since([step for key in standing for step in by_context.get(key, [])])
    found = []
    for change in changes:
        steps = by_context.get(str(change.context), [])
        # Changed since by somebody else: undoing the night leaves it.
        stays = any((step.model, step.object_id) in blocked for step in steps)
        first = steps[0] if steps else None
        found.append(_line(change) | (_row_of(space, first) if first else {}) | {"stays": stays})
    return found


def _line(change: NightChange) -> dict:
    sign, tone = SIGNS.get(change.kind, CHANGED)
    kind = str(KINDS.get(change.kind, change.kind))
    return {"change": change, "kind": kind, "sign": sign, "tone": tone}


def _row_of(space: Space, step: history.Change) -> dict:
    """Return which row was changed, and how it reads before and after."""
    name = step.model._meta.model_name
    label, page = ROWS.get(name, (name, ""))
    row = {
        "url": space_url(page, space, pk=step.object_id) if page else "",
        "label": f"{label} {step.object_id}",
    }
    if step.is_create:
        # A new fact is shown as it was created: with the words of the person.
        return row | ({"made": step.after} if step.model is Fact else {})
    if "confidence" in step.fields:
        row["sign"], row["tone"] = CHANGED
        row["before"], row["after"] = (share(value) for value in step.fields["confidence"])
    return row | {"wording": step.fields.get("text")}


def story(night: Night, runs: list[PhaseRun], rows: list[dict], questions: int) -> dict:
    """Return the night in one sentence, what it believed, and what else each phase did."""
    believed = [line for line in rows if line["change"].kind in BELIEVED_KINDS]
    others: dict[str, list[dict]] = defaultdict(list)
    for line in rows:
        if line["change"].kind not in BELIEVED_KINDS:
            others[line["change"].phase].append(line)
    return {
        "lead": _lead(night, runs, len(believed), questions),
        "believed": believed[:MAX_STORY_LINES],
        "phases": [
            (run, name_of(run), count_sentences(run), others[run.phase][:MAX_STORY_LINES])
            for run in runs
        ],
        "put_away": sum(line["tone"] == "cut" for line in rows),
        "goes": [line for line in rows if not (line["stays"] or line["change"].undone_at)],
        "stays": [line for line in rows if line["stays"]],
    }


def _lead(night: Night, runs: list[PhaseRun], believed: int, questions: int) -> SafeString:
    read = int(sum(run.counts.get("episodes", 0) for run in runs if run.phase == "consolidation"))
    read_text = ngettext("read %(n)s episode", "read %(n)s episodes", read)
    believed_text = ngettext("believed %(n)s thing", "believed %(n)s things", believed)
    asked_text = ngettext("asked you %(n)s thing", "asked you %(n)s things", questions)
    parts = {
        "read": _link(read, read_text, "?part=episodes") or _("read nothing new"),
        "believed": _link(believed, believed_text, "#believed") or _("believed nothing"),
        "asked": _link(questions, asked_text, "#asks") or _("asked you nothing"),
    }
    is_last = timezone.localdate() - night.local_date <= timedelta(days=1)
    sentence = (
        _("Last night I %(read)s, %(believed)s and %(asked)s.")
        if is_last
        else _("That night I %(read)s, %(believed)s and %(asked)s.")
    )
    return mark_safe(sentence % parts)  # the parts are escaped, the sentence is ours


def _link(count: int, text: str, url: str) -> str:
    return format_html('<a href="{}">{}</a>', url, text % {"n": number(count)}) if count else ""


def checks(changes: list[NightChange], by_context: Steps) -> list[dict]:
    """Look up what must hold after every night; changes that were undone do not count."""
    standing = [change for change in changes if not change.undone_at]
    steps = [step for change in standing for step in by_context.get(str(change.context), [])]
    created = [step.after for step in steps if step.model is Fact and step.is_create]
    changed = [step.before for step in steps if step.model is Fact and not step.is_create]
    quoted = sum(bool(fact["quote"]) for fact in created)
    pinned = sum(fact["pinned"] or fact["sticky"] for fact in changed)
    crossed = sum(
        fact["chat_id"] is None and any(item.get("chat") for item in fact["evidence"])
        for fact in created
    )
    core = sum(step.model is Identity for step in steps)
    total = len(created)
    found = [
        (_("Every new fact has a quote"), quoted == total, f"{quoted}/{total}"),
        (_("No pinned or hand-written fact changed"), not pinned, str(pinned)),
        (_("Nothing left its chat"), not crossed, str(crossed)),
        (_("Core identity unchanged"), not core, str(core)),
    ]
    return [{"label": label, "ok": ok, "told": text} for label, ok, text in found]


def fuses(night: Night, runs: list[PhaseRun]) -> list[dict]:
    """Return how close the night came to the loss fuse, per tier."""
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
        bar = {"label": label, "parts": [(label, taken)], "sentence": sentence, "top": top}
        found.append(bar | fuse.state(taken))
    return found


def calls(night: Night) -> dict:
    rows = rows_in(night.space, LlmCall).filter(night_id=night.pk)
    totals = rows.aggregate(
        cost=Sum("cost"), n=Count("pk"), tin=Sum("tokens_in"), out=Sum("tokens_out")
    )
    return totals | {"rows": list(rows.order_by("pk")[:200])}


def read_episodes(night: Night) -> list[Episode]:
    """Return the episodes that the night read, the most salient first."""
    run = night.phases.filter(run=night.run, phase="consolidation").first()
    ids = [pk for item in (run.plan if run else []) if "read" in item for pk in item["read"]]
    return list(
        rows_in(night.space, Episode).filter(pk__in=ids[:500]).order_by("-salience", "pk")[:200]
    )


def with_quotes(
    space: Space, proposals: list[Proposal]
) -> list[tuple[Proposal, list[sources.Source]]]:
    """Return the first proposals, each with some quotes that it rests on."""
    rows = [
        (proposal, [item for item in proposal.evidence[:MAX_QUOTES] if item.get("quote")])
        for proposal in proposals[:MAX_STORY_LINES]
    ]
    quotes = iter(sources.of_evidence(space, [item for _row, items in rows for item in items]))
    return [
        (proposal, [quote for quote in islice(quotes, len(items)) if quote.text])
        for proposal, items in rows
    ]


def neighbours(night: Night) -> tuple[Night | None, Night | None]:
    rows = rows_in(night.space, Night)
    before = rows.filter(local_date__lt=night.local_date).order_by("-local_date").first()
    return before, rows.filter(local_date__gt=night.local_date).order_by("local_date").first()
