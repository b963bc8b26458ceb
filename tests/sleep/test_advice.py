import pytest

from sleep.advice import advise, habitual_opening


def names(**measures):
    return [one.name for one in advise(measures)]


@pytest.mark.parametrize(
    ("measures", "name"),
    [
        ({"notes": 6}, "stale-notes"),
        ({"replies": 10, "hedging_rate": 0.31}, "hedging"),
        ({"extracted": 10, "junk_rate": 0.4}, "junk"),
    ],
)
def test_each_measure_past_its_line_is_named_with_a_change_to_approve(measures, name):
    (one,) = advise(measures)
    assert (one.name, bool(one.change)) == (name, True)


@pytest.mark.parametrize(
    "measures",
    [
        {"episodes": 11, "patterns_proposed": 0},
        {"errors": 4},
        {"notes": 5},
        {"patterns": 4},
        {"replies": 9, "hedging_rate": 1.0},
        {"extracted": 9, "junk_rate": 1.0},
        {},
    ],
)
def test_at_the_line_or_without_anything_to_change_nothing_is_said(measures):
    assert names(**measures) == []


def test_the_most_urgent_comes_first():
    assert names(notes=6, extracted=10, junk_rate=0.4) == ["junk", "stale-notes"]


@pytest.mark.parametrize(
    ("measures", "option", "now", "value"),
    [
        ({"notes": 6}, "working_stale_days", 20, 30),
        ({"extracted": 10, "junk_rate": 0.4}, "believe_from", 0.8, 0.85),
    ],
)
def test_a_setting_is_proposed_with_its_new_value(measures, option, now, value):
    (one,) = advise(measures, options={option: now})
    assert one.change == {"name": option, "value": value}


def test_a_setting_at_its_end_is_not_proposed():
    assert advise({"notes": 6}, options={"working_stale_days": 30}) == []


def test_a_habitual_opening_is_found():
    replies = ["Great question! Yes."] * 4 + [f"Answer number {n}" for n in "abcdefgh"]
    assert habitual_opening(replies) in {"great question", "answer number"}
    assert habitual_opening(["Great question!"] * 9) == ""
