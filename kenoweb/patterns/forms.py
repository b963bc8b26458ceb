"""What a person may say about a pattern."""

from django import forms
from django.utils.translation import gettext_lazy as _

from kenoweb.ui.form_fields import OneLine


class PatternForm(forms.Form):
    trigger = OneLine(
        label=_("When a message says"),
        max_length=200,
        help_text=_("The words that must be in it, such as: n8n + 401"),
    )
    response = forms.CharField(
        label=_("Answer like this"), max_length=4000, widget=forms.Textarea(attrs={"rows": 4})
    )
    confidence = forms.FloatField(
        label=_("How sure, from 0 to 1"),
        min_value=0,
        max_value=1,
        initial=0.8,
        help_text=_("Share of the words found × this must reach .50 to apply."),
        widget=forms.NumberInput(attrs={"step": "0.05"}),
    )
