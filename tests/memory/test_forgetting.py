"""Forgetting forgets: the fact and the messages it rests on, everywhere at once, until undone."""

import pytest

from memory import erasure
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import bulk
from memory.facts import service as facts
from memory.history.changes import events_of, history, undo_context
from memory.models import Chat, Episode, Fact, Recall, RecallItem, SilencedMessage, Unit
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


PHONE = "Remember: Tom's phone is +34 600 123 456"


class Titled:
    """A chat and its episode are named by what was said first, which became a fact."""

    def __init__(self):
        self.chat = make_chat(channel="web", title=PHONE)
        space = self.chat.space
        self.episode = make_episode(space, chat=self.chat, title="Tom's phone is +34 600 123 456")
        self.said = make_message(self.chat, PHONE, episode=self.episode)
        make_message(self.chat, "I live in Lima", episode=self.episode)
        self.fact = make_fact(space, text=PHONE, chat=self.chat, message=self.said)

    def titles(self) -> str:
        self.chat.refresh_from_db()
        self.episode.refresh_from_db()
        return f"{self.chat.title} {self.episode.title}"


@pytest.mark.parametrize("way", ways())
def test_titles_do_not_tell_what_was_forgotten_until_it_is_undone(way):
    told = Titled()
    before, steps = told.titles(), len(history(told.episode))
    done = ways()[way](told.fact)
    hidden = told.titles()
    assert not {"Tom", "phone", "600"} & set(hidden.split())
    assert hidden.split()[0] == str(told.chat.created_at.astimezone(told.chat.space.zone).date())
    assert len(history(told.episode)) == steps
    undo_context(done.change_id, by=ANA)
    assert told.titles() == before


def test_restored_the_titles_are_back_too():
    told = Titled()
    before = told.titles()
    facts.discard(told.fact, by=ANA)
    facts.restore(told.fact, by=ANA)
    assert told.titles() == before


def test_what_a_rejected_proposal_silences_is_in_no_title():
    told = Titled()
    before = told.titles()
    chats.silence(told.chat.space, [told.said.pk])
    assert "600" not in told.titles()
    chats.silence(told.chat.space, [told.said.pk], silent=False)
    assert told.titles() == before


def test_a_title_made_after_the_forgetting_does_not_tell_it_either():
    chat = make_chat(channel="web", title=PHONE)
    said = chats.receive(chat, text=PHONE, author="Ana").message
    episode = episodes.follow(said)
    done = facts.forget(make_fact(chat.space, text=PHONE, chat=chat, message=said), by=ANA)
    episodes.close(episode, by="bot")
    assert "600" not in Episode.objects.get(pk=episode.pk).title
    undo_context(done.change_id, by=ANA)
    assert "600 123" in Episode.objects.get(pk=episode.pk).title


def test_what_a_person_named_keeps_its_name():
    told = Titled()
    chats.revise(told.chat, title="Tom's phone", context="", by=ANA)
    episodes.revise(told.episode, title="The phone of Tom", by=ANA)
    facts.forget(told.fact, by=ANA)
    assert told.titles() == "Tom's phone The phone of Tom"


def test_a_title_of_other_words_stays():
    told = Titled()
    episodes.revise(told.episode, title="Moving to Lima", by="bot")
    facts.forget(told.fact, by=ANA)
    assert told.episode.title == Episode.objects.get(pk=told.episode.pk).title == "Moving to Lima"


def _talk(*lines: str) -> tuple[Chat, list]:
    chat = make_chat(channel="web", title="Chat of 18 Nov 2026, 19:10")
    said = [
        chats.receive(chat, text=line, author="Ana", not_recalled=why).message
        for line, why in [("What do you know about me?", "question"), *((one, "") for one in lines)]
    ]
    for message in said:
        episode = episodes.follow(message)
    episodes.close(episode, by="bot")
    chat.refresh_from_db()
    return chat, said


def test_a_chat_is_named_by_what_was_talked_about_and_not_by_a_question():
    chat, _said = _talk("Hi Keno! We moved to Lisbon in May.", "The flat in Lisbon has a terrace.")
    assert "Lisbon" in chat.title
    assert "know about me" not in chat.title
    assert not chat.title.startswith("Hi")
    chats.revise(chat, title="Our flat", context="", by=ANA)
    later = chats.receive(chat, text="/new-topic We bought a blue canoe", author="Ana").message
    episodes.close(episodes.follow(later), by="bot")
    assert Chat.objects.get(pk=chat.pk).title == "Our flat"


def test_the_name_of_a_chat_does_not_tell_what_is_forgotten_or_erased_later():
    chat, said = _talk("Well, Tom's phone is +34 600 123 456, call him.")
    assert "600 123" in chat.title
    fact = make_fact(chat.space, text="Tom's phone is +34 600 123 456", chat=chat, message=said[1])
    done = facts.forget(fact, by=ANA)
    assert "600" not in Chat.objects.get(pk=chat.pk).title
    undo_context(done.change_id, by=ANA)
    assert "600 123" in Chat.objects.get(pk=chat.pk).title
    erasure.erase(chat.space, by=ANA, facts=[fact.pk])
    assert "600" not in Chat.objects.get(pk=chat.pk).title
    assert not events_of(Chat).filter(title__contains="600").exists()


def test_a_chat_closed_after_the_forgetting_keeps_its_day():
    chat = make_chat(channel="web", title="Chat of 18 Nov 2026, 19:10")
    said = chats.receive(chat, text=PHONE, author="Ana").message
    episode = episodes.follow(said)
    facts.forget(make_fact(chat.space, text=PHONE, chat=chat, message=said), by=ANA)
    episodes.close(episode, by="bot")
    assert Chat.objects.get(pk=chat.pk).title == "Chat of 18 Nov 2026, 19:10"
