"""Who Keno is: the core that only owners write, rules, preferences."""

import re

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.auth.sessions import go
from kenoweb.identity.page import identity_page, weight
from kenoweb.ui.formatting import OneLine
from kenoweb.ui.responses import refreshed, run_and_toast, show_form
from memory.identity import bootstrap, core, preferences, prompt, rules
from memory.models import Preference, Rule
from memory.text import normalise as text
from memory.text.normalise import clean

PATTERN = re.compile(r"/(.+)/")
SPARE = 2
MOST_EXAMPLES = 20
TRIED = 2000


class CoreForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("Core"),
        required=False,
        max_length=text.MAX_LENGTH,
        help_text=gettext_lazy("Every prompt begins with it. Empty: the built-in core."),
        widget=forms.Textarea(attrs={"rows": 18}),
    )


class PreferenceForm(forms.Form):
    key = OneLine(
        label=gettext_lazy("What about"),
        max_length=80,
        help_text=gettext_lazy("Tone, language, format …"),
    )
    value = OneLine(label=gettext_lazy("How it should be"), max_length=1000)
    section = OneLine(
        label=gettext_lazy("Heading"),
        max_length=80,
        required=False,
        help_text=gettext_lazy("Preferences with the same heading are shown together."),
    )
    everybody = forms.BooleanField(
        label=gettext_lazy("For everybody"),
        required=False,
        help_text=gettext_lazy("Otherwise it is for the person who said it alone."),
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
    slug = OneLine(label=gettext_lazy("Name"), max_length=80, required=False)
    category = OneLine(
        label=gettext_lazy("Category"),
        max_length=60,
        required=False,
        help_text=gettext_lazy("Rules with the same category are kept together in the prompt."),
    )
    instruction = forms.CharField(
        label=gettext_lazy("Instruction"),
        required=False,
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    forbidden = forms.CharField(
        label=gettext_lazy("Never say"),
        required=False,
        max_length=20_000,
        help_text=gettext_lazy(
            "One phrase a line, with a reason after | if you like. "
            "Between slashes it is a regular expression: /colou?r/."
        ),
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
            raise ValidationError(
                gettext_lazy("A rule needs an instruction or a phrase that is forbidden.")
            )
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


EXAMPLE = {
    "user": gettext_lazy("Somebody says"),
    "good": gettext_lazy("Good answer"),
    "bad": gettext_lazy("Bad answer"),
}


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


@in_space(role="viewer")
def index(request, space):
    said = clean(request.GET.get("reply", ""))[:TRIED]
    page = identity_page(space, user=request.user, now=timezone.now(), said=said)
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
    said = form.cleaned_data["text"]
    run_and_toast(request, _("The core was changed."), core.write, space, text=said)
    return go(request, _index(space))


@in_space(role="curator", methods="GET POST")
def rule(request, space):
    """One rule: the form for a new one, or for the one named in the address."""
    old = _rule(space, request.GET.get("slug", ""))
    form = _rule_form(request, old)
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
    """One preference: the form for a new one, or for the one whose number is in the address."""
    old = _preference(space, request.GET.get("pk", ""))
    known = PreferenceForm.of(old) if old else PreferenceForm.asked(request.GET)
    form = PreferenceForm(request.POST or None, initial=known, old=old)
    if request.method != "POST" or not form.is_valid():
        return show_form(request, "identity/prefer.html", form, old=old)
    run_and_toast(request, _("Noted."), preferences.reword, space, old, **form.wording())
    return go(request, _index(space))


@in_space(role="curator", methods="POST")
def drop(request, space, pk):
    one = get_in_space_or_404(space, Preference, pk)
    run_and_toast(request, _("Dropped “%(text)s”."), preferences.drop, one)
    return refreshed(request, back=_index(space))


@in_space(role="curator", methods="POST")
def end_talk(request, space):
    """The first conversation ends here, with what is known by now."""
    said = _("The first conversation is over; what was found stands among the preferences.")
    run_and_toast(request, said, bootstrap.end, space)
    return refreshed(request, back=_index(space))


def _rule(space, slug):
    if not slug:
        return None
    found = [one for one in rules.active(space) if one.slug == slug]
    if not found:
        raise Http404
    return found[0]


def _rule_form(request, old):
    sent = sum(name.startswith("good-") for name in request.POST)
    known = max(len(old.examples) if old else 0, min(sent, 20))
    return RuleForm(request.POST or None, initial=RuleForm.of(old) if old else {}, examples=known)


def _preference(space, pk):
    if not pk:
        return None
    return get_in_space_or_404(space, Preference, int(pk) if pk.isdecimal() else 0)


def _index(space):
    return reverse("identity:index", args=[space.slug])
