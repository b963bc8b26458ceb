"""What each operation takes and gives, over REST and MCP alike. Models read the descriptions."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, create_model

LARGEST = 2**63 - 1
ID = Field(ge=1, le=LARGEST)
WORDS = Field("", max_length=200, description="All of these words must be in it; none: everything.")
PAGE = "Its page in the dashboard."


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Nothing(Asked):
    """It takes nothing."""


class Which(Asked):
    id: int = Field(ge=1, le=LARGEST, description="Its id, from a list or from `recall`.")


class Times(Which):
    true_from: date | None = Field(None, description="The first day it holds; left out: as it is.")
    true_until: date | None = Field(None, description="The last day it holds; left out: as it is.")


class Part(Asked):
    limit: int = Field(20, ge=1, le=50, description="How many to return at most.")
    after: str = Field(
        "", max_length=200, description="`next` of the answer before, to read on from there."
    )


class Search(Part):
    words: str = WORDS


class Clocks(Asked):
    """Two clocks: what was believed on one day about another."""

    as_of: date | None = Field(
        None, description="What was believed at the end of this day; left out: today."
    )
    valid_at: date | None = Field(
        None,
        description="What held on this day, also when it is over by now; left out: what holds now.",
    )


class FactSearch(Search, Clocks):
    subject: str = Field(
        "", max_length=120, description="Only facts about exactly this subject, as facts name it."
    )
    kind: Literal["", "fact", "concept", "procedure", "lesson", "lore", "goal", "note"] = Field(
        "", description="Only facts of this kind."
    )
    status: Literal["active", "archived", "superseded"] = Field(
        "active", description="Believed (the usual), put away, or replaced by another."
    )
    chat: int | None = Field(
        None, ge=1, le=LARGEST, description="Only of this chat. Needs the right “private”."
    )
    since: AwareDatetime | None = Field(None, description="Only what was said last after this.")


class ChatPart(Part):
    chat: int | None = Field(None, ge=1, le=LARGEST, description="Only of this chat, by its id.")


class MessageSearch(ChatPart):
    words: str = WORDS


class ProposalSearch(Part):
    status: Literal["pending", "approved", "rejected", "expired", "undone"] = "pending"


class Query(Asked):
    query: str = Field(
        min_length=1,
        max_length=2000,
        description="What you want to know, in plain words, in any language.",
    )


class Question(Query, Clocks):
    limit: int = Field(8, ge=1, le=20, description="How many memories to return at most.")
    budget: int | None = Field(
        None, ge=16, le=100_000, description="How many tokens of memory to return at most."
    )
    context: bool = Field(
        False, description="Also give the memories as one block to paste into a prompt."
    )


class Saying(Asked):
    text: str = Field(
        min_length=1,
        max_length=2000,
        description="One thing to remember, as one sentence that can be understood alone.",
    )
    subject: str = Field(
        "", max_length=120, description="Who or what it is about: a name. May be left out."
    )
    true_from: date | None = Field(None, description="The first day it holds, when that is known.")
    true_until: date | None = Field(
        None, description="The last day it holds, when that is known; may lie ahead."
    )


class Revision(Asked):
    id: int = ID
    text: str | None = Field(None, min_length=1, max_length=2000)
    subject: str | None = Field(None, max_length=120)
    version: str = Field(
        "", max_length=64, description="Only if it still has this version (over HTTP: If-Match)."
    )


class Removal(Asked):
    id: int = ID
    version: str = Field(
        "", max_length=64, description="Only if it still has this version (over HTTP: If-Match)."
    )


class Habit(Asked):
    trigger: str = Field(min_length=1, max_length=200, description="What a message says.")
    response: str = Field(min_length=1, max_length=2000, description="How to answer it.")


class NoteText(Asked):
    id: int = Field(ge=1, le=LARGEST, description="The id of the chat.")
    task: str = Field("", max_length=500)
    context: list[str] = Field([], max_length=50)
    pending: list[str] = Field([], max_length=50)
    notes: str = Field("", max_length=4000)


class Undoing(Asked):
    change: str = Field(
        pattern=r"^[0-9a-fA-F-]{36}$", description="`change` of the answer to what you did."
    )


class Message(Asked):
    content: str = Field(min_length=1, max_length=20_000, description="What is said.")
    chat: str = Field(
        "main", pattern=r"^[A-Za-z0-9_-]{1,100}$", description="A name for the conversation."
    )
    author: str = Field("", max_length=120, description="Who says it, as people read it.")
    id: str = Field("", max_length=100, description="The same id again is the same message.")
    wait: float = Field(30, ge=0, le=120, description="Wait at most so many seconds.")


class File(Asked):
    name: str = Field(min_length=1, max_length=100, description="Its file name, with the ending.")
    content: str = Field(min_length=1, max_length=900_000, description="Its text.")
    format: str = Field("", max_length=40, description="Left out: found from the file itself.")


class Row(BaseModel):
    id: int
    url: str = Field(description=PAGE)


class Memory(Row):
    kind: Literal["fact", "episode", "message"]
    text: str
    quote: str = Field(description="The words it comes from, as they were said; may be empty.")
    subject: str
    said_by: str
    at: datetime = Field(description="When it was said, or happened.")
    score: float = Field(description="What it got in the ranking; higher is better.")
    confidence: float = Field(description="0 to 1: how likely it is to the point.")


class Recollection(BaseModel):
    memories: list[Memory]
    confidence: float = Field(description="0 to 1: how surely the best of them answers.")
    level: Literal["none", "low", "medium", "high"]
    receipt: int | None = Field(description="The receipt says why these; null for the past.")
    url: str = Field("", description="The page of the receipt.")
    context: str = Field("", description="The memories as one block of data for a prompt.")
    note: str = Field("", description="What went wrong on the way, if anything did.")


class Answer(BaseModel):
    answer: str
    model: str
    level: Literal["none", "low", "medium", "high"]
    receipt: int | None
    url: str = Field("", description="The page of the receipt.")


class Done(BaseModel):
    outcome: str = Field(
        description="new; again: known already, now believed the more; restored; quarantined: held "
        "back until a person has looked; proposed: it waits for a person; forgotten, revised, "
        "unchanged, undone; refused: not done."
    )
    message: str = Field(description="The same as a sentence for people, with the reason.")
    id: int | None = None
    text: str = Field("", description="As it is kept: secrets are left out.")
    version: str = ""
    change: str = Field("", description="Give it to `undo` to take this back.")
    url: str = Field("", description="The page where a person sees it, or decides.")


class Fact(Row):
    text: str
    quote: str
    subject: str
    kind: str
    category: str
    tags: list[str]
    status: str
    confidence: float
    pinned: bool
    said_by: str
    at: datetime = Field(description="When it was said last.")
    true_from: datetime | None
    true_until: datetime | None
    checked: datetime = Field(description="When it was last said, confirmed or used unchallenged.")
    due: datetime | None = Field(description="From when on it may be out of date.")
    occurs_at: datetime | None = Field(description="When a plan or an event happens.")
    version: str = Field(description="Changes with every change; over HTTP also the ETag.")


class Facts(BaseModel):
    items: list[Fact]
    next: str = Field("", description="Give it as `after` to read on; empty: that was all.")


class Change(BaseModel):
    at: datetime
    by: str
    why: str
    change: str
    before: dict[str, Any]
    after: dict[str, Any]


class History(BaseModel):
    items: list[Change] = Field(description="The newest first.")


class Episode(Row):
    title: str
    text: str
    tags: list[str]
    participants: list[str]
    started_at: datetime
    ended_at: datetime


class Pattern(Row):
    trigger: str
    response: str
    confidence: float
    times_used: int


class Person(Row):
    name: str
    aliases: list[str]
    kind: str
    relation: str
    facts: list[str] = Field([], description="What is known about them; in the single view.")


class Note(Row):
    chat: str
    task: str
    context: list[str]
    pending: list[str]
    notes: str
    updated_at: datetime


class Chat(Row):
    name: str
    channel: str
    title: str
    context: str
    last_message_at: datetime | None


class Said(Row):
    chat: int
    role: str
    author: str
    text: str
    sent_at: datetime


class Reply(BaseModel):
    id: int
    chat: str
    status: Literal["answered", "accepted"] = Field(
        description="accepted: no answer yet; ask again with the same id."
    )
    response: str = ""


class Proposal(Row):
    kind: str
    status: str
    title: str | None = Field(
        description="null: it speaks of what one chat said, or of suspicious words; for people."
    )
    source: str = Field(description="Who proposed it: a night, or a program by its token.")
    since: datetime


class Proposals(BaseModel):
    items: list[Proposal]
    next: str = ""
    count: int = Field(description="How many wait for a person's decision. An agent cannot decide.")


class Night(Row):
    date: date
    status: str
    mode: str
    changes: int
    proposals: int
    cost: float


class Ruling(Row):
    kind: str
    text: str
    reason: str
    since: datetime


class Held(Row):
    kind: str
    reasons: str = Field(description="Why a guard holds it back. Its words are for people only.")
    since: datetime


class Quarantine(BaseModel):
    items: list[Held]
    next: str = ""


class Receipt(Row):
    query: str
    level: str
    confidence: float
    at: datetime
    items: list[dict[str, Any]] = Field([], description="Each memory with its score, best first.")


class Hit(Row):
    kind: str
    text: str


class Hits(BaseModel):
    items: list[Hit]


class Health(BaseModel):
    status: Literal["healthy", "unhealthy"]
    timestamp: str
    checks: dict[str, Any]
    warnings: list[str]
    errors: list[str]


class Cost(BaseModel):
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float


class Costs(BaseModel):
    month: str
    dollars: float
    items: list[Cost]


class Settings(BaseModel):
    name: str
    language: str
    timezone: str
    options: dict[str, Any]


class Token(BaseModel):
    name: str
    person: str
    space: str
    scopes: list[str]
    gate: Literal["believe", "hold", "read_only"] = Field(
        description="What becomes of what you write: memory at once, a proposal, or nothing."
    )
    version: str = Field(description="The version of this Keno.")


class Erased(BaseModel):
    rows: dict[str, int] = Field(description="How many rows of each table hold its words.")
    url: str = Field(description="Only a person erases, and there.")


class Imported(Row):
    status: str
    counts: dict[str, Any]
    problem: str


def _list_of(name: str, row: type[Row]) -> type[BaseModel]:
    """A part of a list, and what to give as `after` to read on."""
    return create_model(name, items=(list[row], ...), next=(str, ""))


Episodes = _list_of("Episodes", Episode)
Patterns = _list_of("Patterns", Pattern)
People = _list_of("People", Person)
Notes = _list_of("Notes", Note)
Chats = _list_of("Chats", Chat)
Messages = _list_of("Messages", Said)
Nights = _list_of("Nights", Night)
Rulings = _list_of("Rulings", Ruling)
Receipts = _list_of("Receipts", Receipt)
