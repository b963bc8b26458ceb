"""Things to test with: functions with sensible defaults, every one of which can be overridden."""

import datetime as dt
import itertools
import time

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from kenoweb.auth import accounts
from memory import rulings
from memory.facts import service as facts
from memory.history import audit
from memory.history.actors import person
from memory.models import (
    ApiToken,
    AuditEntry,
    Chat,
    ChatLink,
    DeadLetter,
    Entity,
    Episode,
    Erasure,
    Fact,
    GoldenQuestion,
    LlmCall,
    Member,
    Mention,
    Message,
    Notice,
    Parcel,
    ParcelLine,
    Pattern,
    Preference,
    Recall,
    RecallItem,
    Space,
    WorkingNote,
)
from memory.models import encryption as keys
from memory.operations import webhooks
from memory.spaces import api_tokens, chat_links, encryption
from memory.text import normalise as words
from memory.transfer import staged_files
from sleep import proposals
from sleep.models import Night, NightChange, Proposal

PASSWORD = "correct horse battery"
_number = itertools.count(1)


def make_user(name: str = "", *, password: str = PASSWORD, **given) -> User:
    return User.objects.create_user(name or f"person{next(_number)}", password=password, **given)


def make_space(slug: str = "", **given) -> Space:
    slug = slug or f"space-{next(_number)}"
    return Space.objects.create(**{"name": slug.title(), "slug": slug} | given)


def make_member(*, space: Space | None = None, user: User | None = None, role="owner") -> Member:
    return Member.objects.create(space=space or make_space(), user=user or make_user(), role=role)


def make_client(user: User | None = None, *, sudo: bool = False, **options) -> Client:
    """A browser, signed in when there is a user; `sudo` as if the password was given just now."""
    client = Client(**options)
    if user:
        client.force_login(user)
        session = client.session
        session["sudo"] = time.time() if sudo else 0
        session.save()
    return client


def make_chat(
    space: Space | None = None, external_id: str = "", channel: str = "telegram", **given
) -> Chat:
    external_id = external_id or str(next(_number))
    values = {"channel": channel, "external_id": external_id, "key": f"{channel}-{external_id}"}
    return Chat.objects.create(space=space or make_space(), **values | given)


def make_message(chat: Chat | None = None, text: str = "hello", **given) -> Message:
    chat = chat or make_chat()
    values = {"role": "user", "author": "Ana", "text": text, "external_id": str(next(_number))}
    return Message.objects.create(space=chat.space, chat=chat, **values | given)


def make_fact(space: Space | None = None, text: str = "", **given) -> Fact:
    text = text or f"fact number {next(_number)}"
    values = {"text": text, "said_key": words.said_key(text), "subject": "Ana"}
    return Fact.objects.create(space=space or make_space(), **values | given)


def make_entity(space: Space | None = None, *, fact: Fact | None = None, **given) -> Entity:
    """A person; `fact` is about them."""
    entity = Entity.objects.create(**{"space": space or make_space(), "name": "Ana"} | given)
    if fact:
        Mention.objects.create(fact=fact, entity=entity, role="about")
    return entity


def make_episode(space: Space | None = None, **given) -> Episode:
    values = {"title": f"episode {next(_number)}", "body": "We talked.", "status": "closed"}
    return Episode.objects.create(space=space or make_space(), **values | given)


def make_pattern(space: Space | None = None, **given) -> Pattern:
    n = next(_number)
    values = {"slug": f"p{n}", "trigger": f"trigger{n}", "response": "answer"}
    return Pattern.objects.create(space=space or make_space(), **values | given)


def make_working_note(chat: Chat | None = None, **given) -> WorkingNote:
    chat = chat or make_chat()
    values = {"task": "Mend the bicycle", "pending": ["buy a tube"]}
    return WorkingNote.objects.create(space=chat.space, chat=chat, **values | given)


def make_preference(space: Space | None = None, **given) -> Preference:
    values = {"key": "Tone", "value": "short and plain"}
    return Preference.objects.create(space=space or make_space(), **values | given)


def make_notice(space: Space | None = None, **given) -> Notice:
    n = next(_number)
    values = {"kind": "test", "text": f"Look at this: {n}", "key": f"test-{n}"}
    return Notice.objects.create(space=space or make_space(), **values | given)


def make_dead_letter(space: Space | None = None, **given) -> DeadLetter:
    space = space or make_space()
    values = {"task": "bot.deliver", "args": {"item_id": 0, "space_id": space.pk}, "attempts": 9}
    values |= {"job_id": next(_number), "error": "The channel does not run here."}
    return DeadLetter.objects.create(space=space, **values | given)


