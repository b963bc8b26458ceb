import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text import frontmatter

SEED = """---
timestamp: 2026-02-13T14:30:00Z
session: telegram-123456789
participants: [Adrian]
tags: [n8n, debugging, webhook, 401]
---

## Conversation about n8n webhook auth

It failed."""


def test_the_block_of_the_seed_is_read():
    fields, body = frontmatter.parse(SEED)
    assert fields == {
        "timestamp": "2026-02-13T14:30:00Z",
        "session": "telegram-123456789",
        "participants": ["Adrian"],
        "tags": ["n8n", "debugging", "webhook", "401"],
    }
    assert body.startswith("## Conversation")


def test_what_was_read_is_written_the_same():
    assert frontmatter.render(*frontmatter.parse(SEED)) == SEED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "---",
        "---\nnever closed\n" * 3,
        "--- x\n---",
        "---\n" + "a: b\n" * 500 + "---\n",
    ],
)
def test_what_is_no_block_is_text(text):
    assert frontmatter.parse(text) == ({}, text)


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        ("tags:\n  - a\n  - b c", {"tags": ["a", "b c"]}),
        ("q: 'it''s'", {"q": "it's"}),
        ('q: "a\\nb"', {"q": "a\nb"}),
        ("tags: []\nempty:", {"tags": [], "empty": ""}),
        ("a: &x [1]\nb: *x", {"a": "&x [1]", "b": "*x"}),
        ("no colon here\n: x\n<<: *x\na: b", {"a": "b"}),
    ],
)
def test_other_ways_to_write_a_block(block, fields):
    found, _ = frontmatter.parse(f"---\n{block}\n---\n")
    assert {k: v or type(fields[k])() for k, v in found.items()} == fields


LINE = st.text(min_size=1).map(str.strip).filter(bool)


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True),
        LINE | st.lists(LINE, min_size=1),
        max_size=8,
    ),
    st.text(alphabet=st.characters(exclude_characters="\r", exclude_categories=["Cs"])),
)
def test_any_fields_and_any_text_come_back_the_same(fields, body):
    written = frontmatter.render(fields, body)
    if max(map(len, written.split("\n"))) < 4000:
        assert frontmatter.parse(written) == (fields, body)


@given(st.text())
def test_reading_never_fails(text):
    frontmatter.parse(text)
    frontmatter.parse(f"---\n{text}\n---\n{text}")
