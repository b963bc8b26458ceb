"""Other programs, by signed HTTP requests: POST /webhook, answered at once or by a callback."""

import asyncio
import json
import time
import uuid
from collections.abc import Awaitable, Callable

import httpx
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from bot.channels import http_server, openapi
from bot.channels import (
    http_server as serving,
)
from bot.channels.base import Channel, Outgoing, SendFailed, home
from bot.channels.http_server import Request, Response
from bot.channels.openapi import HOME
from memory import jobs
from memory.chats import inbox
from memory.chats import service as chats
from memory.facts import service as facts
from memory.history import actors, audit
from memory.jobs import RateLimit
from memory.llm import pricing
from memory.llm.choose import afford, choose
from memory.llm.request import BudgetSpent
from memory.models import ApiToken, Chat, Message, OutboxItem, Space
from memory.retrieval.recall import recall as recall_memory
from memory.spaces import api_tokens

ROOT = "/api/"
RETRY_SECONDS = 10


class ApiError(Exception):
    """Why a call is refused, for a program and for a person."""

    def __init__(self, status: int, code: str, message: str, *, hint: str = "", after: int = 0):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.hint, self.after = hint, after


async def handle(request: Request, *, limits: RateLimit) -> Response:
    if request.path == f"{HOME}/openapi.json" and request.method == "GET":
        return Response(200, openapi.document())
    meta = {"request_id": uuid.uuid4().hex, "timestamp": timezone.now().isoformat()}
    try:
        status, data = await _answer(request, limits=limits, mark=meta["request_id"])
        return Response(status, {"data": data, "meta": meta})
    except (http_server.BadRequest, chats.BadChatId, facts.Invalid) as bad:
        failed = ApiError(400, "bad_request", str(bad))
    except ApiError as error:
        failed = error
    said = {
        "code": failed.code,
        "message": failed.message,
        "hint": failed.hint,
        "retryable": bool(failed.after),
    }
    return Response(failed.status, {"error": said, "meta": meta}, after=failed.after or None)


async def _answer(request: Request, *, limits: RateLimit, mark: str) -> tuple[int, dict]:
    path = request.path.rstrip("/")
    if path == HOME and request.method == "GET":
        return 200, {"name": "Keno", "version": settings.VERSION, "endpoints": sorted(ROUTES)}
    if path not in ROUTES:
        raise ApiError(404, "not_found", "There is nothing at this address.", hint=f"GET {HOME}")
    if request.method != "POST":
        raise ApiError(405, "wrong_method", "Send a POST.")
    scope, handler = ROUTES[path]
    token = await sync_to_async(_token)(request, scope)
    now = timezone.now()
    if not limits.allow(token.pk, now=now):
        wait = max(1, limits.wait(token.pk, now=now))
        raise ApiError(429, "too_many", "This key calls too often.", after=wait)
    return await handler(token, request, mark)


def _token(request: Request, scope: str) -> ApiToken:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    found = api_tokens.find(key.strip(), scope=scope) if kind.lower() == "bearer" else None
    if found is None:
        hint = f"Authorization: Bearer {api_tokens.PREFIX}…, a token with the right “{scope}”."
        raise ApiError(401, "no_key", "No key, or none that may do this.", hint=hint)
    return found


async def _message(token: ApiToken, request: Request, mark: str) -> tuple[int, dict]:
    """Say something and wait for the answer. Somebody else's turn in the chat is waited for."""
    said = http_server.parse_message(request, field="content")
    # Who calls is who the key says, so that nobody speaks as a person whose chat is linked.
    said |= {"author": said["author"] or token.user.username, "author_id": f"token-{token.pk}"}
    said["id"] = f"token-{token.pk}-{said['id']}" if said["id"] else ""
    if not inbox.is_command(said["text"]):
        await sync_to_async(_may_spend)(token)
    message = await sync_to_async(http_server.store_message)(token.space, said, mark=mark)
    given = {"id": message.pk, "chat_id": said["chat_id"]}
    if said["callback"]:
        return 202, given | {"status": "accepted"}
    reply = await http_server.wait_for(message, seconds=settings.HTTP_TIMEOUT)
    if reply is None:
        raise ApiError(
            504,
            "no_answer",
            "No answer in time. The message is kept and will be answered.",
            hint="Ask again with the same id to get the answer.",
            after=RETRY_SECONDS,
        )
    return 200, given | {"response": reply}


