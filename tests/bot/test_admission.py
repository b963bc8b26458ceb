from bot.channels.base import AllowList
from memory.jobs import RateLimit
from tests.bot.conftest import after


def test_without_lists_nobody_may_085():
    assert not AllowList().lets_in(person=1, chat=1)
    assert not AllowList([""], [""]).lets_in(person=1, chat=1)


def test_a_person_of_the_list_may_anywhere_085():
    listed = AllowList(people=["7"])
    assert listed.lets_in(person=7, chat=-100123)
    assert not listed.lets_in(person=8, chat=-100123)


def test_anybody_may_in_a_chat_of_the_list_085():
    listed = AllowList(chats=["-100123"])
    assert listed.lets_in(person=8, chat=-100123)
    assert not listed.lets_in(person=8, chat=8)


def test_the_third_of_two_a_minute_waits_085():
    gate = RateLimit(per_minute=2)
    assert gate.allow("ana", now=after(0))
    assert gate.allow("ana", now=after(1))
    assert not gate.allow("ana", now=after(2))
    assert gate.allow("ana", now=after(61))


def test_it_says_after_how_long_there_is_room_again():
    gate = RateLimit(per_minute=2, per_hour=3)
    for at in (0, 1, 70):
        assert gate.allow("ana", now=after(at))
    assert gate.wait("ana", now=after(71)) == 3529
    assert gate.wait("bo", now=after(71)) == 0
    minute = RateLimit(per_minute=2)
    for at in (0, 20):
        assert minute.allow("ana", now=after(at))
    assert minute.wait("ana", now=after(20.5)) == 40


def test_people_are_counted_apart_085():
    gate = RateLimit(per_minute=1)
    assert gate.allow("ana", now=after(0))
    assert gate.allow("bo", now=after(0))


def test_what_was_refused_is_not_counted():
    gate = RateLimit(per_minute=1)
    gate.allow("ana", now=after(0))
    for second in range(1, 60):
        assert not gate.allow("ana", now=after(second))
    assert gate.allow("ana", now=after(60))


def test_an_hour_is_counted_too():
    gate = RateLimit(per_hour=3)
    assert [gate.allow("ana", now=after(n * 600)) for n in range(4)] == [True] * 3 + [False]
    assert gate.allow("ana", now=after(3600))


def test_zero_means_no_limit():
    gate = RateLimit()
    assert all(gate.allow("ana", now=after(0)) for _ in range(1000))
