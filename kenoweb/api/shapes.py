"""What each operation takes and gives, over REST and MCP alike. Models read the descriptions."""

from datetime import date, datetime
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, create_model

LARGEST = 2**63 - 1


def _field(description: str, default: Any = ..., **rules: Any) -> Any:
    return Field(default, description=description, **rules)


ID = Field(ge=1, le=LARGEST)
WORDS = _field("All of these words must be in it; none: everything.", "", max_length=200)
VERSION = _field("Only if it still has this version (over HTTP: If-Match).", "", max_length=64)
RECEIPT_URL = _field("The page of the receipt.", "")
Level = Literal["none", "low", "medium", "high"]


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Nothing(Asked):
    """It takes nothing."""


class Which(Asked):
    id: int = _field("Its id, from a list or from `recall`.", ge=1, le=LARGEST)


class Times(Which):
    true_from: date | None = _field("The first day it holds; left out: as it is.", None)
    true_until: date | None = _field("The last day it holds; left out: as it is.", None)


class Part(Asked):
    limit: int = _field("How many to return at most.", 20, ge=1, le=50)
    after: str = _field("`next` of the answer before, to read on from there.", "", max_length=200)


class Search(Part):
    words: str = WORDS


class Clocks(Asked):
    """Two clocks: what was believed on one day about another."""

    as_of: date | None = _field("What was believed at the end of this day; left out: today.", None)
    valid_at: date | None = _field(
        "What held on this day, also when it is over by now; left out: what holds now.", None
    )


class FactSearch(Search, Clocks):
    subject: str = _field(
        "Only facts about exactly this subject, as facts name it.", "", max_length=120
    )
    kind: Literal["", "fact", "concept", "procedure", "lesson", "lore", "goal", "note"] = _field(
        "Only facts of this kind.", ""
    )
    status: Literal["active", "archived", "superseded"] = _field(
        "Believed (the usual), put away, or replaced by another.", "active"
    )
    chat: int | None = _field(
        "Only of this chat. Needs the right “private”.", None, ge=1, le=LARGEST
    )
    since: AwareDatetime | None = _field("Only what was said last after this.", None)


class ChatPart(Part):
    chat: int | None = _field("Only of this chat, by its id.", None, ge=1, le=LARGEST)


class MessageSearch(ChatPart):
    words: str = WORDS


class ProposalSearch(Part):
    status: Literal["pending", "approved", "rejected", "expired", "undone"] = "pending"


class Query(Asked):
    query: str = _field(
        "What you want to know, in plain words, in any language.", min_length=1, max_length=2000
    )


class Question(Query, Clocks):
    limit: int = _field("How many memories to return at most.", 8, ge=1, le=20)
    budget: int | None = _field(
        "How many tokens of memory to return at most.", None, ge=16, le=100_000
    )
    context: bool = _field("Also give the memories as one block to paste into a prompt.", False)


class Saying(Asked):
    text: str = _field(
        "One thing to remember, as one sentence that can be understood alone.",
        min_length=1,
        max_length=2000,
    )
    subject: str = _field("Who or what it is about: a name. May be left out.", "", max_length=120)
    true_from: date | None = _field("The first day it holds, when that is known.", None)
    true_until: date | None = _field(
        "The last day it holds, when that is known; may lie ahead.", None
    )


class Revision(Asked):
    id: int = ID
    text: str | None = Field(None, min_length=1, max_length=2000)
    subject: str | None = Field(None, max_length=120)
    version: str = VERSION


class Removal(Asked):
    id: int = ID
    version: str = VERSION


class Habit(Asked):
    trigger: str = _field("What a message says.", min_length=1, max_length=200)
    response: str = _field("How to answer it.", min_length=1, max_length=2000)


class NoteText(Asked):
    id: int = _field("The id of the chat.", ge=1, le=LARGEST)
    task: str = Field("", max_length=500)
    context: list[str] = Field([], max_length=50)
    pending: list[str] = Field([], max_length=50)
    notes: str = Field("", max_length=4000)


class Undoing(Asked):
    change: str = _field("`change` of the answer to what you did.", pattern=r"^[0-9a-fA-F-]{36}$")


