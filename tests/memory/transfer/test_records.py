"""An archive brings back what a space has been through, and what can be done with it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import transfer
from memory.facts import service as facts
from memory.history import changes as history
from memory.models import Chat, Fact, FactEvent, Recall, RecallItem, encryption
from memory.retrieval.recall import recall
from memory.spaces import encryption as spaces_encryption
from memory.transfer import importing
from sleep import cycle, nights, proposals
from sleep.models import Night, NightChange, PhaseRun, Proposal
from tests.factories import encrypt, make_chat, make_fact, make_member, make_message, make_space
from tests.memory.transfer.test_archive import BY, changed, lived_in, manifest, members, write

pytestmark = pytest.mark.django_db(transaction=True)
RECORDS = ("receipts", "receipt_items", "nights", "night_phases", "night_changes", "proposals")


@pytest.fixture
def space():
    """A space that was asked, slept, changed its mind and was asked to decide."""
    space = lived_in(make_space("casa"))
    chat = space.chats.get()
    fact = facts.remember(space, text="Ana lives in Lisbon", by=BY, subject="Ana", chat=chat).row
    facts.revise(fact, by=BY, text="Ana lives in Porto")
    asked = make_message(chat, text="Where does Ana live?")
    recall(space, "Where does Ana live?", chat=chat, message=asked)
    cycle.sleep(space, now=timezone.now() + timedelta(days=1))
    propose(space, "revise", [fact], {"text": "Ana lives in Braga"})
    other = facts.remember(space, text="Ana lives in the north", by=BY, chat=chat).row
    given = {"keep": fact.pk, "text": fact.text}
    done = propose(space, "merge", [fact, other], given)
    member = make_member(space=space)
    proposals.approve(done, member=member, digest=done.digest)
    return space


def propose(space, kind, rows, after):
    return proposals.propose(
        space,
        kind,
        key=proposals.key(kind, *(row.pk for row in rows)),
        title=f"{kind} it",
        rows=rows,
        after=after,
    )


def told(path):
    """Its files; of a change who made it and why stands in the place of a number."""
    found = members(path)
    contexts = {row["id"]: row["metadata"]["why"] for row in found.pop("contexts.jsonl", [])}
    for rows in found.values():
        for row in rows:
            for name in {"pgh_context", "context", "applied_as"} & set(row):
                if isinstance(row[name], int):
                    row[name] = contexts[row[name]]
            row.pop("digest", None)
    return found


def test_everything_it_has_been_through_comes_back_equal(space, tmp_path):
    other = make_space()
    first = write(space, tmp_path / "1.zip")
    report = transfer.run(other, first, by=BY)
    assert [line for line in report.lines if line.verdict == "skipped"] == []
    was, now = told(first), told(write(other, tmp_path / "2.zip"))
    assert {f"{name}.jsonl" for name in RECORDS} < set(was)
    for name, rows in was.items():
        # Behind it stands that it was brought in.
        after = now[name][len(rows) :]
        assert now[name][: len(rows)] == rows, name
        assert {row["pgh_context"] for row in after} <= {"import keno", None}, name
        assert not after or name.endswith("_history.jsonl"), name


def test_what_was_believed_then_is_known_still_and_can_be_taken_back(space, tmp_path):
    other = make_space()
    transfer.run(other, write(space, tmp_path / "1.zip"), by=BY)
    fact = Fact.objects.get(space=other, text="Ana lives in Porto")
    steps = history.history(fact)
    assert [step.after["text"] for step in steps if step.fields][-1] == "Ana lives in Porto"
    assert steps[-1].is_create
    assert steps[-1].after["text"] == "Ana lives in Lisbon"
    receipt = Recall.objects.get(space=other)
    assert receipt.chat.space == receipt.message.space == other
    items = RecallItem.objects.filter(recall=receipt)
    assert items
    assert {row.fact.space for row in items if row.fact} == {other}
    merged = Proposal.objects.get(space=other, status="approved")
    member = make_member(space=other)
    gone = Fact.objects.get(space=other, text="Ana lives in the north")
    assert gone.status == "superseded"
    proposals.undo(merged, member=member)
    gone.refresh_from_db()
    assert gone.status == "active"


def test_a_proposal_that_waited_can_be_approved_where_it_came_back(space, tmp_path):
    other = make_space()
    transfer.run(other, write(space, tmp_path / "1.zip"), by=BY)
    waiting = Proposal.objects.get(space=other, status="pending", kind="revise")
    proposals.approve(waiting, member=make_member(space=other), digest=waiting.digest)
    assert Fact.objects.filter(space=other, text="Ana lives in Braga").exists()
    assert not Fact.objects.filter(space=space, text="Ana lives in Braga").exists()


def test_undoing_the_import_takes_it_away_again(space, tmp_path):
    other = make_space()
    report = transfer.run(other, write(space, tmp_path / "1.zip"), by=BY)
    importing.undo(other, report.change, by=BY)
    assert not Fact.objects.live().filter(space=other).exists()
    for model in (Recall, Night, NightChange, Proposal):
        assert not model.objects.filter(space=other).exists(), model
    assert Night.objects.filter(space=space).exists()


@pytest.mark.parametrize("why", ["a used space", "another Keno"])
def test_into_a_used_space_or_from_elsewhere_only_memory_comes(space, tmp_path, why):
    other, path = make_space(), write(space, tmp_path / "1.zip")
    if why == "another Keno":
        path = changed(path, tmp_path / "2.zip", lambda name, data: data)
    else:
        make_fact(other, text="somebody was here")
    report = transfer.run(other, path, by=BY)
    assert Fact.objects.filter(space=other, text="Ana lives in Porto").exists()
    assert not Night.objects.filter(space=other).exists()
    left = [line for line in report.lines if line.reason == "records"]
    assert sum(line.count for line in left) > 10
    assert "only into an empty space" in left[0].why


def test_in_an_encrypted_space_earlier_words_are_encrypted_too(space, tmp_path, settings):
    key = tmp_path / "key"
    key.write_bytes(spaces_encryption.new_key_file())
    settings.KENO_CONTENT_KEY_FILE = str(key)
    path, other = write(space, tmp_path / "1.zip"), make_space()
    encrypt(other)
    transfer.run(other, path, by=BY)
    events = FactEvent.objects.filter(space=other)
    assert {one.text for one in events} >= {"Ana lives in Lisbon", "Ana lives in Porto"}
    raw = events.extra(select={"raw": "text"}).values_list("raw", flat=True)
    assert all(words.startswith(encryption.PREFIX) for words in raw)


def test_a_private_chat_stays_its_owners(tmp_path):
    space, other = make_space(), make_space()
    ana = make_member(space=space)
    there = make_member(space=other, user=ana.user)
    make_chat(space, title="mine", is_private=True, owner=ana)
    transfer.run(other, write(space, tmp_path / "1.zip"), by=BY)
    chat = Chat.objects.get(space=other)
    assert (chat.is_private, chat.owner) == (True, there)


def test_a_night_that_ran_while_it_was_written_has_stopped(space, tmp_path):
    Night.objects.filter(space=space).update(status="running")
    PhaseRun.objects.filter(night__space=space).update(status="running")
    other = make_space()
    transfer.run(other, write(space, tmp_path / "1.zip"), by=BY)
    assert nights.latest(other).status == "failed"
    assert manifest(tmp_path / "1.zip")["counts"]["nights"] == 1
