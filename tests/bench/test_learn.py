"""The benchmark of learning: marks are read as written, figures count what they say."""

import json

import pytest

from bench import learn
from bench.marked_lines import Mark, locomo, read

LINES = (
    "en\tWhat do you do?\tlol {profile:I work in a clinic} btw\n"
    "en\t\tbrb gotta feed the cat\n"
    "es\t\t{past:ya no vivo en Lima}, {profile:ahora estoy en Cusco}\n"
)


@pytest.fixture
def lines(tmp_path):
    file = tmp_path / "lines.tsv"
    file.write_text(LINES)
    return read(file)


def test_marks_are_places_in_the_message(lines):
    assert lines[0].message == "lol I work in a clinic btw"
    assert lines[0].marks == (Mark(4, 22, "profile"),)
    assert [line.is_marked for line in lines] == [True, False, True]


def test_a_broken_line_is_named(tmp_path):
    file = tmp_path / "lines.tsv"
    file.write_text(LINES + "en\tonly two\n")
    with pytest.raises(ValueError, match="line 4"):
        read(file)


def test_turns_that_an_observation_names_are_marked(tmp_path):
    talk = {
        "observation": {"session_1_observation": {"Ana": [["Ana paints.", "D1:2"]]}},
        "conversation": {
            "speaker_a": "Ana",
            "session_1": [
                {"dia_id": "D1:1", "text": "hi", "speaker": "Bo"},
                {"dia_id": "D1:2", "text": "I paint", "speaker": "Ana"},
            ],
        },
    }
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([talk]))
    assert [(x.previous, x.message, x.is_marked) for x in locomo(file)] == [
        ("", "hi", False),
        ("hi", "I paint", True),
    ]


def test_every_system_and_language_has_its_row(lines):
    rows = learn.measure(lines)
    assert [(row["language"], row["system"]) for row in rows] == [
        (language, system)
        for language in ("en", "es", "all")
        for system in ("cues", "listener", "both")
    ]
    both = rows[-1]
    assert both["message_precision"] == both["message_recall"] == both["span_recall"] == 1
    assert both["wrong_polarity"] == 0
    assert both["by_kind"]["past"]["kind_right"] == 1


@pytest.mark.parametrize(
    ("span", "turned"),
    [((0, 19, "past"), False), ((0, 19, "profile"), False), ((6, 19, "past"), True)],
)
def test_a_mark_that_is_turned_around_is_counted(lines, span, turned):
    line = lines[2]
    assert learn._is_turned(line, learn.Span(*span, 0.9), line.marks[0]) is turned


def test_a_span_must_share_half_of_the_longer():
    mark = Mark(10, 20, "profile")
    assert learn._matches(learn.Span(10, 30, "profile", 1), mark)
    assert not learn._matches(learn.Span(10, 31, "profile", 1), mark)
    assert not learn._matches(learn.Span(10, 14, "profile", 1), mark)
