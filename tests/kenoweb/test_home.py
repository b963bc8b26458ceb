"""KENO_HOME: closed, with one key that is made once, and never somebody else's folder."""

import stat
import threading

import pytest

from kenoweb import data_dir
from kenoweb.data_dir import NotReady


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_and_the_key_are_closed_to_others(tmp_path):
    data_dir.prepare(tmp_path / "deep" / "keno")
    assert mode(tmp_path / "deep" / "keno") == 0o700
    assert mode(tmp_path / "deep" / "keno" / "secret_key") == 0o600
    assert len(data_dir.read_secret(tmp_path / "deep" / "keno")) >= 64


def test_the_key_is_made_once(tmp_path):
    data_dir.prepare(tmp_path)
    key = data_dir.read_secret(tmp_path)
    data_dir.prepare(tmp_path)
    assert data_dir.read_secret(tmp_path) == key


def test_two_first_starts_at_once_agree_on_one_whole_key(tmp_path):
    keys, ready = set(), threading.Barrier(8)

    def start():
        ready.wait()
        data_dir.prepare(tmp_path)
        keys.add(data_dir.read_secret(tmp_path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_what_stands_open_is_closed(tmp_path):
    data_dir.prepare(tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "secret_key").chmod(0o644)
    data_dir.prepare(tmp_path)
    assert (mode(tmp_path), mode(tmp_path / "secret_key")) == (0o700, 0o600)


def test_a_folder_with_other_things_is_left_as_it_is(tmp_path):
    (tmp_path / "letters").mkdir()
    tmp_path.chmod(0o755)
    with pytest.raises(NotReady, match="holds other things: choose an empty folder"):
        data_dir.prepare(tmp_path)
    assert mode(tmp_path) == 0o755
    assert not (tmp_path / "secret_key").exists()


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "keno").write_text("not a folder")
    with pytest.raises(NotReady, match=r"KENO_HOME \(.*/keno\) cannot be used"):
        data_dir.prepare(tmp_path / "keno")


def test_the_folder_follows_the_environment(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.setenv("KENO_HOME", "~/memory")
    assert str(data_dir.path()) == "/home/ana/memory"
    monkeypatch.delenv("KENO_HOME")
    assert str(data_dir.path()) == "/home/ana/.keno"
