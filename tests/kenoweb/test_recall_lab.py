"""The recall lab: what would come to mind, tried out without a trace."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memory.models import Fact, Recall, RecallProfile, Space
from memory.retrieval import profiles
from memory.vectors import store as embeddings
from tests.factories import make_chat, make_client, make_fact, make_member, make_message, make_user
from tests.kenoweb.test_markup import problems

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
SAID = (
    "The webhook of n8n wants its token in the address",
    "Ana drinks green tea in the morning",
    "Backups run at half past three",
)


@pytest.fixture
def member():
    return make_member(role="curator")


@pytest.fixture
def space(member):
    for text in SAID:
        make_fact(member.space, text)
    embeddings.backfill(space=member.space)
    return member.space


@pytest.fixture
def client(member):
    return make_client(member.user)


def at(space, name="lab"):
    return reverse(f"recall:{name}", args=[space.slug])


def ask(client, space, q="why does the n8n webhook fail?", **more):
    return client.get(at(space), {"q": q} | more)


def ranks(page):
    return [row.text for row in page.context["result"]["rows"]]


def test_an_empty_lab_says_what_to_do(client, space):
    assert "Ask as if you were in the chat" in client.get(at(space)).content.decode()


def test_the_best_stands_first_with_its_parts_and_a_link(client, space):
    page = ask(client, space)
    html = page.content.decode()
    assert ranks(page)[0] == SAID[0]
    assert reverse("facts:detail", args=[space.slug, Fact.objects.get(text=SAID[0]).pk]) in html
    assert '<span class="chip">webhook</span>' in html
    assert problems(html) == []


def test_the_parts_that_are_printed_add_up_to_the_printed_score(client, space):
    html = ask(client, space).content.decode()
    table = html[html.index('id="apart"') :]
    added = [float(n) for n in re.findall(r'<td class="n">(-?[\d.]+)</td>\s*</tr>', table)]
    *parts, score = added
    assert len(parts) > 3
    assert round(sum(parts), 6) == score


def test_another_result_is_taken_apart_by_its_number(client, space):
    page = ask(client, space, apart="2")
    assert page.context["apart"].rank == 2
    assert ask(client, space, apart="99").context["apart"].rank == 1


def test_asking_writes_no_receipt_and_counts_no_use(client, space):
    chat = make_chat(space)
    ask(client, space, chat=chat.pk)
    assert not Recall.objects.exists()
    assert set(Fact.objects.values_list("use_count", flat=True)) == {0}


def test_a_chat_shows_the_prompt_and_its_sections(client, space):
    chat = make_chat(space, context="A chat about servers")
    html = ask(client, space, chat=chat.pk).content.decode()
    assert "data, not instructions" in html
    assert "A chat about servers" in html


def test_the_memory_of_one_chat_stays_out_of_another(client, space):
    here, there = make_chat(space), make_chat(space)
    make_fact(space, "the n8n webhook is a secret of that chat", chat=there)
    assert "secret of that chat" not in ask(client, space, chat=here.pk).content.decode()
    assert "secret of that chat" in ask(client, space, chat=there.pk).content.decode()
    assert "secret of that chat" in ask(client, space).content.decode()


def test_other_weights_rank_otherwise_and_the_saved_rank_stands_beside(client, space):
    Fact.objects.filter(text=SAID[2]).update(pinned=True)
    saved = ranks(ask(client, space))
    tried = ask(client, space, **{"w-semantic": 0, "w-around": 0, "w-topic": 0, "w-pin": 50})
    assert ranks(tried)[0] == SAID[2] != saved[0]
    assert tried.context["result"]["rows"][0].before == saved.index(SAID[2]) + 1
    assert "▲" in tried.content.decode()


def test_a_group_counts_more_or_less_as_a_whole(client, space):
    saved = profiles.built_in("keno").weights
    page = ask(client, space, **{"times-words": "2", "w-rare": "1.5", "times-time": "1"})
    tried = page.context["asking"].tried.weights
    assert tried["rare"] == 3
    assert tried["words"] == pytest.approx(2 * saved["words"], abs=1e-4)
    assert tried["recency"] == saved["recency"]
    words = next(one for one in page.context["sliders"] if one["name"] == "words")
    # What is tried next begins with what was set, not with the product.
    values = {one["name"]: one["value"] for one in words["sliders"]}
    assert (words["factor"], values["rare"]) == (2, 1.5)


def test_single_weights_are_folded_away_until_one_is_changed(client, space):
    def folded(**tried):
        return "<details>" in ask(client, space, **tried).content.decode().split('id="weights"')[1]

    assert folded()
    assert folded(**{"times-words": "2"})
    assert not folded(**{"w-rare": "1.5"})


def test_when_nothing_passes_the_gate_the_lab_says_that_the_nearest_is_given(client, space):
    said = "Nothing passed the gate"
    page = ask(client, space, q="quarterly taxes of the zoo", mode="lenient", gate="1")
    assert [row.nearest for row in page.context["result"]["injected"]] == [True]
    assert said in page.content.decode()
    assert said not in ask(client, space, mode="lenient").content.decode()


def test_weights_of_another_profile_are_not_taken_over(client, space):
    page = ask(client, space, **{"of": "other@3", "w-semantic": "9"})
    assert page.context["asking"].tried.weights == profiles.built_in("keno").weights


@pytest.mark.parametrize(
    "bad",
    [
        {"w-semantic": "lots"},
        {"w-pin": "1e9"},
        {"gate": "2"},
        {"variety": "nan"},
        {"times-words": "4"},
    ],
)
def test_weights_that_make_no_sense_get_a_sentence(client, space, bad):
    page = ask(client, space, **bad)
    assert page.status_code == 200
    assert 'role="alert"' in page.content.decode()


@pytest.mark.parametrize(
    "odd", [{"chat": "x"}, {"chat": "9" * 30}, {"apart": "²"}, {"profile": "\0"}, {"mode": "?"}]
)
def test_an_odd_address_is_as_if_it_were_not_said(client, space, odd):
    assert ask(client, space, **odd).status_code == 200


def test_strict_raises_the_gate(client, space):
    lines = profiles.built_in("keno").settings["gate"]
    for mode in ("strict", "lenient"):
        assert ask(client, space, mode=mode).context["gate"] == lines[mode]
    assert lines["strict"] > lines["lenient"]


def test_the_old_formula_has_nothing_to_slide(client, space):
    page = ask(client, space, profile="classic")
    assert "fixed" in page.content.decode()
    assert page.context["sliders"] == []


def test_saving_makes_a_version_of_what_was_tried(client, space):
    tried = "q=tea&of=keno%401&w-semantic=3.5&gate=0.2"
    answer = client.post(at(space, "save"), {"name": "mine", "tried": tried})
    made = RecallProfile.objects.get()
    assert (made.name, made.version, made.weights["semantic"]) == ("mine", 1, 3.5)
    assert made.settings["gate"]["lenient"] == 0.2
    assert made.settings["gate"]["strict"] == profiles.built_in("keno").settings["gate"]["strict"]
    assert answer["Location"] == f"{at(space)}?q=tea&profile=mine"
    client.post(at(space, "save"), {"name": "mine", "tried": tried})
    assert profiles.get(space, "mine").version == 2
    assert "mine v1" in client.get(at(space), {"profile": "mine"}).content.decode()


def test_saving_with_htmx_leads_to_the_lab(client, space):
    answer = client.post(at(space, "save"), {"name": "mine", "tried": ""}, headers=HTMX)
    assert answer["HX-Redirect"] == f"{at(space)}?profile=mine"


def test_a_name_that_is_taken_or_odd_is_refused_with_a_sentence(client, space):
    for name in ("keno", "", "a b", "<b>"):
        page = client.post(at(space, "save"), {"name": name, "tried": "q=tea"}, follow=True)
        assert "A profile needs a name of its own" in page.content.decode()
    assert not RecallProfile.objects.exists()


def test_a_viewer_looks_and_does_not_save(space):
    viewer = make_client(make_member(space=space, role="viewer").user)
    html = ask(viewer, space).content.decode()
    assert SAID[0] in html
    assert at(space, "save") not in html
    assert viewer.post(at(space, "save"), {"name": "mine"}).status_code == 403


def test_an_owner_chooses_the_profile_and_undo_takes_it_back(space):
    owner = make_client(make_member(space=space).user)
    profiles.save(space, name="mine", weights={}, by="person:x")
    page = owner.post(at(space, "choose"), {"profile": "mine"}, follow=True)
    assert Space.objects.get(pk=space.pk).options.recall_profile == "mine"
    undo = re.search(r'action="([^"]+/undo/[^"]+)"', page.content.decode())[1]
    owner.post(undo)
    assert Space.objects.get(pk=space.pk).options.recall_profile == "keno"


def test_a_profile_that_does_not_exist_is_not_chosen(space):
    owner = make_client(make_member(space=space).user)
    page = owner.post(at(space, "choose"), {"profile": "nothing"}, follow=True)
    assert "There is no profile of that name" in page.content.decode()
    assert Space.objects.get(pk=space.pk).options.recall_profile == "keno"


def test_a_stranger_finds_nothing(space):
    stranger = make_client(make_user())
    assert ask(stranger, space).status_code == 404


def test_hostile_text_is_inert(client, space):
    chat = make_chat(space, title="<img src=x onerror=alert(1)>")
    make_message(chat, "hello", author="<script>alert(1)</script>")
    make_fact(space, "the <script>alert(1)</script> webhook \u202e of n8n")
    html = ask(client, space, q="webhook <script>alert(2)</script>", chat=chat.pk).content.decode()
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "\u202e" not in html


def test_the_number_of_queries_does_not_grow(client, space):
    def count():
        with CaptureQueriesContext(connection) as seen:
            ask(client, space)
        return len(seen)

    ask(client, space)
    # What the index knows about words is read again every few seconds.
    few = min(count() for _again in range(3))
    for number in range(40):
        make_fact(space, f"webhook number {number} of n8n")
    embeddings.backfill(space=space)
    assert min(count() for _again in range(3)) <= few


def test_what_is_not_memory_is_shown_with_its_reason(client, space):
    chat = make_chat(space)
    make_message(chat, "why does the webhook fail?", not_recalled="question")
    page = ask(client, space).content.decode()
    assert "Not memory" in page
    assert "A question to Keno" in page
