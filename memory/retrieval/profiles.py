"""Profiles of ranking: two are built in, people save others in the recall lab.

A saved version never changes.
"""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from memory import jobs
from memory.models import RecallProfile, Space
from memory.retrieval.features import NAMES

FOLDER = Path(__file__).parent / "built_in"
BUILT_IN = ("keno", "classic")
# Names of older versions, which saved profiles, settings and links may still hold.
RENAMED = {"seed004": "classic"}
MAX_WEIGHT = 50.0


class Invalid(ValueError):
    """Weights that cannot be saved."""


@dataclass(frozen=True)
class Profile:
    name: str
    formula: str = "keno"
    version: int = 1
    weights: dict[str, float] = field(default_factory=dict)
    # gate: {"curve": {…}, "lenient": .., "strict": ..}; "diversity": 0..1.
    settings: dict = field(default_factory=dict)
    note: str = ""

    def with_weights(self, weights: dict[str, float]) -> "Profile":
        """Return a copy with other weights, for trying out."""
        return replace(self, weights=self.weights | check(weights))


@cache
def built_in(name: str) -> Profile:
    return Profile(**json.loads((FOLDER / f"{name}.json").read_text()))


def get(space: Space, name: str = "") -> Profile:
    """Return the named profile ("careful", "careful@3"), else the space's own; keno if unknown."""
    name, _at, version = (name or space.options.recall_profile).partition("@")
    name = RENAMED.get(name, name)
    if name in BUILT_IN:
        return built_in(name)
    rows = RecallProfile.objects.filter(space=space, name=name)
    if version.isdigit():
        rows = rows.filter(version=int(version))
    row = rows.order_by("-version").first()
    if row is None:
        return built_in("keno")
    formula = RENAMED.get(row.formula, row.formula)
    return Profile(row.name, formula, row.version, row.weights, row.settings, row.note)


def names(space: Space) -> list[str]:
    own = RecallProfile.objects.filter(space=space).values_list("name", flat=True)
    return [*BUILT_IN, *sorted(set(own))]


@transaction.atomic
def save(
    space: Space, *, name: str, weights: dict, by: str, base: Profile | None = None, note: str = ""
) -> RecallProfile:
    """Save the next version under this name, which must not be a built-in one."""
    name = name.strip()[:40]
    is_plain = name.replace("-", "").replace("_", "").isalnum()
    if not is_plain or name in (*BUILT_IN, *RENAMED):
        raise Invalid(_("A profile needs a name of its own: letters, digits, - and _."))
    Space.objects.select_for_update().get(pk=space.pk)  # two savers get two versions
    base = base or built_in("keno")
    last = RecallProfile.objects.filter(space=space, name=name).aggregate(n=Max("version"))["n"]
    jobs.ask_golden(space.pk, "model")
    return RecallProfile.objects.create(
        space=space,
        name=name,
        version=(last or 0) + 1,
        formula=base.formula,
        weights=base.weights | check(weights),
        settings=base.settings,
        note=note[:300],
        made_by=by,
    )


def check(weights: dict) -> dict[str, float]:
    """Return the weights as numbers; Invalid says which one cannot be used."""
    checked = {}
    for name, value in weights.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if name not in NAMES or not -MAX_WEIGHT <= number <= MAX_WEIGHT:
            raise Invalid(
                _("%(name)s must be a known feature with a weight from -50 to 50.") % {"name": name}
            )
        checked[name] = round(number, 4)
    return checked
