"""Fields that several forms share."""

from django import forms

from memory.text import normalise as text


class OneLine(forms.CharField):
    """A short name: one line, without what cannot be seen or stored."""

    def to_python(self, value):
        return super().to_python(text.one_line(text.clean(value or "")))
