"""Postgres never runs as root, and what belongs to one account stays closed to the others."""

import os
import pwd
import shutil
import stat
import subprocess

import psutil
import pytest

from kenoweb.launcher import embedded_account, embedded_postgres
from kenoweb.launcher.embedded_account import ACCOUNTS, EmbeddedError, open_folder, place, programs
from tests.kenoweb.servers import QUICK, ROOT, Homes, add_row, only_root, rows, server_pid, spawn

pytestmark = [only_root, pytest.mark.processes]


@pytest.fixture
def homes():
    made = Homes()
    yield made
    made.clear()


@pytest.fixture
def users_home(homes):
    """A home that an ordinary user may make."""
    folder = homes.folder / "user"
    folder.mkdir()
    shutil.chown(folder, "nobody")
    return homes.new("user/.keno")


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def said(process) -> str:
    """The last line a process wrote before it ended by itself."""
    return process.communicate()[1].strip().splitlines()[-1]


def test_for_root_the_server_runs_as_another_account(homes):
    home = homes.new()
    embedded_postgres.start(home, options=QUICK)
    server = psutil.Process(server_pid(home))
    assert server.username() in ACCOUNTS
    assert place(home).data.owner() == server.username()
    assert place(home).base.owner() == "root"


def test_for_root_a_closed_home_and_a_closed_checkout_are_no_obstacle(homes, monkeypatch):
    closed = homes.folder / "root"
    closed.mkdir(mode=0o700)
    for part in ("kenoweb", "tests"):
        shutil.copytree(ROOT / part, closed / "keno" / part)
    package = programs().parent.parent
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, closed / "keno" / folder.name, symlinks=True)
    open_place = homes.folder / "open"
    monkeypatch.setenv("KENO_POSTGRES_DIR", str(open_place))
    home = homes.new("root/.keno")
    visitor = homes.visit(home, "seen", env={"HOME": str(closed)}, path=[closed / "keno"])
    assert visitor.stdout.readline(), said(visitor)
    assert rows(embedded_postgres.url(home)) == ["seen"]
    copies = list(open_place.glob("pg-*"))
    assert [(copy.owner(), mode(copy)) for copy in copies] == [("root", 0o755)]
    assert mode(closed) == mode(home) == mode(place(home).data) == 0o700
    assert str(open_place) in psutil.Process(server_pid(home)).exe()


def test_the_account_that_runs_postgres_cannot_change_what_root_runs(homes):
    home = homes.new()
    embedded_postgres.start(home, options=QUICK)
    runner = spawn(
        "import os, sys\nfrom tests.kenoweb.servers import become\nbecome(sys.argv[1])\n"
        "print([path for path in sys.argv[2:] if os.access(path, os.W_OK)])",
        *(place(home).data.owner(), place(home).base, place(home).base.parent),
        *(place(home).programs, place(home).programs / "postgres"),
        place(home).base / "postgres.conf",
    )
    assert runner.communicate()[0] == "[]\n"


def test_root_does_not_follow_links_that_the_account_planted(users_home, homes):
    homes.visit(users_home, "first", account="nobody").communicate()
    treasure = homes.folder / "treasure"
    treasure.write_text("root's own")
    for name in ("gate.lock", "users.lock"):
        (users_home / name).unlink()
        (users_home / name).symlink_to(treasure)
        with (
            pytest.raises(EmbeddedError, match="symbolic links"),
            embedded_postgres.session(users_home),
        ):
            pass
        (users_home / name).unlink()
    assert (treasure.read_text(), treasure.owner()) == ("root's own", "root")


def test_two_first_starts_may_make_the_folder_at_the_same_time(tmp_path, monkeypatch):
    folder = tmp_path / "pg"
    make = type(folder).mkdir

    def second(self, **options):
        make(self)  # the other one was faster
        make(self, **options)

    monkeypatch.setattr(type(folder), "mkdir", second)
    open_folder(folder)
    assert mode(folder) == 0o755


