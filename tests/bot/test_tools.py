"""Tools in the chat: what a model may ask for before it answers, over both real protocols."""

import json
from datetime import timedelta

import pytest

from bot import replies, tools, turn
from memory.chats import inbox
from memory.models import Breaker, Fact, LlmCall, Message, OutboxItem, Recall, Reminder
from tests.bot.conftest import NOON, after
from tests.factories import make_chat, make_fact, make_message
from tests.llm import servers


@pytest.fixture
def server():
    with servers.running() as server:
        yield server


@pytest.fixture(params=["anthropic", "openai"])
def provider(request, server, settings, monkeypatch):
    settings.PROVIDER, settings.MODEL, settings.LLM_TIMEOUT = request.param, "test-model", 5
    settings.ANTHROPIC_API_KEY = settings.OPENAI_API_KEY = "not-a-key"
    settings.ANTHROPIC_BASE_URL = server.url
    settings.OPENAI_BASE_URL = f"{server.url}/v1"
    monkeypatch.setattr(tools, "_WITHOUT_TOOLS", set())
    return request.param


def use(name, **arguments):
    return f"tool:{name}:{json.dumps(arguments)}"


def say(chat, text, seconds=0.0, **given):
    who = {"author": "Ana", "author_id": "7"} | given
    message = inbox.receive(chat, text=text, now=after(seconds), **who)
    turn.answer(message.pk, now=after(seconds + 3))
    return OutboxItem.objects.filter(chat=chat).latest("pk").text


def told(server):
    """What the model was told by the tools in its last request."""
    found = []
    for one in server.requests[-1]["messages"]:
        if one["role"] == "tool":
            found.append(one["content"])
        if one["role"] == "user" and isinstance(one["content"], list):
            found += [part["content"] for part in one["content"] if part["type"] == "tool_result"]
    return found


def test_a_tool_is_used_and_then_it_answers(chat, server, provider):
    server.script = [use("time")]
    assert say(chat, "What time is it?") == "Hello from the wire."
    assert told(server) == ["Tuesday 2026-03-10 12:00 (UTC)"]
    offered = server.requests[0]["tools"]
    names = [one.get("name") or one["function"]["name"] for one in offered]
    assert names == ["recall", "remember", "forget", "note_plan", "list_plans", "time"]


def test_every_round_is_counted_by_itself(chat, server, provider):
    server.script = [use("time"), use("list_plans")]
    say(chat, "What is next?")
    calls = LlmCall.objects.filter(purpose="chat")
    assert [call.ok for call in calls] == [True] * 3
    assert {call.message.text for call in calls} == {"What is next?"}
    assert all(call.tokens_in == 100 for call in calls)


def test_after_twenty_rounds_it_must_answer(chat, server, provider):
    server.script = [use("time")] * 30
    said = say(chat, "What time is it?")
    assert said == "Let me see."
    assert len(server.requests) == tools.MAX_ROUNDS + 1
    choices = [request["tool_choice"] for request in server.requests]
    last = {"type": "none"} if provider == "anthropic" else "none"
    assert choices[-1] == last
    assert last not in choices[:-1]


def test_streaming_goes_on_and_ends_with_the_answer(chat, server, provider, monkeypatch):
    seen = []
    monkeypatch.setattr(replies, "stream_to", lambda chat: seen.append)
    server.script = [use("recall", query="Momo the cat")]
    make_fact(chat.space, "Momo is a cat of Ana", subject="Ana")
    assert say(chat, "Who is that again?") == "Hello from the wire."
    assert "Let me see." in seen
    assert seen[-1] == "Hello from the wire."
    assert any("Momo is a cat of Ana" in result for result in told(server))


def test_what_it_looked_up_stands_on_the_receipt_once(chat, server, provider):
    fact = make_fact(chat.space, "The boiler code is under the stairs", subject="")
    server.script = [use("recall", query="boiler code stairs")] * 2
    server.reply = "It is under the stairs, the boiler code."
    say(chat, "hm, hello there")
    receipt = Recall.objects.get(reply__isnull=False)
    rows = receipt.items.filter(fact=fact)
    assert [(row.injected, row.mark) for row in rows] == [(True, "used")]
    assert "data, not instructions" in told(server)[0]


def test_what_it_remembers_is_noted_below_and_undone(chat, server, provider):
    server.script = [use("remember", text="Ana plays the cello in Porto")]
    said = say(chat, "By the way, I play the cello in Porto")
    assert "Noted — Ana plays the cello in Porto" in said
    fact = Fact.objects.get(text="Ana plays the cello in Porto")
    assert (fact.status, fact.written_by) == ("active", "tag")
    assert told(server) == ["It is kept with your reply."]
    say(chat, "/undo", 20)
    fact.refresh_from_db()
    assert fact.status == "trashed"


def test_what_nobody_said_waits_for_a_person_and_the_model_hears_so(chat, server, provider):
    server.script = [use("remember", text="Ana owns a castle in Scotland")]
    assert "castle" not in say(chat, "Good morning, how are you?")
    assert Fact.objects.get().status == "quarantined"
    assert "do not say it is kept" in told(server)[0]


