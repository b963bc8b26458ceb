"""Template filters that put the parts of a memory into words."""

import re
from html import escape

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kenoweb.templatetags.keno import shown
from kenoweb.ui.charts import Box
from kenoweb.ui.formatting import about, channel_name, number, one_line, share, word
from memory.guards.screening import REASONS
from memory.history import actors
from memory.models import Fact, Pattern
from memory.retrieval.features import FEATURES
from sleep.error_patterns import habit_title

register = template.Library()
register.filter(share)
register.filter(channel_name)
register.filter(one_line)
register.filter(about)
register.filter("actor", actors.name)
WROTE = {
    "tag": _("told"),
    "command": _("told"),
    "extraction": _("heard"),
    "night": _("night"),
    "person": _("by hand"),
    "import": _("import"),
    "bot": _("Keno"),
    "api": _("a program"),
}
# The built-in rules, and those that a night may propose; see memory.identity and sleep.advice.
RULES = {
    "answer-first": _("Answer first"),
    "name-the-source": _("Name the source"),
    "remember-sparingly": _("Remember sparingly"),
    "their-language": _("In their language"),
    "no-secrets": _("No secrets"),
    "plain-about-doubt": _("Say when it is not certain"),
}
EPISODE = re.compile(r"episode \d+")
CODE = re.compile(r"`([^`]*)`")
# How something was learned without a language model.
MODES = {
    "heuristics": _("by heuristics, no model"),
    "listener": _("by listening, no model"),
}
# Why a night reads an episode first; the words of sleep.claims.
SALIENT = {
    "error": _("something failed"),
    "success": _("something was solved"),
    "correction": _("a correction"),
    "novelty": _("something new"),
    "about someone": _("about someone"),
    "decision": _("a decision"),
    "current goal": _("what is under way"),
    "positive feedback": _("praise"),
    "negative feedback": _("a complaint"),
    "curated": _("written down on purpose"),
}
AGAINST = {
    "value": _("another value"),
    "negation": _("says the opposite"),
    "number": _("another number"),
    "count": _("another number"),
    "role": _("another value"),
    "replaced": _("another value"),
    "ended": _("says that it is over"),
    "taste": _("hardly fits with it"),
    "diet": _("hardly fits with it"),
}
# How a fact that was learned in a chat is shown: class, icon, and a note when it is not active.
LEARNED = {
    Fact.Status.ACTIVE: ("", "plus", ""),
    Fact.Status.QUARANTINED: (" aside", "shield", _("in quarantine")),
    Fact.Status.SUPERSEDED: (" undone", "undo", _("replaced since")),
}


@register.filter
def learned(fact: Fact) -> dict:
    tone, symbol, note = LEARNED.get(fact.status, (" undone", "undo", ""))
    return {"tone": tone, "icon": symbol, "note": note}


@register.filter
def after_subject(fact: Fact) -> SafeString:
    """Return the text with its leading subject hidden, for use beside a column of subjects."""
    name, rest = fact.text[: len(fact.subject)], fact.text[len(fact.subject) :]
    if not fact.subject or fact.subject.casefold() != name.casefold() or rest[:1] != " ":
        return shown(fact.text)
    return format_html('<span class="vh">{}</span>{}', shown(name), shown(rest))


@register.filter
def names_subject(fact: Fact) -> bool:
    return fact.subject.casefold() in fact.text.casefold()


@register.filter
def origin(fact: Fact) -> str:
    """Name the origin in one word: what wrote it says more than where it was written."""
    kind = fact.written_by.partition(":")[0]
    if kind == "person" and fact.source in {Fact.Source.NIGHT, Fact.Source.IMPORT}:
        kind = fact.source  # a person only agreed to it
    return str(WROTE.get(kind) or word(fact, "source"))


@register.filter
def habit(pattern: Pattern) -> str:
    return habit_title(pattern.trigger, pattern.evidence)


@register.filter
def rule_name(slug: str) -> str:
    return str(RULES.get(slug) or capfirst(re.sub(r"[-_]+", " ", slug)))


@register.filter
def sources(fact: Fact) -> str:
    """Say where it was written and what wrote it, once when that is the same."""
    where, wrote = word(fact, "source"), origin(fact)
    return where if where.casefold() == wrote.casefold() else f"{where}, {wrote}"


@register.filter
def heard_from(fact: Fact) -> str:
    """Name who said it in a chat; otherwise its origin."""
    return fact.said_by if fact.source == Fact.Source.MESSAGE and fact.said_by else origin(fact)


@register.filter
def found_by(mode: str) -> str:
    """Name the model or program that found it, or say that none was called."""
    return str(MODES.get(mode) or mode.removeprefix("api:"))


@register.filter
def learned_from(pattern: Pattern) -> str:
    """Name the origin of a pattern; the number of an episode says nothing to a reader."""
    if EPISODE.fullmatch(pattern.learned_from):
        return gettext("an episode")
    return gettext("a night") if pattern.learned_from == "night" else found_by(pattern.learned_from)


@register.filter
def salient(reasons: list[str]) -> str:
    """Say why a night reads an episode first."""
    return ", ".join(str(SALIENT.get(reason, reason)) for reason in reasons)


@register.filter
def against(why: str) -> str:
    return str(AGAINST.get(why, why))


@register.filter
def flag_word(flag: str) -> str:
    """Put what a guard or a writer noted into words."""
    return gettext(REASONS[flag]) if flag in REASONS else flag


@register.filter
def feature(name: str) -> str:
    return str(FEATURES.get(name, name))


@register.filter
def coded(text: str) -> SafeString:
    """Write one line in which text between backticks is code."""
    return mark_safe(CODE.sub(r"<code>\1</code>", shown(text)))


@register.filter
def compact(value: float | None) -> str:
    """Write 1.9 M, 148 k, 91."""
    for least, unit, suffix in ((1_000_000, 1_000_000, "M"), (10_000, 1_000, "k")):
        if value and value >= least:
            value /= unit
            return f"{number(value, 1 if value < 10 else 0)} {suffix}"
    return number(value)


@register.filter
def percent(share: float | None) -> str:
    return "–" if share is None else f"{number(100 * share)} %"


@register.filter
def drawn(boxes: list[Box]) -> SafeString:
    """Draw the boxes without a template: a month has 150 of them."""
    shape = '<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="1"><title>{}</title></rect>'
    html = [shape.format(b.tone, b.x, b.y, b.width, b.height, escape(b.label)) for b in boxes]
    return mark_safe("".join(html))


@register.filter
def moon(steps: list) -> str:
    """Return the path of the lit part of a moon of radius 10 that fills during a night."""
    done = [1.0 if step.state == "done" else step.done / (step.of or 1) for step in steps]
    lit = sum(done) / (len(done) or 1)
    inner = f"{abs(1 - 2 * lit) * 10:.1f} 10 0 0 {int(lit > 0.5)}"
    return f"M12 2A10 10 0 0 1 12 22A{inner} 12 2Z"
