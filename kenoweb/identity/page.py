"""Who Keno is in a space, as its page shows it: core, rules, preferences, versions."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.apps import apps
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import rows_in
from kenoweb.ui import history_thread
from kenoweb.ui.responses import space_url
from memory.history.changes import Change, as_changes, events_of
from memory.identity import bootstrap, core, preferences, rules
from memory.identity.bootstrap import PHRASES
from memory.identity.prompt import preferences_section, rules_section
from memory.models import Chat, Identity, Preference, Rule, SelfCheck, Space
from memory.text import normalise as text
from memory.text.normalise import short, token_estimate

STAGES = [
    _("Keno listens to five messages"),
    _("Keno says how it reads you, and you correct it"),
    _("Keno asks what to leave alone"),
    _("Your answers become preferences"),
]
VERSIONS = 16
# Where each of the three keeps its words.
SAID = ("core", "instruction", "value", "slug")
LENGTH = 140
WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Trait:
    """One thing Keno wants to know of how it should talk; no value while it does not."""

    name: str
    value: str
    url: str
    by_person: bool = False


@dataclass(frozen=True)
class Stage:
    label: str
    done: bool
    now: bool


@dataclass(frozen=True)
class FirstTalk:
    goes_on: bool
    traits: list[Trait]
    lang: str = ""
    stages: list[Stage] | None = None
    heard: int = 0
    of: int = bootstrap.OBSERVED_MESSAGES
    chat: Chat | None = None
    chat_url: str = ""
    since: datetime | None = None

    @property
    def known(self) -> list[Trait]:
        return [one for one in self.traits if one.value]

    @property
    def missing(self) -> list[Trait]:
        quiet = PHRASES[self.lang]["quiet"] if self.lang else set()
        return [one for one in self.traits if not one.value and one.name not in quiet]


def first_talk(space: Space, state: object, *, liked: list[Preference]) -> FirstTalk:
    if not isinstance(state, dict):
        return _over(space, liked)
    section, values = bootstrap.inferred_preferences(state)
    lang = next(lang for lang in PHRASES if PHRASES[lang]["section"] == section)
    count = state.get("count") if isinstance(state.get("count"), int) else 0
    chat = _chat(space, state.get("chat"))
    return FirstTalk(
        True,
        _traits(space, values, liked, lang),
        lang,
        stages=_stages(count),
        heard=max(0, min(count, bootstrap.OBSERVED_MESSAGES)),
        chat=chat,
        chat_url=space_url("chats:detail", space, pk=chat.pk) if chat else "",
        since=_time(state.get("at")),
    )


def _over(space: Space, liked: list[Preference]) -> FirstTalk:
    lang = next((lang for lang in PHRASES if _kept(liked, PHRASES[lang]["section"])), "")
    names = dict.fromkeys(PHRASES[lang]["keys"], "") if lang else {}
    return FirstTalk(False, _traits(space, names, liked, lang) if lang else [], lang)


def _stages(count: int) -> list[Stage]:
    """After five messages Keno speaks, after that it waits for an answer, twice."""
    over = max(0, count - bootstrap.OBSERVED_MESSAGES + 1)
    return [Stage(label, n < over, n == over) for n, label in enumerate(STAGES)]


def _traits(space: Space, values: dict, liked: list[Preference], lang: str) -> list[Trait]:
    """What a preference says goes before what would be kept: the talk leaves people's words."""
    kept = {text.fold(one.key): one for one in _kept(liked, PHRASES[lang]["section"])}
    found = []
    for name, value in values.items():
        one = kept.get(text.fold(name))
        asks = {"pk": one.pk} if one else {"key": name, "section": PHRASES[lang]["section"]}
        if value and not one:
            asks["value"] = value
        url = reverse("identity:prefer", args=[space.slug], query=asks)
        found.append(Trait(name, one.value if one else value, url, bool(one and one.sticky)))
    return found


def _kept(liked: list[Preference], section: str) -> list[Preference]:
    return [one for one in liked if one.section == section]


def _chat(space: Space, pk: object) -> Chat | None:
    return rows_in(space, Chat).filter(pk=pk).first() if isinstance(pk, int) else None


def _time(written: object) -> datetime | None:
    try:
        return parse_datetime(written) if isinstance(written, str) else None
    except ValueError:
        return None


@dataclass(frozen=True)
class RuleLine:
    """A rule with how it was kept lately. One that Keno brings along has no row yet."""

    rule: Rule
    shipped: bool = False
    broken: int = 0
    proposed: int = 0

    @property
    def examples(self) -> list[dict]:
        return [{"good": one} if isinstance(one, str) else one for one in self.rule.examples]


