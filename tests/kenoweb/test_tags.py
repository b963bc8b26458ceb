import datetime as dt
import re

import pytest
from django.template import Context, Template
from django.utils import timezone, translation

from kenoweb.templatetags import keno
from memory.models import Fact

NOW = dt.datetime(2026, 2, 15, 9, 42, tzinfo=dt.UTC)


def draw(source: str, **context) -> str:
    """Draw the source; white space at the edges of elements, which nobody sees, is left out."""
    html = Template("{% load keno %}" + source).render(Context(context))
    return re.sub(r"\s*\n\s*", "", html)


@pytest.mark.parametrize(
    ("back", "short", "long"),
    [
        (dt.timedelta(seconds=3), "now", "just now"),
        (dt.timedelta(minutes=5), "5 min", "5 minutes ago"),
        (dt.timedelta(hours=1), "1 h", "1 hour ago"),
        (dt.timedelta(days=2, hours=5), "2 d", "2 days ago"),
        (dt.timedelta(days=130), "4 mo", "4 months ago"),
        (dt.timedelta(days=800), "2 y", "2 years ago"),
        (dt.timedelta(minutes=-5), "now", "just now"),
    ],
)
def test_how_long_since(back, short, long):
    assert keno.since(NOW - back, now=NOW) == short
    assert keno.since(NOW - back, now=NOW, long=True) == long


def test_the_full_time_stands_in_the_element():
    with timezone.override(dt.timezone(dt.timedelta(hours=-6))):
        html = draw("{% ago when now=now %}", when=NOW - dt.timedelta(hours=2), now=NOW)
    assert 'datetime="2026-02-15T01:42:00-06:00"' in html
    assert "15 February 2026, 01:42" in html


def test_never_is_a_dash():
    assert "–" in draw("{% ago when %}", when=None)


def test_a_meter_warns_below_forty_by_its_own_scale():
    html = draw("{% meter 0.955 number=True %}")
    assert 'low=".4" high=".7" optimum="1" value="0.95"' in html
    assert html.endswith("</meter> .95</span>")


def test_attributes_stay_numbers_in_spanish():
    with translation.override("es"):
        html = draw("{% meter 0.5 %}{% bars points 'x' %}", points=[("a", 1.5), ("b", 2.25)])
    assert 'value="0.50"' in html
    assert 'width="99"' in html
    assert "202 34" in html


def test_numbers_and_money_speak_the_readers_language():
    assert draw("{{ 1284|number }} {{ 4.18|money }} {{ 0.0123|money }} {{ 0|money }}") == (
        "1,284 $4.18 $0.012 $0.00"
    )
    with translation.override("es"):
        assert draw("{{ 4.18|money }}") == "$4,18"


def test_a_diff_escapes_what_people_wrote():
    html = draw("{% diff before after %}", before="a <b>", after="a <i>")
    assert html == "a &lt;<del>b</del><ins>i</ins>&gt;"


def test_a_pair_shows_before_above_after():
    html = draw("{% pair before after %}", before="uses npm", after="uses bun")
    assert '<p class="before"><span>uses <del>npm</del></span></p>' in html
    assert '<p class="after"><span>uses <ins>bun</ins></span></p>' in html


def test_a_new_thing_has_no_before():
    assert "before" not in draw("{% pair '' after %}", after="new")


def test_a_quote_marks_the_words_that_carried_the_claim_and_keeps_its_language():
    html = draw(
        "{% quote text mark='en la CDMX' lang='es' by='Ana' %}", text="ya estamos en la CDMX <3"
    )
    assert '<p lang="es" dir="auto">ya estamos <mark>en la CDMX</mark> &lt;3</p>' in html
    assert "<bdi>Ana</bdi>" in html


def test_T21_hidden_direction_marks_are_seen():
    html = draw("{{ text|shown }}", text="pay \u202eme <now> \U000e0041")
    assert "U+202E" in html
    assert "U+E0041" in html
    assert "\u202e" not in html
    assert "&lt;now&gt;" in html


def test_ordinary_arabic_and_emoji_are_left_alone():
    text = "مرحبا 👩‍👩‍👧 שלום"
    assert draw("{{ text|shown }}", text=text) == text


def test_an_icon_is_decoration():
    assert draw("{% icon 'fact' %}") == (
        '<svg class="i" aria-hidden="true"><use href="/static/icons.svg#fact"/></svg>'
    )


def test_every_icon_a_template_names_is_drawn():
    import re
    from pathlib import Path

    from kenoweb.ui.page_chrome import NAVIGATION, SPACE_MENU
    from kenoweb.ui.views import icon_names

    root = Path(__file__).resolve().parents[2]
    named = {place.icon for _title, places in NAVIGATION for place in places}
    named |= {place.icon for place in SPACE_MENU}
    for file in (root / "templates").rglob("*.html"):
        named |= set(re.findall(r'{% icon "(\w+)"', file.read_text()))
    assert named <= set(icon_names())


def test_numbers_are_rounded_not_cut():
    assert keno.number(26.579787, 2) == "26.58"
    assert keno.money(0.0129) == "$0.013"


def test_an_option_is_cut_escaped_and_chosen_by_its_value():
    html = draw("{% options choices 2 12 %}", choices=[(1, "<b>"), ("2", "a long name of a chat")])
    assert html == (
        '<option value="1">&lt;b&gt;</option><option value="2" selected>a long name…</option>'
    )


def test_only_what_is_too_long_is_cut():
    assert draw("{{ text|truncatechars:5 }}", text="12345") == "12345"
    assert draw("{{ text|truncatechars:5 }}", text="123456") == "1234…"
    assert draw("{{ text|truncatechars:9 }}", text="<b>") == "&lt;b&gt;"


def test_the_same_number_reads_as_each_language_writes_it():
    assert draw("{{ n|number:2 }}", n=0.875) == "0.88"
    with translation.override("es"):
        assert draw("{{ n|number:2 }}", n=0.875) == "0,88"


def test_the_hour_is_that_of_the_space():
    with timezone.override(dt.timezone(dt.timedelta(hours=-6))):
        html = draw("{% clock when %}{% clock when titled=True %}", when=NOW)
    assert html.count('<time datetime="2026-02-15T03:42:00-06:00"') == 2
    assert html.count(">03:42</time>") == 2
    assert html.count('title="15 February 2026, 03:42"') == 1


def test_a_choice_is_said_in_the_language_of_the_reader():
    fact = Fact(kind="lesson", status="a state of another version")
    assert draw('{{ fact|word:"kind" }}', fact=fact) == fact.get_kind_display()
    with translation.override("es"):
        assert draw('{{ fact|word:"kind" }}', fact=fact) == fact.get_kind_display()
    assert draw('{{ fact|word:"status" }}', fact=fact) == "a state of another version"
