"""Passkeys (WebAuthn): signing in, and being asked again, with a device instead of a password.

A passkey proves that its device is there and that whoever holds it unlocked it: it is both factors
in one, so user verification is always required. The protocol itself is python-fido2's.
"""

import json
import time
from datetime import datetime
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from kenoweb.auth import two_factor
from kenoweb.models import Passkey
from memory.history import audit
from memory.history.actors import person

# What was asked of a browser, and for how long it may take to answer.
ASKED, ASKED_SECONDS = "passkey_asked", 5 * 60
MOST = 20
VERIFIED = UserVerificationRequirement.REQUIRED


class Refused(ValueError):
    """Why a passkey was not taken, as a sentence for its owner."""


def _server(request: HttpRequest) -> Fido2Server:
    origin = request.build_absolute_uri("/").rstrip("/")
    here = PublicKeyCredentialRpEntity(id=urlsplit(origin).hostname, name="Keno")
    return Fido2Server(here, verify_origin=lambda said: said == origin)


def ask_to_add(request: HttpRequest, user: User) -> dict:
    """What the browser needs to make a passkey for this person; only the next answer counts."""
    # The device keeps this beside the key: it names nobody.
    handle = salted_hmac("keno.passkey", str(user.pk), algorithm="sha256").digest()
    options, state = _server(request).register_begin(
        PublicKeyCredentialUserEntity(id=handle, name=user.username, display_name=user.username),
        credentials=[_key(one) for one in user.passkeys.all()],
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=VERIFIED,
    )
    return _asked(request, options, state)


def ask(request: HttpRequest, user: User | None = None) -> dict:
    """What the browser needs to show a passkey: one of this person's, or anybody's."""
    mine = [_key(one) for one in user.passkeys.all()] if user else None
    options, state = _server(request).authenticate_begin(mine, user_verification=VERIFIED)
    return _asked(request, options, state)


def _asked(request: HttpRequest, options, state) -> dict:
    request.session[ASKED] = {"state": state, "at": time.time()}
    return dict(options)


def _answered(request: HttpRequest, written: str) -> tuple[dict, dict]:
    """What was asked, which counts once, and the answer."""
    asked = request.session.pop(ASKED, {})
    if time.time() - asked.get("at", 0) > ASKED_SECONDS:
        raise Refused(_("That took too long, or was used already. Try again."))
    try:
        answer = json.loads(written)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Refused(_("The browser did not send a passkey. Try again."))
    return asked["state"], answer


@transaction.atomic
def add(
    request: HttpRequest, user: User, written: str, *, name: str, ip: str | None
) -> tuple[Passkey, list[str]]:
    """Keep the passkey; with the first one come recovery codes, which are shown once."""
    state, answer = _answered(request, written)
    if user.passkeys.count() >= MOST:
        raise Refused(_("Remove a passkey first: %(most)s are enough.") % {"most": MOST})
    try:
        made = _server(request).register_complete(state, answer)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(_("This passkey was not made for this address. Try again.")) from error
    data = made.credential_data
    assert data is not None
    digest = websafe_encode(data.credential_id)
    if Passkey.objects.filter(credential_id=digest).exists():
        raise Refused(_("This passkey is known already."))
    passkey = Passkey.objects.create(
        user=user,
        name=" ".join(name.split())[:60] or _("Passkey"),
        credential_id=digest,
        public_key=websafe_encode(bytes(data)),
        counter=made.counter,
    )
    audit.record("account.passkey_added", actor=person(user), obj=user, ip=ip)
    has_codes = bool(user.account.recovery) if hasattr(user, "account") else False
    return passkey, [] if has_codes else two_factor.renew_recovery(user, ip=ip)


@transaction.atomic
def check(request: HttpRequest, written: str, *, user: User | None = None, now: datetime) -> User:
    """The person whose passkey answered what was asked, of this person's if one is given."""
    state, answer = _answered(request, written)
    found = Passkey.objects.select_for_update(of=("self",)).select_related("user", "user__account")
    passkey = found.filter(credential_id=str(answer.get("id", ""))).first()
    if passkey is None or not passkey.user.is_active or user not in (None, passkey.user):
        raise Refused(_("This passkey is not known here."))
    try:
        response = AuthenticationResponse.from_dict(answer)
        _server(request).authenticate_complete(state, [_key(passkey)], response)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(_("This passkey does not fit this address. Try again.")) from error
    counter = response.response.authenticator_data.counter
    # One that counts and does not go on was copied; most passkeys always say 0.
    if passkey.counter and counter <= passkey.counter:
        raise Refused(_("This passkey may have been copied. Sign in another way and remove it."))
    passkey.counter, passkey.used_at = counter, now
    passkey.save(update_fields=["counter", "used_at"])
    return passkey.user


def find(user: User, pk: int) -> Passkey | None:
    return user.passkeys.filter(pk=pk).first()


@transaction.atomic
def remove(passkey: Passkey, *, ip: str | None) -> None:
    user = passkey.user
    passkey.delete()
    two_factor.forget_unneeded_codes(user)
    audit.record("account.passkey_removed", actor=person(user), obj=user, ip=ip)


def _key(passkey: Passkey) -> AttestedCredentialData:
    return AttestedCredentialData(websafe_decode(passkey.public_key))
