"""Truth over time: what a fact's words say about how long it holds, and when it is asked about."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import translation

from memory.chats import service as chats
from memory.extraction.ingest import ingest
from memory.facts import lasting
from memory.facts import service as facts
from memory.history import changes as history
from memory.models import Fact, RecallItem
from tests.factories import make_chat, make_fact, make_message, make_receipt, make_space

pytestmark = pytest.mark.django_db
SAID = datetime(2025, 1, 10, 12, tzinfo=UTC)
ANA = "person:ana"


def known(space, text, **given):
    return facts.remember(space, text=text, by="extraction", now=SAID, **given).row


@pytest.mark.parametrize(
    ("text", "lasts"),
    [
        ("Ana works at Clínica Sol", "home"),
        ("Ana vive en Puebla", "home"),
        ("Ana moved to Oslo", "home"),
        ("Ana es enfermera", "home"),
        ("Ana likes tea", "taste"),
        ("A Ana le encantan los gatos", "taste"),
        ("Ana is allergic to nuts", "health"),
        ("Ana es alérgica a las nueces", "health"),
        ("Ana was born in Lima", ""),
        ("Ana ya no vive en Lima", ""),
        ("Ana's dog is called Rex", ""),
    ],
)
def test_how_long_a_fact_holds_is_told_by_its_words_in_both_languages(text, lasts):
    assert known(make_space(), text).lasts == lasts


def test_another_wording_may_hold_for_another_time():
    fact = known(make_space(), "Ana likes tea")
    facts.revise(fact, by=ANA, text="Ana lives in Oslo")
    assert fact.lasts == "home"


@pytest.mark.parametrize(
    ("text", "days"), [("Ana lives in Oslo", 365), ("Ana likes tea", 730), ("Ana is vegan", 182)]
)
def test_a_fact_is_due_after_the_usual_span_of_its_kind_and_not_before(text, days):
    space = make_space()
    fact = known(space, text)
    assert lasting.due_at(fact, space) == SAID + timedelta(days=days)
    assert not lasting.due(space, now=SAID + timedelta(days=days - 1))
    assert list(lasting.due(space, now=SAID + timedelta(days=days + 1))) == [fact]


def test_a_space_says_how_long_and_may_say_never():
    space = make_space(settings={"check_home_days": 30})
    fact = known(space, "Ana lives in Oslo")
    assert list(lasting.due(space, now=SAID + timedelta(days=31))) == [fact]
    space.settings = {"check_home_days": 0}
    assert not lasting.due(space, now=SAID + timedelta(days=3000))
    assert lasting.due_at(fact, space) is None


@pytest.mark.parametrize(
    ("said", "too_early", "late_enough"),
    [
        ("My sister is flying to Oslo next Friday", 6, 9),
        ("Me mudo a Porto el mes que viene", 20, 50),
    ],
)
def test_a_plan_is_due_the_day_after_its_last_day(said, too_early, late_enough):
    chat, now = make_chat(), datetime(2026, 2, 13, 15, tzinfo=UTC)
    message = chats.receive(chat, text=said, author="Ana", now=now).message
    ingest(message, now=now)
    plan = Fact.objects.get(message=message)
    assert plan.lasts == "plan"
    assert not lasting.due(chat.space, now=now + timedelta(days=too_early))
    assert list(lasting.due(chat.space, now=now + timedelta(days=late_enough))) == [plan]
    facts.confirm(plan, by=ANA, now=now + timedelta(days=late_enough))
    assert not lasting.due(chat.space, now=now + timedelta(days=late_enough + 90))


def test_said_again_confirmed_or_used_unchallenged_is_checked():
    space = make_space()
    late = SAID + timedelta(days=400)
    for checked in ("said", "confirmed", "used"):
        fact = known(space, f"Ana lives in {checked}ville")
        assert fact in lasting.due(space, now=late)
        if checked == "said":
            facts.remember(space, text=fact.text, by="extraction", now=late)
        elif checked == "confirmed":
            facts.confirm(fact, by=ANA, now=late)
        else:
            chat = make_chat(space)
            receipt = make_receipt(space, chat=chat, fact=fact, at=late)
            receipt.reply = make_message(chat, "You live there", role="assistant")
            receipt.save()
            RecallItem.objects.filter(recall=receipt).update(mark="used")
            lasting.uphold(chat=chat.pk)
        fact.refresh_from_db()
        assert fact.checked_at == late
        assert fact not in lasting.due(space, now=late + timedelta(days=300))


def test_what_a_reply_did_not_say_is_not_checked_by_it():
    space = make_space()
    fact, chat = known(space, "Ana lives in Oslo"), make_chat(space)
    receipt = make_receipt(space, chat=chat, fact=fact)
    receipt.reply = make_message(chat, "Hello", role="assistant")
    receipt.save()
    lasting.uphold(chat=chat.pk)
    fact.refresh_from_db()
    assert fact.upheld_at is None


def test_a_confirmation_is_one_change_that_undo_takes_back():
    space = make_space()
    fact = known(space, "Ana lives in Oslo")
    done = facts.confirm(fact, by=ANA, now=SAID + timedelta(days=400))
    history.undo_context(done.change_id, by=ANA)
    fact.refresh_from_db()
    assert fact.confirmed_at is None


def test_a_confirmation_does_not_stand_in_the_way_of_an_older_undo():
    fact = known(make_space(), "Ana lives in Oslo")
    done = facts.revise(fact, by=ANA, text="Ana lives in Bergen")
    facts.confirm(fact, by=ANA)
    history.undo_context(done.change_id, by=ANA)
    fact.refresh_from_db()
    assert fact.text == "Ana lives in Oslo"


def test_at_most_so_many_are_asked_a_day_and_an_undone_answer_is_asked_again():
    space = make_space()
    for town in "Oslo Rome Lima Quito Porto Turin Leeds".split():
        known(space, f"Ana lives in {town}")
    now = SAID + timedelta(days=500)
    rows, later = lasting.asked_today(space, now=now)
    assert (len(rows), later) == (5, 2)
    done = facts.confirm(rows[0], by=ANA)
    lasting.note_answer(done, answer="yes", by=ANA)
    (entry,) = lasting.answered(space, since=SAID)
    assert entry.details["answer"] == "yes"
    lasting.take_back(entry, by=ANA)
    assert lasting.answered(space, since=SAID) == []


def test_what_ended_is_not_asked_about_and_a_day_to_come_may_be_set():
    space = make_space()
    fact = known(space, "Ana lives in Oslo")
    facts.revise(fact, by=ANA, valid_to=SAID + timedelta(days=100))
    assert not fact.sticky
    assert not lasting.due(space, now=SAID + timedelta(days=500))
    with pytest.raises(facts.Invalid):
        facts.revise(fact, by=ANA, valid_from=SAID + timedelta(days=200))


def test_what_is_said_again_after_its_end_holds_again():
    space = make_space()
    fact = known(space, "Ana lives in Oslo", valid_to=SAID + timedelta(days=10))
    facts.remember(space, text=fact.text, by="extraction", now=SAID + timedelta(days=30))
    fact.refresh_from_db()
    assert fact.valid_to is None


@pytest.mark.parametrize(
    ("text", "subject", "language", "question"),
    [
        ("Ana lives in Rome", "Ana", "en", "Does Ana still live in Rome?"),
        ("Ana is a nurse", "Ana", "en", "Is Ana still a nurse?"),
        ("Ana studies law", "Ana", "en", "Does Ana still study law?"),
        ("You work at Clínica Sol", "Ana", "en", "Do you still work at Clínica Sol?"),
        ("Ana does not eat meat", "Ana", "en", "Is this still so: “Ana does not eat meat”?"),
        ("Ana vive en Roma", "Ana", "es", "¿Ana todavía vive en Roma?"),
        ("Trabajas en la Clínica Sol", "Ana", "es", "¿Todavía trabajas en la Clínica Sol?"),
    ],
)
def test_the_question_is_in_the_language_of_the_fact(text, subject, language, question):
    fact = Fact(text=text, subject=subject, language=language, lasts="home")
    with translation.override("en"):
        assert lasting.question(fact) == question


def test_a_fact_without_a_kind_or_a_day_has_no_question_due():
    space = make_space()
    make_fact(space, text="Ana's dog is called Rex")
    assert not lasting.due(space, now=SAID + timedelta(days=4000))
