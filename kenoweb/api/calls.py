"""Who calls, what their token may see, and what is written down about the call."""

from django.conf import settings
from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import Role, rows_in
from kenoweb.ui.list_page import Order, part, read_cursor
from kenoweb.ui.responses import space_url
from memory.history import audit
from memory.history.changes import events_of
from memory.models import ApiToken, Chat, Fact, Ruling, Space
from memory.spaces import api_tokens

NO_KEY = gettext_lazy(
    "No API token was given: make one on the page “API tokens” of the dashboard and send it as "
    "“Authorization: Bearer …”, or in the environment variable KENO_TOKEN of the command."
)
INVALID_KEY = gettext_lazy(
    "The API token is not valid: it is mistyped, revoked or run out, or its person left. "
    "Make a new one on the page “API tokens” of the dashboard."
)


class Refused(Exception):
    """Why a call cannot be answered, as a sentence that says what to do, with its HTTP status."""

    def __init__(self, sentence: str, status: int = 400, *, after: int = 0):
        super().__init__(str(sentence))
        self.status, self.after = status, after


def rights(key: str) -> dict[str, ApiToken]:
    """Return what the key may do now, as scope -> token; nothing when the key is not valid."""
    scopes = api_tokens.SCOPES if key else ()
    tokens = {scope: api_tokens.find(key, scope=scope) for scope in scopes}
    return {scope: token for scope, token in tokens.items() if token}


def admit(key: str, *, scope: str, role: str = Role.VIEWER) -> ApiToken:
    """Return the token, looked up anew: it may have been revoked since the last call."""
    token = api_tokens.find(key, scope=scope) if key else None
    if token is None and not rights(key):
        raise Refused(INVALID_KEY if key else NO_KEY, 401)
    if token is None:
        sentence = _(
            "The API token may not do this: it lacks the right “%(scope)s”, or its person lost "
            "it. Make one that has it on the page “API tokens” of the dashboard."
        )
        raise Refused(sentence % {"scope": scope}, 403)
    if not token.member.may(role):
        raise Refused(_("The person of this token may not do this."), 403)
    token.space.hides_forgotten = not token.member.may(Role.CURATOR)
    closed = Chat.objects.filter(space=token.space, is_private=True).exclude(owner=token.member)
    token.space.hidden_chats = list(closed.values_list("pk", flat=True))
    return token


def name_of(token: ApiToken) -> str:
    """Return the `by` of what the token does; the guards screen what comes by it."""
    return f"api:{token.name}"


def note(token: ApiToken, what: str, *, action: str = "memory.read", **details: object) -> None:
    """Write one line of the audit for a call that was answered."""
    details = {"token": token.name, "tool": what, "person": token.user.username} | details
    audit.record(action, actor=name_of(token), space=token.space, obj=token, **details)


def page(name: str, space: Space, **which: object) -> str:
    """Return the address of a page; only its path where KENO_URL is not set."""
    return settings.KENO_URL + space_url(name, space, **which)


def is_private(token: ApiToken) -> bool:
    """Whether it may see what was said in single chats, beside what the whole space knows."""
    return "private" in token.scopes


def visible(token: ApiToken, model: type[Model]) -> QuerySet:
    rows = mentionable(token, rows_in(token.space, model))
    has_chat = any(field.name == "chat" for field in model._meta.fields)
    return rows.filter(Q() if is_private(token) else Q(chat=None)) if has_chat else rows


def mentionable(token: ApiToken, rows: QuerySet) -> QuerySet:
    """Leave out facts under a "don't mention" ruling, unless the token sees single chats."""
    key = {Fact: "pk", events_of(Fact).model: "pgh_obj_id"}.get(rows.model)
    if key is None or is_private(token):
        return rows
    ruled = Ruling.objects.filter(space=token.space, kind=Ruling.Kind.DONT_MENTION, status="active")
    return rows.exclude(**{f"{key}__in": ruled.exclude(fact=None).values("fact")})


def find(token: ApiToken, rows: QuerySet, pk: int, what: str) -> Model:
    row = rows.filter(pk=pk).first()
    if row is None:
        sentence = _("There is no %(what)s %(id)s that this token may see.")
        raise Refused(sentence % {"what": what, "id": pk}, 404)
    return row


def cut_page(rows: QuerySet, order: Order, params) -> tuple[list, str]:
    if params.after and not read_cursor(params.after, order):
        raise Refused(_("“after” must be what the answer before gave as “next”, or be left out."))
    result = part(rows, order=order, after=params.after, size=params.limit)
    return result.rows, result.after
