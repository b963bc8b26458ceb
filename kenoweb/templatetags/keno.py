"""The small parts a page is made of."""

import datetime as dt
import re
from functools import lru_cache
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from kenoweb.ui import charts, history_thread, markdown
from kenoweb.ui.formatting import (
    HIDDEN,
    city,
    codepoint,
    dated,
    model_name,
    money,
    number,
    share,
    since,
    truncatechars,
    word,
)
from kenoweb.ui.responses import space_url
from kenoweb.ui.sources import Source
from memory.models import encryption
from memory.text.normalise import detect_language

register = template.Library()
for function in (truncatechars, word, number, money, model_name, city):
    register.filter(function)
register.filter("language_of", detect_language)


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, tone: str = "") -> SafeString:
    """One of static/icons.svg; decoration, so put the word beside it or in .vh."""
    return format_html(
        '<svg class="i{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        f" {tone}" if tone else "",
        static("icons.svg"),
        name,
    )


@register.simple_tag(takes_context=True, name="space_url")
def space_url_tag(context: template.Context, name: str, *args: object) -> str:
    """Return the URL of a page of the space that the request is about."""
    return space_url(name, context["request"].space, *args)


@register.simple_tag(takes_context=True)
def encrypted_note(context: template.Context) -> SafeString:
    """Say under a search field what it can find in an encrypted space; nothing in any other."""
    if not encryption.has_keys(context["request"].space.pk):
        return mark_safe("")
    said = _("This space is encrypted: words are looked for in the newest 20,000, as typed.")
    return format_html('<p class="pad meta">{}</p>', said)


@register.simple_tag
def panel_link(url: str, pk: int | None = None, query: str = "", **params: object) -> SafeString:
    """Return the attributes of a link that opens beside the list, or as a page without script."""
    there = url if pk is None else f"{url}{pk}/"
    if asked := "&".join(part for part in (urlencode(params), query) if part):
        there = f"{there}?{asked}"
    return format_html(
        'href="{0}" hx-get="{0}" hx-target="#panel" hx-select="#panel" hx-swap="outerHTML"'
        ' hx-push-url="true"',
        there,
    )


@register.simple_tag
def posts_to(url: str, *target: object) -> SafeString:
    """Return the attributes of a form that posts with htmx and without.

    The parts of `target` make one selector, whose element the answer replaces; without a target
    the page only hears the events of the answer.
    """
    swap = mark_safe('hx-swap="none"')
    if target:
        swap = format_html('hx-target="{}" hx-swap="outerHTML"', "".join(map(str, target)))
    return format_html(
        'method="post" action="{0}" hx-post="{0}" {1} hx-disabled-elt="find button"', url, swap
    )


@register.inclusion_tag("_post_button.html", takes_context=True)
def post_button(
    context: template.Context,
    url: str,
    label: str,
    *target: object,
    symbol: str = "",
    key: str = "",
    css: str = "btn sm",
    bare: bool = False,
    in_menu: bool = False,
    **hidden: object,
) -> dict:
    """One button that posts; `bare` shows only its icon, further arguments are hidden fields."""
    return {
        "attributes": posts_to(url, *target),
        "on_screen": context.get("on_screen", ""),
        "label": label,
        "symbol": symbol,
        "key": key,
        "css": css,
        "bare": bare,
        "in_menu": in_menu,
        "hidden": hidden,
    }


@register.simple_tag
def meter(value: float, number: bool = False) -> SafeString:
    """Draw confidence as a length, with the number in the title or beside it."""
    value = round(min(1.0, max(0.0, value)), 2)
    title, text = _("Confidence"), share(value)
    html = (
        f'<meter min="0" max="1" low=".4" high=".7" optimum="1" value="{value:.2f}"'
        f' title="{title} {text}">{text}</meter>'
    )
    return mark_safe(f'<span class="conf">{html} {text}</span>' if number else html)


@register.simple_tag
def options(choices, value: object = "", cut: int = 60) -> SafeString:
    """Return the options of a select from (value, label) pairs; the chosen one is selected."""
    chosen = str(value)
    return mark_safe("".join(_option(str(one), chosen, cut, label) for one, label in choices))


def _option(one: str, chosen: str, cut: int, label: object) -> str:
    # By hand, and escaped: a page has hundreds of them.
    mark = " selected" if one == chosen else ""
    return f'<option value="{escape(one)}"{mark}>{escape(truncatechars(label, cut))}</option>'


@register.simple_tag
def ago(when: dt.datetime | None, long: bool = False, now: dt.datetime | None = None) -> SafeString:
    """Time since then, with the full time in the title."""
    if when is None:
        return mark_safe('<span class="muted">–</span>')
    words = since(when, now=now or timezone.now(), long=long)
    local = timezone.localtime(when)
    # By hand: fifty times on a page, and nothing in it comes from a person.
    stamp = local.isoformat("T", "seconds")
    return mark_safe(f'<time datetime="{stamp}" title="{_full(local)}">{words}</time>')


