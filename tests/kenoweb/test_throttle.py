from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from kenoweb.auth import throttle
from kenoweb.models import TokenBucket

NOW = timezone.now()


def spend_all(name="ana", ip="10.0.0.1", *, now=NOW) -> int:
    spent = 0
    while True:
        try:
            throttle.spend(name, ip, now=now)
        except throttle.TooManyTries:
            return spent
        spent += 1


@pytest.mark.django_db
def test_an_account_has_twenty_tries_an_hour():
    assert spend_all() == 20
    assert spend_all(now=NOW + timedelta(minutes=30)) == 10
    assert spend_all(now=NOW + timedelta(hours=9)) == 20


@pytest.mark.django_db
def test_an_address_has_a_hundred():
    for number in range(100):
        throttle.spend(f"name{number}", "10.0.0.1", now=NOW)
    with pytest.raises(throttle.TooManyTries):
        throttle.spend("another", "10.0.0.1", now=NOW)
    throttle.spend("another", "10.0.0.2", now=NOW)


@pytest.mark.django_db
def test_neighbours_in_one_ipv6_network_share_a_bucket():
    for number in range(100):
        throttle.spend(f"name{number}", f"2001:db8::{number:x}", now=NOW)
    with pytest.raises(throttle.TooManyTries):
        throttle.spend("another", "2001:db8::ffff", now=NOW)


@pytest.mark.django_db
def test_a_name_in_other_letters_is_the_same_name():
    spend_all("ANA")
    with pytest.raises(throttle.TooManyTries):
        throttle.spend("ana", "10.0.0.9", now=NOW)


@pytest.mark.django_db
def test_a_refund_gives_one_back():
    spend_all()
    throttle.refund("ana", "10.0.0.1")
    assert spend_all() == 1


@pytest.mark.django_db
def test_a_clock_that_jumps_back_gives_nothing_away():
    spend_all()
    assert spend_all(now=NOW - timedelta(hours=3)) == 0
    assert spend_all(now=NOW) == 0


@pytest.mark.django_db
def test_no_name_and_no_address_is_kept_in_clear():
    throttle.spend("hunter2", "10.0.0.1", now=NOW)
    assert all(len(key) == 64 for key in TokenBucket.objects.values_list("key", flat=True))


@pytest.mark.django_db
def test_full_buckets_are_swept():
    throttle.spend("ana", "10.0.0.1", now=NOW - timedelta(hours=2))
    throttle.spend("bo", "10.0.0.2", now=NOW)
    assert TokenBucket.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_hundred_tries_at_once_do_not_share_a_token():
    def attempt(number):
        try:
            throttle.spend("ana", f"10.0.1.{number}", now=NOW)
        except throttle.TooManyTries:
            return 0
        finally:
            connection.close()
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(100))) == 20
