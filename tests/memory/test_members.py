from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from memory.models import AuditEntry
from memory.spaces import service
from tests.factories import make_member, make_space, make_user


@pytest.mark.django_db
def test_joining_twice_keeps_the_role_one_has():
    space, ana = make_space(), make_user()
    service.join(space, user=ana, role="curator", by="person:ana")
    assert service.join(space, user=ana, role="owner", by="person:ana").role == "curator"
    assert AuditEntry.objects.count() == 1


@pytest.mark.django_db
def test_the_same_role_again_is_no_change():
    assert service.change_role(make_member(), role="owner", by="person:ana") is None
    assert not AuditEntry.objects.exists()


@pytest.mark.django_db
def test_the_last_owner_can_neither_go_nor_step_down():
    owner = make_member()
    with pytest.raises(service.LastOwner, match="needs an owner"):
        service.remove(owner, by="person:ana")
    with pytest.raises(service.LastOwner):
        service.change_role(owner, role="viewer", by="person:ana")


@pytest.mark.django_db
def test_an_owner_of_two_may_go():
    owner = make_member()
    make_member(space=owner.space)
    service.remove(owner, by="person:ana")
    assert owner.space.members.count() == 1


@pytest.mark.django_db
def test_somebody_who_is_gone_already_is_said_to_be():
    owner = make_member()
    guest = make_member(space=owner.space, role="viewer")
    service.remove(guest, by="person:ana")
    with pytest.raises(service.NotAMember):
        service.remove(guest, by="person:ana")


@pytest.mark.django_db
def test_undo_after_another_change_is_refused():
    owner = make_member()
    guest = make_member(space=owner.space, role="viewer")
    entry = service.change_role(guest, role="curator", by="person:ana")
    service.change_role(guest, role="owner", by="person:ana")
    with pytest.raises(service.CannotUndo):
        service.undo(entry, by="person:ana")


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_demote_each_other_at_once_do_not_both_succeed():
    first = make_member()
    second = make_member(space=first.space)

    def demote(member):
        try:
            service.change_role(member, role="viewer", by="person:x")
        except service.LastOwner:
            return "refused"
        finally:
            connection.close()
        return "done"

    for _ in range(5):
        first.space.members.update(role="owner")
        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(demote, [first, second])) == ["done", "refused"]
