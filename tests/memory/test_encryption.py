"""The words of a space that is encrypted."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memory.models import Fact, Message, SpaceKey, encryption
from memory.spaces import encryption as service
from tests.factories import encrypt, make_chat, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db


def stored(row, column="text"):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {row._meta.db_table} WHERE id = %s", [row.pk])
        return cursor.fetchone()[0]


@pytest.fixture(autouse=True)
def content_key(settings, tmp_path):
    file = tmp_path / "content.key"
    file.write_bytes(service.new_key_file())
    settings.KENO_CONTENT_KEY_FILE = str(file)


def test_words_that_were_there_are_encrypted_and_read_as_before():
    space = make_space()
    fact = make_fact(space, "Ana keeps bees", quote="I keep bees")
    encrypt(space)
    assert stored(fact).startswith("keno-enc:")
    found = Fact.objects.get(pk=fact.pk)
    assert (found.text, found.quote, found.said_key) == (fact.text, fact.quote, fact.said_key)
    assert Fact.objects.filter(said_key=fact.said_key).values_list("text", flat=True).get()


def test_new_words_are_encrypted_however_they_are_written():
    space = make_space()
    encrypt(space)
    chat = make_chat(space)
    said = make_message(chat, "my bees are gone")
    assert stored(said).startswith("keno-enc:")
    Message.objects.filter(pk=said.pk).update(text="my hens are gone")
    assert stored(said).startswith("keno-enc:")
    said.refresh_from_db()
    assert said.text == "my hens are gone"
    said.text = "my ducks are gone"
    Message.objects.bulk_update([said], ["text"])
    assert stored(said).startswith("keno-enc:")
    assert Message.objects.get(pk=said.pk).text == "my ducks are gone" == said.text
    Message.objects.bulk_create([Message(space=space, chat=chat, text="x y", external_id="9")])
    assert stored(Message.objects.get(external_id="9")).startswith("keno-enc:")


def test_switched_off_everything_is_plain_again():
    space = make_space()
    encrypt(space)
    fact = make_fact(space, "Ana keeps bees", evidence=[{"message": 3, "quote": "I keep bees"}])
    assert "bees" not in str(stored(fact, "evidence"))
    service.switch_off(space, by="system")
    encryption.forget()
    assert not service.work(space.pk, now=timezone.now() + timedelta(hours=1))
    assert stored(fact) == "Ana keeps bees"
    assert "I keep bees" in str(stored(fact, "evidence"))
    assert not SpaceKey.objects.exists()