@register.simple_tag
def clock(when: dt.datetime, titled: bool = False) -> SafeString:
    """Hour and minute; `titled` adds the full time as title."""
    local = timezone.localtime(when)
    title = f' title="{_full(local)}"' if titled else ""
    stamp = local.isoformat("T", "seconds")
    return mark_safe(f'<time datetime="{stamp}"{title}>{local:%H:%M}</time>')


def _full(local: dt.datetime) -> str:
    return dated(local.replace(second=0, microsecond=0, tzinfo=None), "DATETIME_FORMAT")


@register.simple_tag
def diff(before: str, after: str) -> SafeString:
    """Both texts in one line, with deletions and insertions marked."""
    return _pieces(history_thread.words(before, after), {"same", "del", "ins"})


@register.inclusion_tag("_pair.html")
def pair(before: str, after: str, lang: str = "") -> dict:
    """The framed change: the line before above the line after."""
    pieces = history_thread.words(before, after)
    return {
        "before": _pieces(pieces, {"same", "del"}) if before else "",
        "after": _pieces(pieces, {"same", "ins"}) if after else "",
        "lang": lang,
    }


def _pieces(pieces: list[history_thread.Piece], kinds: set[str]) -> SafeString:
    return format_html_join("", "{}", ((_piece(one),) for one in pieces if one.kind in kinds))


def _piece(piece: history_thread.Piece) -> SafeString:
    if piece.kind == "same":
        return shown(piece.text)
    return format_html("<{0}>{1}</{0}>", mark_safe(piece.kind), shown(piece.text))


@register.inclusion_tag("_quote.html")
def quote(text, mark="", lang="", by="", where="", url="", when=None) -> dict:
    """A person's words in their language; `mark` is the part that carried the claim."""
    before, found, after = text.partition(mark) if mark else (text, "", "")
    words = {"before": before, "found": found, "after": after, "lang": lang}
    return words | {"by": by, "where": where, "url": url, "when": when}


@register.inclusion_tag("_quote.html")
def quoted(source: Source) -> dict:
    """The same of words whose place is known."""
    return quote(**vars(source))


@register.filter
def shown(text: str) -> SafeString:
    """Escaped text in which hidden direction marks and tag characters are visible."""
    safe = conditional_escape(text)
    return mark_safe(HIDDEN.sub(_chip, safe))


def _chip(match: re.Match) -> str:
    title = _("hidden character")
    return format_html('<span class="hidden-mark" title="{}">{}</span>', title, codepoint(match[0]))


@register.filter(name="markdown")
def render_markdown(text: str) -> SafeString:
    return markdown.render(text or "")


@register.inclusion_tag("_bars.html")
def bars(points, label: str, width: int = 202, height: int = 34) -> dict:
    laid = charts.bars(points, width=width, height=height)
    return {"bars": laid, "label": label, "width": width, "height": height}


@register.inclusion_tag("_line.html")
def sparkline(values, label: str, width: int = 202, height: int = 34) -> dict:
    drawn = charts.line(values, width=width, height=height)
    return {"line": drawn, "label": label, "width": width, "height": height}


@register.inclusion_tag("_growth.html")
def growth(chart: charts.Growth | None, label: str) -> dict:
    return {"chart": chart, "label": label}


@register.inclusion_tag("_heat.html")
def heat(chart: charts.Heat, label: str) -> dict:
    return {"chart": chart, "label": label, "cells": mark_safe(_cells(chart))}


def _cells(chart: charts.Heat) -> str:
    # By hand: half a year of days stands on a page, and nothing of it comes from a person.
    tones = ["", *(f'class="h{level}" ' for level in range(1, 5))]
    return "".join(
        f'<rect {tones[cell.level]}x="{cell.x}" y="{cell.y}" width="{chart.side}"'
        f' height="{chart.side}" rx="2.5">'
        f"<title>{dated(cell.day, 'DATE_FORMAT')}: {cell.value}</title></rect>"
        for cell in chart.cells
    )


@register.inclusion_tag("_stacked.html")
def stacked(parts, label: str, total: float = 0, gate: float = 0) -> dict:
    """A whole and its parts; `gate` draws the limit as a line, on the scale of `total`."""
    whole = max(total, sum(value for _label, value in parts)) or 1
    drawn = charts.stacked(parts, total=total)
    return {"parts": drawn, "label": label, "gate": charts.n(1000 * gate / whole) if gate else ""}


@register.inclusion_tag("_score.html")
def score(parts, gate: float = 0) -> dict:
    """The parts of one score, (name, number) each, on a scale from 0 to 1; below `gate` nothing
    passes."""
    return {
        "parts": charts.score(parts),
        "label": ", ".join(f"{label} {share(value)}" for label, value in parts if value),
        "gate": charts.n(300 * gate) if gate else "",
    }