def _may_spend(token: ApiToken) -> None:
    """A program is told at once that the budget is spent; a person is told in the chat."""
    choice = choose("chat", space=token.space)
    if choice.provider == "offline":
        return
    try:
        afford(choice, space=token.space, action=pricing.action(token.space, now=timezone.now()))
    except BudgetSpent as spent:
        hint = "Raise the budget, or choose what happens when it is spent, in Settings."
        after = round(spent.retry_after)
        raise ApiError(429, "budget_spent", str(spent), hint=hint, after=after) from spent


async def _recall(token: ApiToken, request: Request, mark: str) -> tuple[int, dict]:
    query = _text(http_server.json_object(request), "query", needed=False)
    if not query:
        return 200, {"items": [], "confidence": 0.0, "level": "none"}
    return await sync_to_async(_recalled)(token, query)


def _recalled(token: ApiToken, query: str) -> tuple[int, dict]:
    found = recall_memory(token.space, query, everywhere=True, save=False)
    by = actors.person(token.user)
    audit.record("memory.read", actor=by, space=token.space, obj=token, found=len(found.items))
    items = [
        {
            "kind": item.unit.kind,
            "id": item.unit.owner_id,
            "text": item.unit.text,
            "at": item.unit.at.isoformat(),
            "score": item.score,
        }
        for item in found.items
    ]
    return 200, {"items": items, "confidence": found.confidence, "level": found.level}


async def _remember(token: ApiToken, request: Request, mark: str) -> tuple[int, dict]:
    body = http_server.json_object(request)
    words, subject = _text(body, "text"), _text(body, "subject", needed=False)
    return await sync_to_async(_remembered)(token, words, subject)


def _remembered(token: ApiToken, words: str, subject: str) -> tuple[int, dict]:
    # A program, not a person: what it passes on may be anybody's, and the guards look at it.
    by = f"api:{token.name}"
    done = facts.remember(token.space, text=words, subject=subject, quote=words, by=by, why="api")
    number = done.row.pk if done.row else None
    said = {"id": number, "outcome": done.outcome, "reason": done.reason}
    return 201 if done.outcome == "new" else 200, said


async def _sleep(token: ApiToken, request: Request, mark: str) -> tuple[int, dict]:
    """Asked for twice it is one night: the job waits under the name of the space."""
    by = actors.person(token.user)
    given = {"once": f"night-{token.space_id}", "space_id": token.space_id, "asked_by": by}
    await sync_to_async(jobs.enqueue)("sleep.night", **given)
    return 202, {"status": "accepted"}


