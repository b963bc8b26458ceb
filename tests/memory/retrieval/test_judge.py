"""The judge reads question and memory together; its opinion is a part of the score."""

from datetime import timedelta
from itertools import count

import pytest
from django.utils import timezone

from memory.facts import service as facts
from memory.retrieval import judge
from memory.retrieval.recall import recall
from memory.spaces import service as spaces
from tests.factories import make_chat, make_episode, make_message

QUESTIONS = [
    (
        "what's the name of my vet",
        "Bea: our vet, Dr Okafor, wants to see the cat again",
        ["Bea: vet at five, wish us luck", "Bea: what's the name of my vet?"],
    ),
    (
        "¿dónde guarda Nuria las llaves?",
        "Nuria: dejo las llaves en la maceta del balcón",
        ["Nuria: he perdido las llaves otra vez", "Pau guarda la bici en el trastero"],
    ),
    (
        "how many cousins does Tom have",
        "Tom: con el bebé de ayer ya somos nueve, tengo ocho primos",
        ["Tom: cousins are the best", "Tom has two sisters"],
    ),
]


@pytest.mark.parametrize(("question", "right", "wrong"), QUESTIONS)
def test_the_memory_that_answers_is_put_first(question, right, wrong):
    best, *others = judge.opinions(question, [right, *wrong])
    assert best > max(others)
    assert all(0 <= value <= 1 for value in (best, *others))


def test_a_memory_without_its_full_stop_is_read_as_with_it():
    asked, said = "where is the garage code?", "The garage code is on the fridge"
    plain, ended = judge.opinions(asked, [said, f"{said}."])
    assert plain == ended > judge.opinions(asked, ["The garage door is open"])[0]


def test_a_long_message_is_read_with_what_it_asks_at_its_end():
    """Only so many words of it are read at once."""
    asks = "Now something else: what is my dentist called?"
    long = (
        "Thanks, that worked, the bread came out lovely and everybody had two slices, even my "
        "father who never eats bread. Next time I will leave the dough in the fridge overnight, "
        f"as you said, and bake it with a bowl of water below. {asks}"
    )
    told = ["My dentist is called Dr Okafor"]
    assert judge.opinions(long, told) == judge.opinions(asks, told)


def test_when_the_time_is_spent_the_rest_is_not_read():
    ticks = count()
    memories = [f"Ana likes tea number {n}" for n in range(3 * judge.AT_ONCE)]
    read = judge.opinions("tea?", memories, budget_ms=2500, clock=lambda: next(ticks))
    assert len(read) == 2 * judge.AT_ONCE


def test_a_pair_is_read_once_and_its_words_are_not_kept(monkeypatch):
    asked = ["Ana likes tea", "Bo likes rum", "Ana likes tea"]
    first = judge.opinions("tea?", asked)
    monkeypatch.setattr(judge.graphs, "run", lambda *given: pytest.fail("read again"))
    assert judge.opinions("tea?", asked, budget_ms=0) == first
    assert (
        judge.opinions("tea?", ["Ana likes tea", "new", "Bo likes rum"], budget_ms=0) == first[:1]
    )
    assert all(isinstance(key, int) for key in judge._kept)


def test_without_time_nothing_is_read():
    assert judge.opinions("tea?", ["Ana likes tea"], budget_ms=0) == []


@pytest.mark.django_db
@pytest.mark.parametrize("judge_ms", [0, 2000])
def test_the_opinion_stands_among_the_parts_of_the_score(judge_ms):
    chat = make_chat()
    spaces.configure(chat.space, by="person:ana", values={"judge_ms": judge_ms})
    chat.space.refresh_from_db()
    make_message(chat, "our vet, Dr Okafor, wants to see the cat again", author="Bea")
    make_message(chat, "vet at five, wish us luck", author="Bea")
    items = recall(chat.space, "what is the name of my vet?", chat=chat, save=False).items
    parts = {part.name: part.points for part in items[0].parts}
    assert items[0].unit.text.startswith("our vet") or not judge_ms
    assert ("answers" in parts) == bool(judge_ms)
    assert items[0].score == pytest.approx(sum(parts.values()))


@pytest.mark.django_db
def test_a_fact_and_the_message_it_was_heard_in_are_read_once(monkeypatch):
    """So the judge has time for twice as much of what was told."""
    chat = make_chat()
    space = chat.space
    for text in ("My cat is called Lola", "My dog is called Rex"):
        message = make_message(chat, text=text, author="Ana")
        told = text.replace("My", "Ana's")
        facts.remember(space, text=told, quote=f"{text}.", by="tag", message=message, chat=chat)
    read = []
    thought = judge.opinions
    monkeypatch.setattr(
        judge, "opinions", lambda asked, given, **kw: read.extend(given) or thought(asked, given)
    )
    found = recall(space, "What is my cat called?", chat=chat, person="Ana")
    assert len(read) == 2
    scored = [*found.items, *found.cut]
    opinions = {item.key: item.features["answers"] for item in scored if "Lola" in item.unit.text}
    assert len(opinions) == 2
    assert len(set(opinions.values())) == 1


def test_a_long_memory_is_read_where_the_words_of_the_question_are():
    long = "We walked a lot. " * 40 + "The boat is called Petrel. " + "It rained. " * 40
    assert "Petrel" in judge._best_part(long, "what is the boat called?")


@pytest.mark.django_db
def test_a_reply_is_read_with_the_question_that_somebody_else_asked(monkeypatch):
    """ "Momo" tells nothing by itself; what one asks oneself is no question to another."""
    chat = make_chat()
    talk = make_episode(chat.space, chat=chat)
    said = [
        ("Ana", "Lovely cat! What is she called?"),
        ("Luis", "Momo"),
        ("Luis", "Where is the cat now?"),
        ("Luis", "On the roof, that cat"),
    ]
    for n, (author, text) in enumerate(said):
        at = timezone.now() - timedelta(days=3, minutes=-n)
        make_message(chat, text, author=author, author_id=author, episode=talk, sent_at=at)
    read = []
    thought = judge.opinions
    monkeypatch.setattr(
        judge, "opinions", lambda asked, given, **kw: read.extend(given) or thought(asked, given)
    )
    found = recall(chat.space, "What is the cat of Luis called?", chat=chat, save=False)
    assert "What is she called? luis: Momo" in read
    assert "luis: On the roof, that cat" in read
    replies = {item.unit.text: item.unit.replies_to for item in (*found.items, *found.cut)}
    assert replies["Momo"] == "What is she called?"
    assert replies["Lovely cat! What is she called?"] == ""
