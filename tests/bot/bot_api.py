"""A local server that speaks the Telegram Bot API, well or badly on command."""

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

TOKEN = "123456789:" + "A" * 35
BOT = {"id": 99, "is_bot": True, "first_name": "Keno", "username": "KenoTestBot"}
_number = itertools.count(1)


def update(text="Hello", *, chat=7, person=7, edited=False, **more) -> dict:
    """One update as Telegram sends it; `more` are further fields of the message."""
    group = chat < 0
    message = {
        "message_id": next(_number),
        "date": 1773144000,
        "chat": {"id": chat, "type": "supergroup" if group else "private"}
        | ({"title": "Friends"} if group else {}),
        "from": {"id": person, "is_bot": False, "first_name": "Ana", "last_name": "Ruiz"},
        "text": text,
    } | more
    if edited:
        message["edit_date"] = 1773144005
    return {"update_id": next(_number), "edited_message" if edited else "message": message}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.updates: list[dict] = []
        self.calls: list[tuple[str, dict]] = []
        # What the next sendMessage calls answer: (status, body); after that all goes well.
        self.faults: list[tuple[int, dict]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def called(self, method: str) -> list[dict]:
        return [given for name, given in self.calls if name == method]

    @property
    def sent(self) -> list[str]:
        return [given["text"] for given in self.called("sendMessage")]

    def handle_error(self, request, client_address):
        """A client that stops hangs up on a long poll; nobody needs the traceback."""


@contextmanager
def running() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_args):
        pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        given = {name: values[0] for name, values in parse_qs(raw).items()}
        _, token, method = self.path.split("/")
        if token != f"bot{TOKEN}":
            return self._say(401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
        self.server.calls.append((method, given))
        if method == "sendMessage" and self.server.faults:
            status, body = self.server.faults.pop(0)
            return self._say(status, {"ok": False, "error_code": status} | body)
        return self._say(200, {"ok": True, "result": self._result(method, given)})

    def _result(self, method, given):
        if method == "getMe":
            return BOT
        if method == "getUpdates":
            offset = int(given.get("offset", 0))
            waiting = [one for one in self.server.updates if one["update_id"] >= offset]
            if not waiting and given.get("timeout", "0") != "0":
                self.server.released.wait(0.2)
            return waiting
        if method == "sendMessage":
            chat = {"id": int(given["chat_id"]), "type": "private"}
            return {"message_id": next(_number), "date": 1773144000, "chat": chat, "text": "."}
        return True

    def _say(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
