from django.apps import AppConfig


class SleepConfig(AppConfig):
    name = "sleep"

    def ready(self):
        from memory import vitals
        from sleep import health

        # The watchdog, the page and the doctor ask what stands there; memory knows of no nights.
        vitals.CHECKS.append(health.night)
