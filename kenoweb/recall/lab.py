"""The recall lab: what would come to mind, and why. It writes nothing and counts no use."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q
from django.http import QueryDict
from django.utils.timezone import localdate
from django.utils.translation import gettext as _

from kenoweb.auth.access import rows_in
from kenoweb.recall import score_rows
from kenoweb.recall.score_rows import Row
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
SHOWN_NOT_MEMORY, SHOWN_WRONG = 5, 10
# Whose words the last messages were: the people one may ask as.
LOOK_BACK = 300
MODES = ("", "strict", "lenient")
LEAST, MOST = -2.0, 10.0
# A group counts nothing, as it is saved (1), or up to so many times as much.
MOST_TIMES = 3.0
PROBLEMS = (profiles.Invalid, ValueError)


@dataclass(frozen=True)
class Asking:
    """What the address asks: a message, as somebody, somewhere, by a profile and its changes."""

    q: str
    person: str
    chat: Chat | None
    mode: str
    strict: bool
    saved: Profile
    tried: Profile
    # The single weights that are tried, before the factors of their groups.
    singles: dict[str, float] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    apart: int = 1
    problem: str = ""
    # The day of the past that is asked about, and its end.
    as_of: str = ""
    when: datetime | None = None
    valid_at: str = ""
    holds_at: datetime | None = None

    @property
    def day(self) -> str:
        return list_page.format_day(localdate(self.when)) if self.when else ""

    @property
    def changed(self) -> bool:
        return self.tried != self.saved

    @property
    def gate(self) -> float:
        return score_rows.gate_line(self.tried, strict=self.strict)

    @property
    def variety(self) -> float:
        return round(1 - self.tried.settings.get("diversity", 1.0), 2)


@dataclass(frozen=True)
class Slider:
    name: str
    label: str
    value: float
    was: float
    low: float
    high: float


@dataclass(frozen=True)
class SliderGroup:
    """One of the five groups of a score: a factor for all of its weights, and each of them."""

    name: str
    label: str
    tone: str
    factor: float
    sliders: list[Slider]


@dataclass
class Result:
    recalled: Recalled
    injected: list[Row] = field(default_factory=list)
    cut: list[Row] = field(default_factory=list)
    prompt: list[tuple[str, str]] = field(default_factory=list)
    sections: list[tuple[str, int]] = field(default_factory=list)
    budget: int = 0
    note: str = ""
    compared: bool = False
    # Messages with a word of the question that are in the transcript only, each with its reason.
    not_memory: list[Message] = field(default_factory=list)

    @property
    def nothing_passed(self) -> bool:
        return bool(self.injected) and all(row.nearest for row in self.injected)

    @property
    def tokens(self) -> int:
        return sum(count for _name, count in self.sections)

    @property
    def rows(self) -> list[Row]:
        return [*self.injected, *self.cut]

    @property
    def times(self) -> list[tuple[str, float]]:
        return score_rows.times(self.recalled.ms)

    @property
    def lanes(self) -> int:
        weighed_all = (*self.recalled.items, *self.recalled.cut)
        return len({lane for one in weighed_all for lane in one.unit.lanes})


def read(said: QueryDict, *, space: Space, default_person: str = "") -> Asking:
    """The address as it was meant; what makes no sense is as if it were not said."""
    saved = profiles.get(space, clean(said.get("profile", ""))[:60])
    mode = said.get("mode", "") if said.get("mode") in MODES else ""
    strict = space.options.recall_strict if not mode else mode == "strict"
    tried, singles, problem = saved, saved.weights, ""
    factors: dict[str, float] = {}
    # Sliders that were drawn for another profile say nothing about this one.
    if said.get("of", key(saved)) == key(saved) and saved.formula == "keno":
        try:
            singles, factors = _singles(saved, said), _factors(said)
            tried = _tried(saved, said, strict=strict, weights=_times(singles, factors))
        except PROBLEMS as error:
            problem = str(error)
    apart, then = said.get("apart", ""), Filter.read(said)
    return Asking(
        q=clean(said.get("q", ""))[:MAX_LENGTH].strip(),
        person=clean(said.get("as", default_person))[:120].strip(),
        chat=_chat(space, said.get("chat", "")),
        mode=mode,
        strict=strict,
        saved=saved,
        tried=tried,
        singles=singles,
        factors=factors,
        apart=number_in(apart) or 1,
        problem=problem,
        as_of=then.as_of,
        when=then.when,
        valid_at=then.valid_at,
        holds_at=then.holds_at,
    )


def key(profile: Profile) -> str:
    return f"{profile.name}@{profile.version}"


def page(asking: Asking, *, space: Space, now: datetime) -> dict:
    result = ask(asking, space=space, now=now) if asking.q else None
    rows = result.rows if result else []
    return {
        "space": space,
        "asking": asking,
        "result": result,
        "apart": score_rows.chosen(rows, asking.apart),
        **score_rows.gate(asking.gate),
        "legend": score_rows.legend(),
        "sliders": sliders(asking),
        "singles_changed": asking.singles != asking.saved.weights,
        "most_times": MOST_TIMES,
        "people": people(space, also=asking.person),
        "chats": [(str(chat.pk), str(chat)) for chat in list_page.chats_of(space)],
        "names": profiles.names(space),
        "key": key(asking.saved),
        "versions": versions(space, asking.saved),
        "chosen": space.options.recall_profile,
        "wrong": [] if result else wrong_replies(space)[:SHOWN_WRONG],
    }


def ask(asking: Asking, *, space: Space, now: datetime) -> Result:
    """Recall as a reply would, with the tried weights; beside it with the saved ones."""
    recalled, made = _once(asking, asking.tried, space=space, now=now)
    result = Result(recalled, budget=space.options.token_budget)
    rows = _rows(recalled, space)
    gate = score_rows.Gate(asking.tried, asking.strict, recalled.prompt)
    for row, one in zip(rows, (*recalled.items, *recalled.cut), strict=False):
        row.gate = gate.of(row.kind)
        below = gate.is_short(row.kind, one.confidence, pinned=one.unit.pinned)
        row.nearest = below and not row.cut
    if asking.changed:
        before, _made = _once(asking, asking.saved, space=space, now=now)
        places = {one.key: n for n, one in enumerate((*before.items, *before.cut), 1)}
        for row, one in zip(rows, (*recalled.items, *recalled.cut), strict=False):
            row.before = places.get(one.key)
        result.compared = True
    result.injected = rows[: len(recalled.items)]
    result.cut = rows[len(recalled.items) :]
    result.sections = _sections(recalled, made)
    result.prompt = _prompt(recalled, made, space)
    result.not_memory = not_memory(space, recalled.question.keywords, chat=asking.chat)
    if asking.chat and made and made.recall is None:
        result.note = _(
            "A reply here would not recall: this is a first conversation, or it is off."
        )
    return result


def not_memory(space: Space, keywords: list[str], *, chat: Chat | None) -> list[Message]:
    """The newest messages with one of these words that no recall sees: questions, commands, …"""
    if not keywords:
        return []
    holds = reduce(or_, (Q(text__icontains=word) for word in keywords[:8]))
    said = rows_in(space, Message).filter(holds).exclude(not_recalled=None)
    said = said.exclude(not_recalled="").order_by("-sent_at", "-pk")
    return list((said.filter(chat=chat) if chat else said)[:SHOWN_NOT_MEMORY])


def sliders(asking: Asking) -> list[SliderGroup]:
    """The five groups with their weights, as far as the formula takes weights."""
    if asking.saved.formula != "keno":
        return []
    return [
        SliderGroup(
            name=group,
            label=str(label),
            tone=f"d{n}",
            factor=asking.factors.get(group, 1.0),
            sliders=[_slider(asking, name) for name in names if name in NAMES],
        )
        for n, (group, (label, names)) in enumerate(score_rows.SCORE_GROUPS.items(), 1)
    ]


def people(space: Space, *, also: str) -> list[str]:
    """Who spoke lately, and whoever is asked as."""
    said = rows_in(space, Message).filter(role=Message.Role.USER).order_by("-sent_at")
    names = said.values_list("author", flat=True)[:LOOK_BACK]
    return [name for name in dict.fromkeys([*names, also]) if name]


def versions(space: Space, profile: Profile) -> list[RecallProfile]:
    if profile.name in profiles.BUILT_IN:
        return []
    return list(rows_in(space, RecallProfile).filter(name=profile.name).order_by("-version")[:20])


def _singles(saved: Profile, said: QueryDict) -> dict[str, float]:
    weights = {name: said[f"w-{name}"] for name in NAMES if said.get(f"w-{name}", "").strip()}
    return saved.weights | profiles.check(weights)


def _factors(said: QueryDict) -> dict[str, float]:
    """How many times each group counts, where it is not once."""
    asked = {group: said.get(f"times-{group}", "").strip() for group in score_rows.SCORE_GROUPS}
    most = _("A group counts from 0 to %(most)s times.") % {"most": number(MOST_TIMES)}
    found = {
        group: _between(value, MOST_TIMES, else_say=most) for group, value in asked.items() if value
    }
    return {group: times for group, times in found.items() if times != 1}


def _times(weights: dict[str, float], factors: dict[str, float]) -> dict[str, float]:
    groups = {
        name: group for group, (_l, names) in score_rows.SCORE_GROUPS.items() for name in names
    }
    return {name: one * factors.get(groups.get(name, ""), 1.0) for name, one in weights.items()}


def _tried(saved: Profile, said: QueryDict, *, strict: bool, weights: dict[str, float]) -> Profile:
    tried = saved.with_weights(weights) if weights != saved.weights else saved
    settings = dict(saved.settings)
    if said.get("gate", "").strip():
        line = "strict" if strict else "lenient"
        settings["gate"] = settings["gate"] | {line: _share(said["gate"])}
    if said.get("variety", "").strip():
        settings["diversity"] = round(1 - _share(said["variety"]), 2)
    return replace(tried, settings=settings)


def _share(said: str) -> float:
    return _between(said, 1.0, else_say=_("Gate and variety are numbers from 0 to 1."))


def _between(said: str, most: float, *, else_say: str) -> float:
    """The number from 0 to the most there is; ValueError says what else was expected."""
    try:
        value = float(said)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise ValueError(else_say)
    return round(value, 2)


def _chat(space: Space, said: str) -> Chat | None:
    rows, number = rows_in(space, Chat).select_related("space"), number_in(said)
    return rows.filter(pk=number).first() if number else None


def _once(asking: Asking, profile: Profile, *, space: Space, now: datetime):
    """What a reply in that chat would be given; without a chat, what the whole space knows."""
    how = {"profile": profile, "strict": asking.strict, "save": False}
    made = None
    if asking.when or asking.holds_at:
        how |= {"as_of": asking.when, "valid_at": asking.holds_at}
    elif asking.chat:
        made = context.build(asking.chat, asking.q, now=now, person=asking.person, **how)
        if made.recall is not None:
            return made.recall, made
    found = recall(
        space,
        asking.q,
        chat=asking.chat,
        person=asking.person,
        now=now,
        everywhere=asking.chat is None,
        budget=space.options.token_budget,
        **how,
    )
    return found, made


def _rows(recalled: Recalled, space: Space) -> list[Row]:
    shown = (*recalled.items, *recalled.cut[:SHOWN_CUT])
    return [score_rows.of_scored(one, rank=n, space=space) for n, one in enumerate(shown, 1)]


def _slider(asking: Asking, name: str) -> Slider:
    value = asking.singles.get(name, 0.0)
    was = asking.saved.weights.get(name, 0.0)
    label = str(FEATURES[name])
    return Slider(name, label, value, was, min(LEAST, value), max(MOST, value, was))


def _sections(recalled: Recalled, made: context.Context | None) -> list[tuple[str, int]]:
    if made and made.recall:
        return score_rows.sections(made.sections)
    names = {"fact": _("facts"), "episode": _("episodes"), "message": _("messages")}
    return [
        (label, sum(one.tokens for one in recalled.items if one.unit.kind == kind))
        for kind, label in names.items()
    ]


def _prompt(recalled: Recalled, made: context.Context | None, space: Space):
    """(who speaks, what), as a model would get it."""
    if made:
        turns = [(str(turn["role"]), str(turn["content"])) for turn in made.messages]
        return [*(("system", part) for part in made.system), *turns]
    lines = [sections.RENDER[one.unit.kind](one.unit, space.zone) for one in recalled.items]
    return [("memory", "\n".join(lines))] if lines else []
