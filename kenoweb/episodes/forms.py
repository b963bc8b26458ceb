"""What a person may say about an episode."""

from django import forms
from django.utils.translation import gettext_lazy as _

from kenoweb.episodes.discarding import REASONS
from kenoweb.ui.form_fields import OneLine


class Words(forms.CharField):
    """A few words, parted by commas."""

    def to_python(self, value):
        return [word for part in super().to_python(value).split(",") if (word := part.strip())]

    def prepare_value(self, value):
        return ", ".join(value) if isinstance(value, list) else value


class EpisodeForm(forms.Form):
    title = OneLine(label=_("Title"), max_length=200)
    body = forms.CharField(
        label=_("What happened"),
        max_length=20_000,
        required=False,
        help_text=_("Markdown: lists, links, code."),
        widget=forms.Textarea(attrs={"rows": 10}),
    )
    tags = Words(
        label=_("Tags"), max_length=600, required=False, help_text=_("Separated by commas.")
    )
    participants = Words(
        label=_("With"), max_length=1200, required=False, help_text=_("Separated by commas.")
    )


class DiscardForm(forms.Form):
    why = forms.ChoiceField(choices=[(key, label) for key, (label, _text) in REASONS.items()])
    note = OneLine(required=False, max_length=160)
    with_facts = forms.BooleanField(required=False)
