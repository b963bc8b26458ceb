import pytest
from django.urls import reverse

from memory.models import AuditEntry
from tests.factories import PASSWORD, make_client, make_user

pytestmark = pytest.mark.django_db
NEW = "staple a new battery"


def change(client, old=PASSWORD, new=NEW, again=NEW):
    return client.post(reverse("account:password"), {"old": old, "new": new, "again": again})


@pytest.fixture
def ana():
    return make_user("ana")


def test_the_new_password_works_and_the_old_one_does_not(ana):
    assert change(make_client(ana)).url == reverse("account:index")
    ana.refresh_from_db()
    assert ana.check_password(NEW)
    assert not ana.check_password(PASSWORD)


def test_this_device_stays_signed_in_and_the_others_do_not(ana):
    here, there = make_client(ana), make_client(ana)
    change(here)
    assert here.get("/account/").status_code == 200
    assert there.get("/account/").status_code == 302


def test_the_old_password_is_needed(ana):
    answer = change(make_client(ana), old="guess")
    assert answer.context["form"].errors == {"old": ["That is not your password."]}
    ana.refresh_from_db()
    assert ana.check_password(PASSWORD)


@pytest.mark.parametrize(
    ("new", "again", "field"),
    [
        ("short", "short", "new"),
        ("password1234", "password1234", "new"),
        ("ana-ana-ana-a", "ana-ana-ana-b", "again"),
        ("x" * 2000, "x" * 2000, "new"),
        ("", "", "new"),
    ],
)
def test_a_weak_or_mistyped_one_is_refused_at_its_field(ana, new, again, field):
    assert field in change(make_client(ana), new=new, again=again).context["form"].errors


def test_a_common_one_that_is_also_mistyped_gets_both_sentences_at_once(ana):
    errors = (
        change(make_client(ana), new="password1234", again="password123").context["form"].errors
    )
    assert set(errors) == {"new", "again"}


def test_guessing_the_old_one_is_throttled_like_the_door(ana):
    client = make_client(ana)
    for _ in range(20):
        change(client, old="guess")
    assert "Too many tries" in str(change(client).context["form"].errors)


def test_it_is_in_the_book_without_the_password(ana):
    change(make_client(ana))
    entry = AuditEntry.objects.get()
    assert entry.action == "account.password_changed"
    assert NEW not in str(entry.__dict__)
