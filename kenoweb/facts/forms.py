"""What a person may say about a fact."""

from django import forms
from django.utils.translation import gettext_lazy as _

from kenoweb.ui.form_fields import OneLine
from memory.models import Fact

ROWS = {"rows": 3}


class FactForm(forms.Form):
    text = forms.CharField(
        label=_("What Keno should know"), max_length=4000, widget=forms.Textarea(attrs=ROWS)
    )
    subject = OneLine(
        label=_("About"),
        max_length=120,
        required=False,
        help_text=_("A person or a thing, such as Ana or the server."),
    )
    chat = forms.ChoiceField(label=_("Who may know it"), required=False)
    kind = forms.ChoiceField(label=_("Kind"), choices=Fact.Kind.choices, initial=Fact.Kind.FACT)
    category = forms.ChoiceField(
        label=_("Category"), choices=Fact.Category.choices, initial=Fact.Category.OTHER
    )
    confidence = forms.FloatField(
        label=_("How sure, from 0 to 1"),
        min_value=0,
        max_value=1,
        initial=0.9,
        widget=forms.NumberInput(attrs={"step": "0.05"}),
    )

    def __init__(self, *args, chats: list[tuple[str, str]], **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["chat"].choices = chats


class BulkForm(forms.Form):
    """What to do with the picked facts; a value where the act needs one."""

    ACTS = {
        "forget": _("Forget"),
        "restore": _("Restore"),
        "pin": _("Pin"),
        "unpin": _("Unpin"),
        "category": _("Change the category"),
        "subject": _("Change the subject"),
        "chat": _("Move"),
        "never": _("Never remember"),
        "merge": _("Merge"),
    }
    act = forms.ChoiceField(choices=list(ACTS.items()))
    category = forms.ChoiceField(choices=Fact.Category.choices, required=False)
    subject = OneLine(max_length=120, required=False)
    chat = forms.ChoiceField(required=False)
    # Which one stays when they are merged; else the one that stands best.
    keep = forms.IntegerField(required=False, min_value=1, max_value=2**62)
    everything = forms.BooleanField(required=False)
    where = forms.CharField(required=False, max_length=4000)

    def __init__(self, *args, chats: list[tuple[str, str]], **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["chat"].choices = chats
