"""The settings of a space as a page: each with its words, range, default and history."""

from dataclasses import Field, asdict, fields
from datetime import datetime

from django import forms
from django.contrib.auth.models import User
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

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
    _("What a reply sees"): {
        "token_budget": _("Token budget"),
        "history_messages": _("Short-term messages"),
        "history_minutes": _("Short-term minutes"),
        "use_retrieval": _("Recall"),
        "recall_profile": _("Recall profile"),
        "recall_strict": _("Strict recall"),
        "shared_with": _("Who hears the whole space"),
        "private_chats": _("Private chats"),
        "judge_ms": _("Judge (ms)"),
        "expand_search": _("More search words"),
        "memory_days": _("Days of notes"),
    },
    _("Answering"): {
        "batch_silence": _("Silence"),
        "batch_size": _("Messages together"),
        "batch_wait": _("Longest wait"),
        "first_conversation": _("Get to know each other"),
    },
    _("Learning"): {
        "believe_from": _("Believe from"),
        "offer_from": _("Offer from"),
        "learning_feedback": _("Say what was noted"),
    },
    _("Who may write"): {
        "gate_telegram": "Telegram",
        "gate_discord": "Discord",
        "gate_http": "HTTP",
        "gate_web": _("Web"),
        "gate_tags": _("Tags of models"),
        "gate_imports": _("Imports"),
    },
    _("Still true?"): {
        "check_home_days": _("Home and work"),
        "check_taste_days": _("Likes"),
        "check_health_days": _("Health"),
        "check_plan_days": _("Plans"),
        "checks_a_day": _("Questions a day"),
        "check_in_chat": _("Ask in the chat"),
    },
    _("Language models"): {
        "chat_provider": _("Provider of replies"),
        "chat_model": _("Model of replies"),
        "fast_provider": _("Provider of the small model"),
        "fast_model": _("Small model"),
        "sleep_provider": _("Provider of the night"),
        "sleep_model": _("Model of the night"),
    },
    _("Budgets"): {
        "budget_day": _("Budget a day"),
        "budget_month": _("Budget a month"),
        "budget_night": _("Budget a night"),
        "budget_action": _("When it is spent"),
    },
    _("Nights"): {
        "sleep_hour": _("Hour of the night"),
        "sleep_minute": _("Minute of the night"),
        "episodes_per_night": _("Episodes a night"),
        "night_questions": _("Questions a night"),
    },
    _("Keeping"): {
        "facts_per_subject": _("Facts about one subject"),
        "lore_cap": _("Lore"),
        "working_stale_days": _("Working notes"),
        "retention_days": _("Episodes"),
        "trash_days": _("Trash"),
        "receipt_days": _("Receipts"),
        "log_days": _("Calls and notices"),
        "call_days": _("Words of model calls"),
        "mirror": _("Folder of Markdown files"),
    },
}
OTHER = _("Other")
LABELS = {name: label for names in GROUPS.values() for name, label in names.items()}
CHOICES = {
    "believe": _("believe at once"),
    "hold": _("hold for me, as a proposal"),
    "read_only": _("read only, keep nothing"),
    "everybody": _("everybody allowed in the chat"),
    "members": _("linked members"),
    "auto": _("as the installation says"),
    "offline": _("built in, no model"),
    "warn": _("warn and go on"),
    "cheap": _("go on with the small model"),
    "pause": _("pause"),
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
    versions, usual = [], asdict(read({}))
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
        versions.append(version)
    return versions


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
    "on": (encryption.switch_on, _("New words are encrypted; the old ones follow.")),
    "off": (encryption.switch_off, _("New words are plain; the old ones follow.")),
    "rotate": (encryption.rotate, _("There is a new key; the old words follow.")),
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
