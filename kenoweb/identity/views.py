"""The identity of Keno: the core that only owners write, rules, preferences."""

import re

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.auth.sessions import go
from kenoweb.identity.page import identity_page, weight
from kenoweb.ui.filters import number_in
from kenoweb.ui.formatting import OneLine
from kenoweb.ui.responses import refreshed, run_and_toast, show_form
from memory.identity import bootstrap, core, preferences, prompt, rules
from memory.models import Preference, Rule
from memory.text.normalise import MAX_LENGTH, clean

PATTERN = re.compile(r"/(.+)/")
SPARE_EXAMPLES = 2
MAX_EXAMPLES = 20
MAX_REPLY = 2000


class CoreForm(forms.Form):
    text = forms.CharField(
        label=_("Core"),
        required=False,
        max_length=MAX_LENGTH,
        help_text=_("Every prompt begins with it. Empty: the built-in core."),
        widget=forms.Textarea(attrs={"rows": 18}),
    )


class PreferenceForm(forms.Form):
    key = OneLine(
        label=_("What about"),
        max_length=80,
        help_text=_("Tone, language, format …"),
    )
    value = OneLine(label=_("How it should be"), max_length=1000)
    section = OneLine(
        label=_("Heading"),
        max_length=80,
        required=False,
        help_text=_("Preferences with the same heading are shown together."),
    )
    everybody = forms.BooleanField(
        label=_("For everybody"),
        required=False,
        help_text=_("Otherwise it is for the person who said it alone."),
    )

    def __init__(self, *args, old: Preference | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        if not (old and old.channel):
            del self.fields["everybody"]

    def wording(self) -> dict:
        """Return the values as preferences.reword() takes them."""
        values = dict(self.cleaned_data)
        for_everybody = {"channel": "", "author_id": "", "person": ""}
        return values | for_everybody if values.pop("everybody", False) else values


class RuleForm(forms.Form):
    slug = OneLine(label=_("Name"), max_length=80, required=False)
    category = OneLine(
        label=_("Category"),
        max_length=60,
        required=False,
        help_text=_("Rules with the same category are kept together in the prompt."),
    )
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
        help_text=_(
            "One phrase a line, with a reason after | if you like. "
            "Between slashes it is a regular expression: /colou?r/."
        ),
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def __init__(self, *args, examples: int = 0, **kwargs):
        super().__init__(*args, **kwargs)
        self.rows = min(examples + SPARE_EXAMPLES, MAX_EXAMPLES)
        for row in range(self.rows):
            for name, label in EXAMPLE.items():
                self.fields[f"{name}-{row}"] = OneLine(label=label, required=False, max_length=1000)

    def triples(self):
        """Return the fields of each example, for the template."""
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
        """Return the values as rules.put() takes them."""
        data = self.cleaned_data
        values = {name: data[name] for name in ("slug", "category", "instruction", "forbidden")}
        values["examples"] = [
            {name: data[f"{name}-{row}"] for name in EXAMPLE} for row in range(self.rows)
        ]
        return values

    @staticmethod
    def initial_of(rule: Rule) -> dict:
        values = {name: getattr(rule, name) for name in ("slug", "category", "instruction")}
        values["forbidden"] = "\n".join(map(_phrase_line, rule.forbidden))
        for row, example in enumerate(rule.examples):
            example = {"good": example} if isinstance(example, str) else example
            values |= {f"{name}-{row}": example.get(name, "") for name in EXAMPLE}
        return values


EXAMPLE = {
    "user": _("Somebody says"),
    "good": _("Good answer"),
    "bad": _("Bad answer"),
}


def _phrase(line: str) -> dict:
    phrase, _bar, reason = (part.strip() for part in line.partition("|"))
    pattern = PATTERN.fullmatch(phrase)
    if pattern:
        try:
            rules.check_pattern(pattern[1])
        except rules.BadPattern as problem:
            raise ValidationError(str(problem)) from problem
    return {"phrase": pattern[1] if pattern else phrase, "reason": reason, "pattern": bool(pattern)}


def _phrase_line(phrase: dict) -> str:
    line = f"/{phrase['phrase']}/" if phrase.get("pattern") else phrase["phrase"]
    return f"{line} | {phrase['reason']}" if phrase.get("reason") else line


@in_space(role="viewer")
def index(request, space):
    reply = clean(request.GET.get("reply", ""))[:MAX_REPLY]
    page = identity_page(space, user=request.user, now=timezone.now(), reply=reply)
    return render(request, "identity/index.html", {"page": page})


@in_space(role="viewer")
def as_prompt(request, space):
    parts = weight(space, rules.active(space))
    context = {"text": prompt(space), "tokens": sum(count for _name, count in parts)}
    return render(request, "identity/as_prompt.html", context)


@in_space(role="owner", methods="GET POST", sudo=True)
def edit(request, space):
    form = CoreForm(request.POST or None, initial={"text": core.read(space)})
    if request.method != "POST" or not form.is_valid():
        return show_form(request, "identity/edit.html", form)
    run_and_toast(request, _("The core was changed."), core.write, space, **form.cleaned_data)
    return go(request, _index(space))


@in_space(role="curator", methods="GET POST")
def rule(request, space):
    """Edit the rule that the URL names, or write a new one."""
    slug = request.GET.get("slug", "")
    old = next((row for row in rules.active(space) if row.slug == slug), None) if slug else None
    if slug and old is None:
        raise Http404
    sent = sum(name.startswith("good-") for name in request.POST)
    count = max(len(old.examples) if old else 0, min(sent, MAX_EXAMPLES))
    initial = RuleForm.initial_of(old) if old else {}
    form = RuleForm(request.POST or None, initial=initial, examples=count)
    if request.method != "POST" or not form.is_valid():
        return show_form(request, "identity/rule.html", form, old=old)
    values = form.values() | ({"slug": old.slug} if old else {})
    if run_and_toast(request, _("The rule holds."), rules.put, space, **values) is None:
        return show_form(request, "identity/rule.html", form, old=old)
    return go(request, _index(space))


@in_space(role="curator", methods="POST")
def retire(request, space):
    if slug := clean(request.POST.get("slug", ""))[:80]:
        run_and_toast(request, _("The rule is out of force."), rules.retire, space, slug=slug)
    return refreshed(request, back=_index(space))


@in_space(role="curator", methods="GET POST")
def prefer(request, space):
    """Edit the preference whose number the URL names, or write a new one."""
    pk = request.GET.get("pk", "")
    old = get_in_space_or_404(space, Preference, number_in(pk)) if pk else None
    if old:
        initial = {name: getattr(old, name) for name in ("key", "value", "section")}
    else:
        names = PreferenceForm.base_fields
        initial = {name: clean(request.GET.get(name, ""))[:1000] for name in names}
    form = PreferenceForm(request.POST or None, initial=initial, old=old)
    if request.method != "POST" or not form.is_valid():
        return show_form(request, "identity/prefer.html", form, old=old)
    run_and_toast(request, _("Noted."), preferences.reword, space, old, **form.wording())
    return go(request, _index(space))


@in_space(role="curator", methods="POST")
def drop(request, space, pk):
    row = get_in_space_or_404(space, Preference, pk)
    run_and_toast(request, _("Dropped “%(text)s”."), preferences.drop, row)
    return refreshed(request, back=_index(space))


@in_space(role="curator", methods="POST")
def end_talk(request, space):
    """End the first conversation, with what is known by now."""
    message = _("The first conversation is over; what was found stands among the preferences.")
    run_and_toast(request, message, bootstrap.end, space)
    return refreshed(request, back=_index(space))


def _index(space):
    return reverse("identity:index", args=[space.slug])
