from django.apps import AppConfig
from django.conf import settings


class SleepConfig(AppConfig):
    name = "sleep"

    def ready(self):
        if settings.ONLY_STARTS_OTHERS:
            return
        from memory.extraction import changes_of_mind
        from memory.operations import health as health_checks
        from memory.retrieval import recall
        from memory.transfer.archive import restore
        from sleep import nights, proposals

        # The watchdog, the page and the doctor ask what stands there; memory knows of no nights.
        health_checks.CHECKS.append(nights.health)
        changes_of_mind.ASK.append(proposals.ask_about_change)
        recall.OPPOSED.append(proposals.open_contradictions)
        restore.SETTLE.append(proposals.recompute_digests)
