"""Rules: how Keno behaves. The shipped ones hold until a person words or retires them."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache

import re2
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from memory.guards.screening import redacted
from memory.history import actors
from memory.history import changes as history
from memory.history import rows as history_rows
from memory.history.changes import ChangeResult
from memory.identity.core import SHIPPED
from memory.models import Rule, Space
from memory.models.space import get_or_load
from memory.text import normalise as text

MAX_RULES = 200
WHITESPACE = re.compile(r"\s+")
MAX_REPLY_LENGTH = 100_000
MAX_PATTERN_LENGTH = 500


class BadPattern(ValueError):
    """This pattern cannot be used."""


@dataclass(frozen=True)
class Phrase:
    """`phrase` is literal and counts between word borders; a pattern is matched as it is."""

    phrase: str
    reason: str = ""
    pattern: bool = False
    rule: str = ""


def find_phrases(reply: str, phrases: list[Phrase]) -> list[Phrase]:
    """Return the phrases that this reply contains, each once, in their order."""
    folded = WHITESPACE.sub(" ", reply[:MAX_REPLY_LENGTH].casefold())
    return [phrase for phrase in phrases if _is_in(phrase, folded)]


def _is_in(phrase: Phrase, reply: str) -> bool:
    if not phrase.pattern:
        return _contains_phrase(phrase.phrase, reply)
    try:
        return bool(_compiled(phrase.phrase).search(reply))
    except (re2.error, UnicodeEncodeError):
        return False  # stored before it was checked, or by an import: it forbids nothing


def check_pattern(pattern: str) -> None:
    """Refuse, with a sentence, a pattern that could not be matched in linear time."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise BadPattern(f"A pattern may have at most {MAX_PATTERN_LENGTH} characters.")
    try:
        _compiled(pattern)
    except re2.error as error:
        raise BadPattern(f"This pattern cannot be used: {_error_sentence(error)}.") from error


def _contains_phrase(phrase: str, reply: str) -> bool:
    """Tell whether the reply contains the phrase as whole words: "um" is not in "summary"."""
    phrase = WHITESPACE.sub(" ", phrase.casefold()).strip()
    if not phrase or phrase not in reply:
        return False
    # A border counts beside a letter: an ellipsis may stand anywhere.
    before = r"(?<!\w)" if re.match(r"\w", phrase) else ""
    after = r"(?!\w)" if re.search(r"\w$", phrase) else ""
    return bool(re.search(f"{before}{re.escape(phrase)}{after}", reply))


@lru_cache(maxsize=512)
def _compiled(pattern: str):
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = 1 << 20
    return re2.compile(pattern, options)


def _error_sentence(error: Exception) -> str:
    message = error.args[0] if error.args else "it is not understood"
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


class Invalid(ValueError):
    """Rules that cannot be read or stored."""


def active(space: Space, *, pairs: Collection[tuple[str, str]] | None = None) -> list[Rule]:
    """Return the rules in force: the shipped ones, replaced by the space's own of the same slug.

    With `pairs` only those for a person with these (channel, author id) pairs.
    """
    own = get_or_load(space, "rules", lambda: _own(space))
    own = [rule for rule in own if pairs is None or rule.holds_for(pairs)]
    names = {rule.slug for rule in own}
    usual = f"rules shipped in {space.language}"
    shipped_rules = get_or_load(space, usual, lambda: _shipped_rows(space))
    not_replaced = [rule for rule in shipped_rules if rule.slug not in names]
    # A blank row of a shipped rule's name is how that rule is retired.
    return not_replaced + [rule for rule in own if rule.instruction or rule.forbidden]


def _own(space: Space) -> list[Rule]:
    return list(Rule.objects.filter(space=space, status=Rule.Status.ACTIVE))


def _shipped_rows(space: Space) -> list[Rule]:
    return [Rule(space=space, **rule) for rule in shipped(space.language)]


@transaction.atomic
def put(
    space: Space,
    *,
    by: str,
    instruction: str = "",
    slug: str = "",
    category: str = "general",
    examples: list = (),
    forbidden: list = (),
    now: datetime | None = None,
    **whom: str,
) -> ChangeResult:
    """Add a rule, or replace the one of this slug. Only a person may.

    `whom` (channel, author_id, person) limits a new one to one person.
    """
    actors.require_person(by)
    instruction = redacted(instruction)
    values = {
        "category": text.short(text.one_line(category), 60) or "general",
        "instruction": instruction,
        "examples": _examples(examples),
        "forbidden": _forbidden(forbidden),
    }
    if not instruction and not values["forbidden"]:
        raise Invalid(_("A rule needs an instruction or a phrase that is forbidden."))
    slug = slug or _slug(instruction or values["forbidden"][0]["phrase"])
    if whom:
        # Two people may set the same limit, each for themselves.
        mark = text.said_key(f"{whom['channel']} {whom['author_id']}")[:8]
        slug, values = f"{slug[:70]}-{mark}", values | whom
    return _put(space, slug, values, by, now)


@transaction.atomic
def retire(space: Space, *, slug: str, by: str, now: datetime | None = None) -> ChangeResult:
    """Retire the rule; undo, or putting it again, brings it back."""
    actors.require_person(by)
    if slug in {rule["slug"] for rule in shipped(space.language)}:
        blank = {"instruction": "", "examples": [], "forbidden": []}
        return _put(space, slug, blank, by, now)
    rule = Rule.objects.filter(space=space, slug=slug, status=Rule.Status.ACTIVE).first()
    if rule is None:
        return ChangeResult(None, outcome="unchanged")
    archived = Rule.Status.ARCHIVED
    return history_rows.change(rule, by=by, why="retire a rule", now=now, status=archived)


