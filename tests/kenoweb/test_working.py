"""Working notes, by HTTP."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memory import working
from memory.models import WorkingNote
from tests.factories import make_chat, make_client, make_member, make_space, make_user

pytestmark = pytest.mark.django_db
HTMX = {"hx-request": "true"}


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def client(owner):
    return make_client(owner.user)


@pytest.fixture
def note(owner):
    chat = make_chat(owner.space, title="Taller")
    return working.replace(chat, by="tag", task="Mend the bicycle", pending=["buy a tube"]).row


def at(name, *args, **query) -> str:
    return reverse(f"working:{name}", args=["casa", *args], query=query)


def page(client, name, *args, **query) -> str:
    answer = client.get(at(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def test_without_a_note_keno_is_in_the_middle_of_nothing(client):
    assert "No task is open" in page(client, "index")


def test_the_note_and_its_parts(client, note):
    assert "Mend the bicycle" in page(client, "index")
    shown = page(client, "detail", note.pk)
    assert "buy a tube" in shown
    assert "in every prompt of this chat" in shown


def test_a_note_is_found_by_its_words_and_its_chat(client, note):
    assert "Mend the bicycle" in page(client, "index", q="BICY")
    assert "Mend the bicycle" in page(client, "index", q="taller")
    assert "No note has these words" in page(client, "index", q="zebra")


def test_an_old_note_is_called_stale(client, note):
    WorkingNote.objects.update(updated_at=timezone.now() - timedelta(days=9))
    assert "stale" in page(client, "index")
    assert "not in prompts any more" in page(client, "detail", note.pk)


@pytest.mark.parametrize("htmx", [True, False])
def test_clearing_empties_it_and_undo_brings_it_back(client, note, htmx):
    answer = client.post(at("clear", note.pk), headers=HTMX if htmx else {})
    assert WorkingNote.objects.get().task == ""
    shown = answer.content.decode() if htmx else page(client, "index")
    assert "Cleared the note." in shown
    client.post(shown.split('class="toast ')[1].split('action="')[1].split('"')[0])
    assert WorkingNote.objects.get().task == "Mend the bicycle"


def test_a_person_writes_it_anew(client, note):
    sent = {"task": "Sell it", "context": "it is old\n\nit squeaks", "pending": "", "notes": "soon"}
    answer = client.post(at("revise", note.pk), sent)
    assert answer.url == at("detail", note.pk)
    after = WorkingNote.objects.get()
    assert (after.task, after.context, after.pending) == (
        "Sell it",
        ["it is old", "it squeaks"],
        [],
    )


def test_a_note_without_words_is_refused(client, note):
    answer = client.post(at("revise", note.pk), {"task": " "})
    assert answer.status_code == 422
    assert "A note needs words" in answer.content.decode()


@pytest.mark.parametrize("act", ["clear", "revise"])
def test_a_look_does_nothing(client, note, act):
    assert client.get(at(act, note.pk)).status_code == 405


def test_a_viewer_sees_no_way_to_change_anything(owner, note):
    viewer = make_client(make_member(space=owner.space, role="viewer").user)
    shown = page(viewer, "detail", note.pk, edit="1")
    assert 'method="post"' not in shown.split("<main")[1].split("</main>")[0]


def test_the_list_costs_the_same_for_two_notes_and_for_200(client, owner, note):
    def cost():
        with CaptureQueriesContext(connection) as found:
            client.get(at("index"))
        return len(found)

    def many(n):
        for _ in range(n):
            working.replace(make_chat(owner.space), by="tag", task="x")

    many(1)
    few = cost()
    many(60)
    assert cost() == few
