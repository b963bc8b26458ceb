import pytest
from django.test import RequestFactory

from kenoweb.auth.throttle import client_ip, neighbourhood


def ask(*, remote="10.0.0.9", forwarded=None):
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    return RequestFactory(headers=headers).get("/", REMOTE_ADDR=remote)


def test_a_forwarded_address_is_not_believed_without_a_proxy_of_ours(settings):
    settings.KENO_PROXIES = 0
    assert client_ip(ask(forwarded="1.2.3.4")) == "10.0.0.9"


@pytest.mark.parametrize(
    ("proxies", "forwarded", "seen"),
    [
        (1, "1.2.3.4", "1.2.3.4"),
        (1, "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        (2, "6.6.6.6, 1.2.3.4, 10.0.0.2", "1.2.3.4"),
        (2, "1.2.3.4", "10.0.0.9"),
        (1, None, None),
        (1, "2001:db8::1", "2001:db8::1"),
    ],
)
def test_behind_proxies_only_what_they_saw_counts(settings, proxies, forwarded, seen):
    settings.KENO_PROXIES = proxies
    assert client_ip(ask(forwarded=forwarded)) == (seen or client_ip(ask()))


@pytest.mark.parametrize("junk", ["", "unix:", "not an address", "1.2.3.4.5", "\x00"])
def test_junk_is_no_address(settings, junk):
    settings.KENO_PROXIES = 0
    assert client_ip(ask(remote=junk)) is None


def test_one_ipv6_household_is_one_neighbour():
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::2") == "2001:db8::/64"
    assert neighbourhood("10.0.0.1") == "10.0.0.1"
    assert neighbourhood(None) == "unknown"
