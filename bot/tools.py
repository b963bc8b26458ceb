"""The tools that a model may use before it answers, in a bounded loop.

Reading tools run at once. Writing ones are tried in a transaction that is rolled back, to tell the
model the result; they are done with the reply, in its transaction, exactly once, and shown below
it. No tool forgets anything: Keno asks, and a person says yes.
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any

from django.db import OperationalError, transaction
from django.utils.timezone import is_naive
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from bot.commands.knowledge import facts_in_reach, matching_facts
from bot.commands.registry import CommandCall
from memory.extraction import tags
from memory.extraction.apply import Applied, apply
from memory.extraction.tags import Split
from memory.facts import plans
from memory.facts.plans import Plan
from memory.llm.choose import choose
from memory.llm.complete import complete
from memory.llm.providers import PROVIDERS
from memory.llm.request import Completion, ProviderError, Round, Tool, ToolCall
from memory.models import Chat, Fact, Message
from memory.models.space import clear_turn_cache
from memory.prompt import sections
from memory.retrieval.ranking import Scored
from memory.retrieval.recall import recall
from memory.text.normalise import one_line, short

log = logging.getLogger(__name__)

MAX_ROUNDS = 20
# How much of what was recalled goes back to the model, in tokens.
RECALL_BUDGET = 1200
MAX_NAMED = 5
# Models that refused a request because of its tools, as long as this process lives.
_WITHOUT_TOOLS: set[tuple[str, str]] = set()

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=400)]


class RecallArguments(BaseModel):
    """Search memory again in other words, when what you were given does not answer it."""

    query: Line = Field(description="What to look for, as a question or words.")


class RememberArguments(BaseModel):
    """Keep one fact that the person just stated, in their words and language."""

    text: Line = Field(description="One sentence, third person.")


class ForgetArguments(BaseModel):
    """Ask the person whether a memory shall be forgotten; only their yes does it."""

    words: Line = Field(description="Words of the memory that is meant.")


class NotePlanArguments(BaseModel):
    """Note a plan that the person stated, to be said in this chat at its time."""

    text: Line = Field(description="What to say, without the time.")
    at: datetime = Field(description="First local time, YYYY-MM-DDTHH:MM.")
    weekdays: Annotated[list[Annotated[int, Field(ge=0, le=6)]], Field(max_length=7)] = Field(
        default_factory=list, description="Days on which it comes again, 0 is Monday; empty: once."
    )


class ListPlansArguments(BaseModel):
    """List the plans that are still to come."""


class TimeArguments(BaseModel):
    """Tell the date and time where the person is."""


class Refused(ValueError):
    """The tool was not used; the text tells the model why."""


@dataclass
class Toolbox:
    """The tools of one turn, and what was asked of them."""

    chat: Chat
    group: Sequence[Message]
    now: datetime
    mode: str = ""
    facts: list[str] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    asks: Fact | None = None
    found: list[Scored] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def offered(self) -> list[Tool]:
        return [
            Tool(name, " ".join((shape.__doc__ or "").split()), _schema(shape))
            for name, (shape, _use, keeps) in TOOLS.items()
            # Incognito nothing is kept and nothing is taken away.
            if not (keeps and self.chat.incognito_since)
        ]

    def use(self, call: ToolCall) -> str:
        """Return what the model is told: a sentence, whatever it wrote."""
        result = self._use(call)
        self.results.append(result)
        return result

    def _use(self, call: ToolCall) -> str:
        if call.name not in {tool.name for tool in self.offered()}:
            return f"There is no tool called {short(one_line(call.name), 40)}."
        shape, use, _keeps = TOOLS[call.name]
        try:
            arguments = call.arguments
            if isinstance(arguments, str):
                parsed = json.loads(arguments or "{}")
                arguments = arguments if parsed is None else parsed
            return use(self, shape.model_validate(arguments))
        except (Refused, ValidationError, ValueError, RecursionError) as error:
            return f"Not done: {_why(error)}"
        except OperationalError:
            raise
        except Exception as error:
            log.exception("the tool %s failed", call.name)
            return f"Not done: {type(error).__name__}."

    def recall(self, arguments: RecallArguments) -> str:
        result = recall(
            self.chat.space, arguments.query, chat=self.chat, person=self.group[-1].author,
            now=self.now, budget=RECALL_BUDGET, save=False,
            seen=[message.pk for message in self.group],
        )  # fmt: skip
        known = {item.key for item in self.found}
        self.found += [item for item in result.items if item.key not in known]
        zone = self.chat.space.zone
        for item in result.items:
            item.unit.stale = ""
        lines = [sections.RENDER[item.unit.kind](item.unit, zone) for item in result.items]
        return sections.fence("\n".join(lines)) if lines else "Nothing is known about that."

    def remember(self, arguments: RememberArguments) -> str:
        outcome = self._try(Split("", facts=(arguments.text,)))
        self.facts.append(arguments.text)
        return outcome

    def forget(self, arguments: ForgetArguments) -> str:
        if self.asks:
            raise Refused("You may ask about one memory a reply.")
        reach = facts_in_reach(CommandCall(self.group[-1], "", self.now))
        matches = matching_facts(reach, arguments.words)[:MAX_NAMED]
        if not matches:
            raise Refused("This person has no such memory here.")
        if len(matches) > 1:
            names = "; ".join(f"“{sections.line(fact.text)}”" for fact in matches)
            raise Refused(f"Several fit, use the words of one of them: {names}")
        self.asks = matches[0]
        return "Below your reply the person is asked whether to forget it. Do not say it is done."

    def note_plan(self, arguments: NotePlanArguments) -> str:
        zone, at = self.chat.space.zone, arguments.at
        now = self.now.astimezone(zone)
        at = at.replace(tzinfo=zone) if is_naive(at) else at.astimezone(zone)
        every = "".join(str(day) for day in sorted(set(arguments.weekdays)))
        if at <= now and not every:
            raise Refused(f"That time has passed: it is {now:%Y-%m-%d %H:%M}.")
        if every and (at <= now or str(at.weekday()) not in every):
            at = plans.after(max(now, at), every=every, at=at.time())
        plan = Plan(arguments.text, at, every)
        outcome = self._try(Split(""), plans=[plan])
        self.plans.append(plan)
        return f"{outcome} It is for {at:%A %Y-%m-%d %H:%M}."

    def list_plans(self, _arguments: ListPlansArguments) -> str:
        ahead = plans.upcoming(self.chat, now=self.now)
        lines = [f"- {plans.when_words(plan)}: {sections.line(plan.text)}" for plan in ahead]
        return sections.fence("\n".join(lines)) if lines else "There are no plans."

    def time(self, _arguments: TimeArguments) -> str:
        here = self.now.astimezone(self.chat.space.zone)
        return f"{here:%A %Y-%m-%d %H:%M} ({here.tzinfo})"

    def _try(self, split: Split, **options: Any) -> str:
        """Do it and roll it back; return what the model is told about the outcome."""
        options |= {"chat": self.chat, "messages": self.group, "now": self.now, "mode": self.mode}
        with transaction.atomic():
            results: list[Applied] = apply(split, **options)
            transaction.set_rollback(True)
        clear_turn_cache()
        done = results[0].done
        outcome = done.outcome if done else "error"
        if outcome not in OUTCOMES:
            raise Refused((done and done.reason) or "it could not be kept.")
        return OUTCOMES[outcome]


# Its arguments, what it does, and whether it keeps or takes away anything.
TOOLS: dict[str, tuple[type[BaseModel], Callable[[Toolbox, Any], str], bool]] = {
    "recall": (RecallArguments, Toolbox.recall, False),
    "remember": (RememberArguments, Toolbox.remember, True),
    "forget": (ForgetArguments, Toolbox.forget, True),
    "note_plan": (NotePlanArguments, Toolbox.note_plan, True),
    "list_plans": (ListPlansArguments, Toolbox.list_plans, False),
    "time": (TimeArguments, Toolbox.time, False),
}
OUTCOMES = {
    "new": "It is kept with your reply.",
    "restored": "It is kept with your reply.",
    "superseded": "It is kept with your reply, and what it makes untrue gives way.",
    "again": "That was known; it counts once more.",
    "agreed": "That was just noted.",
    "known": "That was known.",
    "quarantined": "A person must look at it first: do not say it is kept.",
    "offered": "It is offered to the person: do not say it is kept.",
}


def answer(box: Toolbox, **options: Any) -> Completion:
    """Ask the model until it answers; each round is a call of its own, with its price and breaker.

    `options` are what complete() takes. After MAX_ROUNDS rounds it must answer.
    """
    choice = choose("chat", space=box.chat.space)
    key = (choice.provider, choice.model)
    tools = box.offered() if PROVIDERS[choice.provider].tools and key not in _WITHOUT_TOOLS else []
    box.mode = ":".join(key)
    rounds: list[Round] = []
    while True:
        last = len(rounds) == MAX_ROUNDS
        try:
            done = complete("chat", tools=tools, rounds=rounds, must_answer=last, **options)
        except ProviderError as error:
            if not tools or rounds or not error.ours:
                raise
            # A small model may not know tools: it answers without.
            done, tools = complete("chat", **options), []
            _WITHOUT_TOOLS.add(key)
        box.facts += tags.split(done.text).facts if done.calls and not last else ()
        if not done.calls or last:
            return done
        rounds.append(Round(done.turn, done.calls, [box.use(call) for call in done.calls]))


def _schema(shape: type[BaseModel]) -> dict[str, Any]:
    schema = shape.model_json_schema()
    for part in (schema, *schema.get("properties", {}).values()):
        part.pop("title", None)
    schema.pop("description", None)
    return {"properties": {}} | schema | {"additionalProperties": False}


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        lines = [f"{'.'.join(map(str, row['loc']))}: {row['msg']}" for row in error.errors()[:3]]
        return short("; ".join(lines), 300)
    return short(str(error), 600) if isinstance(error, Refused) else "the arguments are not JSON."


def with_tools(split: Split, box: Toolbox | None) -> Split:
    facts = dict.fromkeys([*box.facts, *split.facts]) if box else split.facts
    return replace(split, facts=tuple(facts))
