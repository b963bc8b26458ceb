"""What an image bakes in: catalogues and static files. `python -m kenoweb.build`"""

import os

import django

from kenoweb import launch, translations

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kenoweb.settings")
    translations.compile_all()
    django.setup()
    launch.collect_static()
