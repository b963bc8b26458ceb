"""The embedded Postgres, for real: every way it may start, stop, break and come back."""

import os
import stat
import subprocess

import psutil
import psycopg
import pytest

from kenoweb.launcher import embedded_postgres
from kenoweb.launcher.embedded_account import SOCKET, EmbeddedError, place
from tests.kenoweb.servers import (
    IS_ROOT,
    QUICK,
    Homes,
    add_row,
    in_use,
    only_root,
    rows,
    server_pid,
    value,
)

pytestmark = pytest.mark.processes


@pytest.fixture
def homes():
    made = Homes()
    yield made
    made.clear()


@pytest.fixture
def home(homes):
    return homes.new()


def kill_server(home):
    server = psutil.Process(server_pid(home))
    server.kill()
    assert gone(server)


def gone(process: psutil.Process) -> bool:
    return not psutil.wait_procs([process], timeout=10)[1]


def test_a_cold_start_gives_a_server_that_only_we_can_reach(home):
    with embedded_postgres.session(home) as url:
        assert url == embedded_postgres.url(home)
        folder = place(home).socket_folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(place(home).data.stat().st_mode) == 0o700
        assert value(url, "SHOW listen_addresses") == ""
        assert value(url, "SHOW max_parallel_maintenance_workers") == "0"
        assert value(url, "SHOW fsync") == "on"


def test_it_speaks_unicode_and_vectors(home):
    with embedded_postgres.session(home, options=QUICK) as url, psycopg.connect(url) as connection:
        assert value(url, "SELECT lower('ÁÑ')") == "áñ"
        assert value(url, "SELECT 'Z' < 'a'")
        connection.execute("CREATE EXTENSION vector")
        near, far = [*range(1, 17)], [9] * 16
        connection.execute("CREATE TABLE v (e vector(16))")
        connection.execute("INSERT INTO v VALUES (%s::vector), (%s::vector)", [str(near), str(far)])
        connection.execute("CREATE INDEX ON v USING hnsw (e vector_cosine_ops)")
        ordered = "SELECT e::text FROM v ORDER BY e <=> %s::vector LIMIT 1"
        nearest = connection.execute(ordered, [str(near)]).fetchone()[0]
        assert nearest == str(near).replace(" ", "")


def test_a_warm_start_finds_the_rows_and_a_clean_stop_leaves_nothing_running(home):
    with embedded_postgres.session(home, options=QUICK) as url:
        add_row(url, "kept")
        server = psutil.Process(server_pid(home))
    assert gone(server)
    assert not embedded_postgres.running(home)
    with embedded_postgres.session(home, options=QUICK) as url:
        assert rows(url) == ["kept"]


def test_several_processes_starting_at_once_share_one_server(homes, home):
    visitors = [homes.visit(home, f"row {n}") for n in range(4)]
    starts = {visitor.stdout.readline() for visitor in visitors}
    assert len(starts) == 1
    assert starts != {""}
    with embedded_postgres.session(home, options=QUICK) as url:
        assert rows(url) == [f"row {n}" for n in range(4)]
    assert embedded_postgres.running(home)  # they are still there
    for visitor in visitors:
        visitor.stdin.close()
        assert visitor.wait() == 0
    assert not embedded_postgres.running(home)


def test_a_killed_process_does_not_keep_the_server_alive(homes, home):
    visitor = homes.visit(home, "from the dead")
    visitor.stdout.readline()
    visitor.kill()
    visitor.wait()
    assert embedded_postgres.running(home)
    assert not in_use(home)
    with embedded_postgres.session(home, options=QUICK) as url:
        assert rows(url) == ["from the dead"]
    assert not embedded_postgres.running(home)


def test_rows_survive_kill_nine_of_postgres(home):
    with embedded_postgres.session(home) as url:
        add_row(url, "committed")
        kill_server(home)
        assert not embedded_postgres.running(home)
        embedded_postgres.start(home)
        assert rows(url) == ["committed"]


def test_kill_nine_with_open_connections_waits_for_the_old_processes_to_go(home):
    url = embedded_postgres.start(home, options=QUICK)
    connection = psycopg.connect(url)
    connection.execute("SELECT 1")
    kill_server(home)
    embedded_postgres.start(home, options=QUICK)
    connection.close()
    assert value(url, "SELECT 1") == 1


def test_rows_survive_an_unclean_stop(home):
    url = embedded_postgres.start(home)
    add_row(url, "committed")
    place(home).run("pg_ctl", "stop", "-s", "-m", "immediate", "-D", place(home).data)
    embedded_postgres.start(home)
    assert rows(url) == ["committed"]


def test_a_stale_note_that_names_another_live_process_is_not_believed(home):
    url = embedded_postgres.start(home, options=QUICK)
    add_row(url, "kept")
    here = place(home)
    notes = [here.data / "postmaster.pid", here.socket_folder / f"{SOCKET}.lock"]
    texts = [note.read_text().split("\n") for note in notes]
    embedded_postgres.stop(home)
    for note, lines in zip(notes, texts, strict=True):
        note.write_text("\n".join([str(os.getppid()), *lines[1:]]))
    assert not embedded_postgres.running(home)
    embedded_postgres.start(home, options=QUICK)
    assert rows(url) == ["kept"]


