"""What a person may say about an episode, and discarding one or many with a reason."""

from datetime import datetime

from django import forms
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from kenoweb.episodes.panel import derived_facts
from kenoweb.ui.form_fields import OneLine
from memory import rulings
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.history import changes as history
from memory.history.changes import ChangeResult
from memory.models import Episode

REASONS = {
    "noise": (_("Noise"), _("small talk, a test, repeated messages")),
    "wrong": (_("Wrong"), _("it did not happen like this")),
    "private": (_("Private"), _("and never remember things like it")),
}


@transaction.atomic
def discard(
    episode: Episode,
    *,
    by: str,
    why: str,
    note: str = "",
    with_facts: bool = False,
    now: datetime | None = None,
) -> ChangeResult:
    """To the trash; undo brings back all of it, facts and rulings too."""
    reason = ": ".join(part for part in (str(REASONS[why][0]), note) if part)
    with history.change(by=by, why="discard") as context:
        done = episodes.discard(episode, by=by, reason=reason, now=now)
        if not done.changed:
            return done
        if why == "private":
            rulings.forbid(episode.space, text=str(episode), by=by, reason=note or reason)
        if with_facts:
            for fact in derived_facts(episode, space=episode.space).live():
                facts.forget(fact, by=by, now=now)
    return ChangeResult(episode, context.id)


class Words(forms.CharField):
    """A few words, parted by commas."""

    def to_python(self, value):
        return [word for part in super().to_python(value).split(",") if (word := part.strip())]

    def prepare_value(self, value):
        return ", ".join(value) if isinstance(value, list) else value


class EpisodeForm(forms.Form):
    title = OneLine(label=_("Title"), max_length=200)
    body = forms.CharField(
        label=_("What happened"),
        max_length=20_000,
        required=False,
        help_text=_("Markdown: lists, links, code."),
        widget=forms.Textarea(attrs={"rows": 10}),
    )
    tags = Words(
        label=_("Tags"), max_length=600, required=False, help_text=_("Separated by commas.")
    )
    participants = Words(
        label=_("With"), max_length=1200, required=False, help_text=_("Separated by commas.")
    )


class DiscardForm(forms.Form):
    why = forms.ChoiceField(choices=[(key, label) for key, (label, _text) in REASONS.items()])
    note = OneLine(required=False, max_length=160)
    with_facts = forms.BooleanField(required=False)
