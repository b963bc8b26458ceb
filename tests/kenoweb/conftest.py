import pytest

from tests.kenoweb.running import manage
from tests.kenoweb.servers import Homes

SETTLE = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("collectstatic", interactive=False, verbosity=0)
"""


@pytest.fixture(scope="session")
def settled_home():
    """A home with tables and static files, for every test that starts a whole Keno in it."""
    homes = Homes()
    home = homes.new()
    made = manage(home, "shell", "-v", "0", "-c", SETTLE)
    assert made.returncode == 0, made.stderr
    yield home
    homes.clear()