def make_token(
    space: Space | None = None, *, user: User | None = None, **given
) -> tuple[ApiToken, str]:
    values = {"name": "backup script", "scopes": ["read"], "gate": "believe"} | given
    return api_tokens.create(space or make_space(), user=user or make_user(), **values)


def make_chat_link(member: Member, *, channel: str = "telegram", author_id: str = "7") -> ChatLink:
    chat_links.offer(member)
    link = ChatLink.objects.filter(member=member, linked_at=None).get()
    link.channel, link.author_id, link.linked_at = channel, author_id, link.created_at
    link.save()
    return link


def make_audit_entry(space: Space | None = None, **given) -> AuditEntry:
    return audit.record(**{"action": "test", "actor": "person:ana", "space": space} | given)


def make_parcel(space: Space | None = None, data: bytes = b"{}", **given) -> Parcel:
    """A file that was looked at: one line of its report would be taken."""
    values = {"name": "memories.json", "status": "ready", "format": "mem0", "by": "person:ana"}
    values |= {"counts": {"fact": {"taken": 1}}, "size": len(data)} | given
    parcel = Parcel.objects.create(space=space or make_space(), **values)
    staged_files._write_pieces(parcel, [data])
    ParcelLine.objects.create(
        parcel=parcel, number=0, place="1", kind="fact", verdict="taken", text=parcel.name
    )
    return parcel


def one_of_everything(space: Space, *, owner: User, mark: str) -> dict[str, dict]:
    """One row of each kind, every text of which carries the mark.

    Keyed as in the addresses, by namespace or by full URL name: what stands in for the
    arguments of `facts:detail` is found under "facts:detail", else under "facts".
    A page with a new kind of argument needs a line here.
    """
    chat = make_chat(space, title=mark)
    fact = make_fact(space, text=f"{mark} fact", subject=mark, quote=mark)
    episode = make_episode(space, title=mark, body=mark)
    pattern = make_pattern(space, trigger=mark, response=mark)
    guest = make_member(space=space, user=make_user(f"{mark}-guest"), role="viewer")
    link = make_chat_link(guest)
    token, _key = make_token(space, user=owner, name=mark)
    accounts.invite(space, role="viewer", by=owner, label=mark)
    message = make_message(chat, text=mark, author=mark)
    learned = make_fact(space, text=f"{mark} learned", message=message)
    notice = make_notice(space, text=mark)
    change = facts.remember(space, text=f"{mark} imported", by="import").change_id
    brought = make_audit_entry(space, action="import", change=str(change), source=mark)
    entry = make_audit_entry(
        space, action="member.removed", obj=guest, user=guest.user_id, was="viewer"
    )
    return {
        "chats": {"pk": chat.pk, "fact": learned.pk, "message": message.pk, "place": 0},
        "working": {"pk": make_working_note(chat, task=mark, notes=mark).pk},
        "facts": {"pk": fact.pk},
        "still_true": {"pk": make_old_fact(space, text=f"{mark} lives in Rome").pk},
        "notices": {"pk": notice.pk},
        "transfer": {"pk": make_parcel(space, name=mark).pk},
        "transfer:undo": {"pk": brought.pk},
        "transfer:learn": {"pk": brought.pk},
        "transfer:unlearn": {"pk": brought.pk},
        "dead_letters": {"pk": make_dead_letter(space, error=mark).pk},
        "identity": {"pk": make_preference(space, value=mark).pk},
        "history": {"change": facts.remember(space, text=f"{mark} said", by="tag").change_id},
        "people": {"pk": make_entity(space, name=mark, fact=fact).pk},
        "erase": {"pk": _erased(space, message, by=owner).pk, "kind": "message"},
        "erase:preview": {"pk": message.pk, "kind": "message"},
        "account:erasure": {"pk": _erased(space, message, by=owner).pk},
        "account:remove_passkey": {"pk": 0},
        "lineage": {"pk": message.pk, "kind": "message"},
        "episodes": {"pk": episode.pk},
        "patterns": {"pk": pattern.pk},
        "quarantine": {"pk": episode.pk},
        "members": {"pk": guest.pk},
        "members:undo": {"pk": entry.pk},
        "members:withdraw": {"pk": space.invitations.get().pk},
        "tokens": {"pk": token.pk},
        "connect": _a_webhook(space, mark),
        "connect:bot": {"name": "telegram"},
        "connect:remove_person": {"pk": link.pk},
        "costs": {"pk": _a_call(space, mark).pk},
        "oauth2_provider": {"resource_path": "mcp", "client_id": "nobody"},
        "chat_links": {"pk": link.pk},
        "links": {"token": "not-a-link"},
        "api": {"id": fact.pk, "change": change},
        "mem0": {"pk": fact.pk, "name": mark.replace("/", "")},
        "golden": {"pk": make_golden(space, mark).pk, "change": change},
        "recall": {"pk": make_receipt(space, mark, chat=chat, fact=fact).pk},
        **_a_night(space, mark=mark),
        # Last: what is written after a ruling may fall under it.
        "rulings": {"pk": rulings.forbid(space, text=f"{mark} ruled", by="person:ana").row.pk},
    }


