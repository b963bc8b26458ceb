"""`manage.py up`, for real: a person starts it, kills parts of it, and starts it again."""

import json
import os
import re
import socket
import stat

import psutil
import psycopg
import pytest

from kenoweb.launcher import embedded_postgres
from tests.kenoweb.running import Keno, fetch, free_port, manage, until
from tests.kenoweb.servers import Homes, server_pid

pytestmark = pytest.mark.processes
OWNER = """
from django.contrib.auth.models import User
from memory.spaces import service
service.create("Home", owner=User.objects.create_user("ana"))
"""


@pytest.fixture(scope="module")
def homes():
    made = Homes()
    yield made
    made.clear()


@pytest.fixture
def home(settled_home):
    return settled_home


@pytest.fixture
def start():
    """Starts Keno; ends whatever of it still runs."""
    running = []

    def begin(home, *args, **values):
        running.append(Keno(home, *args, **values))
        return running[-1]

    yield begin
    for keno in running:
        keno.close()


def test_the_first_start_prepares_everything_and_the_second_keeps_it(homes, start):
    home = homes.new("fresh")
    port = free_port()
    keno = start(home, "--port", str(port))
    link = keno.greeting()
    assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/setup/[\w-]{{43}}/", link)
    assert fetch(link)[0] == 200
    status, said = fetch(f"http://127.0.0.1:{port}/readyz")
    well = dict.fromkeys(["database", "migrations", "disk", "queue"], "ok")
    assert (status, json.loads(said)) == (200, {"ready": True, "checks": well})
    assert "tables" in "".join(keno.heard)
    keno.hear("manage.py demo --remove deletes it again")
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "secret_key").stat().st_mode) == 0o600
    key = (home / "secret_key").read_text()
    assert len(key) > 64
    family = keno.everybody()
    assert len(family) >= 3
    with psycopg.connect(embedded_postgres.url(home), autocommit=True) as connection:
        connection.execute("INSERT INTO auth_group (name) VALUES ('kept')")
        # Web and worker own no table; the worker begins when the pages answer.
        asked = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'keno_app'"
        assert until(lambda: connection.execute(asked).fetchone()[0] >= 2)

    assert keno.interrupt() == 0
    keno.hear("Stopped.")
    assert psutil.wait_procs(family, timeout=0)[1] == []
    assert not embedded_postgres.running(home)

    again = start(home, "--port", str(port))
    assert again.greeting() != link
    assert "tables" not in "".join(again.heard)
    assert "static" not in "".join(again.heard)
    assert (home / "secret_key").read_text() == key
    with psycopg.connect(embedded_postgres.url(home)) as connection:
        assert connection.execute("SELECT name FROM auth_group").fetchall() == [("kept",)]


def is_another(home, before: int) -> bool:
    try:
        return server_pid(home) != before
    except (OSError, IndexError):
        return False  # just being written


def test_what_is_killed_is_started_again(home, start):
    keno = start(home, "--port", str(free_port()))
    page = re.sub("/setup/.*", "/sign-in/", keno.greeting())
    for name in ("web", "worker"):
        before = keno.children()[name]
        before.kill()
        keno.hear("was killed by signal 9; starting it again")
        assert until(lambda name=name, old=before: keno.children().get(name, old) != old)
        assert until(lambda: fetch(page)[0] == 200)
    # By the watch, or by a worker that is just starting: whoever sees it first.
    before = server_pid(home)
    os.kill(before, 9)
    assert until(lambda: is_another(home, before))
    assert until(lambda: fetch(page)[0] == 200)
    assert keno.interrupt() == 0


def test_killed_itself_it_leaves_nothing_behind_and_starts_again_on_the_same_port(home, start):
    port = str(free_port())
    keno = start(home, "--port", port)
    keno.greeting()
    family = keno.everybody()
    keno.kill()
    again = start(home, "--port", port)
    again.greeting()
    assert psutil.wait_procs(family, timeout=0)[1] == []


