"""How Keno is: every check with what it found and what to do."""

import datetime as dt
import shutil
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from kenoweb import health
from kenoweb.access import things
from kenoweb.chat_pages import channel
from kenoweb.overview import STATES
from kenoweb.places import address
from kenoweb.templatetags.keno import number, since
from memory import embeddings, jobs, vitals
from memory.llm import embed
from memory.llm.choose import choose
from memory.models import Breaker, Heartbeat, Space
from sleep.models import Night

# Counting what has no vector stops here.
CAP = 10_000
DEAD = dt.timedelta(days=1)
LEVELS = [vitals.OK, vitals.WARNING, vitals.ERROR]
NAMES = {
    "worker": gettext_lazy("Worker"),
    "queue": gettext_lazy("Queue"),
    "provider": gettext_lazy("Language model"),
    "second_model": gettext_lazy("Small model"),
    "costs": gettext_lazy("Budget"),
    "unanswered": gettext_lazy("Answers"),
    "deliveries": gettext_lazy("Deliveries"),
    "memory": gettext_lazy("Memory"),
    "night": gettext_lazy("Night"),
    "embeddings": gettext_lazy("Embeddings"),
    "size": gettext_lazy("Main memory"),
    "database": gettext_lazy("Database"),
    "migrations": gettext_lazy("Tables"),
    "disk": gettext_lazy("Disk"),
}
TO_DO = {
    "worker": gettext_lazy("Start manage.py runbot, or make run, and leave it running."),
    "queue": gettext_lazy("Start another worker, or look at what the running one is busy with."),
    "provider": gettext_lazy("It is tried again by itself. Check the key and the provider's page."),
    "second_model": gettext_lazy("Heuristics step in meanwhile. Check the name of the model."),
    "costs": gettext_lazy("Raise the budget, or choose what happens when it is spent."),
    "unanswered": gettext_lazy("They are answered as soon as worker and model are well."),
    "deliveries": gettext_lazy("Look at the dead letters and have them tried again."),
    "memory": gettext_lazy("Look at it; nothing is lost."),
    "night": gettext_lazy(
        "A running worker begins the night by itself. You can also begin it now."
    ),
    "embeddings": gettext_lazy("They are caught up with by themselves: manage.py memory_embed."),
    "size": gettext_lazy("Start it again; should it grow again, please report it."),
    "migrations": gettext_lazy("Run manage.py migrate."),
    "disk": gettext_lazy("Make room, or move KENO_HOME to a larger disk."),
}
PAGES = {
    "costs": "settings:index",
    "deliveries": "letters:index",
    "memory": "quarantine:index",
    "night": "nights:index",
    "unanswered": "chats:index",
}


@dataclass(frozen=True)
class Check:
    name: str
    level: str
    value: str = ""
    texts: list[str] = field(default_factory=list)
    to_do: str = ""
    url: str = ""


@dataclass(frozen=True)
class Worker:
    beat: Heartbeat
    alive: bool
    channels: list[tuple[str, str, bool]]


@dataclass(frozen=True)
class HealthPage:
    state: str
    checks: list[Check]
    workers: list[Worker]
    breakers: list[Breaker]
    counts: dict[str, int]
    oldest: str
    version: str
    at: dt.datetime

    @property
    def unwell(self) -> list[Check]:
        return [check for check in self.checks if check.level != vitals.OK]


def health_page(space: Space, *, now: dt.datetime) -> HealthPage:
    counts = jobs.counts()
    found = [*vitals.check(space, now=now), vectors(space), *house()]
    return HealthPage(
        state=vitals.state(found),
        checks=_checks(found, space, now=now, counts=counts),
        workers=workers(now=now),
        breakers=list(Breaker.objects.order_by("provider")),
        counts=counts,
        oldest=since(now - jobs.oldest_waiting(now=now), now=now),
        version=settings.VERSION,
        at=now,
    )


def workers(*, now: dt.datetime) -> list[Worker]:
    beats = Heartbeat.objects.filter(beat_at__gt=now - DEAD).order_by("-beat_at")[:12]
    return [
        Worker(beat, beat.beat_at > now - vitals.SILENT, _channels(beat.channels)) for beat in beats
    ]


def _channels(states: dict) -> list[tuple[str, str, bool]]:
    return [
        (channel(name), str(STATES.get(state, state)), state == "running")
        for name, state in states.items()
    ]


def vectors(space: Space) -> vitals.Finding:
    model = embeddings.active()
    if model is None:
        text = _("Embeddings are off: memories are found by words alone.")
        return vitals.Finding("embeddings", vitals.WARNING, text)
    missing = embeddings.missing(model.name, space=space).order_by()[:CAP].count()
    if missing < 500:
        return vitals.Finding("embeddings")
    text = ngettext(
        "%(n)s memory has no vector yet.", "%(n)s memories have no vector yet.", missing
    )
    return vitals.Finding("embeddings", vitals.WARNING, text % {"n": number(missing)})


def house() -> list[vitals.Finding]:
    """The checks of /readyz."""
    return [
        vitals.Finding(name, vitals.ERROR if said else vitals.OK, _(said) if said else "")
        for name, said in health.ready().items()
    ]


def _checks(found: list[vitals.Finding], space: Space, *, now, counts) -> list[Check]:
    values = _values(space, now=now, counts=counts)
    checks = []
    for name, label in NAMES.items():
        mine = [one for one in found if one.name == name]
        if not mine:
            continue
        level = max(
            (one.level for one in mine), key=[vitals.OK, vitals.WARNING, vitals.ERROR].index
        )
        well = level == vitals.OK
        checks.append(
            Check(
                name=str(label),
                level=level,
                value=values.get(name, ""),
                texts=[one.text for one in mine if one.text],
                to_do="" if well else str(TO_DO.get(name, "")),
                url=address(PAGES[name], space) if name in PAGES else "",
            )
        )
    return checks


def _values(space: Space, *, now: dt.datetime, counts: dict[str, int]) -> dict[str, str]:
    """What a check measures, in a few words, also when all is well."""
    beat = Heartbeat.objects.order_by("-beat_at").first()
    last = things(space, Night).order_by("-local_date").first()
    chosen = choose("chat", space=space)
    usage = shutil.disk_usage(next(p for p in (settings.KENO_HOME, "/") if _exists(p)))
    waiting = {"n": number(counts["waiting"]), "m": number(counts["running"])}
    return {
        "worker": _("seen %(age)s") % {"age": since(beat.beat_at, now=now, long=True)}
        if beat
        else _("never seen"),
        "queue": _("%(n)s waiting, %(m)s running") % waiting,
        "provider": f"{chosen.provider} {chosen.model}".strip(),
        "night": date_format(last.local_date, "j F") if last else _("none yet"),
        "embeddings": embed.current().name if embed.enabled() else _("off"),
        "size": f"{number(vitals.resident_mb())} MB",
        "disk": _("%(share)s %% free") % {"share": number(100 * usage.free / usage.total)},
    }


def _exists(place: object) -> bool:
    try:
        shutil.disk_usage(place)
    except OSError:
        return False
    return True
