"""The identity page: core, rules, preferences, versions and the first conversation."""

from collections import Counter, defaultdict
from dataclasses import replace
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
MAX_VERSIONS = 16
# The fields in which the three models hold their text.
TEXT_FIELDS = ("core", "instruction", "value", "slug")
MAX_VERSION_LENGTH = 140
WEEK = timedelta(days=7)


def first_talk(space: Space, state: object, *, liked: list[Preference]) -> dict:
    """Return how far the first conversation is, and what is known and missing by now."""
    goes_on = isinstance(state, dict)
    if goes_on:
        section, values = bootstrap.inferred_preferences(state)
        lang = next(lang for lang in PHRASES if PHRASES[lang]["section"] == section)
    else:
        sections = {preference.section for preference in liked}
        lang = next((lang for lang in PHRASES if PHRASES[lang]["section"] in sections), "")
        values = dict.fromkeys(PHRASES[lang]["keys"], "") if lang else {}
    traits = _traits(space, values, liked, PHRASES[lang]["section"]) if lang else []
    quiet = PHRASES[lang]["quiet"] if lang else set()
    return {
        "goes_on": goes_on,
        "traits": traits,
        "known": [trait for trait in traits if trait["value"]],
        "missing": [t for t in traits if not t["value"] and t["name"] not in quiet],
        "lang": lang,
        **(_progress(space, state) if goes_on else {}),
    }


def _progress(space: Space, state: dict) -> dict:
    count = state.get("count") if isinstance(state.get("count"), int) else 0
    pk, at = state.get("chat"), state.get("at")
    chat = rows_in(space, Chat).filter(pk=pk).first() if isinstance(pk, int) else None
    # After five messages Keno speaks, after that it waits for an answer, twice.
    over = max(0, count - bootstrap.OBSERVED_MESSAGES + 1)
    try:
        since = parse_datetime(at) if isinstance(at, str) else None
    except ValueError:
        since = None
    return {
        "stages": [
            {"label": label, "done": n < over, "now": n == over} for n, label in enumerate(STAGES)
        ],
        "heard": max(0, min(count, bootstrap.OBSERVED_MESSAGES)),
        "of": bootstrap.OBSERVED_MESSAGES,
        "chat": chat,
        "chat_url": space_url("chats:detail", space, pk=chat.pk) if chat else "",
        "since": since,
    }


def _traits(space: Space, values: dict, liked: list[Preference], section: str) -> list[dict]:
    """Return how Keno should talk; a saved preference goes before what would be saved.

    A trait has no value while Keno does not know it.
    """
    saved = {text.fold(row.key): row for row in liked if row.section == section}
    traits = []
    for name, value in values.items():
        if row := saved.get(text.fold(name)):
            query = {"pk": row.pk}
        else:
            query = {"key": name, "section": section} | ({"value": value} if value else {})
        url = reverse("identity:prefer", args=[space.slug], query=query)
        value, by_person = (row.value, row.sticky) if row else (value, False)
        traits.append({"name": name, "value": value, "url": url, "by_person": by_person})
    return traits


def identity_page(space: Space, *, user: User, now: datetime, reply: str = "") -> dict:
    """Return everything the page shows; `reply` is checked against the rules."""
    row = Identity.objects.filter(space=space).first()
    active = rules.active(space)
    liked = preferences.active(space)
    broken, replies = _broken(space, now=now)
    waiting = _waiting(space)
    lines = [_line(rule, broken, waiting) for rule in active]
    sections = defaultdict(list)
    for preference in liked:
        sections[preference.section].append(preference)
    parts, in_force = weight(space, active), {rule.slug for rule in active}
    return {
        "core": core.read(space),
        "core_is_shipped": not (row and row.core.strip()),
        # The rules that people wrote go before those that Keno brings along.
        "rules": sorted(lines, key=lambda line: line["shipped"]),
        "retired": [
            rule["slug"] for rule in rules.shipped(space.language) if rule["slug"] not in in_force
        ],
        "preferences": list(sections.items()),
        "count": len(liked),
        # (layer, tokens) of what every prompt begins with.
        "weight": parts,
        "tokens": sum(count for _name, count in parts),
        "talk": first_talk(space, row.bootstrap if row else None, liked=liked),
        "replies": replies,
        "versions": versions(space, user=user),
        "proposals": space_url("proposals:index", space),
        "waiting": sum(waiting.values()),
        "tried": {"said": reply, "held": rules.violations(reply, active)} if reply else None,
    }


def weight(space: Space, active: list[Rule]) -> list[tuple[str, int]]:
    parts = [
        ("core", core.read(space)),
        ("rules", rules_section(active)),
        ("preferences", preferences_section(space)),
    ]
    return [(name, token_estimate(text)) for name, text in parts]


def versions(space: Space, *, user: User) -> list[history_thread.Step]:
    """Return the last changes of core, rules and preferences together, newest first."""
    changes = []
    for model in (Identity, Rule, Preference):
        events = events_of(model).filter(space=space.pk)
        latest = events.order_by("-pgh_id").values_list("pgh_obj_id", flat=True)[:MAX_VERSIONS]
        rows = events.filter(pgh_obj_id__in=list(latest)).select_related("pgh_context")
        changes += as_changes(rows.order_by("pgh_obj_id", "pgh_id"))
    changes.sort(key=lambda change: (change.at, change.event_id), reverse=True)
    newest = [change for change in changes if not _is_empty(change)][:MAX_VERSIONS]
    steps = ((change, history_thread.step(change, space, user)) for change in newest)
    return [_with_new_text(change, step) for change, step in steps if step]


def _is_empty(change: Change) -> bool:
    """Tell whether the new row only holds how far the first conversation is."""
    return change.model is Identity and change.is_create and not change.after.get("core")


def _with_new_text(change: Change, step: history_thread.Step) -> history_thread.Step:
    """Show the text of a new row as an insertion."""
    if not change.is_create:
        return step
    new = next((change.after[name] for name in TEXT_FIELDS if change.after.get(name)), "")
    return replace(step, diffs=[("", short(new, MAX_VERSION_LENGTH))] if new else [])


def _line(rule: Rule, broken: Counter, waiting: Counter) -> dict:
    return {
        "rule": rule,
        # A rule that Keno brings along has no row yet.
        "shipped": rule.pk is None,
        "broken": sum(broken[phrase["phrase"]] for phrase in rule.forbidden),
        "proposed": waiting[rule.slug],
        "examples": [{"good": e} if isinstance(e, str) else e for e in rule.examples],
    }


def _broken(space: Space, *, now: datetime) -> tuple[Counter, int]:
    """Count how often each forbidden phrase was said in a week, and the replies checked."""
    checks = SelfCheck.objects.filter(space=space, reply__sent_at__gt=now - WEEK)
    rows = checks.exclude(forbidden=[]).values_list("forbidden", flat=True)[:500]
    return Counter(phrase for phrases in rows for phrase in phrases), checks.count()


def _waiting(space: Space) -> Counter:
    """Count the waiting proposals about rules, by the rule they name."""
    model = apps.get_model("sleep.Proposal")
    rows = model.objects.filter(space=space, status="pending", kind="rule")
    return Counter((after or {}).get("slug", "") for after in rows.values_list("after", flat=True))