def _text(body: dict, name: str, *, needed: bool = True) -> str:
    value = body.get(name, "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise http_server.BadRequest(f"The {name} field is missing or no text.")
    return value.strip()


Handler = Callable[[ApiToken, Request, str], Awaitable[tuple[int, dict]]]
ROUTES: dict[str, tuple[str, Handler]] = {
    f"{HOME}/messages": ("chat", _message),
    f"{HOME}/recall": ("read", _recall),
    f"{HOME}/facts": ("write", _remember),
    f"{HOME}/nights": ("write", _sleep),
}


class HttpChannel(Channel):
    name = "http"

    def __init__(self, *, secret: str = "", port: int | None = None):
        self.secret = secret or settings.WEBHOOK_SECRET
        self.port = settings.HTTP_PORT if port is None else port
        self.limits = RateLimit(settings.LIMIT_PER_MINUTE, settings.LIMIT_PER_HOUR)
        self.api_limits = RateLimit(settings.API_RATE_LIMIT)

    async def run(self, space: Space | None, stop: asyncio.Event) -> None:
        if not self.secret:
            raise RuntimeError("The HTTP channel never opens without WEBHOOK_SECRET.")
        space = await home(space, stop)

        async def called(request: Request) -> Response:
            return await self.handle(request, space)

        async with serving.serve(called, host=settings.HTTP_HOST, port=self.port) as server:
            self.port = server.sockets[0].getsockname()[1]
            await stop.wait()

    async def handle(self, request: Request, space: Space) -> Response:
        if request.path == "/health" and request.method == "GET":
            return Response(200, {"status": "ok"})
        if request.path.startswith(ROOT):
            return await handle(request, limits=self.api_limits)
        if request.path != "/webhook":
            return Response(404, {"error": "There is only POST /webhook here."})
        if request.method != "POST":
            return Response(405, {"error": "Send a POST."})
        try:
            now = time.time()
            mark = http_server.check(
                self.secret, headers=request.headers, body=request.body, now=now
            )
            said = http_server.parse_message(request)
        except http_server.BadSignature as bad:
            return Response(401, {"error": str(bad)})
        except http_server.BadRequest as bad:
            return Response(400, {"error": str(bad)})
        return await self._take(space, said, mark=mark)

    async def _take(self, space: Space, said: dict, *, mark: str) -> Response:
        now = timezone.now()
        if not self.limits.allow(said["author_id"], now=now):
            many = {"error": "Too many messages of this author. Try again later."}
            return Response(429, many, after=self.limits.wait(said["author_id"], now=now))
        try:
            message = await sync_to_async(http_server.store_message)(space, said, mark=mark)
        except chats.BadChatId as bad:
            return Response(400, {"error": str(bad)})
        if said["callback"]:
            return Response(202, {"status": "accepted", "id": message.pk})
        reply = await http_server.wait_for(message, seconds=settings.HTTP_TIMEOUT)
        if reply is None:
            late = "No answer in time. It is kept; ask again with the same id."
            return Response(408, {"error": late, "id": message.pk})
        return Response(200, {"response": reply, "status": "ok", "id": message.pk})

    async def send(self, outgoing: Outgoing) -> str:
        """Who waits reads the row; whoever gave a callback is called."""
        for url in await sync_to_async(_callbacks)(outgoing):
            await self._call(url, outgoing)
        return ""

    async def _call(self, url: str, outgoing: Outgoing) -> None:
        body = json.dumps(
            {
                "chat_id": outgoing.chat.external_id,
                "response": outgoing.text,
                "kind": outgoing.kind,
                "key": outgoing.key,
            },
            ensure_ascii=False,
        ).encode()
        headers = http_server.sign(self.secret, body=body, at=time.time())
        private = settings.HTTP_CALLBACK_PRIVATE
        try:
            status = await http_server.post(url, body=body, headers=headers, private=private)
        except http_server.CallbackRefused as error:
            raise SendFailed(str(error), permanent=True) from error
        except httpx.HTTPError as error:
            raise SendFailed(f"The callback does not answer ({type(error).__name__}).") from error
        if status >= 300:
            gone = status in (401, 403, 404, 410) or 300 <= status < 400
            raise SendFailed(f"The callback answered {status}.", permanent=gone)


def _callbacks(outgoing: Outgoing) -> list[str]:
    chat: Chat = outgoing.chat
    item = OutboxItem.objects.select_related("message").get(chat=chat, key=outgoing.key)
    if item.message is None:
        asked = inbox.unanswered(chat.pk)
    else:
        # All that was answered by this reply.
        asked = Message.objects.filter(chat=chat, handled_at=item.message.sent_at)
    lines = [line for journal in asked.values_list("journal", flat=True) for line in journal]
    urls = [line["url"] for line in lines if line.get("outcome") == http_server.CALLBACK]
    return list(dict.fromkeys(urls))
