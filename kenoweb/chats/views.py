"""Chats: who talked where, one transcript with its receipts, and a place to talk."""

from uuid import uuid4

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from kenoweb.auth.access import chat_for, get_in_space_or_404, in_space
from kenoweb.auth.sessions import go
from kenoweb.chats import about as chat_about
from kenoweb.chats import listing, transcript, web_channel
from kenoweb.chats.forms import ContextForm, SayForm
from kenoweb.chats.live import tail
from kenoweb.ui.responses import fragment_or_redirect, show_form, toast_error
from kenoweb.ui.row_actions import run_and_toast
from memory.chats import service as chats
from memory.extraction import ingest
from memory.history.actors import person
from memory.models import Fact, Message
from memory.text.normalise import clean
from sleep import proposals

# htmx: take this, and stop asking.
ENOUGH = 286


@in_space(role="viewer")
@require_safe
def index(request, space):
    asked = _asked(request)
    found = listing.chat_list(space, q=asked.get("q", ""), after=asked.get("after", ""))
    return render(request, "chats/index.html", {"list": found, **_composer(space)})


@in_space(role="curator")
@require_safe
def new(request, space):
    return render(request, "chats/new.html", _composer(space))


@in_space(role="curator")
@require_POST
def begin(request, space):
    form = SayForm(request.POST)
    if not form.is_valid():
        context = _composer(space) | {"form": form}
        return render(request, "chats/new.html", context, status=422)
    chat = web_channel.begin(space, user=request.user, **form.cleaned_data)
    return go(request, _url(space, chat))


@in_space(role="viewer")
@require_safe
def detail(request, space, pk):
    chat, now = chat_for(space, pk), timezone.now()
    page = listing.chat_page(chat, space=space, asked=_asked(request), now=now)
    return render(request, "chats/detail.html", {"page": page, **_composer(space)})


@in_space(role="curator")
@require_POST
def say(request, space, pk):
    chat, form = chat_for(space, pk), SayForm(request.POST)
    if chat.channel != web_channel.CHANNEL:
        toast_error(request, _("This chat is elsewhere: answer there."))
    elif form.is_valid():
        web_channel.say(chat, user=request.user, **form.cleaned_data)
    else:
        toast_error(request, " ".join(form.errors["text"]))
    if not request.htmx:
        return redirect(_url(space, chat) + "#latest")
    end = tail(chat, since=_since(request.POST))
    return render(request, "chats/_tail.html", {"tail": end, "key": uuid4().hex})


@in_space(role="viewer")
@require_safe
def waiting(request, space, pk):
    """What the page looks at again and again while an answer is on its way, and only then."""
    chat = chat_for(space, pk)
    if not request.htmx or request.htmx.history_restore_request:
        return redirect(_url(space, chat) + "#latest")
    end = tail(chat, since=_since(request.GET))
    if end.poll_interval and end.seen == request.GET.get("seen"):
        return HttpResponse(status=204)
    response = render(
        request, "chats/_tail.html", {"tail": end}, status=200 if end.poll_interval else ENOUGH
    )
    if not end.poll_interval:
        response["HX-Trigger"] = "reply-arrived, memory-changed"
    return response


@in_space(role="viewer")
@require_safe
def facts(request, space, pk):
    after = _asked(request).get("after", "")
    found = chat_about.chat_facts(chat_for(space, pk), space=space, after=after)
    return render(request, "chats/facts.html", {"found": found})


@in_space(role="viewer")
@require_safe
def about(request, space, pk):
    chat = chat_for(space, pk)
    form = ContextForm(initial={"title": chat.title, "context": chat.context})
    return _about(request, space, chat, form)


@in_space(role="curator")
@require_POST
def revise(request, space, pk):
    chat, form = chat_for(space, pk), ContextForm(request.POST)
    if not form.is_valid():
        return _about(request, space, chat, form)
    said = _("“%(text)s” has another context now.")
    by = person(request.user)
    run_and_toast(request, said, lambda: chats.revise(chat, by=by, **form.cleaned_data))
    return go(request, reverse("chats:about", args=[space.slug, pk]))


@in_space(role="curator")
@require_POST
def unlearn(request, space, pk, fact):
    return _turn(request, space, pk, fact, web_channel.take_back, _("Forgot “%(text)s” again."))


@in_space(role="curator")
@require_POST
def relearn(request, space, pk, fact):
    return _turn(
        request, space, pk, fact, web_channel.take_again, _("Remembered “%(text)s” again.")
    )


@in_space(role="curator")
@require_POST
def save_offer(request, space, pk, message, place):
    """Believe what was offered. A wish about how Keno talks becomes a preference of the space."""
    chat, row = _offering(space, pk, message)
    by, said = person(request.user), _("Saved “%(text)s”.")
    done = run_and_toast(request, said, lambda: ingest.save_offer(row, place, by=by))
    proposals.offer_decided(row, place)
    if done and isinstance(done.row, Fact):
        context = {"fact": done.row, "chat": chat}
        return fragment_or_redirect(request, "chats/_learned.html", context, back=_url(space, chat))
    return _offer(request, space, chat, row, place)


@in_space(role="curator")
@require_POST
def decline_offer(request, space, pk, message, place):
    return _turn_offer(request, space, pk, message, place, ingest.decline_offer)


@in_space(role="curator")
@require_POST
def offer_again(request, space, pk, message, place):
    return _turn_offer(request, space, pk, message, place, ingest.offer_again)


def _turn_offer(request, space, pk, message, place, act):
    chat, row = _offering(space, pk, message)
    try:
        act(row, place, by=person(request.user))
        proposals.offer_decided(row, place)
    except ingest.NoOffer as error:
        toast_error(request, str(error))
    return _offer(request, space, chat, row, place)


def _offering(space, pk, message):
    chat = chat_for(space, pk)
    return chat, get_in_space_or_404(space, Message, message, chat=chat)


def _offer(request, space, chat, message, place):
    message.refresh_from_db(fields=["journal"])
    found = [offer for offer in transcript.offers(message) if offer.place == place]
    context = {"offer": found[0] if found else None, "chat": chat}
    return fragment_or_redirect(request, "chats/_offer.html", context, back=_url(space, chat))


def _turn(request, space, pk, fact, act, said):
    chat = chat_for(space, pk)
    row = get_in_space_or_404(space, Fact, fact, message__chat=chat)
    run_and_toast(request, said, lambda: act(row, by=person(request.user)))
    row.refresh_from_db()
    return fragment_or_redirect(
        request, "chats/_learned.html", {"fact": row, "chat": chat}, back=_url(space, chat)
    )


def _about(request, space, chat, form):
    known = chat_about.about(chat, space=space, user=request.user, now=timezone.now())
    return show_form(request, "chats/about.html", form, about=known)


def _composer(space):
    return {
        "key": uuid4().hex,
        "nobody": listing.nobody_answers(space, now=timezone.now()),
    }


def _asked(request):
    return {name: clean(value)[:200] for name, value in request.GET.items()}


def _since(given):
    return listing.number_in(given.get("since", ""))


def _url(space, chat):
    return reverse("chats:detail", args=[space.slug, chat.pk])
