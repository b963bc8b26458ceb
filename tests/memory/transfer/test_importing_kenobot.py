"""A KenoBot tree into a space: dry first, once, guarded, undoable; and out again, the same."""

import io
import zipfile
from datetime import UTC, datetime

import pytest

from memory import rulings, transfer
from memory.facts import service as facts
from memory.identity import core
from memory.models import (
    AuditEntry,
    Chat,
    Episode,
    Fact,
    Identity,
    Message,
    Pattern,
    Preference,
    Rule,
    WorkingNote,
)
from tests.factories import make_chat, make_episode, make_space
from tests.memory.transfer import kenobot_tree as tree

pytestmark = pytest.mark.django_db(transaction=True)
BY = "person:ana"
TABLES = [Fact, Episode, Pattern, WorkingNote, Message, Chat, Rule, Preference, Identity]


def rows_of(space):
    """Everything of a space that an import can bring, as plain values."""
    chats = dict(Chat.objects.filter(space=space).values_list("pk", "key"))
    return {
        "facts": {
            (f.text, f.subject, f.kind, f.category, chats.get(f.chat_id), f.status)
            for f in Fact.objects.filter(space=space)
        },
        "episodes": {
            (e.title, e.body, e.started_at, *e.tags, *e.participants, e.status, e.chat_id is None)
            for e in Episode.objects.filter(space=space).exclude(status="discarded")
        },
        "patterns": {
            (p.slug, p.trigger, p.response, p.confidence, p.use_count, p.learned_from)
            for p in Pattern.objects.filter(space=space)
        },
        "notes": {
            (chats[w.chat_id], w.task, tuple(w.context), tuple(w.pending), w.notes, w.updated_at)
            for w in WorkingNote.objects.filter(space=space)
        },
        "messages": [
            (chats[m.chat_id], m.role, m.text, m.sent_at)
            for m in Message.objects.filter(space=space).order_by("chat_id", "sent_at", "pk")
        ],
        "contexts": {(c.key, c.context) for c in Chat.objects.filter(space=space)},
        "rules": {
            (r.slug, r.instruction, str(r.forbidden)) for r in Rule.objects.filter(space=space)
        },
        "preferences": {
            (p.section, p.key, p.value) for p in Preference.objects.filter(space=space)
        },
    }


def count_all():
    return {table.__name__: table.objects.count() for table in TABLES}


@pytest.mark.parametrize("name", tree.LAYOUTS)
def test_every_layout_imports_and_nothing_is_unexplained(tmp_path, name):
    root, space = tree.LAYOUTS[name](tmp_path / ".kenobot"), make_space()
    report = transfer.run(space, root, by=BY)
    assert report.format == "kenobot"
    assert {line.verdict for line in report.lines} <= set(transfer.Verdict.ALL)
    unexplained = [
        line for line in report.lines if line.verdict in ("skipped", "known") and not line.why
    ]
    assert unexplained == []
    assert Fact.objects.filter(space=space, status="active").exists()
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert {
        name for name in files if not any(line.where.startswith(name) for line in report.lines)
    } == set()


@pytest.mark.parametrize("name", tree.LAYOUTS)
def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path, name):
    root, space = tree.LAYOUTS[name](tmp_path), make_space()
    before = count_all() | {"audit": AuditEntry.objects.count()}
    dry = transfer.dry_run(space, root, by=BY)
    assert count_all() | {"audit": AuditEntry.objects.count()} == before
    assert dry.lines == transfer.run(space, root, by=BY).lines


@pytest.mark.parametrize("name", tree.LAYOUTS)
def test_a_second_import_adds_nothing(tmp_path, name):
    root, space = tree.LAYOUTS[name](tmp_path), make_space()
    transfer.run(space, root, by=BY)
    before = rows_of(space)
    again = transfer.run(space, root, by=BY)
    assert again.total("taken") == 0
    assert rows_of(space) == before


@pytest.mark.parametrize("name", tree.LAYOUTS)
def test_export_and_import_again_gives_the_same_rows(tmp_path, name):
    root, space, other = tree.LAYOUTS[name](tmp_path / "in"), make_space(), make_space()
    transfer.run(space, root, by=BY)
    path = tmp_path / "out.zip"
    with path.open("wb") as file:
        transfer.export(space, file, "kenobot", by=BY)
    report = transfer.run(other, path, by=BY)
    assert report.format == "kenobot"
    assert rows_of(other) == rows_of(space)
    assert transfer.run(space, path, by=BY).total("taken") == 0


def test_one_undo_takes_the_whole_import_back_and_it_can_be_imported_again(tmp_path):
    root, space = tree.write_flat(tmp_path), make_space()
    report = transfer.run(space, root, by=BY)
    before = rows_of(space)
    transfer.undo(space, report.change, by=BY)
    assert not Fact.objects.filter(space=space, status="active").exists()
    assert not Episode.objects.filter(space=space).exclude(status="discarded").exists()
    assert not Pattern.objects.filter(space=space, status="active").exists()
    assert not Message.objects.filter(space=space).exists()
    transfer.run(space, root, by=BY)
    assert rows_of(space)["facts"] == before["facts"]
    assert rows_of(space)["messages"] == before["messages"]
    assert rows_of(space)["episodes"] == before["episodes"]


