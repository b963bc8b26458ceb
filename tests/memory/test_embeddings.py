"""Vectors: a bad one never loses a memory, and the model changes while Keno runs."""

from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from memory import tasks
from memory.models import Embedding, EmbeddingModel, Fact, Unit
from memory.retrieval.recall import recall
from memory.vectors import embed
from memory.vectors import store as embeddings
from tests.factories import make_chat, make_episode, make_fact, make_message, make_space

pytestmark = pytest.mark.django_db


class Fake:
    """An embedder whose vectors the test decides."""

    provider, model, dims = "fake", "f", 16

    def __init__(self, make=lambda text: [1.0, 2.0, 3.0], name="fake"):
        self.make, self.name, self.asked = make, name, []

    def embed(self, texts, *, query=False):
        self.asked += texts
        made = [self.make(text) for text in texts]
        return [_padded(vector, self.dims) for vector in made]


def _padded(vector, dims):
    """Three numbers stand for a whole vector; anything else is meant as it is."""
    is_short_form = isinstance(vector, list) and len(vector) == 3
    return [*vector, *[0.0] * (dims - 3)] if is_short_form else vector


def unit_of(kind, row):
    return Unit.objects.get(kind=kind, owner_id=row.pk).pk


def test_all_three_kinds_are_embedded_by_their_own_text():
    chat = make_chat()
    make_fact(chat.space, text="likes tea", quote="I like tea", subject="Ana")
    make_episode(chat.space, chat=chat, title="Tea", body="We drank it.")
    make_message(chat, text="more tea?", author="Ana")
    fake = Fake()
    assert embeddings.backfill(by=fake) == 3
    assert sorted(fake.asked) == ["Tea\nWe drank it.", "likes tea", "more tea?"]
    assert embeddings.backfill(by=fake) == 0


def test_what_a_recall_embedded_first_is_not_embedded_again_when_it_is_learned_from(monkeypatch):
    chat, fake = make_chat(), Fake()
    said = make_message(chat, text="more tea?", author="Ana")
    reply = make_message(chat, text="Of course.", role="assistant", reply_to=said)
    monkeypatch.setattr(embeddings, "active", lambda: fake)
    embeddings.put([unit_of("message", said)])
    tasks.ingest.func([said.pk], reply.pk, chat.space_id)
    assert sorted(fake.asked) == ["Of course.", "more tea?"]
    assert not embeddings.missing(fake.name).exclude(kind="episode").exists()


def test_the_embedded_model_is_the_default_and_becomes_active():
    fact = make_fact(text="likes tea")
    assert embeddings.put([unit_of("fact", fact)]) == 1
    row = Embedding.objects.get()
    assert row.model == embed.current().name == EmbeddingModel.objects.get(active=True).name
    assert np.linalg.norm(row.vector) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    "make",
    [
        lambda text: [0, 0, 0],
        lambda text: [float("nan"), 1, 1],
        lambda text: [1, 1],
        lambda text: [1.0] * 3072,
        lambda text: ["a", "b", "c"],
        lambda text: None,
    ],
    ids=["zero", "nan", "short", "3072", "strings", "none"],
)
def test_t23_a_bad_vector_leaves_the_fact_for_later(make, caplog):
    fact = make_fact(text="likes tea")
    assert embeddings.put([Unit.objects.get().pk], by=Fake(make)) == 0
    assert "unusable" in caplog.text
    assert Fact.objects.filter(pk=fact.pk, status="active").exists()
    assert embeddings.backfill(by=Fake()) == 1


def test_t23_a_provider_that_fails_leaves_them_all_for_later(caplog):
    def fail(text):
        raise TimeoutError("too slow")

    make_fact(text="likes tea")
    assert embeddings.backfill(by=Fake(fail)) == 0
    assert "too slow" in caplog.text
    assert embeddings.missing("fake").count() == 1


def test_one_bad_vector_does_not_spoil_its_batch():
    space = make_space()
    for text in ("good one", "bad", "good two"):
        make_fact(space, text=text)
    fake = Fake(lambda text: [0, 0, 0] if text == "bad" else [1, 0, 0])
    assert embeddings.backfill(by=fake) == 2


def test_a_text_that_changed_meanwhile_does_not_get_the_old_vector():
    fact = make_fact(text="old words")

    def edit_then_embed(text):
        Fact.objects.filter(pk=fact.pk).update(text="new words")
        return [1, 0, 0]

    assert embeddings.backfill(by=Fake(edit_then_embed)) == 0
    assert embeddings.missing("fake").count() == 1


def test_what_is_put_away_is_not_embedded():
    make_fact(text="gone", status="archived")
    assert embeddings.backfill(by=Fake()) == 0


def test_switched_off_nothing_happens(settings):
    settings.EMBEDDING_ENABLED = False
    make_fact()
    assert embeddings.active() is None
    assert embeddings.backfill() == 0
    with pytest.raises(CommandError, match="EMBEDDING_ENABLED=true"):
        call_command("memory_embed")