def _a_call(space: Space, mark: str) -> LlmCall:
    given = {"purpose": "chat", "provider": "anthropic", "prompt": mark, "answer": mark}
    return LlmCall.objects.create(space=space, **given)


def _a_webhook(space: Space, mark: str) -> dict[str, int]:
    given = {"url": f"https://example.org/{mark}", "events": ["fact"], "by": "person:ana"}
    webhook, _secret = webhooks.subscribe(space, **given)
    return {"pk": webhook.pk, "delivery": webhooks.send_test(webhook).pk}


def _erased(space: Space, message: Message, *, by: User) -> Erasure:
    given = {"space": space, "by": person(by), "status": "done", "done_at": timezone.now()}
    return Erasure.objects.create(kind="message", object_id=message.pk, **given)


def make_golden(space: Space, question: str = "who?", **given) -> GoldenQuestion:
    values = {"question": question, "found": [{"quote": question}], "by": "person:ana"}
    return GoldenQuestion.objects.create(space=space, **values | given)


def make_old_fact(space: Space, *, days: int = 800, **given) -> Fact:
    """A fact that nobody has said for so long that it is due for a check."""
    then = timezone.now() - dt.timedelta(days=days)
    fact = make_fact(space, **{"lasts": "home"} | given)
    Fact.objects.filter(pk=fact.pk).update(last_seen_at=then, created_at=then)
    fact.refresh_from_db()
    return fact


def make_receipt(
    space: Space | None = None, query: str = "what now?", *, fact: Fact | None = None, **given
) -> Recall:
    """A recall of a reply; `fact` was injected with a score of two parts."""
    values = {"profile": "keno", "level": "high", "confidence": 0.8, "candidates": 1, "tokens": 12}
    receipt = Recall.objects.create(space=space or make_space(), query=query, **values | given)
    if fact:
        parts = [["semantic", 0.5, 6.1, 3.05], ["words", 0.2, 1.11, 0.222]]
        RecallItem.objects.create(
            recall=receipt, kind="fact", fact=fact, rank=1, score=3.272, confidence=0.8,
            parts=parts, lanes=["meaning", "words"], injected=True, tokens=12,
        )  # fmt: skip
    return receipt


def make_night(space: Space | None = None, **given) -> Night:
    values = {"local_date": dt.date(2026, 2, 15), "status": "success"}
    return Night.objects.create(space=space or make_space(), **values | given)


def make_proposal(space: Space | None = None, *, after: dict | None = None, **given) -> Proposal:
    values = {
        "kind": "add",
        "key": str(next(_number)),
        "title": "Ana reads",
        "rationale": "Zorro says it",
    }
    after = {"text": "Ana reads", "subject": "Ana"} if after is None else after
    space, values = space or make_space(), values | given
    kind = values.pop("kind")
    return proposals.propose(space, kind, after=after, **values)


def _a_night(space: Space, *, mark: str) -> dict[str, dict]:
    night = make_night(space)
    change = NightChange.objects.create(
        space=space,
        night=night,
        phase="consolidation",
        kind="agreement",
        text=mark,
        context=facts.remember(space, text=f"{mark} learned", by="night").change_id,
    )
    proposal = make_proposal(space, night=night, title=mark, after={"text": mark})
    return {
        "proposals": {"pk": proposal.pk},
        "nights": {"pk": night.pk},
        "nights:undo_change": {"pk": change.pk},
        "nights:redo_change": {"pk": change.pk},
    }


def encrypt(space: Space) -> None:
    """Encrypt the space, with all that is in it."""
    encryption.switch_on(space, by="system")
    keys.forget()
    encryption.work(space.pk, now=timezone.now() + dt.timedelta(hours=1))
