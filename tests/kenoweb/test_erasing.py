"""Pages that take something away: what came of it, erasing, archiving, leaving, incognito."""

import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from kenoweb import tasks as web_tasks
from memory import tasks
from memory.models import Chat, Erasure, Fact, Member, Message, Ruling, Space
from tests.factories import (
    make_chat,
    make_client,
    make_entity,
    make_fact,
    make_member,
    make_message,
    make_space,
)

pytestmark = pytest.mark.django_db


class House:
    def __init__(self, role="owner"):
        self.member = make_member(role=role)
        self.space, self.user = self.member.space, self.member.user
        self.client = make_client(self.user, sudo=True)
        self.chat = make_chat(self.space, title="Friends")
        self.said = make_message(self.chat, "My boat is called Dorada", author="Rosa")
        self.fact = make_fact(
            self.space, "Rosa's boat is called Dorada", subject="Rosa", message=self.said,
            chat=self.chat,
        )  # fmt: skip
        self.rosa = make_entity(self.space, name="Rosa", chat=self.chat, fact=self.fact)

    def url(self, name, *args):
        return reverse(name, args=[self.space.slug, *args])

    def get(self, name, *args):
        return self.client.get(self.url(name, *args)).content.decode()

    def post(self, name, *args, **data):
        return self.client.post(self.url(name, *args), data)


@pytest.mark.parametrize(("language", "words"), [("en", "This stays:"), ("es", "Esto queda:")])
def test_the_preview_counts_and_asks_for_the_name(language, words):
    house = House()
    make_message(house.chat, "I sail too", author="Tom")
    other = make_entity(house.space, name="Tom")
    fact = make_fact(house.space, "Tom sails with Rosa", subject="Tom", chat=house.chat)
    fact.mentions.create(entity=other, role="about")
    fact.mentions.create(entity=house.rosa, role="named")
    house.client.cookies["keno_language"] = language
    page = house.client.get(
        house.url("erase:preview", "person", house.rosa.pk), headers={"accept-language": language}
    ).content.decode()
    assert "<code>Rosa</code>" in page
    assert "My boat is called Dorada" in page
    assert "Tom sails with Rosa" in page
    assert words in page


def test_without_the_name_nothing_is_erased():
    house = House()
    answer = house.post("erase:preview", "person", house.rosa.pk, typed="rosa")
    assert answer.url == house.url("erase:preview", "person", house.rosa.pk)
    assert not Erasure.objects.exists()


def test_the_page_follows_the_job_and_ends_with_a_receipt_to_keep():
    house = House()
    answer = house.post("erase:preview", "person", house.rosa.pk, typed="Rosa")
    asked = Erasure.objects.get()
    assert answer.url == house.url("erase:detail", asked.pk)
    assert "<progress" in house.get("erase:detail", asked.pk)
    tasks.erase(erasure_id=asked.pk, space_id=house.space.pk)
    page = house.get("erase:detail", asked.pk)
    assert "Download the receipt" in page
    file = house.client.get(house.url("erase:receipt", asked.pk))
    told = json.loads(file.content)
    assert (told["kind"], told["by"]) == ("person", f"person:{house.user.username}")
    assert "Dorada" not in file.content.decode()
    assert not Fact.objects.exists()


def test_a_space_is_erased_from_its_settings_and_the_receipt_stays_mine():
    house = House()
    link = house.url("erase:preview", "space", house.space.pk)
    assert (
        link in house.client.get(reverse("spaces:edit", args=[house.space.slug])).content.decode()
    )
    answer = house.post("erase:preview", "space", house.space.pk, typed=house.space.name)
    asked = Erasure.objects.get()
    assert answer.url == reverse("account:erasure", args=[asked.pk])
    tasks.erase(erasure_id=asked.pk, space_id=house.space.pk)
    assert not Space.objects.exists()
    assert house.client.get(answer.url).status_code == 200
    assert json.loads(house.client.get(answer.url + "?file").content)["kind"] == "space"
    assert make_client(make_member().user, sudo=True).get(answer.url).status_code == 404


@pytest.mark.parametrize(
    ("page", "args", "kind"),
    [
        ("people:detail", "rosa", "person"),
        ("chats:about", "chat", "chat"),
    ],
)
def test_the_owner_finds_the_button_and_a_curator_does_not(page, args, kind):
    owner = House()
    link = owner.url("erase:preview", kind, getattr(owner, args).pk)
    assert link in owner.get(page, getattr(owner, args).pk)
    curator = House("curator")
    assert "/erase/" not in curator.get(page, getattr(curator, args).pk)


def test_what_came_of_a_message_is_shown_discarded_and_undone():
    house = House("curator")
    page = house.get("lineage:detail", "message", house.said.pk)
    assert "Rosa&#x27;s boat is called Dorada" in page
    answer = house.client.post(
        house.url("lineage:discard", "message", house.said.pk), follow=True
    ).content.decode()
    house.fact.refresh_from_db()
    assert house.fact.status == "trashed"
    undo = answer.split('action="')[1:]
    undo = next(part.split('"')[0] for part in undo if "/undo/" in part.split('"')[0])
    house.client.post(undo)
    house.fact.refresh_from_db()
    assert house.fact.status == "active"


