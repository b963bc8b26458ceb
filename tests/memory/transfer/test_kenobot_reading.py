"""Every file of a KenoBot tree is read in every shape, and every line is taken or explained."""

import json
from datetime import UTC, datetime

import pytest

from memory.transfer import containers
from memory.transfer import reports as reasons
from memory.transfer.items import Left, Place
from memory.transfer.kenobot import daily_log, memory_md, reader, small_files
from memory.transfer.kenobot import (
    reader as reading,
)
from tests.memory.transfer import kenobot_tree as tree


def read_all(root):
    with containers.opened(root) as opened:
        return list(reading.read(opened))


def of_kind(found, kind):
    return [each for each in found if each.kind == kind]


@pytest.mark.parametrize("name", tree.LAYOUTS)
def test_every_file_and_every_line_is_taken_or_explained(tmp_path, name):
    root = tree.LAYOUTS[name](tmp_path / ".kenobot")
    found = read_all(root)
    assert {each.path for each in found} == {
        str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()
    }
    for path in {each.path for each in found if each.line}:
        spans = [(each.line, each.end or each.line) for each in found if each.path == path]
        covered = {n for first, last in spans for n in range(first, last + 1)}
        lines = (root / path).read_text().split("\n")
        assert [n for n, line in enumerate(lines, 1) if line.strip() and n not in covered] == []
    assert {each.reason for each in found if each.kind == "left"} <= set(reasons.REASONS)


def test_the_flat_layout_gives_what_was_put_in(tmp_path):
    found = read_all(tree.write_flat(tmp_path))
    facts = {(each.text, each.subject, each.category, each.chat) for each in of_kind(found, "fact")}
    assert facts == {
        ("Name: Adrian", "My Human", "other", ""),
        ("Language: Spanish (primary), English (technical)", "Adrian", "other", ""),
        ("Style: direct; no filler phrases", "Adrian", "other", ""),
        ("Prefers concise responses", "", "preference", ""),
        ("n8n webhooks want the token in the query", "", "other", ""),
        ("Prefiere español para lo cotidiano", "", "other", ""),
        ("Birthday: March 15", "", "other", ""),
        ("This chat is about KenoBot", "", "other", tree.CHAT),
    }
    assert [each.text for each in of_kind(found, "message")] == [
        "hello",
        "Hi! What are we doing today?",
        "¿y ahora?",
    ]
    assert [each.slug for each in of_kind(found, "pattern")] == ["n8n_auth_401"]
    assert {each.chat: each.text for each in of_kind(found, "working note")} == {
        tree.CHAT: "Debugging n8n webhook 401 error",
        tree.GROUP: "Waiting for the electrician",
    }
    assert [each.text for each in of_kind(found, "preference")] == [
        "Length: concise",
        "Never send emails without confirmation",
        "learned: likes bullet points",
    ]
    assert of_kind(found, "identity")[0].text.endswith("Adrian's assistant")
    assert of_kind(found, "chat")[0].context.startswith("Type: Work group")


def test_the_planned_layout_gives_what_was_put_in(tmp_path):
    found = read_all(tree.write_planned(tmp_path))
    facts = {each.fact_kind: (each.text, each.chat) for each in of_kind(found, "fact")[:-1]}
    assert facts["concept"] == ("n8n uses auth in query params", "")
    assert facts["procedure"] == (
        "How to debug n8n webhooks 401: 1. Check the query 2. Check headers",
        "",
    )
    lesson = next(each for each in of_kind(found, "fact") if each.fact_kind == "lesson")
    assert lesson.text == (
        "Assumed Bearer token: Error: Suggested it unseen Lesson: Read the docs first"
    )
    assert lesson.at == datetime(2026, 2, 13, tzinfo=UTC)
    assert {each.chat for each in of_kind(found, "episode")} == {"", tree.GROUP}
    assert {(each.text, each.chat) for each in of_kind(found, "fact")} >= {
        ("In this chat we talk about n8n", tree.GROUP)
    }
    assert {each.slug for each in of_kind(found, "rule")} == {"be-brief", "forbidden"}


@pytest.mark.parametrize("prefix", ["", ".kenobot/", "backup 3/.kenobot/", "memory-only"])
def test_the_tree_is_found_wherever_it_lies(prefix):
    if prefix == "memory-only":
        names = ["MEMORY.md", "chats/telegram-1/2026-02-13.md", "working/telegram-1.json"]
    else:
        names = [prefix + name for name in ("memory/MEMORY.md", "data/sessions/a-1.jsonl")]
    assert "unknown" not in {file.what for file in reader.classify_files(names)}
    assert reader.is_kenobot(names)


