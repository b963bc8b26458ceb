"""Chats: who talked where, one transcript with its receipts, and a place to talk."""

import re
import time
from uuid import uuid4

from django import forms
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kenoweb.auth.access import (
    OPENED,
    OPENED_SECONDS,
    chat_for,
    for_account,
    get_in_space_or_404,
    in_space,
    memberships,
)
from kenoweb.auth.sessions import go
from kenoweb.auth.throttle import client_ip
from kenoweb.chats import listing, transcript
from kenoweb.chats.transcript import tail
from kenoweb.ui.filters import number_in
from kenoweb.ui.formatting import OneLine
from kenoweb.ui.responses import (
    fragment_or_redirect,
    remember_opened,
    run_and_toast,
    show_form,
    toast,
    toast_error,
)
from memory.chats import service as chats
from memory.extraction import changes_of_mind, offers
from memory.history import audit
from memory.history.actors import person
from memory.models import Fact, Message
from memory.operations import erasing, health
from memory.spaces import chat_links
from memory.text import normalise as text
from memory.text.normalise import clean
from sleep import offer_proposals

KEY = re.compile(r"[0-9a-f]{32}")
# The status that tells htmx to stop polling.
STOP_POLLING = 286


class SayForm(forms.Form):
    """One message. The key makes a second press of the button the same message."""

    text = forms.CharField(
        label=gettext_lazy("Your message"),
        max_length=text.MAX_LENGTH,
        error_messages={"required": gettext_lazy("Say something first.")},
    )
    key = forms.CharField(required=False)

    def clean_key(self):
        key = self.cleaned_data["key"]
        return key if KEY.fullmatch(key) else uuid4().hex


class ContextForm(forms.Form):
    title = OneLine(label=gettext_lazy("Name"), max_length=200, required=False)
    context = forms.CharField(
        label=gettext_lazy("What kind of chat this is"),
        max_length=chats.CONTEXT_LENGTH,
        required=False,
        help_text=gettext_lazy(
            "Every reply here reads it: who is there, what it is about, how to talk."
        ),
        widget=forms.Textarea(attrs={"rows": 6}),
    )


@in_space(role="viewer")
def index(request, space):
    query = _query(request)
    context = listing.chat_list(space, q=query.get("q", ""), after=query.get("after", ""))
    if request.member.may("owner") and not query:
        # Private chats of others: whose they are, and not a word of them.
        context["closed"] = listing.closed_chats(space)
    return render(request, "chats/index.html", {"list": context, **_composer()})


@in_space(role="curator")
def new(request, space):
    return render(request, "chats/new.html", _composer())


@in_space(role="curator", methods="POST")
def begin(request, space):
    form = SayForm(request.POST)
    if not form.is_valid():
        context = _composer() | {"form": form}
        return render(request, "chats/new.html", context, status=422)
    values = form.cleaned_data | {"incognito": "incognito" in request.POST}
    chat = transcript.begin(space, user=request.user, **values)
    return go(request, _url(space, chat))


@in_space(role="viewer")
def detail(request, space, pk):
    chat, now = chat_for(space, pk), timezone.now()
    page = listing.chat_page(chat, space=space, query=_query(request), now=now)
    response = render(request, "chats/detail.html", {"page": page, **_composer()})
    return remember_opened(response) if request.GET.get("reply") else response


@in_space(role="curator", methods="POST")
def say(request, space, pk):
    chat, form = chat_for(space, pk), SayForm(request.POST)
    if chat.channel != transcript.CHANNEL:
        toast_error(request, _("This chat is elsewhere: answer there."))
    elif form.is_valid():
        transcript.say(chat, user=request.user, **form.cleaned_data)
    else:
        toast_error(request, " ".join(form.errors["text"]))
    if not request.htmx:
        return redirect(_url(space, chat) + "#latest")
    end = tail(chat, since=number_in(request.POST.get("since", "")))
    return render(request, "chats/_tail.html", {"tail": end, "key": uuid4().hex})


@in_space(role="curator", methods="POST")
def incognito(request, space, pk):
    """Keep nothing of what is said from here on, or end that and delete it."""
    chat = chat_for(space, pk)
    if chats.begin_incognito(chat):
        return redirect(_url(space, chat))
    erasing.end_incognito(chat)
    toast(request, _("Incognito is over. What was said meanwhile is deleted."))
    return redirect("chats:index", space.slug)


@in_space(role="curator", methods="POST")
def private(request, space, pk):
    """Close one's own chat to everybody else, or open it to the space again."""
    chat, is_private = chat_for(space, pk), "private" in request.POST
    by = person(request.user)
    if not chats.set_private(chat, owner=request.member, private=is_private, by=by):
        toast_error(request, _("Only who alone talks in a chat can make it private or share it."))
    elif is_private:
        toast(request, _("Private: nobody else sees this chat or what was learned for it alone."))
    else:
        toast(request, _("Shared: everybody in this space sees this chat."))
    return redirect("chats:about", space.slug, pk)


@in_space(role="owner", methods="POST", sudo=True)
def open_private(request, space, pk):
    """Let an owner read someone's private chat for half an hour, after an entry in the audit."""
    chat = listing.closed_chats(space).filter(pk=pk).first() or chat_for(space, pk)
    audit.record(
        "chat.read",
        whose=chat.owner.user.username if chat.owner else "",
        actor=person(request.user),
        space=space,
        obj=chat,
        ip=client_ip(request),
    )
    until = time.time() + OPENED_SECONDS
    request.session[OPENED] = request.session.get(OPENED, {}) | {str(chat.pk): until}
    return redirect(_url(space, chat))


