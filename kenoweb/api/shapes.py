"""What each tool takes and gives. The descriptions are read by models."""

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

LARGEST = 2**63 - 1


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class Clocks(Asked):
    """Two clocks: what was believed on one day about another."""

    as_of: date | None = Field(
        None, description="What was believed at the end of this day; left out: today."
    )
    valid_at: date | None = Field(
        None,
        description="What held on this day, also when it is over by now; left out: what holds now.",
    )


class Question(Clocks):
    question: str = Field(
        min_length=1,
        max_length=2000,
        description="What you want to know, in plain words, in any language.",
    )
    limit: int = Field(8, ge=1, le=20, description="At most so many memories.")


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


class Search(Clocks):
    words: str = Field(
        "", max_length=200, description="All of these words must be in it. None: every fact."
    )
    subject: str = Field(
        "", max_length=120, description="Only facts about exactly this subject, as facts name it."
    )
    limit: int = Field(20, ge=1, le=50, description="At most so many.")
    after: str = Field(
        "", max_length=200, description="`next` of the answer before, to read on from there."
    )


class Which(Asked):
    id: int = Field(ge=1, le=LARGEST, description="The id of the fact, from `facts` or `recall`.")


class Times(Which):
    true_from: date | None = Field(None, description="The first day it holds; left out: as it is.")
    true_until: date | None = Field(None, description="The last day it holds; left out: as it is.")


class Recent(Asked):
    limit: int = Field(10, ge=1, le=30, description="At most so many.")


class Memory(BaseModel):
    kind: Literal["fact", "episode"]
    id: int
    text: str
    quote: str = Field(description="The words it comes from, as they were said; may be empty.")
    subject: str
    said_by: str
    at: datetime = Field(description="When it was said, or happened.")
    score: float = Field(description="What it got in the ranking; higher is better.")
    address: str = Field(description="Its page in the dashboard.")


class Recollection(BaseModel):
    memories: list[Memory]
    confidence: float = Field(description="0 to 1: how surely the best of them answers.")
    level: Literal["none", "low", "medium", "high"]
    receipt: str = Field(description="The page that shows why these and how each score adds up.")
    note: str = Field("", description="What went wrong on the way, if anything did.")


class Kept(BaseModel):
    outcome: Literal["new", "again", "restored", "quarantined", "refused"] = Field(
        description="new; again: known already, now believed the more; restored: it had been put "
        "away; quarantined: held back until a person has looked; refused: not kept."
    )
    said: str = Field(description="The same as a sentence for people, with the reason.")
    id: int | None = None
    text: str = Field("", description="As it is kept: secrets are left out.")
    address: str = Field("", description="The page where a person sees it.")


class Fact(BaseModel):
    id: int
    text: str
    quote: str
    subject: str
    kind: str
    category: str
    confidence: float
    pinned: bool
    said_by: str
    at: datetime = Field(description="When it was said last.")
    true_from: datetime | None = None
    true_until: datetime | None = None
    checked: datetime = Field(description="When it was last said, confirmed or used unchallenged.")
    due: datetime | None = Field(None, description="From when on it may be out of date.")
    address: str


class Facts(BaseModel):
    facts: list[Fact]
    next: str = Field("", description="Give it as `after` to read on; empty: that was all.")


class Forgotten(BaseModel):
    outcome: Literal["forgotten", "unchanged", "refused"]
    said: str = Field(description="What happened, and how a person undoes it.")
    id: int
    address: str = Field(description="The page on which a person undoes it.")


class Episode(BaseModel):
    id: int
    title: str
    text: str
    tags: list[str]
    participants: list[str]
    started_at: datetime
    ended_at: datetime
    address: str


class Episodes(BaseModel):
    episodes: list[Episode]


class Proposal(BaseModel):
    kind: str
    title: str | None = Field(
        description="null: it speaks of what one chat said, or of suspicious words; for people."
    )
    since: datetime
    address: str


class Waiting(BaseModel):
    count: int = Field(description="How many changes wait for a person's decision.")
    proposals: list[Proposal] = Field(description="The oldest of them.")
    address: str = Field(description="Where a person decides. An agent cannot.")
