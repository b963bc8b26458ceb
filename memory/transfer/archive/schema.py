"""The tables of an archive, in the order in which they can be restored, and its signature."""

import json
from dataclasses import dataclass, field

from django.apps import apps
from django.db import models
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext_lazy as _

SALT = "memory.transfer.archive"


@dataclass(frozen=True)
class Kind:
    """One table: its file in the archive and what its rows point to."""

    name: str
    model: str
    # Columns that are computed again.
    derived: tuple[str, ...] = ()
    # Columns that hold ids of other rows in a list, and of which kind.
    id_lists: dict[str, str] = field(default_factory=dict)
    # Columns that hold [{"episode": 3, "quote": "…"}, …].
    evidence: tuple[str, ...] = ()

    @property
    def table(self) -> type[models.Model]:
        return apps.get_model("memory", self.model)

    @property
    def fields(self) -> list[models.Field]:
        """Return the columns of a row except its id and its space."""
        left_out = {"id", "space", *self.derived}
        return [f for f in self.table._meta.concrete_fields if f.name not in left_out]


KINDS = [
    Kind("chats", "Chat"),
    Kind("episodes", "Episode", id_lists={"summary_of": "episodes"}),
    Kind("messages", "Message"),
    Kind("facts", "Fact", derived=("said_key",), evidence=("evidence",)),
    Kind("entities", "Entity", derived=("keys",)),
    Kind("patterns", "Pattern", evidence=("evidence",)),
    Kind("working_notes", "WorkingNote"),
    Kind("identity", "Identity"),
    Kind("rules", "Rule"),
    Kind("preferences", "Preference"),
    Kind("rulings", "Ruling", derived=("said_key",)),
]


BY_NAME = {kind.name: kind for kind in KINDS}


BY_MODEL = {kind.model: kind for kind in KINDS}


# Names that evidence uses for the rows it points to.
EVIDENCE = {"fact": "facts", "episode": "episodes", "message": "messages", "pattern": "patterns"}


# Everything else that belongs to a space, and why it stays behind.
LEFT_OUT = {
    "memory.Member": _("People belong to an installation, not to a memory."),
    "memory.ChatLink": _("Who somebody in a chat is was proved to this installation."),
    "memory.ApiToken": _("A key is shown once and never copied."),
    "memory.AuditEntry": _("The audit tells what happened on this installation."),
    "memory.Notice": _("A notice is told once, where it arose."),
    "memory.Embedding": _("Vectors are computed anew from the words."),
    "memory.Mention": _("Whom a fact speaks of is found anew from its words."),
    "memory.Unit": _("The search index is made anew from the words."),
    "memory.RecallProfile": _("How recall ranks is set for an installation."),
    "memory.SelfCheck": _("A check of a reply belongs to the reply's receipt."),
    "memory.DeadLetter": _("A job that was given up belongs where it ran."),
    "memory.Recall": _("A receipt tells of a reply of this installation."),
    "memory.LlmCall": _("Costs belong to the installation that paid them."),
    "memory.OutboxItem": _("What waits to be sent would be sent twice."),
    "memory.Parcel": _("A file on its way in or out; it is gone a day later."),
    "sleep.Night": _("A night tells what it did on this installation."),
    "sleep.Reflection": _("What a night measured, on this installation."),
    "kenoweb.OneTimeLink": _("A link is for one person and one use."),
    "sleep.NightChange": _("A night tells what it did on this installation."),
    "sleep.Claim": _("What a night read out of an episode; the next night reads it again."),
    "sleep.Proposal": _("A proposal speaks of rows by their number; decide it before you move."),
}


def link_of(column: models.Field) -> Kind | None:
    """The kind of row a foreign key points to, when the archive holds it."""
    if not column.is_relation or column.related_model is None:
        return None
    return BY_MODEL.get(column.related_model.__name__)


def sign(manifest: dict) -> str:
    signed = {key: value for key, value in manifest.items() if key != "seal"}
    payload = json.dumps(signed, sort_keys=True, ensure_ascii=True)
    return salted_hmac(SALT, payload, algorithm="sha256").hexdigest()


def is_valid(manifest: dict) -> bool:
    return constant_time_compare(str(manifest.get("seal", "")), sign(manifest))
