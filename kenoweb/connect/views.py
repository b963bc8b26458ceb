"""Connect: the language model, bots of chats, agents, programs and webhooks, on one page."""

import base64
import json
import time
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import httpx
from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.core.validators import RegexValidator, URLValidator
from django.db.models import Sum
from django.http import Http404
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters

from kenoweb.auth.access import get_in_space_or_404, in_space, rows_in
from kenoweb.auth.throttle import client_ip
from kenoweb.ui.formatting import model_name
from kenoweb.ui.responses import toast, toast_error
from memory.history.actors import person
from memory.llm.choose import NEEDS, choose, is_ready
from memory.llm.complete import complete
from memory.llm.providers import PROVIDERS
from memory.llm.request import ProviderError
from memory.models import ApiToken, ChatLink, Heartbeat, LlmCall, Webhook, WebhookDelivery
from memory.operations import webhooks
from memory.spaces import chat_links, connections
from memory.spaces import service as spaces

PURPOSES = {
    "chat": gettext_lazy("Replies"),
    "extract": gettext_lazy("Facts and search"),
    "sleep": gettext_lazy("Nights"),
}
MODELS = {"chat": "chat_model", "extract": "fast_model", "sleep": "sleep_model"}
PROVIDER_NAMES = {
    "auto": gettext_lazy("Automatic: the one that has a key"),
    "anthropic": "Anthropic",
    "openai": gettext_lazy("OpenAI, or a server of its protocol (Ollama, vLLM)"),
    "claude-cli": gettext_lazy("The command claude of this machine"),
    "offline": gettext_lazy("Built in, no model"),
}
COST_PERIOD = timedelta(days=30)
MAX_DELIVERIES = 12
# Discord's rights to see channels, send messages there and in threads, and read their history.
DISCORD_RIGHTS = 1 << 10 | 1 << 11 | 1 << 16 | 1 << 38
HTTP_ADDRESS = URLValidator(["http", "https"])


def _model_name(purpose: str) -> forms.RegexField:
    return forms.RegexField(r"^\S*$", label=PURPOSES[purpose], required=False, max_length=120)


class ModelForm(forms.Form):
    provider = forms.ChoiceField(
        label=gettext_lazy("Provider"), choices=list(PROVIDER_NAMES.items())
    )
    key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        max_length=400,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Kept encrypted. Leave empty to keep the current key."),
    )
    base = forms.URLField(
        label=gettext_lazy("Address"),
        required=False,
        max_length=300,
        assume_scheme="http",
        validators=[HTTP_ADDRESS],
        help_text=gettext_lazy("For a model on your own machine: http://127.0.0.1:11434/v1"),
    )
    chat, extract, sleep = map(_model_name, ("chat", "extract", "sleep"))

    def __init__(self, *args, space, may_change, **kwargs):
        models = {purpose: getattr(space.options, name) for purpose, name in MODELS.items()}
        provider = space.options.chat_provider
        base = connections.value(f"{provider.upper()}_BASE_URL") if provider in NEEDS else ""
        super().__init__(*args, initial=models | {"provider": provider, "base": base}, **kwargs)
        for purpose in PURPOSES:
            default = choose(purpose, space=space).model
            self.fields[purpose].widget.attrs["placeholder"] = model_name(default)
        if not may_change:
            del self.fields["key"], self.fields["base"]

    def clean(self) -> dict:
        values = super().clean()
        name = values.get("provider")
        has_access = values.get("key") or (name == "openai" and values.get("base"))
        if name in PROVIDERS and not has_access and not is_ready(name):
            field = "key" if "key" in self.fields else "provider"
            self.add_error(field, _("It cannot work without: give it its key."))
        elif name in NEEDS and "base" in self.fields and self._moves_a_key(name.upper(), values):
            self.add_error(
                "key",
                _("The key that is there was given for another address: give the one for this."),
            )
        return values

    def _moves_a_key(self, name: str, values: dict) -> bool:
        """Whether a stored key, which is never shown, would be sent to a new address."""
        key, base = f"{name}_API_KEY", f"{name}_BASE_URL"
        is_typed = values.get("key") and not connections.from_environment(key)
        if is_typed or not connections.value(key) or connections.from_environment(base):
            return False
        return values.get("base", "").rstrip("/") != connections.value(base)

    def connection_values(self) -> dict[str, str]:
        """Return what to store, without what the environment sets."""
        name, values = self.cleaned_data["provider"].upper(), self.cleaned_data
        if name.lower() not in NEEDS or "key" not in self.fields:
            return {}
        stored = {f"{name}_BASE_URL": values["base"].rstrip("/")}
        stored |= {f"{name}_API_KEY": values["key"].strip()} if values["key"] else {}
        return {key: stored[key] for key in stored if not connections.from_environment(key)}


