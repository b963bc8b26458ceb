"""The filters of lists: read from a query string, applied by the list, written to a URL."""

from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, time, timedelta
from typing import ClassVar, Self
from urllib.parse import urlencode

from django.db.models import Q
from django.http import QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext_lazy as _

from memory.models import Episode, Fact, Pattern
from memory.text.normalise import clean

MAX_LENGTH = 200
DAY = timedelta(days=1)
SINCE = {
    "24h": (_("last 24 hours"), DAY),
    "7d": (_("last 7 days"), 7 * DAY),
    "30d": (_("last 30 days"), 30 * DAY),
    "90d": (_("last 90 days"), 90 * DAY),
}
OLDER = {
    "older-90d": (_("older than 90 days"), 90 * DAY),
    "older-365d": (_("older than a year"), 365 * DAY),
}
SURE = {
    "low": (_("unsure, under .40"), Q(confidence__lt=0.4)),
    "middle": (_("fairly sure, .40 to .70"), Q(confidence__gte=0.4, confidence__lt=0.7)),
    "high": (_("sure, from .70"), Q(confidence__gte=0.7)),
}
UNUSED = {"never": _("never used"), "90d": _("not used for 90 days")}
HERE = "space"


def _labels(choices: dict[str, tuple]) -> dict:
    return {key: label for key, (label, _value) in choices.items()}


@dataclass(frozen=True)
class Filter:
    """The fields are the parameters of the URL; an invalid value counts as missing."""

    q: str = ""
    sort: str = ""
    as_of: str = ""
    # The other clock: what held on that day.
    valid_at: str = ""
    # The cursor of the next part; it filters nothing.
    after: str = ""

    CHOICES: ClassVar[dict[str, dict]] = {}
    SORTS: ClassVar[dict[str, str]] = {}

    @classmethod
    def read(cls, params: QueryDict) -> Self:
        names = [field.name for field in fields(cls) if field.name in params]
        values = {name: clean(params[name])[:MAX_LENGTH].strip() for name in names}
        return cls(**{name: v for name, v in values.items() if cls._makes_sense(name, v)})

    @classmethod
    def _makes_sense(cls, name: str, value: str) -> bool:
        if name == "as_of":
            return _past_day(value) is not None
        if name == "valid_at":
            return day_in(value) is not None
        if name == "sort":
            return value in cls.SORTS
        if name == "chat":
            return value == HERE or number_in(value) > 0
        return name not in cls.CHOICES or value in cls.CHOICES[name]

    def query(self, **changes: str) -> str:
        """Return the query string without default values."""
        values = asdict(self) | {"after": ""} | changes
        return urlencode(
            {f.name: values[f.name] for f in fields(self) if values[f.name] != f.default}
        )

    def is_bare(self) -> bool:
        """Tell whether nothing is filtered: an empty list then means that there is nothing."""
        return not self.query(sort="", as_of="", valid_at="")

    @property
    def day(self) -> date | None:
        return _past_day(self.as_of)

    @property
    def when(self) -> datetime | None:
        """Return the end of the day of the past, in the clock of the space."""
        return timezone.make_aware(datetime.combine(self.day, time.max)) if self.day else None

    @property
    def holds_at(self) -> datetime | None:
        """Return the noon of the day of `valid_at`, in the clock of the space."""
        day = day_in(self.valid_at)
        return timezone.make_aware(datetime.combine(day, time(12))) if day else None