def violations(reply: str, rules: list[Rule]) -> list[Phrase]:
    """Return the forbidden phrases that this reply contains."""
    return find_phrases(reply, _phrases(rules))


def violations_of(space: Space, replies: list[str]) -> list[list[Phrase]]:
    """Return the forbidden phrases of each of many replies, by the space's rules now."""
    forbidden = _phrases(active(space))
    return [find_phrases(reply, forbidden) for reply in replies]


def read(written: str | dict | list) -> list[dict]:
    """Parse a rules.json in either shape into keywords of put()."""
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise Invalid(_("This is not JSON: %(error)s.") % {"error": error}) from error
    if isinstance(written, list):
        written = {"rules": written}
    if not isinstance(written, dict):
        raise Invalid(_("Rules are a JSON object or a list."))
    items = [*_list(written.get("rules")), *_list(written.get("behavioral"))]
    rules = [_rule(item) for item in items if isinstance(item, dict)]
    loose = [item for item in _list(written.get("forbidden")) if item]
    if loose:
        rules.append({"slug": "forbidden", "category": "general", "forbidden": _forbidden(loose)})
    return [
        _numbered(rule, n)
        for n, rule in enumerate(rules[:MAX_RULES], 1)
        if rule.get("instruction") or rule.get("forbidden")
    ]


def as_json(rules: list[Rule]) -> dict:
    """Return the rules as JSON that read() takes, in the shape of KenoBot's template."""
    return {
        "rules": [
            {
                "id": rule.slug,
                "category": rule.category,
                "instruction": rule.instruction,
                "forbidden_patterns": rule.forbidden,
                "examples": rule.examples,
            }
            for rule in rules
        ]
    }


@cache
def _shipped(name: str) -> str:
    return (SHIPPED / f"rules.{name}.json").read_text(encoding="utf-8")


def shipped(language: str) -> list[dict]:
    return read(_shipped("es" if language.startswith("es") else "en"))


def _put(space: Space, slug: str, values: dict, by: str, now: datetime | None) -> ChangeResult:
    slug = text.short(text.one_line(slug), 80)
    active = Rule.objects.filter(space=space, slug=slug, status=Rule.Status.ACTIVE)
    rule = active.select_for_update().first()
    if rule and all(getattr(rule, name) == value for name, value in values.items()):
        return ChangeResult(rule, outcome="unchanged")
    outcome = "done" if rule else "new"
    last = Rule.objects.filter(space=space).aggregate(last=Max("position"))["last"] or 0
    rule = rule or Rule(space=space, slug=slug, position=last + 1)
    for name, value in values.items():
        setattr(rule, name, value)
    rule.updated_at = now or timezone.now()
    with history.change(by=by, why="a rule") as context:
        rule.save()
    return ChangeResult(rule, context.id, outcome=outcome)


def _phrases(rules: list[Rule]) -> list[Phrase]:
    return [
        Phrase(item["phrase"], item.get("reason", ""), bool(item.get("pattern")), rule.slug)
        for rule in rules
        for item in rule.forbidden
        if isinstance(item, dict) and isinstance(item.get("phrase"), str)
    ]


def _rule(item: dict) -> dict:
    """Read {id, instruction, forbidden_patterns, examples} or {category, instruction, examples}."""
    return {
        "slug": _text(item.get("id"))[:80],
        "category": _text(item.get("category")) or "general",
        "instruction": _text(item.get("instruction")),
        "examples": _examples(_list(item.get("examples"))),
        "forbidden": _forbidden(_list(item.get("forbidden_patterns"))),
    }


def _numbered(rule: dict, n: int) -> dict:
    slug = rule["slug"] or _slug(rule.get("instruction", "")) or f"rule-{n}"
    empty = {"instruction": "", "examples": [], "forbidden": []}
    return empty | {"position": n} | rule | {"slug": slug}


def _examples(items: list) -> list:
    examples = []
    for item in items:
        if isinstance(item, dict):
            good = _text(item.get("good") or item.get("assistant"))
            pairs = {"user": _text(item.get("user")), "good": good, "bad": _text(item.get("bad"))}
            examples.append({name: value for name, value in pairs.items() if value})
        else:
            examples.append(_text(item))
    return [example for example in examples if example][:20]


def _forbidden(items: list) -> list[dict]:
    """Read phrases given as strings or objects; patterns only where they are marked as such."""
    phrases = []
    for item in items:
        item = item if isinstance(item, dict) else {"phrase": item}
        # `pattern` is a phrase or, as true, the mark of a regular expression.
        phrase = _text(item.get("phrase") or item.get("pattern"))
        regex = item.get("pattern") is True or bool(item.get("regex"))
        if not phrase:
            continue
        if regex:
            check_pattern(phrase)
        phrases.append({"phrase": phrase, "reason": _text(item.get("reason")), "pattern": regex})
    return phrases[:MAX_RULES]


def _text(value: object) -> str:
    return redacted(value) if isinstance(value, str) else ""


def _list(value: object) -> list:
    return value if isinstance(value, list) else []


def _slug(instruction: str) -> str:
    return re.sub(r"-+", "-", slugify(instruction, allow_unicode=True))[:60].strip("-")
