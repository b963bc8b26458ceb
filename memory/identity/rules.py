"""Rules: how Keno behaves. The shipped ones hold until a person words or retires them."""

import json
import re
from datetime import datetime
from functools import cache

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from memory import actors, history, text
from memory.history import Done
from memory.identity import phrases
from memory.identity.core import SHIPPED
from memory.identity.phrases import Phrase
from memory.models import Rule, Space

MOST = 200


class Invalid(ValueError):
    """Rules that cannot be read or kept."""


def active(space: Space) -> list[Rule]:
    """The rules in force: the shipped ones, overlaid by the space's own of the same name."""
    own = list(Rule.objects.filter(space=space, status=Rule.Status.ACTIVE))
    names = {rule.slug for rule in own}
    given = [Rule(space=space, **rule) for rule in shipped(space.language)]
    kept = [rule for rule in given if rule.slug not in names]
    # A blank row of a shipped rule's name is how that rule is retired.
    return kept + [rule for rule in own if rule.instruction or rule.forbidden]


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
) -> Done:
    """Add a rule, or word the one of this name anew. A person decides that."""
    actors.require_person(by)
    instruction = text.clean(instruction).strip()
    values = {
        "category": text.short(text.one_line(category), 60) or "general",
        "instruction": instruction,
        "examples": _examples(examples),
        "forbidden": _forbidden(forbidden),
    }
    if not instruction and not values["forbidden"]:
        raise Invalid(_("A rule needs an instruction or a phrase that is forbidden."))
    return _put(
        space, slug or _slug(instruction or values["forbidden"][0]["phrase"]), values, by, now
    )


@transaction.atomic
def retire(space: Space, *, slug: str, by: str, now: datetime | None = None) -> Done:
    """Take the rule out of force; undo, or putting it again, brings it back."""
    actors.require_person(by)
    if slug in {rule["slug"] for rule in shipped(space.language)}:
        blank = {"instruction": "", "examples": [], "forbidden": []}
        return _put(space, slug, blank, by, now)
    with history.change(by=by, why="retire a rule") as context:
        rule = Rule.objects.filter(space=space, slug=slug, status=Rule.Status.ACTIVE).first()
        if rule is None:
            return Done(None, outcome="unchanged")
        rule.status, rule.updated_at = Rule.Status.ARCHIVED, now or timezone.now()
        rule.save(update_fields=["status", "updated_at"])
    return Done(rule, context.id)


def violations(reply: str, rules: list[Rule]) -> list[Phrase]:
    """The forbidden phrases this reply holds."""
    return phrases.held(reply, _phrases(rules))


def violations_of(space: Space, replies: list[str]) -> list[list[Phrase]]:
    """The same for many replies of a space, by its rules now."""
    forbidden = _phrases(active(space))
    return [phrases.held(reply, forbidden) for reply in replies]


def read(written: str | dict | list) -> list[dict]:
    """The rules of a rules.json in either shape, as keywords of put()."""
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise Invalid(_("This is not JSON: %(error)s.") % {"error": error}) from error
    if isinstance(written, list):
        written = {"rules": written}
    if not isinstance(written, dict):
        raise Invalid(_("Rules are a JSON object or a list."))
    found = [_rule(one) for one in _dicts(written.get("rules"))]
    found += [_rule(one) for one in _dicts(written.get("behavioral"))]
    loose = [one for one in _list(written.get("forbidden")) if one]
    if loose:
        found.append({"slug": "forbidden", "category": "general", "forbidden": _forbidden(loose)})
    return [_numbered(one, n) for n, one in enumerate(found[:MOST], 1) if _says(one)]


def as_json(rules: list[Rule]) -> dict:
    """The rules as read() takes them back, in the shape of the seeds' template."""
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


def _put(space: Space, slug: str, values: dict, by: str, now: datetime | None) -> Done:
    slug = text.short(text.one_line(slug), 80)
    rule = (
        Rule.objects.select_for_update()
        .filter(space=space, slug=slug, status=Rule.Status.ACTIVE)
        .first()
    )
    if rule and all(getattr(rule, name) == value for name, value in values.items()):
        return Done(rule, outcome="unchanged")
    outcome = "done" if rule else "new"
    last = Rule.objects.filter(space=space).aggregate(last=Max("position"))["last"] or 0
    rule = rule or Rule(space=space, slug=slug, position=last + 1)
    for name, value in values.items():
        setattr(rule, name, value)
    rule.updated_at = now or timezone.now()
    with history.change(by=by, why="a rule") as context:
        rule.save()
    return Done(rule, context.id, outcome=outcome)


def _phrases(rules: list[Rule]) -> list[Phrase]:
    return [
        Phrase(one["phrase"], one.get("reason", ""), bool(one.get("pattern")), rule.slug)
        for rule in rules
        for one in rule.forbidden
        if isinstance(one, dict) and isinstance(one.get("phrase"), str)
    ]


def _rule(given: dict) -> dict:
    """Of {id, instruction, forbidden_patterns, examples} or {category, instruction, examples}."""
    return {
        "slug": _text(given.get("id"))[:80],
        "category": _text(given.get("category")) or "general",
        "instruction": _text(given.get("instruction")),
        "examples": _examples(_list(given.get("examples"))),
        "forbidden": _forbidden(_list(given.get("forbidden_patterns"))),
    }


def _numbered(rule: dict, n: int) -> dict:
    slug = rule["slug"] or _slug(rule.get("instruction", "")) or f"rule-{n}"
    return (
        {"instruction": "", "examples": [], "forbidden": [], "position": n} | rule | {"slug": slug}
    )


def _says(rule: dict) -> bool:
    return bool(rule.get("instruction") or rule.get("forbidden"))


def _examples(given: list) -> list:
    kept = []
    for one in given:
        if isinstance(one, dict):
            good = _text(one.get("good") or one.get("assistant"))
            pairs = {"user": _text(one.get("user")), "good": good, "bad": _text(one.get("bad"))}
            kept.append({name: value for name, value in pairs.items() if value})
        elif _text(one):
            kept.append(_text(one))
    return [one for one in kept if one][:20]


def _forbidden(given: list) -> list[dict]:
    """Phrases as strings or objects; a pattern only where somebody asked for one."""
    kept = []
    for one in given:
        one = one if isinstance(one, dict) else {"phrase": one}
        phrase = _text(
            one.get("phrase") or (one.get("pattern") if one.get("pattern") is not True else "")
        )
        regex = one.get("pattern") is True or bool(one.get("regex"))
        if not phrase:
            continue
        if regex:
            phrases.check(phrase)
        kept.append({"phrase": phrase, "reason": _text(one.get("reason")), "pattern": regex})
    return kept[:MOST]


def _text(value: object) -> str:
    return text.clean(value).strip() if isinstance(value, str) else ""


def _list(value: object) -> list:
    return value if isinstance(value, list) else []


def _dicts(value: object) -> list[dict]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _slug(instruction: str) -> str:
    return re.sub(r"-+", "-", slugify(instruction, allow_unicode=True))[:60].strip("-")
