"""What an image bakes in: catalogues and static files. `python -m kenoweb.launcher.build_image`"""

import os

import django

from kenoweb.launcher import startup

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    startup.compile_all()
    django.setup()
    startup.collect_static()
