"""The settings of a space as a page: each with its words, range, default and history."""

from dataclasses import Field, asdict, fields
from datetime import datetime

from django import forms
from django.contrib.auth.models import User
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import in_space
from kenoweb.auth.throttle import client_ip
from kenoweb.ui import history_thread
from kenoweb.ui.formatting import embedder_name, model_name, number
from kenoweb.ui.responses import run_and_toast, show_form, toast, toast_error
from memory.history import changes as history
from memory.history.actors import person
from memory.llm import choose as breaker
from memory.llm.choose import choose
from memory.llm.providers import PROVIDERS
from memory.models import Space
from memory.models import encryption as keys
from memory.options import Options, read
from memory.spaces import encryption
from memory.spaces import service as spaces
from memory.vectors import embed
from sleep import mirror

GROUPS = {
    gettext_lazy("What a reply sees"): {
        "token_budget": gettext_lazy("Token budget"),
        "history_messages": gettext_lazy("Short-term messages"),
        "history_minutes": gettext_lazy("Short-term minutes"),
        "use_retrieval": gettext_lazy("Recall"),
        "recall_profile": gettext_lazy("Recall profile"),
        "recall_strict": gettext_lazy("Strict recall"),
        "shared_with": gettext_lazy("Who hears the whole space"),
        "private_chats": gettext_lazy("Private chats"),
        "judge_ms": gettext_lazy("Judge (ms)"),
        "expand_search": gettext_lazy("More search words"),
        "memory_days": gettext_lazy("Days of notes"),
    },
    gettext_lazy("Answering"): {
        "batch_silence": gettext_lazy("Silence"),
        "batch_size": gettext_lazy("Messages together"),
        "batch_wait": gettext_lazy("Longest wait"),
        "first_conversation": gettext_lazy("Get to know each other"),
    },
    gettext_lazy("Learning"): {
        "believe_from": gettext_lazy("Believe from"),
        "offer_from": gettext_lazy("Offer from"),
        "learning_feedback": gettext_lazy("Say what was noted"),
    },
    gettext_lazy("Who may write"): {
        "gate_telegram": "Telegram",
        "gate_discord": "Discord",
        "gate_http": "HTTP",
        "gate_web": gettext_lazy("Web"),
        "gate_tags": gettext_lazy("Tags of models"),
        "gate_imports": gettext_lazy("Imports"),
    },
    gettext_lazy("Still true?"): {
        "check_home_days": gettext_lazy("Home and work"),
        "check_taste_days": gettext_lazy("Likes"),
        "check_health_days": gettext_lazy("Health"),
        "check_plan_days": gettext_lazy("Plans"),
        "checks_a_day": gettext_lazy("Questions a day"),
        "check_in_chat": gettext_lazy("Ask in the chat"),
    },
    gettext_lazy("Language models"): {
        "chat_provider": gettext_lazy("Provider of replies"),
        "chat_model": gettext_lazy("Model of replies"),
        "fast_provider": gettext_lazy("Provider of the small model"),
        "fast_model": gettext_lazy("Small model"),
        "sleep_provider": gettext_lazy("Provider of the night"),
        "sleep_model": gettext_lazy("Model of the night"),
    },
    gettext_lazy("Budgets"): {
        "budget_day": gettext_lazy("Budget a day"),
        "budget_month": gettext_lazy("Budget a month"),
        "budget_night": gettext_lazy("Budget a night"),
        "budget_action": gettext_lazy("When it is spent"),
    },
    gettext_lazy("Nights"): {
        "sleep_hour": gettext_lazy("Hour of the night"),
        "sleep_minute": gettext_lazy("Minute of the night"),
        "episodes_per_night": gettext_lazy("Episodes a night"),
        "night_questions": gettext_lazy("Questions a night"),
    },
    gettext_lazy("Keeping"): {
        "facts_per_subject": gettext_lazy("Facts about one subject"),
        "lore_cap": gettext_lazy("Lore"),
        "working_stale_days": gettext_lazy("Working notes"),
        "retention_days": gettext_lazy("Episodes"),
        "trash_days": gettext_lazy("Trash"),
        "receipt_days": gettext_lazy("Receipts"),
        "log_days": gettext_lazy("Calls and notices"),
        "call_days": gettext_lazy("Words of model calls"),
        "mirror": gettext_lazy("Folder of Markdown files"),
    },
}
OTHER = gettext_lazy("Other")
LABELS = {name: label for names in GROUPS.values() for name, label in names.items()}
CHOICES = {
    "believe": gettext_lazy("believe at once"),
    "hold": gettext_lazy("hold for me, as a proposal"),
    "read_only": gettext_lazy("read only, keep nothing"),
    "everybody": gettext_lazy("everybody allowed in the chat"),
    "members": gettext_lazy("linked members"),
    "auto": gettext_lazy("as the installation says"),
    "offline": gettext_lazy("built in, no model"),
    "warn": gettext_lazy("warn and go on"),
    "cheap": gettext_lazy("go on with the small model"),
    "pause": gettext_lazy("pause"),
}
MAX_CHANGES = 20