def test_26_only_dated_files_are_daily_logs_and_in_order():
    names = ["2026-02-12.md", "2026-02-11.md", "MEMORY.md", "other.txt"]
    daily = sorted(file.name for file in reader.classify_files(names) if file.what == "daily")
    assert daily == ["2026-02-11.md", "2026-02-12.md"]


@pytest.mark.parametrize("key", ["..", "a.b", "a b", "a%2fb"])
def test_28_a_chat_whose_key_could_be_a_path_is_left_out(tmp_path, key):
    tree.put(tmp_path / f"memory/chats/{key}x/MEMORY.md", "- a fact\n")
    (left,) = read_all(tmp_path)
    assert (left.kind, left.reason) == ("left", "chat key")


def test_29_a_corrupt_line_loses_only_itself(tmp_path):
    found = read_all(tree.write_flat(tmp_path))
    session = [each for each in found if each.path.endswith(".jsonl") and each.line]
    assert [(each.line, getattr(each, "reason", "")) for each in session] == [
        (1, ""),
        (2, ""),
        (3, "corrupt line"),
        (4, "unknown role"),
        (5, ""),
    ]


def log(words, **given):
    day = datetime(2026, 2, 13, tzinfo=UTC).date()
    return list(daily_log.read(words, day=day, place=Place("2026-02-13.md", **given)))


@pytest.mark.parametrize("dash", ["—", "–", "--", "-", "―"])
def test_25_an_entry_is_read_with_any_dash(dash):
    (entry,) = log(f"## 15:45 {dash} Test fact\n\n")
    assert (entry.body, entry.title) == ("Test fact", "")
    assert entry.at == datetime(2026, 2, 13, 15, 45, tzinfo=UTC)


def test_27_an_empty_log_has_no_entries_and_two_days_keep_their_own():
    assert log("") == []
    assert [each.body for each in log("## 01:00 — one\n\n## 02:00 — two\n")] == ["one", "two"]


def test_the_two_line_form_has_a_title():
    (entry,) = log("## 10:30 - User preference learned\nUser prefers concise responses\n")
    assert (entry.title, entry.body) == (
        "User preference learned",
        "User prefers concise responses",
    )
    assert (entry.line, entry.end) == (1, 2)


def test_front_matter_describes_the_episode_below_it():
    wrong, right = sorted(log(tree.CHAT_DAILY), key=lambda each: not each.discarded)
    assert right.title == "Conversation about n8n webhook auth"
    assert right.tags == ("n8n", "debugging", "webhook", "401")
    assert right.participants == ("Adrian",)
    assert right.at == datetime(2026, 2, 13, 14, 30, tzinfo=UTC)
    assert right.body.endswith("worked")
    assert (wrong.discarded, wrong.discard_reason) == (True, "Suggested a wrong solution")


def test_front_matter_above_timed_entries_is_theirs():
    first, second = log("---\ntags: [a, b]\n---\n\n## 09:00 — one\n\n## 10:00 — two\n")[1:]
    assert first.tags == second.tags == ("a", "b")


def test_a_rule_in_the_middle_of_an_entry_is_not_front_matter():
    (entry,) = log("## 09:00 — plan\nfirst\n\n---\n\nthen the rest\n")
    assert entry.body == "first\n\n---\n\nthen the rest"


def test_words_before_the_first_time_are_not_lost():
    title, loose, entry = log("# 2026-02-13\n\nwritten by hand\n\n## 09:00 — one\n")
    assert (title.reason, loose.body, entry.body) == ("heading", "written by hand", "one")


def test_an_impossible_time_loses_no_words():
    (entry,) = log("## 27:99 — never\n")
    assert (entry.body, entry.at.hour) == ("27:99 — never", 0)


def facts(words, kind="fact"):
    return list(memory_md.read(words, place=Place("MEMORY.md"), kind=kind))


@pytest.mark.parametrize(
    "line",
    ["- (pending)", "- **Name:** (pending)", "- Preferences: (to be learned)", "- Name:"],
)
def test_a_placeholder_is_no_fact(line):
    (left,) = facts(line)
    assert left.reason == "placeholder"


