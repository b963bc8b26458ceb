"""The pages of golden questions: the list with its trend, one in detail, a new one."""

from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.db.models import Q
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.ui import list_page
from kenoweb.ui.filters import Filter, number_in
from kenoweb.ui.formatting import OneLine, dated, one_line, truncatechars
from kenoweb.ui.list_page import Order, counted, part
from kenoweb.ui.responses import run_and_toast, show_form, space_url, toast, toast_error
from memory.history.actors import person
from memory.history.changes import Conflict
from memory.models import Chat, GoldenQuestion, GoldenRun, Recall, Space
from memory.trust import golden

VIEWS = {
    "": (pgettext_lazy("golden questions", "Asked"), Q(status="active")),
    "broken": (pgettext_lazy("golden questions", "Broken"), Q(status="active", state="red")),
    "retired": (pgettext_lazy("golden questions", "Retired"), Q(status="retired")),
}
NEWEST = Order("created_at")
RUNS = 30


@dataclass(frozen=True)
class GoldenFilter(Filter):
    show: str = ""

    CHOICES: ClassVar = {"show": VIEWS}


class GoldenForm(forms.Form):
    question = OneLine(label=_("What is asked"), max_length=500)
    chat = forms.ChoiceField(label=_("Asked in"), required=False)
    found = forms.MultipleChoiceField(
        label=_("Must be found"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    tells = forms.CharField(
        label=_("Words that must be found"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("One line each: a memory with all words of the line must be found."),
    )
    unsaid = forms.CharField(
        label=_("Must not be said"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Words that a good answer does not have, one line each."),
    )

    def __init__(self, *args: Any, space: Space, receipt: Recall | None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.offered = golden.from_receipt(receipt) if receipt else []
        rooms = rows_in(space, Chat).order_by("-last_message_at", "-pk")[:100]
        self.chats = {str(chat.pk): chat for chat in rooms}
        if receipt and receipt.chat:
            self.chats = {str(receipt.chat_id): receipt.chat}
        everywhere = [] if receipt and receipt.chat else [("", _("the whole space"))]
        names = [(key, truncatechars(chat, 40)) for key, chat in self.chats.items()]
        self.fields["chat"].choices = everywhere + names
        memories = list(enumerate(self.offered))
        self.fields["found"].choices = [
            (str(n), truncatechars(one_line(memory["quote"]), 200))
            for n, (memory, _used) in memories
        ]
        self.initial.setdefault("found", [str(n) for n, (_memory, used) in memories if used])
        if not memories:
            del self.fields["found"]

    def values(self) -> dict[str, Any]:
        """Return what golden.keep() takes."""
        data = self.cleaned_data
        found = [self.offered[int(n)][0] for n in data.get("found", [])]
        return {
            "question": data["question"],
            "chat": self.chats.get(data["chat"]),
            "found": [*found, *({"quote": line} for line in _lines(data["tells"]))],
            "unsaid": _lines(data["unsaid"]),
        }


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@in_space(role="viewer")
def index(request, space):
    filters, rows = GoldenFilter.read(request.GET), rows_in(space, GoldenQuestion)
    found = rows.filter(VIEWS[filters.show][1])
    page = part(found.select_related("chat"), order=NEWEST, after=filters.after)
    numbers = counted(*(rows.filter(where) for _label, where in VIEWS.values()))
    url, labels = space_url("golden:index", space), {key: view[0] for key, view in VIEWS.items()}
    context = {
        "space": space,
        "url": url,
        "red": numbers[1],
        "rows": page.rows,
        "views": list_page.views_by("show", labels, numbers, filters, url),
        "more": list_page.filter_url(url, filters, after=page.after) if page.after else "",
        "nothing_yet": not sum(numbers),
    }
    return render(request, "golden/index.html", context | _trend(space))


def _trend(space: Space) -> dict[str, Any]:
    runs = list(rows_in(space, GoldenRun).order_by("-at", "-pk")[:RUNS])[::-1]
    points = [
        (
            dated(timezone.localtime(run.at), gettext("j M H:i")),
            run.green / max(1, run.green + run.red),
        )
        for run in runs
    ]
    return {"last_run": runs[-1] if runs else None, "points": points}


@in_space(role="viewer")
def trend(request, space):
    """Render the part that the overview fetches when it scrolls into view."""
    if not request.htmx:
        return redirect("golden:index", space.slug)
    return render(request, "golden/_trend.html", {"space": space, "fetched": True, **_trend(space)})


@in_space(role="viewer")
def detail(request, space, pk):
    row = get_in_space_or_404(space, GoldenQuestion, pk)
    is_red = row.state == GoldenQuestion.State.RED and row.status == GoldenQuestion.Status.ACTIVE
    context = {"space": space, "row": row, "is_red": is_red}
    context["steps"] = golden.between(row) if is_red else []
    return render(request, "golden/detail.html", context)


@in_space(role="viewer")
def weigh(request, space, pk):
    """Show which memories of a receipt decide its answer: each is left out once."""
    receipt = get_in_space_or_404(space, Recall, pk)
    answer, weights = golden.weigh(receipt, now=timezone.now())
    context = {"space": space, "receipt": receipt, "answer": answer, "weights": weights}
    return render(request, "golden/weigh.html", context)


@in_space(role="curator", methods="GET POST")
def new(request, space):
    number = number_in(request.GET.get("receipt", ""))
    receipt = get_in_space_or_404(space, Recall, number) if number else None
    first = {"question": receipt.query, "chat": str(receipt.chat_id or "")} if receipt else {}
    sent = request.POST if request.method == "POST" else None
    form = GoldenForm(sent, initial=first, space=space, receipt=receipt)
    if form.is_valid():
        values = form.values()
        values |= {"person": receipt.person, "now": receipt.at} if receipt else {}
        done = run_and_toast(request, _("Golden question saved."), golden.keep, space, **values)
        if done:
            golden.check(done.row, now=timezone.now())
            return redirect("golden:detail", space.slug, done.row.pk)
    return show_form(request, "golden/new.html", form, space=space, receipt=receipt)


@in_space(role="curator", methods="POST")
def run(request, space):
    done = golden.run(space, why=GoldenRun.Why.HAND)
    if done is None:
        toast_error(request, _("There is no golden question to ask."))
    else:
        numbers = {"green": done.green, "all": done.green + done.red}
        toast(request, _("%(green)s of %(all)s are as they should be.") % numbers)
    return redirect("golden:index", space.slug)


@in_space(role="curator", methods="POST")
def retire(request, space, pk):
    row = get_in_space_or_404(space, GoldenQuestion, pk)
    run_and_toast(request, _("Retired “%(text)s”."), golden.retire, row)
    return redirect("golden:index", space.slug)


@in_space(role="curator", methods="POST")
def accept(request, space, pk):
    row = get_in_space_or_404(space, GoldenQuestion, pk)
    run_and_toast(request, _("What is found now is what must be found."), golden.accept, row)
    return redirect("golden:detail", space.slug, pk)


@in_space(role="owner", methods="POST")
def undo(request, space, pk, change):
    """Take back one of the changes that came between, and ask everything again."""
    row = get_in_space_or_404(space, GoldenQuestion, pk)
    if change not in {step.change for step in golden.between(row)}:
        toast_error(request, _("This change did not come between."))
        return redirect("golden:detail", space.slug, pk)
    try:
        is_green = golden.undo(row, change, by=person(request.user))
        fine, still = (
            _("Undone. The answer is right again."),
            _("Undone. It is still broken."),
        )
        toast(request, fine if is_green else still)
    except Conflict as conflict:
        toast_error(request, str(conflict))
    return redirect("golden:detail", space.slug, pk)
