"""The first conversation as the page of the identity shows it: how far, what is known, what not."""

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from kenoweb.auth.access import rows_in
from kenoweb.ui.space_urls import space_url
from memory.identity import bootstrap
from memory.identity.bootstrap import PHRASES
from memory.models import Chat, Preference, Space
from memory.text import normalise as text

STAGES = [
    _("Keno listens to five messages"),
    _("Keno says how it reads you, and you correct it"),
    _("Keno asks what to leave alone"),
    _("Your answers become preferences"),
]


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
