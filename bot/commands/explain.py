"""Keno about itself: why it said that, how much it knows, what it costs, what it can do."""

from datetime import timedelta

from django.utils.formats import number_format
from django.utils.translation import get_language, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext as _

from bot.commands.asked import REGISTRY, CommandCall, command
from bot.outbox import page
from memory.llm import pricing
from memory.llm.choose import choose
from memory.operations import metrics
from memory.retrieval import receipts
from memory.retrieval.features import FEATURES
from memory.text import normalise as text
from sleep import nights

SHOWN = 6
# The parts of a score that say most are named first.
PARTS = 3


@command(
    "why",
    es="porque por-que",
    help=gettext_lazy("what my last answer rests on, with its scores"),
)
def why(call: CommandCall) -> str:
    receipt = receipts.last(call.chat)
    if receipt is None:
        return _("No record of a recent response.")
    told = receipts.explain(receipt)
    lines = [
        _("You asked: %(query)s") % {"query": text.short(told["query"], 160)},
        *_sources(told),
        # Or what follows would be read as part of the list.
        "",
        *_reasoning(told),
        _ago(call.now - receipt.at),
        f"{_('All of it:')} {page('recall:receipt', call.space.slug, receipt.pk)}",
    ]
    return "\n".join(lines)


@command(
    "memory-status",
    es="estado estado-memoria",
    help=gettext_lazy("how much I remember"),
)
def memory_status(call: CommandCall) -> str:
    counts = metrics.memory_counts(call.space, chat=call.chat, now=call.now)
    facts, working = counts["facts"], counts["working"]
    night = nights.latest(call.space)
    rows = [
        (_("Facts"), _parts(facts, active=_("active"), quarantined=_("in quarantine"))),
        (_("Procedures"), str(counts["kinds"].get("procedure", 0))),
        (_("Episodes of this chat"), str(sum(counts["episodes"].values()))),
        (_("Patterns"), _parts(counts["patterns"], active=_("active"))),
        (
            _("Working notes"),
            _parts(working, active=pgettext("notes", "active"), stale=pgettext("notes", "stale")),
        ),
        (_("Last sleep"), _night(night, now=call.now)),
    ]
    lines = [f"{name}: {value}" for name, value in rows]
    return "\n".join([*lines, f"{_('More:')} {page('overview:index', call.space.slug)}"])


@command("cost", es="coste costo", help=gettext_lazy("what language models cost so far"))
def cost(call: CommandCall) -> str:
    model = choose("chat", space=call.space)
    if model.provider == "offline":
        lines = [_("I answer without a language model; that costs nothing.")]
    else:
        lines = [_("I answer with %(model)s.") % {"model": model.model or model.provider}]
    names = {"day": _("Today"), "month": _("This month")}
    for one in pricing.budgets(call.space, now=call.now):
        limit = _("of %(limit).2f") % {"limit": one.limit} if one.limit else _("no limit")
        lines.append(f"{names[one.name]}: ${one.spent:.2f} ({limit})")
    return "\n".join(lines)


@command("help", es="ayuda start", help=gettext_lazy("this list"))
def help_(call: CommandCall) -> str:
    spanish = (get_language() or "").startswith("es")
    lines = [_("What you can send me besides talking:")]
    for one in REGISTRY.all:
        name = one.spanish[0] if spanish else one.name
        lines.append(f"/{name} {one.usage}".rstrip() + f" — {one.help}")
    return "\n".join(lines)


def _ago(passed: timedelta) -> str:
    if passed < timedelta(seconds=5):
        return _("That was just now.")
    return _("That was %(age)s ago.") % {"age": age(passed)}


def age(passed: timedelta) -> str:
    """How long ago, in the largest whole unit: 5 seconds, 2 minutes, 1 hour, 3 days."""
    seconds = max(0, int(passed.total_seconds()))
    if seconds < 60:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    if seconds < 3600:
        return ngettext("%(n)d minute", "%(n)d minutes", seconds // 60) % {"n": seconds // 60}
    if seconds < 86400:
        return ngettext("%(n)d hour", "%(n)d hours", seconds // 3600) % {"n": seconds // 3600}
    return ngettext("%(n)d day", "%(n)d days", seconds // 86400) % {"n": seconds // 86400}


def _sources(told: dict) -> list[str]:
    used = told["injected"]
    if not used:
        return [_("I used no memory for it.")]
    lines = [_("Memory I used:")]
    for one in used[:SHOWN]:
        words = text.short(one["text"].lstrip("-*• "), 140) or _("(deleted since)")
        score = number_format(one["score"], 2)
        lines.append(f"{one['rank']}. {words} — {_kind(one)}, {score} ({_why(one)})")
    if len(used) > SHOWN:
        lines.append(_("… and %(n)d more.") % {"n": len(used) - SHOWN})
    return lines


def _reasoning(told: dict) -> list[str]:
    levels = {"none": _("none"), "low": _("low"), "medium": _("medium"), "high": _("high")}
    words = ", ".join([*told["keywords"], *told["expansion"]])
    sure = _("Confidence: %(level)s (%(n).2f).") % {
        "level": levels[told["level"]],
        "n": told["confidence"],
    }
    return [sure, *([_("I searched for: %(words)s.") % {"words": words}] if words else [])]


def _kind(one: dict) -> str:
    kinds = {
        "fact": _("fact"),
        "episode": _("episode"),
        "message": _("message"),
        "pattern": _("pattern"),
    }
    return f"{kinds.get(one['kind'], one['kind'])} #{one['id']}"


def _why(one: dict) -> str:
    most = sorted(one["parts"], key=lambda part: -abs(part["points"]))[:PARTS]
    named = ((FEATURES.get(part["name"], part["name"]), part["points"]) for part in most)
    return ", ".join(f"{name} {_signed(points)}" for name, points in named if points)


def _signed(points: float) -> str:
    return ("+" if points > 0 else "") + number_format(points, 2)


def _parts(counts: dict, **names: str) -> str:
    return ", ".join(f"{counts.get(name, 0)} {word}" for name, word in names.items())


def _night(night, *, now) -> str:
    if night is None:
        return _("never yet")
    ended = night.ended_at or night.started_at
    when = _("%(age)s ago") % {"age": age(now - ended)} if ended else str(night.local_date)
    return f"{when} ({night.get_status_display().lower()})"
