"""The small parts a page is made of."""

import datetime as dt
import re
from functools import lru_cache

from django import template
from django.db.models import Model
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from kenoweb import charts, diffs, markdown
from kenoweb.hidden import HIDDEN, code
from kenoweb.places import address_of

register = template.Library()


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, tone: str = "") -> SafeString:
    """One of static/icons.svg; decoration, so the word stands beside it or in .vh."""
    return format_html(
        '<svg class="i{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        f" {tone}" if tone else "",
        static("icons.svg"),
        name,
    )


@register.simple_tag(takes_context=True)
def at(context: template.Context, name: str, *pks: int) -> SafeString:
    """The address of a row's page in this space: {% url %} where there are many of them."""
    return mark_safe(address_of(name, context["request"].space.slug, *pks))


@register.simple_tag
def meter(value: float, number: bool = False) -> SafeString:
    """Confidence: the length says it, the number stands in the title or beside it."""
    text = charts.meter(value)
    drawn = _meter(text, get_language())
    return format_html('<span class="conf">{} {}</span>', drawn, text) if number else drawn


@lru_cache(maxsize=512)
def _meter(text: str, _language: str | None) -> SafeString:
    scale = mark_safe('min="0" max="1" low=".4" high=".7" optimum="1"')
    return format_html(
        '<meter {} value="{}" title="{} {}">{}</meter>', scale, text, _("Confidence"), text, text
    )


@register.simple_tag
def options(choices, value: object = "", cut: int = 60) -> SafeString:
    """What a select offers, (value, label) each; the chosen one is marked."""
    chosen = str(value)
    return mark_safe("".join(_option(str(one), chosen, cut, label) for one, label in choices))


def _option(one: str, chosen: str, cut: int, label: object) -> str:
    # By hand, and escaped: hundreds of them stand on a page.
    mark = " selected" if one == chosen else ""
    return f'<option value="{escape(one)}"{mark}>{escape(truncatechars(label, cut))}</option>'


@register.filter
def truncatechars(text: object, most: int) -> str:
    """Django's own, which counts every sign, only where there is something to cut off."""
    text = str(text)
    return text if len(text) <= most else Truncator(text).chars(most)


@register.filter
def word(row: Model, name: str) -> str:
    """The label of a choice; get_…_display gathers all of them anew for every row."""
    return _word(type(row), name, getattr(row, name), get_language())


@lru_cache(maxsize=1024)
def _word(model: type[Model], name: str, value: str, _language: str | None) -> str:
    return str(dict(model._meta.get_field(name).flatchoices).get(value, value))


@register.filter
def number(value: float | None, decimals: int = 0) -> str:
    if value is None:
        return "–"
    # number_format cuts digits off; a reader expects them rounded.
    value = value if isinstance(value, str) else round(value, decimals)
    return _formatted(value, decimals, get_language())


@lru_cache(maxsize=4096)
def _formatted(value: float | str, decimals: int, _language: str | None) -> str:
    return number_format(value, decimals, use_l10n=True, force_grouping=True)


@register.filter
def money(value: float | None) -> str:
    """Dollars: two digits, and as many as a small amount needs to be more than nothing."""
    if value is None:
        return "–"
    size = abs(value)
    digits = 2 if size >= 0.1 or not size else 3 if size >= 0.01 else 4
    return f"${number(value, digits)}"


@register.simple_tag
def ago(when: dt.datetime | None, long: bool = False, now: dt.datetime | None = None) -> SafeString:
    """How long since, with the full time for those who want it."""
    if when is None:
        return mark_safe('<span class="muted">–</span>')
    words = since(when, now=now or timezone.now(), long=long)
    local = timezone.localtime(when)
    # By hand: fifty times on a page, and nothing in it comes from a person.
    stamp = local.isoformat("T", "seconds")
    return mark_safe(f'<time datetime="{stamp}" title="{_full(local)}">{words}</time>')


@register.simple_tag
def clock(when: dt.datetime, titled: bool = False) -> SafeString:
    """The hour and minute where the day stands above; `titled` says the whole of it."""
    local = timezone.localtime(when)
    title = f' title="{_full(local)}"' if titled else ""
    stamp = local.isoformat("T", "seconds")
    return mark_safe(f'<time datetime="{stamp}"{title}>{local:%H:%M}</time>')


