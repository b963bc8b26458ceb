import gc
import os

from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
application = get_wsgi_application()


def limit_statements(connection, **signal):
    """No page may keep the database busy after its reader has given up."""
    connection.cursor().execute("SET statement_timeout = '60s'")


connection_created.connect(limit_statements)
# What is loaded by now stays. To look through all of it for garbage took 110 to 160 ms, of every
# hundredth answer; now it is done less often, and only to what came later.
gc.collect()
gc.freeze()
gc.set_threshold(700, 10, 100)
