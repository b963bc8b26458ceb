"""The facts of a space: the list, one of them beside it, and what a person does with them."""

from dataclasses import replace

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from kenoweb import bulk as many
from kenoweb import fact_pages, lists
from kenoweb.access import fact_for, in_space, things
from kenoweb.actions import answer, say, undo_url, warn
from kenoweb.fact_forms import FactForm
from kenoweb.fact_pages import fact_list
from kenoweb.fact_panel import as_markdown, fact_panel
from kenoweb.filters import FactFilter
from kenoweb.past import as_it_was
from kenoweb.sessions import go
from kenoweb.verbs import attempt, erasing, refreshed, settled, verb
from memory import facts, rulings
from memory.actors import person
from memory.models import Fact

PLAIN = "text/markdown; charset=utf-8"


@in_space(role="viewer")
@require_safe
def index(request, space):
    return _page(request, space)


@in_space(role="viewer")
@require_safe
def detail(request, space, pk):
    fact, when = fact_for(space, pk), FactFilter.read(request.GET).when
    panel = fact_panel(fact, space=space, user=request.user, now=timezone.now())
    context = {"panel": panel, "then": as_it_was(space, Fact, pk, when) if when else None}
    if request.GET.get("edit") and request.member.may("curator"):
        context["form"] = _form(space, initial=_as_form(fact))
    return _page(request, space, **context)


@in_space(role="curator")
@require_safe
def new(request, space):
    said = {"subject": request.GET.get("subject", ""), "chat": request.GET.get("chat", "")}
    return _page(request, space, form=_form(space, initial={k: v for k, v in said.items() if v}))


@in_space(role="curator")
@require_POST
def remember(request, space):
    form = _form(space, request.POST)
    if not form.is_valid():
        return _page(request, space, status=422, form=form)
    values = form.cleaned_data | {"chat": fact_pages.chat_of(space, form.cleaned_data["chat"])}
    done = attempt(
        request,
        _("Remembered “%(text)s”."),
        lambda: facts.remember(space, by=person(request.user), **values),
    )
    if done is None or done.row is None:
        return _page(request, space, status=422, form=form)
    return go(request, reverse("facts:detail", args=[space.slug, done.row.pk]))


@in_space(role="curator")
@require_POST
def revise(request, space, pk):
    fact, form = fact_for(space, pk), _form(space, request.POST)
    panel = fact_panel(fact, space=space, user=request.user, now=timezone.now())
    if not form.is_valid():
        return _page(request, space, status=422, form=form, panel=panel)
    values = form.cleaned_data | {"chat": fact_pages.chat_of(space, form.cleaned_data["chat"])}
    done = attempt(
        request,
        _("Revised: “%(text)s”."),
        lambda: facts.revise(fact, by=person(request.user), **values),
    )
    if done is None or done.outcome == "refused":
        status = 409 if getattr(request, "is_said_already", False) else 422
        return _page(request, space, status=status, form=form, panel=panel)
    return settled(request, _beside(request, "facts:detail", space, pk))


def _row(request, fact):
    """The row again, or what the panel listens to when it was asked from there."""
    back = reverse("facts:detail", args=[request.space.slug, fact.pk])
    if request.POST.get("from") == "panel":
        return refreshed(request, back=back)
    row = things(request.space, Fact).select_related("chat").get(pk=fact.pk)
    setting = fact_pages.setting(request.space, FactFilter(), member=request.member)
    return answer(request, "facts/_row.html", {"fact": row, "set": setting}, back=back)


def _act(writer, said, **given):
    return verb(writer, said, fetch=fact_for, respond=_row, **given)


def _keep(fact, *, by):
    return replace(rulings.keep(fact, by=by), row=fact)


forget = _act(facts.forget, gettext_lazy("Forgot “%(text)s”."))
restore = _act(facts.restore, gettext_lazy("Restored “%(text)s”."))
pin = _act(facts.pin, gettext_lazy("Pinned “%(text)s”."))
unpin = _act(facts.unpin, gettext_lazy("Unpinned “%(text)s”."))
discard = _act(facts.discard, gettext_lazy("Put “%(text)s” in the trash."))
deprecate = _act(facts.deprecate, gettext_lazy("Ended “%(text)s”: true once, not any more."))
promote = _act(facts.promote, gettext_lazy("The whole space knows “%(text)s” now."))
release = _act(facts.release, gettext_lazy("Released “%(text)s”."))
quarantine = _act(
    facts.quarantine, gettext_lazy("Set “%(text)s” aside."), reason="set aside by a person"
)
never = _act(
    facts.never_again, gettext_lazy("Put “%(text)s” in the trash; Keno will never remember it.")
)
keep = _act(_keep, gettext_lazy("Kept exactly as it is: “%(text)s”."))


@in_space(role="curator")
@require_POST
def merge(request, space, pk):
    """Another fact into this one."""
    fact, other = fact_for(space, pk), request.POST.get("other", "")
    posted = QueryDict(mutable=True)
    posted.update({"act": "merge", "keep": pk})
    posted.setlist("pick", [str(pk), other])
    done = many.act(space, posted, by=person(request.user), now=timezone.now())
    if done.refusal:
        warn(request, done.refusal)
    else:
        say(request, done.said, undo=undo_url(space, done))
    return refreshed(request, back=_beside(request, "facts:detail", space, fact.pk))


@in_space(role="curator")
@require_POST
def bulk(request, space):
    done = many.act(space, request.POST, by=person(request.user), now=timezone.now())
    if done.refusal:
        warn(request, done.refusal)
    else:
        say(request, done.said, undo=undo_url(space, done))
    back = reverse("facts:index", args=[space.slug])
    wanted = FactFilter.read(QueryDict(request.POST.get("where", "")))
    context = {"list": fact_list(space, wanted, member=request.member, now=timezone.now())}
    return answer(request, "facts/_list.html", context, back=lists.there(back, wanted))


@in_space(role="viewer")
@require_safe
def markdown(request, space, pk):
    return HttpResponse(as_markdown(fact_for(space, pk)), content_type=PLAIN)


@in_space(role="viewer")
@require_safe
def markdown_list(request, space):
    rows = fact_pages.matching(space, FactFilter.read(request.GET), now=timezone.now())
    return HttpResponse(fact_pages.as_markdown(rows), content_type=PLAIN)


def _page(request, space, *, status=200, **context):
    wanted = FactFilter.read(request.GET)
    context["list"] = fact_list(space, wanted, member=request.member, now=timezone.now())
    return render(request, "facts/index.html", context, status=status)


def _form(space, *data, **more):
    chats = lists.chat_choices(lists.chats_of(space))
    return FactForm(*data, chats=chats, **more)


def _as_form(fact):
    names = ("text", "subject", "kind", "category", "confidence")
    where = str(fact.chat_id) if fact.chat_id else "space"
    return {name: getattr(fact, name) for name in names} | {"chat": where}


def _beside(request, name, space, *args):
    """The address with the list's filter kept."""
    url, query = reverse(name, args=[space.slug, *args]), FactFilter.read(request.GET).query()
    return f"{url}?{query}" if query else url


purge = erasing(facts.purge, room="facts", fetch=fact_for, back=_beside)
