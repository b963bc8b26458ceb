"""ChatGPT, Claude, mem0 and Clanker: what their exports become."""

import json
import sqlite3
import time
import tracemalloc
import zipfile

import pytest

from memory import transfer
from memory.models import Chat, Fact, Message
from tests.factories import make_space
from tests.memory.transfer.naughty import LINES

pytestmark = pytest.mark.django_db(transaction=True)
BY = "person:ana"


def node(name, parent, role="user", text="", **more):
    message = {
        "id": name,
        "author": {"role": role},
        "create_time": 1706745600.5,
        "content": {"content_type": "text", "parts": [text]},
    }
    return {"id": name, "parent": parent, "children": [], "message": message | more}


CHATGPT = [
    {
        "title": "Tea",
        "create_time": 1706745600.0,
        "conversation_id": "8f3a2b1c-0000",
        "current_node": "n5",
        "mapping": {
            "n0": {"id": "n0", "parent": None, "children": ["n1"], "message": None},
            "n1": node("n1", "n0", text="Which tea?"),
            "n1b": node("n1b", "n0", text="Which coffee?"),
            "n2": node("n2", "n1", "assistant", "User likes green tea.", recipient="bio"),
            "n3": node("n3", "n2", "tool", "Model set context updated."),
            "n4": node("n4", "n3", "assistant", "search()", recipient="web"),
            "n5": node("n5", "n4", "assistant", "Green, as always."),
        },
    },
    {"title": "broken", "mapping": 3},
]
CLAUDE = [
    {
        "uuid": "c-1",
        "name": "Plans",
        "created_at": "2026-01-02T03:04:05.000000Z",
        "chat_messages": [
            {
                "uuid": "m-1",
                "sender": "human",
                "text": "hola",
                "created_at": "2026-01-02T03:04:05Z",
            },
            {"uuid": "m-2", "sender": "assistant", "content": [{"type": "text", "text": "¡Hola!"}]},
            {"uuid": "m-3", "sender": "robot", "text": "x"},
            {"uuid": "m-4", "sender": "human", "text": " "},
        ],
    }
]
CLAUDE_MEMORIES = [
    {
        "conversations_memory": "**Work context**\n\nAna is a backend engineer.\n\n- Likes tea\n",
        "project_memories": {"p-1": "Uses Postgres 16"},
        "memory_files": [{"path": "/profile.md", "content": "- Prefers metric units"}],
        "account_uuid": "a-1",
    }
]
MEM0 = {
    "results": [
        {
            "id": "1",
            "memory": "Likes tea",
            "user_id": "ana",
            "categories": ["preferences"],
            "created_at": "2025-05-01T10:00:00-07:00",
        },
        {"id": "2", "memory": ""},
        "Speaks Spanish",
    ]
}


def put(path, given):
    path.write_text(json.dumps(given))
    return path


def import_twice(space, path, **options):
    dry = transfer.dry_run(space, path, by=BY, **options)
    report = transfer.run(space, path, by=BY, **options)
    assert dry.lines == report.lines
    assert all(line.why for line in report.lines if line.verdict in ("skipped", "known"))
    assert transfer.run(space, path, by=BY, **options).total("taken") == 0
    return report


def reasons(report):
    return sorted(line.reason for line in report.lines if line.verdict == "skipped")


@pytest.mark.parametrize("packed", [False, True])
def test_chatgpt(tmp_path, packed):
    space, path = make_space(), put(tmp_path / "conversations.json", CHATGPT)
    if packed:
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            archive.write(path, "conversations-000.json")
            archive.writestr("chat.html", "<html>")
            archive.writestr("user.json", "{}")
            archive.writestr("file-abc.png", b"\x89PNG")
        path = tmp_path / "export.zip"
    report = import_twice(space, path)
    assert report.format == "chatgpt"
    assert list(Message.objects.filter(space=space).order_by("pk").values_list("role", "text")) == [
        ("user", "Which tea?"),
        ("assistant", "Green, as always."),
    ]
    assert Fact.objects.get(space=space).text == "User likes green tea."
    assert Chat.objects.get(space=space).title == "Tea"
    expected = ["hidden", "not a message", "other branch", "unknown role"]
    assert reasons(report) == sorted(expected + (["account", "media", "page"] if packed else []))


