"""A folder of Markdown files beside a space: both ways, by proposals only, nothing lost."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import settings as trying
from hypothesis import strategies as st

from memory import rulings
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.identity import rules
from memory.models import Entity, Episode, Fact, Notice, Rule
from memory.transfer import mirror_files
from sleep import mirror, proposals, tasks
from sleep.models import Proposal
from tests.factories import make_chat, make_entity, make_episode, make_fact, make_member, make_space

pytestmark = pytest.mark.django_db
ANA = "person:ana"


@pytest.fixture
def owner():
    member = make_member(space=make_space("home"))
    fact = make_fact(member.space, text="Ana likes green tea", category="preference")
    make_entity(member.space, fact=fact, aliases=["Anita"])
    make_fact(member.space, text="The boiler is from 1998", subject="")
    make_episode(member.space, title="Picnic", body="We ate by the river.\n\nIt rained.")
    rules.put(member.space, by=ANA, instruction="Answer in one sentence", slug="short")
    return member


@pytest.fixture
def folder(owner, tmp_path):
    mirror.sync(owner.space, tmp_path / "here")
    return tmp_path / "here"


def sync(owner, folder):
    return mirror.sync(owner.space, folder)


def change(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def files(folder):
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*.md")}


def on_disk(folder):
    pages = {name: text for name, text in files(folder).items() if name != "README.md"}
    found = (one for name, text in pages.items() for one in mirror_files.parse(name, text))
    return {one.key: one for one in found}


def approve(owner):
    (waiting,) = Proposal.objects.filter(status="pending")
    return proposals.approve(waiting, member=owner, digest=waiting.digest)


def test_people_facts_episodes_and_rules_are_files_a_person_can_read(folder):
    shown = files(folder)
    assert "Anita" in shown["people/ana.md"]
    assert "## Preferences\n\n- Ana likes green tea <!--" in shown["people/ana.md"]
    assert "- The boiler is from 1998" in shown["facts/general.md"]
    (episode,) = (text for name, text in shown.items() if name.startswith("episodes/"))
    assert "# Picnic\n\nWe ate by the river.\n\nIt rained.\n" in episode
    assert "Answer in one sentence" in shown["rules/short.md"]
    assert "proposal" in shown["README.md"]


def test_a_second_time_writes_nothing_and_asks_nothing(owner, folder):
    before = files(folder)
    (folder / mirror.STATE).unlink()
    done = sync(owner, folder)
    assert (done.written, done.asked, done.problems, files(folder)) == (0, [], [], before)


EDITS = [
    ("people/ana.md", "green tea", "black tea", "revise"),
    ("people/ana.md", "Anita", "Ani", "revise"),
    ("people/ana.md", "## Preferences", "## Lessons", "revise"),
    ("facts/general.md", "\n- The", "\n- The roof is new\n- The", "add"),
    ("episodes/*.md", "It rained.", "The sun shone.", "revise"),
    ("rules/short.md", "one sentence", "two sentences", "rule"),
]


@pytest.mark.parametrize(("name", "old", "new", "kind"), EDITS)
def test_a_change_on_disk_is_a_proposal_and_approved_the_same_on_both_sides(
    owner, folder, name, old, new, kind
):
    (file,) = folder.glob(name)
    change(file, old, new)
    before, kept = files(folder), list(Fact.objects.values("text", "kind"))
    (asked,) = sync(owner, folder).asked
    assert asked.kind == kind
    assert (list(Fact.objects.values("text", "kind")), files(folder)) == (kept, before)
    assert sync(owner, folder).asked == []
    approve(owner)
    done = sync(owner, folder)
    assert (done.asked, done.problems, done.conflicts) == ([], [], [])
    assert new.strip().removeprefix("- ").split("\n")[0] in file.read_text()
    assert on_disk(folder) == mirror_files.as_read(mirror_files.believed(owner.space))
    proposals.undo(asked, member=owner)
    sync(owner, folder)
    assert old.strip().removeprefix("- ") in file.read_text()


def test_a_rejected_change_gives_way_to_what_keno_believes(owner, folder):
    change(folder / "people/ana.md", "green tea", "black tea")
    (asked,) = sync(owner, folder).asked
    proposals.reject(asked, member=owner, digest=asked.digest)
    sync(owner, folder)
    assert "green tea" in (folder / "people/ana.md").read_text()


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("facts/general.md", lambda: Fact.objects.get(subject="").status == "archived"),
        ("episodes/*.md", lambda: Episode.objects.get().status == "discarded"),
        ("rules/short.md", lambda: Rule.objects.get(slug="short").status == "archived"),
    ],
)
def test_what_was_taken_away_is_asked_about_before_it_goes(owner, folder, name, gone):
    (file,) = folder.glob(name)
    file.unlink()
    assert len(sync(owner, folder).asked) == 1
    assert not gone()
    approve(owner)
    assert gone()
    sync(owner, folder)
    assert not file.exists()


def test_a_new_file_of_a_person_becomes_an_episode_and_facts(owner, folder):
    (folder / "episodes/today.md").write_text("# The fair\n\nWe rode the wheel.\n")
    (folder / "facts/bob.md").write_text("# Bob\n\n- Bob plays chess\n- Bob is tall\n")
    asked = sync(owner, folder).asked
    assert sorted(one.kind for one in asked) == ["add"] * 3
    for one in asked:
        proposals.approve(one, member=owner, digest=one.digest)
    sync(owner, folder)
    assert Episode.objects.get(title="The fair").body == "We rode the wheel."
    assert Fact.objects.filter(subject="Bob", status="active").count() == 2
    assert "episodes/today.md" not in files(folder)


def test_when_both_changed_the_conflict_is_shown_and_decided_by_a_person(owner, folder):
    fact = Fact.objects.get(subject="Ana")
    change(folder / "people/ana.md", "green tea", "black tea")
    facts.revise(fact, by=ANA, text="Ana likes mint tea")
    done = sync(owner, folder)
    assert "changed in Keno and on disk" in done.conflicts[0]
    assert "black tea" in (folder / "people/ana.md").read_text()
    (asked,) = done.asked
    assert "conflict" in asked.flags
    assert asked.before[f"fact:{fact.pk}"]["text"] == "Ana likes mint tea"
    assert Notice.objects.filter(kind="mirror").exists()
    approve(owner)
    fact.refresh_from_db()
    assert fact.text == "Ana likes black tea"


def test_changed_in_keno_and_taken_away_on_disk_it_is_written_again(owner, folder):
    facts.revise(Fact.objects.get(subject=""), by=ANA, text="The boiler is from 1999")
    (folder / "facts/general.md").unlink()
    assert len(sync(owner, folder).conflicts) == 1
    assert "1999" in (folder / "facts/general.md").read_text()


def test_forgotten_in_keno_it_leaves_the_folder(owner, folder):
    facts.forget(Fact.objects.get(subject=""), by=ANA)
    episodes.discard(Episode.objects.get(), by=ANA)
    sync(owner, folder)
    assert not any(name.startswith(("facts/", "episodes/")) for name in files(folder))


BAD = {
    "a line that is not a fact": (b"- one\n\nJust words\n", "line 3"),
    "a heading nobody knows": (b"## Whatever\n\n- one\n", "heading in line 1"),
    "half a merge of git": (b"<<<<<<< HEAD\n- one\n", "line 1"),
    "not text": (b"\xff\xfe\x00", "UTF-8"),
    "fields that are none": (b"---\nno fields\n---\n- one\n", "---"),
    "too long": (b"- " + b"x" * mirror.MAX_BYTES, "too long"),
    "a number of nobody": (b"- one <!-- 999999 -->\n", "not a memory"),
    "an empty item": (b"- <!-- 1 -->\n", "says nothing"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_read_is_named_and_left_as_it_is(owner, folder, case):
    written, why = BAD[case]
    change(folder / "facts/general.md", "1998", "1997")
    bad = folder / "facts/bad.md"
    bad.write_bytes(written)
    done = sync(owner, folder)
    assert why in done.problems[0]
    assert done.problems[0].startswith("facts/bad.md: ")
    assert bad.read_bytes() == written
    assert [one.kind for one in done.asked] == ["revise"]


def test_spoiling_a_file_of_ours_loses_nothing_and_asks_for_nothing(owner, folder):
    file = folder / "people/ana.md"
    good = file.read_text()
    file.write_text("oops")
    assert sync(owner, folder).asked == []
    file.write_text(good)
    done = sync(owner, folder)
    assert (done.asked, done.problems, file.read_text()) == ([], [], good)


def test_a_copied_line_is_named(owner, folder):
    file = folder / "facts/general.md"
    file.write_text(file.read_text() * 2)
    done = sync(owner, folder)
    assert "twice" in done.problems[0]
    assert done.asked == []


def test_an_emptied_folder_is_an_accident_and_written_again(owner, folder):
    for n in range(mirror.MAX_GONE):
        make_fact(owner.space, text=f"Shelf {n} holds jars", subject="Cellar")
    sync(owner, folder)
    before = files(folder)
    for name in before:
        (folder / name).unlink()
    done = sync(owner, folder)
    assert "missing at once" in done.problems[0]
    assert (done.asked, files(folder)) == ([], before)


def test_links_lead_nowhere_and_git_is_not_touched(owner, folder, tmp_path):
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref")
    outside = tmp_path / "outside.md"
    outside.write_text("- a secret of the machine\n")
    (folder / "facts/link.md").symlink_to(outside)
    make_fact(owner.space, text="The car is red", subject="", chat=make_chat(owner.space, "9"))
    (tmp_path / "elsewhere").mkdir()
    (folder / "chats").symlink_to(tmp_path / "elsewhere")
    done = sync(owner, folder)
    assert len(done.problems) == 2
    assert (done.asked, list((tmp_path / "elsewhere").iterdir())) == ([], [])
    assert (folder / ".git/HEAD").read_text() == "ref"


def test_private_chats_quarantine_and_canaries_stay_out(owner, folder):
    private = make_chat(owner.space, is_private=True)
    make_fact(owner.space, text="Zanzibar one", chat=private)
    make_fact(owner.space, text="Zanzibar two", status="quarantined")
    make_fact(owner.space, text="Zanzibar three", chat=make_chat(owner.space), tags=["canary"])
    make_episode(owner.space, body="Zanzibar four", chat=private)
    sync(owner, folder)
    assert "Zanzibar" not in "".join(files(folder).values())


def test_what_a_ruling_forbids_is_said_and_stays_on_disk_only(owner, folder):
    rulings.forbid(owner.space, text="The roof is new", by=ANA)
    (folder / "facts/roof.md").write_text("- The roof is new\n")
    done = sync(owner, folder)
    assert "ruling" in done.problems[0]
    assert (done.asked, (folder / "facts/roof.md").exists()) == ([], True)


@trying(max_examples=200, deadline=None)
@given(
    text=st.text(min_size=1, max_size=60).filter(mirror_files.escapes.escape_item),
    subject=st.text(max_size=30),
)
def test_whatever_is_written_is_read_back_the_same(text, subject):
    values = {"text": text, "subject": subject, "kind": "goal", "category": "profile"}
    made = [mirror_files.Item("fact:7", "facts/x.md", values)]
    once = list(mirror_files.parse("facts/x.md", mirror_files.render("facts/x.md", made)))
    again = list(mirror_files.parse("facts/x.md", mirror_files.render("facts/x.md", once)))
    assert once == again
    assert [one.key for one in once] == ["fact:7"]


def test_the_worker_keeps_the_folders_of_those_who_want_one(owner, settings, tmp_path):
    settings.KENO_MIRRORS = str(tmp_path)
    tasks.keep_mirrors(0)
    assert not (tmp_path / "home").exists()
    call_command("mirror", "home", "--watch")
    Fact.objects.filter(subject="").update(text="The boiler hums", updated_at=timezone.now())
    tasks.keep_mirrors(0)
    assert "hums" in (tmp_path / "home/facts/general.md").read_text()
    with pytest.raises(CommandError, match="no space"):
        call_command("mirror", "nowhere")
    assert Entity.objects.count() == 1