@dataclass(frozen=True)
class Bot:
    """A chat program in which Keno can be a bot."""

    channel: str
    label: str
    secret: str
    pattern: str
    invalid: Any

    @property
    def is_installed(self) -> bool:
        # The package that speaks to a channel has its name.
        return find_spec(self.channel) is not None

    def name_of(self, token: str) -> str:
        """Ask the chat for the bot's name; "" when it knows no such token or is silent."""
        try:
            if self.channel == "telegram":
                answer = httpx.post(f"{settings.TELEGRAM_BASE_URL}/bot{token}/getMe", timeout=10)
                return answer.json()["result"]["username"]
            url = f"{settings.DISCORD_BASE_URL}/api/v10/users/@me"
            answer = httpx.get(url, headers={"Authorization": f"Bot {token}"}, timeout=10)
            return answer.json()["username"]
        except (httpx.HTTPError, ValueError, LookupError, TypeError):
            return ""


BOTS = {
    "telegram": Bot(
        *("telegram", "Telegram", "TELEGRAM_BOT_TOKEN", r"\d{5,20}:[A-Za-z0-9_-]{30,64}"),
        gettext_lazy("That is not a token. @BotFather gives one: 123456789:ABC…"),
    ),
    "discord": Bot(
        *("discord", "Discord", "DISCORD_BOT_TOKEN"),
        r"[A-Za-z0-9_-]{18,40}=*\.[A-Za-z0-9_-]{5,10}\.[A-Za-z0-9_-]{25,60}",
        gettext_lazy("That is not a token of a bot. It has three parts with dots between."),
    ),
}


class BotForm(forms.Form):
    token = forms.CharField(
        label=gettext_lazy("Token"),
        required=False,
        max_length=200,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "class": "mono"}),
    )
    off = forms.BooleanField(label=gettext_lazy("Take the token away"), required=False)

    def __init__(self, *args, bot: Bot, **kwargs):
        # Two of them stand on one page.
        super().__init__(*args, auto_id=f"{bot.channel}_%s", **kwargs)
        self.fields["token"].validators = [RegexValidator(f"^{bot.pattern}$", bot.invalid)]


class WebhookForm(forms.Form):
    url = forms.URLField(
        label=gettext_lazy("Address"),
        max_length=500,
        assume_scheme="https",
        validators=[HTTP_ADDRESS],
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("What it is told"),
        choices=Webhook.Event.choices,
        widget=forms.CheckboxSelectMultiple,
    )


