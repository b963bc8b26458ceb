from django.conf import settings
from django.db.models import F
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.auth.client_ip import client_ip
from kenoweb.auth.sessions import sudo
from kenoweb.membership.forms import TokenForm
from kenoweb.ui.responses import show_form, toast
from memory.history.actors import person
from memory.models import ApiToken
from memory.spaces import api_tokens

LIVE_FIRST = F("revoked_at").asc(nulls_first=True)


@in_space(role="owner")
@require_safe
def index(request, space):
    rows = rows_in(space, ApiToken).select_related("user").order_by(LIVE_FIRST, "-created_at")
    return render(request, "tokens/index.html", {"tokens": rows, "now": timezone.now()})


@in_space(role="owner")
@sudo
@require_http_methods(["GET", "HEAD", "POST"])
def new(request, space):
    form = TokenForm(request.POST or None)
    if not form.is_valid():
        return show_form(request, "tokens/new.html", form)
    name, scopes = form.cleaned_data["name"], form.cleaned_data["scopes"]
    token, key = api_tokens.create(
        space,
        user=request.user,
        name=name,
        scopes=scopes,
        expires_at=form.expires_at(),
        ip=client_ip(request),
    )
    # No redirect: the key exists in this one answer and nowhere else.
    return render(request, "tokens/made.html", {"token": token, "key": key} | _door())


@in_space(role="owner")
@require_POST
def revoke(request, space, pk):
    token = get_in_space_or_404(space, ApiToken, pk)
    api_tokens.revoke(token, by=person(request.user), ip=client_ip(request))
    toast(request, _("Revoked “%(name)s”.") % {"name": token.name})
    return redirect("tokens:index", space.slug)


def _door() -> dict:
    """Where the key opens something, and whether somebody listens there."""
    api = f"http://{settings.HTTP_HOST}:{settings.HTTP_PORT}/api/v1/"
    return {"api": api, "is_open": settings.HTTP_ENABLED}
