"""Of an encrypted space no dump of the database holds a word, whatever was done with the words."""

import io
from datetime import timedelta

import pytest
from django.utils import timezone

from bot import turn
from memory import erasure, patterns, rulings, tasks, working
from memory.chats import inbox
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.identity import preferences
from memory.models import Draft, Fact, LlmCall, Message, OutboxItem, Recall, encryption
from memory.retrieval.recall import recall
from memory.spaces import encryption as service
from memory.text.normalise import said_key
from memory.transfer import importing
from sleep import cycle
from sleep.models import Claim, Proposal
from tests.factories import (
    encrypt,
    make_chat,
    make_episode,
    make_golden,
    make_notice,
    make_parcel,
    make_proposal,
    make_space,
)
from tests.memory.test_erasure import dump

ANA = "person:ana"
CANARIES = [
    *("zyxbee", "quornhat", "vlimpet", "drupelo", "kestrum", "ombrafi", "tarvick", "wexlund"),
    *("yarrowin", "pliskeg", "brundova", "jaxperl"),
]


@pytest.fixture(autouse=True)
def content_key(settings, tmp_path):
    file = tmp_path / "content.key"
    file.write_bytes(service.new_key_file())
    settings.KENO_CONTENT_KEY_FILE = str(file)
    settings.PROVIDER = "offline"


def live_a_while(space):
    """Say, learn, edit, recall, note, sleep, propose and export, each with a word of its own."""
    chat = make_chat(space, channel="fake", title="jaxperl")

    def say(text):
        message = inbox.receive(chat, text=text, author="Ana", author_id="7")
        turn.answer(message.pk, now=timezone.now() + timedelta(seconds=5))
        reply = Message.objects.get(reply_to=message)
        tasks.ingest.func(message_ids=[message.pk], reply_id=reply.pk, space_id=space.pk)
        return message

    message = say("Remember that my dog sleeps in the zyxbee, beside the kitchen")
    say("My sister works as a quornhat at the harbour")
    say('/remember "The boat is registered as vlimpet"')
    say("What is my dog called? Is it drupelo?")
    say("/why")
    fact = facts.remember(space, text="Ana keeps kestrum in the cellar", by=ANA).row
    facts.revise(fact, by=ANA, text="Ana keeps kestrum in the attic")
    facts.forget(fact, by=ANA)
    recall(space, "who keeps ombrafi?", now=timezone.now())
    working.write(chat, text="Task: buy tarvick\nNotes: and tarvick soap", by="tag")
    chats.set_context(chat, text="We speak of wexlund here.", by=ANA)
    patterns.learn(space, trigger="when yarrowin comes", response="say yarrowin", by=ANA)
    preferences.put(space, key="pliskeg", value="always pliskeg", by=ANA)
    rulings.forbid(space, text="anything about brundova", by=ANA)
    episode = message.episode or make_episode(space, chat=chat)
    episodes.revise(episode, by="night", title="jaxperl", body="Ana: jaxperl", tags=["jaxperl"])
    make_proposal(
        space, title="about jaxperl", after={"text": "jaxperl is here"},
        evidence=[{"quote": "jaxperl"}],
    )  # fmt: skip
    Claim.objects.create(
        space=space, episode=episode, text="it is jaxperl", key=said_key("it is jaxperl"),
        quote="jaxperl", said_at=message.sent_at,
    )  # fmt: skip
    make_notice(space, text="Set aside: jaxperl", words={"en": "Set aside: jaxperl"})
    make_golden(space, "where is jaxperl?", unsaid=["jaxperl"], found=[{"quote": "jaxperl"}])
    make_parcel(space, name="jaxperl", data=b"jaxperl jaxperl jaxperl")
    Draft.objects.update_or_create(chat=chat, defaults={"text": "so far jaxperl"})
    OutboxItem.objects.create(space=space, chat=chat, text="jaxperl", key="k", error="jaxperl")
    LlmCall.objects.create(
        space=space, purpose="chat", provider="x", prompt="jaxperl?", answer="jaxperl!"
    )
    cycle.sleep(space, now=timezone.now() + timedelta(days=1))
    importing.export(space, io.BytesIO(), "keno", by=ANA)
    return chat


def lines_with_words() -> list[str]:
    told = dump().splitlines()
    return [line[:300] for line in told if any(word in line.lower() for word in CANARIES)]


@pytest.mark.django_db(transaction=True)
def test_no_dump_holds_a_word_that_was_written_encrypted():
    space = make_space(settings={"believe_from": 0.5, "offer_from": 0.2})
    encrypt(space)
    chat = live_a_while(space)
    assert lines_with_words() == []
    said = " ".join(Message.objects.filter(chat=chat).values_list("text", flat=True))
    assert "zyxbee" in said
    assert "quornhat" in said


@pytest.mark.django_db(transaction=True)
def test_an_encrypted_space_learns_and_answers_like_a_plain_one():
    plain, hidden = (make_space(settings={"believe_from": 0.5}) for _ in range(2))
    encrypt(hidden)
    for space in (plain, hidden):
        live_a_while(space)
    assert told_of(hidden) == told_of(plain)


def told_of(space):
    """What was said, learned, recalled and proposed, without ids."""
    said = Message.objects.filter(space=space).exclude(text__contains="/receipts/").order_by("pk")
    recalls = Recall.objects.filter(space=space).order_by("pk")
    proposals = Proposal.objects.filter(space=space)
    return {
        "said": list(said.values_list("role", "text", "not_recalled")),
        "facts": sorted(Fact.objects.filter(space=space).values_list("text", "status", "source")),
        "recalled": [(one.query, one.keywords, one.items.count()) for one in recalls],
        "proposed": sorted(proposals.values_list("title", "status")),
    }


@pytest.mark.django_db(transaction=True)
def test_what_was_plain_before_is_in_no_dump_either_and_comes_back():
    space = make_space(settings={"believe_from": 0.5, "offer_from": 0.2})
    live_a_while(space)
    before = set(Fact.objects.values_list("pk", "text", "quote", "said_key"))
    assert lines_with_words() != []
    encrypt(space)
    assert lines_with_words() == []
    assert set(Fact.objects.values_list("pk", "text", "quote", "said_key")) == before
    service.switch_off(space, by=ANA)
    encryption.forget()
    service.work(space.pk, now=timezone.now() + timedelta(hours=1))
    assert "keno-enc:" not in dump()
    assert set(Fact.objects.values_list("pk", "text", "quote", "said_key")) == before


@pytest.mark.django_db(transaction=True)
def test_erasing_finds_encrypted_words_wherever_they_are():
    space = make_space(settings={"believe_from": 0.5, "offer_from": 0.2})
    encrypt(space)
    live_a_while(space)
    fact = Fact.objects.get(space=space, text__icontains="zyxbee")
    erasure.purge(fact, by=ANA)
    service.switch_off(space, by=ANA)
    encryption.forget()
    service.work(space.pk, now=timezone.now() + timedelta(hours=1))
    told = dump().lower()
    assert "quornhat" in told
    assert "zyxbee" not in told
