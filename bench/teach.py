"""Teach the judge or the listener more, from lines that somebody wrote for it.

    python -m bench.teach judge FILE... [--again FILE...] [--minutes 36] --to DIR
    python -m bench.teach listen FILE... [--again FILE...] [--minutes 10] --to DIR
    python -m bench.teach listen --mean DIR=SHARE... --to DIR

Files of the judge: judge*.txt have lines of a question with memories that help (+) and that do not
(-), talks*.txt numbered talks with questions behind them. Files of the listener: marked messages
(.tsv). What was taught before is given with --again and half as much of it is repeated, so that it
is not forgotten. DIR gets the five files of the model: compare before you put them into
memory/vectors/model. --mean teaches nothing: it mixes the weights of several that were taught from
the same ones, which keeps what each alone forgot. Needs what Keno itself does not: pip install
torch onnx.
"""

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from bench import marked_lines, questions
from bench.taught_graph import Network, Rounded
from memory.extraction.listener import KINDS, PREVIOUS_TOKENS
from memory.text.normalise import as_sentence
from memory.text.summaries import last_question
from memory.vectors import graphs
from memory.vectors.graphs import BEGIN, END

RATE = {"judge": 8e-5, "listen": 5e-5}
# As memory.retrieval.judge reads them, which needs the settings of Django.
QUESTION_TOKENS, MEMORY_TOKENS = 48, 150
WARM_UP, LEAST_RATE, DECAY, STEADY = 60, 0.03, 0.01, 0.99
# From this share of the time on it rounds as the graph does, and the mean of the weights is kept.
ROUNDS_FROM = 0.7
# Questions a step, memories a question, and how many of a talk's are taken from the nearest.
QUESTIONS, MEMORIES, NEAREST, NEAR = 16, 6, 8, 4
MESSAGES = 32
# Rows that go through the network together: few are padded little, many round the weights once.
PART = 32
# How often a message comes with what somebody else asked right before.
WITH_QUESTION = 0.8
# How often the same words of somebody else stand beside an answer, and how often people get other
# names: who said it is what counts, not what they are called.
OF_ANOTHER, RENAMED = 0.4, 0.25
NO_TAG = -100
_PUNCTUATION = re.compile(r"[¿?¡!.,;:'’]")
_SPEAKER = re.compile(r"^(\w{2,12}): ")
_SPOKEN_BY = re.compile(r"(?:^|\n|\? )(\w{2,12}): ")
REFUSALS = ["I do not remember anything about that.", "No recuerdo nada sobre eso.", "Noted."]


_model = graphs.EmbeddedModel()


@dataclass(frozen=True)
class Lesson:
    """A question, what answers it and what does not; the nearest of a talk first.

    What somebody else asked before a message stands in front of it, on a line of its own.
    """

    question: str
    right: list[str]
    wrong: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", choices=list(RATE))
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--mean", nargs="*", default=[], metavar="DIR=SHARE")
    parser.add_argument("--again", type=Path, nargs="*", default=[])
    parser.add_argument("--minutes", type=float, default=36)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", type=Path, required=True)
    given = parser.parse_args()
    if bool(given.files) == bool(given.mean):
        parser.error("give files to teach with, or --mean with what to mix")
    torch.manual_seed(given.seed)
    network = Network(given.graph, graphs.FOLDER)
    if given.mean:
        parts = [one.rpartition("=") for one in given.mean]
        mix(network, {Network(given.graph, Path(one)): float(share) for one, _, share in parts})
    else:
        school = {"judge": JudgeSchool, "listen": ListenSchool}[given.graph]
        taught = school(given.files, given.again, random.Random(given.seed))
        teach(network, taught, rate=RATE[given.graph], seconds=given.minutes * 60)
    network.write(given.to)
    print(f"Written to {given.to}.")


def mix(network: Network, shares: dict[Network, float]) -> None:
    """Give the network the mean of the others, each with its share."""
    total = sum(shares.values())
    states = [(one.state_dict(), share / total) for one, share in shares.items()]
    mean = {
        name: sum(state[name] * share for state, share in states)
        for name, value in network.state_dict().items()
        if value.is_floating_point()
    }
    network.load_state_dict(mean, strict=False)


