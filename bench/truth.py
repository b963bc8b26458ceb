"""Whether Keno knows what was so on day B as it was believed on day A, and the new before the old.

    python -m bench.truth [--timelines N] [--seed N] [--json OUT]

Generated timelines of changes in English and Spanish: somebody tells where they live, work, what
they like best, who leads them, among lines about other things; later it is another value, told as
new ("now"), or only afterwards ("since 3 March"). Every line goes through the real ingest with its
own day. right: of questions about day B as of day A, the share where the first fact that recall
brings has the value of that day and no other. new_before_old: the share of timelines where, asked
at the end, the newest value comes before every older one. The lines are written here, with none of
the product's readers.
"""

import argparse
import json
import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from django.core.management import call_command
from django.db import connection, connections

from bench.fresh_database import fresh_database
from bench.night import _set_up

BEGINS = date(2024, 1, 10)
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
}
TOWNS = "Lisbon Oslo Porto Lima Quito Denver Boston Turin Vienna Dublin Leeds Granada Sevilla"
FIRMS = "Acme Globex Initech Umbrella Hooli Vandelay Contoso Stark Wayne Wonka Cyberdyne Tyrell"
PEOPLE = "Marta Bruno Irene Oscar Nadia Felix Greta Hugo Ines Tomas Olga Pablo"
# First told, told as new, told afterwards with its day; and how it is asked for.
SLOTS = {
    "home": {
        "values": TOWNS.split(),
        "en": (["I live in {v}.", "I live in {v} with two friends."],
               ["I moved to {v}.", "I live in {v} now.", "We have moved to {v}."],
               ["I have lived in {v} since {d}.", "I've been living in {v} since {d}."],
               "Where does {who} live?"),
        "es": (["Vivo en {v}.", "Vivo en {v} con dos amigas."],
               ["Me mudé a {v}.", "Ahora vivo en {v}.", "Me he mudado a {v}."],
               ["Vivo en {v} desde el {d}.", "Llevo viviendo en {v} desde el {d}."],
               "¿Dónde vive {who}?"),
    },
    "employer": {
        "values": FIRMS.split(),
        "en": (["I work at {v}.", "I work for {v}."],
               ["I work at {v} now.", "I started working at {v}.", "Now I work for {v}."],
               ["I have worked at {v} since {d}.", "I've been working at {v} since {d}."],
               "Where does {who} work?"),
        "es": (["Trabajo en {v}.", "Trabajo para {v}."],
               ["Ahora trabajo en {v}.", "Empecé a trabajar en {v}.", "Ahora trabajo para {v}."],
               ["Trabajo en {v} desde el {d}."],
               "¿Dónde trabaja {who}?"),
    },
    "boss": {
        "values": PEOPLE.split(),
        "en": (["My boss is {v}."], ["My boss is {v} now.", "My new boss is {v}."], [],
               "Who is {who}'s boss?"),
        "es": (["Mi jefa es {v}."], ["Ahora mi jefa es {v}.", "Mi jefa ahora es {v}."], [],
               "¿Quién es la jefa de {who}?"),
    },
    "colour": {
        "values": {"en": "blue green red yellow orange purple black white".split(),
                   "es": "azul verde rojo amarillo naranja morado negro blanco".split()},
        "en": (["My favourite colour is {v}."],
               ["My favourite colour is {v} now.", "Now my favourite colour is {v}."], [],
               "What is {who}'s favourite colour?"),
        "es": (["Mi color favorito es el {v}."],
               ["Ahora mi color favorito es el {v}.", "Mi color favorito ahora es el {v}."], [],
               "¿Cuál es el color favorito de {who}?"),
    },
}  # fmt: skip
BESIDE = {
    "en": ["I have a dog called Rex.", "I play the cello on Sundays.", "My sister studies biology.",
           "I am allergic to nuts.", "I bought a bicycle."],
    "es": ["Tengo un perro que se llama Rex.", "Toco el chelo los domingos.",
           "Mi hermana estudia biología.", "Soy alérgica a las nueces.", "Compré una bicicleta."],
}  # fmt: skip


@dataclass(frozen=True)
class Told:
    """One value: the day it was told, the first day it was so, and the line."""

    said: date
    since: date
    value: str
    line: str


@dataclass(frozen=True)
class Timeline:
    language: str
    who: str
    values: list[Told]
    beside: list[tuple[date, str]]
    question: str

    def value(self, *, about: date, as_of: date) -> str:
        known = [one for one in self.values if one.said <= as_of and one.since <= about]
        return max(known, key=lambda one: one.since).value if known else ""

    @property
    def lines(self) -> list[tuple[date, str]]:
        return sorted([*((one.said, one.line) for one in self.values), *self.beside])

    @property
    def last_day(self) -> date:
        return self.values[-1].said + timedelta(days=60)


def generate(number: int, *, seed: int) -> Timeline:
    """One timeline; the same number and seed give the same one."""
    chance = random.Random(f"{seed}/{number}")
    language = ("en", "es")[number % 2]
    slot = SLOTS[chance.choice(list(SLOTS))]
    first, new, later, question = slot[language]
    values = slot["values"][language] if isinstance(slot["values"], dict) else slot["values"]
    chosen = chance.sample(values, chance.randint(2, 4))
    day, told = BEGINS + timedelta(days=chance.randint(0, 90)), []
    for place, value in enumerate(chosen):
        since = day
        if place == 0:
            line = chance.choice(first).format(v=value)
        elif later and chance.random() < 0.4:
            since = day - timedelta(days=chance.randint(10, 50))
            line = chance.choice(later).format(v=value, d=_worded(since, language))
        else:
            line = chance.choice(new).format(v=value)
        told.append(Told(day, since, value, line))
        day += timedelta(days=chance.randint(70, 200))
    who = chance.choice(["Ana", "Luis", "Vera", "Nico"])
    days = [told[0].said + timedelta(days=chance.randint(3, 300)) for _ in range(2)]
    beside = list(zip(days, chance.sample(BESIDE[language], 2), strict=True))
    return Timeline(language, who, told, beside, question.format(who=who))


