import gc
import os

from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.db.backends.signals import connection_created
from django.urls import resolve

from kenoweb.launcher import database

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
application = get_wsgi_application()
resolve("/healthz")  # loads all pages before the workers fork, so that they share them
database.use_pooler(connection)
connection_created.connect(database.limit_statements)
# What is loaded by now stays. Collecting garbage among it took 110 to 160 ms of every hundredth
# answer; now it runs less often, and only on what came later.
gc.collect()
gc.freeze()
gc.set_threshold(700, 10, 100)
gc.enable()
