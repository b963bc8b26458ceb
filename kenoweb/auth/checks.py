"""The unsafe settings with which Keno does not start."""

import ipaddress

from django.conf import settings
from django.core.checks import Error, register

from kenoweb.data_dir import NotReady
from kenoweb.environment import envstr

NEW_KEY = "python3 -c 'import secrets; print(secrets.token_urlsafe(64))'"


def problems(
    *,
    secret: str,
    hosts: list[str],
    debug: bool,
    host: str,
    https: bool = False,
    proxies: int = 0,
    plain: bool = False,
) -> dict[str, str]:
    """Return every unsafe setting under its id, as a sentence that says what to do."""
    is_weak = len(secret) < 32 or len(set(secret)) < 5 or secret.startswith("django-insecure-")
    checks = {
        "keno.E001": is_weak
        and "The secret key is missing, short or a well-known one: unset KENO_SECRET_KEY to use "
        f"the one in KENO_HOME, or set it to the output of {NEW_KEY}",
        "keno.E002": "*" in hosts
        and "KENO_HOSTS may not hold *: list the names people type, such as keno.lan.",
        "keno.E003": (debug and not is_local(host))
        and f"KENO_DEBUG shows secrets to whoever reaches {host}: unset it, or bind to 127.0.0.1.",
        "keno.E004": (https and not proxies)
        and "KENO_HTTPS needs a proxy that speaks HTTPS in front: set KENO_PROXIES to 1, "
        "or every page redirects to itself.",
        "keno.E005": not (is_local(host) or proxies or plain)
        and f"Other machines could reach {host} without encryption: bind to 127.0.0.1, or put a "
        "proxy with HTTPS in front and set KENO_PROXIES to 1, or, if only a network of your "
        "own reaches it, set KENO_PLAIN_HTTP to true.",
    }
    return {name: sentence for name, sentence in checks.items() if sentence}


def refuse(host: str) -> None:
    """Stop here unless everything is safe on this address."""
    for sentence in _here(host).values():
        raise NotReady(sentence)


@register("security")
def check_settings(app_configs, **kwargs) -> list[Error]:
    host = envstr("KENO_BIND").rpartition(":")[0]
    return [Error(sentence, id=name) for name, sentence in _here(host).items()]


def is_local(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in {"", "localhost"}


def _here(host: str) -> dict[str, str]:
    # Not settings.SECRET_KEY: Django raises when that is empty.
    secret = getattr(settings, "_wrapped", settings).__dict__.get("SECRET_KEY", "")
    return problems(
        secret=secret,
        hosts=settings.ALLOWED_HOSTS,
        debug=settings.DEBUG,
        host=host,
        https=settings.KENO_HTTPS,
        proxies=settings.KENO_PROXIES,
        plain=settings.KENO_PLAIN_HTTP,
    )
