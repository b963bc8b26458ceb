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
from fido2 import webauthn
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode

from kenoweb.auth import two_factor
from kenoweb.models import Passkey
from memory.history import audit
from memory.history.actors import person

# The challenge that a browser must answer, and for how long it may.
CHALLENGE_KEY = "passkey_asked"
CHALLENGE_SECONDS = 5 * 60
MAX_PASSKEYS = 20
VERIFIED = webauthn.UserVerificationRequirement.REQUIRED


class Refused(ValueError):
    """Why a passkey was not taken, as a sentence for its owner."""


def _server(request: HttpRequest) -> Fido2Server:
    origin = request.build_absolute_uri("/").rstrip("/")
    site = webauthn.PublicKeyCredentialRpEntity(id=urlsplit(origin).hostname, name="Keno")
    return Fido2Server(site, verify_origin=lambda address: address == origin)


def ask_to_add(request: HttpRequest, user: User) -> dict:
    """Return what the browser needs to make a passkey; only the next answer counts."""
    # The device stores this beside the key, so it must not name the person.
    handle = salted_hmac("keno.passkey", str(user.pk), algorithm="sha256").digest()
    name = user.username
    options, state = _server(request).register_begin(
        webauthn.PublicKeyCredentialUserEntity(id=handle, name=name, display_name=name),
        credentials=[_key(passkey) for passkey in user.passkeys.all()],
        resident_key_requirement=webauthn.ResidentKeyRequirement.REQUIRED,
        user_verification=VERIFIED,
    )
    return _remember(request, options, state)


def ask(request: HttpRequest, user: User | None = None) -> dict:
    """Return what the browser needs to show a passkey of this person, or any passkey."""
    keys = [_key(passkey) for passkey in user.passkeys.all()] if user else None
    options, state = _server(request).authenticate_begin(keys, user_verification=VERIFIED)
    return _remember(request, options, state)


def _remember(request: HttpRequest, options, state) -> dict:
    request.session[CHALLENGE_KEY] = {"state": state, "at": time.time()}
    return dict(options)


def _read_answer(request: HttpRequest, text: str) -> tuple[dict, dict]:
    """Return the state of the challenge, which counts once, and the answer of the browser."""
    challenge = request.session.pop(CHALLENGE_KEY, {})
    if time.time() - challenge.get("at", 0) > CHALLENGE_SECONDS:
        raise Refused(_("That took too long, or was used already. Try again."))
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise Refused(_("The browser did not send a passkey. Try again."))
    return challenge["state"], answer


@transaction.atomic
def add(
    request: HttpRequest, user: User, text: str, *, name: str, ip: str | None
) -> tuple[Passkey, list[str]]:
    """Keep the passkey; return it, with recovery codes to show once if it is the first."""
    state, answer = _read_answer(request, text)
    if user.passkeys.count() >= MAX_PASSKEYS:
        raise Refused(_("Remove a passkey first: %(most)s are enough.") % {"most": MAX_PASSKEYS})
    try:
        result = _server(request).register_complete(state, answer)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(_("This passkey was not made for this address. Try again.")) from error
    data = result.credential_data
    assert data is not None
    credential_id = websafe_encode(data.credential_id)
    if Passkey.objects.filter(credential_id=credential_id).exists():
        raise Refused(_("This passkey is known already."))
    passkey = user.passkeys.create(
        name=" ".join(name.split())[:60] or _("Passkey"),
        credential_id=credential_id,
        public_key=websafe_encode(bytes(data)),
        counter=result.counter,
    )
    audit.record("account.passkey_added", actor=person(user), obj=user, ip=ip)
    has_codes = hasattr(user, "account") and user.account.recovery
    return passkey, [] if has_codes else two_factor.renew_recovery(user, ip=ip)


@transaction.atomic
def check(request: HttpRequest, text: str, *, user: User | None = None, now: datetime) -> User:
    """Return the person whose passkey answered the challenge; only `user` if one is given."""
    state, answer = _read_answer(request, text)
    rows = Passkey.objects.select_for_update(of=("self",)).select_related("user", "user__account")
    passkey = rows.filter(credential_id=str(answer.get("id", ""))).first()
    if passkey is None or not passkey.user.is_active or user not in (None, passkey.user):
        raise Refused(_("This passkey is not known here."))
    try:
        response = webauthn.AuthenticationResponse.from_dict(answer)
        _server(request).authenticate_complete(state, [_key(passkey)], response)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(_("This passkey does not fit this address. Try again.")) from error
    counter = response.response.authenticator_data.counter
    # A counter that does not rise means a copy; most passkeys always say 0.
    if passkey.counter and counter <= passkey.counter:
        raise Refused(_("This passkey may have been copied. Sign in another way and remove it."))
    passkey.counter, passkey.used_at = counter, now
    passkey.save(update_fields=["counter", "used_at"])
    return passkey.user


@transaction.atomic
def remove(passkey: Passkey, *, ip: str | None) -> None:
    user = passkey.user
    passkey.delete()
    two_factor.forget_unneeded_codes(user)
    audit.record("account.passkey_removed", actor=person(user), obj=user, ip=ip)


def _key(passkey: Passkey) -> webauthn.AttestedCredentialData:
    return webauthn.AttestedCredentialData(websafe_decode(passkey.public_key))
