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
WHO = ("user_id", "agent_id", "app_id", "run_id")
MOST = 100
EVENTS = {"new": "ADD", "again": "NONE", "superseded": "UPDATE", "restored": "ADD"}


def endpoint(**by_method: tuple[str, Callable]) -> Callable:
    """A view: for each method the right it needs and the function that answers with JSON."""

    def view(request: HttpRequest, **which: str) -> HttpResponse:
        try:
            key = key_of(request, "token")
            if not key:
                raise Refused(_("Send “Authorization: Token …” with an API token."), 401)
            if request.method not in by_method:
                return HttpResponse(status=405, headers={"Allow": ", ".join(by_method)})
            scope, do = by_method[request.method]
            token = admit_within_limit(key, scope)
            return JsonResponse(do(token, _given(request), **which), safe=False)
        except Exception as error:
            return explain(error)

    return csrf_exempt(with_token(view))


def _given(request: HttpRequest) -> dict[str, Any]:
    """What stands in the query and in the body, together."""
    try:
        body = json.loads(request.body) if request.body else {}
    except (ValueError, RecursionError):
        raise Refused(_("The body is not JSON.")) from None
    if not isinstance(body, dict):
        raise Refused(_("The body must be a JSON object."))
    return request.GET.dict() | body


def _who(given: Any) -> str:
    """Whose memories are meant: the first id that the request or its filters name."""
    if isinstance(given, list):
        return next(filter(None, map(_who, given)), "")
    if not isinstance(given, dict):
        return ""
    own = (given[name] for name in WHO if given.get(name) not in (None, "", "*"))
    inner = (_who(given[name]) for name in ("filters", "AND", "OR") if name in given)
    return next(filter(None, (*map(_plain, own), *inner)), "")


def _plain(value: Any) -> str:
    if isinstance(value, dict):  # {"in": ["ana"]}
        value = next((one for many in value.values() for one in many), "")
    return str(value)[:120]


def _conversation(token: ApiToken, who: str, *, make: bool = False) -> Chat | None:
    name = _mine(token) + hashlib.sha256((who or "main").encode()).hexdigest()[:24]
    if make:
        return chats.find_or_open(token.space, channel=CHANNEL, external_id=name, title=who)
    rows = rows_in(token.space, Chat).filter(channel=CHANNEL, external_id=name)
    return rows.select_related("space").first()


def _mine(token: ApiToken) -> str:
    """How the ids of one person's conversations begin: nobody else's token reads what was told."""
    return f"{token.user_id}-"


def _rows(token: ApiToken, who: str = "") -> QuerySet:
    """The facts of one conversation of mem0, or of all the person's and of the whole space."""
    rows = (
        mentionable(token, rows_in(token.space, Fact))
        .filter(status=Fact.Status.ACTIVE)
        .select_related("chat", "space")
    )
    if who:
        chat = _conversation(token, who)
        return rows.filter(chat=chat) if chat else rows.none()
    mine = Q(chat__channel=CHANNEL, chat__external_id__startswith=_mine(token))
    return rows.filter(Q(chat=None) | mine)


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


def ping(token: ApiToken, given: dict) -> dict:
    """Whose key it is. The client wants an organisation and a project: the space is both."""
    here = {"org_id": token.space.slug, "project_id": token.space.slug}
    return {"status": "ok", "user_email": token.user.email or token.user.username} | here


def add(token: ApiToken, given: dict) -> dict:
    """Hear what was said and keep what is worth it; with `infer` off, keep it as it is."""
    pass_gate(token, can_wait=True)
    said, who = _messages(given.get("messages")), _who(given)
    chat = _conversation(token, who, make=True)
    if given.get("infer") is False:
        return {"results": [_kept(token, chat, words) for role, words in said if role == "user"]}
    lines = writing.learn_from(token, chat, said, author=_plain(given.get("user_id") or ""))
    ids = [line["fact"] for line in lines if line.get("fact")]
    known = Fact.objects.in_bulk(ids)
    learned = [
        {"id": str(line["fact"]), "memory": known[line["fact"]].text}
        | {"event": EVENTS.get(line["outcome"], "NONE")}
        for line in lines
        if line.get("fact") in known
    ]
    held = [
        {"id": "", "memory": line["text"], "event": "PENDING"}
        for line in lines
        if line.get("outcome") == "offered" and line.get("text")
    ]
    return {"results": learned + held}


def _messages(given: Any) -> list[tuple[str, str]]:
    given = [{"role": "user", "content": given}] if isinstance(given, str) else given
    good = isinstance(given, list) and all(
        isinstance(one, dict) and isinstance(one.get("content"), str) for one in given
    )
    if not given or not good:
        raise Refused(_("“messages” is a list of {role, content} with texts."))
    return [(one.get("role", "user"), one["content"]) for one in given[-50:]]


def _kept(token: ApiToken, chat: Chat, words: str) -> dict:
    if token.gate == ApiToken.Gate.HOLD:
        held = writing.hold(token, "add", words, after={"text": words, "chat": chat.pk})
        return {"id": "", "memory": held.text, "event": "PENDING"}
    done = facts.remember(token.space, text=words, quote=words, chat=chat, by=name_of(token))
    note(token, "mem0 add", action="memory.written", outcome=done.outcome)
    number = str(done.row.pk) if done.row else ""
    return {"id": number, "memory": words, "event": EVENTS.get(done.outcome, "NONE")}


