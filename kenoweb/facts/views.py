"""The facts of a space: the list, one of them beside it, and what a person does with them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from django import forms
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb.auth.access import fact_for, in_space, rows_in
from kenoweb.auth.sessions import go
from kenoweb.facts import listing
from kenoweb.facts.listing import chat_of, fact_list
from kenoweb.facts.panel import as_markdown, fact_panel
from kenoweb.ui import list_page
from kenoweb.ui.filters import FactFilter, number_in
from kenoweb.ui.formatting import Day, OneLine, day_end, day_of, day_start
from kenoweb.ui.history_thread import row_at
from kenoweb.ui.responses import (
    MARKDOWN,
    beside,
    bulk_view,
    fragment_or_redirect,
    markdown_view,
    panel_done,
    purge_view,
    refreshed,
    row_action_view,
    run_and_toast,
    toast_bulk,
)
from memory import erasure, rulings
from memory.facts import bulk as fact_bulk
from memory.facts import service as facts
from memory.facts.bulk import MAX_FACTS, BulkResult
from memory.history.actors import person
from memory.models import Fact, Space
from memory.trust import replay


def act(space: Space, posted: QueryDict, *, by: str, now: datetime) -> list_page.BulkAnswer:
    form = BulkForm(posted, space=space)
    if not form.is_valid():
        return list_page.BulkAnswer(refusal=_("Choose what to do with them."))
    pks = picked_ids(space, posted, form.cleaned_data, now=now)
    if not pks:
        return list_page.BulkAnswer(refusal=_("Tick the facts first."))
    try:
        result = _writer(space, form.cleaned_data)(space, pks, by=by)
    except (fact_bulk.TooMany, facts.DuplicateFact, facts.Invalid) as refusal:
        return list_page.BulkAnswer(refusal=str(refusal))
    sentence = _bulk_sentence(form.cleaned_data["act"], result)
    return list_page.BulkAnswer(sentence, change_id=result.change_id)


def picked_ids(space: Space, posted: QueryDict, choices: dict, *, now: datetime) -> list[int]:
    """Return the ids; one more than the limit when there are too many."""
    if not choices["everything"]:
        return [*filter(None, map(number_in, posted.getlist("pick")[: MAX_FACTS + 1]))]
    filters = FactFilter.read(QueryDict(choices["where"]))
    if filters.when:
        return []  # the past cannot be changed
    rows = listing.find(space, filters, now=now)
    return list(rows.order_by("pk").values_list("pk", flat=True)[: MAX_FACTS + 1])


def _writer(space: Space, choices: dict) -> Callable[..., BulkResult]:
    """Return the service that does what was chosen, with the values typed for it."""
    write, values = {
        "forget": (fact_bulk.forget, {}),
        "restore": (fact_bulk.restore, {}),
        "pin": (fact_bulk.pin, {}),
        "unpin": (fact_bulk.pin, {"pinned": False}),
        "category": (fact_bulk.recategorise, {"category": choices["category"]}),
        "subject": (fact_bulk.retag, {"subject": choices["subject"]}),
        "chat": (fact_bulk.move, {"chat": chat_of(space, choices["chat"])}),
        "never": (fact_bulk.never_again, {}),
        "merge": (fact_bulk.merge, {"keep": choices["keep"]}),
        "tag": (fact_bulk.tag, {"tags": choices["tags"]}),
        "untag": (fact_bulk.tag, {"tags": choices["tags"], "off": True}),
    }[choices["act"]]
    return partial(write, **values)


def _bulk_sentence(act: str, result: BulkResult) -> str:
    sentence = {
        "forget": ngettext("Forgot %(n)s fact.", "Forgot %(n)s facts.", result.count),
        "restore": ngettext("Restored %(n)s fact.", "Restored %(n)s facts.", result.count),
        "pin": ngettext("Pinned %(n)s fact.", "Pinned %(n)s facts.", result.count),
        "unpin": ngettext("Unpinned %(n)s fact.", "Unpinned %(n)s facts.", result.count),
        "chat": ngettext("Moved %(n)s fact.", "Moved %(n)s facts.", result.count),
        "merge": ngettext(
            "Merged %(n)s fact into one.", "Merged %(n)s facts into one.", result.count
        ),
        "never": ngettext(
            "Will never remember %(n)s fact again.",
            "Will never remember %(n)s facts again.",
            result.count,
        ),
    }.get(act, ngettext("Changed %(n)s fact.", "Changed %(n)s facts.", result.count))
    text = sentence % {"n": list_page.capped_number(result.count, MAX_FACTS)}
    if result.duplicates:
        left = ngettext(
            "%(n)s was left: another live fact says the same.",
            "%(n)s were left: other live facts say the same.",
            result.duplicates,
        )
        text = f"{text} {left % {'n': result.duplicates}}"
    return text


class FactForm(forms.Form):
    text = forms.CharField(
        label=gettext_lazy("What Keno should know"),
        max_length=4000,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    subject = OneLine(
        label=gettext_lazy("About"),
        max_length=120,
        required=False,
        help_text=gettext_lazy("A person or a thing, such as Ana or the server."),
    )
    chat = forms.ChoiceField(label=gettext_lazy("Who may know it"), required=False)
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=Fact.Kind.choices, initial=Fact.Kind.FACT
    )
    category = forms.ChoiceField(
        label=gettext_lazy("Category"), choices=Fact.Category.choices, initial=Fact.Category.OTHER
    )
    tags = OneLine(
        label=gettext_lazy("Tags"),
        max_length=400,
        required=False,
        help_text=gettext_lazy("Your own words to find it by, separated by commas."),
    )
    confidence = forms.FloatField(
        label=gettext_lazy("How sure, from 0 to 1"),
        min_value=0,
        max_value=1,
        initial=0.9,
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    # The text when the form was opened: tells whether somebody changed it meanwhile.
    was = forms.CharField(required=False, widget=forms.HiddenInput)
    valid_from = Day(label=gettext_lazy("True from"), required=False)
    valid_to = Day(
        label=gettext_lazy("True until"),
        required=False,
        help_text=gettext_lazy("That day is the last. It may lie ahead."),
    )

    def __init__(self, *args, space: Space, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["chat"].choices = list_page.chat_choices(list_page.chats_of(space))

    def is_current(self, fact: Fact) -> bool:
        """Whether the fact still reads as when the form was opened; if not, add an error once."""
        was = self.cleaned_data["was"]
        if not was or was == fact.text or fact.text == self.cleaned_data["text"]:
            return True
        error = _("Meanwhile it was changed to “%(text)s”. Save again to put yours in its place.")
        self.add_error("text", error % {"text": fact.text})
        self.data = self.data.copy()
        self.data["was"] = fact.text
        return False

    def clean_tags(self):
        return facts.read_tags(self.cleaned_data["tags"])

    def values(self, space: Space, fact: Fact | None = None) -> dict:
        """Return the values as the service takes them; an unchanged day keeps its hour."""
        values = self.cleaned_data | {"chat": chat_of(space, self.cleaned_data["chat"])}
        del values["was"]
        for name, moment in (("valid_from", day_start), ("valid_to", day_end)):
            was = getattr(fact, name, None)
            values[name] = was if day_of(was) == values[name] else moment(values[name])
        return values


class BulkForm(forms.Form):
    """What to do with the picked facts; a value where the act needs one."""

    ACTS = "forget restore pin unpin category subject chat never merge tag untag".split()
    act = forms.ChoiceField(choices=[(name, name) for name in ACTS])
    category = forms.ChoiceField(choices=Fact.Category.choices, required=False)
    subject = OneLine(max_length=120, required=False)
    tags = OneLine(max_length=400, required=False)
    chat = forms.ChoiceField(required=False)
    # Which one stays when they are merged; else the one that stands best.
    keep = forms.IntegerField(required=False, min_value=1, max_value=2**62)
    everything = forms.BooleanField(required=False)
    where = forms.CharField(required=False, max_length=4000)

    def __init__(self, *args, space: Space, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["chat"].choices = list_page.chat_choices(list_page.chats_of(space))


@in_space(role="viewer")
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
def detail(request, space, pk):
    fact, when = fact_for(space, pk), FactFilter.read(request.GET).when
    panel = fact_panel(fact, space=space, user=request.user, now=timezone.now())
    context = {"panel": panel, "then": row_at(space, Fact, pk, when) if when else None}
    if request.GET.get("edit") and request.member.may("curator"):
        context["form"] = FactForm(space=space, initial=_form_values(fact))
    return _page(request, space, **context)


@in_space(role="curator")
def new(request, space):
    initial = {k: v for k in ("subject", "chat") if (v := request.GET.get(k))}
    return _page(request, space, form=FactForm(space=space, initial=initial))


@in_space(role="curator", methods="POST")
def remember(request, space):
    form = FactForm(request.POST, space=space)
    if not form.is_valid():
        return _page(request, space, status=422, form=form)
    values = form.values(space)
    result = run_and_toast(request, _("Remembered “%(text)s”."), facts.remember, space, **values)
    if result is None or result.row is None:
        return _page(request, space, status=422, form=form)
    return go(request, reverse("facts:detail", args=[space.slug, result.row.pk]))


@in_space(role="curator", methods="POST")
def revise(request, space, pk):
    fact, form = fact_for(space, pk), FactForm(request.POST, space=space)
    panel = fact_panel(fact, space=space, user=request.user, now=timezone.now())
    if not (form.is_valid() and form.is_current(fact)):
        return _page(request, space, status=422, form=form, panel=panel)
    values = form.values(space, fact)
    result = run_and_toast(request, _("Revised: “%(text)s”."), facts.revise, fact, **values)
    if result is None or result.outcome == "refused":
        status = 409 if getattr(request, "is_said_already", False) else 422
        return _page(request, space, status=status, form=form, panel=panel)
    return panel_done(request, beside(request, FactFilter, "facts:detail", space, pk))


def _row(request, fact):
    """Render the row again; for the panel, send the event that makes it reload."""
    back = reverse("facts:detail", args=[request.space.slug, fact.pk])
    if request.POST.get("from") == "panel":
        return refreshed(request, back=back)
    row = rows_in(request.space, Fact).select_related("chat").get(pk=fact.pk)
    context = listing.list_context(request.space, FactFilter(), member=request.member)
    context = {"fact": row, "list": listing.FactList(**context)}
    return fragment_or_redirect(request, "facts/_row.html", context, back=back)


def _row_action(writer, message, **options):
    return row_action_view(writer, message, fetch=fact_for, respond=_row, **options)


def _ruling(rule):
    """Return the rule as a service whose toast quotes the fact."""
    return lambda fact, *, by: replace(rule(fact, by=by), row=fact)


forget = _row_action(facts.forget, gettext_lazy("Forgot “%(text)s”."))
restore = _row_action(facts.restore, gettext_lazy("Restored “%(text)s”."))
pin = _row_action(facts.pin, gettext_lazy("Pinned “%(text)s”."))
unpin = _row_action(facts.unpin, gettext_lazy("Unpinned “%(text)s”."))
discard = _row_action(facts.discard, gettext_lazy("Put “%(text)s” in the trash."))
deprecate = _row_action(facts.deprecate, gettext_lazy("Ended “%(text)s”: no longer true."))
promote = _row_action(facts.promote, gettext_lazy("The whole space knows “%(text)s” now."))
release = _row_action(facts.release, gettext_lazy("Released “%(text)s”."))
quarantine = _row_action(
    facts.quarantine,
    gettext_lazy("Moved “%(text)s” to quarantine."),
    reason="set aside by a person",
)
never = _row_action(
    facts.never_again, gettext_lazy("Put “%(text)s” in the trash; Keno will never remember it.")
)
keep = _row_action(_ruling(rulings.keep), gettext_lazy("Kept exactly as it is: “%(text)s”."))
dont_mention = _row_action(
    _ruling(rulings.dont_mention),
    gettext_lazy("Keno will not mention “%(text)s” unless asked for it by name."),
)


@in_space(role="curator")
def impact(request, space, pk):
    """Show which past answers would change if this was never remembered, or not mentioned."""
    fact, by = fact_for(space, pk), person(request.user)
    quiet = request.GET.get("do") == "quiet"
    rule = rulings.dont_mention if quiet else facts.never_again
    context = {"back": reverse("facts:detail", args=[space.slug, pk]), "fact": fact, "quiet": quiet}
    context["change"] = fact.text
    context["impact"] = replay.impact(space, lambda: rule(fact, by=by), now=timezone.now())
    return render(request, "proposals/impact.html", context)


@in_space(role="curator", methods="POST")
def merge(request, space, pk):
    """Merge another fact into this one."""
    fact, other = fact_for(space, pk), request.POST.get("other", "")
    posted = QueryDict(mutable=True)
    posted.update({"act": "merge", "keep": pk})
    posted.setlist("pick", [str(pk), other])
    toast_bulk(request, act(space, posted, by=person(request.user), now=timezone.now()))
    return refreshed(request, back=beside(request, FactFilter, "facts:detail", space, fact.pk))


bulk = bulk_view(act, room="facts", filters=FactFilter, lister=fact_list)
markdown = markdown_view(as_markdown, fetch=fact_for)
purge = purge_view(erasure.purge, room="facts", fetch=fact_for, filters=FactFilter)


@in_space(role="viewer")
def markdown_list(request, space):
    rows = listing.matching(space, FactFilter.read(request.GET), now=timezone.now())
    return HttpResponse(listing.as_markdown(rows), content_type=MARKDOWN)


def _page(request, space, *, status=200, **context):
    filters = FactFilter.read(request.GET)
    context["list"] = fact_list(space, filters, member=request.member, now=timezone.now())
    return render(request, "facts/index.html", context, status=status)


def _form_values(fact):
    names = ("text", "subject", "kind", "category", "confidence")
    where = str(fact.chat_id) if fact.chat_id else "space"
    days = {name: day_of(getattr(fact, name)) for name in ("valid_from", "valid_to")}
    more = {"chat": where, "tags": ", ".join(fact.tags), "was": fact.text} | days
    return {name: getattr(fact, name) for name in names} | more
