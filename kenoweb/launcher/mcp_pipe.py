"""`manage.py mcp` beside a Keno that runs: pass the protocol on to its /mcp and load nothing else.

An editor keeps one such process for each window. One that holds a mind of its own takes hundreds
of megabytes; this one is a pipe.
"""

import base64
import http.client
import json
import os
import sys
from typing import BinaryIO, TextIO
from urllib.parse import urlsplit

from kenoweb.environment import envsecret

USUAL = "http://127.0.0.1:8000"
ALONE = "--alone"
# No call needs a longer line; what is longer is answered as no protocol.
MAX_LINE = 2**20
LOOK_SECONDS, CALL_SECONDS = 5, 600
# What the protocol over HTTP says in headers, too, so that a proxy can see it.
VERSION = "io.modelcontextprotocol/protocolVersion"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
PARSE_ERROR, INTERNAL_ERROR = -32700, -32603
UNREADABLE = "This line is too long or not JSON in UTF-8."
# How a Keno asks for a key; see kenoweb/api/oauth.py.
CHALLENGE = 'scope="read write"'
# Status, body, and what it asks for.
Answer = tuple[int, bytes, str]


class Keno:
    """The one that runs. Every message is a request of its own: it may be restarted meanwhile."""

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
        there = kind(self.parts.netloc, timeout=within)
        try:
            there.request(method, f"{self.parts.path}/mcp{self.tools}", body, headers)
            said = there.getresponse()
            return said.status, said.read(), said.getheader("WWW-Authenticate") or ""
        finally:
            there.close()

    def lets_in(self) -> bool:
        """Whether a Keno is there that knows the key: it takes only POST then, and says so.

        First without the key: another program that has the port does not get to see it.
        """
        try:
            status, _body, challenge = self.ask("GET", within=LOOK_SECONDS, headers={})
            if status != 401 or CHALLENGE not in challenge:
                return False
            return self.ask("GET", within=LOOK_SECONDS, headers=self.headers)[0] == 405
        except (OSError, http.client.HTTPException):
            return False

    def pass_on(self, line: bytes, asked: dict) -> bytes:
        """The answer as one line; nothing where the protocol has none."""
        number = asked.get("id")
        try:
            headers = self.headers | _headers(asked)
            status, body, _challenge = self.ask("POST", line, within=CALL_SECONDS, headers=headers)
        except (OSError, http.client.HTTPException):
            return _error(number, INTERNAL_ERROR, "Keno does not answer. Is it still running?")
        if status == 202 or number is None:
            return b""
        try:
            said = json.loads(body)
        except ValueError:
            return _error(number, INTERNAL_ERROR, f"Keno answered {status}.")
        if "jsonrpc" not in said:
            return _error(number, INTERNAL_ERROR, str(said.get("detail", f"It answered {status}.")))
        if asked.get("method") == "initialize":
            self.headers["MCP-Protocol-Version"] = said.get("result", {}).get("protocolVersion", "")
        return json.dumps(said, ensure_ascii=False).encode()


def _headers(asked: dict) -> dict[str, str]:
    """The headers that must say the same as the message."""
    method, params = str(asked.get("method", "")), asked.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    found = {"Mcp-Method": method, "Mcp-Name": params.get(NAMED.get(method, ""))}
    found["MCP-Protocol-Version"] = meta.get(VERSION) if isinstance(meta, dict) else None
    return {name: _encoded(said) for name, said in found.items() if said and isinstance(said, str)}


def _encoded(said: str) -> str:
    if said.isascii() and said.isprintable() and said == said.strip():
        return said
    return f"=?base64?{base64.b64encode(said.encode('utf-8', 'replace')).decode()}?="


def running(argv: list[str]) -> Keno | None:
    """The Keno at KENO_URL, or where it usually is, if it knows KENO_TOKEN."""
    key = envsecret("KENO_TOKEN")
    if ALONE in argv or not key or not key.isascii():
        return None
    url = os.environ.get("KENO_URL", "").rstrip("/") or USUAL
    found = Keno(url, key, tools="?tools=all" if "--all" in argv else "")
    return found if found.lets_in() else None


def serve(keno: Keno, wires: tuple[BinaryIO, TextIO] | None = None) -> int:
    """Until the other side closes our standard input."""
    lines, out = wires or (sys.stdin.buffer, sys.stdout)
    while line := lines.readline(MAX_LINE):
        for said in _answers(keno, line, lines):
            out.write(said.decode() + "\n")
            out.flush()
    return 0


def _answers(keno: Keno, line: bytes, lines: BinaryIO) -> list[bytes]:
    if not line.strip():
        return []
    is_whole = line.endswith(b"\n") or len(line) < MAX_LINE
    while not is_whole and not line.endswith(b"\n") and line:
        line = lines.readline(MAX_LINE)
    try:
        asked = json.loads(line.decode()) if is_whole else None
        json.dumps(asked, ensure_ascii=False).encode()  # no half of a character
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        return [_error(None, PARSE_ERROR, UNREADABLE)]
    said = keno.pass_on(line, asked)
    return [said] if said else []


def _error(number: object, code: int, words: str) -> bytes:
    error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": words}}
    return json.dumps(error).encode()
