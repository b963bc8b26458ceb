"""Numbers and columns as the pages of care write them."""

from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe

from kenoweb.ui.charts import Piece
from kenoweb.ui.formatting import number

register = template.Library()


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
def drawn(pieces: list[Piece]) -> SafeString:
    """By hand: a month has 150 of them."""
    shape = '<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="1"><title>{}</title></rect>'
    return mark_safe(
        "".join(
            shape.format(one.tone, one.x, one.y, one.width, one.height, escape(one.said))
            for one in pieces
        )
    )
