"""What people may type on the pages of a chat."""

import re
from uuid import uuid4

from django import forms
from django.utils.translation import gettext_lazy as _

from kenoweb.ui.form_fields import OneLine
from memory.chats import service as chats
from memory.text import normalise as text

KEY = re.compile(r"[0-9a-f]{32}")


class SayForm(forms.Form):
    """One message. The key makes a second press of the button the same message."""

    text = forms.CharField(
        label=_("Your message"),
        max_length=text.MAX_LENGTH,
        error_messages={"required": _("Say something first.")},
    )
    key = forms.CharField(required=False)

    def clean_key(self):
        key = self.cleaned_data["key"]
        return key if KEY.fullmatch(key) else uuid4().hex


class ContextForm(forms.Form):
    title = OneLine(label=_("Name"), max_length=200, required=False)
    context = forms.CharField(
        label=_("What kind of chat this is"),
        max_length=chats.CONTEXT_LENGTH,
        required=False,
        help_text=_("Every reply here reads it: who is there, what it is about, how to talk."),
        widget=forms.Textarea(attrs={"rows": 6}),
    )
