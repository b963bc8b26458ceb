from django.apps import AppConfig


class SleepConfig(AppConfig):
    name = "sleep"

    def ready(self):
        from memory.operations import health as health_checks
        from sleep import nights

        # The watchdog, the page and the doctor ask what stands there; memory knows of no nights.
        health_checks.CHECKS.append(nights.health)
