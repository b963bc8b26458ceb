import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.factories import make_fact, make_member


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_a_list_has_the_whole_width_and_nothing_to_press(window, scheme):
    member = make_member()
    make_fact(member.space, text="Ana drinks tea")
    page = window(color_scheme=scheme).sign_in(member.user)
    page.goto(reverse("facts:index", args=[member.space.slug]))
    page.emulate_media(media="print")
    expect(page.locator("nav.rail")).to_be_hidden()
    expect(page.locator(".filters")).to_be_hidden()
    expect(page.locator(".rows .acts").first).to_be_hidden()
    expect(page.get_by_text("Ana drinks tea")).to_be_visible()
    assert page.locator("#facts").bounding_box()["width"] > 1000
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_on_paper_an_opened_fact_stands_alone_and_whole(window):
    member = make_member()
    fact = make_fact(member.space, text="Ana drinks tea", quote="I drink tea")
    page = window().sign_in(member.user)
    page.goto(reverse("facts:detail", args=[member.space.slug, fact.pk]))
    page.emulate_media(media="print")
    expect(page.locator("#facts")).to_be_hidden()
    expect(page.locator("#panel")).to_contain_text("I drink tea")
    assert page.evaluate("getComputedStyle(document.querySelector('#panel')).overflowY") != "auto"
