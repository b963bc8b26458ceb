"""Keno about itself: why it said that, how much it knows, what it costs, what it can do."""

from datetime import timedelta

from django.utils.translation import get_language, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext as _

from bot.commands.registry import REGISTRY, CommandCall, command
from bot.outbox import page
from memory.llm import pricing
from memory.llm.choose import choose
from memory.operations import metrics
from memory.retrieval import receipts
from memory.text import normalise as text
from sleep import nights

SHOWN = 3


@command("why", "porque por-que", gettext_lazy("what my last answer rests on"))
def why(call: CommandCall) -> str:
    receipt = receipts.last(call.chat)
    if receipt is None:
        return _("No record of a recent response.")
    explained = receipts.explain(receipt)
    sources = _sources(explained, has_window=bool(receipt.sections.get("history")))
    link = f"{_('Full receipt:')} {page('recall:receipt', call.space.slug, receipt.pk)}"
    return "\n".join([sources, _search(explained), link])


@command("memory-status", "estado estado-memoria", gettext_lazy("how much I remember"))
def memory_status(call: CommandCall) -> str:
    counts = metrics.memory_counts(call.space, chat=call.chat, now=call.now)
    facts = {"active": _("active"), "quarantined": _("in quarantine")}
    notes = {"active": pgettext("notes", "active"), "stale": pgettext("notes", "stale")}
    rows = {
        _("Facts"): _parts(counts["facts"], **facts),
        _("Procedures"): counts["kinds"].get("procedure", 0),
        _("Episodes of this chat"): sum(counts["episodes"].values()),
        _("Patterns"): _parts(counts["patterns"], active=_("active")),
        _("Working notes"): _parts(counts["working"], **notes),
        _("Last sleep"): _night(nights.latest(call.space), now=call.now),
    }
    lines = [f"{name}: {value}" for name, value in rows.items()]
    return "\n".join([*lines, f"{_('More:')} {page('overview:index', call.space.slug)}"])


@command("cost", "coste costo", gettext_lazy("what language models cost so far"))
def cost(call: CommandCall) -> str:
    model = choose("chat", space=call.space)
    if model.provider == "offline":
        lines = [_("I answer without a language model; that costs nothing.")]
    else:
        lines = [_("I answer with %(model)s.") % {"model": model.model or model.provider}]
    names = {"day": _("Today"), "month": _("This month")}
    for budget in pricing.budgets(call.space, now=call.now):
        limit = _("of %(limit).2f") % {"limit": budget.limit} if budget.limit else _("no limit")
        lines.append(f"{names[budget.name]}: ${budget.spent:.2f} ({limit})")
    return "\n".join(lines)


@command("help", "ayuda start", gettext_lazy("this list"))
def help_(call: CommandCall) -> str:
    spanish = (get_language() or "").startswith("es")
    lines = [_("What you can send me besides talking:")]
    for row in REGISTRY:
        name = row.spanish[0] if spanish else row.name
        lines.append(f"/{name} {row.usage}".rstrip() + f" — {row.help}")
    return "\n".join(lines)


def age(passed: timedelta) -> str:
    """Return how long ago, in the largest whole unit: 5 seconds, 2 minutes, 1 hour, 3 days."""
    seconds = max(0, int(passed.total_seconds()))
    if seconds < 60:
        return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
    if seconds < 3600:
        return ngettext("%(n)d minute", "%(n)d minutes", seconds // 60) % {"n": seconds // 60}
    if seconds < 86400:
        return ngettext("%(n)d hour", "%(n)d hours", seconds // 3600) % {"n": seconds // 3600}
    return ngettext("%(n)d day", "%(n)d days", seconds // 86400) % {"n": seconds // 86400}


def _sources(explained: dict, *, has_window: bool) -> str:
    """Say what the answer repeats, else what it was given, else what was just said."""
    memories = explained["injected"]
    if used := [memory for memory in memories if memory["mark"] == "used"]:
        return _("I answered from: %(memories)s.") % {"memories": _quoted(used)}
    if memories:
        unused = _("I had this before me, but my answer does not repeat it: %(memories)s.")
        return unused % {"memories": _quoted(memories)}
    if has_window:
        return _("I used no memory for it, only what we said just before.")
    return _("I used no memory for it.")


def _quoted(memories: list[dict]) -> str:
    texts = [text.short(memory["text"].lstrip("-*• "), 100) for memory in memories[:SHOWN]]
    more = [_("%(n)d more") % {"n": len(memories) - SHOWN}] if len(memories) > SHOWN else []
    return ", ".join([*(f"“{words or _('(deleted since)')}”" for words in texts), *more])


def _search(explained: dict) -> str:
    """Say what was looked for, and how sure the recall was that it found it."""
    if any("list" in memory["lanes"] for memory in explained["injected"]):
        return _("It is a list of all I know about it.")
    sure = {
        "none": _("I found nothing"),
        "low": _("I was not sure of what I found"),
        "medium": _("I was fairly sure of what I found"),
        "high": _("I was sure of what I found"),
    }[explained["level"]]
    words = ", ".join(explained["keywords"])
    if not words:
        return f"{sure}."
    # "I" stays a capital.
    sure = sure if sure.startswith("I ") else sure[:1].lower() + sure[1:]
    return _("I looked for %(words)s; %(sure)s.") % {"words": words, "sure": sure}


def _parts(counts: dict, **names: str) -> str:
    return ", ".join(f"{counts.get(name, 0)} {word}" for name, word in names.items())


def _night(night, *, now) -> str:
    if night is None:
        return _("never yet")
    ended = night.ended_at or night.started_at
    when = _("%(age)s ago") % {"age": age(now - ended)} if ended else str(night.local_date)
    return f"{when} ({night.get_status_display().lower()})"
