"""Homes with embedded servers that a test may break, and the processes that use them."""

import os
import pwd
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from kenoweb.launcher import embedded_postgres
from kenoweb.launcher.embedded_account import copied_programs, place, programs

ROOT = Path(__file__).resolve().parent.parent.parent
QUICK = {"fsync": "off", "shared_buffers": "16MB"}
IS_ROOT = os.geteuid() == 0
only_root = pytest.mark.skipif(not IS_ROOT, reason="only root can become another account")


def in_use(home: Path) -> bool:
    """Whether some process has a session of this home's server open."""
    here = embedded_postgres.place(home)
    if not here.base.is_dir():
        return False
    users = embedded_postgres.open_file(here.base / "users.lock", here.uid)
    try:
        return not embedded_postgres._alone(users)
    finally:
        os.close(users)


class Homes:
    """Makes homes under one folder that every account can reach."""

    def __init__(self):
        # Not tmp_path: it is closed to the account that runs Postgres for root.
        self.folder = Path(tempfile.mkdtemp(prefix="keno-homes-"))
        self.folder.chmod(0o755)
        self.made = []
        self.visitors = []

    def new(self, name="home") -> Path:
        home = self.folder / name
        self.made.append(home)
        return home

    def visit(self, home: Path, text: str, *, account="", **kwargs) -> subprocess.Popen:
        """A process that opens a session, adds a row, says so, and leaves when its stdin closes."""
        if account:
            kwargs["path"] = [reachable_wheel(self.folder / "wheel")]
        self.visitors.append(spawn(VISITOR, home, text, account, **kwargs))
        return self.visitors[-1]

    def clear(self):
        for visitor in self.visitors:
            with visitor:  # closes its pipes
                visitor.kill()
        for home in self.made:
            embedded_postgres.stop(home)
            shutil.rmtree(place(home).socket_folder, ignore_errors=True)
            shutil.rmtree(place(home).base, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def add_row(url: str, text: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(1)")
        connection.execute("CREATE TABLE IF NOT EXISTS notes (text text)")
        connection.execute("INSERT INTO notes VALUES (%s)", [text])


def rows(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY text")]


def value(url: str, query: str):
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchone()[0]


def server_pid(home: Path) -> int:
    return int((place(home).data / "postmaster.pid").read_text().split()[0])


def become(account: str) -> None:
    """Give up root for good. Done from inside: the interpreter itself may be closed to others."""
    entry = pwd.getpwnam(account)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def reachable_wheel(folder: Path) -> Path:
    """Postgres as an ordinary user would have installed it: in a place of its own."""
    package = copied_programs(programs()).parent.parent
    if not folder.exists():
        shutil.copytree(package.parent, folder, symlinks=True)
        (folder / package.name / "__init__.py").touch()
    return folder


def spawn(code: str, *args, env=None, path=()) -> subprocess.Popen:
    """A Python process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        env=os.environ | {"PYTHONPATH": ":".join(map(str, [*path, ROOT]))} | (env or {}),
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


VISITOR = """
import sys
from pathlib import Path
from kenoweb.launcher import embedded_postgres
from tests.kenoweb.servers import QUICK, add_row, become, value
home, text, account = sys.argv[1:]
if account:
    become(account)
with embedded_postgres.session(Path(home), options=QUICK) as url:
    add_row(url, text)
    print(value(url, "SELECT pg_postmaster_start_time()"), flush=True)
    sys.stdin.read()
"""


class Pooler:
    """A transaction pooler: a client has a server for as long as its transaction lasts."""

    def __init__(self, url: str, *, size: int = 3):
        self.servers = [psycopg.connect(url, autocommit=True) for _ in range(size)]
        # One after the other, so that a client alone meets another server each time.
        self.idle = [socket.socket(fileno=os.dup(one.fileno())) for one in self.servers]
        for server in self.idle:
            server.setblocking(True)
        self.free = threading.Condition()
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = str(self.door.getsockname()[1])
        threading.Thread(target=self._admit, daemon=True).start()

    def close(self) -> None:
        self.door.close()
        for server in [*self.servers, *self.idle]:
            server.close()

    def _admit(self) -> None:
        with suppress(OSError):
            while True:
                client = self.door.accept()[0]
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError, EOFError):
            # Whoever asks for encryption first is told that there is none.
            while struct.unpack("!I", _exactly(client, _length(client))[:4])[0] != 196608:
                client.sendall(b"N")
            said = {"server_version": "18.0", "client_encoding": "UTF8", "TimeZone": "UTC"}
            said |= {"standard_conforming_strings": "on", "integer_datetimes": "on"}
            words = [f"{name}\0{value}\0".encode() for name, value in said.items()]
            hello = _message(b"R", bytes(4)) + b"".join(_message(b"S", word) for word in words)
            client.sendall(hello + _message(b"K", bytes(8)) + _message(b"Z", b"I"))
            while (first := _read(client))[0] != b"X":
                self._transact(client, first)

    def _transact(self, client: socket.socket, first: tuple[bytes, bytes]) -> None:
        with self.free:
            self.free.wait_for(lambda: self.idle)
            server = self.idle.pop(0)
        asked, message = 0, first
        while True:
            server.sendall(_message(*message))
            asked += message[0] in b"QS"
            while client not in select.select([client, server], [], [])[0]:
                kind, body = _read(server)
                client.sendall(_message(kind, body))
                asked -= kind == b"Z"
                if kind == b"Z" and body == b"I" and not asked:
                    with self.free:
                        self.idle.append(server)
                        self.free.notify()
                    return
            message = _read(client)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def _read(wire: socket.socket) -> tuple[bytes, bytes]:
    return _exactly(wire, 1), _exactly(wire, _length(wire))


def _length(wire: socket.socket) -> int:
    return struct.unpack("!I", _exactly(wire, 4))[0] - 4


def _exactly(wire: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        if not (part := wire.recv(size - len(found))):
            raise EOFError
        found += part
    return found