@dataclass(frozen=True)
class FactFilter(Filter):
    subject: str = ""
    tag: str = ""
    kind: str = ""
    category: str = ""
    chat: str = ""
    status: str = Fact.Status.ACTIVE
    source: str = ""
    sure: str = ""
    since: str = ""
    unused: str = ""

    CHOICES: ClassVar = {
        "kind": {"": _("Every kind")} | dict(Fact.Kind.choices),
        "category": {"": _("Every category")} | dict(Fact.Category.choices),
        "status": dict(Fact.Status.choices) | {"any": _("Any state")},
        "source": {"": _("Every source")} | dict(Fact.Source.choices),
        "sure": {"": _("Any certainty")} | _labels(SURE),
        "since": {"": _("Any time")} | _labels(SINCE | OLDER),
        "unused": {"": _("Any use")} | UNUSED,
    }
    SORTS: ClassVar = {
        "": _("Changed last"),
        "used": _("Used last"),
        "new": _("Learned last"),
        "sure": _("Surest first"),
        "unsure": _("Least sure first"),
        "subject": _("By subject"),
    }


@dataclass(frozen=True)
class EpisodeFilter(Filter):
    chat: str = ""
    state: str = ""
    tag: str = ""
    who: str = ""
    feedback: str = ""
    month: str = ""
    look: str = ""

    CHOICES: ClassVar = {
        "state": {
            "": _("Any state"),
            "open": Episode.Status.OPEN.label,
            "waiting": _("Waits for a night"),
            "done": _("Consolidated"),
            "archived": Episode.Status.ARCHIVED.label,
            "discarded": Episode.Status.DISCARDED.label,
        },
        "feedback": {"": _("Any feedback"), "positive": _("Good"), "negative": _("Bad")},
        "look": {"": _("By day"), "list": _("As a list")},
    }

    @classmethod
    def _makes_sense(cls, name: str, value: str) -> bool:
        if name == "month":
            return _past_day(f"{value}-01") is not None
        return super()._makes_sense(name, value)


@dataclass(frozen=True)
class PatternFilter(Filter):
    status: str = Pattern.Status.ACTIVE
    chat: str = ""
    tried: str = ""

    CHOICES: ClassVar = {"status": dict(Pattern.Status.choices) | {"any": _("Any state")}}
    SORTS: ClassVar = {
        "": _("Changed last"),
        "used": _("Used last"),
        "often": _("Used most"),
        "sure": _("Surest first"),
    }


@dataclass(frozen=True)
class RulingFilter(Filter):
    show: str = ""

    CHOICES: ClassVar = {"show": dict.fromkeys(("", "never", "keep", "quiet", "lifted"), "")}


@dataclass(frozen=True)
class KindFilter(Filter):
    """Facts, episodes and patterns together, or one kind of them."""

    kind: str = ""

    CHOICES: ClassVar = {"kind": {"": "", "facts": "", "episodes": "", "patterns": ""}}


def in_chat(chat: str) -> Q:
    """Keep the rows of one chat, of the whole space ("space"), or all."""
    if chat == HERE:
        return Q(chat=None)
    return Q(chat=int(chat)) if chat else Q()


def of_age(since: str, *, field: str, now: datetime) -> Q:
    if since in SINCE:
        return Q(**{f"{field}__gt": now - SINCE[since][1]})
    return Q(**{f"{field}__lt": now - OLDER[since][1]}) if since in OLDER else Q()


def number_in(text: str) -> int:
    """Return the number of a URL or a form; 0 when it is not a number that a row can have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _past_day(text: str) -> date | None:
    """Return a day that has begun; tomorrow nothing was believed yet."""
    day = day_in(text)
    return day if day and day <= timezone.localdate() else None


def day_in(text: str) -> date | None:
    try:
        day = parse_date(text)
    except ValueError:
        return None
    return day if day and date(1970, 1, 2) <= day < date(2200, 1, 1) else None


def held_at(when: datetime) -> Q:
    """Keep what held then, also when it is over or replaced by now; never what never was true."""
    begun = Q(valid_from=None) | Q(valid_from__lte=when)
    believed = Q(status=Fact.Status.ACTIVE) | Q(status=Fact.Status.SUPERSEDED)
    believed |= Q(flags__contains=["deprecated"])
    over = Q(valid_to=None) | Q(valid_to__gt=when)
    return begun & over & believed & ~Q(flags__contains=["ruled out"])
