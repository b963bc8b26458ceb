"""Template tags for the small parts of a page."""

import datetime as dt
import re
from functools import lru_cache
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import conditional_escape, escape, format_html
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
    """Draw one of static/icons.svg; it is decoration, so put the word beside it or in .vh."""
    return format_html(
        '<svg class="i{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        f" {tone}" if tone else "",
        static("icons.svg"),
        name,
    )


@register.simple_tag(takes_context=True, name="space_url")
def space_url_tag(context: template.Context, name: str, *args: object) -> str:
    return space_url(name, context["request"].space, *args)


@register.simple_tag(takes_context=True)
def encrypted_note(context: template.Context) -> SafeString:
    """Say under a search field what it can find in an encrypted space; nothing in any other."""
    if not encryption.has_keys(context["request"].space.pk):
        return mark_safe("")
    note = _("This space is encrypted: words are looked for in the newest 20,000, as typed.")
    return format_html('<p class="pad meta">{}</p>', note)


@register.simple_tag
def panel_link(url: str, pk: int | None = None, query: str = "", **params: object) -> SafeString:
    """Return the attributes of a link that opens beside the list, or as a page without script."""
    href = url if pk is None else f"{url}{pk}/"
    if query := "&".join(part for part in (urlencode(params), query) if part):
        href = f"{href}?{query}"
    return format_html(
        'href="{0}" hx-get="{0}" hx-target="#panel" hx-select="#panel" hx-swap="outerHTML"'
        ' hx-push-url="true"',
        href,
    )


@register.simple_tag
def posts_to(url: str, *target: object) -> SafeString:
    """Return the attributes of a form that posts with htmx and without.

    The parts of `target` make one selector, whose element the response replaces; without a target
    the page only gets the events of the response.
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
    """Draw a button that posts; `bare` shows only its icon, other arguments are hidden fields."""
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
    html = []
    for key, label in choices:
        # Without format_html, but escaped: a page has hundreds of them.
        mark = " selected" if str(key) == str(value) else ""
        text = escape(truncatechars(label, cut))
        html.append(f'<option value="{escape(str(key))}"{mark}>{text}</option>')
    return mark_safe("".join(html))


@register.simple_tag
def ago(when: dt.datetime | None, long: bool = False, now: dt.datetime | None = None) -> SafeString:
    """Write the time since then, with the full time in the title."""
    if when is None:
        return mark_safe('<span class="muted">–</span>')
    return _time(when, since(when, now=now or timezone.now(), long=long))


@register.simple_tag
def clock(when: dt.datetime, titled: bool = False) -> SafeString:
    """Write hour and minute; `titled` adds the full time as title."""
    return _time(when, f"{timezone.localtime(when):%H:%M}", titled=titled)


def _time(when: dt.datetime, text: str, *, titled: bool = True) -> SafeString:
    # Without format_html: fifty times on a page, and nothing in it comes from a person.
    local = timezone.localtime(when)
    stamp, minute = local.isoformat("T", "seconds"), local.replace(second=0, microsecond=0)
    full = dated(minute.replace(tzinfo=None), "DATETIME_FORMAT")
    title = f' title="{full}"' if titled else ""
    return mark_safe(f'<time datetime="{stamp}"{title}>{text}</time>')


@register.simple_tag
def diff(before: str, after: str) -> SafeString:
    """Write both texts in one line, with deletions and insertions marked."""
    return _pieces(history_thread.words(before, after), {"same", "del", "ins"})


@register.inclusion_tag("_pair.html")
def pair(before: str, after: str, lang: str = "") -> dict:
    """Draw a framed change: the line before above the line after."""
    pieces = history_thread.words(before, after)
    return {
        "before": _pieces(pieces, {"same", "del"}) if before else "",
        "after": _pieces(pieces, {"same", "ins"}) if after else "",
        "lang": lang,
    }


def _pieces(pieces: list[history_thread.Piece], kinds: set[str]) -> SafeString:
    html = []
    for piece in pieces:
        text, kind = shown(piece.text), piece.kind
        if kind in kinds:
            html.append(text if kind == "same" else format_html(f"<{kind}>{{}}</{kind}>", text))
    return mark_safe("".join(html))


@register.inclusion_tag("_quote.html")
def quote(text, mark="", lang="", by="", where="", url="", when=None) -> dict:
    """Draw a person's words in their language; `mark` is the quote in them."""
    before, marked, after = text.partition(mark) if mark else (text, "", "")
    words = {"before": before, "found": marked, "after": after, "lang": lang}
    return words | {"by": by, "where": where, "url": url, "when": when}


@register.inclusion_tag("_quote.html")
def quoted(source: Source) -> dict:
    return quote(**vars(source))


@register.filter
def shown(text: str) -> SafeString:
    """Escape the text, and make hidden direction marks and tag characters visible."""
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
    boxes = charts.bars(points, width=width, height=height)
    return {"bars": boxes, "label": label, "width": width, "height": height}


@register.inclusion_tag("_line.html")
def sparkline(values, label: str, width: int = 202, height: int = 34) -> dict:
    line = charts.line(values, width=width, height=height)
    return {"line": line, "label": label, "width": width, "height": height}


@register.inclusion_tag("_growth.html")
def growth(chart: charts.Growth | None, label: str) -> dict:
    return {"chart": chart, "label": label}


@register.inclusion_tag("_heat.html")
def heat(chart: charts.Heat, label: str) -> dict:
    # Without a template: it is half a year of days, and nothing of it comes from a person.
    tones = ["", *(f'class="h{level}" ' for level in range(1, 5))]
    cells = "".join(
        f'<rect {tones[cell.level]}x="{cell.x}" y="{cell.y}" width="{chart.side}"'
        f' height="{chart.side}" rx="2.5">'
        f"<title>{dated(cell.day, 'DATE_FORMAT')}: {cell.value}</title></rect>"
        for cell in chart.cells
    )
    return {"chart": chart, "label": label, "cells": mark_safe(cells)}


@register.inclusion_tag("_stacked.html")
def stacked(parts, label: str, total: float = 0, gate: float = 0) -> dict:
    """Draw a whole and its parts; `gate` is a limit, drawn as a line on the scale of `total`."""
    whole = max(total, sum(value for _label, value in parts)) or 1
    boxes = charts.stacked(parts, total=total)
    return {"parts": boxes, "label": label, "gate": charts.n(1000 * gate / whole) if gate else ""}


@register.inclusion_tag("_score.html")
def score(parts, gate: float = 0) -> dict:
    """Draw the parts of one score, (name, number) each, on a scale from 0 to 1, with the gate."""
    return {
        "parts": charts.score(parts),
        "label": ", ".join(f"{label} {share(value)}" for label, value in parts if value),
        "gate": charts.n(300 * gate) if gate else "",
    }