def test_a_second_one_is_told_where_the_first_is_and_half_sent_requests_do_not_stop_the_first(
    home, start
):
    port = free_port()
    start(home, "--port", str(port), KENO_WEB_WORKERS="1").greeting()
    second = manage(home, "up", "--port", str(free_port()))
    assert second.returncode == 1
    assert f"Keno already runs at http://127.0.0.1:{port}: stop it" in second.stderr
    half = [half_sent_request(port) for _ in range(16)]
    assert fetch(f"http://127.0.0.1:{port}/healthz", seconds=8)[0] == 200
    for sock in half:
        sock.close()


def half_sent_request(port: int) -> socket.socket:
    """All of them come from one address."""
    sock = socket.socket()
    sock.bind(("127.0.0.3", 0))
    sock.connect(("127.0.0.1", port))
    sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    return sock


def test_a_port_in_use_is_passed_over_unless_somebody_chose_it(home, start):
    with socket.create_server(("127.0.0.2", 8000)):
        refused = manage(home, "up", "--bind", "127.0.0.2", "--port", "8000")
        assert refused.returncode == 1
        assert "Port 8000 is in use: choose another with --port" in refused.stderr
        keno = start(home, "--bind", "127.0.0.2")
        assert "8000 is in use, so 800" in keno.hear("port")
        assert fetch(re.sub("8000", "8001", keno.greeting()))[0] == 200


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"KENO_DEBUG": "1", "KENO_BIND": "0.0.0.0"}, "KENO_DEBUG shows secrets"),
        ({"KENO_SECRET_KEY": "secret"}, "The secret key is missing, short"),
        ({"KENO_HOSTS": "keno.lan,*"}, r"KENO_HOSTS may not hold \*"),
        ({"KENO_HTTPS": "1"}, "set KENO_PROXIES to 1"),
        ({"KENO_BIND": "0.0.0.0"}, "set KENO_PLAIN_HTTP to true"),
        ({"KENO_BIND": "127.0.0.1:http"}, "A port is a number from 1 to 65535"),
        (
            {"KENO_BIND": "203.0.113.7:8000", "KENO_PLAIN_HTTP": "1"},
            "Cannot listen on 203.0.113.7:8000",
        ),
        ({"KENO_DEBUG": "perhaps"}, "KENO_DEBUG must be true or false"),
        ({"DATABASE_URL": "mysql://here"}, "DATABASE_URL must begin with postgresql://"),
        ({"DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "Postgres does not answer"),
        ({"KENO_HOME": "/proc/keno"}, r"KENO_HOME \(/proc/keno\) cannot be used"),
        ({"KENO_HOME": "/usr"}, r"KENO_HOME \(/usr\) holds other things"),
    ],
)
def test_it_refuses_and_says_what_to_do(home, values, sentence):
    refused = manage(home, "up", **values)
    assert refused.returncode == 1
    assert re.search(sentence, refused.stderr)
    assert "Traceback" not in refused.stderr
    assert not embedded_postgres.running(home)


def test_a_single_command_brings_its_own_database_and_leaves_none(homes):
    home = homes.new("command")
    shown = manage(home, "showmigrations", "memory", "--plan")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "[ ]  memory.0001_initial" in shown.stdout
    assert not embedded_postgres.running(home)


def test_help_needs_no_home(homes):
    home = homes.new("none")
    assert "up" in manage(home, "help").stdout
    assert not home.exists()


def test_a_link_goes_to_the_log_of_the_first_run_alone_and_never_with_its_secret(homes, start):
    home, port = homes.new("logged"), str(free_port())
    keno = start(home, "--port", port, KENO_ACCESS_LOG="1")
    link = keno.greeting()
    fetch(link)
    line = keno.hear("GET /setup/")
    assert link.split("/setup/")[1].strip("/") not in line
    made = manage(home, "shell", "-c", OWNER)
    assert made.returncode == 0, made.stderr
    assert keno.interrupt() == 0
    again = start(home, "--port", port)
    again.hear("manage.py signin")
    again.hear("Ctrl-C stops everything")
    assert "/enter/" not in "".join(again.heard)
