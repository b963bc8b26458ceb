"""Rows of a long list: the template is drawn once for each shape, then only the words differ."""

import re
from html import escape

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

# Stands around the name of a word in what was drawn. A word itself may have it: it comes later.
MARK = "\ue000"
WORD = re.compile(f"{MARK}(\\w+){MARK}")


def row(
    request: HttpRequest, template: str, shape: dict, words: dict[str, object], **same
) -> SafeString:
    """The row as its template has it.

    `shape` is what the template decides by: of few values, and nothing that a person wrote.
    `words` it only prints; they are escaped here unless they are marked as safe. What is the
    `same` in every row of the page is neither.
    """
    drawn = vars(request).setdefault("drawn", {})
    key = (template, *shape.values())
    if key not in drawn:
        marked = {name: mark_safe(f"{MARK}{name}{MARK}") for name in words}
        drawn[key] = WORD.split(render_to_string(template, same | shape | marked, request))
    filled, safe = drawn[key].copy(), {name: _escaped(one) for name, one in words.items()}
    filled[1::2] = [safe[name] for name in filled[1::2]]
    return mark_safe("".join(filled))


def _escaped(word: object) -> str:
    # Django's conditional_escape looks for lazy words first, which doubles its time.
    return word.__html__() if hasattr(word, "__html__") else escape(str(word))


def attribute(name: str, value: object) -> SafeString:
    """One that is only there when it says something, with the space before it."""
    return mark_safe(f' {name}="{_escaped(value)}"' if value else "")