def test_what_came_of_a_fact_a_chat_a_person_and_a_member_is_shown():
    house = House()
    own = make_message(house.chat, "My kite is red", author_id=str(house.user.pk))
    Chat.objects.filter(pk=house.chat.pk).update(channel="web")
    kite = make_fact(house.space, "Her kite is red", message=own, chat=house.chat)
    for kind, pk in (("fact", kite.pk), ("chat", house.chat.pk), ("member", house.member.pk)):
        assert "Her kite is red" in house.get("lineage:detail", kind, pk), kind
    house.post("lineage:discard", "member", house.member.pk)
    kite.refresh_from_db()
    house.fact.refresh_from_db()
    assert (kite.status, house.fact.status) == ("trashed", "active")


def test_something_of_another_space_has_no_lineage_here():
    house = House()
    other = make_message(make_chat(make_space()), "elsewhere")
    assert house.client.get(house.url("lineage:detail", "message", other.pk)).status_code == 404
    assert house.client.get(house.url("lineage:detail", "planet", 1)).status_code == 404


def test_an_archived_space_is_set_aside_and_comes_back():
    house = House()
    second = make_member(user=house.user)
    house.client.post(reverse("spaces:archive", args=[house.space.slug]), {"archived": "yes"})
    house.space.refresh_from_db()
    assert house.space.archived_at
    assert "archived" in house.client.get(reverse("spaces:index")).content.decode()
    there = house.client.get(reverse("overview:index", args=[second.space.slug])).content.decode()
    assert reverse("overview:index", args=[house.space.slug]) not in there
    house.client.post(reverse("spaces:archive", args=[house.space.slug]), {"archived": "no"})
    house.space.refresh_from_db()
    assert house.space.archived_at is None


def test_an_account_is_deleted_with_its_name_typed_and_what_was_said_stays():
    house = House("curator")
    make_member(space=house.space)
    mine = make_message(house.chat, "I said this", author_id=str(house.user.pk))
    house.client.post(reverse("account:delete"), {"typed": "nobody"})
    assert User.objects.filter(pk=house.user.pk).exists()
    house.client.post(reverse("account:delete"), {"typed": house.user.username})
    assert not User.objects.filter(pk=house.user.pk).exists()
    assert Message.objects.get(pk=mine.pk).text == "I said this"


def test_an_account_is_deleted_with_what_it_said():
    house = House("curator")
    make_member(space=house.space)
    chat = make_chat(house.space, channel="web")
    mine = make_message(chat, "I said this here", author="me", author_id=str(house.user.pk))
    house.client.post(reverse("account:delete"), {"typed": house.user.username, "words": "1"})
    assert not User.objects.get(pk=house.user.pk).is_active
    web_tasks.delete_account(user_id=house.user.pk)
    assert not User.objects.filter(pk=house.user.pk).exists()
    assert not Message.objects.filter(pk=mine.pk).exists()
    assert Erasure.objects.get().kind == "member"


def test_the_only_owner_must_hand_over_first():
    house = House()
    page = house.client.post(reverse("account:delete"), {"typed": house.user.username})
    assert house.space.name in page.content.decode()
    assert Member.objects.filter(user=house.user).exists()


def test_dont_mention_is_a_ruling_on_the_fact_that_can_be_lifted():
    house = House("curator")
    house.post("facts:dont_mention", house.fact.pk)
    ruling = Ruling.objects.get()
    assert (ruling.kind, ruling.fact) == ("dont_mention", house.fact)
    assert "Dorada" in house.get("facts:detail", house.fact.pk)
    assert "Dorada" in house.client.get(house.url("rulings:index") + "?show=quiet").content.decode()
    house.post("rulings:lift", ruling.pk)
    ruling.refresh_from_db()
    assert ruling.status == "lifted"


def test_tags_are_put_on_many_facts_found_by_and_taken_off():
    house = House("curator")
    other = make_fact(house.space, "Something else")
    picked = {"pick": [house.fact.pk, other.pk], "act": "tag", "tags": "Boats, #Summer,boats"}
    house.post("facts:bulk", **picked)
    house.fact.refresh_from_db()
    assert house.fact.tags == ["boats", "summer"]
    house.post("facts:bulk", pick=[other.pk], act="untag", tags="boats")
    found = house.client.get(house.url("facts:index") + "?tag=boats").content.decode()
    assert "Dorada" in found
    assert "Something else" not in found


def test_goals_and_notes_are_kinds_and_tags_a_field_of_the_form():
    house = House("curator")
    given = {"text": "Run a marathon", "kind": "goal", "category": "other", "confidence": "0.9"}
    house.post("facts:remember", **given, tags="sport, 2027", chat="space")
    fact = Fact.objects.get(kind="goal")
    assert fact.tags == ["sport", "2027"]


def test_an_incognito_chat_shows_its_band_and_leaves_nothing():
    house = House("curator")
    assert "incognito" in house.client.get(house.url("chats:new") + "?incognito=1").content.decode()
    house.post("chats:begin", text="I hide a Zebra", key="a" * 32, incognito="1")
    chat = Chat.objects.get(channel="web")
    assert (chat.title, bool(chat.incognito_since)) == ("Incognito", True)
    assert "nothing said here is kept" in house.get("chats:detail", chat.pk)
    house.post("chats:incognito", chat.pk)
    assert not Chat.objects.filter(pk=chat.pk).exists()
    assert not Message.objects.filter(text__contains="Zebra").exists()
