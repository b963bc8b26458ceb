"""Failover by Patroni and etcd, several times under load.

    python -m bench.failover --times 5 --json OUT

Two PostgreSQL servers under Patroni with synchronous commit, an etcd, two workers and two web
processes. The machine of the leader dies (Patroni and its server at once, by kill -9) while people
talk; Patroni promotes the other one, the dead machine comes back as its replica, and then the next
one dies. `recoveries_s` are the seconds from each death until a message said after it was answered
and both web processes were ready. Needs what Keno does not: etcd and Patroni (Debian's packages
etcd-server and patroni).
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from urllib.request import urlopen

import psycopg

from bench.cluster import MOST, Cluster, free_port, measure, until
from kenoweb.launcher.embedded_account import Place, closed_folder, place, prepare

NAMES = ("one", "two")
# Seconds that a dead leader keeps its key, and between two looks: a failover takes about both.
KEY_LIVES, LOOKS = 20, 5
NODE = """
scope: keno
name: {name}
restapi: {{listen: "127.0.0.1:{api}", connect_address: "127.0.0.1:{api}"}}
etcd3: {{host: "{etcd}"}}
bootstrap:
  dcs:
    ttl: {ttl}
    loop_wait: {looks}
    retry_timeout: {looks}
    synchronous_mode: true
    postgresql: {{use_pg_rewind: true, parameters: {{wal_keep_size: 1GB, wal_log_hints: "on"}}}}
  initdb: [{{encoding: UTF8}}, data-checksums]
postgresql:
  listen: "127.0.0.1:{port}"
  connect_address: "127.0.0.1:{port}"
  data_dir: {data}
  bin_dir: {programs}
  pg_hba: [host all all 127.0.0.1/32 scram-sha-256, host replication all 127.0.0.1/32 scram-sha-256]
  authentication:
    superuser: {{username: postgres, password: {password}}}
    replication: {{username: replicator, password: {password}}}
    rewind: {{username: rewinder, password: {password}}}
  parameters: {{unix_socket_directories: "{sockets}"}}
"""


@dataclass
class Node:
    """One machine of the database: a Patroni and the server it looks after."""

    name: str
    here: Place
    port: int = field(default_factory=free_port)
    api: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            [shutil.which("patroni") or "patroni", self.here.base / "patroni.yml"],
            stdout=(self.here.base / "patroni.log").open("ab"),
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.here.socket_folder), "LC_ALL": "C"},
            **self.here.as_owner(),
        )

    def die(self) -> None:
        """As a power cut does: neither Patroni nor the server does anything any more."""
        server = int((self.here.data / "postmaster.pid").read_text().split()[0])
        if self.process:
            self.process.kill()
            self.process.wait()
        os.kill(server, signal.SIGKILL)

    def role(self) -> str:
        """What Patroni says of it: primary, replica, sync (a replica that confirms); or nothing."""
        try:
            with urlopen(f"http://127.0.0.1:{self.api}/patroni", timeout=2) as answer:
                state = json.load(answer)
        except OSError:
            return ""
        role = "sync" if state.get("sync_standby") else str(state.get("role"))
        return {"master": "primary"}.get(role, role)  # its name before Patroni 4


@dataclass
class Patronised(Cluster):
    """The same programs over a database that Patroni looks after."""

    nodes: list[Node] = field(default_factory=list)
    etcd: subprocess.Popen | None = None

    def start_primary(self) -> None:
        address = self._start_etcd()
        password = secrets.token_hex(12)
        for name in NAMES:
            home = self.folder / name
            home.mkdir()
            node = Node(name, place(home))
            prepare(node.here)
            closed_folder(node.here.data, node.here.uid)
            (node.here.base / "patroni.yml").write_text(_configuration(node, address, password))
            self.nodes.append(node)
        if not until(self.is_whole):
            sys.exit(f"Patroni did not start: see {node.here.base / 'patroni.log'}")
        hosts = ",".join("127.0.0.1" for _ in self.nodes)
        ports = ",".join(str(node.port) for node in self.nodes)
        login = f"user=postgres&password={password}&host={hosts}&port={ports}"
        address = "postgresql:///{}?" + login + "&target_session_attrs=read-write&connect_timeout=3"
        with psycopg.connect(address.format("postgres"), autocommit=True) as told:
            told.execute("CREATE DATABASE keno")
        os.environ["DATABASE_URL"] = address.format("keno")

    def _start_etcd(self) -> str:
        clients, peers = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.etcd = subprocess.Popen(
            [
                *("etcd", "--name", "keno", "--data-dir", self.folder / "etcd"),
                *("--listen-client-urls", f"http://{clients}"),
                *("--advertise-client-urls", f"http://{clients}"),
                *("--listen-peer-urls", f"http://{peers}"),
                *("--initial-advertise-peer-urls", f"http://{peers}"),
                *("--initial-cluster", f"keno=http://{peers}"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return clients

    def start_replica(self) -> None:
        """Patroni has."""

    def is_whole(self) -> bool:
        """Whether both machines live and the replica confirms; what died is switched on again."""
        for node in self.nodes:
            if node.process is None or node.process.poll() is not None:
                node.start()
        return sorted(node.role() for node in self.nodes) == ["primary", "sync"]

    def kill_leader(self) -> None:
        next(node for node in self.nodes if node.role() == "primary").die()

    def stop_servers(self) -> None:
        for node in self.nodes:
            if node.process:
                node.process.terminate()
                node.process.wait()
        if self.etcd:
            self.etcd.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between messages")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    if missing := [name for name in ("etcd", "patroni") if not shutil.which(name)]:
        parser.error(f"not found on the path: {', '.join(missing)}")
    kills = {f"leader {n}": Patronised.kill_leader for n in range(1, given.times + 1)}
    limits = {"messages": 20 * given.times, "pause": given.pause, "most": KEY_LIVES + MOST}
    measure(Patronised, kills, out=given.json, **limits)


def _configuration(node: Node, etcd: str, password: str) -> str:
    here = node.here
    paths = {"data": here.data, "programs": here.programs, "sockets": here.socket_folder}
    clock = {"ttl": KEY_LIVES, "looks": LOOKS}
    ports = {"port": node.port, "api": node.api, "etcd": etcd}
    return NODE.format(name=node.name, password=password, **paths, **clock, **ports)


if __name__ == "__main__":
    main()