def teach(network: Network, school, *, rate: float, seconds: float) -> None:
    """Go through the lessons until the time is over; keep the mean of the last part."""
    learning = [one for one in network.parameters() if one.requires_grad]
    matrices = [one for one in learning if one.dim() > 1]
    others = [one for one in learning if one.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": DECAY},
        {"params": others, "weight_decay": 0.0},
    ]
    descent = torch.optim.AdamW(groups, lr=rate)
    began, step, mean = time.monotonic(), 0, {}
    while (done := (time.monotonic() - began) / seconds) < 1:
        for group in descent.param_groups:
            group["lr"] = rate * min(1, (step + 1) / WARM_UP) * max(LEAST_RATE, 1 - done)
        Rounded.rounds = done > ROUNDS_FROM
        loss = school.loss(network.train())
        descent.zero_grad()
        loss.backward()
        clip_grad_norm_(learning, 1.0)
        descent.step()
        step += 1
        if done > ROUNDS_FROM:
            _follow(mean, network.state_dict())
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {done:.0%} of the time", flush=True)
    network.load_state_dict(mean, strict=False)


def _follow(mean: dict[str, Tensor], now: dict[str, Tensor]) -> None:
    for name, value in now.items():
        if name in mean:
            mean[name].mul_(STEADY).add_(value, alpha=1 - STEADY)
        else:
            mean[name] = value.clone()


