"""T-17: archives and folders made to do harm are refused by name, quickly and in little memory."""

import io
import os
import socket
import stat
import struct
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from pathlib import Path

import pytest

from memory.transfer import containers

ROOT = Path(__file__).resolve().parents[3]
MB = containers.MB


def zip_of(path, members):
    """A zip of {name or ZipInfo: bytes}, packed as well as it goes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            made.writestr(name, data)
    return path


def link(name, target):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target


def special(name, kind):
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o666) << 16
    return info, b""


def reason_of(path, **limits):
    with pytest.raises(containers.Refused) as refused:
        read_all(path, containers.Limits(**limits))
    assert str(refused.value).endswith(".")
    return refused.value.reason


def read_all(path, limits):
    with containers.opened(path, limits) as tree:
        containers.check_sizes(tree, tree.entries)
        return [containers.read(tree, name) for name in tree.entries]


NAMES = {
    "../escape.md": "traversal",
    "memory/../../escape.md": "traversal",
    "/etc/passwd": "absolute",
    "C:/windows/x.md": "absolute",
    "C:x.md": "absolute",
    "a\\..\\b.md": "name",
    "CON": "device",
    "memory/con.md": "device",
    "memory/Aux": "device",
    "COM1.txt": "device",
    "x" * 300 + ".md": "long name",
    "ñ" * 130 + ".md": "long name",
    "a/b/c/d/e/f/g/h.md": "depth",
    "a//b.md": "name",
    "a\nb.md": "name",
    "a\x7f.md": "name",
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    assert reason_of(zip_of(tmp_path / "x.zip", [(name, b"x")])) == NAMES[name]


def test_a_nul_in_a_name_is_refused(tmp_path):
    path = zip_of(tmp_path / "x.zip", [("MEMORY_md.txt", b"x")])
    path.write_bytes(path.read_bytes().replace(b"MEMORY_md", b"MEMORY\x00md"))
    assert reason_of(path) == "name"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(tmp_path):
    assert reason_of(zip_of(tmp_path / "x.zip", [("a.md", b"1"), ("a.md", b"2")])) == "duplicate"


def test_names_that_differ_only_in_composition_are_refused(tmp_path):
    pair = [("caf\u00e9.md", b"1"), ("cafe\u0301.md", b"2")]
    assert reason_of(zip_of(tmp_path / "x.zip", pair)) == "duplicate"


def test_a_link_in_a_zip_is_refused(tmp_path):
    assert reason_of(zip_of(tmp_path / "x.zip", [link("a.md", "/etc/passwd")])) == "link"


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK])
def test_a_device_in_a_zip_is_refused(tmp_path, kind):
    assert reason_of(zip_of(tmp_path / "x.zip", [special("a.md", kind)])) == "special"


def test_an_encrypted_member_is_refused(tmp_path):
    path = zip_of(tmp_path / "x.zip", [("a.md", b"x")])
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)
    assert reason_of(path) == "encrypted"


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    assert reason_of(zip_of(tmp_path / "x.zip", [("a.md", bytes(4 * MB))])) == "ratio"


def test_many_small_bombs_are_refused_together(tmp_path):
    members = [(f"{n}.md", bytes(200 * 1024)) for n in range(100)]
    assert reason_of(zip_of(tmp_path / "x.zip", members)) == "ratio"


def test_a_large_file_is_refused(tmp_path):
    members = [("a.md", os.urandom(5 * MB + 1))]
    assert reason_of(zip_of(tmp_path / "x.zip", members)) == "size"


def test_much_in_all_is_refused(tmp_path):
    members = [(f"{n}.md", os.urandom(1 * MB)) for n in range(5)]
    assert reason_of(zip_of(tmp_path / "x.zip", members), total=4 * MB) == "total"


def test_many_files_are_refused(tmp_path):
    members = [(f"{n}.md", b"") for n in range(10_001)]
    assert reason_of(zip_of(tmp_path / "x.zip", members)) == "files"


def test_a_size_that_lies_is_found_out(tmp_path):
    path = zip_of(tmp_path / "x.zip", [("a.md", bytes(range(256)) * 400)])
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(mark)
        data[at + offset : at + offset + 4] = struct.pack("<I", 10)
    path.write_bytes(data)
    assert reason_of(path) == "zip"


@pytest.mark.parametrize("keep", [10, 30, 60, 100])
def test_a_zip_that_breaks_off_is_refused(tmp_path, keep):
    path = zip_of(tmp_path / "x.zip", [("a.md", b"x" * 50)])
    path.write_bytes(path.read_bytes()[:keep])
    assert reason_of(path) == "zip"


def test_a_zip_in_a_zip_is_never_opened(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros", bytes(2 * MB))
    path = zip_of(tmp_path / "x.zip", [("lib 0.zip", inner.getvalue())])
    with containers.opened(path) as tree:
        assert list(tree.entries) == ["lib 0.zip"]


def test_other_kinds_of_archives_are_named(tmp_path):
    for start in (b"BZh9", b"\xfd7zXZ", b"7z\xbc\xaf"):
        (tmp_path / "x").write_bytes(start + bytes(20))
        assert reason_of(tmp_path / "x") == "packed"


def test_a_link_in_a_folder_is_refused(tmp_path):
    (tmp_path / "passwd.md").symlink_to("/etc/passwd")
    assert reason_of(tmp_path) == "link"


def test_a_linked_folder_in_a_folder_is_refused(tmp_path):
    (tmp_path / "etc").symlink_to("/etc")
    assert reason_of(tmp_path) == "link"


def test_a_pipe_and_a_socket_in_a_folder_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    assert reason_of(tmp_path) == "special"
    (tmp_path / "pipe.md").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        assert reason_of(tmp_path) == "special"


def test_a_file_that_becomes_a_link_after_the_listing_is_refused(tmp_path):
    (tmp_path / "a.md").write_text("mine")
    with containers.opened(tmp_path) as tree:
        (tmp_path / "a.md").unlink()
        (tmp_path / "a.md").symlink_to("/etc/passwd")
        with pytest.raises(containers.Refused):
            tree.open("a.md")


def test_a_folder_that_is_replaced_after_the_listing_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/passwd").write_text("mine")
    with containers.opened(tmp_path) as tree:
        (tmp_path / "in/passwd").unlink()
        (tmp_path / "in").rmdir()
        (tmp_path / "in").symlink_to("/etc")
        with pytest.raises(containers.Refused, match="changed"):
            tree.open("in/passwd")


def test_a_name_of_no_encoding_in_a_folder_is_refused(tmp_path):
    with open(os.fsencode(tmp_path) + b"/\xff\xfe.md", "w") as file:
        file.write("x")
    assert reason_of(tmp_path) == "name"


def test_a_deep_folder_is_refused(tmp_path):
    (tmp_path / "/".join("abcdefgh")).mkdir(parents=True)
    assert reason_of(tmp_path) == "depth"


def test_many_files_in_a_folder_are_refused(tmp_path):
    for n in range(21):
        (tmp_path / f"{n}.md").touch()
    assert reason_of(tmp_path, files=20) == "files"


def test_what_is_not_there_is_a_sentence(tmp_path):
    assert reason_of(tmp_path / "missing") == "unreadable"


def test_nothing_is_ever_written_beside_the_archive(tmp_path):
    path = zip_of(tmp_path / "x.zip", [("memory/MEMORY.md", b"- a fact\n")])
    with containers.opened(path) as tree:
        assert containers.read_text(tree, "memory/MEMORY.md") == "- a fact\n"
    assert list(tmp_path.rglob("*")) == [path]


# What a child says of itself: its own peak (getrusage would count its parent's memory, which the
# child had for a moment before it became another program) and the CPU's time, which a busy machine
# does not stretch.
MEASURED = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    import django
    django.setup()
    from memory.transfer import containers

    def peak():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))

    before, began = peak(), time.process_time()
    for path in sys.argv[1:]:
        try:
            with containers.opened(Path(path)) as tree:
                for name in tree.entries:
                    containers.read(tree, name)
                print("opened")
        except containers.Refused as refused:
            print(refused.reason)
    print(peak() - before)
    print(time.process_time() - began)
""")


