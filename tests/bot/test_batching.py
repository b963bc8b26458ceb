from bot.replies import join
from bot.turn import groups
from memory.models import Message
from tests.bot.conftest import after


def waiting(*seconds, commands=()):
    return [
        Message(pk=n, received_at=after(at), text="/why" if n in commands else "Hello")
        for n, at in enumerate(seconds, start=1)
    ]


def answered(messages, *, asked, at, size=5, longest=10):
    found = groups(messages, message_id=asked, size=size, longest=longest, now=after(at))
    return [[message.pk for message in group] for group in found]


def test_one_message_is_answered_after_its_silence():
    assert answered(waiting(0), asked=1, at=2) == [[1]]


def test_an_earlier_job_leaves_it_to_the_newest():
    three = waiting(0, 1, 2)
    assert answered(three, asked=1, at=2) == []
    assert answered(three, asked=2, at=3) == []
    assert answered(three, asked=3, at=4) == [[1, 2, 3]]


def test_five_are_answered_at_once():
    assert answered(waiting(0, 0, 0, 0, 0), asked=5, at=0) == [[1, 2, 3, 4, 5]]
    assert answered(waiting(0, 0, 0, 0, 0), asked=1, at=0) == [[1, 2, 3, 4, 5]]


def test_nobody_waits_longer_than_ten_seconds():
    typing = waiting(0, 1.5, 3, 4.5, 6, 7.5, 9)
    assert answered(typing, asked=6, at=9.5, size=50) == []
    assert answered(typing, asked=7, at=10, size=50) == [[1, 2, 3, 4, 5, 6, 7]]


def test_a_command_is_answered_at_once_after_what_was_said_before_it():
    assert answered(waiting(0, 1, commands={2}), asked=2, at=1) == [[1], [2]]


def test_a_command_does_not_answer_what_came_after_it():
    assert answered(waiting(0, 1, 1.2, commands={2}), asked=2, at=1.3) == [[1], [2]]


def test_after_a_long_pause_of_the_worker_all_are_answered_in_order_by_fives():
    backlog = waiting(*range(12))
    assert answered(backlog, asked=1, at=100) == [[1, 2, 3, 4, 5]]
    assert answered(backlog[5:], asked=6, at=101) == [[6, 7, 8, 9, 10]]
    assert answered(backlog[10:], asked=12, at=102) == [[11, 12]]


def test_what_is_answered_already_is_not_answered_again():
    assert answered(waiting(0), asked=99, at=5) == []


def test_texts_are_joined_by_lines_and_several_people_are_named():
    assert join([("Ana", "one"), ("Ana", "two")]) == "one\ntwo"
    assert join([("Ana", "one"), ("Bo", "two")]) == "Ana: one\nBo: two"