@pytest.mark.parametrize(
    "line", ["- Editor: (Neo)Vim", "- lives in Lisbon (pending a visa)", "- (he said) tea"]
)
def test_a_fact_in_parentheses_is_a_fact(line):
    assert facts(line)[0].kind == "fact"


def test_lines_of_a_paragraph_are_one_fact():
    (fact,) = facts("He works at night\nand sleeps until noon.\n")
    assert (fact.text, fact.line, fact.end) == ("He works at night and sleeps until noon.", 1, 2)


def test_lists_of_any_mark_are_facts():
    assert [each.text for each in facts("* a b\n+ c d\n1. e f\n• g h\n")] == [
        "a b",
        "c d",
        "e f",
        "g h",
    ]


@pytest.mark.parametrize("shape", ["bare", "wrapped"])
@pytest.mark.parametrize("case", ["camel", "snake"])
def test_n4_both_shapes_of_patterns_give_the_same_rows(shape, case):
    names = ("usageCount", "learnedFrom") if case == "camel" else ("usage_count", "learned_from")
    pattern = {"id": "p", "trigger": "t", "response": "r", "confidence": 0.9}
    pattern |= dict(zip(names, (5, "here"), strict=True))
    given = [pattern] if shape == "bare" else {"patterns": [pattern]}
    (found,) = small_files.read_patterns(json.dumps(given), place=Place("patterns.json"))
    assert (found.slug, found.use_count, found.learned_from, found.confidence) == (
        "p",
        5,
        "here",
        0.9,
    )


@pytest.mark.parametrize("given", ["", "{", "[]", "{}", '"x"', "[1]", '{"patterns": 3}', "[[[["])
def test_a_patterns_file_of_any_kind_never_fails(given):
    assert all(
        each.kind == "left"
        for each in small_files.read_patterns(given, place=Place("patterns.json"))
    )


def test_both_shapes_of_rules_are_read():
    (rule,) = small_files.read_rules(json.dumps(tree.RULES), place=Place("rules.json"))
    assert rule.slug == "no_filler"
    assert [each["phrase"] for each in rule.forbidden] == [
        "Excelente pregunta",
        "Con gusto te ayudo",
    ]
    tone, never = small_files.read_rules(json.dumps(tree.OLD_RULES), place=Place("rules.json"))
    assert (tone.category, tone.examples) == ("tone", ("Yes.", "No."))
    assert never.forbidden[0] == {"phrase": "as an AI", "reason": "empty words", "pattern": False}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("just text", {"notes": "just text"}),
        (json.dumps(tree.WORKING), {"task": tree.WORKING["task"], "pending": ("Check the URL",)}),
        ('{"content": "free", "updatedAt": 1739000000000}', {"notes": "free"}),
        ('{"task": "t", "mood": "good"}', {"task": "t", "notes": "mood: good"}),
        ("[1, 2]", {"notes": "[1, 2]"}),
    ],
)
def test_working_files_of_every_shape(given, expected):
    found = small_files.read_working_note(given, place=Place("w.json", chat="a-1"))
    assert {name: getattr(found, name) for name in expected} == expected


def test_the_time_of_a_working_note_is_its_field_before_its_file():
    place = Place("w.json", chat="a-1", modified=tree.WRITTEN)
    assert small_files.read_working_note("text", place=place).at == tree.WRITTEN
    dated = small_files.read_working_note(json.dumps(tree.WORKING), place=place)
    assert dated.at == datetime(2026, 2, 13, 18, tzinfo=UTC)


def test_bootstrap_state_is_not_what_somebody_said():
    found = small_files.read_working_note(json.dumps(tree.BOOTSTRAP_STATE), place=Place("w.json"))
    assert isinstance(found, Left)
    assert found.reason == "bootstrap state"


def test_the_newer_of_two_working_files_of_a_chat_counts(tmp_path):
    tree.put(tmp_path / "memory/working/a-1.md", "newer, by the time of the file")
    tree.put(tmp_path / "memory/working/a-1.json", json.dumps(tree.WORKING))
    found = read_all(tmp_path)
    assert [each.kind for each in found] == ["left", "working note"]
    assert found[0].reason == "older copy"


def test_preferences_keep_their_section():
    found = list(small_files.read_preferences(tree.PREFERENCES, place=Place("preferences.md")))
    taken = [(each.section, each.text) for each in found if each.kind == "preference"]
    assert taken[0] == ("Communication Style (observed)", "Length: concise")
    assert len(taken) == 3
