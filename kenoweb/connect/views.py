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
MONTH, LOG = timedelta(days=30), 12
# See channels, send messages there and in threads, read their history: of Discord's rights, these.
SEND = 1 << 10 | 1 << 11 | 1 << 16 | 1 << 38


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
        validators=[URLValidator(["http", "https"])],
        help_text=gettext_lazy("For a model on your own machine: http://127.0.0.1:11434/v1"),
    )
    chat = forms.RegexField(r"^\S*$", label=PURPOSES["chat"], required=False, max_length=120)
    extract = forms.RegexField(r"^\S*$", label=PURPOSES["extract"], required=False, max_length=120)
    sleep = forms.RegexField(r"^\S*$", label=PURPOSES["sleep"], required=False, max_length=120)

    def __init__(self, *args, space, may_change, **kwargs):
        options = space.options
        asked = {purpose: getattr(options, name) for purpose, name in MODELS.items()}
        provider = options.chat_provider
        base = connections.value(f"{provider.upper()}_BASE_URL") if provider in NEEDS else ""
        super().__init__(*args, initial=asked | {"provider": provider, "base": base}, **kwargs)
        for purpose in PURPOSES:
            usual = choose(purpose, space=space).model
            self.fields[purpose].widget.attrs["placeholder"] = model_name(usual)
        if not may_change:
            del self.fields["key"], self.fields["base"]

    def clean(self) -> dict:
        given = super().clean()
        name = given.get("provider")
        brings = given.get("key") or (name == "openai" and given.get("base"))
        if name in PROVIDERS and not brings and not is_ready(name):
            where = "key" if "key" in self.fields else "provider"
            self.add_error(where, _("It cannot work without: give it its key."))
        elif name in NEEDS and "base" in self.fields and self._moves_a_key(name.upper(), given):
            said = _("The key that is there was given for another address: give the one for this.")
            self.add_error("key", said)
        return given

    def _moves_a_key(self, name: str, given: dict) -> bool:
        """Whether a key, which is never shown, would be sent to an address of somebody's choice."""
        key, base = f"{name}_API_KEY", f"{name}_BASE_URL"
        typed = given.get("key") and not connections.from_environment(key)
        if typed or not connections.value(key) or connections.from_environment(base):
            return False
        return given.get("base", "").rstrip("/") != connections.value(base)

    def kept(self) -> dict[str, str]:
        """What goes to the home; what the environment says stays there."""
        name, given = self.cleaned_data["provider"].upper(), self.cleaned_data
        if name.lower() not in NEEDS or "key" not in self.fields:
            return {}
        asked = {f"{name}_BASE_URL": given["base"].rstrip("/")}
        asked |= {f"{name}_API_KEY": given["key"].strip()} if given["key"] else {}
        return {one: words for one, words in asked.items() if not connections.from_environment(one)}


@dataclass(frozen=True)
class Bot:
    """A chat program whose bot Keno can be: where its token is kept and who says whose it is."""

    channel: str
    label: str
    secret: str
    pattern: str
    invalid: Any
    package: str

    @property
    def is_installed(self) -> bool:
        return find_spec(self.package) is not None

    def whose(self, token: str) -> str:
        """Ask the chat for the bot's name; nothing when it does not know it or does not answer."""
        try:
            if self.channel == "telegram":
                said = httpx.post(f"{settings.TELEGRAM_BASE_URL}/bot{token}/getMe", timeout=10)
                return said.json()["result"]["username"]
            url = f"{settings.DISCORD_BASE_URL}/api/v10/users/@me"
            said = httpx.get(url, headers={"Authorization": f"Bot {token}"}, timeout=10)
            return said.json()["username"]
        except (httpx.HTTPError, ValueError, LookupError, TypeError):
            return ""


BOTS = {
    "telegram": Bot(
        "telegram",
        "Telegram",
        "TELEGRAM_BOT_TOKEN",
        r"\d{5,20}:[A-Za-z0-9_-]{30,64}",
        gettext_lazy("That is not a token. @BotFather gives one: 123456789:ABC…"),
        "telegram",
    ),
    "discord": Bot(
        "discord",
        "Discord",
        "DISCORD_BOT_TOKEN",
        r"[A-Za-z0-9_-]{18,40}=*\.[A-Za-z0-9_-]{5,10}\.[A-Za-z0-9_-]{25,60}",
        gettext_lazy("That is not a token of a bot. It has three parts with dots between."),
        "discord",
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
        validators=[URLValidator(["http", "https"])],
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("What it is told"),
        choices=Webhook.Event.choices,
        widget=forms.CheckboxSelectMultiple,
    )


@dataclass(frozen=True)
class Purpose:
    """Who serves a purpose, what it cost lately, and what a test just said."""

    words: str
    model: str
    cost: Any
    tested: str = ""
    ok: bool = False


def page(
    request,
    space,
    *,
    status: int = 200,
    tests: dict | None = None,
    asked: dict | None = None,
    **given,
):
    may_change = connections.may_change(request.user)
    home = settings.KENO_URL or request.build_absolute_uri("/").rstrip("/")
    live = rows_in(space, ApiToken).filter(revoked_at=None).select_related("user")
    hints = connections.hints()
    context = {
        "model_form": ModelForm(space=space, may_change=may_change),
        "webhook_form": WebhookForm(initial={"events": ["fact", "proposal"]}),
        "may_change": may_change,
        "purposes": purposes(space, tests or {}),
        "hints": {name: hint for name, hint in hints.items() if name.endswith("_KEY")},
        "bots": bots(space, hints, asked or {}),
        "environment": [name for name in connections.NAMES if connections.from_environment(name)],
        "clients": live.exclude(client=""),
        "tokens": live.filter(client="").count(),
        "webhooks": rows_in(space, Webhook).order_by("pk"),
        "deliveries": WebhookDelivery.objects.filter(webhook__space=space)
        .select_related("webhook")
        .order_by("-pk")[:LOG],
        **install_links(home),
    }
    return render(request, "connect/index.html", context | given, status=status)


def bots(space, hints: dict, asked: dict) -> list[dict[str, Any]]:
    """What the page tells of each chat: state, token, and who was let in."""
    beat = Heartbeat.objects.order_by("-beat_at").first()
    linked = ChatLink.objects.filter(space=space, linked_at__isnull=False).order_by("pk")
    people = list(linked.filter(channel__in=BOTS))
    state = beat.channels if beat else {}
    return [
        {
            "bot": one,
            "form": asked.get(name) or BotForm(bot=one),
            "hint": hints[one.secret],
            "state": state.get(name, ""),
            "people": [link for link in people if link.channel == name],
            "invite": _invite() if name == "discord" and hints[one.secret] else "",
        }
        for name, one in BOTS.items()
    ]


def _invite() -> str:
    """The link that brings the bot to a server. The token begins with the bot's own number."""
    first = connections.value("DISCORD_BOT_TOKEN").partition(".")[0]
    try:
        number = base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)).decode("ascii")
    except ValueError:  # what stands in the environment may be anything
        return ""
    asked = {"client_id": number, "scope": "bot applications.commands", "permissions": SEND}
    return f"https://discord.com/oauth2/authorize?{urlencode(asked)}"