def run(*args) -> str:
    out = StringIO()
    call_command("memory_embed", *args, stdout=out)
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_memory_embed_fills_and_says_so():
    space = make_space()
    for i in range(5):
        make_fact(space, text=f"fact {i}")
    assert "5 without a vector" in run("--status")
    said = run()
    assert "100% 5/5" in said
    assert "5 embedded" in said
    assert "0 without a vector" in run("--status")


@pytest.mark.django_db(transaction=True)
def test_the_model_is_changed_while_recall_goes_on_with_the_old_one(monkeypatch):
    make_fact(text="likes tea")
    old, new = Fake(name="old-model"), Fake(name="new-model")
    monkeypatch.setattr(embed, "embedder", lambda provider, model, dims: old)
    embeddings.backfill(by=old)
    embeddings.switch(old)
    monkeypatch.setattr(embed, "current", lambda: new)
    assert embeddings.active() is old
    said = run("--drop-old")
    assert "by new-model instead of old-model" in said
    assert "1 vectors of old-model deleted" in said
    assert embeddings.active() is new
    assert [row.model for row in Embedding.objects.all()] == ["new-model"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'embedding_hnsw%'")
        indexes = " ".join(row[0] for row in cursor.fetchall())
        cursor.execute(f"DROP INDEX {embeddings.index_name('new-model')}")
    assert "new-model" in indexes
    assert "old-model" not in indexes


@pytest.mark.django_db(transaction=True)
def test_a_provider_that_gives_nothing_changes_nothing(monkeypatch):
    make_fact(text="likes tea")
    embeddings.backfill()
    monkeypatch.setattr(embed, "current", lambda: Fake(lambda text: [0, 0, 0], name="broken"))
    with pytest.raises(CommandError, match="nothing was changed"):
        run()
    assert EmbeddingModel.objects.get(active=True).name.startswith("minilm")


@pytest.fixture
def another_model(monkeypatch):
    """The settings name a new model; a space has facts by the built-in one."""
    space = make_space()
    for text in ("likes green tea", "plays the cello", "lives in Seville"):
        make_fact(space, text=text)
    embeddings.backfill()
    embeddings.switch(embed.current())
    new = Fake(name="new-model")
    monkeypatch.setattr(embed, "current", lambda: new)
    yield space, new
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {embeddings.index_name('new-model')}")


@pytest.mark.django_db(transaction=True)
def test_while_the_new_vectors_are_made_recall_compares_by_the_old_ones(another_model):
    space, new = another_model
    found = []

    def ask(text):
        found.append(recall(space, "a string instrument", save=False))
        return [1.0, 2.0, 3.0]

    new.make = ask
    run()
    assert len(found) == 3
    assert all(one.mode == "hybrid" and not one.error for one in found)
    assert all(one.items[0].unit.text == "plays the cello" for one in found)
    assert embeddings.active() is new


@pytest.mark.django_db(transaction=True)
def test_what_is_said_while_the_index_is_built_gets_its_vector_too(another_model, monkeypatch):
    space, _ = another_model
    build = embeddings.build_index

    def slowly(embedder):
        make_fact(space, text="said meanwhile")
        build(embedder)

    monkeypatch.setattr(embeddings, "build_index", slowly)
    run()
    assert embeddings.missing("new-model").count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_model_that_knows_too_little_does_not_take_over(another_model):
    _, new = another_model
    new.make = lambda text: [0, 0, 0] if "tea" in text else [1.0, 0.0, 0.0]
    with pytest.raises(CommandError, match="1 of 3 have no vector by new-model yet"):
        run()
    assert EmbeddingModel.objects.get(active=True).name.startswith("minilm")
    new.make = lambda text: [1.0, 0.0, 0.0]
    assert "1 embedded" in run()
    assert EmbeddingModel.objects.get(active=True).name == "new-model"


def test_very_short_vectors_are_compared_without_an_index():
    short = Fake(name="short-model")
    short.dims = 3
    embeddings.build_index(short)
    assert valid(embeddings.index_name("short-model")) is None


@pytest.mark.django_db(transaction=True)
def test_an_index_whose_build_was_broken_off_is_built_again(another_model):
    _, new = another_model
    embeddings.backfill(by=new)
    wrong = Fake(name="new-model")
    wrong.dims = 20
    with pytest.raises(DatabaseError, match="dimensions"):
        embeddings.build_index(wrong)
    assert valid(embeddings.index_name("new-model")) is False
    embeddings.build_index(new)
    assert valid(embeddings.index_name("new-model")) is True


def valid(index: str) -> bool | None:
    """Whether the index can be used; None when there is none of this name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [index]
        )
        row = cursor.fetchone()
    return row and row[0]