@in_space(role="viewer")
def waiting(request, space, pk):
    """Answer the polls of a page that waits for a reply."""
    chat = chat_for(space, pk)
    if not request.htmx or request.htmx.history_restore_request:
        return redirect(_url(space, chat) + "#latest")
    end = tail(chat, since=number_in(request.GET.get("since", "")))
    if end.poll_interval and end.seen == request.GET.get("seen"):
        return HttpResponse(status=204)
    response = render(request, "chats/_tail.html", {"tail": end})
    if not end.poll_interval:
        response.status_code = STOP_POLLING
        response["HX-Trigger"] = "reply-arrived, memory-changed"
    return response


@in_space(role="viewer")
def facts(request, space, pk):
    after = _query(request).get("after", "")
    context = listing.chat_facts(chat_for(space, pk), space=space, after=after)
    return render(request, "chats/facts.html", {"found": context})


@in_space(role="viewer")
def about(request, space, pk):
    chat = chat_for(space, pk)
    form = ContextForm(initial={"title": chat.title, "context": chat.context})
    return _about(request, space, chat, form)


@in_space(role="curator", methods="POST")
def revise(request, space, pk):
    chat, form = chat_for(space, pk), ContextForm(request.POST)
    if not form.is_valid():
        return _about(request, space, chat, form)
    run_and_toast(request, _("Saved “%(text)s”."), chats.revise, chat, **form.cleaned_data)
    return go(request, reverse("chats:about", args=[space.slug, pk]))


def _fact_view(act, text):
    """Return a view that changes a fact that was learned in the chat."""

    @in_space(role="curator", methods="POST")
    def view(request, space, pk, fact):
        chat = chat_for(space, pk)
        row = get_in_space_or_404(space, Fact, fact, message__chat=chat)
        run_and_toast(request, text, act, row)
        row.refresh_from_db()
        return _fragment(request, chat, "chats/_learned.html", fact=row)

    return view


unlearn = _fact_view(transcript.take_back, gettext_lazy("Forgot “%(text)s” again."))
relearn = _fact_view(transcript.take_again, gettext_lazy("Remembered “%(text)s” again."))


def _offer_view(act):
    """Return a view that declines an offer, or makes it once more."""

    @in_space(role="curator", methods="POST")
    def view(request, space, pk, message, place):
        row = _message(space, pk, message)
        try:
            act(row, place, by=person(request.user))
            offer_proposals.offer_decided(row, place)
        except offers.NoOffer as error:
            toast_error(request, str(error))
        return _offer(request, row, place)

    return view


decline_offer = _offer_view(offers.decline)
offer_again = _offer_view(offers.offer_again)


@in_space(role="curator", methods="POST")
def save_offer(request, space, pk, message, place):
    """Believe what was offered. A wish about how Keno talks becomes a preference of the space."""
    row = _message(space, pk, message)
    result = run_and_toast(request, _("Saved “%(text)s”."), offers.save, row, place)
    offer_proposals.offer_decided(row, place)
    if result and isinstance(result.row, Fact):
        return _fragment(request, row.chat, "chats/_learned.html", fact=result.row)
    return _offer(request, row, place)


@in_space(role="curator", methods="POST")
def wrong(request, space, pk, message):
    """Mark a reply as wrong; the right words, when they are given, are remembered instead."""
    reply = _message(space, pk, message)
    right, mark = clean(request.POST.get("right", ""))[:500], changes_of_mind.mark_wrong
    if right.strip():
        run_and_toast(request, _("Put right: “%(text)s”."), mark, reply, right=right)
    else:
        mark(reply, by=person(request.user))
        toast(request, _("Kept. The recall lab lists it, to be tried again."))
    return go(request, f"{_url(space, reply.chat)}?reply={reply.pk}#message-{reply.pk}")


def _message(space, pk, message):
    chat = chat_for(space, pk)
    row = get_in_space_or_404(space, Message, message, chat=chat)
    row.chat = chat
    return row


def _offer(request, message, place):
    message.refresh_from_db(fields=["journal"])
    shown = (offer for offer in transcript.shown_offers(message) if offer["place"] == place)
    return _fragment(request, message.chat, "chats/_offer.html", offer=next(shown, None))


def _fragment(request, chat, template, **context):
    back = _url(request.space, chat)
    return fragment_or_redirect(request, template, {"chat": chat, **context}, back=back)


def _about(request, space, chat, form):
    context = listing.about(chat, space=space, user=request.user, now=timezone.now())
    return show_form(request, "chats/about.html", form, about=context)


def _composer():
    return {"key": uuid4().hex, "nobody": not health.worker_runs(now=timezone.now())}


def _query(request):
    return {name: clean(value)[:200] for name, value in request.GET.items()}


def _url(space, chat):
    return reverse("chats:detail", args=[space.slug, chat.pk])


@for_account(methods="POST")
def offer(request):
    slug = request.POST.get("space", "")
    member = next((row for row in memberships(request) if row.space.slug == slug), None)
    if member is None:
        raise Http404
    # Not a redirect: the code exists in this one response and nowhere else.
    code, minutes = chat_links.offer(member), chat_links.CODE_MINUTES
    context = {"code": code, "minutes": minutes, "member": member}
    return render(request, "chat_links/made.html", context)


@for_account(methods="POST")
def unlink(request, pk):
    links = chat_links.linked(memberships(request))
    link = next((link for link in links if link.pk == pk), None)
    if link is None:
        raise Http404
    chat_links.unlink(link, by=person(request.user))
    toast(request, _("Unlinked. Keno no longer takes that person for you."))
    return redirect("account:index")