class Message(Asked):
    content: str = _field("What is said.", min_length=1, max_length=20_000)
    chat: str = _field("A name for the conversation.", "main", pattern=r"^[A-Za-z0-9_-]{1,100}$")
    author: str = _field("Who says it, as people read it.", "", max_length=120)
    id: str = _field("The same id again is the same message.", "", max_length=100)
    wait: float = _field("Wait at most so many seconds.", 30, ge=0, le=120)


class File(Asked):
    name: str = _field("Its file name, with the ending.", min_length=1, max_length=100)
    content: str = _field("Its text.", min_length=1, max_length=900_000)
    format: str = _field("Left out: found from the file itself.", "", max_length=40)


class Row(BaseModel):
    id: int
    url: str = _field("Its page in the dashboard.")


class Memory(Row):
    kind: Literal["fact", "episode", "message"]
    text: str
    quote: str = _field("The words it comes from, as they were said; may be empty.")
    subject: str
    said_by: str
    at: datetime = _field("When it was said, or happened.")
    score: float = _field("What it got in the ranking; higher is better.")
    confidence: float = _field("0 to 1: how likely it is to the point.")


class Recollection(BaseModel):
    memories: list[Memory]
    confidence: float = _field("0 to 1: how surely the best of them answers.")
    level: Level
    receipt: int | None = _field("The receipt says why these; null for the past.")
    url: str = RECEIPT_URL
    context: str = _field("The memories as one block of data for a prompt.", "")
    note: str = _field("What went wrong on the way, if anything did.", "")


class Answer(BaseModel):
    answer: str
    model: str
    level: Level
    receipt: int | None
    url: str = RECEIPT_URL


class Done(BaseModel):
    outcome: str = _field(
        "new; again: known already, now believed the more; restored; quarantined: held "
        "back until a person has looked; proposed: it waits for a person; forgotten, revised, "
        "unchanged, undone; refused: not done."
    )
    message: str = _field("The same as a sentence for people, with the reason.")
    id: int | None = None
    text: str = _field("As it is kept: secrets are left out.", "")
    version: str = ""
    change: str = _field("Give it to `undo` to take this back.", "")
    url: str = _field("The page where a person sees it, or decides.", "")


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
    at: datetime = _field("When it was said last.")
    true_from: datetime | None
    true_until: datetime | None
    checked: datetime = _field("When it was last said, confirmed or used unchallenged.")
    due: datetime | None = _field("From when on it may be out of date.")
    occurs_at: datetime | None = _field("When a plan or an event happens.")
    version: str = _field("Changes with every change; over HTTP also the ETag.")


class Facts(BaseModel):
    items: list[Fact]
    next: str = _field("Give it as `after` to read on; empty: that was all.", "")


class Change(BaseModel):
    at: datetime
    by: str
    why: str
    change: str
    before: dict[str, Any]
    after: dict[str, Any]


class History(BaseModel):
    items: list[Change] = _field("The newest first.")


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
    facts: list[str] = _field("What is known about them; in the single view.", [])


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
    status: Literal["answered", "accepted"] = _field(
        "accepted: no answer yet; ask again with the same id."
    )
    response: str = ""


class Proposal(Row):
    kind: str
    status: str
    title: str | None = _field(
        "null: it speaks of what one chat said, or of suspicious words; for people."
    )
    source: str = _field("Who proposed it: a night, or a program by its token.")
    since: datetime


class Proposals(BaseModel):
    items: list[Proposal]
    next: str = ""
    count: int = _field("How many wait for a person's decision. An agent cannot decide.")


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
    reasons: str = _field("Why a guard holds it back. Its words are for people only.")
    since: datetime


class Quarantine(BaseModel):
    items: list[Held]
    next: str = ""


class Receipt(Row):
    query: str
    level: str
    confidence: float
    at: datetime
    items: list[dict[str, Any]] = _field("Each memory with its score, best first.", [])


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
    gate: Literal["believe", "hold", "read_only"] = _field(
        "What becomes of what you write: memory at once, a proposal, or nothing."
    )
    version: str = _field("The version of this Keno.")


class Erased(BaseModel):
    rows: dict[str, int] = _field("How many rows of each table hold its words.")
    url: str = _field("Only a person erases, and there.")


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
