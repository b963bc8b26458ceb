"""A day of the demo: what is said is heard and answered, and at night Keno sleeps on it."""

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from django.db import transaction

from kenoweb.demo import acts
from kenoweb.demo.calendar import ASKED, Calendar
from kenoweb.demo.story import OWNER, ZONE, Line
from memory import chats, context, embeddings, episodes
from memory.extraction import ingest, tags
from memory.extraction.apply import apply
from memory.models import Chat, Member, Message, Space
from sleep import cycle

SLEEPS, DECIDES = dt.time(4, 0, 3), dt.time(9, 12)
# Who wrote what Keno says here: no model did.
MODE = "story"


@dataclass
class Life:
    space: Space
    rooms: dict[str, Chat]
    owner: Member | None
    calendar: Calendar
    # Before this a receipt would be gone by now.
    receipts_from: dt.datetime

    def live(self, lines: list[Line]) -> None:
        if not lines:
            return
        asked: dict[str, Message] = {}
        for line in lines:
            self.calendar.turn_to(line.at)
            if line.chat == OWNER:
                self._ingest()
                given = {"space": self.space, "member": self.owner, "at": line.at}
                acts.act(line.who, line.text, **given)
            elif line.who == "Keno":
                self._answer(self.rooms[line.chat], line, asked.get(line.chat))
            else:
                asked[line.chat] = self._hear(self.rooms[line.chat], line)
        self._ingest()
        self._embed(lines[-1].at)

    def sleep(self, day: int, *, now: dt.datetime) -> None:
        """The night after that day, at four in the morning of the space."""
        at = self._morning(day, SLEEPS, now)
        if at < now:
            self.calendar.turn_to(at)
            cycle.sleep(self.space, now=at)
            self._embed(at)

    def decide(self, day: int, *, now: dt.datetime) -> None:
        if self.owner:
            self.calendar.turn_to(self._morning(day, DECIDES, now))
            if acts.decide(self.space, self.owner):
                # What was approved is as old as that morning when the next day speaks of it.
                self.calendar.settle(only=ASKED)

    def _hear(self, chat: Chat, line: Line) -> Message:
        given = {"author": line.who, "author_id": line.who.lower(), "handled_at": line.at}
        said = chats.receive(chat, text=line.text, sent_at=line.at, now=line.at, **given)
        episodes.follow(said.message)
        return said.message

    def _answer(self, chat: Chat, line: Line, to: Message | None) -> None:
        split = tags.split(line.text)
        asks = to and line.at > self.receipts_from
        built = asks and context.build(
            chat, to.text, now=line.at, person=to.author, group=[to], language=to.language
        )
        with transaction.atomic():
            reply = chats.reply(chat, text=split.text, to=to, now=line.at)
            episodes.follow(reply)
            if to:
                apply(split, chat=chat, messages=[to], mode=MODE, now=line.at)
            if built:
                context.keep(built, reply=reply, now=line.at)

    def _ingest(self) -> None:
        """What the worker does behind the replies."""
        rows = ingest.waiting(self.space).select_related("space", "chat", "episode")
        for message in rows:
            ingest.ingest(message, now=message.sent_at)

    def _embed(self, at: dt.datetime) -> None:
        # Before there is anything to recall, what a night archives needs no vector.
        if at > self.receipts_from:
            embeddings.backfill(space=self.space)

    @staticmethod
    def _morning(day: int, time: dt.time, now: dt.datetime) -> dt.datetime:
        date = now.astimezone(ZoneInfo(ZONE)).date() - dt.timedelta(days=day - 1)
        return dt.datetime.combine(date, time, tzinfo=ZoneInfo(ZONE))
