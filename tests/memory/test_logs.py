import json
import logging

import pytest

from memory import logs


def line(message="turn answered", *, exception=None, formatter=logs.JsonFormatter, **extra):
    info = (type(exception), exception, None) if exception else None
    record = logging.makeLogRecord({"name": "bot", "levelname": "INFO", "msg": message, **extra})
    record.exc_info = info
    return formatter().format(record)


def test_a_line_is_json_with_the_trace_of_its_turn():
    with logs.trace("m7"):
        found = json.loads(line(ms=12))
    assert found["trace"] == "m7"
    assert found["data"] == {"ms": 12}
    assert found["event"] == "turn answered"


def test_outside_a_turn_there_is_no_trace():
    assert "trace" not in json.loads(line())


def test_t25_a_line_break_cannot_forge_a_second_line():
    for formatter in (logs.JsonFormatter,):
        assert len(line("a\nlevel=error b\r\nc", formatter=formatter).splitlines()) == 1


def test_an_exception_is_kept_short():
    found = json.loads(line(exception=ValueError("x" * 10_000)))
    assert len(found["error"]) <= logs.MAX_LENGTH


@pytest.mark.parametrize("value", [{"a": [1, None]}, ("x",), object()])
def test_whatever_is_added_can_be_written(value):
    assert json.loads(line(value=value))["data"]


@pytest.mark.parametrize("where", ["message", "extra", "error"])
@pytest.mark.parametrize("formatter", [logs.JsonFormatter, logs.PlainFormatter])
def test_t25_no_secret_gets_into_a_log(where, formatter):
    secret = "sk-" + "ant-api03-" + "aB3x" * 12
    given = {
        "message": {"message": f"the key is {secret}"},
        "extra": {"why": {"inner": [f"key={secret}"]}},
        "error": {"exception": ValueError(f"refused {secret}")},
    }[where]
    assert secret not in line(formatter=formatter, **given)
