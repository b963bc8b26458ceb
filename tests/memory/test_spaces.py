from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from memory.history import changes as history
from memory.models import AuditEntry
from memory.spaces import service as spaces
from tests.factories import make_space, make_user


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "slug"),
    [("Mi Casa", "mi-casa"), ("Café ñandú", "cafe-nandu"), ("家", "space"), ("x" * 80, "x" * 40)],
)
def test_the_address_is_made_of_the_name(name, slug):
    assert spaces.create(name, owner=make_user()).slug == slug


@pytest.mark.django_db
def test_the_same_name_gets_another_address():
    ana = make_user()
    assert [spaces.create("Casa", owner=ana).slug for _ in range(3)] == ["casa", "casa-2", "casa-3"]
    assert spaces.create("y" * 80, owner=ana).slug != spaces.create("y" * 80, owner=ana).slug


@pytest.mark.django_db
def test_l4_an_address_says_nothing_about_the_spaces_of_others():
    spaces.create("Alpha", owner=make_user())
    bo = make_user()
    taken, free = (spaces.create(name, owner=bo).slug for name in ("Alpha", "Beta"))
    assert [len(slug.rpartition("-")[2]) for slug in (taken, free)] == [4, 4]


@pytest.mark.django_db
def test_revising_is_kept_and_can_be_undone():
    space = make_space(name="Old")
    done = spaces.revise(space, by="person:ana", name="New", language="es", timezone="UTC")
    assert AuditEntry.objects.get().action == "space.revised"
    history.undo_context(done.change_id, by="person:ana")
    space.refresh_from_db()
    assert (space.name, space.language) == ("Old", "en")


@pytest.mark.django_db
def test_revising_nothing_writes_nothing():
    space = make_space(name="Old")
    done = spaces.revise(space, by="person:ana", name="Old", language="en", timezone="UTC")
    assert done.change_id is None
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_many_who_choose_one_name_at_once_all_get_a_space():
    ana = make_user()

    def create(_):
        try:
            return spaces.create("Casa", owner=ana).slug
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(create, range(4)))) == 4
