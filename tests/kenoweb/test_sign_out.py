import pytest
from django.urls import reverse

from memory.models import AuditEntry
from tests.factories import make_client, make_user

pytestmark = pytest.mark.django_db


def is_in(client) -> bool:
    return client.get("/account/").status_code == 200


def test_it_signs_out_and_clears_the_browser():
    client = make_client(make_user())
    answer = client.post(reverse("account:sign_out"))
    assert answer.url == "/sign-in/"
    assert answer["Clear-Site-Data"] == '"cache", "storage"'
    assert not is_in(client)


def test_other_devices_stay_signed_in():
    ana = make_user()
    phone, laptop = make_client(ana), make_client(ana)
    phone.post(reverse("account:sign_out"))
    assert is_in(laptop)


def test_everywhere_means_everywhere():
    ana, bo = make_user(), make_user()
    phone, laptop, other = make_client(ana), make_client(ana), make_client(bo)
    phone.post(reverse("account:sign_out_everywhere"))
    assert not is_in(phone)
    assert not is_in(laptop)
    assert is_in(other)


def test_signing_in_again_after_everywhere_works():
    ana = make_user()
    make_client(ana).post(reverse("account:sign_out_everywhere"))
    ana.refresh_from_db()
    assert is_in(make_client(ana))


def test_it_is_in_the_book():
    client = make_client(make_user("ana"))
    client.post(reverse("account:sign_out_everywhere"))
    assert AuditEntry.objects.get().action == "account.signed_out_everywhere"


@pytest.mark.parametrize("name", ["account:sign_out", "account:sign_out_everywhere"])
def test_a_link_cannot_sign_anybody_out(name):
    client = make_client(make_user())
    assert client.get(reverse(name)).status_code == 405
    assert is_in(client)
