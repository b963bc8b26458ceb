"""Erasing takes the words out of everything that holds them; only that nothing can bring back."""

import gzip
import subprocess
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.postgres.search import SearchVectorField
from django.db import connection, models
from django.utils import timezone

from bot import turn
from kenoweb.launcher.embedded_account import programs
from memory import erasure, patterns, rulings, tasks, working
from memory.chats import inbox
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.history.changes import undo_context
from memory.models import (
    AuditEntry,
    Draft,
    Embedding,
    Episode,
    Fact,
    Message,
    OutboxItem,
    Parcel,
    Recall,
    Unit,
)
from memory.retrieval.recall import recall
from sleep.models import Claim, Proposal
from tests.factories import (
    make_chat,
    make_dead_letter,
    make_episode,
    make_fact,
    make_message,
    make_notice,
    make_parcel,
    make_proposal,
    make_space,
)

pytestmark = pytest.mark.django_db
ANA = "person:ana"
CANARY = "KX7-4431-QZ"


def dump() -> str:
    """The whole database as pg_dump writes it, with what this test did and did not commit."""
    given = connection.settings_dict
    server = {"host": given["HOST"], "port": given["PORT"], "username": given["USER"]}
    where = [f"--{name}={value}" for name, value in server.items() if value]
    command = [str(programs() / "pg_dump"), "--data-only", *where, given["NAME"]]
    env = {"PGPASSWORD": given["PASSWORD"] or ""}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (f"Remember that the boat is registered as {CANARY}", "How is the boat registered?"),
        (f"Recuerda que la barca está inscrita como {CANARY}", "¿Cómo está inscrita la barca?"),
    ],
)
def test_after_erasing_no_dump_holds_the_words(said, asked, settings):
    settings.PROVIDER = "offline"
    space = make_space(settings={"believe_from": 0.5, "offer_from": 0.2})
    chat = make_chat(space, channel="fake", title=f"{said[:60]}")

    def say(text):
        message = inbox.receive(chat, text=text, author="Ana", author_id="7")
        turn.answer(message.pk, now=timezone.now() + timedelta(seconds=5))
        reply = Message.objects.get(reply_to=message)
        tasks.ingest.func(message_ids=[message.pk], reply_id=reply.pk, space_id=space.pk)
        return message

    message = say(said)
    say(asked)
    say(f"Is {CANARY} right? ¿Vale {CANARY}?")
    say(f'/remember "The canoe has {CANARY} too"')
    fact = Fact.objects.filter(message=message).first() or make_fact(
        space, f"The boat is registered as {CANARY}", message=message, chat=chat, quote=said
    )
    facts.revise(fact, by=ANA, text=f"The blue boat is registered as {CANARY}")
    spread(space, chat, message, fact)
    Draft.objects.update_or_create(chat=chat, defaults={"text": f"The boat is {CANARY}"})
    facts.discard(fact, by=ANA)
    assert CANARY in dump()
    counts = erasure.purge(fact, by=ANA, preview=True)
    assert CANARY in dump()
    assert erasure.purge(fact, by=ANA) == counts
    left = [line for line in dump().splitlines() if CANARY.lower() in line.lower()]
    assert left == []
    for table in ("memory.Message", "memory.Recall", "memory.OutboxItem", "memory.Fact", "history"):
        assert counts[table] > 0, table


def spread(space, chat, message, fact):
    """Let the words be everywhere else that the product may write them."""
    words = f"The boat is registered as {CANARY}"
    episode = message.episode or make_episode(space, chat=chat)
    episodes.revise(episode, by="night", title=f"Boat {CANARY}", body=f"Ana: {words}", tags=["a"])
    Claim.objects.create(
        space=space, episode=episode, text=words, key="k", quote=words, said_at=message.sent_at
    )
    make_proposal(space, title=words, after={"text": words}, evidence=[{"quote": words}])
    make_notice(space, text=f"Set aside: {words}")
    make_dead_letter(space, error=words, args={"text": words})
    working.write(chat, text=f"Task: note {CANARY}", by="tag")
    chats.set_context(chat, text=f"About the boat. {words}. And bees.", by=ANA)
    patterns.learn(space, trigger="boat registration", response=words, by=ANA)
    rulings.forbid(space, text=words, by=ANA)
    make_parcel(space, data=words.encode(), status="applied")
    make_parcel(space, data=gzip.compress(words.encode()), way="out", status="packed")
    AuditEntry.objects.create(space=space, actor="x", action="y", details={"said": words})
    OutboxItem.objects.create(space=space, chat=chat, text=words, key="k", error=words)


