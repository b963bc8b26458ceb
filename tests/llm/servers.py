"""Local servers that speak the wire protocols of Anthropic and OpenAI, well or badly on command."""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = ("429", "500", "hang", "reset", "truncated", "malformed", "empty", "huge", "wrong-shape")


class Server(ThreadingHTTPServer):
    """`script` holds the behaviours of the next requests; after that everything goes well."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[str] = []
        self.reply = "Hello from the wire."
        self.requests: list[dict] = []
        self.headers_seen: list[dict] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Clients hang up on purpose here; nobody needs the traceback."""


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

    def log_message(self, *_args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.headers_seen.append(dict(self.headers))
        behaviour = self.server.script.pop(0) if self.server.script else "ok"
        dialect = Anthropic if self.path.endswith("/messages") else OpenAI
        name = behaviour.partition(":")[0].replace("-", "_")
        getattr(self, f"do_{name}", self.do_status)(body, dialect, behaviour)

    def do_ok(self, body, dialect, _behaviour):
        text = self.server.reply
        if body.get("stream"):
            self._stream(dialect.events(text, body))
        else:
            self._json(dialect.whole(text, body))

    def do_tool(self, body, dialect, behaviour):
        """ "tool:recall:{…}": the model wants a tool used, and says so before."""
        _, name, arguments = behaviour.split(":", 2)
        if body.get("stream"):
            self._stream(dialect.call_events(name, arguments, body))
        else:
            self._json(dialect.call(name, arguments, body))

    def do_status(self, _body, _dialect, behaviour):
        status, _, retry_after = behaviour.partition(":")
        self._json(
            {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
            status=int(status),
            headers={"retry-after": retry_after} if retry_after else {},
        )

    def do_hang(self, *_args):
        self.server.released.wait(20)

    def do_reset(self, *_args):
        # Linger 0: closing sends RST instead of FIN.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def do_truncated(self, body, dialect, _behaviour):
        if body.get("stream"):
            self._stream(dialect.events(self.server.reply, body)[:3])
        else:
            self._raw(json.dumps(dialect.whole(self.server.reply, body))[:40].encode())

    def do_malformed(self, *_args):
        self._raw(b'{"id": "msg_1", "content": [{"type": "te')

    def do_wrong_shape(self, *_args):
        self._json({"surprise": [1, 2, 3]})

    def do_empty(self, body, dialect, _behaviour):
        if body.get("stream"):
            self._stream(dialect.events("", body))
        else:
            self._json(dialect.whole("", body))

    def do_nul(self, body, dialect, _behaviour):
        self._json(dialect.whole("a\x00b", body))

    def do_huge(self, body, dialect, _behaviour):
        self._json(dialect.whole("x" * 10_000_000, body))

    def _json(self, value, *, status=200, headers=None):
        self._raw(json.dumps(value).encode(), status=status, headers=headers or {})

    def _raw(self, payload, *, status=200, headers=None):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def _stream(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(event.encode())
            self.wfile.flush()


class Anthropic:
    USAGE = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 90,
        "output_tokens": 5,
    }

    @classmethod
    def whole(cls, text, body):
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": cls.USAGE,
        }

    @classmethod
    def events(cls, text, body):
        start = cls.whole("", body) | {"content": [], "stop_reason": None}
        delta = {"type": "content_block_delta", "index": 0}
        return [
            cls.event({"type": "message_start", "message": start}),
            cls.event(
                {
                    "type": "content_block_start",
                    "index": 0,
                    "content_block": {"type": "text", "text": ""},
                }
            ),
            *(
                cls.event(delta | {"delta": {"type": "text_delta", "text": part}})
                for part in _parts(text)
            ),
            cls.event({"type": "content_block_stop", "index": 0}),
            cls.event(
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                    "usage": {"output_tokens": 5},
                }
            ),
            cls.event({"type": "message_stop"}),
        ]

    @classmethod
    def call(cls, name, arguments, body):
        said = {"type": "text", "text": "Let me see."}
        used = {"type": "tool_use", "id": "toolu_1", "name": name, "input": json.loads(arguments)}
        return cls.whole("", body) | {"content": [said, used], "stop_reason": "tool_use"}

    @classmethod
    def call_events(cls, name, arguments, body):
        begun = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        delta = {"type": "content_block_delta", "index": 1}
        *text, end, stop = cls.events("Let me see.", body)
        return [
            *text,
            cls.event({"type": "content_block_start", "index": 1, "content_block": begun}),
            *(
                cls.event(delta | {"delta": {"type": "input_json_delta", "partial_json": part}})
                for part in _parts(arguments)
            ),
            cls.event({"type": "content_block_stop", "index": 1}),
            end.replace("end_turn", "tool_use"),
            stop,
        ]

    @staticmethod
    def event(data):
        return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n"


class OpenAI:
    USAGE = {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "total_tokens": 105,
        "prompt_tokens_details": {"cached_tokens": 90},
    }

    @classmethod
    def whole(cls, text, body):
        message = {"role": "assistant", "content": text}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": cls.USAGE,
        }

    @classmethod
    def events(cls, text, body):
        parts = [*_parts(text)]
        chunks = [cls.chunk(body, {"delta": {"content": part}}) for part in parts]
        return [
            *chunks,
            cls.chunk(body, {"delta": {}, "finish_reason": "stop"}),
            cls.chunk(body, None, usage=cls.USAGE),
            "data: [DONE]\n\n",
        ]

    @classmethod
    def call(cls, name, arguments, body):
        whole = cls.whole("Let me see.", body)
        function = {"name": name, "arguments": arguments}
        choice = whole["choices"][0]
        choice["message"]["tool_calls"] = [
            {"id": "call_1", "type": "function", "function": function}
        ]
        choice["finish_reason"] = "tool_calls"
        return whole

    @classmethod
    def call_events(cls, name, arguments, body):
        *text, end, usage, done = cls.events("Let me see.", body)
        begun = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name}}
        parts = [{"index": 0, "function": {"arguments": part}} for part in _parts(arguments)]
        chunks = [cls.chunk(body, {"delta": {"tool_calls": [one]}}) for one in (begun, *parts)]
        return [*text, *chunks, end.replace('"stop"', '"tool_calls"'), usage, done]

    @staticmethod
    def chunk(body, choice, **more):
        data = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": None} | choice] if choice else [],
        }
        return f"data: {json.dumps(data | more)}\n\n"


def _parts(text):
    return [text[start : start + 4] for start in range(0, len(text), 4)]
