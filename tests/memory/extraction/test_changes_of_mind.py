"""Which believed facts a new statement changes, in which chats, and what of them stays."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import transaction

from memory.extraction.changes_of_mind import find_superseded, give_way, settle
from memory.facts import service as facts
from memory.history import changes as history
from memory.models import Fact
from sleep.models import Proposal
from tests import kept
from tests.factories import make_chat, make_fact, make_message, make_space

DATA = Path(__file__).parents[2] / "data"
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def space(db):
    return make_space()


@pytest.fixture
def chat(space):
    return make_chat(space)


def believe(chat, text, *, hours=1, subject="Ana", **given):
    seen = NOW - timedelta(hours=hours)
    values = {"chat": chat, "subject": subject, "last_seen_at": seen, "created_at": seen} | given
    return make_fact(chat.space, text, **values)


def found(chat, text, subject="Ana", **given):
    return [one.fact.text for one in find_superseded(chat.space, chat, text, subject, **given)]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Package manager: npm", "Ana prefers Bun over npm", "supersedes"),
        ("Ana vive en Guadalajara", "I moved to Oaxaca", "supersedes"),
        ("Ana trabaja en el hospital", "ya no trabajo en el hospital", "ends"),
        ("Ana is allergic to peanuts", "I am not allergic to peanuts anymore", "ends"),
        ("Ana's favourite colour is blue", "mi color favorito es el verde", "supersedes"),
        ("Ana doesn't like cats very much", "Ana got a cat", "contradicts"),
    ],
)
def test_a_change_of_mind_finds_the_fact_and_says_what_happens_to_it(chat, old, new, kind):
    believe(chat, old)
    believe(chat, "Ana likes tea")
    ((fact, verdict),) = find_superseded(chat.space, chat, new, "Ana")
    assert (fact.text, verdict.kind) == (old, kind)


def test_the_newest_comes_first(chat):
    believe(chat, "Ana lives in Lima", hours=9)
    believe(chat, "Ana lives in Quito", hours=1)
    believe(chat, "Ana lives in Rome", hours=5)
    assert found(chat, "I moved to Oslo") == [
        "Ana lives in Quito",
        "Ana lives in Rome",
        "Ana lives in Lima",
    ]


def test_another_chat_is_out_of_reach_and_the_whole_space_only_on_request(chat, space):
    believe(make_chat(space), "Ana lives in Lima")
    make_fact(space, "Ana lives in Quito", subject="Ana")
    assert found(chat, "Ana moved to Oslo") == []
    assert found(chat, "Ana moved to Oslo", whole_space=True) == ["Ana lives in Quito"]


def test_another_space_is_another_world(chat):
    believe(make_chat(), "Ana lives in Lima")
    assert found(chat, "Ana moved to Oslo", whole_space=True) == []


def test_other_subjects_are_left_alone(chat):
    believe(chat, "Bo lives in Lima", subject="Bo")
    believe(chat, "Ana's sister lives in Quito")
    assert found(chat, "I moved to Oslo") == []


def test_only_what_is_believed_and_not_pinned_is_found(chat):
    believe(chat, "Ana lives in Lima", pinned=True)
    believe(chat, "Ana lives in Quito", status=Fact.Status.ARCHIVED)
    assert found(chat, "I moved to Oslo") == []


def test_a_borrowed_name_changes_nothing(chat):
    real = make_message(chat, "I live in Lima", author="Ana", author_id="7")
    thief = make_message(chat, "I moved to Oslo", author="Ana", author_id="666")
    believe(chat, "Ana lives in Lima", message=real)
    assert found(chat, "I moved to Oslo", speaker=thief) == []
    again = make_message(chat, "I moved to Oslo", author="Ana", author_id="7")
    assert found(chat, "I moved to Oslo", speaker=again) == ["Ana lives in Lima"]


def test_what_has_no_subject_is_found_by_its_words(chat):
    believe(chat, "The port of n8n is 5678", subject="")
    believe(chat, "The port of Caddy is 443", subject="")
    assert found(chat, "El puerto de n8n es 5679", subject="") == ["The port of n8n is 5678"]


def test_one_query_however_much_is_known_and_one_for_what_gives_way(
    chat, django_assert_num_queries
):
    for n in range(30):
        believe(chat, f"Ana likes thing number {n}")
    believe(chat, "Ana lives in Lima")
    with django_assert_num_queries(1):
        assert found(chat, "I like swimming") == []
    with django_assert_num_queries(2):
        assert found(chat, "I moved to Oslo") == ["Ana lives in Lima"]


def test_what_else_the_old_fact_told_stays_believed_and_one_undo_brings_all_back(chat):
    believe(chat, "Ana lives in Valencia with partner Marc and two cats")
    done = facts.remember(
        chat.space, text="Ana moved to Barcelona", by="tag", chat=chat, subject="Ana", now=NOW
    )
    (old,) = find_superseded(chat.space, chat, done.row.text, "Ana", ignore=done.row)
    changed = give_way(old, new=done.row, by="tag", now=NOW)
    assert sorted(Fact.objects.live().values_list("text", flat=True)) == [
        "Ana lives with partner Marc and two cats",
        "Ana moved to Barcelona",
    ]
    assert Fact.objects.get(status="superseded").superseded_by == done.row
    history.undo_context(changed.change_id, by="person:ana")
    assert sorted(Fact.objects.live().values_list("text", flat=True)) == [
        "Ana lives in Valencia with partner Marc and two cats",
        "Ana moved to Barcelona",
    ]


PAIRS = [
    line.split("\t")
    for line in (DATA / "changes_of_mind.tsv").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_every_change_of_mind_supersedes_or_asks_at_once(chat):
    wrong = []
    for _, old, new in PAIRS:
        kept.forget()  # each pair is the first that this space hears
        with transaction.atomic():
            if not supersedes_or_asks(chat, old, new):
                wrong.append((old, new))
            transaction.set_rollback(True)
    assert wrong == []


def supersedes_or_asks(chat, old, new) -> bool:
    """One of the two, and what was superseded is among what had to go."""
    old = believe(chat, old)
    message = make_message(chat, text=new, author="Ana", sent_at=NOW)
    said = facts.remember(chat.space, text=new, by="extraction", chat=chat, subject="Ana",
                          message=message, now=NOW).row  # fmt: skip
    gone = settle(said, message=message, by="extraction", now=NOW)
    old.refresh_from_db()
    asked = Proposal.objects.filter(space=chat.space, kind="supersede", title=new[:200])
    return (old.superseded_by == said) == (old in gone) != asked.exists()