class SettingsForm(forms.Form):
    """One field for every option there is, in groups."""

    def __init__(self, *args, space: Space, **kwargs):
        now, usual = asdict(space.options), asdict(read({}))
        kwargs.setdefault("initial", now)
        super().__init__(*args, **kwargs)
        for option in fields(Options):
            field = _field(option)
            field.usual = value_text(option.name, usual[option.name])
            field.is_usual = now[option.name] == usual[option.name]
            field.range = _range(option)
            self.fields[option.name] = field
        self.fields["mirror"].help_text += f" {mirror.folder_of(space)}"

    def clean(self) -> dict:
        """Refuse a provider that cannot work."""
        values = super().clean()
        for name in ("chat_provider", "fast_provider", "sleep_provider"):
            provider = values.get(name)
            is_new = provider in PROVIDERS and provider != self.initial[name]
            if is_new and not breaker.is_ready(provider):
                self.add_error(name, _("It has no key yet. Give it one on the page Connect."))
        return values

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        others = [name for name in self.fields if name not in LABELS]
        groups = {**GROUPS, OTHER: others} if others else GROUPS
        return [(str(title), [self[name] for name in names]) for title, names in groups.items()]

    def changed(self) -> dict[str, object]:
        """Return what differs from how it is now, as spaces.configure() takes it."""
        values = self.cleaned_data.items()
        return {name: value for name, value in values if value != self.initial[name]}


def _field(option: Field) -> forms.Field:
    meta = option.metadata
    common = {"label": label(option.name), "help_text": meta["help"], "required": False}
    if isinstance(option.default, bool):
        return forms.BooleanField(**common)
    if "choices" in meta:
        choices = [(choice, CHOICES.get(choice, choice)) for choice in meta["choices"]]
        return forms.ChoiceField(choices=choices, **common)
    if "pattern" in meta:
        messages = {"invalid": _("The name of a model or profile, without spaces.")}
        return forms.RegexField(rf"^{meta['pattern']}$", error_messages=messages, **common)
    kind = forms.IntegerField if option.type in (int, "int") else forms.FloatField
    return kind(min_value=meta["low"], max_value=meta["high"], **common | {"required": True})


def label(name: str) -> str:
    return str(LABELS.get(name) or name.replace("_", " ").capitalize())


def value_text(name: str, value: object) -> str:
    """Write a value in words."""
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if isinstance(value, int | float):
        return number(value, 0 if float(value).is_integer() else 2)
    return str(CHOICES.get(value, value)) if value else _("empty")


def _range(option: Field) -> str:
    meta = option.metadata
    if "low" not in meta:
        return ""
    return _("%(low)s to %(high)s") % {"low": number(meta["low"]), "high": number(meta["high"])}


def versions(space: Space, *, user: User) -> list[dict]:
    """Return how the settings were changed, newest first."""
    found, usual = [], asdict(read({}))
    for change in history.history(space, limit=MAX_CHANGES):
        before, after = (change.before or {}).get("settings", {}), change.after["settings"]
        # The settings of a demo also hold its progress, which is not an option.
        names = [n for n in usual if before.get(n) != after.get(n)]
        if change.is_create or not names:
            continue
        before, after = usual | before, usual | after
        context = change.context_id
        version = {
            "who": history_thread.who(change.by, user),
            "at": change.at,
            "undo": reverse("history:undo", args=[space.slug, context]) if context else "",
            "fields": [
                (label(n), value_text(n, before[n]), value_text(n, after[n])) for n in sorted(names)
            ],
        }
        found.append(version)
    return found


def who_answers(space: Space, *, now: datetime) -> dict:
    """Return which models answer, and which providers could: never with what key."""
    purposes = {"chat": _("Replies"), "extract": _("Facts and search"), "sleep": _("Nights")}
    chosen = {label: choose(name, space=space) for name, label in purposes.items()}
    built_in = {"name": _("Keno alone"), "ready": True, "note": _("built in, always there")}
    return {
        "roles": [(label, model_name(c.model, c.provider)) for label, c in chosen.items()],
        "providers": [
            _provider("anthropic", "Anthropic", _("a key"), now),
            _provider("openai", "OpenAI", _("a key or an address"), now),
            _provider("claude-cli", "Claude Code", _("the command claude"), now),
            built_in | {"state": "closed"},
        ],
        "embedder": embedder_name(embed.current().name) if embed.enabled() else _("off"),
    }


def _provider(name: str, label: str, needs: str, now: datetime) -> dict:
    ready = breaker.is_ready(name)
    note = _("is set up") if ready else _("needs %(what)s: see Connect") % {"what": needs}
    return {"name": label, "ready": ready, "note": note, "state": breaker.state(name, now=now)}


@in_space(role="owner", methods="GET POST")
def index(request, space):
    form = SettingsForm(request.POST or None, space=space)
    if request.method == "POST" and form.is_valid():
        values = {"values": form.changed(), "ip": client_ip(request)}
        run_and_toast(request, _("Saved."), spaces.configure, space, **values)
        return redirect("settings:index", space.slug)
    context = {
        "answers": who_answers(space, now=timezone.now()),
        "versions": versions(space, user=request.user),
        "encryption": encryption.of(space),
        "has_content_key": keys.installation() is not None,
    }
    return show_form(request, "settings/index.html", form, **context)


ENCRYPTION_ACTS = {
    "on": (encryption.switch_on, gettext_lazy("New words are encrypted; the old ones follow.")),
    "off": (encryption.switch_off, gettext_lazy("New words are plain; the old ones follow.")),
    "rotate": (encryption.rotate, gettext_lazy("There is a new key; the old words follow.")),
}


@in_space(role="owner", methods="POST", sudo=True)
def encrypt(request, space):
    """Switch the encryption of the space on or off, or have everything put under a new key."""
    act, words = ENCRYPTION_ACTS.get(request.POST.get("act", ""), (None, ""))
    try:
        if act:
            act(space, by=person(request.user), ip=client_ip(request))
            toast(request, str(words))
    except encryption.Refused as refusal:
        toast_error(request, str(refusal))
    return redirect("settings:index", space.slug)