def test_a_stale_note_that_names_another_postgres_is_not_believed_either(homes):
    home, other = homes.new("one"), homes.new("two")
    embedded_postgres.start(other, options=QUICK)
    url = embedded_postgres.start(home, options=QUICK)
    embedded_postgres.stop(home)
    (place(home).data / "postmaster.pid").write_text(f"{server_pid(other)}\n")
    embedded_postgres.start(home, options=QUICK)
    assert value(url, "SELECT 1") == 1
    embedded_postgres.stop(home)
    assert embedded_postgres.running(other)


def test_a_data_path_longer_than_a_socket_path_may_be(homes, monkeypatch):
    long = "/".join(["a-very-long-folder-name-that-goes-on"] * 5)
    monkeypatch.setenv("KENO_POSTGRES_DIR", str(homes.folder / long))
    home = homes.new(f"{long}/it's a \\ home")
    with embedded_postgres.session(home, options=QUICK) as url:
        add_row(url, "far away")
        folder = place(home).socket_folder
        assert len(os.fsencode(folder / SOCKET)) < 100
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert folder == place(home).socket_folder
    assert len({place(homes.new(f"{long}/{n}")).socket_folder for n in "ab"}) == 2


def test_a_socket_folder_laid_as_a_trap_is_refused(homes, monkeypatch):
    long = "/".join(["a-very-long-folder-name-that-goes-on"] * 5)
    monkeypatch.setenv("KENO_POSTGRES_DIR", str(homes.folder / long))
    home = homes.new(long)
    trap = place(home).socket_folder
    trap.symlink_to(homes.folder)
    try:
        with pytest.raises(EmbeddedError, match="belongs to somebody else"):
            embedded_postgres.start(home, options=QUICK)
    finally:
        trap.unlink()


def test_an_initdb_that_was_interrupted_is_begun_again(homes, home):
    visitor = homes.visit(home, "never")
    while not list(place(home).base.glob("postgres.part-*/PG_VERSION")):
        assert visitor.poll() is None
    visitor.kill()
    visitor.wait()
    assert not place(home).data.exists()
    url = embedded_postgres.start(home, options=QUICK)
    add_row(url, "second try")
    assert rows(url) == ["second try"]
    assert not list(place(home).base.glob("postgres.part-*"))


def test_data_of_another_postgres_version_is_left_alone(home):
    embedded_postgres.start(home, options=QUICK)
    embedded_postgres.stop(home)
    (place(home).data / "PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match=r"written by PostgreSQL 16 .* restore it"):
        embedded_postgres.start(home, options=QUICK)


def test_a_folder_of_other_things_is_not_taken_for_a_database(home):
    place(home).data.mkdir(parents=True)
    (place(home).data / "thesis.txt").write_text("chapter 1")
    with pytest.raises(EmbeddedError, match="is not a database of Keno's"):
        embedded_postgres.start(home, options=QUICK)
    assert (place(home).data / "thesis.txt").read_text() == "chapter 1"


def test_what_postgres_says_reaches_the_person(home):
    with pytest.raises(EmbeddedError, match=r"does not start: FATAL: .*contains errors.*\.log"):
        embedded_postgres.start(home, options={"no_such_setting": 1})


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "initdb: error: could not write: No space left on device",
            "The disk that holds .* is full",
        ),
        (
            "could not resize shared memory segment: No space left on device",
            r"\(/dev/shm\) is full",
        ),
        ("initdb: could not look up effective user ID 1234: user does not exist", "/etc/passwd"),
        ("", "no reason given"),
    ],
)
def test_known_troubles_get_a_sentence_that_says_what_to_do(home, words, sentence):
    from kenoweb.launcher.embedded_postgres import explain

    with pytest.raises(EmbeddedError, match=sentence):
        raise EmbeddedError(explain(place(home), words))


@only_root
def test_a_full_disk_is_named_and_nothing_half_made_is_left(homes, monkeypatch):
    home, disk = homes.new(), homes.folder / "pg"
    disk.mkdir()
    monkeypatch.setenv("KENO_POSTGRES_DIR", str(disk))
    mount = ["mount", "-t", "tmpfs", "-o", "size=45m,mode=755"]
    if subprocess.run([*mount, "keno-test", disk], capture_output=True).returncode:
        pytest.skip("this root may not mount")
    try:
        with pytest.raises(EmbeddedError, match=f"The disk that holds {disk}.* is full: free some"):
            embedded_postgres.start(home)
        assert not place(home).data.exists()
        subprocess.run(["mount", "-o", "remount,size=400m", disk], check=True)
        add_row(embedded_postgres.start(home), "room again")
        assert rows(embedded_postgres.url(home)) == ["room again"]
        embedded_postgres.stop(home)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_the_log_never_holds_what_was_remembered(home):
    url = embedded_postgres.start(home, options=QUICK)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE diary (line text UNIQUE)")
        connection.execute("INSERT INTO diary VALUES ('a private matter')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO diary VALUES ('a private matter')")
    assert "diary_line_key" in place(home).log.read_text()
    assert "private" not in place(home).log.read_text()


def test_the_data_can_be_found_from_home(home):
    embedded_postgres.start(home, options=QUICK)
    assert (home / "postgres" / "PG_VERSION").read_text() == "18\n"
    if IS_ROOT:
        assert (place(home).base / "belongs-to").read_text() == f"{home}\n"
