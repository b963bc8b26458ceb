import pytest

from sleep.advice import advise, habitual_opening


def names(**measures):
    return [one.name for one in advise(measures)]


@pytest.mark.parametrize(
    ("measures", "name"),
    [
        ({"episodes": 11, "patterns_proposed": 0}, "no-patterns"),
        ({"errors": 4}, "many-errors"),
        ({"notes": 6}, "stale-notes"),
        ({"patterns": 4}, "weak-patterns"),
        ({"replies": 10, "hedging_rate": 0.31}, "hedging"),
        ({"replies": 10, "filler_rate": 0.2}, "filler"),
        ({"extracted": 10, "junk_rate": 0.4}, "junk"),
        ({"unused_facts": 10}, "unused-facts"),
        ({"errors": 3, "error_repeat_rate": 0.6}, "repeated-errors"),
    ],
)
def test_each_measure_past_its_line_is_named(measures, name):
    assert names(**measures) == [name]


@pytest.mark.parametrize(
    "measures",
    [
        {"episodes": 10},
        {"errors": 3},
        {"notes": 5},
        {"patterns": 3},
        {"replies": 9, "hedging_rate": 1.0},
        {"extracted": 9, "junk_rate": 1.0},
        {},
    ],
)
def test_at_the_line_nothing_is_said(measures):
    assert names(**measures) == []


def test_the_most_urgent_comes_first():
    assert names(notes=6, errors=4)[0] == "many-errors"


def test_a_setting_is_proposed_with_its_new_value():
    (one,) = advise({"notes": 6}, options={"working_stale_days": 20})
    assert one.change == {"name": "working_stale_days", "value": 30}


def test_a_setting_at_its_end_is_not_proposed():
    assert advise({"notes": 6}, options={"working_stale_days": 30}) == []


def test_a_habitual_opening_is_found():
    replies = ["Great question! Yes."] * 4 + [f"Answer number {n}" for n in "abcdefgh"]
    assert habitual_opening(replies) in {"great question", "answer number"}
    assert habitual_opening(["Great question!"] * 9) == ""