class Lessons:
    """Hands out what is new and half as much of what was taught before, in random order."""

    def __init__(self, new: list, again: list, rng: random.Random):
        self.new, self.again, self.rng = new, again, rng
        self.waiting: list = []
        print(f"{len(new)} new, {len(again)} taught before")

    def take(self, count: int) -> list:
        while len(self.waiting) < count:
            repeated = self.rng.sample(self.again, min(len(self.again), len(self.new) // 2))
            some = self.new + repeated
            self.rng.shuffle(some)
            self.waiting += some
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken


class JudgeSchool:
    def __init__(self, files: Sequence[Path], again: Sequence[Path], rng: random.Random):
        self.rng = rng
        self.lessons = Lessons(_lessons(files), _lessons(again), rng)
        every = self.lessons.new + self.lessons.again
        self.any_memory = [said for lesson in every for said in lesson.right + lesson.wrong]
        self.names = sorted({name for said in self.any_memory for name in _names(said)})

    def loss(self, network: Network) -> Tensor:
        """Each memory by itself is right or wrong, and the right one stands before the others."""
        rows = [row for lesson in self.lessons.take(QUESTIONS) for row in self._rows(lesson)]
        ids = [_pair(asked, memory) for asked, memory, _ in rows]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        parts = [order[place : place + PART] for place in range(0, len(order), PART)]
        found = torch.cat([network(*_padded([ids[p] for p in part]))["answers"] for part in parts])
        back = torch.tensor(np.argsort(order))
        scores = found.squeeze(-1)[back].view(-1, MEMORIES)
        right = torch.tensor([float(helps) for _, _, helps in rows]).view(-1, MEMORIES)
        alone = functional.binary_cross_entropy_with_logits(scores, right)
        answered = right.sum(1) > 0
        likely = functional.log_softmax(scores[answered], 1) * right[answered]
        return alone - (likely.sum(1) / right[answered].sum(1)).mean()

    def _rows(self, lesson: Lesson) -> list[tuple[str, str, bool]]:
        """Return MEMORIES rows of question, memory and whether it helps, as sloppy as people."""
        rng = self.rng
        lesson = self._renamed(lesson) if rng.random() < RENAMED else lesson
        right = rng.sample(lesson.right, min(2, len(lesson.right)))
        near, far = lesson.wrong[:NEAREST], lesson.wrong[NEAREST:]
        wrong = self._of_another(lesson.question, right) if rng.random() < OF_ANOTHER else []
        room = MEMORIES - len(right) - len(wrong)
        wrong += rng.sample(near, min(NEAR if far else room, room, len(near)))
        wrong += rng.sample(far, min(MEMORIES - len(right) - len(wrong), len(far)))
        while len(right) + len(wrong) < MEMORIES:
            refusal = f"Keno: {rng.choice(REFUSALS)}"
            wrong.append(
                rng.choice(self.any_memory)
                if rng.random() < 0.8
                else rng.choice([lesson.question, refusal])
            )
        asked = _sloppy(lesson.question, rng, mistyped=0.15, bare=0.25)
        without_speaker = rng.random() < 0.12
        rows = []
        for memory, helps in [(said, True) for said in right] + [(said, False) for said in wrong]:
            before, _, said = memory.rpartition("\n")
            said = _SPEAKER.sub("", said) if without_speaker else said
            bare = 0.0 if _SPEAKER.match(said) else 0.08
            said = as_sentence(_sloppy(said, rng, mistyped=0.06, bare=bare))
            is_whole = rng.random() < WITH_QUESTION and not without_speaker
            rows.append((asked, f"{before} {said}".lstrip() if is_whole else said, helps))
        return rows

    def _of_another(self, question: str, right: list[str]) -> list[str]:
        """The words that answer, said by somebody whom the question does not name."""
        for said in right:
            for name in _names(said):
                if _called(name).search(question):
                    other = self.rng.choice(self.names)
                    if not _called(other).search(question):
                        return [said.replace(f"{name}: ", f"{other}: ")]
        return []

    def _renamed(self, lesson: Lesson) -> Lesson:
        """The same with other names for those who speak."""
        texts = [lesson.question, *lesson.right, *lesson.wrong]
        for name in {name for said in lesson.right + lesson.wrong for name in _names(said)}:
            other = self.rng.choice(self.names)
            texts = [_called(name).sub(_as_written(other), text) for text in texts]
        answers = len(lesson.right) + 1
        return Lesson(texts[0], texts[1:answers], texts[answers:])


def _names(said: str) -> list[str]:
    return _SPOKEN_BY.findall(said)


def _called(name: str) -> re.Pattern:
    return re.compile(rf"\b{re.escape(name)}(?=s?\b)", re.IGNORECASE)


def _as_written(name: str) -> Callable[[re.Match], str]:
    """Return what puts a name where another stood, as carelessly as that was written."""
    return lambda found: name.lower() if found[0].islower() else name


def _lessons(files: Sequence[Path]) -> list[Lesson]:
    found = []
    for file in files:
        read: Callable = questions.judged if "judge" in file.name else questions.talks
        for conversation in read(file):
            by_block: dict[str, list[questions.Memory]] = {}
            for memory in conversation.memories:
                by_block.setdefault(memory.id.partition(":")[0], []).append(memory)
            found += [_lesson(asked, by_block) for asked in conversation.questions if asked.block]
    return found


def _lesson(asked: questions.Question, by_block: dict[str, list[questions.Memory]]) -> Lesson:
    memories = by_block[asked.block]
    whole = [_with_question(one, before) for before, one in pairwise([None, *memories])]
    right = [said for one, said in zip(memories, whole, strict=True) if one.id in asked.evidence]
    wrong = [one for one in memories if one.id not in asked.evidence]
    others = [said for one, said in zip(memories, whole, strict=True) if one in wrong]
    if len(wrong) > NEAREST:
        vectors = _model.embed([asked.text, *(one.spoken for one in wrong)])
        others = [others[place] for place in np.argsort(-(vectors[1:] @ vectors[0]))]
    return Lesson(asked.text, right, others)


def _with_question(said: questions.Memory, before: questions.Memory | None) -> str:
    """What was said, behind what somebody else asked right before: as the judge reads it."""
    asks = before and before.speaker and said.speaker not in ("", before.speaker)
    asked = last_question(before.text) if before and asks else ""
    return f"{asked}\n{said.spoken}".lstrip()


def _pair(asked: str, memory: str) -> list[int]:
    pieces = graphs.word_pieces()
    first = pieces.encode(asked, limit=QUESTION_TOKENS + 2)
    return first + pieces.encode(memory, limit=MEMORY_TOKENS + 2)[1:]


class ListenSchool:
    def __init__(self, files: Sequence[Path], again: Sequence[Path], rng: random.Random):
        self.rng = rng
        new = [line for file in files for line in marked_lines.read(file)]
        before = [line for file in again for line in marked_lines.read(file)]
        self.lessons = Lessons(new, before, rng)
        self.every = new + before

    def loss(self, network: Network) -> Tensor:
        """Every word has its tag; whether there is any counts a third."""
        rows = sorted(
            (self._row(line) for line in self.lessons.take(MESSAGES)), key=lambda row: len(row[0])
        )
        tags = anything = torch.zeros(())
        words = 0
        for part in (rows[: MESSAGES // 2], rows[MESSAGES // 2 :]):
            ids, mask = _padded([row for row, _ in part])
            wanted = torch.full(ids.shape, NO_TAG)
            for place, (_, tagged) in enumerate(part):
                wanted[place, : len(tagged)] = torch.tensor(tagged)
            out = network(ids, mask)
            tags = tags + functional.cross_entropy(
                out["tags"].flatten(0, 1), wanted.flatten(), ignore_index=NO_TAG, reduction="sum"
            )
            marked = (wanted > 0).any(1).float()
            anything = anything + functional.binary_cross_entropy_with_logits(
                out["any"].squeeze(-1), marked, reduction="sum"
            )
            words += int((wanted != NO_TAG).sum())
        return tags / words + 0.3 * anything / MESSAGES

    def _row(self, line: marked_lines.Line) -> tuple[list[int], list[int]]:
        """Return token ids and tags of a message, as sloppy as people write."""
        rng, message, marks = self.rng, line.message, list(line.marks)
        if rng.random() < 0.15:
            message = _mistyped(message, rng)
        if rng.random() < 0.15:
            message, marks = _without_punctuation(message, marks)
        if rng.random() < 0.1:
            more = rng.choice([one for one in self.every if one.language == line.language])
            between = rng.choice([" ", ". ", ", ", "\n"])
            later = len(message) + len(between)
            message += between + more.message
            marks += [
                marked_lines.Mark(one.start + later, one.end + later, one.kind)
                for one in more.marks
            ]
        return _tagged(line.previous if rng.random() < 0.9 else "", message, marks)


def _tagged(
    previous: str, message: str, marks: list[marked_lines.Mark]
) -> tuple[list[int], list[int]]:
    pieces = graphs.word_pieces()
    ids, offsets = pieces.encode_with_offsets(message)
    tags = [0] * len(ids)
    for mark in marks:
        inside = [
            place
            for place, (start, end) in enumerate(offsets)
            if start >= mark.start and end <= mark.end
        ]
        for place in inside:
            tags[place] = 1 + 2 * KINDS.index(mark.kind) + (place != inside[0])
    before = pieces.encode_with_offsets(previous)[0][-PREVIOUS_TOKENS:]
    context = [BEGIN, *before, END] if before else [BEGIN]
    room = 250 - len(context)
    untagged = [NO_TAG] * len(context)
    return [*context, *ids[:room], END], [*untagged, *tags[:room], NO_TAG]


def _padded(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Token ids and mask, as long as the longest."""
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
        mask[place, : len(row)] = 1
    return ids, mask


def _sloppy(text: str, rng: random.Random, *, mistyped: float, bare: float) -> str:
    if rng.random() < mistyped:
        text = _mistyped(text, rng)
    return _PUNCTUATION.sub("", text) if rng.random() < bare else text


def _mistyped(text: str, rng: random.Random) -> str:
    """Swap neighbouring letters, about one pair in 25; the length stays."""
    letters = list(text)
    for _ in range(max(1, len(letters) // 25)):
        if len(letters) > 5:
            place = rng.randrange(1, len(letters) - 1)
            if letters[place].isalpha() and letters[place - 1].isalpha():
                letters[place - 1 : place + 1] = letters[place], letters[place - 1]
    return "".join(letters)


def _without_punctuation(
    message: str, marks: list[marked_lines.Mark]
) -> tuple[str, list[marked_lines.Mark]]:
    kept = [not _PUNCTUATION.match(letter) for letter in message]
    place = np.concatenate([[0], np.cumsum(kept)])
    moved = [
        marked_lines.Mark(int(place[one.start]), int(place[one.end]), one.kind) for one in marks
    ]
    return "".join(letter for letter, keep in zip(message, kept, strict=True) if keep), moved


if __name__ == "__main__":
    main()
