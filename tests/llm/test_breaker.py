from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memory.llm import choose
from memory.llm.request import Resting

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 1, 12, tzinfo=ZoneInfo("UTC"))


def after(seconds):
    return NOON + timedelta(seconds=seconds)


def fail(times):
    for n in range(times):
        choose.failed("anthropic", error="busy", now=after(n))


def test_four_failures_leave_it_closed():
    fail(4)
    choose.enter("anthropic", now=after(5))
    assert choose.state("anthropic", now=after(5)) == "closed"


def test_five_failures_open_it_for_a_minute():
    fail(5)
    with pytest.raises(Resting) as resting:
        choose.enter("anthropic", now=after(5))
    assert resting.value.retry_after == pytest.approx(59)
    assert choose.state("anthropic", now=after(63)) == "open"
    assert choose.state("anthropic", now=after(64)) == "half-open"


def test_half_open_lets_one_try():
    fail(5)
    choose.enter("anthropic", now=after(70))
    with pytest.raises(Resting, match="another worker"):
        choose.enter("anthropic", now=after(71))


def test_a_probe_whose_worker_died_is_tried_again_later():
    fail(5)
    choose.enter("anthropic", now=after(70))
    choose.enter("anthropic", now=after(131))


def test_the_trial_closes_it():
    fail(5)
    choose.enter("anthropic", now=after(70))
    choose.succeeded("anthropic")
    choose.enter("anthropic", now=after(71))
    assert choose.failing_since("anthropic") is None


def test_the_trial_opens_it_again():
    fail(5)
    choose.enter("anthropic", now=after(70))
    choose.failed("anthropic", error="busy", now=after(71))
    with pytest.raises(Resting):
        choose.enter("anthropic", now=after(72))
    assert choose.failing_since("anthropic") == NOON


def test_providers_are_counted_apart():
    fail(5)
    choose.enter("openai", now=after(5))


def test_the_numbers_are_settings(settings):
    settings.CIRCUIT_BREAKER_THRESHOLD, settings.CIRCUIT_BREAKER_COOLDOWN = 2, 5
    fail(2)
    assert choose.state("anthropic", now=after(2)) == "open"
    assert choose.state("anthropic", now=after(6)) == "half-open"


def test_the_wrong_model_of_one_space_does_not_rest_the_model_of_another():
    for n in range(5):
        choose.failed("openai", "no-such-model", error="unknown model", now=after(n))
    with pytest.raises(Resting, match="no-such-model"):
        choose.enter("openai", "no-such-model", now=after(5))
    choose.enter("openai", "good-model", now=after(5))