def search(token: ApiToken, given: dict) -> dict:
    query = given.get("query")
    if not isinstance(query, str) or not query.strip():
        raise Refused(_("“query” says what you look for."))
    who, most = _who(given), _number(given, "top_k", "limit", usual=10)
    chat = _conversation(token, who) if who else None
    found = recall(token.space, query[:2000], chat=chat, person=who, limit=most, kinds=("fact",))
    note(token, "mem0 search", found=len(found.items))
    score = {one.unit.owner_id: round(one.confidence, 4) for one in found.items}
    rows = rows_in(token.space, Fact).select_related("chat").in_bulk(list(score))
    return {"results": [_shape(rows[pk], score=score[pk]) for pk in score if pk in rows]}


def _number(given: dict, *names: str, usual: int) -> int:
    value = next((given[name] for name in names if given.get(name)), usual)
    if not str(value).isdecimal():
        raise Refused(_("“%(name)s” must be a number.") % {"name": names[0]})
    return max(1, min(int(value), MOST))


def list_all(token: ApiToken, given: dict) -> dict:
    size, page = _number(given, "page_size", usual=50), _number(given, "page", usual=1)
    rows = _rows(token, _who(given)).order_by("-updated_at", "-pk")
    count = rows.count()
    note(token, "mem0 list", found=count)
    shown = [_shape(row) for row in rows[(page - 1) * size : page * size]]
    return {"count": count, "next": None, "previous": None, "results": shown}


def _one(token: ApiToken, pk: str) -> Fact:
    number = int(pk) if pk.isdecimal() and len(pk) < 19 else 0
    return find(token, _rows(token), number, "memory")


def get(token: ApiToken, given: dict, pk: str) -> dict:
    note(token, "mem0 get", id=pk)
    return _shape(_one(token, pk))


def _may_see_chat(token: ApiToken) -> ApiToken:
    """Its own conversations are what this shape is about, whatever else the token may see."""
    token.scopes = [*token.scopes, "private"]
    return token


def update(token: ApiToken, given: dict, pk: str) -> dict:
    pass_gate(token, can_wait=True)
    fact, words = _one(token, pk), given.get("text")
    if not isinstance(words, str) or not words.strip():
        raise Refused(_("“text” is how it is now."))
    asked = shapes.Revision(id=fact.pk, text=words[:2000])
    done = writing.revise(_may_see_chat(token), asked)
    return {"id": pk, "memory": done.text, "event": done.outcome.upper(), "message": done.message}


def delete(token: ApiToken, given: dict, pk: str) -> dict:
    pass_gate(token, can_wait=True)
    done = writing.forget(_may_see_chat(token), shapes.Removal(id=_one(token, pk).pk))
    return {"message": done.message, "event": done.outcome.upper()}


def delete_all(token: ApiToken, given: dict, **which: str) -> dict:
    """Forget what one conversation holds. A person can restore each of them."""
    pass_gate(token, can_wait=False)
    who = which.get("name") or _who(given)
    if not who:
        raise Refused(_("Say whose: “user_id”, or delete one by one."))
    for fact in _rows(token, who)[:1000]:
        facts.forget(fact, by=name_of(token))
    note(token, "mem0 delete_all", action="memory.written")
    return {"message": _("Forgotten. A person can undo it in the dashboard.")}


def history(token: ApiToken, given: dict, pk: str) -> list[dict]:
    steps = fact_history(_may_see_chat(token), shapes.Which(id=_one(token, pk).pk)).items
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


def users(token: ApiToken, given: dict) -> dict:
    own = rows_in(token.space, Chat).filter(external_id__startswith=_mine(token))
    rows = own.filter(channel=CHANNEL).exclude(title="")
    shown = [
        {
            "id": str(row.pk),
            "name": row.title,
            "type": "user",
            "created_at": row.created_at.isoformat(),
        }
        for row in rows.order_by("title")[:MOST]
    ]
    return {"count": len(shown), "results": shown}


def urls() -> list:
    """The addresses that mem0's clients of the last two years call."""
    listed, searched = {"POST": ("read", list_all)}, {"POST": ("read", search)}
    many = {"GET": ("read", list_all), "POST": ("write", add), "DELETE": ("write", delete_all)}
    one = {"GET": ("read", get), "PUT": ("write", update), "DELETE": ("write", delete)}
    return [
        path("v1/ping/", endpoint(GET=("read", ping)), name="ping"),
        path("v1/memories/", endpoint(**many), name="memories"),
        path("v1/memories/search/", endpoint(**searched), name="search_v1"),
        path("v2/memories/search/", endpoint(**searched), name="search_v2"),
        path("v3/memories/search/", endpoint(**searched), name="search_v3"),
        path("v2/memories/", endpoint(**listed), name="list_v2"),
        path("v3/memories/", endpoint(**listed), name="list_v3"),
        path("v3/memories/add/", endpoint(POST=("write", add)), name="add"),
        path("v1/memories/<str:pk>/", endpoint(**one), name="memory"),
        path("v1/memories/<str:pk>/history/", endpoint(GET=("read", history)), name="history"),
        path("v1/entities/", endpoint(GET=("read", users)), name="entities"),
        path("v2/entities/user/<str:name>/", endpoint(DELETE=("write", delete_all)), name="entity"),
    ]
