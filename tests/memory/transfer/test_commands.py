"""memory_export and memory_import: what they say, what they write, and how they end."""

import io
import json
import zipfile

import pytest
from django.core.management import CommandError, call_command

from memory.models import Fact
from memory.transfer import reports
from tests.factories import make_fact, make_space
from tests.memory.transfer import kenobot_tree as tree

pytestmark = pytest.mark.django_db(transaction=True)


def call(*args, **options):
    out = io.StringIO()
    call_command(*args, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def test_export_writes_a_file_that_import_brings_back(tmp_path):
    space, other = make_space("home"), make_space("away")
    make_fact(space, text="likes tea")
    path = tmp_path / "home.zip"
    assert "1 facts" in call("memory_export", "home", output=str(path))
    assert "1 taken" in call("memory_import", "away", str(path), apply=True)
    assert Fact.objects.get(space=other).text == "likes tea"


@pytest.mark.parametrize(("format", "ending"), [("kenobot", ".zip"), ("snapshot", ".MEMORY.md")])
def test_export_chooses_a_name(tmp_path, monkeypatch, format, ending):
    monkeypatch.chdir(tmp_path)
    make_fact(make_space("home"))
    call("memory_export", "home", format=format)
    (made,) = tmp_path.iterdir()
    assert made.name.startswith("home-")
    assert made.name.endswith(ending)


def test_export_does_not_replace_a_file_unasked(tmp_path):
    make_space("home")
    (tmp_path / "x.zip").write_text("precious")
    with pytest.raises(CommandError, match="--force"):
        call("memory_export", "home", output=str(tmp_path / "x.zip"))
    assert (tmp_path / "x.zip").read_text() == "precious"
    call("memory_export", "home", output=str(tmp_path / "x.zip"), force=True)
    assert zipfile.is_zipfile(tmp_path / "x.zip")


def test_a_failed_export_leaves_no_half_file(tmp_path, monkeypatch):
    make_space("home")

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("memory.transfer.export", fail)
    with pytest.raises(CommandError, match="No space left"):
        call("memory_export", "home", output=str(tmp_path / "x.zip"))
    assert list(tmp_path.iterdir()) == []


def test_import_is_dry_unless_told_otherwise(tmp_path):
    space = make_space("home")
    said = call("memory_import", "home", str(tree.write_flat(tmp_path)))
    assert "--apply" in said
    assert "memory/MEMORY.md:9" in said
    assert "A placeholder" in said
    assert not Fact.objects.filter(space=space).exists()


def test_import_answers_in_json(tmp_path):
    make_space("home")
    root = tree.write_flat(tmp_path)
    report = json.loads(call("memory_import", "home", str(root), json=True))
    assert report["format"] == "kenobot"
    assert report["dry"] is True
    assert report["totals"]["taken"] == sum(
        line["count"] for line in report["lines"] if line["verdict"] == "taken"
    )


def test_import_can_be_taken_back(tmp_path):
    space = make_space("home")
    said = call("memory_import", "home", str(tree.write_flat(tmp_path)), apply=True)
    change = said.rsplit("--undo ", 1)[1].strip()
    call("memory_import", "home", undo=change)
    assert not Fact.objects.live().filter(space=space).exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("memory_export", "nowhere"), "no space called nowhere"),
        (("memory_import", "nowhere", "x"), "no space called nowhere"),
        (("memory_import", "home"), "Say what to import"),
        (("memory_import", "home", "/no/such/file"), "cannot be read"),
        (("memory_import", "home", "--undo", "not-an-id"), "no such import"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(args, says):
    make_space("home")
    with pytest.raises(CommandError, match=says):
        call(*args)


def test_a_file_of_no_known_format_says_what_keno_reads(tmp_path):
    make_space("home")
    (tmp_path / "x.bin").write_bytes(bytes(100))
    with pytest.raises(CommandError, match="Clanker"):
        call("memory_import", "home", str(tmp_path / "x.bin"))


def test_the_bar_fits_its_line():
    assert reports.progress_line(5, 10, "facts", width=40).startswith("█" * 12 + "░" * 12)
    assert len(reports.progress_line(5, 10, "x" * 100, width=40)) == 40
    assert reports.progress_line(7, 0, "MEMORY.md") == "7 MEMORY.md"
