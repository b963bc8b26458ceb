"""The second factor: codes of an authenticator app (TOTP, RFC 6238) and recovery codes."""

import base64
import os
import secrets
from datetime import datetime

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac

from kenoweb.models import Account
from memory.history import audit
from memory.history.actors import person
from memory.spaces.connections import seal, unseal

STEP_SECONDS = 30
DIGITS = 6
# How many steps a clock may be early or late.
DRIFT = 1
OFFER_SECONDS = 60 * 60
RECOVERY_CODES = 10
SALT = "keno.two_factor"


def has_app(user: User) -> bool:
    account = getattr(user, "account", None)
    return bool(account and account.totp_secret)


def is_on(user: User) -> bool:
    """Whether the person has an app or a passkey, so that the password is not enough."""
    return has_app(user) or user.passkeys.exists()


def offer(user: User) -> str:
    """Return a new secret, signed so that only this person can send it back, within an hour."""
    secret = base64.b32encode(os.urandom(20)).decode()
    return signing.dumps([user.pk, secret], salt=SALT)


def offered(user: User, token: str) -> str:
    """Return the secret of an offer; "" when it is another person's, or too old."""
    try:
        owner, secret = signing.loads(token, salt=SALT, max_age=OFFER_SECONDS)
    except (signing.BadSignature, ValueError):
        return ""
    return secret if owner == user.pk else ""


def address(user: User, secret: str) -> str:
    return _app(secret).get_provisioning_uri(user.get_username(), "Keno")


def code_at(secret: str, step: int) -> str:
    return _app(secret).generate(step * STEP_SECONDS).decode()


def _app(secret: str) -> TOTP:
    return TOTP(base64.b32decode(secret), DIGITS, SHA1(), STEP_SECONDS)


def matching_step(secret: str, code: str, *, now: datetime) -> int:
    """Return the step whose code this is; 0 when it is not one of now or of a step beside it."""
    current = int(now.timestamp()) // STEP_SECONDS
    steps = range(current - DRIFT, current + DRIFT + 1) if secret else ()
    return next((step for step in steps if constant_time_compare(code_at(secret, step), code)), 0)


@transaction.atomic
def switch_on(user: User, secret: str, *, step: int, ip: str | None) -> list[str]:
    """Ask this person for codes from now on; return the recovery codes, which are shown once."""
    # Under a key that is not in the database, for this person alone.
    sealed = seal(f"{user.pk}:{secret}")
    codes = _renew(user, totp_secret=sealed, totp_step=step)
    audit.record("account.two_factor_on", actor=person(user), obj=user, ip=ip)
    return codes


@transaction.atomic
def renew_recovery(user: User, *, ip: str | None) -> list[str]:
    codes = _renew(user)
    audit.record("account.recovery_renewed", actor=person(user), obj=user, ip=ip)
    return codes


@transaction.atomic
def switch_off(user: User, *, ip: str | None) -> None:
    user.account.totp_secret = ""
    user.account.save(update_fields=["totp_secret"])
    forget_unneeded_codes(user)
    audit.record("account.two_factor_off", actor=person(user), obj=user, ip=ip)


def forget_unneeded_codes(user: User) -> None:
    """Recovery codes stand in for an app or a passkey: without either they open nothing."""
    if not is_on(user):
        Account.objects.filter(user=user).update(recovery=[])


@transaction.atomic
def check(user: User, code: str, *, now: datetime) -> bool:
    """Whether the code is right. Each works once, also when two browsers send it together."""
    account = Account.objects.select_for_update().get(user=user)
    bare = code.replace(" ", "").replace("-", "").lower()
    if len(bare) == DIGITS and bare.isdigit():
        step = matching_step(_unseal(user, account.totp_secret), bare, now=now)
        if step <= account.totp_step:
            return False
        account.totp_step = step
        account.save(update_fields=["totp_step"])
        return True
    digest = _digest(user, bare)
    if digest not in account.recovery:
        return False
    account.recovery.remove(digest)
    account.save(update_fields=["recovery"])
    return True


def _renew(user: User, **fields: str | int) -> list[str]:
    """Save new recovery codes and these fields of the account; return the codes."""
    codes = [secrets.token_hex(5) for _ in range(RECOVERY_CODES)]
    fields["recovery"] = [_digest(user, code) for code in codes]
    user.account, _new = Account.objects.update_or_create(user=user, defaults=fields)
    return [f"{code[:5]}-{code[5:]}" for code in codes]


def _digest(user: User, code: str) -> str:
    return salted_hmac(f"{SALT}.{user.pk}", code, algorithm="sha256").hexdigest()


def _unseal(user: User, sealed: str) -> str:
    """Return the secret; "" under another key: recovery codes and the printed link still work."""
    owner, _, secret = unseal(sealed).partition(":")
    return secret if owner == str(user.pk) else ""
