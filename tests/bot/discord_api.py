"""A local server that speaks Discord's REST and gateway protocols, as far as a bot needs them."""

import asyncio
import base64
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import WSMsgType, web

BOT = {"id": "99", "username": "Keno", "discriminator": "0", "avatar": None, "bot": True}
TOKEN = ".".join([base64.b64encode(b"99".rjust(18, b"0")).decode(), "Xabc12", "y" * 30])
GUILD, CHANNEL, DIRECT = "500", "501", "700"
_number = itertools.count(10_000)


def user(number="7", name="Ana Ruiz") -> dict:
    return {"id": number, "username": "ana", "global_name": name, "discriminator": "0"} | {
        "avatar": None
    }


def told_in(guild: str | None, channel: str | None) -> str:
    return channel or (CHANNEL if guild else DIRECT)


def message(text="Hello", *, person="7", guild=GUILD, channel=None, mention=True, **more) -> dict:
    """One message as the gateway tells it; in a server it names the bot, unless told otherwise."""
    calls = guild is not None and mention
    return {
        "id": str(next(_number)),
        "channel_id": told_in(guild, channel),
        "author": user(person),
        "content": f"<@99> {text}" if calls else text,
        "timestamp": "2026-03-10T12:00:00+00:00",
        "edited_timestamp": None,
        "tts": False,
        "mention_everyone": False,
        "mentions": [BOT] if calls else [],
        "mention_roles": [],
        "attachments": [],
        "embeds": [],
        "pinned": False,
        "type": 0,
    } | ({"guild_id": guild} if guild else {}) | more  # fmt: skip


def interaction(data: dict, *, kind=2, person="7", guild=GUILD, channel=None) -> dict:
    """A slash command (2) or a pressed button (3)."""
    told = {"id": str(next(_number)), "application_id": "99", "token": "t" * 20, "version": 1}
    where = {"channel_id": told_in(guild, channel), "type": kind, "data": data}
    who: dict[str, Any] = {"user": user(person)}
    if guild:
        who = {"guild_id": guild, "member": {"user": user(person), "roles": [], "permissions": "0"}}
        who["member"] |= {"joined_at": "2026-03-01T12:00:00+00:00", "deaf": False, "mute": False}
        who["member"] |= {"flags": 0}
    rest = {"entitlements": [], "authorizing_integration_owners": {}, "attachment_size_limit": 1}
    place = {"id": told_in(guild, channel), "type": 0 if guild else 1, "permissions": "0"}
    place |= {"name": "general", "guild_id": guild, "position": 0} if guild else {}
    where["channel"] = place
    if kind == 3:
        rest["message"] = message("Which?", person="99", guild=guild)
    return told | where | who | rest


def _json(body: Any, *, status: int = 200) -> web.Response:
    # The library looks for exactly this type, without a charset.
    headers = {"Content-Type": "application/json"}
    return web.Response(body=json.dumps(body).encode(), status=status, headers=headers)


class Server:
    def __init__(self):
        self.calls: list[tuple[str, dict]] = []
        self.events: list[tuple[str, dict]] = []
        # What the next messages are answered: (status, body); after that all goes well.
        self.faults: list[tuple[int, dict]] = []
        self.nonces: dict[str, dict] = {}
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def called(self, end: str) -> list[dict]:
        return [given for path, given in self.calls if path.endswith(end)]

    @property
    def sent(self) -> list[dict]:
        return [given for path, given in self.calls if path.endswith("/messages")]

    async def rest(self, request: web.Request) -> web.Response:
        if (
            request.headers.get("Authorization") != f"Bot {TOKEN}"
            and "callback" not in request.path
        ):
            return _json({"message": "401: Unauthorized", "code": 0}, status=401)
        path = request.path.removeprefix("/api/v10")
        body = await request.read()
        given = json.loads(body) if body.startswith((b"{", b"[")) else {}
        self.calls.append((path, given))
        if path.endswith("/messages"):
            return self._posted(given)
        if path.endswith("/typing"):
            return web.Response(status=204)
        if path.endswith("/callback"):
            return _json({"interaction": {"id": "1", "type": 2, "ephemeral": True}})
        return _json(self._about(path, given))

    def _posted(self, given: dict) -> web.Response:
        if self.faults:
            status, body = self.faults.pop(0)
            return _json(body, status=status)
        made = message(given.get("content", ""), person="99", guild=None)
        return _json(self.nonces.setdefault(given["nonce"], made))

    def _about(self, path: str, given: Any) -> Any:
        if path == "/users/@me":
            return BOT
        if path == "/users/@me/channels":
            return {"id": DIRECT, "type": 1, "recipients": [user(given["recipient_id"])]}
        if path.endswith("/commands"):
            return []
        return {"id": "99", "name": "Keno", "description": "", "verify_key": "", "flags": 0} | {
            "bot_public": False, "bot_require_code_grant": False, "icon": None, "owner": user(),
        }  # fmt: skip

    async def gateway(self, request: web.Request) -> web.WebSocketResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        await line.send_json({"op": 10, "d": {"heartbeat_interval": 41250}, "s": None, "t": None})
        async for got in line:
            if got.type is not WSMsgType.TEXT:
                break
            said = got.json()
            if said["op"] == 1:
                await line.send_json({"op": 11})
            if said["op"] == 2:
                self.calls.append(("identify", said["d"]))
                for n, (name, data) in enumerate([*self._greeting(), *self.events], 1):
                    await line.send_json({"op": 0, "s": n, "t": name, "d": data})
        return line

    def _greeting(self) -> list[tuple[str, dict]]:
        ready = {"v": 10, "user": BOT, "guilds": [{"id": GUILD, "unavailable": True}]}
        ready |= {"session_id": "s", "resume_gateway_url": f"ws://127.0.0.1:{self.port}/gateway"}
        ready |= {"application": {"id": "99", "flags": 0}, "private_channels": []}
        channel = {"id": CHANNEL, "type": 0, "name": "general", "position": 0}
        guild = {"id": GUILD, "name": "Friends", "member_count": 2, "owner_id": "7", "roles": []}
        guild |= {"channels": [channel | {"permission_overwrites": []}], "members": []}
        direct = {"id": DIRECT, "type": 1, "recipients": [user()]}
        return [("READY", ready), ("GUILD_CREATE", guild), ("CHANNEL_CREATE", direct)]


@contextmanager
def running() -> Iterator[Server]:
    server, loop, up = Server(), asyncio.new_event_loop(), threading.Event()

    async def serve() -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/gateway", server.gateway)
        app.router.add_route("*", "/api/v10/{path:.*}", server.rest)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.port = site._server.sockets[0].getsockname()[1]
        return runner

    def run() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        up.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    up.wait(10)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
