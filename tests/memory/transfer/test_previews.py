"""What an import shows before and after it holds no secret of the file."""

import io
import json

import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command

from memory.models import ParcelLine
from memory.transfer import tasks
from memory.transfer.reports import READ, SHOWN, Report
from tests.factories import make_space

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("real_guard"),
]
# Put together here, so that no scanner takes this file for a leak.
TOKEN = "123456789:" + "AAHd" + "kF3x9Qz7" * 4 + "abc"
PASSWORD = "Zeta9" + "-horse-" + "Kiwi"
LINES = [
    f"My Telegram bot token is {TOKEN}",
    f"the wifi password is {PASSWORD}",
    f"Likes tea. My Telegram bot token is {TOKEN}, keep it",
]


def written(lines):
    rows = [{"id": str(n), "memory": line, "user_id": "ana"} for n, line in enumerate(lines)]
    return json.dumps(rows).encode()


def holds_secret(text):
    return TOKEN in text or PASSWORD in text


@pytest.mark.parametrize("status", ["ready", "applied"])
def test_the_lines_of_a_staged_file_are_redacted_before_they_are_stored(status):
    file = ContentFile(written(LINES), name="mem0.json")
    parcel = tasks.upload(make_space("casa"), file, by="person:ana", now=True)
    if status == "applied":
        tasks.start_step(parcel, status="applying", after=("ready",), asker="person:ana", now=True)
    kept = list(ParcelLine.objects.values_list("text", flat=True))
    assert len(kept) == len(LINES)
    assert all("[redacted:" in text for text in kept), kept
    assert not any(map(holds_secret, kept))


def test_the_dry_run_of_the_command_prints_no_secret(tmp_path):
    make_space("casa")
    (tmp_path / "mem0.json").write_bytes(written(LINES))
    out = io.StringIO()
    call_command("memory_import", "casa", str(tmp_path / "mem0.json"), stdout=out, verbosity=3)
    assert not holds_secret(out.getvalue())


def test_what_is_left_out_is_redacted_too():
    report = Report(format="mem0", source="x", space="casa")
    report.add("x:1", "fact", "skipped", text=LINES[0], reason="bad row")
    assert not holds_secret(json.dumps(report.as_dict(), default=str))


@pytest.mark.parametrize("before", range(READ - len(TOKEN) - 5, READ + 5, 7))
def test_a_secret_that_is_cut_in_two_is_not_shown_in_part(before):
    report = Report(format="mem0", source="x", space="casa")
    report.add("x:1", "fact", "taken", text=" " * before + TOKEN)
    assert TOKEN[10:20] not in report.lines[0].text


def test_a_long_text_without_spaces_is_still_shown():
    report = Report(format="mem0", source="x", space="casa")
    report.add("x:1", "fact", "taken", text="我喜欢喝茶" * READ)
    assert len(report.lines[0].text) >= SHOWN - 1
