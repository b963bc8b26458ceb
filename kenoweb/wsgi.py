import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
application = get_wsgi_application()
# What is loaded by now stays. To look through all of it for garbage took 110 to 160 ms, of every
# hundredth answer; now it is done less often, and only to what came later.
gc.collect()
gc.freeze()
gc.set_threshold(700, 10, 100)
