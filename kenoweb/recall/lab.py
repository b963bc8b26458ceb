"""The recall lab: what would be recalled, and why. It writes nothing and counts no use."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in
from kenoweb.recall import score_rows
from kenoweb.ui import list_page
from kenoweb.ui.filters import Filter, number_in
from kenoweb.ui.formatting import number
from memory.extraction.changes_of_mind import wrong_replies
from memory.models import Chat, Message, RecallProfile, Space
from memory.prompt import builder as context
from memory.prompt import sections
from memory.retrieval import profiles
from memory.retrieval.features import FEATURES, NAMES
from memory.retrieval.profiles import Profile
from memory.retrieval.recall import Recalled, recall
from memory.retrieval.understand import MAX_LENGTH
from memory.text.normalise import clean

SHOWN_CUT = 20
SHOWN_NOT_MEMORY = 5
SHOWN_WRONG = 10
# The authors of so many of the last messages are offered as the one who asks.
LOOK_BACK = 300
MODES = ("", "strict", "lenient")
MIN_WEIGHT, MAX_WEIGHT = -2.0, 10.0
# A group can be left out (0) or count up to so many times as much as saved (1).
MAX_FACTOR = 3.0


@dataclass(frozen=True, kw_only=True)
class Asking(Filter):
    """What the URL asks: a question, the person, the chat, the day, a profile and its changes."""

    person: str
    chat: Chat | None
    mode: str
    strict: bool
    saved: Profile
    tried: Profile
    # The weights that are tried, before the factors of their groups.
    singles: dict[str, float] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    apart: int = 1
    problem: str = ""

    @property
    def variety(self) -> float:
        return round(1 - self.tried.settings.get("diversity", 1.0), 2)


def read(params: QueryDict, *, space: Space, default_person: str = "") -> Asking:
    """Read the query of the URL; an invalid value counts as missing."""
    saved = profiles.get(space, clean(params.get("profile", ""))[:60])
    mode = params.get("mode", "") if params.get("mode") in MODES else ""
    strict = space.options.recall_strict if not mode else mode == "strict"
    tried, singles, problem = saved, saved.weights, ""
    factors: dict[str, float] = {}
    # Sliders that were drawn for another profile say nothing about this one.
    if params.get("of", key(saved)) == key(saved) and saved.formula == "keno":
        try:
            singles, factors = _weights(saved, params), _factors(params)
            tried = _changed(saved, params, strict=strict, weights=_multiplied(singles, factors))
        except (profiles.Invalid, ValueError) as error:
            problem = str(error)
    chat, then = number_in(params.get("chat", "")), Filter.read(params)
    chats = rows_in(space, Chat).select_related("space")
    return Asking(
        q=clean(params.get("q", ""))[:MAX_LENGTH].strip(),
        person=clean(params.get("as", default_person))[:120].strip(),
        chat=chats.filter(pk=chat).first() if chat else None,
        mode=mode,
        strict=strict,
        saved=saved,
        tried=tried,
        singles=singles,
        factors=factors,
        apart=number_in(params.get("apart", "")) or 1,
        problem=problem,
        as_of=then.as_of,
        valid_at=then.valid_at,
    )


def key(profile: Profile) -> str:
    return f"{profile.name}@{profile.version}"


def page(asking: Asking, *, space: Space, now: datetime) -> dict:
    result = ask(asking, space=space, now=now) if asking.q else None
    rows = result["rows"] if result else []
    return {
        "space": space,
        "asking": asking,
        "result": result,
        "apart": score_rows.chosen(rows, asking.apart),
        **score_rows.Gate(asking.tried, asking.strict).context(),
        "legend": score_rows.legend(),
        "sliders": sliders(asking),
        "singles_changed": asking.singles != asking.saved.weights,
        "most_times": MAX_FACTOR,
        "people": people(space, also=asking.person),
        "chats": [(str(chat.pk), str(chat)) for chat in list_page.chats_of(space)],
        "names": profiles.names(space),
        "key": key(asking.saved),
        "versions": versions(space, asking.saved),
        "chosen": space.options.recall_profile,
        "wrong": [] if result else wrong_replies(space)[:SHOWN_WRONG],
    }


def ask(asking: Asking, *, space: Space, now: datetime) -> dict:
    """Recall as a reply would, with the tried weights; beside it with the saved ones."""
    recalled, built = _recall(asking, asking.tried, space=space, now=now)
    scored = [*recalled.items, *recalled.cut[:SHOWN_CUT]]
    rows = [score_rows.of_scored(item, rank=n, space=space) for n, item in enumerate(scored, 1)]
    gate = score_rows.Gate(asking.tried, asking.strict, recalled.prompt)
    before, compared = {}, asking.tried != asking.saved
    if compared:
        saved, _built = _recall(asking, asking.saved, space=space, now=now)
        before = {item.key: n for n, item in enumerate((*saved.items, *saved.cut), 1)}
    for row, item in zip(rows, scored, strict=True):
        row.gate = gate.of(row.kind)
        below = gate.is_short(row.kind, item.confidence, pinned=item.unit.pinned)
        row.nearest = below and not row.cut
        row.before = before.get(item.key)
    off = _("A reply here would not recall: this is a first conversation, or it is off.")
    injected, parts = rows[: len(recalled.items)], _sections(recalled, built)
    units = [item.unit for item in (*recalled.items, *recalled.cut)]
    return {
        "recalled": recalled,
        "rows": rows,
        "injected": injected,
        "cut": rows[len(injected) :],
        "nothing_passed": bool(injected) and all(row.nearest for row in injected),
        "lanes": len({lane for unit in units for lane in unit.lanes}),
        "prompt": _prompt(recalled, built, space),
        "sections": parts,
        "tokens": sum(count for _name, count in parts),
        "times": score_rows.times(recalled.ms),
        "budget": space.options.token_budget,
        "note": off if built and built.recall is None else "",
        "compared": compared,
        "not_memory": not_memory(space, recalled.question.keywords, chat=asking.chat),
    }


def not_memory(space: Space, keywords: list[str], *, chat: Chat | None) -> list[Message]:
    """Return the newest messages with one of these words that no recall sees: commands, …"""
    if not keywords:
        return []
    has_word = reduce(or_, (Q(text__icontains=word) for word in keywords[:8]))
    rows = rows_in(space, Message).filter(has_word).exclude(not_recalled=None)
    rows = rows.exclude(not_recalled="").order_by("-sent_at", "-pk")
    return list((rows.filter(chat=chat) if chat else rows)[:SHOWN_NOT_MEMORY])


def sliders(asking: Asking) -> list[dict]:
    """Return the five groups with their weights, if the formula takes weights."""
    if asking.saved.formula != "keno":
        return []
    return [
        {
            "name": group,
            "label": label,
            "tone": f"d{n}",
            "factor": asking.factors.get(group, 1.0),
            "sliders": [_slider(asking, name) for name in names if name in NAMES],
        }
        for n, (group, (label, names)) in enumerate(score_rows.SCORE_GROUPS.items(), 1)
    ]


def people(space: Space, *, also: str) -> list[str]:
    """Return who spoke lately, and the person who asks now."""
    rows = rows_in(space, Message).filter(role=Message.Role.USER).order_by("-sent_at")
    names = rows.values_list("author", flat=True)[:LOOK_BACK]
    return [name for name in dict.fromkeys([*names, also]) if name]


def versions(space: Space, profile: Profile) -> list[RecallProfile]:
    if profile.name in profiles.BUILT_IN:
        return []
    return list(rows_in(space, RecallProfile).filter(name=profile.name).order_by("-version")[:20])


def _weights(saved: Profile, params: QueryDict) -> dict[str, float]:
    values = {name: params[f"w-{name}"] for name in NAMES if params.get(f"w-{name}", "").strip()}
    return saved.weights | profiles.check(values)


def _factors(params: QueryDict) -> dict[str, float]:
    """Return how many times each group counts, where it is not once."""
    problem = _("A group counts from 0 to %(most)s times.") % {"most": number(MAX_FACTOR)}
    factors = {}
    for group in score_rows.SCORE_GROUPS:
        if value := params.get(f"times-{group}", "").strip():
            factors[group] = _number(value, most=MAX_FACTOR, problem=problem)
    return {group: factor for group, factor in factors.items() if factor != 1}


def _multiplied(weights: dict[str, float], factors: dict[str, float]) -> dict[str, float]:
    multiplied = dict(weights)
    for group, factor in factors.items():
        _label, names = score_rows.SCORE_GROUPS[group]
        multiplied |= {name: weights[name] * factor for name in names if name in weights}
    return multiplied


def _changed(
    saved: Profile, params: QueryDict, *, strict: bool, weights: dict[str, float]
) -> Profile:
    profile = saved.with_weights(weights) if weights != saved.weights else saved
    settings = dict(saved.settings)
    limits = {"most": 1.0, "problem": _("Gate and variety are numbers from 0 to 1.")}
    if params.get("gate", "").strip():
        line = "strict" if strict else "lenient"
        settings["gate"] = settings["gate"] | {line: _number(params["gate"], **limits)}
    if params.get("variety", "").strip():
        settings["diversity"] = round(1 - _number(params["variety"], **limits), 2)
    return replace(profile, settings=settings)


def _number(text: str, *, most: float, problem: str) -> float:
    """Return the number from 0 to the most; raise a ValueError with the problem otherwise."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise ValueError(problem)
    return round(value, 2)


