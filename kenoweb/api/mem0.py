"""The addresses and shapes of mem0, so that its own client works with this host unchanged.

The token names the space. A `user_id` (or agent, app, run) is a conversation of its own: what is
added there is known there, beside what the whole space knows. A `user_id` is also who speaks;
without one it is the person whose token it is.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from kenoweb.api import shapes, writing
from kenoweb.api.calls import Refused, find, mentionable, name_of, note
from kenoweb.api.operations import admit_within_limit, pass_gate
from kenoweb.api.reading import fact_history
from kenoweb.api.rest import explain, key_of
from kenoweb.auth.access import rows_in, with_token
from memory.chats import service as chats
from memory.facts import service as facts
from memory.models import ApiToken, Chat, Fact
from memory.retrieval.recall import recall

CHANNEL = "mem0"
OWNER_FIELDS = ("user_id", "agent_id", "app_id", "run_id")
MAX_ROWS = 100
EVENTS = {"new": "ADD", "again": "NONE", "superseded": "UPDATE", "restored": "ADD"}


def endpoint(**by_method: tuple[str, Callable]) -> Callable:
    """Return a view: for each method the right it needs and the function that answers."""

    def view(request: HttpRequest, **which: str) -> HttpResponse:
        try:
            key = key_of(request, "token")
            if not key:
                raise Refused(_("Send “Authorization: Token …” with an API token."), 401)
            if request.method not in by_method:
                return HttpResponse(status=405, headers={"Allow": ", ".join(by_method)})
            scope, do = by_method[request.method]
            token = admit_within_limit(key, scope)
            return JsonResponse(do(token, _read_params(request), **which), safe=False)
        except Exception as error:
            return explain(error)

    return csrf_exempt(with_token(view))


def _read_params(request: HttpRequest) -> dict[str, Any]:
    try:
        body = json.loads(request.body) if request.body else {}
    except (ValueError, RecursionError):
        raise Refused(_("The body is not JSON.")) from None
    if not isinstance(body, dict):
        raise Refused(_("The body must be a JSON object."))
    return request.GET.dict() | body


def _who(params: Any) -> str:
    """Return whose memories are meant: the first id that the request or its filters name."""
    if isinstance(params, list):
        return next(filter(None, map(_who, params)), "")
    if not isinstance(params, dict):
        return ""
    own = (params[name] for name in OWNER_FIELDS if params.get(name) not in (None, "", "*"))
    inner = (_who(params[name]) for name in ("filters", "AND", "OR") if name in params)
    return next(filter(None, (*map(_plain, own), *inner)), "")


def _plain(value: Any) -> str:
    if isinstance(value, dict):  # {"in": ["ana"]}
        value = next((item for items in value.values() for item in items), "")
    return str(value)[:120]


def _conversation(token: ApiToken, who: str, *, make: bool = False) -> Chat | None:
    name = _id_prefix(token) + hashlib.sha256((who or "main").encode()).hexdigest()[:24]
    if make:
        return chats.find_or_open(token.space, channel=CHANNEL, external_id=name, title=who)
    rows = rows_in(token.space, Chat).filter(channel=CHANNEL, external_id=name)
    return rows.select_related("space").first()


def _id_prefix(token: ApiToken) -> str:
    """Return how the ids of a person's conversations begin; other people's tokens see none."""
    return f"{token.user_id}-"


def _rows(token: ApiToken, who: str = "") -> QuerySet:
    """Return the facts of one conversation, or of all the person's and of the whole space."""
    rows = mentionable(token, rows_in(token.space, Fact)).filter(status=Fact.Status.ACTIVE)
    rows = rows.select_related("chat", "space")
    if who:
        chat = _conversation(token, who)
        return rows.filter(chat=chat) if chat else rows.none()
    own = Q(chat__channel=CHANNEL, chat__external_id__startswith=_id_prefix(token))
    return rows.filter(Q(chat=None) | own)


