"""What people may type on the pages of the identity."""

import re

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from kenoweb.ui.form_fields import OneLine
from memory.identity import rules
from memory.models import Preference, Rule
from memory.text import normalise as text

PATTERN = re.compile(r"/(.+)/")
SPARE = 2
MOST_EXAMPLES = 20


class CoreForm(forms.Form):
    text = forms.CharField(
        label=_("Core"),
        required=False,
        max_length=text.MAX_LENGTH,
        help_text=_("Every prompt begins with it. Empty: the built-in core."),
        widget=forms.Textarea(attrs={"rows": 18}),
    )


class PreferenceForm(forms.Form):
    key = OneLine(label=_("What about"), max_length=80, help_text=_("Tone, language, format …"))
    value = OneLine(label=_("How it should be"), max_length=1000)
    section = OneLine(label=_("Heading"), max_length=80, required=False)
    everybody = forms.BooleanField(
        label=_("For everybody"),
        required=False,
        help_text=_("Without it, it holds only for whoever said it."),
    )

    def __init__(self, *args, old: Preference | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        if not (old and old.channel):
            del self.fields["everybody"]

    def wording(self) -> dict:
        """As preferences.reword() takes it."""
        values = dict(self.cleaned_data)
        everybodys = {"channel": "", "author_id": "", "person": ""}
        return values | everybodys if values.pop("everybody", False) else values

    @staticmethod
    def of(one: Preference) -> dict:
        return {"key": one.key, "value": one.value, "section": one.section}

    @classmethod
    def asked(cls, query: QueryDict) -> dict:
        """What an address proposes for a new one."""
        return {name: text.clean(query.get(name, ""))[:1000] for name in cls.base_fields}


class RuleForm(forms.Form):
    slug = OneLine(label=_("Name"), max_length=80, required=False)
    category = OneLine(label=_("Category"), max_length=60, required=False)
    instruction = forms.CharField(
        label=_("Instruction"),
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    forbidden = forms.CharField(
        label=_("Never say"),
        required=False,
        max_length=20_000,
        help_text=_("One phrase a line; “phrase | reason” gives the reason, /pattern/ a pattern."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args, examples: int = 0, **kwargs):
        super().__init__(*args, **kwargs)
        self.rows = min(examples + SPARE, MOST_EXAMPLES)
        for row in range(self.rows):
            for name, label in EXAMPLE.items():
                self.fields[f"{name}-{row}"] = OneLine(label=label, required=False, max_length=1000)

    def triples(self):
        """The fields of each example, for the template."""
        return [[self[f"{name}-{row}"] for name in EXAMPLE] for row in range(self.rows)]

    def clean_forbidden(self):
        lines = [line.strip() for line in self.cleaned_data["forbidden"].splitlines()]
        return [_phrase(line) for line in lines if line]

    def clean(self):
        cleaned = super().clean()
        if not self.errors and not (cleaned["instruction"].strip() or cleaned["forbidden"]):
            raise ValidationError(_("A rule needs an instruction or a phrase that is forbidden."))
        return cleaned

    def values(self) -> dict:
        """As rules.put() takes it."""
        given = {name: self.cleaned_data[name] for name in ("slug", "category", "instruction")}
        examples = [
            {name: self.cleaned_data[f"{name}-{row}"] for name in EXAMPLE}
            for row in range(self.rows)
        ]
        return given | {"examples": examples, "forbidden": self.cleaned_data["forbidden"]}

    @staticmethod
    def of(rule: Rule) -> dict:
        known = {name: getattr(rule, name) for name in ("slug", "category", "instruction")}
        known["forbidden"] = "\n".join(_line(one) for one in rule.forbidden)
        for row, one in enumerate(rule.examples):
            shown = {"good": one} if isinstance(one, str) else one
            known |= {f"{name}-{row}": shown.get(name, "") for name in EXAMPLE}
        return known


EXAMPLE = {"user": _("Somebody says"), "good": _("Good answer"), "bad": _("Bad answer")}


def _phrase(line: str) -> dict:
    said, _bar, reason = (part.strip() for part in line.partition("|"))
    pattern = PATTERN.fullmatch(said)
    if pattern:
        try:
            rules.check_pattern(pattern[1])
        except rules.BadPattern as problem:
            raise ValidationError(str(problem)) from problem
    return {"phrase": pattern[1] if pattern else said, "reason": reason, "pattern": bool(pattern)}


def _line(one: dict) -> str:
    said = f"/{one['phrase']}/" if one.get("pattern") else one["phrase"]
    return f"{said} | {one['reason']}" if one.get("reason") else said
