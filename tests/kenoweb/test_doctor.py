from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.models import Heartbeat
from tests.factories import make_space

pytestmark = pytest.mark.django_db


def doctor(*arguments):
    out = StringIO()
    try:
        call_command("doctor", *arguments, stdout=out)
    except CommandError as error:
        return out.getvalue(), str(error)
    return out.getvalue(), ""


@pytest.fixture
def worker():
    Heartbeat.objects.create(name="w", beat_at=timezone.now())


def test_a_healthy_keno_is_told_so(worker):
    make_space("home")
    said, error = doctor("--probe")
    assert error == ""
    assert "offline answered" in said
    assert "ERROR" not in said


def test_what_is_wrong_is_said_with_what_to_do():
    make_space("home")
    said, error = doctor()
    assert "start manage.py runbot" in said
    assert error == "1 thing needs you."


def test_a_provider_without_a_key_is_found(worker, settings):
    settings.PROVIDER = "anthropic"
    said, _error = doctor()
    assert "ANTHROPIC_API_KEY is not set" in said
