import re
from datetime import UTC, datetime

from memory.models import LlmCall
from memory.operations import metrics
from tests.factories import make_chat, make_message, make_space

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
SAMPLE = re.compile(r'keno_[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+')


def test_every_line_is_in_the_exposition_format(db):
    space = make_space()
    make_message(make_chat(space))
    LlmCall.objects.create(space=space, purpose="chat", provider='odd"name\n', cost="0.5")
    lines = metrics.prometheus_text(now=NOW).strip().splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert len(samples) > 10
    assert [line for line in samples if not SAMPLE.fullmatch(line.replace('\\"', ""))] == []


def test_it_counts(db):
    make_message(make_chat(make_space()))
    text = metrics.prometheus_text(now=NOW)
    assert 'keno_messages_total{role="user"} 1' in text
    assert "keno_messages_unanswered 1" in text
