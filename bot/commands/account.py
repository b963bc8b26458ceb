"""Being somebody: linking the person in a chat to an account of the dashboard."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from bot.commands.asked import CommandCall, command
from memory.spaces import chat_links


@command(
    "link",
    es="vincular enlazar",
    usage=gettext_lazy("CODE"),
    help=gettext_lazy("be recognised as your dashboard account; its page shows the code"),
)
def link(call: CommandCall) -> str:
    if not call.words:
        if call.member:
            return _("You are %(name)s (%(role)s) here.") % _named(call.member)
        return _("Send /link and the code that the Account page of the dashboard shows.")
    member = chat_links.redeem(call.message, code=call.words, now=call.now)
    if member is None:
        return _("That code is not valid, or no longer. The Account page makes a new one.")
    return _("Linked: in this channel you are %(name)s (%(role)s).") % _named(member)


def _named(member) -> dict:
    return {"name": member.user.get_username(), "role": member.get_role_display().lower()}
