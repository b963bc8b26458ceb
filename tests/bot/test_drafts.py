import pytest

from bot import replies
from memory.models import Draft
from tests.factories import make_chat


@pytest.mark.parametrize(
    ("so_far", "shown"),
    [
        ("Hello", "Hello"),
        ("Hello <", "Hello"),
        ("Hello <mem", "Hello"),
        ("Hello <memory>Ana lives", "Hello"),
        ("Hello <memory>Ana lives in Lisbon</mem", "Hello"),
        ("Hello <memory>Ana lives in Lisbon</memory> and", "Hello  and"),
        ("Hello <MEMORY>secret", "Hello"),
        ("a < b and so on, as is 3 > 2", "a < b and so on, as is 3 > 2"),
        ("One <memory>a</memory> two <chat-memory>b", "One  two"),
    ],
)
def test_a_tag_is_never_seen_while_it_is_being_written(so_far, shown):
    assert replies.visible(so_far) == shown


def test_every_beginning_of_a_reply_is_safe_to_show():
    reply = "Sure!\n<memory>Ana has a dog</memory> Noted <working-memory>{}</working-memory>."
    for end in range(len(reply) + 1):
        shown = replies.visible(reply[:end])
        assert "dog" not in shown
        assert "memory" not in shown


def test_the_web_sees_the_answer_grow(db):
    chat = make_chat(channel="web")
    show = replies.stream_to(chat, clock=iter([0, 0, 0, 0.1, 1, 1]).__next__)
    show("He")
    assert Draft.objects.get().text == "He"
    show("Hell")
    assert Draft.objects.get().text == "He"
    show("Hello <mem")
    assert Draft.objects.get().text == "Hello"


def test_a_channel_that_cannot_show_it_gets_no_stream(db):
    assert replies.stream_to(make_chat(channel="elsewhere")) is None