def page(request, space, *, status=200, tests=None, bot_forms=None, **context):
    may_change = connections.may_change(request.user)
    home = settings.KENO_URL or request.build_absolute_uri("/").rstrip("/")
    live = rows_in(space, ApiToken).filter(revoked_at=None).select_related("user")
    hints = connections.hints()
    usual = {
        "model_form": ModelForm(space=space, may_change=may_change),
        "webhook_form": WebhookForm(initial={"events": ["fact", "proposal"]}),
        "may_change": may_change,
        "purposes": purposes(space, tests or {}),
        "hints": {name: hint for name, hint in hints.items() if name.endswith("_KEY")},
        "bots": bots(space, hints, bot_forms or {}),
        "environment": [name for name in connections.NAMES if connections.from_environment(name)],
        "clients": live.exclude(client=""),
        "tokens": live.filter(client="").count(),
        "webhooks": rows_in(space, Webhook).order_by("pk"),
        "deliveries": WebhookDelivery.objects.filter(webhook__space=space)
        .select_related("webhook")
        .order_by("-pk")[:MAX_DELIVERIES],
        **install_links(home),
    }
    return render(request, "connect/index.html", usual | context, status=status)


def bots(space, hints: dict, bot_forms: dict) -> list[dict[str, Any]]:
    """Return what the page shows of each chat: state, token, and the linked people."""
    beat = Heartbeat.objects.order_by("-beat_at").first()
    linked = ChatLink.objects.filter(space=space, linked_at__isnull=False).order_by("pk")
    people = list(linked.filter(channel__in=BOTS))
    state = beat.channels if beat else {}
    return [
        {
            "bot": bot,
            "form": bot_forms.get(name) or BotForm(bot=bot),
            "hint": hints[bot.secret],
            "state": state.get(name, ""),
            "people": [link for link in people if link.channel == name],
            "invite": _invite() if name == "discord" and hints[bot.secret] else "",
        }
        for name, bot in BOTS.items()
    ]


def _invite() -> str:
    """Return the link that adds the bot to a server. The token begins with the bot's number."""
    first = connections.value("DISCORD_BOT_TOKEN").partition(".")[0]
    try:
        number = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
    except ValueError:  # the environment may hold anything
        return ""
    query = {"client_id": number, "scope": "bot applications.commands"}
    query["permissions"] = DISCORD_RIGHTS
    return f"https://discord.com/oauth2/authorize?{urlencode(query)}"


def install_links(home: str) -> dict[str, str]:
    """Return lines to copy, and links that other programs open by themselves."""
    server = {"url": f"{home}/mcp"}
    cursor = {"name": "keno", "config": base64.b64encode(json.dumps(server).encode()).decode()}
    vscode = json.dumps({"name": "keno", "type": "http", **server})
    return {
        "home": home,
        "mcp_json": json.dumps({"mcpServers": {"keno": {"type": "http", **server}}}, indent=2),
        "cursor": f"cursor://anysphere.cursor-deeplink/mcp/install?{urlencode(cursor)}",
        "vscode": "vscode:mcp/install?" + urlencode({"": vscode})[1:],
    }


def purposes(space, tests: dict) -> list[dict[str, Any]]:
    """Return for each purpose its model, what it cost lately, and what a test just answered."""
    since = timezone.now() - COST_PERIOD
    calls = LlmCall.objects.filter(space=space, at__gte=since).order_by()
    costs = dict(calls.values_list("purpose").annotate(Sum("cost")))
    rows = []
    for name, label in PURPOSES.items():
        choice = choose(name, space=space)
        is_offline = choice.provider == "offline"
        model = _("built in") if is_offline else f"{choice.provider} {choice.model}"
        tested, ok = tests.get(name, ("", False))
        row = {"words": label, "model": model, "cost": costs.get(name)}
        rows.append(row | {"tested": tested, "ok": ok})
    return rows


@in_space(role="owner")
def index(request, space):
    return page(request, space)


@in_space(role="owner", methods="POST", sudo=True)
@sensitive_post_parameters("key")
def model(request, space):
    may_change = connections.may_change(request.user)
    form = ModelForm(request.POST, space=space, may_change=may_change)
    if not form.is_valid():
        return page(request, space, status=422, model_form=form)
    ip = client_ip(request)
    connections.save(form.connection_values(), user=request.user, space=space, ip=ip)
    options = {name: form.cleaned_data[purpose] for purpose, name in MODELS.items()}
    options["chat_provider"] = form.cleaned_data["provider"]
    spaces.configure(space, values=options, by=person(request.user), ip=ip)
    toast(request, _("Saved. Test it to be sure."))
    return redirect("connect:index", space.slug)


