"""Receipts: from a reply to its memories, and from a fact to every reply."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from kenoweb.recall import score_rows
from memory.facts import service as facts
from memory.models import RecallItem
from memory.retrieval import features, receipts
from memory.retrieval.features import FEATURES
from memory.retrieval.recall import recall
from tests.factories import (
    make_chat,
    make_client,
    make_fact,
    make_member,
    make_message,
    make_receipt,
    make_user,
)
from tests.kenoweb.test_markup import problems

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 2, 15, 10, tzinfo=UTC)


@pytest.fixture
def member():
    return make_member(role="viewer")


@pytest.fixture
def space(member):
    return member.space


@pytest.fixture
def client(member):
    return make_client(member.user)


def at(space, *args, **query):
    return reverse("recall:receipt" if args else "recall:receipts", args=[space.slug, *args])


def listed(client, space, **query):
    return [row.query for row in client.get(at(space), query).context["list"].rows]


def test_without_receipts_the_page_says_what_they_are(client, space):
    assert "No reply has been given memory yet" in client.get(at(space)).content.decode()


def test_the_newest_stand_first_and_each_filter_narrows(client, space):
    chat = make_chat(space)
    make_receipt(space, "old", at=NOW - timedelta(days=3), level="low")
    make_receipt(space, "new", at=NOW, chat=chat, error="By words alone: no model")
    assert listed(client, space) == ["new", "old"]
    assert listed(client, space, chat=chat.pk) == ["new"]
    assert listed(client, space, level="low") == ["old"]
    assert listed(client, space, error="yes") == ["new"]
    assert listed(client, space, day="2026-02-12") == ["old"]
    assert listed(client, space, q="NE") == ["new"]
    assert listed(client, space, day="no day", level="?") == ["new", "old"]


def test_nothing_matches_says_so(client, space):
    make_receipt(space)
    page = client.get(at(space), {"q": "zebra"}).content.decode()
    assert "No receipt matches" in page


def test_from_a_fact_to_every_reply_it_reached(client, space):
    fact, other = make_fact(space, "Ana drinks tea"), make_fact(space)
    make_receipt(space, "with it", fact=fact)
    make_receipt(space, "without", fact=other)
    page = client.get(at(space), {"fact": fact.pk})
    assert [row.query for row in page.context["list"].rows] == ["with it"]
    assert "Ana drinks tea" in page.content.decode()


def test_a_fact_of_another_space_is_not_named(client, space):
    theirs = make_fact(text="their secret")
    assert "their secret" not in client.get(at(space), {"fact": theirs.pk}).content.decode()


def test_the_list_goes_on_where_it_ended(client, space):
    for number in range(60):
        make_receipt(space, f"number {number}", at=NOW - timedelta(minutes=number))
    page = client.get(at(space)).context["list"]
    rest = client.get(page.more).context["list"]
    assert [row.query for row in page.rows + rest.rows] == [f"number {n}" for n in range(60)]
    assert rest.more == ""


def test_a_receipt_shows_exactly_its_numbers(client, space):
    for text in ("Ana drinks green tea", "Bo repairs bicycles", "Backups run at night"):
        facts.remember(space, text=text, by="tag", subject="Ana")
    chat = make_chat(space, title="Kitchen")
    asked = make_message(chat, "what tea does Ana drink?")
    reply = make_message(chat, "Green tea.", role="assistant")
    receipt = recall(space, asked.text, chat=chat, person="Ana", message=asked).receipt
    receipts.attach(receipt, reply=reply, sections={"facts": 12, "history": 30})
    page = client.get(at(space, receipt.pk))
    html = page.content.decode()
    assert "Green tea." in html
    rows = page.context["injected"] + page.context["cut"]
    for item, row in zip(receipts.items_of(receipt), rows, strict=True):
        assert (row.score, row.relevance, row.tokens) == (item.score, item.confidence, item.tokens)
        assert round(sum(part.points for part in row.parts), 6) == item.score
        assert round(sum(points for _name, points in row.groups), 6) == item.score
        assert round(sum(points for _name, points in row.voices), 6) == round(item.confidence, 6)
    assert page.context["tokens"] == 42
    assert problems(html) == []


def test_every_feature_has_a_name_and_one_voice():
    said = [name for _label, names in score_rows.SCORE_GROUPS.values() for name in names]
    assert sorted(said) == sorted({*features.NAMES, "lexical", "older"})
    assert set(said) == set(FEATURES)


def test_a_purged_memory_leaves_its_numbers(client, space):
    receipt = make_receipt(space)
    RecallItem.objects.create(recall=receipt, kind="fact", rank=1, score=1, injected=True)
    assert "It was erased since" in client.get(at(space, receipt.pk)).content.decode()


def test_another_item_is_taken_apart(client, space):
    receipt = make_receipt(space, fact=make_fact(space))
    RecallItem.objects.create(recall=receipt, kind="fact", rank=2, score=1, cut="gate")
    assert client.get(at(space, receipt.pk), {"apart": "2"}).context["apart"].rank == 2


def test_a_stranger_finds_nothing(space):
    receipt = make_receipt(space)
    stranger = make_client(make_member(user=make_user()).user)
    assert stranger.get(at(space)).status_code == 404
    assert stranger.get(at(space, receipt.pk)).status_code == 404


def test_hostile_text_is_inert(client, space):
    bad = "<script>alert(1)</script>\u202e"
    fact = make_fact(space, bad)
    receipt = make_receipt(
        space, bad, fact=fact, person=bad, keywords=[bad], names=[bad], error=bad
    )
    for path in (at(space), at(space, receipt.pk), f"{at(space)}?fact={fact.pk}"):
        html = client.get(path).content.decode()
        assert "<script>alert" not in html


def queries(client, path):
    with CaptureQueriesContext(connection) as seen:
        client.get(path)
    return len(seen)


def test_the_number_of_queries_does_not_grow(client, space):
    one = make_receipt(space, fact=make_fact(space))
    before = queries(client, at(space)), queries(client, at(space, one.pk))
    for number in range(30):
        make_receipt(space, fact=make_fact(space))
        RecallItem.objects.create(
            recall=one, kind="fact", fact=make_fact(space), rank=number + 2, score=1, cut="gate"
        )
    assert (queries(client, at(space)), queries(client, at(space, one.pk))) == before


def test_a_receipt_is_a_card_and_markdown_for_others(client, space):
    fact = make_fact(space, "Bo likes <b>oolong</b> & tea")
    receipt = make_receipt(space, "what tea?", fact=fact)
    there = {"args": [space.slug, receipt.pk]}
    card = client.get(reverse("recall:receipt_card", **there))
    assert card["Content-Type"] == "image/svg+xml"
    words = "".join(ElementTree.fromstring(card.content).itertext())
    assert "what tea?" in words
    assert "Bo likes <b>oolong</b> & tea" in words
    told = client.get(reverse("recall:receipt_markdown", **there)).content.decode()
    assert told.startswith("> what tea?\n\n- ")
    assert f"(Fact {fact.pk})" in told


def test_an_episode_in_one_line_has_no_dashes():
    assert score_rows.one_line("- Ana: I sail - Bo: So do I") == "Ana: I sail · Bo: So do I"
    note = "Move it\nTask: Move it\nContext:\n- Bo decided it\n- The old disk is full"
    assert score_rows.one_line(note).endswith("Context: Bo decided it · The old disk is full")