class Told:
    """Someone told Keno about Rex and about Lima, in two messages of one episode."""

    def __init__(self):
        self.chat = make_chat()
        self.space = self.chat.space
        self.episode = make_episode(
            self.space, chat=self.chat, title="My dog is called Rex", status="closed",
            body="Ana: My dog is called Rex\nAna: I live in Lima near the sea",
        )  # fmt: skip
        self.said = make_message(
            self.chat, "My dog is called Rex", author="Ana", episode=self.episode
        )
        self.noted = make_message(
            self.chat, "Noted: Rex", role="assistant", reply_to=self.said, episode=self.episode
        )
        self.other = make_message(
            self.chat, "I live in Lima near the sea", author="Ana", episode=self.episode
        )
        self.fact = make_fact(
            self.space, text="Ana's dog is called Rex", subject="Ana", chat=self.chat,
            message=self.said, quote="My dog is called Rex",
        )  # fmt: skip


def test_the_source_message_is_erased_in_place_and_its_neighbours_stay():
    told = Told()
    erasure.erase(told.space, facts=[told.fact.pk], by=ANA)
    texts = list(Message.objects.order_by("pk").values_list("text", flat=True))
    assert texts == ["[erased]", "[erased]", "I live in Lima near the sea"]
    episode = Episode.objects.get()
    assert "Rex" not in f"{episode.title} {episode.body} {episode.tags}"
    assert "Lima" in episode.body
    assert not Unit.objects.get(kind="message", owner_id=told.said.pk).live
    assert Unit.objects.get(kind="message", owner_id=told.other.pk).live
    assert not Embedding.objects.filter(unit__owner_id=told.said.pk, unit__kind="message").exists()


@pytest.mark.parametrize("question", ["What is my dog called?", "¿Cómo se llama mi perro?"])
def test_nothing_of_it_is_recalled_and_no_undo_brings_it_back(question):
    told = Told()
    done = facts.forget(told.fact, by=ANA)
    erasure.erase(told.space, facts=[told.fact.pk], by=ANA)
    assert undo_context(done.change_id, by=ANA) == []
    assert not Fact.objects.exists()
    found = recall(told.space, question, chat=told.chat, save=False)
    assert "Rex" not in " ".join(item.unit.text for item in (*found.items, *found.cut))


def test_a_reply_that_was_only_given_the_fact_keeps_its_words():
    told = Told()
    reply = make_message(told.chat, "It rains in Oslo tomorrow.", role="assistant")
    used = Recall.objects.create(space=told.space, query="rain?", profile="keno", reply=reply)
    used.items.create(fact=told.fact, kind="fact", rank=1, score=1, injected=True)
    erasure.erase(told.space, facts=[told.fact.pk], by=ANA)
    reply.refresh_from_db()
    assert reply.text == "It rains in Oslo tomorrow."


def test_the_same_question_of_somebody_else_and_another_space_stay():
    told, elsewhere = Told(), Told()
    asked = make_message(told.chat, "My dog is called Max")
    erasure.erase(told.space, facts=[told.fact.pk], by=ANA)
    asked.refresh_from_db()
    assert asked.text == "My dog is called Max"
    elsewhere.said.refresh_from_db()
    assert elsewhere.said.text == "My dog is called Rex"


def test_erasing_an_episode_erases_what_was_said_in_it_and_leaves_its_facts():
    told = Told()
    erasure.erase(told.space, episodes=[told.episode.pk], by=ANA)
    assert not Episode.objects.exists()
    assert set(Message.objects.values_list("text", flat=True)) == {"[erased]"}
    fact = Fact.objects.get()
    assert (fact.text, fact.quote) == ("Ana's dog is called Rex", "[erased]")


def test_a_proposal_that_rests_on_it_cannot_be_approved_any_more():
    told = Told()
    proposal = make_proposal(
        told.space,
        title="Ana has a dog",
        after={"text": "Ana has a dog", "kind": "fact"},
        evidence=[{"message": told.said.pk, "quote": "dog"}],
    )
    erasure.erase(told.space, facts=[told.fact.pk], by=ANA)
    proposal = Proposal.objects.get(pk=proposal.pk)
    assert (proposal.status, proposal.title) == ("expired", "[erased]")
    assert proposal.after == {"text": "[erased]", "kind": "fact"}


def test_an_export_that_was_packed_before_goes_with_it():
    told = Told()
    make_parcel(told.space, way="out", status="packed")
    erasure.erase(told.space, facts=[told.fact.pk], by=ANA)
    assert not Parcel.objects.exists()


