"""The address that the pages are served on."""

import errno
import socket

from kenoweb.data_dir import NotReady

DEFAULT = ("127.0.0.1", 8000)
TRIES = 20


def parse(bind: str, *, port: int | None = None) -> tuple[str, int, bool]:
    """Host, port, and whether somebody chose the port: "0.0.0.0", "[::1]:8000", ":9000"."""
    host, colon, tail = bind.strip().rpartition(":")
    if not colon or bind.endswith("]"):
        host, tail = bind.strip(), ""
    host = host.strip("[]") or DEFAULT[0]
    chosen = port if port is not None else tail
    if chosen == "":
        return host, DEFAULT[1], False
    if not str(chosen).isdigit() or not 0 < int(chosen) < 65536:
        raise NotReady(f"A port is a number from 1 to 65535, not {chosen!r}.")
    return host, int(chosen), True


def listen(host: str, port: int, *, chosen: bool) -> socket.socket:
    """A socket on this port, or on the next free one unless the port was chosen."""
    for number in range(port, port + 1 if chosen else min(port + TRIES, 65536)):
        try:
            return _listen(host, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise NotReady(f"Cannot listen on {host}:{number}: {error.strerror}.") from None
    if chosen:
        raise NotReady(f"Port {port} is in use: choose another with --port, or stop what uses it.")
    raise NotReady(f"Ports {port} to {number} are all in use: choose another with --port.")


def url(host: str, port: int, *, scheme: str = "http") -> str:
    """What to type into a browser."""
    if host in {"0.0.0.0", "::"}:
        host = "127.0.0.1"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def names(sock: socket.socket) -> list[str]:
    """Return the host names that a browser may send when it opens this socket by its IP address."""
    host = sock.getsockname()[0]
    return [] if host in {"0.0.0.0", "::"} else [f"[{host}]" if ":" in host else host]


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(512)
    except OSError:
        sock.close()
        raise
    return sock
