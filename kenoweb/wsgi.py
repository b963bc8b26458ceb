import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import resolve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
application = get_wsgi_application()
resolve("/")  # every view is loaded once, before the workers part
# What is loaded stays: looking through it for garbage again and again costs 60 ms each time.
gc.collect()
gc.freeze()
