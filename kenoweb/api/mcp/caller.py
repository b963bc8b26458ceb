"""Who calls: a program with a key, never a person, and what it may not do is a sentence."""

from django.conf import settings
from django.utils.translation import gettext as _

from kenoweb.ui.space_urls import space_url
from memory.history import audit
from memory.models import ApiToken, Space
from memory.spaces import api_tokens


class Refused(Exception):
    """Why a call cannot be answered, as a sentence that says what to do."""


def rights(key: str) -> dict[str, ApiToken]:
    """What the key may do now: scope -> its token. Nothing when the key is no good."""
    found = {scope: api_tokens.find(key, scope=scope) for scope in api_tokens.SCOPES} if key else {}
    return {scope: token for scope, token in found.items() if token}


def admit(key: str, *, scope: str) -> ApiToken:
    """The token, looked up anew: it may have been revoked since the last call."""
    if token := api_tokens.find(key, scope=scope):
        return token
    if not rights(key):
        raise Refused(no_good())
    raise Refused(
        _(
            "The API token may not do this: it lacks the right “%(scope)s”, or its person lost it. "
            "Make one that has it on the page “API tokens” of the dashboard."
        )
        % {"scope": scope}
    )


def missing() -> str:
    return _(
        "KENO_TOKEN is not set: make an API token on the page “API tokens” of the dashboard and "
        "give it to this command in the environment variable KENO_TOKEN."
    )


def no_good() -> str:
    return _(
        "The API token in KENO_TOKEN is not valid: it is mistyped, revoked or run out, or its "
        "person left. Make a new one on the page “API tokens” of the dashboard."
    )


def name_of(token: ApiToken) -> str:
    """The `by` of what it does. A program may pass on anybody's words, so the guards look at it."""
    return f"api:{token.name}"


def note(token: ApiToken, tool: str, *, action: str = "memory.read", **details: object) -> None:
    """One line of the audit for every call that was answered."""
    given = {"token": token.name, "tool": f"mcp {tool}", "person": token.user.username} | details
    audit.record(action, actor=name_of(token), space=token.space, obj=token, **given)


def page(name: str, space: Space, **which: int) -> str:
    """The address of a page; the path alone while nobody has said where Keno is reached."""
    return settings.KENO_URL + space_url(name, space, **which)
