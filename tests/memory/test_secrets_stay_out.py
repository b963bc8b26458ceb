"""A secret that somebody typed stands in no column of the database, whichever way it came."""

import json
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db import connection

from bot import turn
from kenoweb.chats import transcript
from memory.chats import inbox
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.models import Message
from memory.retrieval.recall import recall
from memory.transfer import tasks
from sleep import proposals
from sleep.models import Proposal
from tests.factories import make_chat, make_member, make_space, make_user

pytestmark = pytest.mark.django_db(transaction=True)
# Put together here, so that no scanner takes this file for a leak.
SECRET = "Zeta9" + "-horse-" + "Kiwi77"
LINE = f"my wifi password is {SECRET}"
COLUMNS = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'public' AND data_type IN ('text', 'character varying', 'jsonb')
"""


def holding(secret):
    """The columns that hold it; a job's arguments too."""
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS)
        found = []
        for table, column in cursor.fetchall():
            cursor.execute(
                f'SELECT 1 FROM "{table}" WHERE "{column}"::text LIKE %s LIMIT 1', [f"%{secret}%"]
            )
            if cursor.fetchone():
                found.append(f"{table}.{column}")
        return found


@pytest.fixture
def space():
    return make_space("casa")


def test_the_search_finds_what_is_there(space):
    make_chat(space, title=LINE)
    assert "memory_chat.title" in holding(SECRET)


def test_said_in_a_chat(space):
    chat = make_chat(space, channel="web")
    message = inbox.receive(chat, text=LINE, author="Ana")
    turn.answer(message.pk, now=message.sent_at + timedelta(seconds=2))
    for one in Message.objects.order_by("pk"):
        episode = episodes.follow(one)
    episodes.close(episode, by="bot")
    assert holding(SECRET) == []


def test_as_the_first_words_of_a_chat_in_the_browser(space):
    member = make_member(space=space, user=make_user("ana"))
    transcript.begin(space, user=member.user, text=LINE, key="k")
    assert holding(SECRET) == []


def test_asked_for(space):
    recall(space, LINE)
    assert holding(SECRET) == []


def test_in_a_file_that_is_looked_at_and_imported(space):
    node = {
        "id": "n1",
        "parent": None,
        "message": {
            "id": "n1",
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": [LINE]},
        },
    }
    talk = {"title": LINE, "conversation_id": "c1", "mapping": {"n1": node}, "create_time": 1}
    file = ContentFile(json.dumps([talk]).encode(), name="conversations.json")
    parcel = tasks.upload(space, file, by="person:ana", now=True)
    assert holding(SECRET) == []
    tasks.start_step(parcel, status="applying", after=("ready",), asker="person:ana", now=True)
    assert Message.objects.count() == 1
    assert holding(SECRET) == []


def test_as_the_reason_of_a_decision(space):
    member = make_member(space=space, user=make_user("ana"))
    row = proposals.propose(
        space, Proposal.Kind.ADD, key="k", title=LINE, after={"text": LINE}, rationale=LINE
    )
    proposals.reject(row, member=member, digest=row.digest, reason=LINE)
    assert holding(SECRET) == []


def test_as_what_a_chat_is_about(space):
    chats.revise(make_chat(space), title=LINE, context=LINE, by="person:ana")
    assert holding(SECRET) == []