def _worded(day: date, language: str) -> str:
    month = MONTHS[language].split()[day.month - 1]
    if language == "en":
        return f"{month} {day.day}, {day.year}"
    return f"{day.day} de {month} de {day.year}"


def questions(timeline: Timeline, *, seed: int, count: int = 2) -> list[tuple[date, date]]:
    """Days A and B at random, away from the days on which something changes."""
    chance = random.Random(f"{seed}/{timeline.lines}")
    edges = {day for one in timeline.values for day in (one.said, one.since)}
    span = (timeline.last_day - timeline.values[0].said).days
    found: list[tuple[date, date]] = []
    while len(found) < count:
        ahead = (timedelta(days=chance.randint(2, span)) for _day in "AB")
        as_of, about = (timeline.values[0].said + days for days in ahead)
        near = any(abs((day - edge).days) < 2 for day in (as_of, about) for edge in edges)
        if not near:
            found.append((as_of, about))
    return found


class Lived:
    """A timeline told to Keno, line by line, each on its day."""

    def __init__(self, timeline: Timeline, number: int):
        from memory.models import Chat, Space

        self.timeline = timeline
        name = f"truth-{number}"
        self.space = Space.objects.create(name=name, slug=name, language=timeline.language)
        given = {"channel": "console", "external_id": "1", "key": "console-1"}
        self.chat = Chat.objects.create(space=self.space, language=timeline.language, **given)

    def tell(self) -> None:
        from memory.chats import service as chats
        from memory.extraction.ingest import ingest

        for day, line in self.timeline.lines:
            now, before = _at(day), _last_event()
            given = {"text": line, "author": self.timeline.who, "author_id": "7", "now": now}
            ingest(chats.receive(self.chat, **given).message, now=now)
            _date_events(before, now)

    def asked(self, *, as_of: date | None = None, about: date | None = None, **how) -> list[str]:
        from memory.retrieval.recall import recall

        days = {"as_of": _at(as_of) if as_of else None, "valid_at": _at(about) if about else None}
        now = _at(self.timeline.last_day)
        given = {"chat": self.chat, "save": False, "now": now, **days, **how}
        found = recall(self.space, self.timeline.question, **given)
        if found.error:
            raise RuntimeError(found.error)
        return [item.unit.text for item in found.items]

    def is_right(self, as_of: date, about: date) -> bool:
        wanted = self.timeline.value(about=about, as_of=as_of)
        came = self.asked(as_of=as_of, about=about, kinds=("fact",))
        others = {one.value for one in self.timeline.values} - {wanted}
        if not wanted:
            return not any(_names(text, other) for text in came for other in others)
        first = next((t for t in came if any(_names(t, v) for v in {wanted, *others})), "")
        return _names(first, wanted) and not any(_names(first, other) for other in others)

    def has_new_first(self) -> bool:
        came = self.asked()
        new, *old = [one.value for one in reversed(self.timeline.values)]
        place = next((n for n, text in enumerate(came) if _names(text, new)), None)
        worst = [n for n, text in enumerate(came) if any(_names(text, v) for v in old)]
        return place is not None and all(place <= n for n in worst)


def _names(text: str, value: str) -> bool:
    return f" {value.lower()} " in f" {''.join(c if c.isalnum() else ' ' for c in text.lower())} "


def _at(day: date) -> datetime:
    return datetime.combine(day, time(12), UTC)


def _last_event() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(pgh_id), 0) FROM memory_factevent")
        return cursor.fetchone()[0]


def _date_events(after: int, now: datetime) -> None:
    """The database's own clock writes the history; here it is the day of the line."""
    with connection.cursor() as cursor:
        given = [now, after]
        cursor.execute("UPDATE memory_factevent SET pgh_created_at = %s WHERE pgh_id > %s", given)


def run(count: int, *, seed: int) -> dict:
    asked, right, first, wrong = 0, 0, 0, []
    for number in range(count):
        timeline = generate(number, seed=seed)
        lived = Lived(timeline, number)
        lived.tell()
        for as_of, about in questions(timeline, seed=seed):
            asked += 1
            good = lived.is_right(as_of, about)
            right += good
            if not good:
                wrong.append({"as_of": str(as_of), "about": str(about), **_shown(timeline)})
        is_first = lived.has_new_first()
        first += is_first
        if not is_first:
            wrong.append({"new": timeline.values[-1].value, **_shown(timeline)})
    figures = {"timelines": count, "questions": asked, "right": round(right / asked, 4)}
    return figures | {"new_before_old": round(first / count, 4), "wrong": wrong[:40]}


def _shown(timeline: Timeline) -> dict:
    lines = [f"{one.said} (since {one.since}): {one.line}" for one in timeline.values]
    return {"question": timeline.question, "lines": lines}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timelines", type=int, default=500)
    parser.add_argument("--seed", type=int, default=20261116)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args(argv)
    with fresh_database("keno_truth_bench"):
        _set_up()
        call_command("migrate", verbosity=0)
        figures = run(asked.timelines, seed=asked.seed)
        connections.close_all()
    for name in ("timelines", "questions", "right", "new_before_old"):
        print(f"{name}: {figures[name]}")
    for one in figures["wrong"][:10]:
        print(json.dumps(one, ensure_ascii=False))
    if asked.json:
        asked.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