def _full(local: dt.datetime) -> str:
    return _to_the_minute(local.replace(second=0, microsecond=0, tzinfo=None), get_language())


@lru_cache(maxsize=8192)
def _to_the_minute(minute: dt.datetime, _language: str | None) -> str:
    return date_format(minute, "DATETIME_FORMAT")


def dated(day: dt.date, shape: str) -> str:
    """date_format for lists and charts: it looks up the format and the language for every day."""
    return _dated(day, shape, get_language())


@lru_cache(maxsize=4096)
def _dated(day: dt.date, shape: str, _language: str | None) -> str:
    return date_format(day, shape)


def since(when: dt.datetime, *, now: dt.datetime, long: bool = False) -> str:
    """ "2 d" or "2 days ago"; the future is "now"."""
    seconds = max(0, int((now - when).total_seconds()))
    for size, short, phrase in _steps(get_language()):
        if seconds >= size:
            count = seconds // size
            return phrase(count) if long else f"{count} {short}"
    return _("just now") if long else _("now")


@lru_cache(maxsize=8)
def _steps(_language: str | None) -> list[tuple]:
    return [
        (31_556_952, _("y"), lambda n: ngettext("%d year ago", "%d years ago", n) % n),
        (2_629_746, _("mo"), lambda n: ngettext("%d month ago", "%d months ago", n) % n),
        (86_400, _("d"), lambda n: ngettext("%d day ago", "%d days ago", n) % n),
        (3_600, _("h"), lambda n: ngettext("%d hour ago", "%d hours ago", n) % n),
        (60, _("min"), lambda n: ngettext("%d minute ago", "%d minutes ago", n) % n),
    ]


@register.simple_tag
def diff(before: str, after: str) -> SafeString:
    """Both texts in one line, what left struck and what came marked."""
    return _pieces(diffs.words(before, after), {"same", "del", "ins"})


@register.inclusion_tag("_pair.html")
def pair(before: str, after: str, lang: str = "") -> dict:
    """The framed change: the line before above the line after."""
    pieces = diffs.words(before, after)
    return {
        "before": _pieces(pieces, {"same", "del"}) if before else "",
        "after": _pieces(pieces, {"same", "ins"}) if after else "",
        "lang": lang,
    }


def _pieces(pieces: list[diffs.Piece], kinds: set[str]) -> SafeString:
    return format_html_join("", "{}", ((_piece(one),) for one in pieces if one.kind in kinds))


def _piece(piece: diffs.Piece) -> SafeString:
    if piece.kind == "same":
        return shown(piece.text)
    return format_html("<{0}>{1}</{0}>", mark_safe(piece.kind), shown(piece.text))


@register.inclusion_tag("_quote.html")
def quote(text, mark="", lang="", by="", where="", url="", when=None) -> dict:
    """A person's words in their language; `mark` is the part that carried the claim."""
    before, found, after = text.partition(mark) if mark else (text, "", "")
    words = {"before": before, "found": found, "after": after, "lang": lang}
    return words | {"by": by, "where": where, "url": url, "when": when}


@register.filter
def shown(text: str) -> SafeString:
    """Escaped text in which hidden direction marks and tag characters are visible."""
    safe = conditional_escape(text)
    return mark_safe(HIDDEN.sub(_chip, safe))


def _chip(match: re.Match) -> str:
    title = _("hidden character")
    return format_html('<span class="hidden-mark" title="{}">{}</span>', title, code(match[0]))


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
def score(parts, gate: float = 0, top: float = 1, dot: float | None = None) -> dict:
    """The parts of one score, (name, number) each; below `gate` nothing passes.

    Where something else than the score must reach the gate, that is the `dot`, from 0 to 1.
    """
    said = ", ".join(f"{label} {value:.2f}" for label, value in parts if value)
    if dot is not None:
        said = f"{said}; {_('relevance')} {charts.meter(dot)}"
    scale = top if dot is None else 1
    return {
        "parts": charts.score(parts, top=top),
        "label": said,
        "gate": charts.n(300 * gate / scale) if gate else "",
        "dot": "" if dot is None else charts.n(min(297.0, max(3.0, 300 * dot))),
    }