def install_links(home: str) -> dict[str, str]:
    """Lines to copy, and links that other programs open by themselves."""
    server = {"url": f"{home}/mcp"}
    packed = base64.b64encode(json.dumps(server).encode()).decode()
    code = json.dumps({"name": "keno", "type": "http", **server})
    return {
        "home": home,
        "mcp_json": json.dumps({"mcpServers": {"keno": {"type": "http", **server}}}, indent=2),
        "cursor": "cursor://anysphere.cursor-deeplink/mcp/install?"
        + urlencode({"name": "keno", "config": packed}),
        "vscode": "vscode:mcp/install?" + urlencode({"": code})[1:],
    }


def purposes(space, tests: dict) -> list[Purpose]:
    since = timezone.now() - MONTH
    calls = LlmCall.objects.filter(space=space, at__gte=since).order_by()
    spent = dict(calls.values_list("purpose").annotate(Sum("cost")))
    found = []
    for name, words in PURPOSES.items():
        who = choose(name, space=space)
        model = _("built in") if who.provider == "offline" else f"{who.provider} {who.model}"
        tested, ok = tests.get(name, ("", False))
        found.append(Purpose(str(words), model, spent.get(name), tested, ok))
    return found


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
    known = {"ip": client_ip(request)}
    connections.save(form.kept(), user=request.user, space=space, **known)
    chosen = {name: form.cleaned_data[purpose] for purpose, name in MODELS.items()}
    chosen["chat_provider"] = form.cleaned_data["provider"]
    spaces.configure(space, values=chosen, by=person(request.user), **known)
    toast(request, _("Saved. Test it to be sure."))
    return redirect("connect:index", space.slug)


@in_space(role="owner", methods="POST")
def test_model(request, space):
    """Ask each model one short question, now."""
    return page(request, space, tests={name: _asked(space, name) for name in PURPOSES})


def _asked(space, purpose) -> tuple[str, bool]:
    if choose(purpose, space=space).provider == "offline":
        return _("always there"), True
    began = time.monotonic()
    asked = [{"role": "user", "content": "Say ok."}]
    try:
        complete(
            purpose,
            space=space,
            system="Answer with one word.",
            messages=asked,
            max_tokens=16,
            pause=None,
        )
    except ProviderError as error:
        return str(error), False
    return f"ok, {round((time.monotonic() - began) * 1000)} ms", True


@in_space(role="owner", methods="POST", sudo=True)
@sensitive_post_parameters("token")
def bot(request, space, name):
    """Keep a bot's token once its chat has said whose it is; the worker begins with it."""
    one = BOTS.get(name)
    if one is None:
        raise Http404
    if not connections.may_change(request.user):
        raise PermissionDenied
    form = BotForm(request.POST, bot=one)
    if form.is_valid() and not form.cleaned_data["off"]:
        token = form.cleaned_data["token"] or connections.value(one.secret)
        if known := one.is_installed and one.whose(token):
            told = _("%(chat)s knows the bot: @%(name)s.")
            toast(request, told % {"chat": one.label, "name": known})
        else:
            refused = _("%(chat)s does not know this token, or does not answer.")
            form.add_error("token", refused % {"chat": one.label})
    if not form.is_valid():
        return page(request, space, status=422, asked={name: form})
    token = "" if form.cleaned_data["off"] else form.cleaned_data["token"]
    if token or form.cleaned_data["off"]:
        given = {"user": request.user, "space": space, "ip": client_ip(request)}
        connections.save({one.secret: token}, **given)
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
    given = {"by": person(request.user), "ip": client_ip(request)}
    made, secret = webhooks.subscribe(space, **form.cleaned_data, **given)
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
    row = get_in_space_or_404(space, Webhook, pk)
    found = row.deliveries.filter(pk=delivery).first()
    if found is None:
        toast_error(request, _("That call is no longer kept."))
    else:
        webhooks.replay(found)
        toast(request, _("Sent again."))
    return redirect("connect:index", space.slug)