@in_space(role="owner", methods="POST")
def test_model(request, space):
    return page(request, space, tests={name: _test(space, name) for name in PURPOSES})


def _test(space, purpose) -> tuple[str, bool]:
    if choose(purpose, space=space).provider == "offline":
        return _("always there"), True
    began = time.monotonic()
    prompt = {
        "system": "Answer with one word.",
        "messages": [{"role": "user", "content": "Say ok."}],
    }
    try:
        complete(purpose, space=space, max_tokens=16, pause=None, **prompt)
    except ProviderError as error:
        return str(error), False
    return f"ok, {round((time.monotonic() - began) * 1000)} ms", True


@in_space(role="owner", methods="POST", sudo=True)
@sensitive_post_parameters("token")
def bot(request, space, name):
    """Store a bot's token once its chat has confirmed it; the worker begins with it."""
    chat = BOTS.get(name)
    if chat is None:
        raise Http404
    if not connections.may_change(request.user):
        raise PermissionDenied
    form = BotForm(request.POST, bot=chat)
    if form.is_valid() and not form.cleaned_data["off"]:
        token = form.cleaned_data["token"] or connections.value(chat.secret)
        if bot_name := chat.is_installed and chat.name_of(token):
            message = _("%(chat)s knows the bot: @%(name)s.")
            toast(request, message % {"chat": chat.label, "name": bot_name})
        else:
            refusal = _("%(chat)s does not know this token, or does not answer.")
            form.add_error("token", refusal % {"chat": chat.label})
    if not form.is_valid():
        return page(request, space, status=422, bot_forms={name: form})
    is_off = form.cleaned_data["off"]
    token = "" if is_off else form.cleaned_data["token"]
    if token or is_off:
        ip = client_ip(request)
        connections.save({chat.secret: token}, user=request.user, space=space, ip=ip)
    return redirect("connect:index", space.slug)


@in_space(role="owner", methods="POST", sudo=True)
def remove_person(request, space, pk):
    """Take a chat account away from its member, or a server from the space."""
    link = get_in_space_or_404(space, ChatLink, pk)
    chat_links.unlink(link, by=person(request.user))
    toast(request, _("Removed. Keno hears them there no more."))
    return redirect("connect:index", space.slug)


@in_space(role="owner", methods="POST", sudo=True)
def new_webhook(request, space):
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return page(request, space, status=422, webhook_form=form)
    actor = {"by": person(request.user), "ip": client_ip(request)}
    made, secret = webhooks.subscribe(space, **form.cleaned_data, **actor)
    # No redirect: the secret exists in this one answer and nowhere else.
    return page(request, space, made=made, secret=secret)


@in_space(role="owner", methods="POST")
def test_webhook(request, space, pk):
    webhooks.send_test(get_in_space_or_404(space, Webhook, pk))
    toast(request, _("A test is on its way. Its answer stands in the list in a moment."))
    return redirect("connect:index", space.slug)


@in_space(role="owner", methods="POST", sudo=True)
def delete_webhook(request, space, pk):
    row = get_in_space_or_404(space, Webhook, pk)
    webhooks.unsubscribe(row, by=person(request.user), ip=client_ip(request))
    toast(request, _("Removed. It is called no more."))
    return redirect("connect:index", space.slug)


@in_space(role="owner", methods="POST")
def replay(request, space, pk, delivery):
    row = get_in_space_or_404(space, Webhook, pk).deliveries.filter(pk=delivery).first()
    if row is None:
        toast_error(request, _("That call is no longer kept."))
    else:
        webhooks.replay(row)
        toast(request, _("Sent again."))
    return redirect("connect:index", space.slug)