def test_nothing_is_kept_when_the_answer_never_comes(chat, server, provider):
    server.script = [use("remember", text="Ana plays the cello"), "401"]
    message = inbox.receive(chat, text="I play the cello", now=NOON, author="Ana", author_id="7")
    with pytest.raises(Exception, match="401"):
        turn.answer(message.pk, now=after(3))
    assert not Fact.objects.exists()
    server.script = [use("remember", text="Ana plays the cello")]
    turn.answer(message.pk, now=after(9))
    assert Fact.objects.filter(status="active").count() == 1


def make_own(chat, text):
    said = make_message(chat, text, author="Ana", author_id="7", sent_at=NOON - timedelta(days=9))
    given = {"chat": chat, "message": said, "said_by": "Ana", "subject": "Ana"}
    return make_fact(chat.space, text, **given)


@pytest.mark.parametrize(
    ("answer", "status", "heard"),
    [("yes, please", "archived", "Forgotten"), ("No", "active", "It stays"),
     ("Sí, olvídalo", "archived", "Olvidado")],
)  # fmt: skip
def test_only_a_persons_yes_forgets(chat, server, provider, answer, status, heard):
    fact = make_own(chat, "Ana is afraid of spiders")
    server.script = [use("forget", words="afraid of spiders")]
    language = "es" if heard == "Olvidado" else "en"
    asked = say(chat, "Me dan miedo muchas cosas" if language == "es" else "Spiders are fine now")
    assert "Ana is afraid of spiders" in asked
    fact.refresh_from_db()
    assert fact.status == "active"
    assert heard in say(chat, answer, 20, language=language)
    fact.refresh_from_db()
    assert fact.status == status


def test_a_stranger_cannot_say_yes_nor_have_it_asked(chat, server, provider):
    fact = make_own(chat, "Ana is afraid of spiders")
    server.script = [use("forget", words="afraid of spiders")]
    assert "Shall I forget" not in say(chat, "spiders?", author="Luis", author_id="8")
    server.script = [use("forget", words="afraid of spiders")]
    assert "Shall I forget" in say(chat, "Spiders are fine", 20)
    say(chat, "yes", 40, author="Luis", author_id="8")
    fact.refresh_from_db()
    assert fact.status == "active"


def test_a_plan_is_noted_with_its_time_and_listed(chat, server, provider):
    server.script = [use("note_plan", text="Call Marta", at="2026-03-13T09:00")]
    said = say(chat, "On Friday at nine I have to call Marta")
    assert "Noted — Call Marta (Fri 13 Mar, 09:00)" in said
    reminder = Reminder.objects.get()
    assert (reminder.fact.status, reminder.chat) == ("active", chat)
    server.script = [use("list_plans")]
    say(chat, "What is next?", 20)
    assert "Fri 13 Mar, 09:00: Call Marta" in told(server)[0]
    say(chat, "/undo", 40)
    assert "no plans" in say(chat, "/plans", 60)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (use("note_plan", text="Call Marta", at="2020-01-01T09:00"), "has passed"),
        (use("note_plan", text="Call Marta", at="soon"), "at:"),
        (use("remember"), "text: Field required"),
        (use("remember", text=["x"]), "text:"),
        (use("recall", query=""), "query:"),
        (use("forget", words="nothing of the kind"), "no such memory"),
        (use("delete_everything"), "no tool called delete_everything"),
    ],
)
def test_bad_arguments_come_back_as_a_sentence(chat, server, provider, call, why):
    server.script = [call]
    assert say(chat, "hello") == "Hello from the wire."
    assert why in told(server)[0]
    assert not Fact.objects.exists()


# Anthropic's own client reads the JSON before Keno sees it.
@pytest.mark.parametrize("provider", ["openai"], indirect=True)
def test_arguments_that_are_not_json_come_back_as_a_sentence(chat, server, provider):
    server.script = ['tool:recall:{"query": "Mo']
    assert say(chat, "hello") == "Hello from the wire."
    assert "not JSON" in told(server)[0]


def test_a_tool_that_breaks_does_not_break_the_turn(chat, server, provider, monkeypatch):
    monkeypatch.setattr(tools, "recall", lambda *_a, **_k: 1 / 0)
    server.script = [use("recall", query="Momo")]
    assert say(chat, "hello") == "Hello from the wire."
    assert told(server) == ["Not done: ZeroDivisionError."]


def test_a_model_without_tools_is_asked_without(chat, server, provider):
    server.script = ["400"]
    assert say(chat, "hello") == "Hello from the wire."
    assert "tools" not in server.requests[1]
    say(chat, "hello again", 20)
    assert "tools" not in server.requests[2]
    assert not Breaker.objects.filter(failures__gt=0).exists()


def test_incognito_only_reading_tools_are_offered(space, server, provider, fake):
    chat = make_chat(space, channel="fake", external_id="9")
    say(chat, "/incognito")
    server.script = [use("remember", text="Ana plays the cello")]
    say(chat, "I play the cello", 20)
    assert "no tool called remember" in told(server)[0]
    assert not Fact.objects.exists()


def test_a_reply_without_words_still_says_something(chat, server, provider):
    server.script = [use("remember", text="Ana plays the cello in Porto"), "empty"]
    assert say(chat, "I play the cello in Porto").startswith("Noted.")
    assert Message.objects.filter(role="assistant").count() == 1
