"""Forms of accounts, members, spaces and tokens, and the time zones they offer."""

import json
import os
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from importlib import resources
from itertools import groupby
from pathlib import Path

from django import forms
from django.conf import settings
from django.contrib.auth.forms import UsernameField
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kenoweb.ui.formatting import OneLine
from memory.models import ApiToken, Member
from memory.spaces import api_tokens

EXPIRES = {"30": _("In 30 days"), "90": _("In 90 days"), "365": _("In a year"), "": _("Never")}


@cache
def names() -> frozenset[str]:
    """Return UTC and the places of zone.tab: one name a place, no fixed offsets."""
    return frozenset({"UTC", *(fields[2] for fields in _database("zone.tab"))})


@cache
def old_names() -> dict[str, str]:
    """Map former names of places to today's: some browsers say Asia/Calcutta."""
    links = (fields[1:3] for fields in _database("tzdata.zi") if fields[0] == "L")
    return {old: name for name, old in links if name in names() and old not in names()}


def _database(name: str) -> Iterator[list[str]]:
    """Return the lines of a file of the time zone database, in fields."""
    text = resources.files("tzdata").joinpath("zoneinfo", name).read_text()
    return (line.split() for line in text.splitlines() if not line.startswith("#"))


@cache
def choices() -> list[tuple]:
    grouped = groupby(sorted(names() - {"UTC"}), key=lambda name: name.split("/")[0])
    regions = {region: [zone.partition("/")[2] for zone in zones] for region, zones in grouped}
    return [("UTC", "UTC")] + [
        (
            region,
            [(f"{region}/{city}", city.replace("_", " ").replace("/", ", ")) for city in cities],
        )
        for region, cities in regions.items()
    ]


def guess(localtime: Path = Path("/etc/localtime")) -> str:
    """Return the zone of this computer; on a first run it is most likely the person's own."""
    name = os.path.realpath(localtime).partition("zoneinfo/")[2]
    name = old_names().get(name, name)
    return name if name in names() else "UTC"


def _text(autocomplete: str, **attrs: str) -> forms.TextInput:
    return forms.TextInput(attrs={"autocomplete": autocomplete, **attrs})


def _password(label: str, *, autocomplete: str, **options) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
    # Longer ones would only cost argon2 time.
    return forms.CharField(label=label, strip=False, max_length=1024, widget=widget, **options)


def _time_zone() -> forms.ChoiceField:
    help_text = _("The night begins after 04:00 on this clock.")
    return forms.ChoiceField(label=_("Time zone"), choices=choices, help_text=help_text)


def gate_field(**options) -> forms.ChoiceField:
    help_text = _(
        "Hold is best for agents: what they write is not believed until a person has seen it."
    )
    return forms.ChoiceField(
        label=_("What it writes"),
        choices=ApiToken.Gate.choices,
        initial=ApiToken.Gate.HOLD,
        help_text=help_text,
        **options,
    )


class SignInForm(forms.Form):
    name = UsernameField(label=_("Name"), max_length=150, widget=_text("username"))
    password = _password(_("Password"), autocomplete="current-password")
    keep = forms.BooleanField(label=_("Stay signed in on this device for 14 days"), required=False)


class SudoForm(forms.Form):
    password = _password(_("Password"), autocomplete="current-password")


class CodeForm(forms.Form):
    code = forms.CharField(
        label=_("Code"), max_length=20, widget=_text("one-time-code", inputmode="text")
    )


class NewPassword(forms.Form):
    new = _password(
        _("Password"),
        autocomplete="new-password",
        help_text=_("At least 12 characters, and not a password that many people use."),
    )
    again = _password(_("Repeat password"), autocomplete="new-password")

    def __init__(self, *args, user: User | None = None, **kwargs):
        super().__init__(*args, **kwargs)
        self.user = user

    def clean(self):
        values = super().clean()
        new, again = values.get("new"), values.get("again")
        if new and again and new != again:
            self.add_error("again", _("The two passwords are not the same."))
        try:
            if new:
                validate_password(new, self.user or User(username=values.get("name", "")))
        except ValidationError as problem:
            self.add_error("new", problem)
        return values


class PasswordForm(NewPassword):
    old = _password(_("Current password"), autocomplete="current-password")
    field_order = ("old", "new", "again")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["new"].label = _("New password")


class NewAccountForm(NewPassword):
    called = OneLine(
        label=_("Your name"),
        max_length=80,
        required=False,
        help_text=_("What Keno calls you."),
        widget=_text("name"),
    )
    name = UsernameField(
        label=_("Sign-in name"),
        max_length=150,
        validators=[User.username_validator],
        help_text=_("Letters, digits and . _ - + @, no spaces"),
        widget=_text("username"),
    )
    field_order = ("called", "name", "new", "again")

    def clean_name(self):
        name = self.cleaned_data["name"]
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(_("This name is taken. Choose another."))
        return name

    def account(self) -> dict:
        values = self.cleaned_data
        return {"name": values["name"], "password": values["new"], "called": values["called"]}


class SpaceForm(forms.Form):
    name = OneLine(label=_("Name of the space"), max_length=80)
    language = forms.ChoiceField(label=_("Language"), choices=settings.LANGUAGES)
    timezone = _time_zone()

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        current = self.initial.get("timezone")
        if current and current not in names():
            # Set before, or brought by an archive: kept here, but not offered to others.
            self.fields["timezone"].choices = [(current, current), *choices()]


class GuessesZone(forms.Form):
    """Offer the browser's time zone until one was chosen."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if not self.is_bound:
            self.fields["timezone"].widget.attrs["data-zone"] = json.dumps(old_names())


class NewSpaceForm(GuessesZone, SpaceForm):
    pass


class OwnerForm(GuessesZone, NewAccountForm):
    space = OneLine(
        label=_("Name of your space"),
        max_length=80,
        help_text=_("A space is a wall: nothing remembered in one is seen in another."),
    )
    timezone = _time_zone()
    field_order = ("called", "name", "new", "again", "space", "timezone")

    def account(self) -> dict:
        chosen = {name: self.cleaned_data[name] for name in ("space", "timezone")}
        return super().account() | chosen


class InviteForm(forms.Form):
    role = forms.ChoiceField(
        label=_("Role"),
        choices=Member.Role.choices,
        # Most people are invited to talk here.
        initial=Member.Role.CURATOR,
        help_text=_("Whoever is to talk with Keno here is a curator; a viewer only reads."),
    )
    label = OneLine(
        label=_("For whom"),
        max_length=120,
        required=False,
        help_text=_("A note for yourself, so that you know who has not come yet."),
    )


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=Member.Role.choices)


class TokenForm(forms.Form):
    name = OneLine(
        label=_("What is it for"), max_length=80, help_text=_("Such as: backup script, editor.")
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        choices=list(api_tokens.SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=["read"],
    )
    gate = gate_field()
    expires = forms.ChoiceField(
        label=_("Expires"), choices=list(EXPIRES.items()), required=False, initial="90"
    )

    def expires_at(self):
        days = self.cleaned_data["expires"]
        return timezone.now() + timedelta(days=int(days)) if days else None
