"""The settings of a space, by HTTP: every option, its range, its undo, and no secret."""

from dataclasses import fields

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from kenoweb.operations import space_settings as setting_pages
from memory.models import AuditEntry, Space
from memory.options import Options
from memory.spaces import service as spaces
from tests.factories import make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def client(owner):
    return make_client(owner.user)


URL = "/s/casa/memory-settings/"


def sent(space, **changes) -> dict:
    """The form as a browser sends it: a switch that is off is not there."""
    now = {one.name: getattr(space.options, one.name) for one in fields(Options)} | changes
    return {name: value for name, value in now.items() if value is not False}


def options():
    return Space.objects.get().options


def test_every_option_has_a_field_a_name_and_a_place(client):
    found = client.get(URL).content.decode()
    grouped = [name for names in setting_pages.GROUPS.values() for name in names]
    for one in fields(Options):
        assert f'name="{one.name}"' in found
        assert one.name in setting_pages.LABELS, f"{one.name} has no name for people"
        assert one.name in grouped, f"{one.name} is in no group"


def test_what_is_changed_is_saved_audited_and_taken_back(client, owner):
    changes = {"token_budget": 3000, "recall_strict": "on", "budget_action": "pause"}
    assert client.post(URL, sent(owner.space, **changes)).url == URL
    assert options().token_budget == 3000
    assert options().recall_strict is True
    assert set(Space.objects.get().settings) == set(changes), "the rest stays as it is usual"
    assert AuditEntry.objects.filter(action="space.configured").count() == 1
    found = client.get(URL).content.decode()
    assert "changed" in found
    undo = found.partition('action="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    assert options() == make_space("other").options


def test_what_was_set_without_a_name_for_it_is_told_and_not_undone(client, owner):
    """As the demo sets its own, with how far it is made beside them."""
    space = owner.space
    space.settings = {"making": 12}
    space.save(update_fields=["settings"])
    space.settings = {"token_budget": 3000}
    space.save(update_fields=["settings"])
    found = client.get(URL)
    assert found.status_code == 200
    assert found.content.decode().count('<ol class="thread') == 1
    assert "making" not in found.content.decode()
    assert 'action="/s/casa/undo/' not in found.content.decode()


def test_a_switch_can_be_turned_off(client, owner):
    client.post(URL, sent(owner.space, use_retrieval=False))
    assert options().use_retrieval is False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token_budget", 5),
        ("token_budget", "many"),
        ("sleep_hour", 24),
        ("chat_model", "a model with spaces"),
        ("budget_action", "panic"),
        ("batch_silence", -1),
        ("budget_day", "nan"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(client, owner, name, value):
    answer = client.post(URL, sent(owner.space, **{name: value}))
    assert answer.status_code == 422
    assert "Nothing was saved" in answer.content.decode()
    assert Space.objects.get().settings == {}


def test_a_setting_equal_to_the_usual_one_is_not_kept(owner):
    spaces.configure(owner.space, by="person:ana", values={"token_budget": 3000})
    spaces.configure(owner.space, by="person:ana", values={"token_budget": 2000})
    assert Space.objects.get().settings == {}


def test_the_writer_refuses_what_the_page_would(owner):
    with pytest.raises(spaces.BadSetting, match="sleep_hour must be a number"):
        spaces.configure(owner.space, by="person:ana", values={"sleep_hour": 99})
    with pytest.raises(spaces.BadSetting, match="no setting called"):
        spaces.configure(owner.space, by="person:ana", values={"nothing": 1})


def test_only_owners(owner):
    curator = make_client(make_member(space=owner.space, role="curator").user)
    assert curator.get(URL).status_code == 403
    assert curator.post(URL, {}).status_code == 403


def test_who_answers_is_said_and_no_secret(client, settings):
    settings.ANTHROPIC_API_KEY = "sk-" + "ant-" + "x" * 20
    found = client.get(URL).content.decode()
    assert "Anthropic" in found
    assert "is set up" in found
    assert "x" * 20 not in found


def test_the_page_costs_the_same_however_often_it_was_changed(client, owner):
    def cost():
        with CaptureQueriesContext(connection) as found:
            assert client.get(URL).status_code == 200
        return len(found)

    spaces.configure(owner.space, by="person:ana", values={"token_budget": 2500})
    before = cost()
    for n in range(12):
        spaces.configure(owner.space, by="person:ana", values={"token_budget": 2600 + n})
    assert cost() == before
