"""What a person may say about a working note."""

from django import forms
from django.utils.translation import gettext_lazy as _

from kenoweb.forms import OneLine


class Lines(forms.CharField):
    """One thing a line."""

    widget = forms.Textarea(attrs={"rows": 4})

    def to_python(self, value):
        return [line for part in super().to_python(value).splitlines() if (line := part.strip())]

    def prepare_value(self, value):
        return "\n".join(value) if isinstance(value, list) else value


class NoteForm(forms.Form):
    task = OneLine(label=_("Task"), max_length=400, required=False)
    context = Lines(
        label=_("What to know for it"), max_length=8000, required=False, help_text=_("One a line.")
    )
    pending = Lines(
        label=_("Still to do"), max_length=8000, required=False, help_text=_("One a line.")
    )
    notes = forms.CharField(
        label=_("Notes"),
        max_length=8000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
    )

    def clean(self):
        cleaned = super().clean()
        if not any(cleaned.values()):
            raise forms.ValidationError(_("A note needs words. To empty it, clear it."))
        return cleaned
