"""How gunicorn serves the pages: `gunicorn --config kenoweb/launcher/gunicorn.py kenoweb.wsgi`."""

import gc
import sys
from contextlib import ExitStack
from pathlib import Path

from kenoweb import data_dir
from kenoweb.environment import envbool, envint, envstr
from kenoweb.launcher import database, startup, supervisor

# Looking for garbage among what is being loaded takes a tenth of the start; wsgi.py does it once.
gc.disable()

bind = envstr("KENO_BIND", "127.0.0.1:8000")
worker_class = "kenoweb.launcher.web_worker.Worker"
workers = envint("KENO_WEB_WORKERS", 2, low=1, high=32)
threads = envint("KENO_WEB_THREADS", 4, low=1, high=64)
preload_app = sys.platform != "darwin"  # there, a fork after loading libraries may crash
timeout = 60
graceful_timeout = 10
loglevel = "warning"
accesslog = "-" if envbool("KENO_ACCESS_LOG") else None
logger_class = "kenoweb.launcher.web_worker.AccessLog"
control_socket_disable = True
# Django decides which headers of a proxy count (KENO_PROXIES).
secure_scheme_headers = {}
forwarded_allow_ips = ""
if Path("/dev/shm").is_dir():
    worker_tmp_dir = "/dev/shm"  # a heartbeat file on a slow disk kills healthy workers

_while_running = ExitStack()

try:
    data_dir.prepare(data_dir.path())
except data_dir.NotReady as error:
    raise SystemExit(str(error)) from None
startup.compile_all()


def on_starting(server):
    from kenoweb.auth import checks

    supervisor.exit_with_parent()
    startup.wait_until_prepared()
    try:
        for address in server.cfg.address:
            if isinstance(address, tuple):  # `up` has checked the socket that it passes
                checks.refuse(address[0])
        _while_running.enter_context(database.session())
    except data_dir.NotReady as error:
        raise SystemExit(str(error)) from None


def on_exit(server):
    _while_running.close()