def _recall(asking: Asking, profile: Profile, *, space: Space, now: datetime):
    """Recall as a reply in that chat would; without a chat, from the whole space."""
    options = {"profile": profile, "strict": asking.strict, "save": False}
    built = None
    if asking.when or asking.holds_at:
        options |= {"as_of": asking.when, "valid_at": asking.holds_at}
    elif asking.chat:
        built = context.build(asking.chat, asking.q, now=now, person=asking.person, **options)
        if built.recall is not None:
            return built.recall, built
    recalled = recall(
        space,
        asking.q,
        chat=asking.chat,
        person=asking.person,
        now=now,
        everywhere=asking.chat is None,
        budget=space.options.token_budget,
        **options,
    )
    return recalled, built


def _slider(asking: Asking, name: str) -> dict:
    value, was = asking.singles.get(name, 0.0), asking.saved.weights.get(name, 0.0)
    limits = {"low": min(MIN_WEIGHT, value), "high": max(MAX_WEIGHT, value, was)}
    return {"name": name, "label": FEATURES[name], "value": value, "was": was} | limits


def _sections(recalled: Recalled, built: context.Context | None) -> list[tuple[str, int]]:
    if built and built.recall:
        return score_rows.sections(built.sections)
    names = {"fact": _("facts"), "episode": _("episodes"), "message": _("messages")}
    return [
        (label, sum(item.tokens for item in recalled.items if item.unit.kind == kind))
        for kind, label in names.items()
    ]


def _prompt(recalled: Recalled, built: context.Context | None, space: Space):
    """Return (role, text) of each part, as a model would get it."""
    if built:
        turns = [(str(turn["role"]), str(turn["content"])) for turn in built.messages]
        return [*(("system", part) for part in built.system), *turns]
    units = [item.unit for item in recalled.items]
    lines = [sections.RENDER[unit.kind](unit, space.zone) for unit in units]
    return [("memory", "\n".join(lines))] if lines else []
