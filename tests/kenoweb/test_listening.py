"""The address of the pages: read, taken, and shown as something to click."""

import socket

import pytest

from kenoweb.data_dir import NotReady
from kenoweb.launcher import startup as listening


@pytest.mark.parametrize(
    ("bind", "port", "meaning"),
    [
        ("", None, ("127.0.0.1", 8000, False)),
        ("0.0.0.0", None, ("0.0.0.0", 8000, False)),
        ("0.0.0.0:80", None, ("0.0.0.0", 80, True)),
        (":9000", None, ("127.0.0.1", 9000, True)),
        ("[::1]", None, ("::1", 8000, False)),
        ("[::1]:9000", None, ("::1", 9000, True)),
        ("localhost:9000", 9001, ("localhost", 9001, True)),
    ],
)
def test_an_address_may_leave_out_what_is_usual(bind, port, meaning):
    assert listening.parse(bind, port=port) == meaning


@pytest.mark.parametrize(("bind", "port"), [("x:http", None), ("x:70000", None), ("", 0), ("", -1)])
def test_a_port_that_is_none_is_refused(bind, port):
    with pytest.raises(NotReady, match="from 1 to 65535"):
        listening.parse(bind, port=port)


def test_a_taken_port_is_passed_over_unless_chosen():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with listening.listen("127.0.0.1", port, chosen=False) as sock:
            assert port < sock.getsockname()[1] < port + 20
        with pytest.raises(NotReady, match=f"Port {port} is in use: choose another with --port"):
            listening.listen("127.0.0.1", port, chosen=True)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("::", "http://127.0.0.1:8000"),
        ("::1", "http://[::1]:8000"),
    ],
)
def test_the_address_to_click(host, url):
    assert listening.url(host, 8000) == url


@pytest.mark.parametrize(("host", "named"), [("127.0.0.2", ["127.0.0.2"]), ("0.0.0.0", [])])
def test_the_pages_accept_the_address_they_listen_on_but_not_any(host, named):
    with socket.create_server((host, 0)) as sock:
        assert listening.names(sock) == named
