"""Start Keno: database, pages and worker, until Ctrl-C."""

import http.client
import os
import signal
import sys
import time
from argparse import BooleanOptionalAction
from contextlib import ExitStack, closing
from pathlib import Path

from django.conf import settings
from django.core.management import get_commands
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from kenoweb.auth import checks
from kenoweb.data_dir import NotReady
from kenoweb.environment import envstr
from kenoweb.launcher import database, startup
from kenoweb.launcher.supervisor import Child, Supervisor

WATCH_SECONDS = 0.25
# So long the worker waits for the pages, which somebody looks at, to have the processors.
PAGES_FIRST_SECONDS = 10


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = []  # checks.refuse() knows the address too
    is_stopping = False  # not an Event: a signal that comes while its lock is held would hang

    def add_arguments(self, parser):
        parser.add_argument("--bind", default=envstr("KENO_BIND"), help="address, address:port")
        parser.add_argument("--port", type=int, help="this port, or none")
        parser.add_argument(
            "--second-wall",
            action=BooleanOptionalAction,
            default=True,
            help="web and worker own no table (embedded)",
        )

    def handle(self, *, bind, port, second_wall, **options):
        self.second_wall = second_wall
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            signal.signal(getattr(signal, name), self._stop)
        try:
            host, port, chosen = startup.parse(bind, port=port)
            checks.refuse(host)
            with self._claim() as claim, startup.listen(host, port, chosen=chosen) as sock:
                self._run(claim, sock, host=host, requested_port=port)
        except NotReady as error:
            raise CommandError(str(error)) from error

    def _stop(self, *signal_and_frame):
        self.is_stopping = True

    def _claim(self):
        """Take the lock that says Keno runs in this home; its file says at which address."""
        claim = startup.lock(settings.KENO_HOME / "up.lock")
        if not claim:
            where = (settings.KENO_HOME / "up.lock").read_text().strip() or "another place"
            raise NotReady(f"Keno already runs at {where}: stop it, or set another KENO_HOME.")
        return claim

    def _run(self, claim, sock, *, host, requested_port):
        port = sock.getsockname()[1]
        https = f"https://{settings.ALLOWED_HOSTS[0]}"
        address = https if settings.KENO_HTTPS else startup.url(host, port)
        # The worker links to the pages from chats.
        os.environ.setdefault("KENO_URL", address)
        claim.truncate(0)
        print(address, file=claim, flush=True)
        self.say(f"Keno {settings.VERSION}, data in {settings.KENO_HOME}")
        if port != requested_port:
            self.line("port", f"{requested_port} is in use, so {port}")
        began = time.monotonic()
        # Children of a run that was killed hold this lock until they have noticed.
        children_lock = startup.lock(settings.KENO_HOME / "children.lock", wait=20)
        if not children_lock:
            raise NotReady("Processes of an earlier run do not end: stop them, then start again.")
        with children_lock, ExitStack() as stack:
            supervisor = Supervisor(self._children(sock, children_lock))
            stack.callback(supervisor.stop)
            preparing = stack.enter_context(
                startup.lock(settings.KENO_HOME / startup.PREPARING, wait=5)
            )
            self._prepare_pages()
            supervisor.start("web process")
            stack.enter_context(database.session())
            stack.callback(self._stop_children, supervisor)
            self.line("database", f"ready in {time.monotonic() - began:.1f} s")
            self._prepare_tables()
            preparing.close()
            self._greet(supervisor, address, host, port)
            self._watch(supervisor)
        self.say("Stopped.")

    def _stop_children(self, supervisor):
        self.say("Stopping…")
        supervisor.stop()

    def _prepare_pages(self):
        """Make ready what the pages read when they are loaded, which takes them a while."""
        if self.second_wall and not database.direct():
            os.environ["KENO_DATABASE_ROLE"] = database.APP_ROLE
        if not settings.DEBUG and (count := startup.collect_static()):
            self.line("static", f"{count} files collected")

    def _prepare_tables(self):
        if not database.direct():
            from kenoweb.launcher import embedded_account

            if warning := embedded_account.warning(embedded_account.place(settings.KENO_HOME)):
                self.line("note", warning)
        if count := startup.migrate(lambda path: self.line("backup", path)):
            self.line("tables", f"{count} migrations applied")
        if self.second_wall and not database.direct():
            database.grant_app_role(connections["default"])

    def _children(self, sock, lock) -> list[Child]:
        fds = (sock.fileno(), lock.fileno())
        web = f"-m gunicorn -c python:kenoweb.launcher.gunicorn -b fd://{fds[0]} kenoweb.wsgi"
        # The printed address must be one that the pages accept.
        os.environ["KENO_HOSTS"] = ",".join([*settings.ALLOWED_HOSTS, *startup.names(sock)])
        children = [Child("web process", web.split(), fds)]
        if "runbot" in get_commands():
            children.append(Child("worker", ["-m", "kenoweb", "runbot"], fds[1:]))
        return children

    def _greet(self, supervisor, address, host, port):
        pages_first_until = time.monotonic() + PAGES_FIRST_SECONDS
        while not self.is_stopping and not _answers(host, port):
            supervisor.restart_dead(self.say, now=time.monotonic())
            if time.monotonic() > pages_first_until:
                supervisor.start()
            time.sleep(0.05)
        if self.is_stopping:
            return
        supervisor.start()
        self.line("pages", address)
        if len(supervisor.children) > 1:
            self.line("worker", "started")
        if not checks.is_local(host):
            unsafe = ", without encryption: put a proxy with HTTPS in front"
            warning = "" if settings.KENO_HTTPS else unsafe
            self.line("note", f"other machines can reach this address{warning}")
        self._offer_sign_in(address)
        self._offer_demo()
        self.say("\nCtrl-C stops everything.")
        connections.close_all()  # not needed any more

    def _offer_sign_in(self, address):
        """Print a link, which is a key, to a terminal or to the log of the very first run."""
        from kenoweb.auth import accounts

        if not (sys.stdout.isatty() or accounts.is_first_run()):
            self.say(f"\nFor a sign-in link: {_program()} signin")
            return
        self.say("\nSign in with this link, once and within 30 minutes:")
        self.say(f"  {accounts.sign_in_link(address)}")

    def _offer_demo(self):
        from kenoweb import demo

        if demo.is_welcome():
            command = f"{_program()} demo"
            self.say(
                "\nTo look around first, make a demo space beside your own (or press its button):"
            )
            self.say(f"  {command}            {command} --remove deletes it again")

    def _watch(self, supervisor):
        """Keep the children and the embedded database alive until a signal says stop."""
        while True:
            time.sleep(WATCH_SECONDS)
            if self.is_stopping:
                return
            supervisor.restart_dead(self.say, now=time.monotonic())
            if not database.direct():
                self._restart_dead_database()

    def _restart_dead_database(self):
        from kenoweb.launcher import embedded_postgres

        if not embedded_postgres.running(settings.KENO_HOME):
            self.say("The database ended; starting it again.")
            embedded_postgres.start(settings.KENO_HOME)

    def line(self, name, text):
        self.say(f"  {name:<9} {text}")

    def say(self, text):
        self.stdout.write(text)
        self.stdout.flush()


def _program() -> str:
    """Return what to type before the name of a command: in the folder of Keno, or installed."""
    python, root = Path(sys.executable), Path(settings.BASE_DIR)
    if not (root / "manage.py").exists():
        return "keno"
    return f"{python.relative_to(root) if python.is_relative_to(root) else python} manage.py"


def _answers(host, port) -> bool:
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    with closing(http.client.HTTPConnection(local, port, timeout=5)) as connection:
        try:
            connection.request("GET", "/healthz", headers={"Host": "localhost"})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