def test_a_folder_that_root_cannot_write_is_named(homes, monkeypatch):
    monkeypatch.setenv("KENO_POSTGRES_DIR", "/proc/keno")
    with pytest.raises(EmbeddedError, match=r"cannot write /proc/keno .* set KENO_POSTGRES_DIR"):
        embedded_postgres.start(homes.new())


def test_a_folder_that_the_account_cannot_reach_is_named(homes, monkeypatch):
    (homes.folder / "closed").mkdir(mode=0o700)
    monkeypatch.setenv("KENO_POSTGRES_DIR", str(homes.folder / "closed" / "pg"))
    with pytest.raises(EmbeddedError, match=r"cannot run .*closed.* set KENO_POSTGRES_DIR"):
        embedded_postgres.start(homes.new())


def test_programs_that_somebody_else_put_there_are_not_run(homes, monkeypatch):
    monkeypatch.setenv("KENO_POSTGRES_DIR", str(homes.folder / "shared"))
    home = homes.new()
    embedded_postgres.start(home, options=QUICK)
    embedded_postgres.stop(home)
    os.chown(next((homes.folder / "shared").glob("pg-*")), pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(EmbeddedError, match="is not a folder of root's"):
        embedded_postgres.start(home, options=QUICK)


def test_an_ordinary_user_keeps_everything_at_home(homes, users_home):
    visitor = homes.visit(users_home, "mine", account="nobody")
    assert visitor.stdout.readline(), said(visitor)
    assert psutil.Process(server_pid(users_home)).username() == "nobody"
    assert mode(users_home) == mode(users_home / "run") == 0o700
    visitor.stdin.close()
    assert visitor.wait() == 0
    assert not embedded_postgres.running(users_home)


def test_root_may_help_in_a_users_home_and_leaves_it_usable(homes, users_home):
    homes.visit(users_home, "by the user", account="nobody").communicate()
    with embedded_postgres.session(users_home, options=QUICK) as url:
        add_row(url, "by root")
        assert psutil.Process(server_pid(users_home)).username() == "nobody"
    last = homes.visit(users_home, "by the user again", account="nobody")
    assert last.stdout.readline(), said(last)
    assert rows(embedded_postgres.url(users_home)) == [
        "by root",
        "by the user",
        "by the user again",
    ]


def test_an_ordinary_user_is_told_that_the_data_belongs_to_root(homes):
    home = homes.new()
    embedded_postgres.start(home, options=QUICK)
    visitor = homes.visit(home, "not mine", account="nobody")
    assert "belongs to somebody else" in said(visitor)


def test_l11_root_without_an_account_for_postgres_gets_one_that_nobody_signs_in_with(
    homes, monkeypatch
):
    name, home = f"keno-test-{os.getpid()}", homes.new()
    try:
        with monkeypatch.context() as bare:
            bare.setattr(embedded_account, "ACCOUNTS", (name,))
            embedded_postgres.start(home, options=QUICK)
            assert psutil.Process(server_pid(home)).username() == name
            assert pwd.getpwnam(name).pw_shell.endswith("nologin")
            homes.clear()
    finally:
        subprocess.run(["userdel", "--force", name], check=False, capture_output=True)


def test_l11_where_no_account_can_be_made_the_person_is_told(homes, monkeypatch):
    with monkeypatch.context() as bare:
        bare.setattr(embedded_account, "ACCOUNTS", ("no-such-account",))
        bare.setenv("PATH", "")
        with pytest.raises(EmbeddedError, match="useradd --system postgres"):
            embedded_postgres.start(homes.new())


def test_l11_a_database_of_an_account_that_others_use_is_named(tmp_path):
    shared, own = (pwd.getpwnam(name).pw_uid for name in ("nobody", "root"))
    found = embedded_account.Place(tmp_path, tmp_path, shared)
    assert "keno_backup" in embedded_account.warning(found)
    assert embedded_account.warning(embedded_account.Place(tmp_path, tmp_path, own)) == ""
