"""Words for what a memory is made of."""

import re
from html import escape

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
WROTE = {
    "tag": gettext_lazy("told"),
    "command": gettext_lazy("told"),
    "extraction": gettext_lazy("heard"),
    "night": gettext_lazy("night"),
    "person": gettext_lazy("by hand"),
    "import": gettext_lazy("import"),
    "bot": gettext_lazy("Keno"),
    "api": gettext_lazy("a program"),
}
# The rules that come along, and those that a night may propose; memory.identity and sleep.advice.
RULES = {
    "answer-first": gettext_lazy("Answer first"),
    "name-the-source": gettext_lazy("Name the source"),
    "remember-sparingly": gettext_lazy("Remember sparingly"),
    "their-language": gettext_lazy("In their language"),
    "no-secrets": gettext_lazy("No secrets"),
    "plain-about-doubt": gettext_lazy("Say when it is not certain"),
}
EPISODE = re.compile(r"episode \d+")
# How something was found without a language model.
MODES = {
    "heuristics": gettext_lazy("by heuristics, no model"),
    "listener": gettext_lazy("by listening, no model"),
}
# Why a night reads an episode first; the words of sleep.claims.
SALIENT = {
    "error": gettext_lazy("something failed"),
    "success": gettext_lazy("something was solved"),
    "correction": gettext_lazy("a correction"),
    "novelty": gettext_lazy("something new"),
    "about someone": gettext_lazy("about someone"),
    "decision": gettext_lazy("a decision"),
    "current goal": gettext_lazy("what is under way"),
    "positive feedback": gettext_lazy("praise"),
    "negative feedback": gettext_lazy("a complaint"),
    "curated": gettext_lazy("written down on purpose"),
}
AGAINST = {
    "value": gettext_lazy("another value"),
    "negation": gettext_lazy("says the opposite"),
    "number": gettext_lazy("another number"),
    "count": gettext_lazy("another number"),
    "role": gettext_lazy("another value"),
    "replaced": gettext_lazy("another value"),
    "ended": gettext_lazy("says that it is over"),
    "taste": gettext_lazy("hardly fits with it"),
    "diet": gettext_lazy("hardly fits with it"),
}
# How what was learned in a chat looks by now: class, icon, and words where nothing can be done.
LEARNED = {
    Fact.Status.ACTIVE: ("", "plus", ""),
    Fact.Status.QUARANTINED: (" aside", "shield", gettext_lazy("in quarantine")),
    Fact.Status.SUPERSEDED: (" undone", "undo", gettext_lazy("replaced since")),
}


@register.filter
def learned(fact: Fact) -> dict:
    tone, symbol, note = LEARNED.get(fact.status, (" undone", "undo", ""))
    return {"tone": tone, "icon": symbol, "note": note}


register.filter(about)


@register.filter
def after_subject(fact: Fact) -> SafeString:
    """Its words beside a column that names whom it is about: that name is not seen twice."""
    name, rest = fact.text[: len(fact.subject)], fact.text[len(fact.subject) :]
    if not fact.subject or fact.subject.casefold() != name.casefold() or rest[:1] != " ":
        return shown(fact.text)
    return format_html('<span class="vh">{}</span>{}', shown(name), shown(rest))


@register.filter
def names_subject(fact: Fact) -> bool:
    """Whether its words already say whom it is about."""
    return fact.subject.casefold() in fact.text.casefold()


@register.filter
def origin(fact: Fact) -> str:
    """Where it came from, in one word: what wrote it says more than where it was written."""
    kind = fact.written_by.partition(":")[0]
    if kind == "person" and fact.source in {Fact.Source.NIGHT, Fact.Source.IMPORT}:
        kind = fact.source  # a person agreed, and did not word it
    return str(WROTE.get(kind) or word(fact, "source"))


@register.filter
def habit(pattern: Pattern) -> str:
    """What it answers, as a sentence where the words of people tell it."""
    return habit_title(pattern.trigger, pattern.evidence)


@register.filter
def rule_name(slug: str) -> str:
    """The name of a rule, without the dashes of a machine."""
    return str(RULES.get(slug) or capfirst(re.sub(r"[-_]+", " ", slug)))


@register.filter
def sources(fact: Fact) -> str:
    """Where it was written and what wrote it, once when that is the same."""
    where, wrote = word(fact, "source"), origin(fact)
    return where if where.casefold() == wrote.casefold() else f"{where}, {wrote}"


@register.filter
def heard_from(fact: Fact) -> str:
    """Who said it; for what nobody said in a chat, where it came from."""
    return fact.said_by if fact.source == Fact.Source.MESSAGE and fact.said_by else origin(fact)


@register.filter
def found_by(mode: str) -> str:
    """What found it: the name of a model or a program, or that none was asked."""
    return str(MODES.get(mode) or mode.removeprefix("api:"))


@register.filter
def learned_from(pattern: Pattern) -> str:
    """Where a pattern came from: a night names the episode by its number, which says nothing."""
    if EPISODE.fullmatch(pattern.learned_from):
        return _("an episode")
    return _("a night") if pattern.learned_from == "night" else found_by(pattern.learned_from)


@register.filter
def salient(reasons: list[str]) -> str:
    """Why a night reads an episode first, in words."""
    return ", ".join(str(SALIENT.get(one, one)) for one in reasons)


@register.filter
def against(why: str) -> str:
    """Why two claims cannot both be true."""
    return str(AGAINST.get(why, why))


@register.filter
def flag_word(flag: str) -> str:
    """What a guard or a writer noted, as a sentence where there is one."""
    return _(REASONS[flag]) if flag in REASONS else flag


@register.filter
def feature(name: str) -> str:
    """What a part of a score looks at."""
    return str(FEATURES.get(name, name))


@register.filter
def coded(text: str) -> SafeString:
    """One line in which text between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # the last one opens and never closes
        parts[-2:] = ["`".join(parts[-2:])]
    pieces = [
        format_html("<code>{}</code>", shown(part)) if number % 2 else shown(part)
        for number, part in enumerate(parts)
    ]
    return format_html_join("", "{}", ((piece,) for piece in pieces))


@register.filter
def actor(by: str) -> str:
    """Who did it, without the mark of a person."""
    return actors.name(by)


@register.filter
def compact(value: float | None) -> str:
    """1.9 M, 148 k, 91."""
    for size, sign in ((1_000_000, "M"), (10_000, "k")):
        if value and value >= size:
            unit = 1_000_000 if sign == "M" else 1_000
            return f"{number(value / unit, 1 if value / unit < 10 else 0)} {sign}"
    return number(value)


@register.filter
def percent(share: float | None) -> str:
    return "–" if share is None else f"{number(100 * share)} %"


@register.filter
def drawn(pieces: list[Box]) -> SafeString:
    """By hand: a month has 150 of them."""
    shape = '<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="1"><title>{}</title></rect>'
    return mark_safe(
        "".join(
            shape.format(one.tone, one.x, one.y, one.width, one.height, escape(one.label))
            for one in pieces
        )
    )


@register.filter
def moon(steps: list) -> str:
    """The lit part of a moon of radius 10 that fills while the night goes on."""
    done = [1.0 if one.state == "done" else one.done / (one.of or 1) for one in steps]
    lit = sum(done) / (len(done) or 1)
    inner = f"{abs(1 - 2 * lit) * 10:.1f} 10 0 0 {int(lit > 0.5)}"
    return f"M12 2A10 10 0 0 1 12 22A{inner} 12 2Z"
