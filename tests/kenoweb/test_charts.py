import datetime as dt
import re

from django.utils import translation

from kenoweb.ui import charts
from kenoweb.ui.formatting import share


def test_the_tallest_bar_leaves_air_and_zero_is_a_hairline():
    drawn = charts.bars([("mon", 0), ("tue", 5), ("wed", 10)], width=30, height=34)
    assert [bar.height for bar in drawn] == ["1", "15", "30"]
    assert drawn[2].y == "4"
    assert [bar.last for bar in drawn] == [False, False, True]


def test_no_numbers_no_chart():
    assert charts.bars([]) == []
    assert charts.line([3]) is None
    assert charts.growth([1], [1], names=("a", "b"), days=("a", "b", "c")) is None
    assert charts.stacked([("a", 0)]) == []


def test_bars_survive_all_zero_and_negative_numbers():
    assert {bar.height for bar in charts.bars([("a", 0), ("b", -3)])} == {"1"}


def test_coordinates_are_text_without_exponents_or_commas():
    assert [charts.n(value) for value in (0, -0.0, 12.44, 3.0, 1e-9, 123456.78)] == [
        "0",
        "0",
        "12.4",
        "3",
        "0",
        "123456.8",
    ]


def test_a_line_ends_where_its_last_point_is():
    drawn = charts.line([0, 10, 5], width=100, height=35)
    assert (drawn.x, drawn.y) == ("100", "20")
    assert drawn.path == "M0 35 L50 5 L100 20"
    assert drawn.area.endswith("L100 35 L0 35Z")


def test_growth_puts_both_series_on_one_scale():
    drawn = charts.growth(
        [0, 1000], [0, 500], names=("1,000 facts", "500 episodes"), days=("a", "b", "c")
    )
    assert drawn.first.y == "18"
    assert drawn.second.y == "74"
    assert [mark.text for mark in drawn.grid] == ["500", "1000"]
    assert [mark.anchor for mark in drawn.days] == ["start", "middle", "end"]


def test_the_names_of_two_lines_never_overlap():
    for second in range(0, 1001, 50):
        for ends in ([0, 1000], [0, second]), ([0, second], [0, 1000]), ([0, second], [0, second]):
            drawn = charts.growth(*ends, names=("a", "b"), days=("", "", ""))
            one, other = (float(mark.y) for mark in drawn.names)
            assert abs(one - other) >= 12, ends
            assert min(one, other) >= 0, ends


def test_a_name_stands_clear_of_both_lines():
    facts, episodes = range(0, 110, 2), range(0, 142, 2)
    drawn = charts.growth(facts, episodes, names=("facts", "episodes"), days=("", "", ""))
    below, above = (float(mark.y) for mark in drawn.names)
    assert above < float(drawn.second.y) < float(drawn.first.y)
    # Sixty points to the left, where the name begins, the line is lower than at its end.
    assert below > 130 - (130 - float(drawn.first.y)) * 0.8 + 12


def test_grid_lines_are_one_to_three_round_numbers():
    assert charts.ticks(1284) == [500, 1000]
    assert charts.ticks(1) == [1]
    for top in (2, 7, 99, 640, 12_345, 1_000_000):
        assert 1 <= len(charts.ticks(top)) <= 3


MONTHS = [str(month) for month in range(1, 13)]
DAYS = list("MTWTFSS")


def heat(counts, end=dt.date(2026, 2, 15), weeks=24):
    return charts.heat(counts, end=end, weeks=weeks, month_names=MONTHS, day_names=DAYS)


def test_the_heat_map_starts_on_a_monday_and_ends_today():
    drawn = heat({}, end=dt.date(2026, 2, 11))
    assert drawn.cells[0].day.weekday() == 0
    assert drawn.cells[-1].day == dt.date(2026, 2, 11)
    assert len(drawn.cells) == 23 * 7 + 3
    assert {cell.level for cell in drawn.cells} == {0}


def test_the_busiest_quarter_is_darkest():
    end = dt.date(2026, 2, 15)
    drawn = heat({end - dt.timedelta(days=back): back for back in range(1, 101)})
    levels = {cell.value: cell.level for cell in drawn.cells}
    assert (levels[0], levels[1], levels[30], levels[60], levels[100]) == (0, 1, 2, 3, 4)


def test_one_lonely_message_still_shows():
    end = dt.date(2026, 2, 15)
    assert max(cell.level for cell in heat({end: 1}).cells) >= 1


def test_months_stand_above_their_first_full_week():
    assert [mark.text for mark in heat({}).months] == ["10", "11", "12", "1", "2"]


def test_stacked_parts_fill_the_bar_and_keep_their_colour():
    parts = charts.stacked([("a", 1), ("b", 0), ("c", 1)], width=102, gap=2)
    assert [(part.x, part.width, part.tone) for part in parts] == [
        ("0", "50", "d1"),
        ("52", "50", "d3"),
    ]


def test_a_total_leaves_the_rest_empty():
    (part,) = charts.stacked([("used", 250)], total=1000, width=1000)
    assert part.width == "250"


def test_scores_of_two_rows_share_one_scale():
    high = charts.score([("meaning", 0.5), ("words", 0.25)], width=300)
    low = charts.score([("meaning", 0.25), ("words", 0.0), ("recency", 0.1)], width=300)
    assert [(part.x, part.width) for part in high] == [("0", "149"), ("150", "74")]
    assert [(part.x, part.width, part.tone) for part in low] == [
        ("0", "74", "d1"),
        ("75", "29", "d3"),
    ]


def test_a_score_never_leaves_its_bar():
    parts = charts.score([("a", 0.9), ("b", 0.9), ("c", -3)], width=300)
    assert float(parts[-1].x) + float(parts[-1].width) <= 300


def test_a_share_is_printed_like_a_share():
    assert [share(value) for value in (0, 0.951, 1, None)] == [".00", ".95", "1.00", "–"]
    with translation.override("es"):
        assert share(0.951) == "0,95"


def test_every_geometry_attribute_is_plain_ascii_digits():
    drawn = charts.bars([(str(n), n * 1.7) for n in range(14)])
    for bar in drawn:
        for value in (bar.x, bar.y, bar.width, bar.height):
            assert re.fullmatch(r"\d+(\.\d)?", value)


def test_a_river_is_as_long_as_it_held_and_as_high_as_it_was_sure():
    day = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    month = dt.timedelta(days=30)
    spans = [(day, day + month, 0.5), (day + month, day + 4 * month, 1.0)]
    old, new = charts.river(spans, width=400, height=60)
    assert (old.x, new.x) == ("0", "100")
    assert (old.tone, new.tone) == ("d2", "d1")
    assert " 15H" in old.path  # half of the height around the middle
    assert " 0H" in new.path
    assert charts.river([], width=400, height=60) == []
