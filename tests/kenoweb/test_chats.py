"""The chats, by HTTP: the list, a transcript with its receipts, and talking in the browser."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from bot import turn
from kenoweb.ui.formatting import share
from memory.chats import inbox
from memory.extraction import ingest
from memory.facts import service as facts
from memory.models import Chat, Draft, Fact, Heartbeat, Message, OutboxItem
from tests.factories import (
    make_chat,
    make_client,
    make_fact,
    make_member,
    make_message,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db
HTMX = {"hx-request": "true"}
KEY = "0123456789abcdef" * 2


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def space(owner):
    return owner.space


@pytest.fixture
def client(owner):
    return make_client(owner.user)


@pytest.fixture
def chat(space):
    return make_chat(space, channel="web", external_id=KEY, title="Tea")


@pytest.fixture
def worker():
    return Heartbeat.objects.create(name="w1")


def at(name, *args, **query) -> str:
    return reverse(f"chats:{name}", args=["casa", *args], query=query)


def page(client, name, *args, **query) -> str:
    answer = client.get(at(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def work(chat) -> None:
    """What the worker does a moment later."""
    now = timezone.now() + timedelta(seconds=3)
    for message in list(inbox.unanswered(chat.pk)):
        turn.answer(message.pk, now=now)
    ingest.ingest_waiting(chat.space, chat=chat, now=now)


def test_somebody_new_is_asked_to_say_something(client, space):
    found = page(client, "index")
    assert "Tell Keno something" in found
    assert at("begin") in found


def test_a_chat_that_begins_with_a_question_is_called_by_its_day(client, space, worker):
    there = client.post(at("begin"), {"text": "What do you know about me?", "key": KEY}).url
    assert Chat.objects.get().title.startswith("Chat of ")
    assert f"{at('about', Chat.objects.get().pk)}#id_title" in client.get(there).content.decode()


def test_the_first_minute_say_something_and_see_it_remembered(client, space, worker):
    said = {"text": "Remember that the door code is on the fridge", "key": KEY}
    there = client.post(at("begin"), said).url
    chat = Chat.objects.get()
    assert there == at("detail", chat.pk)
    assert chat.title == "The door code is on the fridge"
    assert "Keno is answering" in client.get(there).content.decode()
    work(chat)
    found = client.get(there).content.decode()
    assert "the door code is on the fridge" in found
    fact = Fact.objects.get()
    assert at("unlearn", chat.pk, fact.pk) in found
    assert "Receipt" in found


def test_a_second_press_of_the_button_is_the_same_message(client, space):
    for _ in range(2):
        client.post(at("begin"), {"text": "hello there", "key": KEY})
    chat = Chat.objects.get()
    for _ in range(2):
        client.post(at("say", chat.pk), {"text": "and again", "key": "f" * 32})
    assert Message.objects.count() == 2


def test_saying_nothing_is_refused_in_words(client, chat):
    answer = client.post(at("begin"), {"text": "   "})
    assert answer.status_code == 422
    assert "Say something first." in answer.content.decode()
    found = client.post(at("say", chat.pk), {"text": ""}, headers=HTMX).content.decode()
    assert "Say something first." in found
    assert not Message.objects.exists()


def test_with_htmx_the_message_comes_back_and_is_waited_for(client, chat, worker):
    answer = client.post(at("say", chat.pk), {"text": "hello", "since": 0}, headers=HTMX)
    found = answer.content.decode()
    assert "hello" in found
    assert f"{at('waiting', chat.pk)}?since=0&amp;seen=" in found
    assert 'hx-trigger="every 700ms"' in found


def test_without_htmx_one_comes_back_to_the_end_of_the_chat(client, chat):
    answer = client.post(at("say", chat.pk), {"text": "hello"})
    assert answer.url == at("detail", chat.pk) + "#latest"


def wait(client, chat, **query):
    return client.get(at("waiting", chat.pk, **query), headers=HTMX)


def test_while_nothing_changes_nothing_is_sent(client, chat, worker):
    client.post(at("say", chat.pk), {"text": "hello there"})
    first = wait(client, chat, since=0)
    seen = first.content.decode().partition("seen=")[2][:12]
    assert wait(client, chat, since=0, seen=seen).status_code == 204
    Draft.objects.create(chat=chat, text="Good morn")
    growing = wait(client, chat, since=0, seen=seen)
    assert growing.status_code == 200
    assert "Good morn" in growing.content.decode()


def test_the_page_stops_looking_when_the_answer_is_there(client, chat, worker):
    client.post(at("say", chat.pk), {"text": "hello there"})
    work(chat)
    answer = wait(client, chat, since=0)
    assert answer.status_code == 286
    assert "every" not in answer.content.decode()
    assert "reply-arrived" in answer["HX-Trigger"]
    last = Message.objects.order_by("pk").last()
    assert f'value="{last.pk}"' in answer.content.decode()


def test_the_page_keeps_looking_until_what_was_said_has_been_looked_through(
    client, chat, worker, settings
):
    settings.READ_SECONDS = 0
    client.post(at("say", chat.pk), {"text": "hello there"})
    message = Message.objects.get()
    turn.answer(message.pk, now=timezone.now())
    assert wait(client, chat, since=0).status_code == 200
    ingest.ingest_waiting(chat.space, chat=chat)
    assert wait(client, chat, since=0).status_code == 286


def test_looking_gets_slower_and_ends(client, chat, worker):
    message = make_message(chat, received_at=timezone.now() - timedelta(minutes=1))
    assert "every 4s" in wait(client, chat, since=0).content.decode()
    Message.objects.filter(pk=message.pk).update(received_at=timezone.now() - timedelta(minutes=6))
    assert wait(client, chat, since=0).status_code == 286


def test_a_look_at_the_waiting_part_without_htmx_leads_to_the_chat(client, chat):
    answer = client.get(at("waiting", chat.pk))
    assert answer.url == at("detail", chat.pk) + "#latest"


def test_without_a_worker_the_page_says_how_to_start_one(client, chat):
    client.post(at("say", chat.pk), {"text": "is anybody there"})
    assert "manage.py runbot" in page(client, "detail", chat.pk)
    # Who only hears the page is not told either that an answer is being written.
    assert "Keno is answering" not in wait(client, chat, since=0).content.decode()
    Heartbeat.objects.create(name="w1")
    assert "manage.py runbot" not in page(client, "detail", chat.pk)
    assert "Keno is answering" in wait(client, chat, since=0).content.decode()


def test_what_was_learned_is_taken_back_and_learned_again(client, chat, worker):
    client.post(at("say", chat.pk), {"text": "Remember that the door code is on the fridge"})
    work(chat)
    fact = Fact.objects.get()
    found = client.post(at("unlearn", chat.pk, fact.pk), headers=HTMX).content.decode()
    assert "Redo" in found
    assert "Undo" in found, "the toast"
    fact.refresh_from_db()
    assert fact.status == "trashed"
    assert client.post(at("relearn", chat.pk, fact.pk)).url == at("detail", chat.pk)
    fact.refresh_from_db()
    assert fact.status == "active"


def test_taking_back_a_correction_believes_the_old_again(client, chat):
    message = make_message(chat)
    old = facts.remember(chat.space, text="Ana lives in Lima", by="tag").row
    new = facts.remember(chat.space, text="Ana lives in Cusco", by="tag", message=message).row
    facts.supersede(old, by="tag", new=new)
    html = client.get(at("detail", chat.pk)).content.decode()
    assert re.search(r"Until now:\s*<del[^>]*>Ana lives in Lima</del>", html)
    client.post(at("unlearn", chat.pk, new.pk))
    old.refresh_from_db()
    assert old.status == "active"
    client.post(at("relearn", chat.pk, new.pk))
    old.refresh_from_db()
    new.refresh_from_db()
    assert (old.status, new.status) == ("superseded", "active")


def test_only_what_was_learned_in_the_chat_can_be_taken_back_there(client, chat):
    other = make_fact(chat.space)
    assert client.post(at("unlearn", chat.pk, other.pk)).status_code == 404


def test_the_receipt_of_a_reply_adds_up(client, chat, worker):
    facts.remember(chat.space, text="The server listens on port 5678", by="tag")
    client.post(at("say", chat.pk), {"text": "On which port does the server listen?"})
    work(chat)
    reply = Message.objects.get(role="assistant")
    found = page(client, "detail", chat.pk, reply=reply.pk)
    assert f'data-for="message-{reply.pk}"' in found
    assert "The server listens on port 5678" in found
    assert "Used 1" in found
    [item] = reply.receipts.get().items.filter(injected=True)
    assert share(item.confidence) in found
    assert item.mark == "used"
    assert "Used in the reply" in found
    assert "This is wrong" in found
    assert f"{sum(part[3] for part in item.parts):.4f}" == f"{item.score:.4f}"


def test_a_confirmation_says_that_nothing_had_to_be_remembered_for_it(client, chat, worker):
    """Not "nothing recalled", as if something had been looked for in vain."""
    client.post(at("say", chat.pk), {"text": "Remember: my sister Nell lives in Lima"})
    work(chat)
    found = page(client, "detail", chat.pk)
    assert "nothing had to be remembered for this" in found
    assert "nothing recalled" not in found


def test_a_question_in_vain_says_that_nothing_was_recalled(client, chat, worker):
    client.post(at("say", chat.pk), {"text": "Where does Nell keep her canoe?"})
    work(chat)
    found = page(client, "detail", chat.pk)
    assert "nothing recalled" in found
    assert "nothing had to be remembered for this" not in found


def test_a_wrong_reply_is_put_right_or_kept_to_be_tried_again(client, chat, worker):
    facts.remember(chat.space, text="The server listens on port 5678", by="tag")
    client.post(at("say", chat.pk), {"text": "On which port does the server listen?"})
    work(chat)
    reply = Message.objects.get(role="assistant")
    client.post(at("wrong", chat.pk, reply.pk), {"right": ""})
    lab = reverse("recall:lab", args=["casa"])
    assert "On which port does the server listen?" in client.get(lab).text
    client.post(at("wrong", chat.pk, reply.pk), {"right": "The server listens on port 9000"})
    old, new = Fact.objects.order_by("pk")
    assert (old.status, old.superseded_by) == ("superseded", new)
    assert (new.text, new.written_by) == ("The server listens on port 9000", "person")
    reply.refresh_from_db()
    assert [line["outcome"] for line in reply.journal].count("wrong") == 1


def test_a_reply_that_is_not_there_leaves_the_page_whole(client, chat):
    for junk in ("999999", "x", "-1", "9" * 40, "1e3"):
        assert page(client, "detail", chat.pk, reply=junk)
        assert page(client, "detail", chat.pk, message=junk)
        assert page(client, "detail", chat.pk, before=junk)


def test_a_notice_to_the_chat_stands_where_it_was_said(client, chat):
    make_message(chat, text="are you there")
    OutboxItem.objects.create(
        space=chat.space, chat=chat, kind="notice", key="sorry-1", text="I cannot think right now."
    )
    assert "I cannot think right now." in page(client, "detail", chat.pk)


def test_a_command_is_answered_as_anywhere(client, chat, worker):
    client.post(at("say", chat.pk), {"text": "/help"})
    work(chat)
    assert Message.objects.filter(role="assistant").exists()
    assert wait(client, chat, since=0).status_code == 286


def test_a_long_transcript_comes_in_parts_without_a_gap(client, chat):
    began = timezone.now() - timedelta(days=3)
    for n in range(90):
        make_message(
            chat, text=f"line-{n}-", sent_at=began + timedelta(minutes=n), handled_at=began
        )
    seen, url = [], at("detail", chat.pk)
    while url:
        found = client.get(url).content.decode()
        seen += [n for n in range(90) if f"line-{n}-" in found]
        earlier = re.search(r'data-earlier>\s*<a[^>]*href="([^"]*)"', found)
        url = earlier and earlier[1]
    assert sorted(seen) == list(range(90))


def test_a_very_long_message_is_folded_and_still_whole(client, chat):
    make_message(chat, text="short and plain")
    assert 'class="fold"' not in client.get(at("detail", chat.pk)).content.decode()
    make_message(chat, text="long " * 700 + "the-end", role="assistant")
    page = client.get(at("detail", chat.pk)).content.decode()
    assert page.count('class="fold"') == 1
    assert "the-end" in page


def test_a_message_is_shown_with_what_stands_around_it(client, chat):
    began = timezone.now() - timedelta(days=3)
    for n in range(90):
        make_message(
            chat, text=f"line-{n}-", sent_at=began + timedelta(minutes=n), handled_at=began
        )
    middle = Message.objects.get(text="line-40-")
    found = page(client, "detail", chat.pk, message=middle.pk)
    around = found.split(f'id="message-{middle.pk}"')[1].split(">")[0]
    assert 'aria-current="true"' in around
    assert "line-30-" in found
    assert "line-50-" in found
    assert "line-80-" not in found
    assert "Later messages" in found


def test_the_words_of_a_chat_can_be_searched(client, chat):
    make_message(chat, text="the Água runs")
    make_message(chat, text="the fire burns")
    found = page(client, "detail", chat.pk, q="fire")
    assert "the fire burns" in found
    assert "the Água runs" not in found
    assert "Nothing matches" in page(client, "detail", chat.pk, q="wind")


def test_a_chat_elsewhere_is_answered_there(client, space):
    chat = make_chat(space, channel="telegram")
    assert "This chat is on Telegram" in page(client, "detail", chat.pk)
    client.post(at("say", chat.pk), {"text": "hello"})
    assert not Message.objects.exists()


def test_the_context_of_a_chat_is_changed_and_taken_back(client, chat):
    there = at("about", chat.pk)
    answer = client.post(at("revise", chat.pk), {"title": "Tea", "context": "We talk about tea."})
    assert answer.url == there
    assert "We talk about tea." in client.get(there).content.decode()
    undo = page(client, "about", chat.pk).partition('hx-post="/s/casa/undo/')[2][:36]
    client.post(reverse("history:undo", args=["casa", undo]))
    chat.refresh_from_db()
    assert chat.context == ""


def test_a_context_that_is_too_long_is_refused_in_words(client, chat):
    assert client.post(at("revise", chat.pk), {"context": "x" * 5000}).status_code == 422


def test_what_a_reply_would_see_is_shown(client, chat):
    make_message(chat, text="just now", sent_at=timezone.now())
    make_message(chat, text="long ago", sent_at=timezone.now() - timedelta(days=2))
    found = page(client, "about", chat.pk)
    assert "just now" in found
    assert "long ago" not in found


def test_facts_from_a_chat_are_listed_with_their_words(client, chat):
    message = make_message(chat, text="I like my tea black")
    make_fact(chat.space, text="Ana likes black tea", message=message)
    make_fact(chat.space, text="something else")
    found = page(client, "facts", chat.pk)
    assert "Ana likes black tea" in found
    assert "I like my tea black" in found
    assert "something else" not in found


def test_the_list_names_what_was_said_last(client, chat):
    make_message(chat, text="the kettle is on", sent_at=timezone.now())
    make_chat(chat.space, channel="telegram", title="Garden")
    found = page(client, "index")
    assert "the kettle is on" in found
    assert "Garden" in found
    assert "Garden" not in page(client, "index", q="tea")
    assert "Nothing matches" in page(client, "index", q="zzz")


def test_viewers_read_and_do_not_talk(chat):
    guest = make_client(make_member(space=chat.space, role="viewer").user)
    found = page(guest, "detail", chat.pk)
    assert at("say", chat.pk) not in found
    assert guest.post(at("say", chat.pk), {"text": "hello"}).status_code == 403
    assert guest.post(at("revise", chat.pk), {"context": "x"}).status_code == 403


@pytest.mark.parametrize("act", ["begin", "say", "revise", "unlearn", "relearn"])
def test_a_look_does_nothing(client, chat, act):
    args = {"begin": [], "unlearn": [chat.pk, 1], "relearn": [chat.pk, 1]}.get(act, [chat.pk])
    assert client.get(at(act, *args)).status_code == 405


def cost(client, url) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(url).status_code == 200
    return len(found)


def test_the_list_costs_the_same_for_two_chats_and_for_forty(client, space):
    def grow(count):
        for _ in range(count):
            make_message(make_chat(space, channel="web"), handled_at=timezone.now())

    grow(2)
    before = cost(client, at("index"))
    grow(38)
    assert cost(client, at("index")) == before


def test_a_transcript_costs_the_same_however_much_was_said_and_learned(client, chat):
    def grow(count):
        for _ in range(count):
            asked = make_message(chat, handled_at=timezone.now(), ingested_at=timezone.now())
            make_message(chat, role="assistant", reply_to=asked)
            make_fact(chat.space, message=asked)

    grow(2)
    before = cost(client, at("detail", chat.pk))
    grow(30)
    assert cost(client, at("detail", chat.pk)) == before


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[x](javascript:alert(1))",
    "<a hx-get=/s/casa/ hx-trigger=load>x</a>",
    "{{ 7|add:7 }}{% csrf_token %}",
    "\u202egnp.exe",
]


@pytest.mark.parametrize("line", HOSTILE)
def test_what_people_and_models_write_is_inert(client, space, line):
    chat = make_chat(space, channel="web", title=line, context=line)
    asked = make_message(chat, text=line, author=line, sent_at=timezone.now())
    make_message(chat, text=line, role="assistant", author=line, reply_to=asked)
    make_fact(space, text=line, message=asked, subject=line)
    OutboxItem.objects.create(space=space, chat=chat, kind="notice", key="n", text=line)
    Draft.objects.create(chat=chat, text=line)
    for name in ("detail", "about", "facts"):
        found = page(client, name, chat.pk)
        assert "<script>alert" not in found
        assert "onerror=alert(1)>" not in found.replace("&gt;", "")
        assert 'href="javascript:' not in found
        assert "<a hx-get" not in found
        # A field to type in holds what it holds.
        if name != "about":
            assert "\u202e" not in found.partition("<main")[2]
    assert "<script>alert" not in page(client, "index")