@dataclass(frozen=True)
class IdentityPage:
    core: str
    core_is_shipped: bool
    rules: list[RuleLine]
    retired: list[str]
    preferences: list[tuple[str, list[Preference]]]
    count: int
    # (layer, tokens) of what every prompt begins with.
    weight: list[tuple[str, int]]
    talk: FirstTalk
    replies: int
    versions: list[history_thread.Step]
    proposals: str = ""
    waiting: int = 0
    tried: "Tried | None" = None

    @property
    def tokens(self) -> int:
        return sum(count for _name, count in self.weight)


@dataclass(frozen=True)
class Tried:
    """A reply held against the rules."""

    said: str
    held: list[rules.Phrase] = field(default_factory=list)


def identity_page(space: Space, *, user: User, now: datetime, said: str = "") -> IdentityPage:
    row = Identity.objects.filter(space=space).first()
    active = rules.active(space)
    liked = preferences.active(space)
    broken, replies = _broken(space, now=now)
    waiting = _waiting(space)
    return IdentityPage(
        core=core.read(space),
        core_is_shipped=not (row and row.core.strip()),
        # What people worded themselves goes before what came along.
        rules=sorted(
            (_line(rule, broken, waiting) for rule in active), key=lambda one: one.shipped
        ),
        retired=_retired(space, active),
        preferences=_by_section(liked),
        count=len(liked),
        weight=weight(space, active),
        talk=first_talk(space, row.bootstrap if row else None, liked=liked),
        replies=replies,
        versions=versions(space, user=user),
        proposals=space_url("proposals:index", space),
        waiting=sum(waiting.values()),
        tried=Tried(said, rules.violations(said, active)) if said else None,
    )


def weight(space: Space, active: list[Rule]) -> list[tuple[str, int]]:
    parts = [
        ("core", core.read(space)),
        ("rules", rules_section(active)),
        ("preferences", preferences_section(space)),
    ]
    return [(name, token_estimate(text)) for name, text in parts]


def versions(space: Space, *, user: User) -> list[history_thread.Step]:
    """The last changes of core, rules and preferences together, newest first."""
    found = []
    for model in (Identity, Rule, Preference):
        events = events_of(model).filter(space=space.pk)
        latest = list(events.order_by("-pgh_id").values_list("pgh_obj_id", flat=True)[:VERSIONS])
        rows = events.filter(pgh_obj_id__in=latest).select_related("pgh_context")
        found += as_changes(rows.order_by("pgh_obj_id", "pgh_id"))
    found.sort(key=lambda change: (change.at, change.event_id), reverse=True)
    newest = [change for change in found if not _says_nothing(change)][:VERSIONS]
    steps = ((change, history_thread.step(change, space, user)) for change in newest)
    return [_shown(change, step) for change, step in steps if step]


def _says_nothing(change: Change) -> bool:
    """The row that only holds where the first conversation stands."""
    return change.model is Identity and change.is_create and not change.after.get("core")


def _shown(change: Change, step: history_thread.Step) -> history_thread.Step:
    """What a change brought into the world is what it added."""
    if not change.is_create:
        return step
    said = next((change.after[name] for name in SAID if change.after.get(name)), "")
    return replace(step, diffs=[("", short(said, LENGTH))] if said else [])


def _line(rule: Rule, broken: Counter, waiting: Counter) -> RuleLine:
    mine = [one["phrase"] for one in rule.forbidden]
    return RuleLine(
        rule,
        shipped=rule.pk is None,
        broken=sum(broken[phrase] for phrase in mine),
        proposed=waiting[rule.slug],
    )


def _retired(space: Space, active: list[Rule]) -> list[str]:
    """Names of rules that Keno brought along and a person took out of force."""
    kept = {rule.slug for rule in active}
    return [one["slug"] for one in rules.shipped(space.language) if one["slug"] not in kept]


def _by_section(liked: list[Preference]) -> list[tuple[str, list[Preference]]]:
    found = defaultdict(list)
    for one in liked:
        found[one.section].append(one)
    return list(found.items())


def _broken(space: Space, *, now: datetime) -> tuple[Counter, int]:
    """How often each forbidden phrase was said in a week, and in how many replies one looked."""
    checks = SelfCheck.objects.filter(space=space, reply__sent_at__gt=now - WEEK)
    said = checks.exclude(forbidden=[]).values_list("forbidden", flat=True)[:500]
    return Counter(phrase for held in said for phrase in held), checks.count()


def _waiting(space: Space) -> Counter:
    """Waiting proposals about rules, by the rule they name."""
    model = apps.get_model("sleep.Proposal")
    rows = model.objects.filter(space=space, status="pending", kind="rule")
    return Counter((after or {}).get("slug", "") for after in rows.values_list("after", flat=True))
