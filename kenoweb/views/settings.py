"""The settings of a space that its memory and its bot obey. Only owners."""

from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from kenoweb.access import in_space
from kenoweb.actions import show_form
from kenoweb.address import client_ip
from kenoweb.setting_pages import SettingsForm, versions, who_answers
from kenoweb.verbs import attempt
from memory import spaces
from memory.actors import person


@in_space(role="owner")
@require_http_methods(["GET", "HEAD", "POST"])
def index(request, space):
    form = SettingsForm(request.POST or None, space=space)
    if request.method == "POST" and form.is_valid():
        known = {"by": person(request.user), "ip": client_ip(request)}
        changed = form.changed()
        attempt(request, _("Saved."), lambda: spaces.configure(space, values=changed, **known))
        return redirect("settings:index", space.slug)
    answers = who_answers(space, now=timezone.now())
    steps = versions(space, user=request.user)
    return show_form(request, "settings/index.html", form, answers=answers, versions=steps)
