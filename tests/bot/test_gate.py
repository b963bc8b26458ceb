"""The write gate of channels, of a model's tags and of imports: believe, hold for me, read only."""

import json

import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from bot import turn
from memory import tasks
from memory.chats import inbox
from memory.chats import service as chats
from memory.extraction import tags
from memory.extraction.apply import apply
from memory.models import Episode, Fact, Message, OutboxItem, WorkingNote
from memory.spaces import service as spaces
from memory.transfer import importing
from memory.transfer.containers import Refused
from sleep import offer_proposals, proposals
from sleep import tasks as sleep_tasks
from sleep.models import Proposal
from tests.bot.conftest import after
from tests.factories import make_chat, make_chat_link, make_member, make_user

pytestmark = pytest.mark.django_db
SAID = "I live in Soria."


@pytest.fixture(autouse=True)
def without_a_model(settings):
    settings.PROVIDER = "offline"


@pytest.fixture
def telegram(space):
    return make_chat(space, "7", channel="telegram")


def set_gate(space, **given):
    values = {f"gate_{way}": gate for way, gate in given.items()}
    spaces.configure(space, values=values, by="person:ana")


def say(chat, text, seconds=0.0):
    """Say it, have it answered, and do the jobs that follow."""
    message = inbox.receive(chat, text=text, author="Ana", author_id="7", now=after(seconds))
    turn.answer(message.pk, now=after(seconds + 30))
    reply = OutboxItem.objects.filter(chat=chat).latest("pk")
    tasks.ingest([message.pk], reply.message_id, chat.space_id)
    waiting = ProcrastinateJob.objects.filter(task_name="sleep.propose_held")
    for job in waiting.order_by("-pk")[:1]:
        sleep_tasks.propose_held(**job.args)
    return reply.text


def test_by_itself_what_people_say_is_believed(telegram):
    say(telegram, SAID)
    assert Fact.objects.live().filter(text__contains="Soria").exists()
    assert not Proposal.objects.exists()


def test_what_a_held_channel_says_waits_in_the_queue_with_its_source(space, telegram):
    set_gate(space, telegram="hold")
    assert "Noted" not in say(telegram, SAID)
    assert not Fact.objects.exists()
    waits = Proposal.objects.get()
    assert (waits.mode, waits.status) == ("gate:telegram", "pending")
    assert "Soria" in waits.title
    assert waits.evidence[0]["quote"] in SAID
    member = make_member(space=space, user=make_user("ana"))
    proposals.approve(waits, member=member, digest=waits.digest)
    assert Fact.objects.live().get().text == waits.title


def test_another_channel_of_the_space_is_not_held(space, telegram):
    set_gate(space, discord="hold")
    say(telegram, SAID)
    assert Fact.objects.live().exists()


def test_a_held_channel_is_not_cut_at_five_a_day(space, telegram):
    set_gate(space, telegram="hold")
    for n, town in enumerate(("Soria", "Lugo", "Vigo", "Ronda", "Jaca", "Cuenca", "Teruel")):
        say(telegram, f"My brother {town[::-1].title()} lives in {town}.", seconds=n * 100)
    assert Proposal.objects.filter(mode="gate:telegram").count() >= 6


def test_of_a_read_only_channel_nothing_is_kept_but_it_is_answered(space, telegram):
    set_gate(space, telegram="read_only")
    assert say(telegram, SAID)
    say(telegram, "/remember Ana keeps bees", seconds=100)
    assert not Fact.objects.exists()
    assert not Proposal.objects.exists()
    assert Message.objects.get(text=SAID).journal[-1]["reason"] == "read only"


def test_who_wants_something_remembered_in_a_held_channel_proposes_it(space, telegram):
    set_gate(space, telegram="hold")
    assert "waits for a person" in say(telegram, "/remember Ana keeps bees")
    assert not Fact.objects.exists()
    assert Proposal.objects.get().title == "Ana keeps bees"


def test_a_linked_curator_decides_and_so_writes_in_a_held_channel(space, telegram):
    set_gate(space, telegram="hold")
    make_chat_link(make_member(space=space, user=make_user("ana")), author_id="7")
    say(telegram, "/remember Ana keeps bees")
    assert Fact.objects.live().filter(text__contains="bees").exists()


def test_what_a_model_notes_in_tags_is_held_or_refused_as_the_space_says(space, telegram):
    noted = tags.split(
        "<memory>Project deadline is Friday</memory><chat-memory>We fixed the webhook</chat-memory>"
        "<working-memory>task: deploy v2</working-memory>"
    )
    said = "The project deadline is Friday. We fixed the webhook."
    for found, waiting in (("read_only", 0), ("hold", 2)):
        set_gate(space, tags=found)
        message = chats.receive(telegram, text=said, author="Ana").message
        apply(noted, chat=telegram, messages=[message])
        assert offer_proposals.propose_held([message], now=after(0)) == waiting
    assert not Fact.objects.exists()
    assert not Episode.objects.exists()
    assert WorkingNote.objects.count() == 1
    assert set(Proposal.objects.values_list("mode", flat=True)) == {"gate:tags"}


def test_facts_of_a_held_import_wait_and_a_read_only_one_is_refused(space, tmp_path):
    file = tmp_path / "mem0.json"
    made = {"id": "1", "memory": "Likes tea", "user_id": "ana", "created_at": "2025-05-01T10:00:00"}
    file.write_text(json.dumps({"results": [made]}))
    set_gate(space, imports="read_only")
    assert importing.dry_run(space, file).format == "mem0"
    with pytest.raises(Refused, match="read only"):
        importing.run(space, file, by="person:ana")
    set_gate(space, imports="hold")
    importing.run(space, file, by="person:ana")
    fact = Fact.objects.get()
    assert (fact.status, fact.flags) == ("quarantined", ["held"])
