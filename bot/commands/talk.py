"""Commands about the chat itself: a new topic, incognito, plans, and who is writing."""

from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from bot.commands.registry import Answer, CommandCall, command, need_link, plain
from memory import working
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import plans
from memory.identity import bootstrap
from memory.models import Episode
from memory.operations import erasing
from memory.spaces import chat_links

ERRORS = {"errors", "errores"}
OFF = {"off", "stop", "no", "basta", "parar"}
# A person at the terminal of the machine can delete anything there anyway.
TRUSTED = "console"


@command(
    "new-topic",
    "tema-nuevo nuevo-tema",
    gettext_lazy("end this episode; what comes next is another one"),
)
def new_topic(call: CommandCall) -> str:
    episode = episodes.current(call.chat)
    if episode:
        episodes.close(episode, by=call.by, now=call.now)
    working.clear(call.chat, by=call.by, now=call.now)
    return _("A new topic, then. What was before is kept.")


@command(
    "incognito",
    "incógnito",
    gettext_lazy("keep nothing of what is said from here on; once more ends it"),
)
def incognito(call: CommandCall) -> str:
    if chats.begin_incognito(call.chat, now=call.now):
        return _("Incognito: nothing said from here on is kept. Send /incognito again to end it.")
    erasing.end_incognito(call.chat, before=call.message)
    return _("Incognito is over. What was said meanwhile is deleted.")


@command(
    "purge",
    "purga purgar",
    gettext_lazy("delete for good what was discarded in this chat; asks first"),
    usage=gettext_lazy("errors"),
)
def purge(call: CommandCall) -> str:
    what, _space, number = call.words.partition(" ")
    if plain(what) not in ERRORS:
        return _("Send /purge errors to delete what was discarded in this chat.")
    if not (call.may_decide or call.chat.channel == TRUSTED):
        return need_link()
    trash = Episode.objects.filter(chat=call.chat, status=Episode.Status.DISCARDED).count()
    if not trash:
        return _("Nothing was discarded in this chat.")
    # The number is what was shown: when it is another one by now, the question is asked again.
    if number.strip() != str(trash):
        return _ask(trash)
    count = episodes.purge_discarded(call.space, by=call.by, chat=call.chat)
    return ngettext(
        "Deleted %(n)d discarded episode for good.",
        "Deleted %(n)d discarded episodes for good.",
        count,
    ) % {"n": count}


def _ask(count: int) -> str:
    question = ngettext(
        "This deletes %(n)d discarded episode of this chat for good; nothing brings it back."
        " If you are sure, send: /purge errors %(n)d",
        "This deletes %(n)d discarded episodes of this chat for good; nothing brings them back."
        " If you are sure, send: /purge errors %(n)d",
        count,
    )
    return question % {"n": count}


@command(
    "plans",
    "planes recordatorios",
    gettext_lazy("what is still to come here, and when I will say it"),
)
def list_plans(call: CommandCall) -> str:
    ahead = plans.upcoming(call.chat, now=call.now)
    if not ahead:
        return _("There are no plans here. Try: remind me on Friday at 9 to call Marta")
    lines = [f"#{plan.pk} {plans.when_words(plan)}: {plans.bare(plan)}" for plan in ahead]
    return "\n".join([*lines, _("/forget and its number takes one of them back.")])


def forget_episode(call: CommandCall) -> Answer:
    episode = episodes.current(call.chat)
    if episode is None:
        nothing = _(
            "There is no open episode to forget. /forget last forgets the last fact,"
            " /forget with some words a certain one."
        )
        return Answer(nothing)
    reason = _("%(name)s said /forget") % {"name": call.message.author or _("somebody")}
    done = episodes.discard(episode, by=call.by, reason=reason, now=call.now)
    discarded = _(
        "This episode is in the trash: it is not recalled and not learned from."
        " /undo brings it back. Facts noted from it stay; /forget last takes the last one."
    )
    return Answer(discarded, [done.change_id] if done.changed else [])


@command(
    "bootstrap",
    "conoceme presentacion",
    gettext_lazy("get to know each other: I observe, say how I read you, and you correct me"),
    usage=gettext_lazy("[off]"),
)
def begin_bootstrap(call: CommandCall) -> str:
    if not (call.may_decide or call.chat.channel == TRUSTED):
        return need_link()
    if plain(call.words) in OFF:
        ended = bootstrap.stop(call.space)
        return _("All right, no more of that.") if ended else _("That is so already.")
    if not bootstrap.start(call.space, chat=call.chat.pk, now=call.now):
        return _("We are in the middle of it. /bootstrap off ends it.")
    language = "es" if (get_language() or "").startswith("es") else "en"
    return bootstrap.PHRASES[language]["begin"]


@command(
    "link",
    "vincular enlazar",
    gettext_lazy("be recognised as your dashboard account; its page shows the code"),
    usage=gettext_lazy("CODE"),
)
def link(call: CommandCall) -> str:
    if not call.words:
        if call.member:
            return _("You are %(name)s (%(role)s) here.") % _name_and_role(call.member)
        return _("Send /link and the code that the Account page of the dashboard shows.")
    member = chat_links.redeem(call.message, code=call.words, now=call.now)
    if member is None:
        return _("That code is not valid, or no longer. The Account page makes a new one.")
    return _("Linked: in this channel you are %(name)s (%(role)s).") % _name_and_role(member)


def _name_and_role(member) -> dict:
    return {"name": member.user.get_username(), "role": member.get_role_display().lower()}
