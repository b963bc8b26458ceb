"""Signing in with an account of another site (OpenID Connect): an extra, off unless set.

Nobody comes in who was not invited: an account there is linked on one's own account page first.
The protocol (discovery, PKCE, nonce, signatures) is Authlib's.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from kenoweb.models import OidcAccount
from memory.history import audit
from memory.history.actors import person

# Why the person was sent to the other site; read once.
REQUEST_KEY = "oidc_asked"


class Refused(ValueError):
    """Why an account of another site was not taken, as a sentence."""


def is_on() -> bool:
    return bool(settings.KENO_OIDC_ISSUER and settings.KENO_OIDC_CLIENT_ID)


def _client() -> Any:
    # An extra: imported only where it is used.
    from authlib.integrations.django_client import OAuth

    issuer = settings.KENO_OIDC_ISSUER.rstrip("/")
    return OAuth().register(
        "provider",
        client_id=settings.KENO_OIDC_CLIENT_ID,
        client_secret=settings.KENO_OIDC_CLIENT_SECRET or None,
        server_metadata_url=f"{issuer}/.well-known/openid-configuration",
        client_kwargs={"scope": "openid", "code_challenge_method": "S256", "timeout": 10},
    )


def leave(request: HttpRequest, *, why: str, there: str = "") -> HttpResponse:
    """Send the person to the other site: to sign in here, or to link their account there."""
    request.session[REQUEST_KEY] = {"why": why, "next": there, "user": request.user.pk}
    back = request.build_absolute_uri(reverse("account:oidc_back"))
    try:
        return _client().authorize_redirect(request, back)
    except Exception as error:  # whatever is wrong there, signing in here goes on
        raise _refusal(_("%(name)s does not answer. Sign in with your password.")) from error


def come_back(request: HttpRequest) -> tuple[str, dict]:
    """Return the account's id at the other site, and why the person was sent there."""
    reason = request.session.pop(REQUEST_KEY, None)
    if not reason:
        raise Refused(_("That took too long, or was used already. Try again."))
    try:
        token = _client().authorize_access_token(request)
        claims = token["userinfo"]
        if claims["iss"].rstrip("/") != settings.KENO_OIDC_ISSUER.rstrip("/"):
            raise ValueError(claims["iss"])
        return str(claims["sub"]), reason
    except Exception as error:  # each of its faults means the same: nobody is signed in
        raise _refusal(_("%(name)s did not say who you are. Try again.")) from error


def linked_user(subject: str) -> User:
    rows = OidcAccount.objects.select_related("user", "user__account")
    row = rows.filter(issuer=settings.KENO_OIDC_ISSUER, subject=subject).first()
    if row is None or not row.user.is_active:
        raise _refusal(
            _("This account of %(name)s is not linked: link it on your account page first.")
        )
    return row.user


@transaction.atomic
def link(user: User, subject: str, *, ip: str | None) -> None:
    try:
        with transaction.atomic():
            OidcAccount.objects.update_or_create(
                user=user, issuer=settings.KENO_OIDC_ISSUER, defaults={"subject": subject}
            )
    except IntegrityError as error:
        raise _refusal(_("This account of %(name)s is linked by somebody else.")) from error
    audit.record("account.oidc_linked", actor=person(user), obj=user, ip=ip)


@transaction.atomic
def unlink(user: User, *, ip: str | None) -> None:
    if OidcAccount.objects.filter(user=user).delete()[0]:
        audit.record("account.oidc_unlinked", actor=person(user), obj=user, ip=ip)


def _refusal(sentence: str) -> Refused:
    return Refused(sentence % {"name": settings.KENO_OIDC_NAME})
