"""Keep a folder of Markdown files in step with a space: people, facts, episodes and rules.

Keno writes what it believes; what a person changes on disk becomes a proposal and stays in the
file until it is decided. Nothing on disk changes memory directly, and a file that cannot be read
is left as it is.
"""

import fcntl
import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Count, Max
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as N_
from django.utils.translation import override

from memory import notices
from memory.history.actors import Refusal
from memory.identity import rules
from memory.models import Chat, Entity, Episode, Fact, Rule, Space
from memory.text.normalise import said_key
from memory.transfer import mirror_files
from memory.transfer.mirror_files import Item
from sleep import proposals
from sleep.apply import image
from sleep.models import Proposal, sentence

STATE = ".keno-mirror.json"
MODE, CONFLICT = "mirror", "conflict"
MAX_BYTES, MAX_ASKED = 1_000_000, 200
# When more is missing at once it is an accident: it is written again.
MAX_GONE = 20


class Busy(Refusal):
    """Another process keeps this folder in step just now. Try again in a moment."""


@dataclass
class Report:
    written: int = 0
    asked: list[Proposal] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def folder_of(space: Space) -> Path:
    """Return the folder in which the worker keeps this space, when its option says so."""
    return Path(settings.KENO_MIRRORS) / space.slug


def sync(space: Space, folder: Path, *, now: datetime | None = None) -> Report:
    """Bring folder and space in step once: write what Keno believes, propose what differs."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / STATE).open("a+", encoding="utf-8") as file, override(space.language):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Busy from None
        file.seek(0)
        state = _read_state(file.read())
        seen = _fingerprint(space, folder)
        if state.get("seen") == seen:
            return Report(problems=state.get("problems", []))
        step = _Sync(space, folder, state.get("items", {}), now or timezone.now())
        report = step.run()
        # After a change it looks once more: something else may have changed meanwhile.
        seen = "" if report.written or report.asked else seen
        state = {"items": step.state, "seen": seen, "problems": report.problems}
        file.truncate(0)
        file.write(json.dumps(state, ensure_ascii=False))
    if report.problems or report.conflicts:
        _notify(space, [*report.problems, *report.conflicts])
    return report


def _read_state(text: str) -> dict:
    """Parse the state. Without it nothing is lost: differences are asked about once more."""
    try:
        state = json.loads(text or "{}")
    except ValueError:
        return {}
    return state if isinstance(state, dict) else {}


def _fingerprint(space: Space, folder: Path) -> str:
    """Return a digest that changes when the space or the folder does: a quiet minute is cheap."""
    mine = [
        model.objects.filter(space=space).aggregate(n=Count("pk"), at=Max("updated_at"))
        for model in (Fact, Episode, Entity, Rule)
    ]
    decided = Proposal.objects.filter(space=space, mode=MODE).values("status")
    mine += [dict(row) for row in decided.annotate(n=Count("pk")).order_by("status")]
    mine.append({"private": Chat.objects.filter(space=space, is_private=True).count()})
    stats = {path: (folder / path).lstat() for path in mirror_files.paths(folder)}
    theirs = [(path, stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()]
    return hashlib.sha256(repr([mine, theirs, space.slug]).encode()).hexdigest()


def _notify(space: Space, lines: list[str]) -> None:
    text = N_("The folder of this space needs you in %(n)s places. The first: %(what)s")
    notices.tell(
        space,
        kind=MODE,
        key=f"mirror-{said_key(' '.join(lines))[:24]}",
        level="warning",
        text=lambda: _(text) % {"n": len(lines), "what": lines[0]},
        link="proposals/",
    )


class _Sync:
    """One run that brings both in step."""

    def __init__(self, space: Space, folder: Path, state: dict, now: datetime):
        self.space, self.folder, self.base, self.now = space, folder, state, now
        self.state: dict[str, dict] = {}
        self.report = Report()
        self.mine = mirror_files.as_read(mirror_files.believed(space))
        self.rows: dict[str, Any] = {}
        self.bytes: dict[str, bytes] = {}
        self.bad: set[str] = set()

    def run(self) -> Report:
        pages = {path: self._read(path) for path in mirror_files.paths(self.folder)}
        items = [item for page in pages.values() for item in page or ()]
        theirs: dict[str, Item] = {}
        for item in items:
            if item.key and theirs.setdefault(item.key, item) is not item:
                why = _("%(key)s stands in the folder twice: take the number of one away")
                self._problem(item.path, why % {"key": item.key})
        self._forgive_losses(theirs)
        known = {(item.text, item.values.get("subject")) for item in self.mine.values()}
        settled = [self._settle(key, theirs.get(key)) for key in {**self.mine, **theirs}]
        # What a person added and still waits for a decision.
        fresh = [item for item in items if not item.key]
        fresh = [item for item in fresh if (item.text, item.values.get("subject")) not in known]
        settled += [item for item in fresh if self._ask(item, None)]
        self._write([item for item in settled if item], pages)
        for key in [*self.state]:
            paths = {self.state[key].get("path"), theirs[key].path if key in theirs else ""}
            if paths & self.bad:  # it was not written: what was known of it before still holds
                del self.state[key]
                self.state |= {key: self.base[key]} if key in self.base else {}
        return self.report

    def _read(self, path: str) -> list[Item] | None:
        """Parse the file; None, with a sentence of what to do, when it cannot be read."""
        try:
            if (self.folder / path).is_symlink():
                raise ValueError(_("it is a link: put the file itself here"))
            self.bytes[path] = content = (self.folder / path).read_bytes()
            if len(content) > MAX_BYTES:
                raise ValueError(_("it is too long: cut it into several files"))
            return list(mirror_files.parse(path, content.decode("utf-8-sig").replace("\r\n", "\n")))
        except (ValueError, OSError) as error:
            why = error if type(error) is ValueError else _("it is not text in UTF-8: save it so")
            self._problem(path, str(why))
            return None

    def _problem(self, path: str, why: str) -> None:
        self.bad.add(path)
        self.report.problems.append(f"{path}: {why}")

    def _forgive_losses(self, theirs: dict[str, Item]) -> None:
        """Write again what vanished, when it is too much to be meant."""
        gone = [
            key
            for key, was in self.base.items()
            if key in self.mine and key not in theirs
            if was.get("path") not in self.bad and not was.get("gone")
        ]
        if len(gone) > MAX_GONE:
            problem = _("%(n)s memories are missing at once; up to %(most)s may. They are back.")
            self.report.problems.append(problem % {"n": len(gone), "most": MAX_GONE})
            self.base = {key: was for key, was in self.base.items() if key not in gone}

    def _settle(self, key: str, theirs: Item | None) -> Item | None:
        mine, was = self.mine.get(key), self.base.get(key, {})
        base = was.get("digest", "")
        if theirs is None:
            return self._missing(mine, was) if mine else None
        if mine is None:
            return self._gone_in_keno(theirs, base)
        if theirs.digest in (mine.digest, base):
            return self._keep(mine)
        is_conflict = bool(base) and base != mine.digest
        if not self._ask(theirs, mine, conflict=is_conflict, was=was):
            return self._keep(mine)
        self.state[key] = {"digest": base or mine.digest, "path": theirs.path} | self.state[key]
        return theirs

    def _keep(self, mine: Item) -> Item:
        self.state[mine.key] = {"digest": mine.digest, "path": mine.path}
        return mine

    def _missing(self, mine: Item, was: dict) -> Item | None:
        if not was or mine.key.startswith("entity:"):
            return self._keep(mine)
        if was.get("path") in self.bad:
            self.state[mine.key] = was
            return None
        if was["digest"] != mine.digest:
            self._conflict(mine)
            return self._keep(mine)
        if not self._ask(None, mine, was=was):
            return self._keep(mine)
        self.state[mine.key] |= {"digest": mine.digest, "path": mine.path, "gone": True}
        return None

    def _gone_in_keno(self, theirs: Item, base: str) -> Item | None:
        row = self._row(theirs.key)
        if theirs.digest == base:
            return None
        if isinstance(row, Entity):  # merged since, or no longer mentioned: reported, not asked
            self._conflict(theirs)
            return None
        if row is None and not theirs.key.startswith("rule:"):
            why = _("%(key)s is not a memory of this space: take its number away")
            self._problem(theirs.path, why % {"key": theirs.key})
            return None
        if not base and getattr(row, "text", None) == theirs.text:
            return None
        return theirs if self._ask(theirs, None, conflict=True) else None

    def _conflict(self, item: Item) -> None:
        where = _("%(path)s: changed in Keno and on disk: %(text)s")
        self.report.conflicts.append(where % {"path": item.path, "text": item.text[:120]})

    def _ask(
        self,
        theirs: Item | None,
        mine: Item | None,
        *,
        conflict: bool = False,
        was: dict | None = None,
    ) -> bool:
        """Propose the difference, once; return whether it waits for people now."""
        item = theirs or mine
        assert item is not None
        sides = [side.digest if side else "" for side in (mine, theirs)]
        key = proposals.key(MODE, item.key or item.path, *sides)
        if (before := (was or {}).get("asked")) and before != key:
            reason = _("The file was changed again.")
            proposals.expire_overtaken([before], space=self.space, reason=reason)
        proposal = Proposal.objects.filter(space=self.space, key=key).first()
        if proposal is None and len(self.report.asked) < MAX_ASKED:
            proposal = self._propose(key, theirs, mine, conflict=conflict)
            if proposal is None:
                why = _("a ruling says never to remember this: %(text)s")
                self._problem(item.path, why % {"text": item.text[:80]})
        if item.key:
            self.state[item.key] = {"asked": key}
        waits = proposal is not None and proposal.status == Proposal.Status.PENDING
        if waits and conflict:
            self._conflict(item)
        return proposal is None or waits

    def _propose(
        self, key: str, theirs: Item | None, mine: Item | None, *, conflict: bool
    ) -> Proposal | None:
        item = theirs or mine
        assert item is not None
        kind, after = self._change(theirs, mine)
        row = self._row(item.key) if mine and mine.key else None
        rows = [row] if row is not None and row.pk else []
        before = image(*rows)
        if isinstance(row, Episode):
            before[f"episode:{row.pk}"]["body"] = row.body
        proposal = proposals.propose(
            self.space,
            kind,
            key=key,
            after=after,
            title=item.text,
            rows=rows,
            before=before,
            rationale=sentence(N_("Changed in the file %(path)s."), {"path": item.path}),
            confidence=0.9,
            flags=[CONFLICT] if conflict else [],
            mode=MODE,
            created_at=self.now,
        )
        self.report.asked += [proposal] if proposal else []
        return proposal

    def _change(self, theirs: Item | None, mine: Item | None) -> tuple[str, dict]:
        where = (theirs or mine).path.partition("/")[0]  # type: ignore[union-attr]
        if where == mirror_files.RULES:
            return Proposal.Kind.RULE, self._rule(theirs, mine)
        if theirs is None:
            return Proposal.Kind.RETIRE, {"forget": True, "discard": True}
        if mine is None:
            return Proposal.Kind.ADD, theirs.values | {"chat": self._chat(theirs)}
        return Proposal.Kind.REVISE, theirs.values

    def _rule(self, theirs: Item | None, mine: Item | None) -> dict:
        if theirs is None:
            return {"slug": self._row(mine.key).slug, "retire": True} if mine else {}
        row = self._row(mine.key) if mine else None
        known = {mirror_files.phrase(entry): entry for entry in (row.forbidden if row else [])}
        phrases = theirs.values["forbidden"]
        return {
            "slug": row.slug if row else "",
            "instruction": theirs.values["instruction"],
            "category": theirs.values["category"],
            "examples": row.examples if row else [],
            "forbidden": [known.get(text) or mirror_files.forbidden(text) for text in phrases],
        }

    def _chat(self, item: Item) -> int | None:
        where, *rest = item.path.split("/")
        key = rest[0] if where == mirror_files.CHATS else ""
        chats = Chat.objects.filter(space=self.space, key=key)
        return chats.values_list("pk", flat=True).first() if key else None

    def _row(self, key: str) -> Any:
        """Return the row of the space behind a key, whatever its state; None when there is none."""
        if key not in self.rows:
            kind, _colon, name = key.partition(":")
            if kind == "rule":
                active = rules.active(self.space, pairs=())
                self.rows[key] = next((rule for rule in active if rule.slug == name), None)
            else:
                model: Any = {"fact": Fact, "episode": Episode, "entity": Entity}[kind]
                self.rows[key] = model.objects.filter(space=self.space, pk=int(name)).first()
        return self.rows[key]

    def _write(self, items: list[Item], read: dict[str, list[Item] | None]) -> None:
        pages = mirror_files.pages(items)
        for path, page in pages.items():
            # The same in another order, or with other blanks, stays as a person left it.
            same = sorted(map(repr, page)) == sorted(map(repr, read.get(path) or ()))
            if path not in self.bad and not same:
                self._put(path, mirror_files.render(path, page))
        for path in read.keys() - pages.keys() - self.bad:
            if read[path] and self._is_as_read(path):
                (self.folder / path).unlink(missing_ok=True)
                self.report.written += 1
        if not (self.folder / "README.md").exists():
            self._put("README.md", mirror_files.readme(self.space))

    def _is_as_read(self, path: str) -> bool:
        """Whether nobody wrote into the file since it was read; else it has its turn next time."""
        file = self.folder / path
        return self.bytes.get(path) == (file.read_bytes() if file.is_file() else None)

    def _put(self, path: str, text: str) -> None:
        file = self.folder / path
        if self.bytes.get(path) == text.encode() or not self._is_as_read(path):
            return
        if not file.parent.resolve().is_relative_to(self.folder.resolve()) or file.is_symlink():
            self._problem(path, _("it leads out of the folder: put a real folder here"))
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        half = file.with_name(f".{file.name}.half")
        half.write_text(text, "utf-8")
        half.replace(file)
        self.report.written += 1
