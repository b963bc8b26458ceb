"""URLs of the pages of a space."""

import pytest
from django.urls import NoReverseMatch

from kenoweb.ui.responses import space_url
from memory.models import Space

CASA = Space(slug="casa")


def test_a_row_is_named_by_its_place_or_by_its_name():
    assert space_url("facts:detail", CASA, 1) == "/s/casa/facts/1/"
    assert space_url("facts:detail", CASA, pk=1) == "/s/casa/facts/1/"
    assert space_url("facts:index", CASA) == "/s/casa/facts/"


def test_two_spaces_never_share_a_url():
    assert space_url("facts:detail", Space(slug="b"), pk=1) == "/s/b/facts/1/"


def test_a_page_that_does_not_exist_is_a_mistake_in_the_code():
    with pytest.raises(NoReverseMatch):
        space_url("cellar:index", CASA)