def test_chatgpt_memories_when_there_are_any(tmp_path):
    space = make_space()
    put(tmp_path / "conversations.json", CHATGPT)
    memories = [{"content": "Likes rain"}, {"content": "old", "enabled": False}, {"id": 3}]
    put(tmp_path / "memories.json", memories)
    report = import_twice(space, tmp_path)
    assert Fact.objects.filter(space=space, text="Likes rain").exists()
    assert {"switched off", "not a memory"} <= set(reasons(report))


def test_a_conversation_that_bites_its_tail_ends(tmp_path):
    looped = json.loads(json.dumps(CHATGPT[:1]))
    looped[0]["mapping"]["n1"]["parent"] = "n5"
    report = transfer.run(make_space(), put(tmp_path / "conversations.json", looped), by=BY)
    assert report.total("taken") > 0


def test_claude(tmp_path):
    space = make_space()
    put(tmp_path / "conversations.json", CLAUDE)
    put(tmp_path / "memories.json", CLAUDE_MEMORIES)
    put(tmp_path / "users.json", [])
    report = import_twice(space, tmp_path)
    assert report.format == "claude"
    assert [m.text for m in Message.objects.filter(space=space).order_by("pk")] == [
        "hola",
        "¡Hola!",
    ]
    assert {fact.text for fact in Fact.objects.filter(space=space)} == {
        "Work context",
        "Ana is a backend engineer.",
        "Likes tea",
        "Uses Postgres 16",
        "Prefers metric units",
    }
    assert Fact.objects.get(space=space, text="Uses Postgres 16").category == "project"


def test_claude_memories_alone(tmp_path):
    space = make_space()
    assert import_twice(space, put(tmp_path / "memories.json", CLAUDE_MEMORIES)).format == "claude"


@pytest.mark.parametrize("given", [MEM0, MEM0["results"]])
def test_mem0(tmp_path, given):
    space = make_space()
    report = import_twice(space, put(tmp_path / "mem0.json", given))
    assert report.format == "mem0"
    found = {(f.text, f.subject, f.category) for f in Fact.objects.filter(space=space)}
    assert found == {("Likes tea", "ana", "preference"), ("Speaks Spanish", "", "other")}


WALKS = "User likes long walks."


def clanker(path, *, guilds=("g1",), said="I love long walks"):
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE messages (message_id TEXT PRIMARY KEY, created_at TEXT NOT NULL, guild_id TEXT,
          channel_id TEXT NOT NULL, author_id TEXT NOT NULL, author_name TEXT NOT NULL,
          is_bot INTEGER NOT NULL, content TEXT NOT NULL, referenced_message_id TEXT);
        CREATE TABLE actions (id INTEGER PRIMARY KEY, created_at TEXT, guild_id TEXT,
          channel_id TEXT, message_id TEXT, user_id TEXT, kind TEXT, content TEXT, metadata TEXT,
          usd_cost REAL);
        CREATE TABLE memory_facts (id INTEGER PRIMARY KEY AUTOINCREMENT, created_at TEXT NOT NULL,
          updated_at TEXT NOT NULL, guild_id TEXT NOT NULL, channel_id TEXT, subject TEXT NOT NULL,
          fact TEXT NOT NULL, fact_type TEXT NOT NULL DEFAULT 'general', evidence_text TEXT,
          source_message_id TEXT, confidence REAL NOT NULL DEFAULT 0.5,
          is_active INTEGER NOT NULL DEFAULT 1);
        CREATE TABLE memory_fact_vectors_native (fact_id INTEGER, model TEXT, dims INTEGER,
          embedding_blob BLOB, updated_at TEXT);
        """
    )
    for guild in guilds:
        stamp = "2026-02-27T10:00:00.000Z"
        database.executemany(
            "INSERT INTO messages VALUES (?,?,?,?,?,?,?,?,?)",
            [
                (f"{guild}-1", stamp, guild, "c1", "7", "Ann", 0, said, None),
                (f"{guild}-2", stamp, guild, "c1", "0", "clanker", 1, "noted", f"{guild}-1"),
                (f"{guild}-3", stamp, None, "dm", "7", "Ann", 0, "psst", None),
            ],
        )
        database.executemany(
            "INSERT INTO memory_facts(created_at, updated_at, guild_id, channel_id, subject, fact,"
            " fact_type, evidence_text, source_message_id, confidence, is_active)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            [
                (stamp, stamp, guild, *fact)
                for fact in (
                    ("c1", "7", WALKS, "preference", "long walks", f"{guild}-1", 0.8, 1),
                    (None, "__lore__", "Memory line: the goat won.", "lore", None, None, 0.72, 1),
                    (None, "7", "Used to smoke.", "other", None, None, 0.4, 0),
                )
            ],
        )
    database.execute("INSERT INTO actions(kind, usd_cost) VALUES ('memory_fact', 0.1)")
    database.commit()
    database.close()
    return path


def test_clanker(tmp_path):
    space = make_space()
    report = import_twice(space, clanker(tmp_path / "clanker.db"))
    assert report.format == "clanker"
    walks = Fact.objects.get(space=space, text=WALKS)
    assert (walks.subject, walks.category, walks.confidence, walks.quote) == (
        "Ann",
        "preference",
        0.8,
        "long walks",
    )
    assert walks.message.text == "I love long walks"
    assert walks.chat is None
    lore = Fact.objects.get(space=space, kind="lore")
    assert lore.subject == Fact.LORE
    assert Fact.objects.get(space=space, text="Used to smoke.").status == "archived"
    assert Message.objects.get(space=space, role="assistant").reply_to == walks.message
    assert reasons(report) == ["action log", "no guild", "other table", "vectors"]


def test_clanker_asks_which_server(tmp_path):
    path, space = clanker(tmp_path / "clanker.db", guilds=("g1", "g2")), make_space()
    with pytest.raises(transfer.Refused, match=r"g1 \(3\), g2 \(3\)"):
        transfer.run(space, path, by=BY)
    report = import_twice(space, path, guild="g2")
    assert "other guild" in reasons(report)
    assert not Message.objects.filter(space=space, external_id__startswith="g1").exists()


JOURNAL = """# Daily Memory Log 2026-02-27

