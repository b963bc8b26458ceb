"""Unsafe settings are refused, and production settings give Django nothing to complain about."""

import pytest

from kenoweb.auth import checks
from tests.kenoweb.running import manage

SAFE = {"secret": "0123456789" * 5, "hosts": ["keno.lan"], "debug": False, "host": "0.0.0.0",
        "plain": True}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"secret": ""}, ["keno.E001"]),
        ({"secret": "short"}, ["keno.E001"]),
        ({"secret": "a" * 64}, ["keno.E001"]),
        ({"secret": "django-insecure-" + "0123456789" * 5}, ["keno.E001"]),
        ({"hosts": ["keno.lan", "*"]}, ["keno.E002"]),
        ({"debug": True}, ["keno.E003"]),
        ({"debug": True, "host": "keno.lan"}, ["keno.E003"]),
        ({"debug": True, "host": "127.0.0.1"}, []),
        ({"debug": True, "host": "[::1]"}, []),
        ({"debug": True, "host": "localhost"}, []),
        ({"plain": False}, ["keno.E005"]),
        ({"plain": False, "proxies": 1}, []),
        ({"plain": False, "host": "127.0.0.1"}, []),
        ({"https": True}, ["keno.E004"]),
        ({"https": True, "proxies": 1}, []),
        ({"secret": "", "hosts": ["*"], "debug": True}, ["keno.E001", "keno.E002", "keno.E003"]),
    ],
)
def test_each_unsafe_setting_is_found(changes, found):
    assert list(checks.problems(**SAFE | changes)) == found


PRODUCTION = {"KENO_HOSTS": "keno.example.org", "KENO_HTTPS": "1", "KENO_PROXIES": "1"}


def check(home, **values):
    return manage(home, "check", "--deploy", "--fail-level", "WARNING", **values)


@pytest.mark.processes
def test_production_settings_satisfy_django(tmp_path):
    checked = check(tmp_path, KENO_SECRET_KEY="0123456789" * 6, **PRODUCTION)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.processes
def test_the_check_fails_on_what_is_unsafe(tmp_path):
    checked = check(tmp_path, **PRODUCTION | {"KENO_SECRET_KEY": "secret", "KENO_HOSTS": "*"})
    assert checked.returncode == 1
    assert "keno.E001" in checked.stderr
    assert "keno.E002" in checked.stderr
