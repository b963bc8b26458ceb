"""Who Keno is: the core that only owners write, rules, preferences."""

from django.http import Http404
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kenoweb.auth.access import get_in_space_or_404, in_space
from kenoweb.auth.sessions import go, sudo
from kenoweb.identity.forms import CoreForm, PreferenceForm, RuleForm
from kenoweb.identity.page import identity_page, weight
from kenoweb.ui.responses import show_form
from kenoweb.ui.row_actions import refreshed, run_and_toast
from memory.history.actors import person
from memory.identity import bootstrap, core, preferences, prompt, rules
from memory.models import Preference
from memory.text.normalise import clean

TRIED = 2000
LOOK_OR_SEND = ["GET", "HEAD", "POST"]


@in_space(role="viewer")
@require_safe
def index(request, space):
    said = clean(request.GET.get("reply", ""))[:TRIED]
    page = identity_page(space, user=request.user, now=timezone.now(), said=said)
    return render(request, "identity/index.html", {"page": page})


@in_space(role="viewer")
@require_safe
def as_prompt(request, space):
    parts = weight(space, rules.active(space))
    context = {"text": prompt(space), "tokens": sum(count for _name, count in parts)}
    return render(request, "identity/as_prompt.html", context)


@in_space(role="owner")
@sudo
@require_http_methods(LOOK_OR_SEND)
def edit(request, space):
    form = CoreForm(request.POST or None, initial={"text": core.read(space)})
    if request.method != "POST" or not form.is_valid():
        return show_form(request, "identity/edit.html", form)
    by, said = person(request.user), form.cleaned_data["text"]
    run_and_toast(request, _("The core was changed."), lambda: core.write(space, text=said, by=by))
    return go(request, _index(space))


@in_space(role="curator")
@require_http_methods(LOOK_OR_SEND)
def rule(request, space):
    """One rule: the form for a new one, or for the one named in the address."""
    old = _rule(space, request.GET.get("slug", ""))
    form = _rule_form(request, old)
    if request.method != "POST" or not form.is_valid():
        return show_form(request, "identity/rule.html", form, old=old)
    values = form.values() | ({"slug": old.slug} if old else {})
    by = person(request.user)
    done = run_and_toast(request, _("The rule holds."), lambda: rules.put(space, by=by, **values))
    if done is None:
        return show_form(request, "identity/rule.html", form, old=old)
    return go(request, _index(space))


@in_space(role="curator")
@require_POST
def retire(request, space):
    slug, by = clean(request.POST.get("slug", ""))[:80], person(request.user)
    if slug:
        said = _("The rule is out of force.")
        run_and_toast(request, said, lambda: rules.retire(space, slug=slug, by=by))
    return refreshed(request, back=_index(space))


@in_space(role="curator")
@require_http_methods(LOOK_OR_SEND)
def prefer(request, space):
    """One preference: the form for a new one, or for the one whose number is in the address."""
    old = _preference(space, request.GET.get("pk", ""))
    known = PreferenceForm.of(old) if old else PreferenceForm.asked(request.GET)
    form = PreferenceForm(request.POST or None, initial=known, old=old)
    if request.method != "POST" or not form.is_valid():
        return show_form(request, "identity/prefer.html", form, old=old)
    values, by = form.wording(), person(request.user)
    run_and_toast(request, _("Noted."), lambda: preferences.reword(space, old, by=by, **values))
    return go(request, _index(space))


@in_space(role="curator")
@require_POST
def drop(request, space, pk):
    one, by = get_in_space_or_404(space, Preference, pk), person(request.user)
    run_and_toast(request, _("Dropped “%(text)s”."), lambda: preferences.drop(one, by=by))
    return refreshed(request, back=_index(space))


@in_space(role="curator")
@require_POST
def end_talk(request, space):
    """The first conversation ends here, with what is known by now."""
    by = person(request.user)
    said = _("The first conversation is over; what was found stands among the preferences.")
    run_and_toast(request, said, lambda: bootstrap.end(space, by=by))
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
