"""The web worker of gunicorn, with limits on how long and how often one caller may keep it."""

import errno
import re
import socket
import threading
import time
from typing import Any

from gunicorn.glogging import Logger
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import _DEFER, TConn, ThreadWorker

# A request has this long to arrive: its headers, then its body.
HEADER_SECONDS = 10.0
BODY_SECONDS = 120.0
IDLE_SECONDS = 0.2
# A slower request counts as slow; one address may keep so many threads busy with slow ones.
SLOW_SECONDS = 1.0
MAX_SLOW = 2
SECRET_LINKS = re.compile(r"(/(?:setup|enter|join)/)[^/?\s]+")


class TimedSocket:
    """Read from a socket until a deadline; then act as if the caller had hung up."""

    def __init__(self, sock: socket.socket, deadline: float):
        self.sock, self.deadline = sock, deadline

    def recv(self, size: int) -> bytes:
        left, timeout = self.deadline - time.monotonic(), self.sock.gettimeout()
        try:
            if left <= 0:
                raise TimeoutError
            self.sock.settimeout(left if timeout is None else min(left, timeout))
            return self.sock.recv(size)
        except TimeoutError:
            if timeout is not None:
                raise
            raise ConnectionResetError(errno.ECONNRESET, "the request took too long") from None
        finally:
            self.sock.settimeout(timeout)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)


class SlowCallers:
    """The connections of this process that wait for the rest of a request, by address."""

    def __init__(self, most: int = MAX_SLOW):
        self.most = most
        self.lock = threading.Lock()
        self.reading: dict[TConn, float] = {}

    def begin(self, conn: TConn, now: float) -> float:
        """Note that the connection is read from; return how many seconds its headers may take.

        An address that reads from as many connections as may be slow gets one second for the next,
        and none once the others are slow.
        """
        with self.lock:
            same = [other for other in self.reading if address(other) == address(conn)]
            waits = [now - self.reading[other] for other in same]
            if sum(wait > SLOW_SECONDS for wait in waits) >= self.most:
                return 0
            self.reading[conn] = now
            return HEADER_SECONDS if len(waits) < self.most else SLOW_SECONDS

    def end(self, conn: TConn) -> None:
        with self.lock:
            self.reading.pop(conn, None)


class Worker(ThreadWorker):
    """A worker whose threads a half-sent request cannot keep."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.slow = SlowCallers(max(1, min(MAX_SLOW, self.cfg.threads // 2)))

    def handle(self, conn: TConn) -> Any:
        # A silent connection must not keep a thread: browsers hold some open.
        if not conn.initialized and not conn.wait_for_data(IDLE_SECONDS):
            return _DEFER
        now = time.monotonic()
        if not (seconds := self.slow.begin(conn, now)):
            return False
        try:
            conn.sock.setblocking(True)
            conn.init()
            _limit(conn, now + seconds)
            return super().handle(conn)
        finally:
            self.slow.end(conn)

    def handle_request(self, req: Any, conn: TConn) -> Any:
        _limit(conn, time.monotonic() + BODY_SECONDS)
        if not _has_body(req):
            self.slow.end(conn)
        return super().handle_request(req, conn)


class AccessLog(Logger):
    """Log a line for each request, without the secret of a one-time link."""

    def atoms(self, resp: Any, req: Any, environ: dict, request_time: Any) -> dict:
        atoms = super().atoms(resp, req, environ, request_time)
        texts = {name: value for name, value in atoms.items() if isinstance(value, str)}
        return atoms | {name: SECRET_LINKS.sub(r"\1…", text) for name, text in texts.items()}


def address(conn: TConn) -> str:
    """Return the caller's address; callers on a socket file share one."""
    return conn.client[0] if isinstance(conn.client, tuple) else ""


def _limit(conn: TConn, deadline: float) -> None:
    unreader = getattr(conn.parser, "unreader", None)
    if isinstance(unreader, SocketUnreader):
        unreader.sock = TimedSocket(conn.sock, deadline)


def _has_body(req: Any) -> bool:
    headers = {name.upper(): value for name, value in req.headers}
    return headers.get("CONTENT-LENGTH", "0") != "0" or "TRANSFER-ENCODING" in headers
