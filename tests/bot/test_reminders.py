"""Plans that are said in the chat at their time. Time is passed in; nothing waits."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bot import outbox, turn
from memory.chats import inbox
from memory.extraction import intents
from memory.facts import plans
from memory.facts import service as facts
from memory.models import Fact, OutboxItem, Reminder
from tests.bot.conftest import NOON, after
from tests.factories import make_chat

MADRID = ZoneInfo("Europe/Madrid")
# A Tuesday, before the clocks are put forward on the 29th.
NOW = datetime(2026, 3, 10, 12, tzinfo=MADRID)
TEN = datetime(2026, 3, 13, 9, tzinfo=UTC)


@pytest.fixture(autouse=True)
def without_a_model(settings):
    settings.PROVIDER = "offline"


def say(chat, text, seconds=0.0):
    message = inbox.receive(chat, text=text, now=after(seconds), author="Ana", author_id="7")
    turn.answer(message.pk, now=after(seconds + 3))
    return OutboxItem.objects.filter(chat=chat).latest("pk").text


def said_at(now, chat):
    before = OutboxItem.objects.filter(chat=chat).count()
    outbox.say_reminders(now=now)
    return list(OutboxItem.objects.filter(chat=chat).order_by("pk").values_list("text", flat=True))[
        before:
    ]


@pytest.mark.parametrize(
    ("text", "what", "at", "every"),
    [
        ("remind me on Friday at 9 to call Marta", "Call Marta on Friday at 9", "13 09:00", ""),
        ("recuérdame el viernes a las 9 llamar a Marta", "Llamar a Marta el viernes a las 9",
         "13 09:00", ""),
        ("Can you remind me tomorrow at 3pm to call Bob?", "Call Bob tomorrow at 3pm",
         "11 15:00", ""),
        ("remind me in 20 minutes to take out the cake", "Take out the cake in 20 minutes",
         "10 12:20", ""),
        ("Avísame en media hora de sacar el pastel", "Sacar el pastel en media hora",
         "10 12:30", ""),
        ("remind me at 9 to call Marta", "Call Marta at 9", "10 21:00", ""),
        ("Remind me to call the dentist on Thursday", "Call the dentist on Thursday",
         "12 09:00", ""),
        ("recuérdame mañana por la tarde comprar pan", "Comprar pan mañana por la tarde",
         "11 16:00", ""),
        ("remind me every Monday at 8 to take out the bins", "Take out the bins every Monday at 8",
         "16 08:00", "0"),
        ("recuérdame cada lunes a las 8 sacar la basura", "Sacar la basura cada lunes a las 8",
         "16 08:00", "0"),
        ("recuérdame ir al gimnasio los martes y jueves a las 7",
         "Ir al gimnasio los martes y jueves a las 7", "12 07:00", "13"),
        ("remind me to water the plants every morning", "Water the plants every morning",
         "11 09:00", "0123456"),
        ("recuérdame pagar el alquiler cada mes el día 15", "Pagar el alquiler cada mes el día 15",
         "15 09:00", "m15"),
    ],
)  # fmt: skip
def test_what_and_when_is_read_from_the_words(text, what, at, every):
    plan = plans.read(intents.reminder(text), said_at=NOW, language="")
    assert (plan.text, f"{plan.at:%d %H:%M}", plan.every) == (what, at, every)


@pytest.mark.parametrize(
    "text",
    ["remind me what my dog is called", "remind me of her name", "¿me recuerdas su nombre?",
     "recuérdame cómo se llama su perro", "Can you remind me who Marta is?"],
)  # fmt: skip
def test_a_question_is_not_a_reminder(text):
    assert intents.reminder(text) == ""
    assert intents.is_question(text)


def test_without_a_time_to_come_it_is_only_a_plan():
    for text in ("buy milk", "call Marta last Friday"):
        assert plans.read(text, said_at=NOW, language="en") is None


@pytest.mark.parametrize(
    ("text", "noted", "said"),
    [
        ("remind me on Friday at 9 to call Marta", "(Fri 13 Mar, 09:00)", "Reminder: Call Marta"),
        ("recuérdame el viernes a las 9 llamar a Marta", "09:00)",
         "Recordatorio: Llamar a Marta"),
    ],
)  # fmt: skip
def test_it_is_said_in_its_chat_at_its_time_once_and_in_its_language(chat, text, noted, said):
    other = make_chat(chat.space, channel="fake", external_id="other")
    assert noted in say(chat, text)
    assert said_at(TEN - timedelta(minutes=1), chat) == []
    assert said_at(TEN, chat) == [said]
    assert said_at(TEN + timedelta(minutes=1), chat) == []
    assert not OutboxItem.objects.filter(chat=other).exists()


def test_what_was_missed_is_said_late_with_its_time(chat):
    say(chat, "remind me on Friday at 9 to call Marta")
    assert said_at(TEN + timedelta(hours=3), chat) == ["Reminder: Call Marta (this was for 09:00)"]
    say(chat, "recuérdame el viernes a las 9 regar las plantas", 60)
    late = said_at(TEN + timedelta(days=1), chat)
    assert late == ["Recordatorio: Regar las plantas (esto era para el vie 13 Mar, 09:00)"]


def test_what_is_long_past_is_not_said_any_more(chat):
    say(chat, "remind me on Friday at 9 to call Marta")
    assert said_at(TEN + timedelta(days=30), chat) == []
    assert Reminder.objects.get().next_at is None


def test_every_monday_it_comes_again_and_of_the_missed_the_last_is_told(chat):
    say(chat, "remind me every Monday at 8 to take out the bins")
    monday = datetime(2026, 3, 16, 8, tzinfo=UTC)
    assert said_at(monday, chat) == ["Reminder: Take out the bins"]
    assert said_at(monday + timedelta(days=1), chat) == []
    assert said_at(monday + timedelta(days=7), chat) == ["Reminder: Take out the bins"]
    later = monday + timedelta(days=29)
    assert said_at(later, chat) == ["Reminder: Take out the bins (this was for Mon 13 Apr, 08:00)"]
    assert Reminder.objects.get().next_at == monday + timedelta(days=35)


def test_the_hour_stays_when_the_clocks_change():
    before = datetime(2026, 3, 28, 8, tzinfo=MADRID)
    then = plans.after(before, every=plans.DAILY, at=before.time())
    assert (then.hour, then.utcoffset() - before.utcoffset()) == (8, timedelta(hours=1))


def test_the_thirty_first_is_the_last_day_of_a_short_month():
    at = plans.after(datetime(2026, 4, 1, tzinfo=UTC), every="m31", at=plans.MORNING)
    assert at.date().isoformat() == "2026-04-30"


def test_undo_takes_it_back_and_nothing_is_said(chat):
    say(chat, "remind me on Friday at 9 to call Marta")
    say(chat, "/undo", 20)
    assert said_at(TEN, chat) == []


def test_forgetting_silences_it_and_restoring_lets_it_speak(chat):
    say(chat, "remind me on Friday at 9 to call Marta")
    fact = Fact.objects.get(reminder__isnull=False)
    facts.forget(fact, by="person:ana")
    assert said_at(TEN, chat) == []
    facts.restore(fact, by="person:ana")
    assert said_at(TEN, chat) == ["Reminder: Call Marta"]


def test_plans_are_listed_by_their_time_and_taken_back_by_number(chat):
    say(chat, "remind me every Monday at 8 to take out the bins")
    say(chat, "remind me on Friday at 9 to call Marta", 20)
    call, bins, how = say(chat, "/plans", 40).splitlines()
    assert call.endswith("Fri 13 Mar, 09:00: Call Marta")
    assert bins.endswith("Mon 16 Mar, 08:00: Take out the bins")
    assert "/forget" in how
    say(chat, f"/forget {call.split()[0]}", 60)
    assert "Marta" not in say(chat, "/planes", 80)


def test_a_message_that_is_read_twice_is_said_once(chat):
    say(chat, "remind me on Friday at 9 to call Marta")
    fact = Fact.objects.get(reminder__isnull=False)
    twin = facts.remember(
        chat.space, text="Ana calls Marta", by="tag", chat=chat, message=fact.message
    ).row
    plan = plans.Plan("Call Marta", TEN)
    assert plans.schedule(twin, plan, chat=chat, by="tag", now=NOON) is None
    assert said_at(TEN, chat) == ["Reminder: Call Marta"]
