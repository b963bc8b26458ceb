from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from memory.chats import service as chats
from memory.history import actors
from memory.history import changes as history
from memory.models import Chat, Message
from tests.factories import make_chat, make_space

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 2, 13, 15, 45, tzinfo=UTC)
ANA = actors.person("ana")


@pytest.fixture
def space():
    return make_space("home")


@pytest.fixture
def chat(space):
    return make_chat(space)


@pytest.mark.parametrize(
    ("channel", "external_id", "key"),
    [
        ("telegram", 123, "telegram-123"),
        ("telegram", -4990985512, "telegram--4990985512"),
        ("http", "http-a_b", "http-http-a_b"),
    ],
)
def test_a28_a_chat_is_opened_once_under_its_key(space, channel, external_id, key):
    chat = chats.find_or_open(space, channel=channel, external_id=external_id, title="Family")
    again = chats.find_or_open(space, channel=channel, external_id=external_id, title="Other")
    assert (chat.key, again, again.title) == (key, chat, "Family")
    assert chats.by_key(space, key) == chat


@pytest.mark.parametrize("bad", ["../x", "a/b", "a.b", "", "a b", "ñ", "x\x00", "x\n", "x" * 200])
def test_a28_an_id_that_could_name_a_path_is_refused(space, bad):
    with pytest.raises(chats.BadChatId, match="letters, digits"):
        chats.find_or_open(space, channel="telegram", external_id=bad)
    with pytest.raises(chats.BadChatId):
        chats.by_key(space, f"telegram-{bad}" if bad else "")
    assert Chat.objects.count() == 0


@pytest.mark.parametrize("channel", ["", "a-b", "a/b", "x" * 33])
def test_a_channel_is_one_word(space, channel):
    with pytest.raises(chats.BadChatId):
        chats.find_or_open(space, channel=channel, external_id="1")


def test_the_same_chat_in_two_spaces_is_two_chats(space):
    mine = chats.find_or_open(space, channel="telegram", external_id=1)
    assert chats.find_or_open(make_space(), channel="telegram", external_id=1) != mine


def test_a88_the_same_message_is_received_once(chat):
    first = chats.receive(chat, text="hola, ¿qué tal?", external_id=7, author="Ana", now=NOW)
    again = chats.receive(chat, text="something else", external_id="7")
    assert (first.is_new, again.is_new, again.message) == (True, False, first.message)
    assert (first.message.text, first.message.language) == ("hola, ¿qué tal?", "es")


@pytest.mark.django_db(transaction=True)
def test_r02_a_hundred_duplicates_from_eight_threads_are_one_row(chat):
    def send(_):
        try:
            return chats.receive(chat, text="hello", external_id="x").is_new
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(100))) == 1
    assert Message.objects.count() == 1


def test_messages_without_ids_are_all_kept(chat):
    chats.receive(chat, text="a")
    chats.receive(chat, text="a")
    assert Message.objects.count() == 2


@pytest.mark.parametrize("size", [1, 32 * 1024, 1024 * 1024])
def test_t18_a_giant_message_is_kept_as_far_as_it_goes_and_says_so(chat, size):
    message = chats.receive(chat, text="x" * size).message
    assert len(message.text) == min(size, 32768)
    assert bool(message.flags) is (size > 32768)


def test_t22_what_postgres_refuses_is_taken_out(chat):
    message = chats.receive(
        chat, text="a\x00b\ud800c", external_id="i\x00d", author="A\x00na", author_id="\ud800"
    ).message
    message.refresh_from_db()
    assert (message.text, message.external_id, message.author) == ("abc", "id", "Ana")


def test_an_older_message_does_not_move_the_clock_back(chat):
    chats.receive(chat, text="now", sent_at=NOW)
    chats.receive(chat, text="imported", sent_at=NOW - timedelta(days=9))
    chat.refresh_from_db()
    assert chat.last_message_at == NOW


def test_a_reply_is_kept_once(chat):
    question = chats.receive(chat, text="hi", now=NOW).message
    answer = chats.reply(chat, text="hello", to=question, now=NOW)
    assert chats.reply(chat, text="hello again", to=question) == answer
    assert (answer.role, answer.reply_to, answer.text) == ("assistant", question, "hello")


def say(chat, minutes_ago, text="x", **given):
    return chats.receive(chat, text=text, sent_at=NOW - timedelta(minutes=minutes_ago), **given)


def test_a29_short_term_is_the_newest_twenty_oldest_first(chat):
    for n in range(30):
        say(chat, 10 - n / 10, str(n))
    assert [m.text for m in chats.short_term(chat, now=NOW)] == [str(n) for n in range(10, 30)]


def test_a29_a_chat_without_messages_has_no_short_term(chat):
    assert chats.short_term(chat, now=NOW) == []


def test_short_term_reaches_back_fifteen_minutes_but_never_forgets_the_last_exchange(chat):
    for minutes in (400, 90, 80, 70, 60, 14, 1):
        say(chat, minutes, str(minutes))
    assert [m.text for m in chats.short_term(chat, now=NOW)] == ["70", "60", "14", "1"]


def test_short_term_is_a_setting(space, chat):
    space.settings = {"history_messages": 2}
    for n in (3, 2, 1):
        say(chat, n, str(n))
    assert [m.text for m in chats.short_term(chat, now=NOW)] == ["2", "1"]


def test_short_term_can_leave_out_the_message_being_answered(chat):
    say(chat, 2, "before")
    asked = say(chat, 1, "asked").message
    assert [m.text for m in chats.short_term(chat, now=NOW, before=asked)] == ["before"]


def test_a13_the_last_context_said_replaces_the_others(chat):
    chats.set_context(chat, text="Type: Friends", by="tag")
    done = chats.set_context(chat, text="Type: Work group\nTone: Professional", by="tag")
    chat.refresh_from_db()
    assert chat.context == "Type: Work group\nTone: Professional"
    history.undo_context(done.change_id, by=ANA)
    chat.refresh_from_db()
    assert chat.context == "Type: Friends"


@pytest.mark.parametrize("nothing", ["", "  \n", "\x00"])
def test_an_empty_context_changes_nothing(chat, nothing):
    chats.set_context(chat, text="Type: Friends", by="tag")
    assert chats.set_context(chat, text=nothing, by="tag").outcome == "empty"
    chat.refresh_from_db()
    assert chat.context == "Type: Friends"


def test_a24_contexts_of_two_chats_never_mix(space, chat):
    other = make_chat(space)
    chats.set_context(chat, text="Type: Friends", by="tag")
    other.refresh_from_db()
    assert other.context == ""
