import pytest

from tests.kenoweb.running import manage
from tests.kenoweb.servers import Homes


@pytest.fixture(scope="session")
def settled_home():
    """A home with tables and static files, for every test that starts a whole Keno in it."""
    homes = Homes()
    home = homes.new()
    for command in (["migrate"], ["collectstatic", "--no-input"]):
        made = manage(home, *command, "--verbosity", "0")
        assert made.returncode == 0, made.stderr
    yield home
    homes.clear()
