import pghistory
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.models.content import Content, ContentField, ContentJSONField, ContentListField
from memory.models.episode import Episode
from memory.models.space import Member, Space


# Only the fields that a person or a reply changes; creating a chat is not a change of memory.
@pghistory.track(fields=["title", "context"], model_name="ChatEvent")
class Chat(Content):
    """One place where people and Keno talk."""

    UNDO_CREATE = {"context": ""}

    space = models.ForeignKey(Space, models.CASCADE, related_name="chats")
    channel = models.CharField(max_length=32)
    external_id = models.CharField(max_length=128)
    key = models.CharField(max_length=161)
    title = ContentField(max_length=200, blank=True)
    context = ContentField(blank=True)
    language = models.CharField(max_length=8, blank=True)
    thread = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    last_message_at = models.DateTimeField(null=True, blank=True)
    # Since when nothing said here is kept; null unless it is incognito.
    incognito_since = models.DateTimeField(null=True, blank=True)
    # Only its owner sees it, and owners of the space after an entry in the audit. It stays private
    # when its owner leaves the space.
    is_private = models.BooleanField(default=False)
    owner = models.ForeignKey(
        Member, models.SET_NULL, null=True, blank=True, related_name="private_chats"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "channel", "external_id"], name="chat_once_per_channel"
            ),
            models.UniqueConstraint(fields=["space", "key"], name="chat_key_once"),
            models.CheckConstraint(
                condition=models.Q(key__regex=r"^[A-Za-z0-9_-]+$"), name="chat_key_characters"
            ),
        ]
        indexes = [
            models.Index(fields=["space", "-last_message_at"], name="chat_recent"),
            models.Index(
                fields=["space"], name="chat_private", condition=models.Q(is_private=True)
            ),
        ]

    def __str__(self):
        return self.title or self.key


class Message(Content):
    """One message of a chat, in its author's words. Receiving it is idempotent per external id."""

    class Role(models.TextChoices):
        USER = "user", _("Person")
        ASSISTANT = "assistant", _("Keno")
        SYSTEM = "system", _("System")

    class Trace(models.TextChoices):
        TEXT = "text", _("Text")
        VOICE = "voice", _("Voice")
        IMPORT = "import", _("Import")

    class NotRecalled(models.TextChoices):
        QUESTION = "question", _("A question to Keno")
        COMMAND = "command", _("A command or its answer")
        SMALL_TALK = "small_talk", _("Small talk")
        OWN_WORDS = "own_words", _("Keno's own confirmation or refusal")
        INCOGNITO = "incognito", _("Incognito")

    space = models.ForeignKey(Space, models.CASCADE, related_name="messages")
    chat = models.ForeignKey(Chat, models.CASCADE, related_name="messages")
    episode = models.ForeignKey(
        Episode, models.SET_NULL, null=True, blank=True, related_name="messages"
    )
    role = models.CharField(max_length=9, choices=Role.choices)
    author = models.CharField(max_length=120, blank=True)
    author_id = models.CharField(max_length=128, blank=True)
    text = ContentField()
    language = models.CharField(max_length=8, blank=True)
    external_id = models.CharField(max_length=128)
    reply_to = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="replies"
    )
    trace = models.CharField(max_length=8, choices=Trace.choices, default=Trace.TEXT)
    flags = models.JSONField(default=list, blank=True)
    sent_at = models.DateTimeField(default=timezone.now)
    # By our own clock: a channel may hand us hours of messages at once.
    received_at = models.DateTimeField(default=timezone.now)
    handled_at = models.DateTimeField(null=True, blank=True)
    ingested_at = models.DateTimeField(null=True, blank=True)
    # Why it is in the transcript and not in the memory; empty when it is memory, null until that
    # is decided. Messages that a forgotten fact rests on are silent, too: see SilencedMessage.
    not_recalled = models.CharField(  # noqa: DJ001
        max_length=10, choices=NotRecalled.choices, null=True, blank=True
    )
    # What was learned from it, and what was skipped and why: [{"outcome": "new", "fact": 3}, …].
    journal = ContentJSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "external_id"], name="message_once_per_chat"),
        ]
        indexes = [
            models.Index(fields=["chat", "-sent_at", "-id"], name="message_by_chat"),
            models.Index(fields=["space", "-sent_at"], name="message_by_space"),
            models.Index(
                fields=["space", "chat"],
                name="message_to_read",
                condition=models.Q(ingested_at=None, role="user"),
            ),
            models.Index(
                fields=["chat", "id"],
                name="message_unhandled",
                condition=models.Q(handled_at=None, role="user"),
            ),
            models.Index(
                fields=["id"], name="message_undecided", condition=models.Q(not_recalled=None)
            ),
        ]

    def __str__(self):
        return f"{self.author or self.role}: {self.text[:60]}"


class Draft(Content):
    """The answer that is being written in a chat. Deleted when the reply is stored."""

    SPACE = "chat__space"

    chat = models.OneToOneField(Chat, models.CASCADE, primary_key=True, related_name="draft")
    text = ContentField(blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    def __str__(self):
        return self.text[:60]


class ChatSummary(Content):
    """What was said in a chat before its short-term window, in short; replaced, never edited."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="chat_summaries")
    chat = models.OneToOneField(Chat, models.CASCADE, related_name="summary")
    text = ContentField()
    # The newest message that it rests on, their number and the sum of their ids. When these differ
    # from the messages of today it is not shown.
    until = models.BigIntegerField()
    messages = models.PositiveIntegerField()
    checksum = models.BigIntegerField()
    # The model that wrote it, or "titles".
    mode = models.CharField(max_length=64)
    made_at = models.DateTimeField(default=timezone.now)

    def __str__(self):
        return self.text[:60]


@pghistory.track()
class WorkingNote(Content):
    """What Keno is in the middle of, in one chat. Replaced whole, never appended to."""

    UNDO_CREATE = {"task": "", "context": [], "pending": [], "notes": ""}

    space = models.ForeignKey(Space, models.CASCADE, related_name="working_notes")
    chat = models.OneToOneField(Chat, models.CASCADE, related_name="working_note")
    task = ContentField(blank=True)
    context = ContentListField(default=list, blank=True)
    pending = ContentListField(default=list, blank=True)
    notes = ContentField(blank=True)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["space", "-updated_at"], name="working_recent")]

    def __str__(self):
        return self.task or self.notes[:60]