def measured(*paths):
    """(what became of each, MB it grew by, seconds of CPU) in a process of its own."""
    command = [sys.executable, "-c", MEASURED, *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *reasons, grown, seconds = done.stdout.split()
    return reasons, float(grown), float(seconds)


@pytest.mark.processes
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_bombs_cost_little_memory_and_time(tmp_path):
    """A quarter of a gigabyte of zeros and a million names."""
    bomb, crowd = tmp_path / "bomb.zip", tmp_path / "crowd.zip"
    zip_of(bomb, [("a.md", bytes(256 * MB))])
    _crowd(crowd, 1_000_000)
    reasons, grown, seconds = measured(bomb, crowd)
    assert reasons == ["ratio", "files"]
    assert grown < 64
    assert seconds < 5


def _crowd(path, count):
    """A zip whose directory names one empty member many times."""
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 0, 0, 33, 0, 0, 0, 1, 0) + b"a"
    with path.open("wb") as file:
        file.write(local)
        entry = (b"PK\x01\x02", 20, 20, 0, 0, 0, 33, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0)
        head = struct.pack("<4s6H3I5H2I", *entry)
        size = file.write(b"".join(b"%s%08d" % (head, n) for n in range(count)))
        start = len(local)
        big = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, start)
        file.write(big + struct.pack("<4sIQI", b"PK\x06\x07", 0, start + size, 1))
        ends = (b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        file.write(struct.pack("<4s4H2IH", *ends))


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_refused_with_what_to_do(tmp_path, mode):
    with tarfile.open(tmp_path / "bot.tar", mode) as packed:
        packed.addfile(tarfile.TarInfo("memory/MEMORY.md"), io.BytesIO(b""))
    assert reason_of(tmp_path / "bot.tar") == "packed"
