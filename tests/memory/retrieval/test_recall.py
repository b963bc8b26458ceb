"""Recall finds what matters, in two languages, and nothing that is not for this chat."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest

from memory.facts import service as facts
from memory.models import Embedding, Episode, Fact, Recall, Unit
from memory.retrieval import features, lanes, ranking, receipts, understand
from memory.retrieval.recall import recall
from memory.retrieval.understand import Question
from memory.text import normalise as words
from memory.vectors import embed
from memory.vectors import store as embeddings
from tests.factories import (
    make_chat,
    make_episode,
    make_fact,
    make_message,
    make_pattern,
    make_space,
)

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_known():
    embeddings._cache.clear()
    yield
    embeddings._cache.clear()


@pytest.fixture
def space():
    return make_space()


@pytest.fixture
def words_only(settings):
    settings.EMBEDDING_ENABLED = False


def texts(result) -> list[str]:
    return [one.unit.text for one in result.items]


def broken(*args, **kwargs):
    raise RuntimeError("disk error")


def test_n6_what_was_said_in_one_turn_is_recalled_in_the_next(space):
    facts.remember(space, text="Ana's sister lives in Seville", by="tag", subject="Ana", now=NOW)
    result = recall(space, "Where does my sister live?", person="Ana", now=NOW)
    assert texts(result) == ["Ana's sister lives in Seville"]
    assert result.level in {"medium", "high"}


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Ana's sister lives in Seville.", "¿Dónde vive la hermana de Ana?"),
        ("La hermana de Ana vive en Sevilla.", "Where does Ana's sister live?"),
        ("Prefiere el café sin azúcar.", "how does she take her coffee"),
    ],
)
def test_a_question_finds_the_other_language(space, fact, question):
    for text in (
        fact,
        "The build failed on Friday.",
        "El coche está en el taller.",
        "Likes chess.",
    ):
        make_fact(space, text=text)
    embeddings.backfill()
    assert texts(recall(space, question, now=NOW))[0] == fact


def test_42_by_words_alone_the_right_fact_comes_first(space, words_only):
    make_fact(space, text="User likes pizza and pasta")
    make_fact(space, text="User uses Node.js")
    result = recall(space, "tell me about pizza", now=NOW)
    assert texts(result)[0] == "User likes pizza and pasta"
    assert result.mode == "words"


def test_43_a_failing_store_recalls_nothing_and_says_why(space, monkeypatch, caplog):
    make_fact(space, text="likes pizza")
    monkeypatch.setattr(lanes, "collect", broken)
    result = recall(space, "pizza", now=NOW)
    assert (result.items, result.level) == ([], "none")
    assert "disk error" in result.error
    assert "disk error" in result.receipt.error


def test_44_no_vectors_leave_what_words_find(space, monkeypatch):
    make_fact(space, text="likes pizza")
    monkeypatch.setattr(embed, "embed_query", lambda text, by=None: fail(text))

    def fail(text):
        raise embed.EmbeddingFailed("no network")

    result = recall(space, "pizza", now=NOW)
    assert texts(result) == ["likes pizza"]
    assert result.mode == "words"
    assert "no network" in result.receipt.error


def test_44_a_chats_episodes_stay_in_it(space):
    mine, other = make_chat(space), make_chat(space)
    make_episode(space, chat=other, title="Trip", body="They went to Cuenca by train")
    assert texts(recall(space, "the train to Cuenca", chat=mine, now=NOW)) == []
    assert len(recall(space, "the train to Cuenca", chat=other, now=NOW).items) == 1


@pytest.mark.parametrize("profile", ["classic", "keno"])
def test_92_strict_finds_nothing_lenient_the_best_there_is(space, profile):
    make_fact(space, text="User likes long walks.", subject="")
    strict = recall(space, "database replication", profile=profile, strict=True, now=NOW)
    assert strict.items == []
    assert strict.level == "none"
    lenient = recall(space, "database replication", profile=profile, strict=False, now=NOW)
    assert texts(lenient) == ["User likes long walks."]
    assert lenient.level == "low"


def test_a_good_answer_does_not_bring_the_whole_space_along(space):
    for said in ("Lima", "Quito", "Leeds", "Porto", "York", "Turin", "Ghent", "Basel"):
        make_fact(space, text=f"The office in {said} closes at six", subject="")
    make_fact(space, text="Bo drinks green tea with honey", subject="Bo")
    result = recall(space, "What tea does Bo drink?", now=NOW)
    assert texts(result) == ["Bo drinks green tea with honey"]
    assert {one.cut for one in result.cut} == {"gate"}


def test_95_the_same_fact_in_two_spaces_is_seen_once_in_each(space):
    other = make_space()
    for place in (space, other):
        make_fact(place, text="Likes green tea")
    for place in (space, other):
        (only,) = recall(place, "green tea", now=NOW).items
        assert Fact.objects.get(pk=only.unit.owner_id).space == place


@pytest.mark.parametrize("status", ["archived", "superseded", "quarantined", "trashed"])
def test_what_was_put_away_is_not_recalled(space, status):
    fact = make_fact(space, text="likes figs")
    embeddings.backfill()
    Fact.objects.filter(pk=fact.pk).update(status=status)
    assert texts(recall(space, "figs", now=NOW)) == []


def test_n13_a_discarded_episode_is_not_recalled(space):
    episode = make_episode(space, body="We bought figs at the market")
    embeddings.backfill()
    Episode.objects.filter(pk=episode.pk).update(status="discarded")
    assert texts(recall(space, "figs at the market", now=NOW)) == []


def test_a_fact_that_is_over_is_not_recalled(space):
    make_fact(space, text="lives in Rome", valid_to=NOW - timedelta(days=1))
    make_fact(space, text="lives in Bonn", valid_from=NOW - timedelta(days=1))
    make_fact(space, text="lives in Oslo", valid_from=NOW + timedelta(days=1))
    assert texts(recall(space, "where does she live", now=NOW)) == ["lives in Bonn"]


def test_n8_yesterday_means_the_episodes_of_the_local_day_before(space):
    space.timezone = "America/Mexico_City"
    space.save()
    for title, hours in (("two days ago", 44), ("yesterday", 20), ("today", 1)):
        at = NOW - timedelta(hours=hours)
        make_episode(space, title=title, body="we baked bread", started_at=at, ended_at=at)
    result = recall(space, "what bread did we bake yesterday?", now=NOW)
    assert [one.unit.text.split("\n")[0] for one in result.items] == ["yesterday"]
    assert result.receipt.cue["phrase"] == "yesterday"


def test_a_time_that_is_still_to_come_leaves_no_episode_out(space):
    at = NOW - timedelta(days=3)
    make_episode(space, title="Sunday", body="we bake bread together", started_at=at, ended_at=at)
    result = recall(space, "what bread will we bake next week?", now=NOW)
    assert [item.unit.text.split("\n")[0] for item in result.items] == ["Sunday"]


def test_n8_last_week_means_the_last_seven_days_and_needs_no_shared_word(space):
    for days in (3, 9):
        at = NOW - timedelta(days=days)
        make_episode(space, title=f"{days} days", body="the boat trip", started_at=at, ended_at=at)
    found = recall(space, "¿qué pasó la semana pasada?", now=NOW).items
    assert [one.unit.text.split("\n")[0] for one in found] == ["3 days"]


def test_n8_without_a_cue_at_most_three_episodes(space):
    for i in range(6):
        make_episode(space, title=f"Bread {i}", body=f"we baked bread number {i} with honey")
    result = recall(space, "baking bread", now=NOW)
    assert len(result.items) == 3
    assert {one.cut for one in result.cut} == {"limit"}


def test_the_parts_add_up_to_the_score_exactly(space):
    chat = make_chat(space)
    for i in range(5):
        make_fact(space, text=f"Ana has {i} cats and a bread oven", confidence=0.1 * i)
        make_message(chat, text=f"I baked {i} loaves of bread?", author="Ana", sent_at=NOW)
    for profile in ("keno", "classic"):
        recall(space, "How many cats does Ana have?", chat=chat, profile=profile, now=NOW)
    items = [item for receipt in Recall.objects.all() for item in receipts.items_of(receipt)]
    assert len(items) > 10
    for item in items:
        assert sum(Decimal(str(part[3])) for part in item.parts) == Decimal(str(item.score))
        for _name, value, weight, points in item.parts:
            assert points == pytest.approx(value * weight, abs=1e-6)


def test_what_was_cut_is_one_value_and_older_receipts_have_a_row_for_each(space):
    facts = [make_fact(space, text=f"Ana bakes bread number {n}") for n in range(5)]
    receipt = recall(space, "what bread does Ana bake", limit=2, now=NOW).receipt
    assert receipt.items.count() == 2
    receipt.refresh_from_db()
    kept = receipts.items_of(receipt)
    assert [item.rank for item in kept] == [1, 2, 3, 4, 5]
    assert {item.fact for item in kept} == set(facts)
    assert [item.cut for item in kept] == ["", "", "limit", "limit", "limit"]
    kept[2].save()
    receipt.left_out = {}
    assert [item.fact for item in receipts.items_of(receipt)] == [item.fact for item in kept[:3]]


def test_of_what_was_purged_no_receipt_tells(space):
    for n in range(3):
        make_fact(space, text=f"Ana bakes bread number {n}")
    receipt = recall(space, "what bread does Ana bake", limit=1, now=NOW).receipt
    cut = receipts.items_of(receipt)[-1].fact
    cut.delete()
    assert cut.text not in [item["text"] for item in receipts.explain(receipt)["cut"]]
    assert len(receipts.items_of(receipt)) == 2


def test_the_receipt_says_what_was_injected_what_was_cut_and_why(space):
    make_fact(space, text="Ana bakes bread every Sunday")
    make_fact(space, text="Ana bakes bread every sunday!", said_key="x")
    make_fact(space, text="Ana bakes a hundred loaves of rye bread " * 20)
    result = recall(space, "what bread does Ana bake", budget=60, now=NOW)
    said = receipts.explain(result.receipt)
    assert [item["text"] for item in said["injected"]] == texts(result)
    assert sorted(item["cut"] for item in said["cut"]) == ["budget", "same"]
    assert said["tokens"] == result.tokens <= 60
    assert said["keywords"] == ["bread", "ana", "bake"]
    assert said["names"] == ["ana"]
    assert {"understand", "embed", "lanes", "rank", "total"} <= set(said["ms"])


def test_a_receipt_leads_both_ways(space):
    chat = make_chat(space)
    fact = make_fact(space, text="Ana bakes bread")
    result = recall(space, "who bakes bread", chat=chat, now=NOW)
    reply = make_message(chat, role="assistant", text="Ana does")
    receipts.attach(result.receipt, reply=reply, sections={"memory": 10})
    assert receipts.of_reply(reply) == result.receipt == receipts.last(chat)
    assert [row.reply for row in Recall.objects.filter(items__fact=fact, items__injected=True)] == [
        reply
    ]
    assert not Recall.objects.filter(items__fact=make_fact(space)).exists()


def test_without_saving_nothing_is_written(space):
    make_fact(space, text="bread")
    result = recall(space, "bread", save=False, now=NOW)
    assert result.receipt is None
    assert not Recall.objects.exists()


def test_a_receipt_that_cannot_be_written_does_not_cost_the_answer(space, monkeypatch):
    make_fact(space, text="likes bread")
    monkeypatch.setattr(receipts, "write", broken)
    result = recall(space, "bread", now=NOW)
    assert texts(result) == ["likes bread"]
    assert result.receipt is None


def test_a_query_embeds_at_most_eight_missing_vectors(space):
    for i in range(12):
        make_fact(space, text=f"Ana planted {i} rows of beans")
    recall(space, "beans", now=NOW)
    assert Embedding.objects.count() == 8
    recall(space, "beans", now=NOW)
    assert Embedding.objects.count() == 12


def test_t23_a_fact_whose_vectors_are_bad_is_found_by_words(space, monkeypatch):
    make_fact(space, text="Ana planted beans")
    monkeypatch.setattr(embeddings, "put", lambda ids, by=None: 0)
    assert texts(recall(space, "beans", now=NOW)) == ["Ana planted beans"]


def test_messages_of_the_prompt_are_not_recalled_again(space):
    chat = make_chat(space)
    seen = make_message(chat, text="the beans are planted", sent_at=NOW)
    older = make_message(chat, text="beans need water", sent_at=NOW - timedelta(days=3))
    found = recall(space, "beans", chat=chat, seen=[seen.pk], now=NOW).items
    assert [one.unit.owner_id for one in found] == [older.pk]


def test_a_turn_is_found_by_the_talk_around_it(space):
    chat = make_chat(space)
    episode = make_episode(space, chat=chat, title="", body="")
    for i, said in enumerate(
        ["Which instrument do you play?", "The cello, since I was six", "Lovely weather", "Bye"]
    ):
        make_message(
            chat, text=said, author="Bo", episode=episode, sent_at=NOW - timedelta(hours=5 - i)
        )
    other = make_episode(space, chat=chat, title="", body="")
    for said in ("Since I was six I swim", "The sea was warm"):
        make_message(chat, text=said, author="Bo", episode=other, sent_at=NOW - timedelta(days=9))
    embeddings.backfill()
    found = texts(recall(space, "Which instrument does Bo play?", chat=chat, now=NOW))
    assert "The cello, since I was six" in found[:2]
    assert "Since I was six I swim" not in found[:2]


def test_names_are_matched_to_who_speaks(space):
    chat = make_chat(space)
    for author, said in (("Ana", "I love the opera"), ("Bo", "I love the opera too")):
        make_message(chat, text=said, author=author, sent_at=NOW)
    assert (
        texts(recall(space, "Does Bo love opera?", chat=chat, now=NOW))[0] == "I love the opera too"
    )
    assert texts(recall(space, "Does ana love opera?", chat=chat, now=NOW))[0] == "I love the opera"
    mine = recall(space, "what music do I love?", chat=chat, person="Bo", now=NOW)
    assert texts(mine)[0] == "I love the opera too"


def test_habits_that_share_a_word_come_along(space):
    chat = make_chat(space)
    pattern = make_pattern(space, trigger="n8n + 401", response="Check the key")
    make_pattern(space, trigger="bicycle")
    make_pattern(space, trigger="n8n", chat=make_chat(space))
    make_pattern(space, trigger="n8n", status="archived")
    make_pattern(trigger="n8n")
    habits = recall(space, "Me da un 401 en n8n", chat=chat, now=NOW).habits
    assert [habit.id for habit in habits] == [pattern.pk]


def test_a_pinned_fact_is_always_offered(space):
    make_fact(space, text="Answer in metric units", pinned=True, subject="")
    for i in range(4):
        make_fact(space, text=f"Ana planted {i} rows of beans")
    assert "Answer in metric units" in texts(recall(space, "beans planted by Ana", now=NOW))


def test_another_spaces_chat_is_refused(space):
    result = recall(space, "beans", chat=make_chat(), now=NOW)
    assert result.items == []
    assert "another space" in result.error


def test_everywhere_is_every_chat_of_the_space_and_no_other(space):
    for chat in (make_chat(space), make_chat(space), None):
        make_fact(space, chat=chat, text=f"beans in {chat}", said_key=str(chat))
    make_fact(text="beans of others")
    embeddings.backfill()
    assert len(recall(space, "beans", everywhere=True, now=NOW).items) == 3


@pytest.mark.parametrize(
    "text", ["", " ", "a", "\x00", "' OR 1=1 --", "%s %(now)s {dims}", "🙂" * 500, "?" * 5000]
)
def test_t24_no_question_breaks_it(space, text):
    make_fact(space, text="beans")
    assert recall(space, text, now=NOW).error == ""


def test_a_large_scope_is_searched_by_the_index(space, monkeypatch):
    for i in range(30):
        make_fact(space, text=f"plant number {i}: {'rose' if i == 7 else 'fern'}")
    embeddings.backfill()
    exact = texts(recall(space, "a rose", now=NOW))
    monkeypatch.setitem(lanes.LIMITS, "exact_to", 5)
    assert texts(recall(space, "a rose", now=NOW))[0] == exact[0]
    result = recall(space, "a rose", now=NOW)
    assert any("meaning" in one.unit.lanes for one in result.items)


def test_an_empty_space_recalls_nothing_calmly(space):
    result = recall(space, "anything at all?", now=NOW)
    assert (result.items, result.level, result.error) == ([], "none", "")
    assert not Unit.objects.filter(space=space).exists()


def test_what_was_said_right_after_the_best_turn_comes_along(space):
    chat = make_chat(space)
    episode = make_episode(space, chat=chat, title="", body="")
    talk = ["Do you have any pets?", "Hm, let me think", "Yes: Luna and Oliver", "So cute"]
    for i, said in enumerate([*talk, *(f"remark {n} about the weather" for n in range(4))]):
        at = NOW - timedelta(days=9, minutes=-i)
        make_message(chat, text=said, author="Bo", episode=episode, sent_at=at)
    for n in range(12):
        make_message(chat, text=f"small talk {n}", author="Bo", sent_at=NOW - timedelta(days=1))
    found = recall(space, "any pets", chat=chat, now=NOW, save=False, limit=50)
    seen = {one.unit.text: one.unit.lanes for one in [*found.items, *found.cut]}
    assert "words" in seen["Do you have any pets?"]
    assert "talk" in seen["Yes: Luna and Oliver"]
    assert "So cute" not in seen


def test_a_newer_value_comes_before_the_older_one_and_the_receipt_adds_up(space):
    old, new = NOW - timedelta(days=400), NOW - timedelta(days=2)
    make_fact(space, text="Ana lives in Porto", subject="Ana", created_at=new)
    make_fact(space, text="Ana lives in Lisbon", subject="Ana", created_at=old)
    make_fact(space, text="Ana plays the cello", subject="Ana", created_at=old)
    found = recall(space, "Where does Ana live?", now=NOW)
    both = sorted((*found.items, *found.cut), key=lambda item: -item.score)
    assert [item.unit.text for item in both][:2] == ["Ana lives in Porto", "Ana lives in Lisbon"]
    for item in both:
        assert item.score == pytest.approx(sum(part.points for part in item.parts), abs=1e-5)


def test_a_question_that_names_the_older_value_gets_it_first(space):
    make_fact(space, text="Ana likes green tea", subject="Ana", created_at=NOW - timedelta(days=90))
    make_fact(space, text="Ana likes black coffee", subject="Ana", created_at=NOW)
    found = recall(space, "Does Ana like green tea?", now=NOW)
    assert found.items[0].unit.text == "Ana likes green tea"


def test_a_typed_error_still_finds_the_word(space):
    make_fact(space, text="The backup runs on Kubernetes", subject="")
    for said in ("The office closes at six", "Bo drinks tea", "The bus is late", "It rained"):
        make_fact(space, text=said, subject="")
    assert texts(recall(space, "kuberntes?", now=NOW)) == ["The backup runs on Kubernetes"]


def test_nothing_likely_brings_nothing_even_beside_a_pin(space):
    make_fact(space, text="The office closes at six", subject="", pinned=True)
    for said in ("Bo drinks tea", "The bus is late", "Rosa keeps bees", "It rained in Lima"):
        make_fact(space, text=said, subject="")
    found = recall(space, "database replication lag", now=NOW)
    assert texts(found) == ["The office closes at six"]


def test_one_talk_does_not_fill_the_list():
    units = [SimpleNamespace(kind="message", episode_id=n) for n in (1, 1, 2, 1)]
    assert ranking.crowding(units, [0, 1, 2, 3]) == {0: 0.0, 1: 1.0, 2: 0.0, 3: 2.0}


@pytest.mark.parametrize(
    ("typed", "word", "off"),
    [
        ("eror", "error", True),
        ("typsecript", "typescript", True),
        ("mongod", "mongo", True),
        ("mango", "mongo", False),
        ("error", "error", False),
        ("house", "horse", True),
        ("house", "houses", True),
        ("house", "hounds", False),
    ],
)
def test_one_letter_off(typed, word, off):
    assert features.one_letter_off(typed, word) is off


def test_whom_a_memory_names_is_asked_about_once_more_and_the_receipt_tells(space):
    make_fact(space, text="Ana's sister Beth lives in York with her husband Dave", subject="Beth")
    make_fact(space, text="Dave is a plumber", subject="Dave")
    make_fact(space, text="The garage door is green")
    found = recall(space, "What does my sister's husband do?", person="Ana")
    (item,) = [item for item in found.items if "hop" in item.unit.lanes]
    assert (item.unit.text, item.via) == ("Dave is a plumber", found.items[0].unit.text)
    assert found.receipt.expansion == ["What does Dave do?"]


@pytest.mark.parametrize(
    ("asked", "said", "further"),
    [
        ("What does my son like?", "Wow Caroline! My son was so scared", None),
        ("¿Qué le gusta a mi hijo?", "Uf, Caroline, mi hijo tenía miedo", None),
        ("What does my son like?", "Well Caroline, my son Leo is five", "What does Leo like?"),
        ("What does my wife do?", "We met when my wife Caroline sang", "What does Caroline do?"),
    ],
)
def test_who_is_only_spoken_to_is_not_whom_a_question_describes(asked, said, further):
    question = Question(asked, folded_words=words.words(words.fold(asked)))
    found = understand.follow(question, said, talk={"ana", "caroline"})
    assert (found and found.text) == further


@pytest.mark.parametrize(
    ("asked", "path", "owner"),
    [
        ("what does my sister's husband do", ("sister", "husband"), ""),
        ("whats my brothers fiancee do", ("brother", "fiancee"), ""),
        ("what does my brother-in-law do?", ("brother-in-law",), ""),
        ("¿en qué trabaja el marido de mi hermana?", ("sister", "husband"), ""),
        ("¿a qué se dedica mi yerno?", ("son-in-law",), ""),
        ("what's Anjali's husband up to?", ("husband",), "anjali"),
        ("¿dónde trabaja la novia de Fede?", ("girlfriend",), "fede"),
        ("where do my sons live?", None, ""),
        ("what did I say about the husband of the year award?", None, ""),
    ],
)
def test_whom_a_question_describes_is_read_as_a_path_of_kin(asked, path, owner):
    found = understand.kinsfolk(asked)
    assert (found and found.path) == path
    assert not found or found.owner == owner


@pytest.mark.parametrize(
    ("asked", "by_name", "told"),
    [
        ("What does my sister's husband do?", "What does Rohan do?",
         "Rohan is your sister's husband"),
        ("What does my brother-in-law, the Auckland one, do?", "What does Rohan, do?",
         "Rohan is your brother-in-law"),
    ],
)  # fmt: skip
def test_who_is_meant_is_known_by_the_people_and_not_by_lucky_finds(space, asked, by_name, told):
    """No memory has both the sister and what her husband does."""
    facts.remember(space, text="Ana's sister Anjali lives in Auckland", by="person:ana")
    facts.remember(space, text="Anjali's husband Rohan is a pilot", by="person:ana")
    for number in range(6):
        make_fact(space, text=f"Somebody does something else, number {number}")
    found = recall(space, asked, person="Ana")
    assert found.receipt.expansion == [by_name]
    best = found.items[0]
    assert (best.unit.text, best.via) == ("Anjali's husband Rohan is a pilot", told)


@pytest.mark.parametrize("asked", ["Where does Beth live?", "Who is my sister?"])
def test_a_question_that_names_or_asks_for_the_name_is_asked_once(space, asked):
    make_fact(space, text="Ana's sister Beth lives in York with her husband Dave", subject="Beth")
    make_fact(space, text="Dave is a plumber", subject="Dave")
    assert recall(space, asked, person="Ana").receipt.expansion == []
