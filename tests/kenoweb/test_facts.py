"""The page of facts, by HTTP: the list, the panel, every act, and who may not."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from kenoweb.facts import listing
from memory import rulings
from memory.facts import service as facts
from memory.models import AuditEntry, Fact, Reminder, Ruling
from tests.factories import (
    make_chat,
    make_client,
    make_episode,
    make_fact,
    make_member,
    make_message,
    make_receipt,
    make_space,
    make_user,
)

pytestmark = pytest.mark.django_db
HTMX = {"hx-request": "true"}


@pytest.fixture
def owner():
    return make_member(space=make_space("casa"), user=make_user("ana"))


@pytest.fixture
def space(owner):
    return owner.space


@pytest.fixture
def client(owner):
    return make_client(owner.user, sudo=True)


@pytest.fixture
def fact(space):
    said = "The server listens on port 5678"
    return facts.remember(space, text=said, by="tag", subject="server", quote=said).row


def at(name, *args, **query) -> str:
    return reverse(f"facts:{name}", args=["casa", *args], query=query)


def page(client, name, *args, **query) -> str:
    answer = client.get(at(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def now(fact) -> Fact:
    return Fact.objects.get(pk=fact.pk)


def test_an_empty_space_says_what_belongs_here_and_how_to_begin(client):
    shown = page(client, "index")
    assert "Keno has not learned anything yet" in shown
    assert at("new") in shown
    assert 'class="sketch"' in shown


def test_a_row_names_whom_it_is_about_once_and_who_said_it(client, space):
    chat = make_chat(space)
    said = make_message(chat, "I live in Lima", author="Marta", author_id="7")
    given = {"by": "extraction", "message": said, "said_by": "Marta"}
    facts.remember(space, text="Marta lives in Lima", subject="Marta", **given)
    shown = page(client, "index")
    assert '<span class="vh">Marta</span> lives in Lima' in shown
    assert '<td class="src"><bdi>Marta</bdi></td>' in shown


def test_what_somebody_agreed_to_was_not_written_by_hand(client, space):
    facts.remember(space, text="Lessons are learned", by="person:ana", source="night")
    assert '<td class="src"><bdi>night</bdi></td>' in page(client, "index")


def test_a_filter_that_leaves_nothing_says_so(client, fact):
    nothing = page(client, "index", kind="lore")
    assert "No fact matches" in nothing
    assert 'class="sketch"' not in nothing
    assert "Nothing matches “zebra”" in page(client, "index", q="zebra")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "serv"}, True),
        ({"q": "LISTENING ports"}, True),
        ({"q": "listens zebra"}, False),
        ({"q": "the"}, True),
        ({"subject": "server"}, True),
        ({"subject": "serv"}, False),
        ({"kind": "fact"}, True),
        ({"kind": "lesson"}, False),
        ({"category": "other"}, True),
        ({"category": "profile"}, False),
        ({"source": "message"}, True),
        ({"source": "import"}, False),
        ({"sure": "high"}, True),
        ({"sure": "low"}, False),
        ({"since": "24h"}, True),
        ({"since": "older-90d"}, False),
        ({"unused": "never"}, True),
        ({"unused": "90d"}, True),
        ({"chat": "space"}, True),
        ({"chat": "999999"}, False),
        ({"status": "archived"}, False),
        ({"status": "any", "q": "port"}, True),
        ({"status": "any", "q": "zebra"}, False),
    ],
    ids=str,
)
def test_each_filter_keeps_and_leaves_out(client, fact, query, found):
    assert ('class="text"' in page(client, "index", **query)) == found


def test_words_are_found_without_accents_and_in_what_was_put_away(client, space):
    away = facts.remember(space, text="El código está en el cajón", by="tag").row
    assert "cajón" in page(client, "index", q="codigo")
    facts.forget(away, by="tag")
    assert "cajón" in page(client, "index", q="codigo", status="archived")
    assert "cajón" in page(client, "index", q="CODIG", status="any")
    assert "cajón" not in page(client, "index", q="codigo")


@pytest.mark.parametrize("signs", ["==", "%", "_", "\\", "日本"])
def test_what_is_not_in_words_is_found_and_counted_character_by_character(client, space, signs):
    for n in range(60):
        make_fact(space, f"Line {n} has {signs} in it")
    make_fact(space, "This line = 50 and has none of them: 日 本")
    found = page(client, "index", q=signs)
    assert found.count("data-row") == 50
    assert found.index("Line 59 has") < found.index("Line 10 has")
    assert "none of them" not in found
    assert ">60<" in found.split('id="fact-count"')[1][:80]


def test_a_word_is_counted_under_every_filter_however_often_it_was_said(client, space):
    for n in range(120):
        make_fact(space, f"The webhook {n} is slow", kind="lesson" if n % 2 else "fact")
    for query, count in (({}, 120), ({"kind": "lesson"}, 60), ({"status": "any"}, 120)):
        found = page(client, "index", q="webhook", **query)
        assert f">{count}<" in found.split('id="fact-count"')[1][:80]


def test_what_a_chip_says_can_be_taken_away(client, fact):
    shown = page(client, "index", q="port", kind="fact")
    assert f'href="{at("index", kind="fact")}"' in shown
    assert f'href="{at("index", q="port")}"' in shown


@pytest.mark.parametrize("sort", ["", "used", "new", "sure", "unsure", "subject"])
def test_parts_follow_each_other_in_every_order(client, space, sort):
    for n in range(60):
        make_fact(space, confidence=n % 7 / 10, subject=f"s{n % 4}")
    first = page(client, "index", sort=sort)
    more = first.split('class="more" hx-get="')[1].split('"')[0].replace("&amp;", "&")
    second = client.get(more).content.decode()
    rows = [set(part.split('id="fact-')[1:]) for part in (first, second)]
    ids = [{row.split('"')[0] for row in part if row[0].isdigit()} for part in rows]
    assert [len(part) for part in ids] == [50, 10]
    assert not ids[0] & ids[1]


def test_a_click_on_the_head_of_a_column_sorts_by_it_and_a_second_turns_it_round(client, space):
    make_fact(space, "Bo keeps bees", subject="Bo", confidence=0.9)
    make_fact(space, "Ana bakes", subject="Ana", confidence=0.4)
    page = client.get(at("index"))
    assert 'aria-sort="descending"' in page.content.decode()
    head = page.context["list"].heads["sure"]
    turned = client.get(head.url).context["list"]
    assert [fact.subject for fact in turned.rows] == ["Bo", "Ana"]
    assert turned.heads["sure"].direction == "descending"
    again = client.get(turned.heads["sure"].url).context["list"]
    assert [fact.subject for fact in again.rows] == ["Ana", "Bo"]
    by_name = client.get(page.context["list"].heads["subject"].url).context["list"]
    assert [fact.subject for fact in by_name.rows] == ["Ana", "Bo"]


def test_the_panel_shows_the_words_in_their_message(client, space):
    message = make_message(
        make_chat(space, title="Casa chat"), text="ojo: el puerto es 5678, no 80"
    )
    fact = make_fact(space, text="Port 5678", quote="el puerto es 5678", message=message)
    shown = page(client, "detail", fact.pk)
    assert "ojo: <mark>el puerto es 5678</mark>, no 80" in shown
    assert "Casa chat" in shown


def test_a_quote_that_is_not_in_its_message_is_shown_as_it_was_kept(client, space):
    message = make_message(make_chat(space), text="something else")
    fact = make_fact(space, quote="the words", message=message)
    assert "the words" in page(client, "detail", fact.pk)


def test_the_panel_tells_the_history_as_a_diff_with_undo(client, fact):
    client.post(at("revise", fact.pk), form_of(fact, text="The server listens on port 443"))
    shown = page(client, "detail", fact.pk)
    assert "You revised it" in shown
    assert "<del>5678</del>" in shown
    assert "<ins>443</ins>" in shown
    undo = shown.split("You revised it")[1].split('action="')[1].split('"')[0]
    client.post(undo)
    assert now(fact).text == "The server listens on port 5678"


def test_the_panel_tells_what_was_believed_when(client, fact):
    new = facts.supersede(fact, by="person:ana", text="The server listens on port 443").row
    shown = page(client, "detail", new.pk).split("What was believed when")[1]
    assert "port 443" in shown
    assert "port 5678" in shown


def test_a_plan_says_when_it_is_said_in_the_chat(client, space):
    plan = make_fact(space, text="Call Marta on Friday at 9")
    at = datetime(2027, 3, 12, 9, tzinfo=UTC)
    row = Reminder.objects.create(space=space, fact=plan, chat=make_chat(space), next_at=at)
    assert "Fri 12 Mar, 09:00" in page(client, "detail", plan.pk)
    Reminder.objects.filter(pk=row.pk).update(next_at=None)
    assert "<dt>Reminder</dt>" not in page(client, "detail", plan.pk)


def test_the_panel_tells_when_a_plan_happens_in_the_days_of_the_space(client, space):
    space.timezone = "America/Mexico_City"
    space.save()
    moment = datetime(2026, 3, 21, 2, tzinfo=UTC)
    plan = facts.remember(space, text="Ana flies to Oslo", by="tag", occurs_at=moment).row
    html = page(client, "detail", plan.pk)
    assert ("When" in html, "20 March 2026" in html) == (True, True)
    client.post(reverse("language"), {"language": "es"})
    html = page(client, "detail", plan.pk)
    assert ("Cuándo" in html, "20 de marzo de 2026" in html) == (True, True)


def test_the_panel_names_what_cannot_be_true_beside_it(client, space):
    one = facts.remember(space, text="Ana lives in Lima", by="tag", subject="Ana").row
    facts.remember(space, text="Ana lives in Madrid", by="tag", subject="Ana")
    shown = page(client, "detail", one.pk)
    assert "Cannot both be true" in shown
    assert "Ana lives in Madrid" in shown


def form_of(fact, **changes) -> dict:
    names = ("text", "subject", "kind", "category", "confidence")
    where = fact.chat_id or "space"
    return {name: getattr(fact, name) for name in names} | {"chat": where} | changes


def test_a_person_remembers_and_keno_says_where_it_is(client, space):
    sent = {"text": "Ana drinks tea", "subject": "Ana", "chat": "space", "kind": "fact"}
    answer = client.post(at("remember"), sent | {"category": "preference", "confidence": "0.9"})
    made = Fact.objects.get(space=space)
    assert answer.url == at("detail", made.pk)
    assert (made.text, made.source, made.sticky) == ("Ana drinks tea", "person", True)
    assert "Remembered “Ana drinks tea”." in page(client, "detail", made.pk)


def test_a_form_that_says_nothing_comes_back_with_the_reason(client, space):
    answer = client.post(at("remember"), {"text": " "})
    assert answer.status_code == 422
    assert not Fact.objects.exists()


def test_what_a_ruling_forbids_is_refused_in_words_and_not_lost(client, space):
    rulings.forbid(space, text="the code of the alarm", by="person:ana")
    sent = {"text": "the code of the alarm", "kind": "fact", "category": "other"}
    answer = client.post(at("remember"), sent | {"confidence": "1", "chat": "space"})
    assert answer.status_code == 422
    assert "A ruling says never to remember this" in answer.content.decode()
    assert "the code of the alarm</textarea>" in answer.content.decode()


def test_an_edit_is_sticky(client, fact):
    client.post(at("revise", fact.pk), form_of(fact, confidence="0.5", category="project"))
    after = now(fact)
    assert (after.confidence, after.category, after.sticky) == (0.5, "project", True)


def test_an_edit_with_htmx_lets_the_panel_and_the_list_fetch_themselves(client, fact):
    sent = form_of(fact, text="Another text")
    answer = client.post(at("revise", fact.pk), sent, headers=HTMX)
    assert answer["HX-Trigger"] == "memory-changed, rows-changed"
    assert answer["HX-Push-Url"] == at("detail", fact.pk)
    assert "Undo" in answer.content.decode()


@pytest.mark.parametrize("wrong", [{"text": ""}, {"confidence": "2"}, {"confidence": "x"}])
def test_a98_an_edit_that_does_not_fit_is_said_at_its_field(client, fact, wrong):
    answer = client.post(at("revise", fact.pk), form_of(fact, **wrong))
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == list(wrong)
    assert client.post(at("revise", 10**9), form_of(fact)).status_code == 404


def test_a98_an_edit_that_says_what_another_fact_says_is_refused(client, space, fact):
    other = facts.remember(space, text="The server is down", by="tag", subject="server").row
    answer = client.post(at("revise", fact.pk), form_of(fact, text=other.text))
    assert answer.status_code == 409
    assert "Another active fact says the same" in answer.content.decode()


ACTS = {
    "forget": ("active", "archived"),
    "discard": ("active", "trashed"),
    "deprecate": ("active", "archived"),
    "quarantine": ("active", "quarantined"),
    "never": ("active", "trashed"),
    "restore": ("archived", "active"),
    "release": ("quarantined", "active"),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("htmx", [True, False])
def test_an_act_is_done_said_and_undone(client, fact, act, htmx):
    before, after = ACTS[act]
    Fact.objects.filter(pk=fact.pk).update(status=before)
    answer = client.post(at(act, fact.pk), headers=HTMX if htmx else {})
    assert now(fact).status == after
    shown = answer.content.decode() if htmx else page(client, "index")
    assert (f'id="fact-{fact.pk}"' in shown) or not htmx
    undo = shown.split('class="toast ')[1].split('action="')[1].split('"')[0]
    client.post(undo)
    assert now(fact).status == before


def test_pin_and_unpin(client, fact):
    client.post(at("pin", fact.pk))
    assert now(fact).pinned
    client.post(at("unpin", fact.pk))
    assert not now(fact).pinned


def test_what_one_chat_knew_the_whole_space_may_know(client, space):
    fact = make_fact(space, chat=make_chat(space))
    client.post(at("promote", fact.pk))
    assert now(fact).chat is None


def test_never_again_makes_a_ruling_and_keep_makes_another(client, fact):
    client.post(at("keep", fact.pk))
    client.post(at("never", fact.pk))
    assert set(Ruling.objects.values_list("kind", flat=True)) == {"keep", "never_remember"}


def test_an_act_twice_says_that_it_was_so_already(client, fact):
    client.post(at("forget", fact.pk))
    client.post(at("forget", fact.pk))
    assert "Nothing to change: it is so already." in page(client, "index")


def test_restoring_what_was_said_again_meanwhile_is_refused_in_words(client, space, fact):
    facts.forget(fact, by="person:ana")
    make_fact(space, text=fact.text, subject=fact.subject)
    client.post(at("restore", fact.pk))
    assert "Another active fact says the same" in page(client, "index")


def test_an_act_of_the_panel_lets_all_that_shows_it_fetch_itself(client, fact):
    answer = client.post(at("forget", fact.pk), {"from": "panel"}, headers=HTMX)
    assert answer["HX-Trigger"] == "memory-changed, rows-changed"
    assert "<tr" not in answer.content.decode()


def test_erasing_shows_what_goes_and_asks_for_the_word(client, fact):
    assert "with what was forgotten, discarded or archived of it" in page(client, "purge", fact.pk)
    assert Fact.objects.filter(pk=fact.pk).exists()
    client.post(at("purge", fact.pk), {"typed": "yes"})
    assert "Type the word" in page(client, "detail", fact.pk)
    assert client.post(at("purge", fact.pk), {"typed": "erase"}).url == at("index")
    assert not Fact.objects.filter(pk=fact.pk).exists()
    assert AuditEntry.objects.filter(action="fact.purged").exists()


def test_copied_as_markdown(client, fact):
    answer = client.get(at("markdown", fact.pk))
    assert answer["Content-Type"].startswith("text/markdown")
    assert "> The server listens on port 5678" in answer.content.decode()
    assert client.get(at("markdown_list")).content.decode() == f"- server: {fact.text}\n"


@pytest.mark.parametrize("act", [*ACTS, "pin", "unpin", "promote", "keep", "revise"])
def test_a_look_does_nothing(client, fact, act):
    assert client.get(at(act, fact.pk)).status_code == 405


def test_a_viewer_sees_no_way_to_change_anything(space, fact):
    viewer = make_client(make_member(space=space, role="viewer").user)
    for shown in (page(viewer, "index"), page(viewer, "detail", fact.pk, edit="1")):
        main = shown.split("<main")[1].split("</main>")[0]
        assert fact.text in main
        assert "<form" not in main.replace('<form class="filters"', "")


def test_what_was_believed_on_a_day_is_shown_and_cannot_be_changed(client, space):
    long_ago = timezone.now() - timedelta(days=40)
    fact = facts.remember(space, text="Port 80", by="tag", subject="server").row
    backdate(fact, long_ago)
    facts.revise(fact, by="person:ana", text="Port 443")
    day = (long_ago + timedelta(days=3)).date().isoformat()
    shown = page(client, "index", as_of=day)
    assert "Port 80" in shown
    assert "Port 443" not in shown
    assert "nothing can be changed here" in shown
    assert at("forget", fact.pk) not in shown
    assert "Port 80" in page(client, "index", as_of=day, q="port")
    then = page(client, "detail", fact.pk, as_of=day)
    assert "<del>80</del><ins>443</ins>" in then
    before = (long_ago - timedelta(days=3)).date().isoformat()
    assert "Nothing was believed on" in page(client, "index", as_of=before)
    assert client.get(at("detail", fact.pk, as_of=before)).status_code == 404


def backdate(fact, when):
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_factevent SET pgh_created_at = %s WHERE pgh_obj_id = %s", [when, fact.pk]
        )


def cost(client, url) -> int:
    with CaptureQueriesContext(connection) as found:
        assert client.get(url).status_code == 200
    return len(found)


def test_list_and_panel_cost_the_same_for_100_and_for_1_000(client, space, fact):
    def many(n):
        Fact.objects.bulk_create(
            Fact(space=space, text=f"bulk {n} {i}", said_key=f"{n}-{i}", subject=f"s{i % 9}")
            for i in range(n)
        )
        urls = [at("index"), at("index", q="bulk"), at("detail", fact.pk), at("index", sort="sure")]
        return [cost(client, url) for url in urls]

    many(1)  # what is looked up once per process is known now
    few = many(99)
    assert many(900) == few
    assert max(few) <= 25


def test_two_who_edit_the_same_fact_get_a_choice(client, fact):
    opened = form_of(fact, text="The server listens on port 443") | {"was": fact.text}
    facts.revise(fact, by="person:bo", text="The server listens on port 80")
    answer = client.post(at("revise", fact.pk), opened)
    assert answer.status_code == 422
    shown = answer.content.decode()
    assert "Meanwhile it was changed to “The server listens on port 80”" in shown
    assert now(fact).text.endswith("80")
    again = opened | {"was": now(fact).text}
    assert 'name="was" value="The server listens on port 80"' in shown
    client.post(at("revise", fact.pk), again)
    assert now(fact).text.endswith("443")


def test_a_fact_that_is_973_thousandths_sure_can_be_edited(client, space):
    """A browser sends no form with a number that its field does not take."""
    fact = facts.remember(space, text="Bo likes tea", by="extraction", confidence=0.973).row
    field = re.search(
        r'<input type="number" name="confidence"[^>]*>', page(client, "detail", fact.pk, edit=1)
    )
    assert 'step="any"' in field[0]


def test_a_lesson_names_who_told_it(client, space, fact):
    """What was approved of a night quotes an episode, not a message."""
    told = make_message(make_chat(space), fact.quote, episode=make_episode(space), author="Wanda")
    evidence = [{"episode": told.episode_id, "quote": fact.quote}]
    Fact.objects.filter(pk=fact.pk).update(kind="lesson", evidence=evidence)
    page = client.get(at("detail", fact.pk)).content.decode()
    words = page.partition("In their words")[2].partition("Where it comes from")[0]
    assert words.count(fact.quote) == 1
    assert "Wanda" in words


def test_one_reply_is_one_reply(client, space, fact):
    make_receipt(space, fact=fact, reply=make_message(make_chat(space), role="assistant"))
    page = client.get(at("detail", fact.pk)).content.decode()
    assert "used in one reply" in page
    assert "1 replies" not in page


def test_what_is_only_near_is_counted_as_near(client, space, fact, monkeypatch):
    monkeypatch.setattr(listing, "near_words", lambda *__, **_given: {fact.pk: 0.9})
    page = client.get(at("index", q="zebra")).content.decode()
    head = page.partition('id="fact-count"')[2].partition("</span></span>")[0][:200]
    assert "near in meaning" in head
    assert "found" not in head
