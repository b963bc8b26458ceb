from memory.models.chat import Chat, ChatSummary, Draft, Message, WorkingNote
from memory.models.entity import Entity, Mention
from memory.models.episode import Episode
from memory.models.fact import Fact, Reminder, SilencedMessage
from memory.models.identity import Identity, Preference, Rule, Ruling
from memory.models.pattern import Pattern
from memory.models.recall import Recall, RecallItem, RecallProfile, SelfCheck
from memory.models.space import ApiCall, ApiToken, AuditEntry, AuditSeal, ChatLink, Member, Space
from memory.models.unit import Embedding, EmbeddingModel, Unit
from memory.models.work import (
    Breaker,
    Connection,
    DeadLetter,
    Erasure,
    Heartbeat,
    LlmCall,
    Notice,
    OutboxItem,
    Parcel,
    ParcelLine,
    ParcelPiece,
    Webhook,
    WebhookDelivery,
    WebhookEvent,
)

__all__ = [
    "ApiCall",
    "ApiToken",
    "AuditEntry",
    "AuditSeal",
    "Breaker",
    "Chat",
    "ChatLink",
    "ChatSummary",
    "Connection",
    "DeadLetter",
    "Draft",
    "Embedding",
    "EmbeddingModel",
    "Entity",
    "Episode",
    "Erasure",
    "Fact",
    "Heartbeat",
    "Identity",
    "LlmCall",
    "Member",
    "Mention",
    "Message",
    "Notice",
    "OutboxItem",
    "Parcel",
    "ParcelLine",
    "ParcelPiece",
    "Pattern",
    "Preference",
    "Recall",
    "RecallItem",
    "RecallProfile",
    "Reminder",
    "Rule",
    "Ruling",
    "SelfCheck",
    "SilencedMessage",
    "Space",
    "Unit",
    "Webhook",
    "WebhookDelivery",
    "WebhookEvent",
    "WorkingNote",
]