## Entries
- 2026-02-27T10:00:00.000Z | Ann (7) | [guild:g1 channel:c1] I love long walks
- 2026-02-27T11:00:00.000Z | Bo (8) | [guild:g1 channel:c2] only in the journal
- 2026-02-27T12:00:00.000Z | Cy (9) | [guild:g2 channel:c3] elsewhere
"""


def test_clanker_journals_fill_what_the_database_lost(tmp_path):
    space = make_space()
    clanker(tmp_path / "clanker.db")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-02-27.md").write_text(JOURNAL)
    (tmp_path / "memory/MEMORY.md").write_text("# Durable Memory Snapshot\n")
    (tmp_path / "clanker.db-wal").write_bytes(b"x")
    report = import_twice(space, tmp_path)
    assert report.format == "clanker"
    assert Message.objects.filter(space=space, author="Bo").exists()
    assert {"in the database", "other guild", "snapshot", "write-ahead"} <= set(reasons(report))


def test_a_clanker_file_is_never_written_to(tmp_path):
    path = clanker(tmp_path / "clanker.db")
    before = path.read_bytes()
    transfer.dry_run(make_space(), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["clanker.db"]


def damaged(path, at=5000):
    data = bytearray(path.read_bytes())
    for place in range(at, len(data), 37):
        data[place] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("at", [20, 100, 2000, 5000, 9000])
def test_a_damaged_clanker_file_is_a_sentence_or_a_report(tmp_path, at):
    path, space = clanker(tmp_path / "clanker.db"), make_space()
    damaged(path, at)
    said = ""
    try:
        transfer.run(space, path, "clanker", by=BY)
    except transfer.Refused as refused:
        said = str(refused)
    assert said.endswith(".") or not said
    assert bool(said) != Fact.objects.filter(space=space).exists()


def test_m7_a_clanker_file_whose_table_never_ends_is_not_read(tmp_path):
    path = tmp_path / "endless.db"
    database = sqlite3.connect(path)
    columns = "id, created_at, updated_at, guild_id, channel_id, subject, fact, fact_type"
    columns += ", evidence_text, source_message_id, confidence, is_active"
    selected = ", ".join(f"n AS {name.strip()}" for name in columns.split(","))
    database.execute(
        "CREATE VIEW memory_facts AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r)"
        f" SELECT {selected} FROM r"
    )
    database.close()
    began = time.process_time()
    with pytest.raises(transfer.Refused, match="no table memory_facts"):
        transfer.run(make_space(), path, "clanker", by=BY)
    assert time.process_time() - began < 5


def test_m7_a_small_clanker_file_does_not_grow_in_memory(tmp_path):
    """A view of messages that would be a gigabyte: the facts are read, the view is left alone."""
    path = clanker(tmp_path / "clanker.db")
    database = sqlite3.connect(path)
    columns = [row[1] for row in database.execute("PRAGMA table_info(messages)")]
    selected = ", ".join(f"hex(zeroblob(400000)) AS {name}" for name in columns)
    counted = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 2000)"
    database.execute("DROP TABLE messages")
    database.execute(f"CREATE VIEW messages AS {counted} SELECT {selected} FROM r")
    database.commit()
    database.close()
    space = make_space()
    tracemalloc.start()
    transfer.run(space, path, "clanker", by=BY)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert Fact.objects.filter(space=space).exists()
    assert not Message.objects.filter(space=space).exists()
    assert peak < 64 * 1024 * 1024


def test_t17_a_computed_column_of_a_clanker_file_is_not_read(tmp_path):
    path = tmp_path / "swelling.db"
    database = sqlite3.connect(path)
    database.execute(
        "CREATE TABLE memory_facts (guild_id, subject, fact AS (hex(zeroblob(400000))) VIRTUAL)"
    )
    database.execute("INSERT INTO memory_facts VALUES ('g1', 'Ana')")
    database.commit()
    database.close()
    with pytest.raises(transfer.Refused, match="no table memory_facts"):
        transfer.run(make_space(), path, "clanker", by=BY)


def test_a_huge_clanker_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("memory.transfer.readers.clanker.FILE_LIMIT", 1000)
    with pytest.raises(transfer.Refused, match="larger"):
        transfer.run(make_space(), clanker(tmp_path / "clanker.db"), "clanker", by=BY)


def naughty_chatgpt():
    mapping = {str(n): node(str(n), None, text=line) for n, line in enumerate(LINES)}
    mapping |= {
        f"b{n}": node(f"b{n}", None, text=line, recipient="bio") for n, line in enumerate(LINES)
    }
    return [{"title": LINES[5], "id": LINES[7], "mapping": mapping}]


def naughty_claude():
    said = [{"uuid": f"u{n}", "sender": "human", "text": line} for n, line in enumerate(LINES)]
    return [{"uuid": LINES[3], "name": LINES[4], "chat_messages": said}]


def naughty_mem0():
    return [{"memory": line, "user_id": line} for line in ["first", *LINES]]


@pytest.mark.parametrize(
    "made", [naughty_chatgpt, naughty_claude, naughty_mem0], ids=lambda made: made.__name__
)
def test_t22_naughty_lines_pass_every_importer(tmp_path, made):
    space = make_space()
    report = import_twice(space, put(tmp_path / "conversations.json", made()))
    assert report.total("taken") > len(LINES) / 2


def test_t22_naughty_lines_pass_the_clanker_importer(tmp_path):
    space, path = make_space(), clanker(tmp_path / "clanker.db")
    database = sqlite3.connect(path)
    for number, line in enumerate(LINES):
        said = line.encode("utf-8", "replace").decode()
        row = (f"n{number}", said, "g1", said, said, said, 0, said, said)
        database.execute("INSERT INTO messages VALUES (?,?,?,?,?,?,?,?,?)", row)
        database.execute(
            "INSERT INTO memory_facts(created_at, updated_at, guild_id, subject, fact,"
            " evidence_text, source_message_id) VALUES (?,?,?,?,?,?,?)",
            (said, said, "g1", said, said, said, said),
        )
    database.commit()
    database.close()
    assert import_twice(space, path).total("taken") > len(LINES) / 2


def test_t18_a_giant_message_is_cut_and_says_so(tmp_path):
    space = make_space()
    giant = [
        {
            "uuid": "c",
            "chat_messages": [{"uuid": "m", "sender": "human", "text": "word " * 600_000}],
        }
    ]
    transfer.run(space, put(tmp_path / "conversations.json", giant), by=BY)
    message = Message.objects.get(space=space)
    assert len(message.text) <= 32768
    assert message.flags[0].startswith("truncated:3000000:")


@pytest.mark.parametrize(
    "given",
    [
        "[]",
        "{}",
        "[{}]",
        "null",
        '"x"',
        "[1]",
        '[{"mapping": {}}]',
        '[{"chat_messages": []}]',
        "[[[[[",
    ],
)
@pytest.mark.parametrize("format", ["chatgpt", "claude", "mem0"])
def test_json_of_another_shape_is_a_report(tmp_path, given, format):
    path = tmp_path / "conversations.json"
    path.write_text(given)
    report = transfer.run(make_space(), path, format, by=BY)
    assert all(line.why for line in report.lines if line.verdict == "skipped")
