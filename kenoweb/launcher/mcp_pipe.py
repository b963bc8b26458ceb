"""`manage.py mcp` beside a Keno that runs: pass the protocol on to its /mcp and load nothing else.

An editor keeps one such process for each window. A whole Keno takes hundreds of megabytes; this
one is only a pipe.
"""

import base64
import http.client
import json
import os
import sys
from contextlib import closing
from typing import BinaryIO, TextIO
from urllib.parse import urlsplit

from kenoweb.environment import envsecret

DEFAULT_URL = "http://127.0.0.1:8000"
ALONE = "--alone"
# No call needs a longer line.
MAX_LINE = 2**20
PROBE_SECONDS = 5
CALL_SECONDS = 600
# Over HTTP the protocol repeats these parts of a message in headers, so that a proxy can see them.
VERSION = "io.modelcontextprotocol/protocolVersion"
NAME_FIELDS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603
UNREADABLE = "This line is too long or not JSON in UTF-8."
# How a Keno asks for a key; see kenoweb/api/oauth.py.
CHALLENGE = 'scope="read write"'
# Status, body and WWW-Authenticate.
Answer = tuple[int, bytes, str]


class Keno:
    """A Keno that runs. Every message is a request of its own: it may be restarted meanwhile."""

    def __init__(self, url: str, key: str, *, tools: str = ""):
        self.parts, self.tools = urlsplit(url), tools
        self.headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def ask(
        self, method: str, body: bytes | None = None, *, within: float, headers: dict[str, str]
    ) -> Answer:
        secure = self.parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        with closing(kind(self.parts.netloc, timeout=within)) as connection:
            connection.request(method, f"{self.parts.path}/mcp{self.tools}", body, headers)
            response = connection.getresponse()
            return response.status, response.read(), response.getheader("WWW-Authenticate") or ""

    def lets_in(self) -> bool:
        """Whether a Keno is there that knows the key: then it answers that it takes only POST.

        Ask first without the key, so that another program on the port never sees it.
        """
        try:
            status, _body, challenge = self.ask("GET", within=PROBE_SECONDS, headers={})
            if status != 401 or CHALLENGE not in challenge:
                return False
            return self.ask("GET", within=PROBE_SECONDS, headers=self.headers)[0] == 405
        except (OSError, http.client.HTTPException):
            return False

    def pass_on(self, line: bytes, message: dict) -> bytes:
        """Return the answer as one line; nothing where the protocol has none."""
        number = message.get("id")
        try:
            headers = self.headers | _headers(message)
            status, body, _challenge = self.ask("POST", line, within=CALL_SECONDS, headers=headers)
        except (OSError, http.client.HTTPException):
            return _error(number, INTERNAL_ERROR, "Keno does not answer. Is it still running?")
        if status == 202 or number is None:
            return b""
        try:
            answer = json.loads(body)
        except ValueError:
            return _error(number, INTERNAL_ERROR, f"Keno answered {status}.")
        if "jsonrpc" not in answer:
            detail = str(answer.get("detail", f"It answered {status}."))
            return _error(number, INTERNAL_ERROR, detail)
        if message.get("method") == "initialize":
            version = answer.get("result", {}).get("protocolVersion", "")
            self.headers["MCP-Protocol-Version"] = version
        return json.dumps(answer, ensure_ascii=False).encode()


def _headers(message: dict) -> dict[str, str]:
    """Return the headers that must repeat what the message says."""
    method, params = str(message.get("method", "")), message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    values = {"Mcp-Method": method, "Mcp-Name": params.get(NAME_FIELDS.get(method, ""))}
    values["MCP-Protocol-Version"] = meta.get(VERSION) if isinstance(meta, dict) else None
    return {name: _encode(text) for name, text in values.items() if text and isinstance(text, str)}


def _encode(text: str) -> str:
    if text.isascii() and text.isprintable() and text == text.strip():
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def running(argv: list[str]) -> Keno | None:
    """Return the Keno at KENO_URL, or at the usual address, if it knows KENO_TOKEN."""
    key = envsecret("KENO_TOKEN")
    if ALONE in argv or not key or not key.isascii():
        return None
    url = os.environ.get("KENO_URL", "").rstrip("/") or DEFAULT_URL
    keno = Keno(url, key, tools="?tools=all" if "--all" in argv else "")
    return keno if keno.lets_in() else None


def serve(keno: Keno, wires: tuple[BinaryIO, TextIO] | None = None) -> int:
    lines, out = wires or (sys.stdin.buffer, sys.stdout)
    while line := lines.readline(MAX_LINE):
        if line.strip() and (answer := _answer(keno, line, lines)):
            out.write(answer.decode() + "\n")
            out.flush()
    return 0


def _answer(keno: Keno, line: bytes, lines: BinaryIO) -> bytes:
    is_whole = line.endswith(b"\n") or len(line) < MAX_LINE
    while not is_whole and not line.endswith(b"\n") and line:
        line = lines.readline(MAX_LINE)
    try:
        message = json.loads(line.decode()) if is_whole else None
        json.dumps(message, ensure_ascii=False).encode()  # refuses half of a character
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        return _error(None, PARSE_ERROR, UNREADABLE)
    return keno.pass_on(line, message)


def _error(number: object, code: int, sentence: str) -> bytes:
    error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": sentence}}
    return json.dumps(error).encode()
