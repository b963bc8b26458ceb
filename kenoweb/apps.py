from django.apps import AppConfig


class KenowebConfig(AppConfig):
    name = "kenoweb"

    def ready(self):
        from kenoweb.auth import checks  # noqa: F401  registers its checks