def test_a_discarded_episode_that_is_purged_leaves_its_messages_silent():
    told = Told()
    episodes.discard(told.episode, by=ANA)
    episodes.purge(told.episode, by=ANA)
    assert not Unit.objects.get(kind="message", owner_id=told.said.pk).live


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Tom's phone is +34 600 123 456", ["+34 600 123 456"]),
        ("the code is KX7-4431-QZ, ok", ["KX7-4431-QZ"]),
        ("born on 2018-03-04 in Lima, moved in 2019", []),
        ("version 3 of covid19", []),
    ],
)
def test_codes_are_found_and_dates_are_not(said, found):
    assert erasure.codes(said) == found


WORDS = (
    models.CharField,
    models.TextField,
    models.JSONField,
    models.BinaryField,
    SearchVectorField,
)


# Columns that hold names of ours, of people and of channels, numbers, or what follows from words
# that are erased: the index is written again by its triggers, vectors and files are deleted.
WORDLESS = {
    "memory.Space": {"name", "slug", "settings", "audit_key"},
    "memory.SpaceKey": {"salt", "wrapped"},
    "memory.SpaceEncryption": {"position"},
    "memory.ApiToken": {"name", "gate", "client"},
    # Numbers of what happened, no word of it.
    "memory.Webhook": {"url", "events", "secret", "by"},
    "memory.Connection": {"name", "sealed", "by"},
    "memory.WebhookEvent": {"event", "action"},
    "memory.WebhookDelivery": {"told", "error"},
    "memory.AuditEntry": {"actor", "action", "object_type", "object_id"},
    "memory.AuditSeal": {"salt", "details_digest", "digest"},
    "memory.Member": set(),
    "memory.Message": {"author", "external_id", "flags"},
    "memory.Chat": {"external_id", "thread"},
    "memory.Fact": {"subject", "text", "said_by"},
    "memory.Reminder": {"every"},
    "memory.Episode": {"participants", "flags"},
    "memory.Entity": {"relation", "accounts"},
    "memory.Recall": {"person", "ms", "sections", "profile", "left_out"},
    "memory.RecallItem": {"parts", "lanes"},
    "memory.RecallProfile": {"name", "formula", "weights", "settings", "note", "made_by"},
    "memory.SelfCheck": {"signals"},
    "memory.OutboxItem": {"external_id"},
    "memory.DeadLetter": {"task", "retried_by"},
    "memory.Heartbeat": {"name", "version", "channels"},
    "memory.Lease": {"name", "holder"},
    "memory.Breaker": {"provider", "model", "last_error"},
    "memory.Parcel": {"counts", "change", "asked", "format"},
    "memory.ParcelPiece": {"data"},
    "memory.LlmCall": {"provider", "model", "trace"},
    "memory.Erasure": {"counts", "salt", "digests"},
    "memory.Unit": {"words", "speaker"},
    "memory.EmbeddingModel": {"name", "provider", "model"},
    "memory.Embedding": {"model"},
    "memory.ChatLink": {"author"},
    "sleep.Night": {"asked_by", "phase"},
    "sleep.PhaseRun": {"phase", "counts"},
    "sleep.NightChange": {"phase", "undone_by"},
    "sleep.Claim": {"said_by", "speaker"},
    "sleep.Proposal": {"targets", "flags", "decided_name"},
    "sleep.Reflection": {"numbers"},
    "kenoweb.Account": {"theme", "totp_secret", "recovery"},
    "kenoweb.OneTimeLink": {"label"},
    "kenoweb.Passkey": {"name", "credential_id", "public_key"},
    "kenoweb.OidcAccount": {"issuer", "subject"},
}
WORDLESS_NAMES = {
    "key", "digest", "said_key", "text_hash", "prefix", "scopes", "before_digest", "after_digest",
    "language", "mode", "source", "written_by", "by", "channel", "author_id", "person", "kind",
    "timezone", "verdict", "role", "category", "section_kind", "cut", "level", "status", "feedback",
    "pgh_label",
}  # fmt: skip


def columns_of(model) -> set[str]:
    """The columns of the model that can hold somebody's words."""
    return {
        column.name
        for column in model._meta.concrete_fields
        if isinstance(getattr(column, "base_field", column), WORDS) and not column.choices
    }


def test_every_column_that_can_hold_words_is_in_the_table_or_named_as_wordless():
    listed = {place.model: set(place.fields) for place in erasure.PLACES}
    unknown = []
    for app in ("memory", "sleep", "kenoweb"):
        for model in apps.get_app_config(app).get_models():
            label = getattr(model, "pgh_tracked_model", model)._meta.label
            known = listed.get(label, set()) | WORDLESS.get(label, set())
            known = known | WORDLESS_NAMES
            unknown += [f"{label}.{name}" for name in columns_of(model) - known]
    assert sorted(set(unknown)) == []
    for place in erasure.PLACES:
        assert set(place.fields) <= {column.name for column in place.table._meta.fields}
