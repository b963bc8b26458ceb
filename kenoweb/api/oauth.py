"""Programs that ask a person to be let in: OAuth 2.1 with PKCE, by django-oauth-toolkit.

The toolkit speaks the protocol (discovery, registration, codes, keys). Ours is the page on which a
person chooses the space, the rights and the gate; what they choose is a row of the page Tokens.
"""

import json
from collections.abc import Callable
from functools import wraps
from urllib.parse import urlsplit

from django import forms
from django.db import DataError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider import views
from oauth2_provider.forms import AllowForm
from oauth2_provider.models import Application

from kenoweb.auth import sessions
from kenoweb.auth.access import Role, memberships, protocol, public, signed_in
from kenoweb.auth.throttle import TooManyTries, client_ip, spend_registration
from kenoweb.ui.middleware import CSP
from memory.models import ApiToken
from memory.spaces import api_tokens
from memory.text.normalise import clean

LOOPBACK = ("localhost", "127.0.0.1", "::1")
GRANTS = {"authorization_code", "refresh_token"}
# What is ticked unless the person ticks more.
USUAL = ("read", "write")


class MayRegister:
    """Anybody may register a program, not too often: it does nothing until a person lets it in."""

    def has_permission(self, request: HttpRequest) -> bool:
        try:
            spend_registration(client_ip(request))
        except TooManyTries:
            return False
        return True


class Register(views.DynamicClientRegistrationView):
    """Registration of programs that come back to https, to this computer or to an app of it."""

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if wrong := _unfit(request.body):
            told = {"error": "invalid_client_metadata", "error_description": wrong}
            return JsonResponse(told, status=400)
        return super().post(request, *args, **kwargs)


def _unfit(body: bytes) -> str:
    try:
        asked = json.loads(body)
        redirects = [urlsplit(one) for one in asked.get("redirect_uris") or []]
        grants = set(asked.get("grant_types") or ["authorization_code"])
    except (ValueError, TypeError, AttributeError):
        return "Request body must be a JSON object with redirect_uris and grant_types."
    if not grants <= GRANTS:
        return "Only authorization_code and refresh_token are given here."
    if any(one.scheme == "http" and one.hostname not in LOOPBACK for one in redirects):
        return "redirect_uris must begin with https, or lead to this computer."
    return ""


class ConsentForm(AllowForm):
    space = forms.ChoiceField(label=gettext_lazy("Space"), required=False)
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"), required=False, widget=forms.CheckboxSelectMultiple
    )
    gate = forms.ChoiceField(
        label=gettext_lazy("What it writes"),
        choices=ApiToken.Gate.choices,
        initial=ApiToken.Gate.HOLD,
        required=False,
        help_text=gettext_lazy(
            "Hold is best for agents: what they write is not believed until a person has seen it."
        ),
    )

    def __init__(self, *args, spaces: list, **kwargs):
        super().__init__(*args, **kwargs)
        self.spaces = {space.slug: space for space in spaces}
        self.fields["space"].choices = [(space.slug, space.name) for space in spaces]
        asked = self.data.get("scope") or self.initial.get("scope") or ""
        offered = [name for name in api_tokens.SCOPES if name in asked.split()]
        self.fields["scopes"].choices = [(name, api_tokens.SCOPES[name]) for name in offered]
        self.initial["scopes"] = [name for name in offered if name in USUAL]

    def visible(self) -> list:
        return [self[name] for name in ("space", "scopes", "gate")]

    def clean(self) -> dict:
        given = super().clean()
        if given.get("allow"):
            if not given.get("scopes"):
                self.add_error("scopes", _("Tick at least one."))
            if not given.get("space"):
                self.add_error("space", _("Choose a space of which you are an owner."))
            given["scope"] = " ".join(given.get("scopes") or [])
        return given


