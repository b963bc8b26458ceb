"""T-17 again, for tapes: what zip files may not do, tar files may not do either."""

import gzip
import io
import os
import tarfile

import pytest

from memory import transfer
from memory.models import Fact
from memory.transfer.containers import safe, trees
from tests.factories import make_space
from tests.memory.transfer import kenobot_tree as tree
from tests.memory.transfer.test_t17_hostile_files import NAMES, measured, reason_of

MB = safe.MB


def tar_of(path, members, *, mode="w", **options):
    """A tar of (name or TarInfo, bytes)."""
    with tarfile.open(path, mode, **options) as made:
        for info, data in members:
            if not isinstance(info, tarfile.TarInfo):
                info = tarfile.TarInfo(info)
                info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return path


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("name", [n for n in NAMES if "//" not in n], ids=ascii)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name, mode):
    assert reason_of(tar_of(tmp_path / "x.tar", [(name, b"x")], mode=mode)) == NAMES[name]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (tarfile.SYMTYPE, "link"),
        (tarfile.LNKTYPE, "link"),
        (tarfile.FIFOTYPE, "special"),
        (tarfile.CHRTYPE, "special"),
        (tarfile.BLKTYPE, "special"),
        (tarfile.GNUTYPE_SPARSE, "special"),
        (b"Z", "special"),
    ],
)
def test_what_is_no_file_is_refused(tmp_path, kind, reason):
    path = tar_of(tmp_path / "x.tar", [special("a.md", kind, "/etc/passwd")])
    assert reason_of(path) in {reason, "tar"}


def test_a_link_is_refused_also_as_a_folder(tmp_path):
    members = [special("memory", tarfile.SYMTYPE, "/etc"), ("memory/passwd", b"x")]
    assert reason_of(tar_of(tmp_path / "x.tar", members)) == "link"


def test_two_files_of_one_name_are_refused(tmp_path):
    assert reason_of(tar_of(tmp_path / "x.tar", [("a.md", b"1"), ("./a.md", b"2")])) == "duplicate"


def test_a_bomb_is_refused_before_it_is_let_out(tmp_path):
    path = tar_of(tmp_path / "x.tgz", [("a.md", bytes(4 * MB))], mode="w:gz")
    assert reason_of(path) == "ratio"


def test_much_in_all_is_refused(tmp_path):
    members = [(f"{n}.md", os.urandom(MB)) for n in range(5)]
    assert reason_of(tar_of(tmp_path / "x.tar", members), total=4 * MB) == "total"
    path = tar_of(tmp_path / "y.tgz", [("a.md", os.urandom(20 * MB))], mode="w:gz")
    assert reason_of(path, total=MB) == "total"


def test_a_large_file_and_many_files_are_refused(tmp_path):
    assert reason_of(tar_of(tmp_path / "x.tar", [("a.md", bytes(5 * MB + 1))])) == "size"
    many = [(f"{n}.md", b"") for n in range(21)]
    assert reason_of(tar_of(tmp_path / "y.tar", many), files=20) == "files"


@pytest.mark.parametrize("keep", [3, 300, 600, 1100])
def test_a_tar_that_breaks_off_is_refused(tmp_path, keep):
    for mode in ("w", "w:gz"):
        path = tar_of(tmp_path / "x.tar", [("a.md", os.urandom(900))], mode=mode)
        path.write_bytes(path.read_bytes()[: keep if mode == "w" else max(keep // 2, 12)])
        if keep > 500 or mode == "w:gz":
            assert reason_of(path) in {"tar", "packed"}


def test_a_size_below_nothing_goes_nowhere(tmp_path):
    """A member whose size is negative would lead the reader back to itself, for ever."""
    path = tar_of(tmp_path / "x.tar", [("a.md", b"x")], format=tarfile.GNU_FORMAT)
    data = bytearray(path.read_bytes())
    data[124:136] = b"\xff" * 10 + b"\xfc\x00"
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\x00 " % sum(data[:512])
    path.write_bytes(data)
    assert reason_of(path) in {"tar", "files", "duplicate"}


def test_a_header_that_wants_all_memory_is_refused(tmp_path):
    long = tarfile.TarInfo("x")
    long.type, long.size = tarfile.XHDTYPE, 64 * MB
    path = tar_of(tmp_path / "x.tar", [(long, bytes(64 * MB))])
    assert reason_of(path) == "tar"


def test_a_gzip_that_is_no_tar_is_named(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"hello" * 200))
    assert reason_of(tmp_path / "x.gz") == "packed"


def test_a_gzip_bomb_costs_little(tmp_path):
    path = tar_of(tmp_path / "x.tgz", [("a.md", bytes(256 * MB))], mode="w:gz")
    reasons, grown, seconds = measured(path)
    assert reasons == ["ratio"]
    assert grown < 64
    assert seconds < 5


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tree_in_a_tar_imports_like_the_folder(tmp_path, mode):
    folder, space, other = tree.write_flat(tmp_path / "bot"), make_space(), make_space()
    with tarfile.open(tmp_path / "bot.tar", mode) as made:
        made.add(folder, arcname=".")
    assert transfer.detect(tmp_path / "bot.tar") == "kenobot"
    packed = transfer.run(space, tmp_path / "bot.tar", by="person:ana")
    loose = transfer.run(other, folder, by="person:ana")
    assert packed.counts == loose.counts
    assert Fact.objects.filter(space=space).count() == Fact.objects.filter(space=other).count() > 0


def test_nothing_is_left_of_a_tar_that_was_let_out(tmp_path):
    path = tar_of(tmp_path / "x.tgz", [("memory/MEMORY.md", b"- a fact\n")], mode="w:gz")
    with trees.opened(path) as found:
        assert safe.read_text(found, "memory/MEMORY.md") == "- a fact\n"
    assert list(tmp_path.rglob("*")) == [path]
