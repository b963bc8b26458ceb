from memory.models.chat import Chat, ChatSummary, Draft, Message, WorkingNote
from memory.models.entity import Entity, Mention
from memory.models.episode import Episode
from memory.models.fact import Fact, Reminder, SilencedMessage
from memory.models.identity import Identity, Preference, Rule, Ruling
from memory.models.pattern import Pattern
from memory.models.recall import (
    GoldenQuestion,
    GoldenRun,
    Recall,
    RecallItem,
    RecallProfile,
    SelfCheck,
)
from memory.models.space import (
    ApiCall,
    ApiToken,
    AuditEntry,
    AuditSeal,
    ChatLink,
    Member,
    Space,
    SpaceEncryption,
    SpaceKey,
)
from memory.models.unit import Embedding, EmbeddingModel, Unit
from memory.models.work import (
    Breaker,
    Connection,
    DeadLetter,
    Erasure,
    Heartbeat,
    Lease,
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
