import pytest
from django.urls import reverse

from memory.models import Space
from tests.factories import make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
FORM = {"name": "Trabajo", "language": "es", "timezone": "Europe/Madrid"}


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


def test_the_list_shows_mine_and_no_others(owner):
    make_space("secret")
    page = make_client(owner.user).get("/spaces/").content.decode()
    assert "Casa" in page
    assert "Secret" not in page


def test_the_list_costs_the_same_for_one_space_and_for_many(owner, django_assert_num_queries):
    client = make_client(owner.user)
    with django_assert_num_queries(6):
        client.get("/spaces/")
    for _ in range(5):
        make_member(user=owner.user)
    with django_assert_num_queries(6):
        client.get("/spaces/")


def test_an_owner_makes_another_space_and_owns_it(owner):
    answer = make_client(owner.user).post(reverse("spaces:new"), FORM)
    space = Space.objects.get(slug="trabajo")
    assert answer.url == "/s/trabajo/"
    assert space.members.get().user == owner.user
    assert (space.language, space.timezone) == ("es", "Europe/Madrid")


@pytest.mark.parametrize("role", ["viewer", "curator"])
def test_a_guest_in_the_house_makes_no_spaces(role):
    client = make_client(make_member(role=role).user)
    assert client.get(reverse("spaces:new")).status_code == 403
    assert client.post(reverse("spaces:new"), FORM).status_code == 403
    assert "New space" not in client.get("/spaces/").content.decode()


def test_the_owner_renames_it_and_links_keep_working(owner):
    client = make_client(owner.user)
    answer = client.post(reverse("spaces:edit", args=["casa"]), FORM, follow=True)
    owner.space.refresh_from_db()
    assert (owner.space.name, owner.space.slug) == ("Trabajo", "casa")
    assert "Saved." in answer.content.decode()


@pytest.mark.parametrize("zone", ["Etc/GMT+5", "America/Buenos_Aires"])
def test_a_time_zone_that_is_not_offered_any_more_stays_when_it_is_set(owner, zone):
    Space.objects.update(timezone=zone)
    client, there = make_client(owner.user), reverse("spaces:edit", args=["casa"])
    assert f'<option value="{zone}" selected>' in client.get(there).content.decode()
    assert client.post(there, FORM | {"timezone": zone}).status_code == 302
    owner.space.refresh_from_db()
    assert owner.space.timezone == zone
    assert client.post(reverse("spaces:new"), FORM | {"timezone": zone}).status_code == 422


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"name": " "}, {"name": "x" * 81}, {"timezone": "Mars/X"}, {"language": "xx"}],
)
def test_a_mistake_is_said_at_its_field_and_changes_nothing(owner, wrong):
    answer = make_client(owner.user).post(reverse("spaces:edit", args=["casa"]), FORM | wrong)
    assert list(answer.context["form"].errors) == list(wrong)
    owner.space.refresh_from_db()
    assert owner.space.name == "Casa"