def _shape(fact: Fact, **more: Any) -> dict[str, Any]:
    return {
        "id": str(fact.pk),
        "memory": fact.text,
        "user_id": fact.chat.title if fact.chat_id else None,
        "hash": fact.said_key,
        "metadata": {"subject": fact.subject, "quote": fact.quote},
        "categories": [fact.category],
        "created_at": fact.created_at.isoformat(),
        "updated_at": fact.updated_at.isoformat(),
    } | more


def ping(token: ApiToken, params: dict) -> dict:
    """Say whose key it is. The client wants an organisation and a project: the space is both."""
    slug, email = token.space.slug, token.user.email or token.user.username
    return {"status": "ok", "user_email": email, "org_id": slug, "project_id": slug}


def add(token: ApiToken, params: dict) -> dict:
    """Learn from messages what is worth it; with `infer` off, keep each as it is."""
    pass_gate(token, can_wait=True)
    messages, who = _messages(params.get("messages")), _who(params)
    chat = _conversation(token, who, make=True)
    if params.get("infer") is False:
        return {"results": [_keep(token, chat, text) for role, text in messages if role == "user"]}
    lines = writing.learn_from(token, chat, messages, author=_plain(params.get("user_id") or ""))
    rows = Fact.objects.in_bulk([line["fact"] for line in lines if line.get("fact")])
    learned = [
        _event(line["fact"], rows[line["fact"]].text, line["outcome"])
        for line in lines
        if line.get("fact") in rows
    ]
    held = [
        {"id": "", "memory": line["text"], "event": "PENDING"}
        for line in lines
        if line.get("outcome") == "offered" and line.get("text")
    ]
    return {"results": learned + held}


def _event(pk: int | str, text: str, outcome: str) -> dict[str, str]:
    return {"id": str(pk), "memory": text, "event": EVENTS.get(outcome, "NONE")}


def _messages(value: Any) -> list[tuple[str, str]]:
    messages = [{"role": "user", "content": value}] if isinstance(value, str) else value
    is_valid = isinstance(messages, list) and all(
        isinstance(item, dict) and isinstance(item.get("content"), str) for item in messages
    )
    if not messages or not is_valid:
        raise Refused(_("“messages” is a list of {role, content} with texts."))
    return [(item.get("role", "user"), item["content"]) for item in messages[-50:]]


def _keep(token: ApiToken, chat: Chat, text: str) -> dict:
    if token.gate == ApiToken.Gate.HOLD:
        held = writing.hold(token, "add", text, after={"text": text, "chat": chat.pk})
        return {"id": "", "memory": held.text, "event": "PENDING"}
    result = facts.remember(token.space, text=text, quote=text, chat=chat, by=name_of(token))
    note(token, "mem0 add", action="memory.written", outcome=result.outcome)
    return _event(result.row.pk if result.row else "", text, result.outcome)


def search(token: ApiToken, params: dict) -> dict:
    query = params.get("query")
    if not isinstance(query, str) or not query.strip():
        raise Refused(_("“query” says what you look for."))
    who, limit = _who(params), _number(params, "top_k", "limit", default=10)
    chat = _conversation(token, who) if who else None
    options = {"chat": chat, "person": who, "limit": limit, "kinds": ("fact",)}
    items = recall(token.space, query[:2000], **options).items
    note(token, "mem0 search", found=len(items))
    scores = {item.unit.owner_id: round(item.confidence, 4) for item in items}
    rows = rows_in(token.space, Fact).select_related("chat").in_bulk(list(scores))
    return {"results": [_shape(rows[pk], score=scores[pk]) for pk in scores if pk in rows]}


def _number(params: dict, *names: str, default: int) -> int:
    value = next((params[name] for name in names if params.get(name)), default)
    if not str(value).isdecimal():
        raise Refused(_("“%(name)s” must be a number.") % {"name": names[0]})
    return max(1, min(int(value), MAX_ROWS))


def list_all(token: ApiToken, params: dict) -> dict:
    size, page = _number(params, "page_size", default=50), _number(params, "page", default=1)
    rows = _rows(token, _who(params)).order_by("-updated_at", "-pk")
    count = rows.count()
    note(token, "mem0 list", found=count)
    shown = [_shape(row) for row in rows[(page - 1) * size : page * size]]
    return {"count": count, "next": None, "previous": None, "results": shown}


