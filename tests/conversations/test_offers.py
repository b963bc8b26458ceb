"""What is heard, but not surely enough to be believed: a person saves it, or leaves it."""

from datetime import timedelta

import pytest

from memory.chats import service as chats
from memory.extraction import ingest, offers
from memory.history.actors import PersonNeeded
from memory.identity import preferences
from memory.models import Fact
from sleep import cycle, offer_proposals, proposals
from sleep.models import Proposal
from tests.bot.conftest import NOON
from tests.factories import make_chat, make_client, make_member, make_space

ANA = "person:ana"
pytestmark = pytest.mark.django_db


@pytest.fixture
def unsure():
    """A chat of a space that believes nothing by itself: all that is heard is offered."""
    space = make_space("home", settings={"believe_from": 1, "offer_from": 0.5})
    return make_chat(space, channel="web")


def hear(chat, text, *, at=NOON, author="Ana", author_id="7"):
    given = {"author": author, "author_id": author_id, "now": at}
    message = chats.receive(chat, text=text, **given).message
    ingest.ingest(message, now=at)
    return message


@pytest.mark.parametrize(
    ("said", "fact"),
    [("I live in Lisbon", "Ana lives in Lisbon"), ("Vivo en Lisboa", "Ana vive en Lisboa")],
)
def test_an_offer_is_kept_with_how_sure_it_is_and_not_believed(unsure, said, fact):
    ((place, line),) = offers.of_message(hear(unsure, said))
    assert (place, line["text"], line["quote"]) == (0, fact, said)
    assert 0.5 <= line["confidence"] < 1
    assert not Fact.objects.exists()


def test_below_the_second_line_it_is_nothing(unsure):
    unsure.space.settings = {"believe_from": 1, "offer_from": 1}
    assert offers.of_message(hear(unsure, "I live in Lisbon")) == []


def test_a_person_saves_it_into_its_chat_as_its_speaker_s(unsure):
    message = hear(unsure, "I live in Lisbon")
    sure = message.journal[0]["confidence"]
    fact = offers.save(message, 0, by=ANA).row
    assert (fact.text, fact.chat, fact.message) == ("Ana lives in Lisbon", unsure, message)
    assert (fact.confidence, fact.said_by, fact.sticky) == (sure, "Ana", False)
    assert offers.of_message(message) == []
    with pytest.raises(offers.NoOffer):
        offers.save(message, 0, by=ANA)


def test_no_leaves_it_and_can_be_taken_back(unsure):
    message = hear(unsure, "I live in Lisbon")
    offers.decline(message, 0, by=ANA)
    assert message.journal[0]["outcome"] == "declined"
    offers.offer_again(message, 0, by=ANA)
    assert offers.save(message, 0, by=ANA).row.status == "active"


@pytest.mark.parametrize("act", [offers.save, offers.decline, offers.offer_again])
def test_only_a_person_decides(unsure, act):
    with pytest.raises(PersonNeeded):
        act(hear(unsure, "I live in Lisbon"), 0, by="tag")


@pytest.mark.parametrize("wish", ["Answer me in French", "Respóndeme siempre en verso"])
def test_a_wish_becomes_a_preference_under_the_name_of_who_wished(unsure, wish):
    message = hear(unsure, wish)
    assert not preferences.active(unsure.space)
    offers.save(message, 0, by=ANA)
    (kept,) = preferences.active(unsure.space)
    assert (kept.value, kept.section, kept.sticky) == (wish, "Ana", True)


def test_what_was_passed_on_is_only_ever_offered():
    chat = make_chat()
    given = {"author": "Vic", "author_id": "1", "now": NOON}
    said = chats.receive(chat, text="I live in Lisbon", origin="Mallory", **given).message
    ingest.ingest(said, now=NOON)
    assert not Fact.objects.exists()
    fact = offers.save(said, 0, by=ANA).row
    assert (fact.said_by, fact.text) == ("Mallory", "Mallory lives in Lisbon")
    assert fact.trust < 0.5


def test_the_night_asks_about_five_a_day_at_most_and_each_once(unsure):
    towns = "Lisbon Oslo Rome Porto Quito Lima Cali Paris".split()
    heard = [hear(unsure, f"I have a house in {town}") for town in towns]
    total = sum(len(offers.of_message(message)) for message in heard)
    assert 5 < total <= 10
    for day, waiting in ((1, 5), (2, total), (3, total)):
        cycle.sleep(unsure.space, now=NOON + timedelta(days=day))
        assert Proposal.objects.filter(flags__contains=["offer"]).count() == waiting


def test_approving_saves_and_rejecting_declines(unsure):
    member = make_member(space=unsure.space)
    yes, no = hear(unsure, "I live in Lisbon"), hear(unsure, "I have two cats")
    assert offer_proposals.propose_offers(unsure.space, now=NOON) == 2
    by_words = {one.after["text"]: one for one in Proposal.objects.all()}
    lives, cats = by_words["Ana lives in Lisbon"], by_words["Ana has two cats"]
    proposals.approve(lives, member=member, digest=lives.digest)
    proposals.reject(cats, member=member, digest=cats.digest)
    assert Fact.objects.get().chat == unsure
    for message, outcome in ((yes, "saved"), (no, "declined")):
        message.refresh_from_db()
        assert message.journal[0]["outcome"] == outcome


class TestUnderTheMessage:
    @pytest.fixture
    def browser(self, unsure):
        return make_client(make_member(space=unsure.space, role="curator").user)

    def url(self, chat, message, act):
        return f"/s/{chat.space.slug}/chats/{chat.pk}/offer/{message.pk}/0/{act}/"

    @pytest.mark.parametrize(("language", "asks"), [("en", "Save it?"), ("es", "¿Lo guardo?")])
    def test_the_chip_asks_in_both_languages(self, unsure, browser, language, asks):
        hear(unsure, "I live in Lisbon")
        page = browser.get(
            f"/s/{unsure.space.slug}/chats/{unsure.pk}/", headers={"accept-language": language}
        )
        assert asks in page.content.decode()

    def test_save_shows_the_fact_and_asks_nobody_again(self, unsure, browser):
        message = hear(unsure, "I live in Lisbon")
        offer_proposals.propose_offers(unsure.space, now=NOON)
        headers = {"hx-request": "true"}
        answer = browser.post(self.url(unsure, message, "save"), headers=headers)
        fact = Fact.objects.get()
        assert f"learned-{fact.pk}" in answer.content.decode()
        assert Proposal.objects.get().status == "expired"

    def test_no_strikes_it_out_and_undo_brings_it_back(self, unsure, browser):
        message = hear(unsure, "I live in Lisbon")
        headers = {"hx-request": "true"}
        gone = browser.post(self.url(unsure, message, "decline"), headers=headers)
        assert "Not saved" in gone.content.decode()
        back = browser.post(self.url(unsure, message, "again"), headers=headers)
        assert "Save it?" in back.content.decode()

    def test_a_viewer_decides_nothing(self, unsure):
        message = hear(unsure, "I live in Lisbon")
        viewer = make_client(make_member(space=unsure.space, role="viewer").user)
        assert viewer.post(self.url(unsure, message, "save")).status_code in (403, 404)
        assert not Fact.objects.exists()
