"""What stands around every page and hardly differs from one to the next."""

from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.urls import get_script_prefix
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from kenoweb.shell import Link
from kenoweb.templatetags.keno import icon

register = template.Library()

MOST = 256
_kept: dict[tuple, str] = {}


@register.simple_tag
@lru_cache(maxsize=2048)
def rail_link(link: Link) -> SafeString:
    """One place of the rail; its label is in the language of the reader already."""
    shape = '<a href="{}" data-go="{}"{}>{}{}{}</a>'
    here = mark_safe(' aria-current="page"' if link.current else "")
    tone = " due" if link.due else ""
    count = format_html('<span class="n{}">{}</span>', tone, link.count) if link.count else ""
    return format_html(shape, link.url, link.key, here, icon(link.icon), link.label, count)


@register.simple_tag(takes_context=True)
def kept(context: template.Context, name: str) -> SafeString:
    """A part that only shows where one may go: drawn once for a space, a role and a language."""
    shell = context["shell"]
    slug = shell.space.slug if shell.space else ""
    key = (name, get_language(), get_script_prefix(), slug, shell.role)
    if key not in _kept:
        if len(_kept) >= MOST:
            _kept.clear()
        _kept[key] = render_to_string(name, {"shell": shell})
    return mark_safe(_kept[key])
