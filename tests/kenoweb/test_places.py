"""Addresses put together by hand must be the ones that the URL patterns say."""

import pytest
from django.urls import NoReverseMatch, reverse

from kenoweb.places import NUMBERS, SLUG, address, address_of
from memory.models import Space
from tests.kenoweb.addresses import every_address

CASA = Space(slug="casa")
WORDS = {"change", "token", "path", "kind", "part", "name", "key"}
ROOMS = [one for one in every_address() if one.in_space and not WORDS & set(one.arguments)]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_an_address_is_what_the_patterns_say(room):
    numbers = dict(zip([name for name in room.arguments if name != "space"], (7, 18), strict=False))
    said = reverse(room.name, kwargs={"space": "casa", **numbers})
    assert address(room.name, CASA, **numbers) == said
    assert address_of(room.name, "casa", *numbers.values()) == said


def test_there_are_many_of_them():
    assert len(ROOMS) > 100


def test_a_page_that_nobody_built_has_no_address():
    assert address("cellar:index", CASA) == ""
    with pytest.raises(NoReverseMatch):
        address_of("cellar:index", "casa")


def test_two_spaces_never_share_an_address():
    assert address("facts:detail", Space(slug="b"), pk=1) == "/s/b/facts/1/"
    assert address("facts:detail", CASA, pk=1) == "/s/casa/facts/1/"


@pytest.mark.parametrize("slug", [*NUMBERS, SLUG])
def test_a_space_may_have_the_name_of_a_stand_in(slug):
    assert address("facts:detail", Space(slug=slug), pk=5) == f"/s/{slug}/facts/5/"
