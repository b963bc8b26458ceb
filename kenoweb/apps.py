from django.apps import AppConfig


class KenowebConfig(AppConfig):
    name = "kenoweb"

    def ready(self):
        from kenoweb import safety  # noqa: F401  registers its checks