def _fact(token: ApiToken, pk: str) -> Fact:
    number = int(pk) if pk.isdecimal() and len(pk) < 19 else 0
    return find(token, _rows(token), number, "memory")


def get(token: ApiToken, params: dict, pk: str) -> dict:
    note(token, "mem0 get", id=pk)
    return _shape(_fact(token, pk))


def _may_see_chat(token: ApiToken) -> ApiToken:
    """Let the token see chats: a mem0 client works on its own conversations."""
    token.scopes = [*token.scopes, "private"]
    return token


def update(token: ApiToken, params: dict, pk: str) -> dict:
    pass_gate(token, can_wait=True)
    fact, text = _fact(token, pk), params.get("text")
    if not isinstance(text, str) or not text.strip():
        raise Refused(_("“text” is how it is now."))
    done = writing.revise(_may_see_chat(token), shapes.Revision(id=fact.pk, text=text[:2000]))
    return {"id": pk, "memory": done.text, "event": done.outcome.upper(), "message": done.message}


def delete(token: ApiToken, params: dict, pk: str) -> dict:
    pass_gate(token, can_wait=True)
    done = writing.forget(_may_see_chat(token), shapes.Removal(id=_fact(token, pk).pk))
    return {"message": done.message, "event": done.outcome.upper()}


def delete_all(token: ApiToken, params: dict, **which: str) -> dict:
    """Forget what one conversation holds. A person can restore each of them."""
    pass_gate(token, can_wait=False)
    who = which.get("name") or _who(params)
    if not who:
        raise Refused(_("Say whose: “user_id”, or delete one by one."))
    for fact in _rows(token, who)[:1000]:
        facts.forget(fact, by=name_of(token))
    note(token, "mem0 delete_all", action="memory.written")
    return {"message": _("Forgotten. A person can undo it in the dashboard.")}


def history(token: ApiToken, params: dict, pk: str) -> list[dict]:
    steps = fact_history(_may_see_chat(token), shapes.Which(id=_fact(token, pk).pk)).items
    return [
        {
            "id": step.change,
            "memory_id": pk,
            "old_memory": step.before.get("text"),
            "new_memory": step.after.get("text"),
            "event": "ADD" if not step.before else "UPDATE",
            "created_at": step.at.isoformat(),
            "updated_at": step.at.isoformat(),
        }
        for step in reversed(steps)
    ]


def users(token: ApiToken, params: dict) -> dict:
    own = rows_in(token.space, Chat).filter(external_id__startswith=_id_prefix(token))
    rows = own.filter(channel=CHANNEL).exclude(title="").order_by("title")[:MAX_ROWS]
    shown = [
        {"id": str(row.pk), "name": row.title, "type": "user"}
        | {"created_at": row.created_at.isoformat()}
        for row in rows
    ]
    return {"count": len(shown), "results": shown}


def urls() -> list:
    """Return the addresses that mem0's clients of the last two years call."""
    many = {"GET": ("read", list_all), "POST": ("write", add), "DELETE": ("write", delete_all)}
    one = {"GET": ("read", get), "PUT": ("write", update), "DELETE": ("write", delete)}
    return [
        path("v1/ping/", endpoint(GET=("read", ping)), name="ping"),
        path("v1/memories/", endpoint(**many), name="memories"),
        *(
            path(f"v{version}/memories/search/", endpoint(POST=("read", search)), name=name)
            for version, name in ((1, "search_v1"), (2, "search_v2"), (3, "search_v3"))
        ),
        path("v2/memories/", endpoint(POST=("read", list_all)), name="list_v2"),
        path("v3/memories/", endpoint(POST=("read", list_all)), name="list_v3"),
        path("v3/memories/add/", endpoint(POST=("write", add)), name="add"),
        path("v1/memories/<str:pk>/", endpoint(**one), name="memory"),
        path("v1/memories/<str:pk>/history/", endpoint(GET=("read", history)), name="history"),
        path("v1/entities/", endpoint(GET=("read", users)), name="entities"),
        path("v2/entities/user/<str:name>/", endpoint(DELETE=("write", delete_all)), name="entity"),
    ]