class Consent(views.AuthorizationView):
    """The page on which a person lets a program in, or not."""

    template_name = "oauth/consent.html"
    form_class = ConsentForm

    def get(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        here = request.get_host()
        if any(urlsplit(one).netloc != here for one in request.GET.getlist("resource")):
            error = {"error": "invalid_target", "description": _("It asks for another server.")}
            return self.render_to_response({"error": error}, status=400)
        return super().get(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict:
        owned = [one.space for one in memberships(self.request) if one.may(Role.OWNER)]
        spaces = [space for space in owned if not space.archived_at]
        return super().get_form_kwargs() | {"spaces": spaces}

    def form_valid(self, form: ConsentForm) -> HttpResponse:
        given = form.cleaned_data
        client = Application.objects.filter(client_id=given["client_id"]).first()
        if client is None:
            return self.form_invalid(form)
        if not given["allow"]:
            return super().form_valid(form)
        with transaction.atomic():
            api_tokens.connect(
                form.spaces[given["space"]],
                user=self.request.user,
                client=client,
                scopes=given["scopes"],
                gate=given["gate"] or ApiToken.Gate.HOLD,
                ip=client_ip(self.request),
            )
            response = super().form_valid(form)
            # Whom the protocol refuses a code is not let in.
            transaction.set_rollback("code=" not in response.get("Location", ""))
        return response

    def get_context_data(self, **kwargs) -> dict:
        context = super().get_context_data(**kwargs)
        form = context["form"]
        asked = clean(form.data.get("client_id") or form.initial.get("client_id") or "")
        back = form.data.get("redirect_uri") or form.initial.get("redirect_uri") or ""
        client = Application.objects.filter(client_id=asked).first()
        return context | {"client": client, "back": urlsplit(back)}

    def render_to_response(self, context: dict, **kwargs) -> HttpResponse:
        """The browser may follow the answer of this one form to where the program waits."""
        response = super().render_to_response(context, **kwargs)
        if back := context.get("back"):
            there = f"{back.scheme}:" if not back.netloc else f"{back.scheme}://{back.netloc}"
            response["Content-Security-Policy"] = CSP.replace(
                "form-action 'self'", f"form-action 'self' {there}"
            )
        return response


def challenge(request: HttpRequest) -> str:
    """How a program that has no key learns where to ask for one (RFC 9728)."""
    where = reverse("oauth2_provider:oauth-resource-metadata-path", args=["mcp"])
    return f'Bearer resource_metadata="{request.build_absolute_uri(where)}", scope="read write"'


def _readable(view: Callable) -> Callable:
    """The toolkit looks for whatever it is given; what Postgres cannot hold is no request."""

    @wraps(view)
    def answer(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            with transaction.atomic():
                return view(request, *args, **kwargs)
        except DataError:
            return JsonResponse({"error": "invalid_request"}, status=400)

    return answer


def _program(view: Callable) -> Callable:
    return protocol(_readable(view))


def _page(view: Callable) -> Callable:
    guarded = sessions.sudo(_readable(view))
    guarded.login_required = True  # the toolkit would ask by itself
    return signed_in(guarded)


def urls() -> list[URLPattern]:
    """The addresses of the protocol, with the names that the toolkit looks for."""
    server = public(views.OAuthServerMetadataView.as_view())
    resource = public(views.OAuthProtectedResourceMetadataView.as_view())
    known = ".well-known/oauth"
    return [
        path(f"{known}-authorization-server", server, name="oauth-server-metadata"),
        path(f"{known}-protected-resource", resource, name="oauth-resource-metadata"),
        path(
            f"{known}-protected-resource/<path:resource_path>",
            resource,
            name="oauth-resource-metadata-path",
        ),
        path("oauth/authorize", _page(Consent.as_view()), name="authorize"),
        path("oauth/token", _program(views.TokenView.as_view()), name="token"),
        path("oauth/revoke", _program(views.RevokeTokenView.as_view()), name="revoke-token"),
        path("oauth/register", _program(Register.as_view()), name="dcr-register"),
        path(
            "oauth/register/<str:client_id>",
            _program(csrf_exempt(views.DynamicClientRegistrationManagementView.as_view())),
            name="dcr-register-management",
        ),
    ]
