"""Forgetting forgets: the fact and the messages it rests on, everywhere at once, until undone."""

import pytest

from memory.chats import service as chats
from memory.facts import bulk
from memory.facts import service as facts
from memory.history.changes import undo_context
from memory.models import Fact, Recall, RecallItem, SilencedMessage, Unit
from memory.retrieval.recall import recall
from tests.factories import make_chat, make_episode, make_fact, make_message

pytestmark = pytest.mark.django_db
ANA = "person:ana"


def is_live(row) -> bool:
    return Unit.objects.get(kind=row._meta.model_name, owner_id=row.pk).live


class Told:
    """Someone told Keno about Rex; Keno confirmed it and used it in a later reply."""

    def __init__(self):
        self.chat = make_chat()
        space = self.chat.space
        self.episode = make_episode(space, chat=self.chat, title="Rex", body="My dog is called Rex")
        self.said = make_message(self.chat, "My dog is called Rex", episode=self.episode)
        self.noted = make_message(self.chat, "Noted: Rex", role="assistant", reply_to=self.said)
        self.again = make_message(self.chat, "Rex is my dog, remember")
        self.reply = make_message(self.chat, "Your dog is called Rex.", role="assistant")
        self.other = make_message(self.chat, "I live in Lima")
        self.fact = make_fact(
            space,
            text="Ana's dog is called Rex",
            chat=self.chat,
            message=self.said,
            evidence=[{"message": self.again.pk, "quote": "Rex is my dog"}, {"quote": "x"}],
        )
        used = Recall.objects.create(space=space, query="dog?", profile="keno", reply=self.reply)
        RecallItem.objects.create(recall=used, fact=self.fact, rank=1, score=1, injected=True)

    def spoken(self) -> set[bool]:
        rows = (self.said, self.noted, self.again, self.reply, self.episode)
        return {is_live(row) for row in rows}


def ways() -> dict:
    return {
        "forget": lambda fact: facts.forget(fact, by=ANA),
        "discard": lambda fact: facts.discard(fact, by=ANA),
        "forget many": lambda fact: bulk.forget(fact.space, [fact.pk], by=ANA),
    }


@pytest.mark.parametrize("way", ways())
def test_all_a_forgotten_fact_rests_on_is_silent_until_it_is_undone(way):
    told = Told()
    done = ways()[way](told.fact)
    assert told.spoken() == {False}
    assert is_live(told.other)
    assert "Rex" not in " ".join(message.text for message in chats.short_term(told.chat))
    undo_context(done.change_id, by=ANA)
    assert told.spoken() == {True}
    assert "Rex" in " ".join(message.text for message in chats.short_term(told.chat))


@pytest.mark.parametrize("question", ["what is my dog called?", "¿cómo se llama mi perro?"])
def test_recall_finds_nothing_of_it(question):
    told = Told()
    facts.forget(told.fact, by=ANA)
    result = recall(told.chat.space, question, chat=told.chat, save=False)
    assert "Rex" not in " ".join(item.unit.text for item in (*result.items, *result.cut))


def test_restoring_wakes_the_messages():
    told = Told()
    facts.forget(told.fact, by=ANA)
    facts.restore(told.fact, by=ANA)
    assert told.spoken() == {True}
    assert not SilencedMessage.objects.exists()


def test_saying_it_again_wakes_them_too():
    told = Told()
    facts.forget(told.fact, by=ANA)
    same = {"text": told.fact.text, "subject": told.fact.subject, "chat": told.chat}
    facts.remember(told.chat.space, by="extraction", **same)
    assert not Fact.objects.get(pk=told.fact.pk).forgotten
    assert told.spoken() == {True}


def test_two_forgotten_facts_silence_a_message_until_both_are_back():
    told = Told()
    other = make_fact(told.chat.space, text="Rex is a dog", chat=told.chat, message=told.said)
    facts.forget(told.fact, by=ANA)
    facts.forget(other, by=ANA)
    facts.restore(told.fact, by=ANA)
    assert not is_live(told.said)
    facts.restore(other, by=ANA)
    assert is_live(told.said)


def test_what_is_over_the_cap_or_no_longer_true_silences_nothing():
    told = Told()
    facts.trim(told.chat.space, subject=told.fact.subject, keep=0, by="system")
    assert told.spoken() == {True}
    facts.restore(Fact.objects.get(pk=told.fact.pk), by=ANA)
    facts.deprecate(Fact.objects.get(pk=told.fact.pk), by=ANA)
    assert told.spoken() == {True}


def test_undoing_what_was_learned_silences_its_message():
    told = Told()
    done = facts.remember(
        told.chat.space, text="Ana lives in Lima", by="extraction", message=told.other
    )
    undo_context(done.change_id, by=ANA)
    assert not is_live(told.other)


def test_after_a_purge_the_messages_stay_silent():
    told = Told()
    facts.discard(told.fact, by=ANA)
    facts.purge(told.fact, by=ANA)
    assert told.spoken() == {False}
    assert told.said not in chats.short_term(told.chat)
