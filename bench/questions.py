"""The recall data sets as memories and questions: LoCoMo conversations, XQuAD paragraphs."""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ANSWERABLE = frozenset({1, 2, 3, 4})
_DATE = "%I:%M %p on %d %B, %Y"
# "D8:6; D9:17", "D:11:26" and "D30:05" all occur.
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Memory:
    id: str
    text: str
    speaker: str = ""
    at: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    session: int = 0

    @property
    def spoken(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]
    category: int = 0
    # Which talk or line of a file it belongs to: the first part of its memories' ids.
    block: str = ""


@dataclass
class Conversation:
    name: str
    memories: list[Memory] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    # "message" for turns of talk, "fact" for paragraphs.
    kind: str = "message"
    language: str = "en"

    @property
    def now(self) -> datetime:
        """Questions are asked the day after the last thing was said."""
        return max(memory.at for memory in self.memories) + timedelta(days=1)


def locomo(path: Path) -> list[Conversation]:
    raw = json.loads(Path(path).read_text("utf-8"))
    return [_conversation(one, number) for number, one in enumerate(raw)]


def _conversation(raw: dict, number: int) -> Conversation:
    talk, made = raw["conversation"], Conversation(str(raw.get("sample_id", number)))
    sessions = sorted(
        int(name.split("_")[1])
        for name, turns in talk.items()
        if re.fullmatch(r"session_\d+", name) and turns
    )
    for session in sessions:
        began = datetime.strptime(talk[f"session_{session}_date_time"], _DATE).replace(tzinfo=UTC)
        for place, turn in enumerate(talk[f"session_{session}"]):
            at = began + timedelta(seconds=30 * place)
            made.memories.append(Memory(turn["dia_id"], _said(turn), turn["speaker"], at, session))
    known = {memory.id for memory in made.memories}
    for asked in raw["qa"]:
        found = _EVIDENCE.findall(" ".join(asked.get("evidence", [])))
        evidence = frozenset(f"D{int(a)}:{int(b)}" for a, b in found) & known
        if evidence:
            made.questions.append(Question(asked["question"], evidence, asked["category"]))
    return made


def _said(turn: dict) -> str:
    shown = turn.get("blip_caption")
    return f"{turn['text']} [shares {shown}]" if shown else turn["text"]


def talks(path: Path) -> list[Conversation]:
    """Talks written as numbered lines with questions behind them; one conversation a language."""
    made: dict[str, Conversation] = {}
    for number, block in enumerate(Path(path).read_text("utf-8").split("\n\n")):
        lines = block.strip().splitlines()
        if lines:
            language = lines[0].strip("# ")
            talk = made.setdefault(language, Conversation(language, language=language))
            _add_talk(talk, number, lines[1:])
    return list(made.values())


def _add_talk(talk: Conversation, session: int, lines: list[str]) -> None:
    began = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=7 * session)
    for place, line in enumerate(lines):
        if line.startswith("?"):
            asked, _, numbers = line[1:].rpartition("=")
            evidence = frozenset(f"{session}:{n.strip()}" for n in numbers.split(",") if n.strip())
            talk.questions.append(Question(asked.strip(), evidence, block=str(session)))
        else:
            number, _, said = line.partition(" ")
            # A fact has no speaker.
            speaker, _, words = said.partition(": ") if ": " in said else ("", "", said)
            at = began + timedelta(minutes=place)
            talk.memories.append(Memory(f"{session}:{number}", words, speaker, at, session))


def judged(path: Path) -> list[Conversation]:
    """Lines of a question with what helps (+) and what does not (-): all memories together."""
    made = Conversation("judged", kind="fact")
    for number, line in enumerate(Path(path).read_text("utf-8").splitlines()):
        _language, asked, *memories = line.split("\t")
        rows = [Memory(f"{number}:{n}", said[1:]) for n, said in enumerate(memories)]
        helps = zip(rows, memories, strict=True)
        evidence = frozenset(row.id for row, said in helps if said.startswith("+"))
        made.memories += rows
        made.questions.append(Question(asked, evidence, block=str(number)))
    return [made]


def xquad(asked: Path, held: Path, *, language: str) -> Conversation:
    """Paragraphs of one language as memories, the questions of another."""
    made = Conversation("xquad", kind="fact", language=language)
    for in_held, in_asked in zip(_paragraphs(held), _paragraphs(asked), strict=True):
        name = f"P{len(made.memories)}"
        made.memories.append(Memory(name, in_held["context"]))
        made.questions += [Question(q["question"], frozenset({name})) for q in in_asked["qas"]]
    return made


def _paragraphs(path: Path) -> list[dict]:
    data = json.loads(Path(path).read_text("utf-8"))["data"]
    return [paragraph for article in data for paragraph in article["paragraphs"]]