def exported(space) -> dict[str, str]:
    """{name: text} of the KenoBot folder that the space becomes."""
    packed = io.BytesIO()
    transfer.export(space, packed, "kenobot", by=BY)
    with zipfile.ZipFile(packed) as made:
        return {name: made.read(name).decode() for name in made.namelist()}


def test_25_an_entry_and_that_of_a_chat_lie_where_kenobot_looks_for_them():
    space = make_space()
    at = datetime(2026, 2, 13, 15, 45, tzinfo=UTC)
    chat = make_chat(space, "123")
    for where, when, said in ((None, at, "Test fact"), (chat, at.replace(hour=16, minute=0), "x")):
        make_episode(space, chat=where, title=said, body=said, started_at=when, ended_at=when)
    files = exported(space)
    assert files["memory/2026-02-13.md"] == "## 15:45 — Test fact\n\n"
    assert files["memory/chats/telegram-123/2026-02-13.md"] == "## 16:00 — x\n\n"


def test_27_two_days_arrive_as_two_days(tmp_path):
    for day in (12, 13):
        tree.put(tmp_path / f"memory/2026-02-{day}.md", f"## 10:00 — said on the {day}th\n")
    space = make_space()
    transfer.run(space, tmp_path, by=BY)
    found = Episode.objects.filter(space=space).order_by("started_at")
    assert [(e.started_at.day, e.body) for e in found] == [
        (12, "said on the 12th"),
        (13, "said on the 13th"),
    ]


@pytest.mark.parametrize("dash", ["—", "--", "-"])
def test_d9_no_entry_of_a_really_written_log_is_lost(tmp_path, dash):
    lines = [f"## {hour:02}:30 {dash} entry number {hour}" for hour in range(24)]
    tree.put(tmp_path / "memory/2026-01-05.md", "\n\n".join(lines) + "\n")
    space, again = make_space(), make_space()
    report = transfer.run(space, tmp_path, by=BY)
    assert report.counts["episode"] == {"taken": 24}
    for name, text in exported(space).items():
        tree.put(tmp_path / "out" / name, text)
    transfer.run(again, tmp_path / "out", by=BY)
    assert rows_of(again)["episodes"] == rows_of(space)["episodes"]
    assert len(rows_of(again)["episodes"]) == 24


def test_d6_the_documented_shape_of_patterns_is_not_empty(tmp_path):
    tree.put(
        tmp_path / "memory/procedural/patterns.json",
        '{"patterns": [{"id": "a", "trigger": "b c", "response": "d"}]}',
    )
    space = make_space()
    transfer.run(space, tmp_path, by=BY)
    assert Pattern.objects.get(space=space).trigger == "b c"


def test_what_a_person_forgot_stays_forgotten(tmp_path):
    root, space = tree.write_old(tmp_path), make_space()
    transfer.run(space, root, by=BY)
    fact = Fact.objects.get(space=space, text="Birthday: March 15")
    facts.forget(fact, by=BY)
    report = transfer.run(space, root, by=BY)
    fact.refresh_from_db()
    assert fact.status == "archived"
    assert [line.reason for line in report.lines if "Birthday" in line.text] == ["put away"]


def test_a_ruling_is_obeyed(tmp_path):
    root, space = tree.write_old(tmp_path), make_space()
    rulings.forbid(space, text="Birthday: March 15", by=BY)
    report = transfer.run(space, root, by=BY)
    assert not Fact.objects.filter(space=space, text__contains="March").exists()
    assert [line.reason for line in report.lines if "Birthday" in line.text] == ["ruling"]


def test_identity_of_its_own_is_not_replaced(tmp_path):
    root, space = tree.write_flat(tmp_path), make_space()
    core.write(space, text="I am Keno.", by=BY)
    report = transfer.run(space, root, by=BY)
    assert core.read(space) == "I am Keno."
    assert [line.reason for line in report.lines if line.kind == "identity"] == ["own identity"]


def test_a_wall_stands_between_spaces(tmp_path):
    space, other = make_space(), make_space()
    transfer.run(space, tree.write_flat(tmp_path), by=BY)
    assert not any(table.objects.filter(space=other).exists() for table in TABLES)


def test_the_audit_tells_of_import_and_export(tmp_path):
    space = make_space()
    report = transfer.run(space, tree.write_flat(tmp_path), by=BY)
    transfer.export(space, io.BytesIO(), "snapshot", by=BY)
    actions = AuditEntry.objects.filter(space=space, action__in=["import", "export"])
    first, second = actions.order_by("pk")
    assert (first.actor, first.details["change"]) == (BY, report.change)
    assert second.details["format"] == "snapshot"
