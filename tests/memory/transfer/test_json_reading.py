"""JSON of strangers: streamed, broken, deep and huge."""

import contextlib
import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.transfer.containers import Refused
from memory.transfer.readers import json_values

plain = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def elements(data: bytes) -> list:
    return list(json_values.elements(io.BufferedReader(io.BytesIO(data))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    listed=st.lists(values, max_size=8), chunk=st.integers(1, 40), indent=st.sampled_from([0, 2])
)
def test_a_list_is_the_same_element_by_element(monkeypatch, listed, chunk, indent):
    monkeypatch.setattr(json_values, "_CHUNK", chunk)
    assert elements(json.dumps(listed, indent=indent).encode()) == listed


@given(st.binary(max_size=300))
def test_any_bytes_are_a_list_or_broken(data):
    with contextlib.suppress(json_values.Broken):
        elements(data)


@pytest.mark.parametrize("data", [b"[1, 2", b"[1 2]", b"{}", b"", b"[1,]", b'["abc', b"[tru]"])
def test_a_broken_list_says_so(data):
    with pytest.raises(json_values.Broken):
        elements(data)


def test_what_came_before_the_break_is_not_lost():
    found = json_values.elements(io.BufferedReader(io.BytesIO(b'[{"a": 1}, {"b": 2}, {"c')))
    assert [next(found), next(found)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(json_values.Broken):
        next(found)


def test_a_deep_list_is_a_sentence():
    deep = b"[" * 100_000
    with pytest.raises(json_values.Broken):
        elements(deep)
    with pytest.raises(json_values.Broken, match="deeply"):
        json_values.loads(deep.decode())


def test_one_huge_element_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(json_values, "ELEMENT_LIMIT", 10_000)
    with pytest.raises(Refused):
        elements(b'["' + b"x" * 2_000_000 + b'"]')


def test_a_long_line_is_passed_over_and_the_next_is_read(monkeypatch):
    monkeypatch.setattr(json_values, "LINE_LIMIT", 10)
    stream = io.BufferedReader(io.BytesIO(b"short\n" + b"x" * 95 + b"\nlast\n"))
    assert list(json_values.lines(stream)) == [(1, "short\n"), (2, None), (3, "last\n")]


@pytest.mark.parametrize(
    ("given", "year"),
    [
        (1707235200000, 2024),
        (1707235200, 2024),
        (1707235200.123, 2024),
        ("1707235200000", 2024),
        ("2026-02-13T14:30:00Z", 2026),
        ("2026-02-13T14:30:00.123456+01:00", 2026),
        ("2026-02-13", 2026),
    ],
)
def test_times_of_every_kind(given, year):
    assert json_values.parse_time(given).year == year
    assert json_values.parse_time(given).tzinfo == UTC


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "soon",
        True,
        [],
        {},
        10**400,
        float("nan"),
        float("inf"),
        -1,
        "9999-12-31",
        "²",
        "1" * 500,
    ],
)
def test_no_time_is_no_time(given):
    assert json_values.parse_time(given) is None


def test_nan_and_infinity_become_nothing():
    assert json_values.loads("[NaN, Infinity, 1]") == [None, None, 1]
    assert json_values.number_in_range(float("nan"), 0.5, low=0, high=1) == 0.5
    assert json_values.number_in_range(10**400, 0.5, low=0, high=1) == 1


def test_a_time_is_a_moment():
    assert json_values.parse_time("2026-02-13T14:30:00+02:00") == datetime(
        2026, 2, 13, 12, 30, tzinfo=UTC
    )
