"""Programs that ask a person for access: OAuth 2.1 with PKCE, by django-oauth-toolkit.

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
from kenoweb.membership.forms import gate_field
from kenoweb.ui.middleware import CSP
from memory.models import ApiToken
from memory.spaces import api_tokens
from memory.text.normalise import clean

LOOPBACK = ("localhost", "127.0.0.1", "::1")
GRANTS = {"authorization_code", "refresh_token"}
TICKED_SCOPES = ("read", "write")


class MayRegister:
    """Anyone may register a program, not too often: it can do nothing until a person allows it."""

    def has_permission(self, request: HttpRequest) -> bool:
        try:
            spend_registration(client_ip(request))
        except TooManyTries:
            return False
        return True


class Register(views.DynamicClientRegistrationView):
    """Register programs that redirect to https, to this computer or to an app on it."""

    def post(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        if wrong := _registration_problem(request.body):
            error = {"error": "invalid_client_metadata", "error_description": wrong}
            return JsonResponse(error, status=400)
        return super().post(request, *args, **kwargs)


def _registration_problem(body: bytes) -> str:
    try:
        client = json.loads(body)
        redirects = [urlsplit(uri) for uri in client.get("redirect_uris") or []]
        grants = set(client.get("grant_types") or ["authorization_code"])
    except (ValueError, TypeError, AttributeError):
        return "Request body must be a JSON object with redirect_uris and grant_types."
    if not grants <= GRANTS:
        return "Only authorization_code and refresh_token are given here."
    if any(uri.scheme == "http" and uri.hostname not in LOOPBACK for uri in redirects):
        return "redirect_uris must begin with https, or lead to this computer."
    return ""


class ConsentForm(AllowForm):
    space = forms.ChoiceField(label=gettext_lazy("Space"), required=False)
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"), required=False, widget=forms.CheckboxSelectMultiple
    )
    gate = gate_field(required=False)

    def __init__(self, *args, spaces: list, **kwargs):
        super().__init__(*args, **kwargs)
        self.spaces = {space.slug: space for space in spaces}
        self.fields["space"].choices = [(space.slug, space.name) for space in spaces]
        requested = (self.data.get("scope") or self.initial.get("scope") or "").split()
        offered = [name for name in api_tokens.SCOPES if name in requested]
        self.fields["scopes"].choices = [(name, api_tokens.SCOPES[name]) for name in offered]
        self.initial["scopes"] = [name for name in offered if name in TICKED_SCOPES]

    def visible(self) -> list:
        return [self[name] for name in ("space", "scopes", "gate")]

    def clean(self) -> dict:
        values = super().clean()
        if values.get("allow"):
            if not values.get("scopes"):
                self.add_error("scopes", _("Tick at least one."))
            if not values.get("space"):
                self.add_error("space", _("Choose a space of which you are an owner."))
            values["scope"] = " ".join(values.get("scopes") or [])
        return values


class Consent(views.AuthorizationView):
    """The page on which a person gives a program access, or does not."""

    template_name = "oauth/consent.html"
    form_class = ConsentForm

    def get(self, request: HttpRequest, *args, **kwargs) -> HttpResponse:
        resources = map(urlsplit, request.GET.getlist("resource"))
        if any(resource.netloc != request.get_host() for resource in resources):
            error = {"error": "invalid_target", "description": _("It asks for another server.")}
            return self.render_to_response({"error": error}, status=400)
        return super().get(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict:
        members = [member for member in memberships(self.request) if member.may(Role.OWNER)]
        spaces = [member.space for member in members if not member.space.archived_at]
        return super().get_form_kwargs() | {"spaces": spaces}

    def form_valid(self, form: ConsentForm) -> HttpResponse:
        values = form.cleaned_data
        client = Application.objects.filter(client_id=values["client_id"]).first()
        if client is None:
            return self.form_invalid(form)
        if not values["allow"]:
            return super().form_valid(form)
        with transaction.atomic():
            api_tokens.connect(
                form.spaces[values["space"]],
                user=self.request.user,
                client=client,
                scopes=values["scopes"],
                gate=values["gate"] or ApiToken.Gate.HOLD,
                ip=client_ip(self.request),
            )
            response = super().form_valid(form)
            # Without a code of the protocol, no token is made.
            transaction.set_rollback("code=" not in response.get("Location", ""))
        return response

    def get_context_data(self, **kwargs) -> dict:
        context = super().get_context_data(**kwargs)
        form = context["form"]
        values = form.initial | {name: value for name, value in form.data.items() if value}
        client_id = clean(values.get("client_id") or "")
        client = Application.objects.filter(client_id=client_id).first()
        return context | {"client": client, "back": urlsplit(values.get("redirect_uri") or "")}

    def render_to_response(self, context: dict, **kwargs) -> HttpResponse:
        """Let the browser follow the answer of this one form to where the program waits."""
        response = super().render_to_response(context, **kwargs)
        if back := context.get("back"):
            target = f"{back.scheme}:" if not back.netloc else f"{back.scheme}://{back.netloc}"
            policy = CSP.replace("form-action 'self'", f"form-action 'self' {target}")
            response["Content-Security-Policy"] = policy
        return response


def challenge(request: HttpRequest) -> str:
    """Tell a program that has no key where to ask for one (RFC 9728)."""
    path = reverse("oauth2_provider:oauth-resource-metadata-path", args=["mcp"])
    return f'Bearer resource_metadata="{request.build_absolute_uri(path)}", scope="read write"'


def _refuse_unreadable(view: Callable) -> Callable:
    """Answer 400 to values that Postgres cannot hold: the toolkit looks them up unchecked."""

    @wraps(view)
    def answer(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            with transaction.atomic():
                return view(request, *args, **kwargs)
        except DataError:
            return JsonResponse({"error": "invalid_request"}, status=400)

    return answer


def urls() -> list[URLPattern]:
    server = public(views.OAuthServerMetadataView.as_view())
    resource = public(views.OAuthProtectedResourceMetadataView.as_view())
    consent = sessions.sudo(_refuse_unreadable(Consent.as_view()))
    consent.login_required = True  # the toolkit would ask by itself
    registered = csrf_exempt(views.DynamicClientRegistrationManagementView.as_view())
    well_known = ".well-known/oauth-protected-resource"
    for_programs = {
        "token": ("oauth/token", views.TokenView.as_view()),
        "revoke-token": ("oauth/revoke", views.RevokeTokenView.as_view()),
        "dcr-register": ("oauth/register", Register.as_view()),
        "dcr-register-management": ("oauth/register/<str:client_id>", registered),
    }
    return [
        path(".well-known/oauth-authorization-server", server, name="oauth-server-metadata"),
        path(well_known, resource, name="oauth-resource-metadata"),
        path(f"{well_known}/<path:resource_path>", resource, name="oauth-resource-metadata-path"),
        path("oauth/authorize", signed_in(consent), name="authorize"),
        *(
            path(route, protocol(_refuse_unreadable(view)), name=name)
            for name, (route, view) in for_programs.items()
        ),
    ]
