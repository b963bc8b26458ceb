"""What a Telegram update means for us. Pure: the update comes in, what was heard goes out."""

from dataclasses import dataclass, field
from datetime import datetime

from telegram import Message, Update

from bot.channels import telegram_text

PRIVATE = "private"


@dataclass(frozen=True)
class IncomingMessage:
    """One thing that somebody said to the bot."""

    chat: str
    person: str
    author: str
    text: str
    external_id: str
    sent_at: datetime
    trace: str = "text"
    title: str = ""
    thread: str = ""
    edited: bool = False
    # Who wrote it, when it was only passed on: "" when that is hidden, None when it is their own.
    origin: str | None = None
    # Something came that we cannot read, such as a voice message without words.
    unreadable: bool = False
    raw_chat: int = field(default=0)


def parse_update(update: Update, *, bot: str, bot_id: int) -> IncomingMessage | None:
    """What was said to the bot; None when it was not meant for it."""
    message = update.message or update.edited_message
    if message is None or message.from_user is None or message.from_user.id == bot_id:
        return None
    text = message.text or message.caption or ""
    spoken = bool(message.voice or message.audio or message.video_note)
    if telegram_text.is_for_another_bot(text, bot=bot) or not _is_for_bot(
        message, text, bot, bot_id
    ):
        return None
    words = telegram_text.without_mention(text, bot=bot) if bot else text
    origin = _origin(message)
    return IncomingMessage(
        chat=chat_id_of(message),
        person=str(message.from_user.id),
        author=message.from_user.full_name,
        # What was passed on commands nothing.
        text=f"↪ {words}" if origin is not None and words.startswith("/") else words,
        origin=origin,
        external_id=str(message.message_id),
        sent_at=message.date,
        trace="voice" if spoken else "text",
        title=message.chat.title or message.from_user.full_name,
        thread=str(message.message_thread_id or "") if message.is_topic_message else "",
        edited=update.edited_message is not None,
        unreadable=not words,
        raw_chat=message.chat.id,
    )


def chat_id_of(message: Message) -> str:
    """The chat's id; a topic of a forum is a chat of its own."""
    topic = message.message_thread_id if message.is_topic_message else None
    return f"{message.chat.id}_{topic}" if topic else str(message.chat.id)


def split_chat_id(chat_id: str) -> tuple[int, int | None]:
    """Split the id into the chat and its topic."""
    chat, _, topic = chat_id.partition("_")
    return int(chat), int(topic) if topic else None


def _origin(message: Message) -> str | None:
    """Who wrote a forwarded message; what people pass on of themselves is their own."""
    origin = message.forward_origin
    if origin is None:
        return None
    user = getattr(origin, "sender_user", None)
    if user is not None and user.id == message.from_user.id:
        return None
    chat = getattr(origin, "sender_chat", None) or getattr(origin, "chat", None)
    hidden = getattr(origin, "sender_user_name", "")
    return user.full_name if user else (chat.effective_name or "") if chat else hidden


def _is_for_bot(message: Message, text: str, bot: str, bot_id: int) -> bool:
    if message.chat.type == PRIVATE or text.startswith("/"):
        return True
    answered = message.reply_to_message
    is_answer = bool(answered and answered.from_user and answered.from_user.id == bot_id)
    return is_answer or telegram_text.mentions(text, bot=bot)
