"""The rows of long lists, each drawn once a page for every shape it has."""

from urllib.parse import quote

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from kenoweb.drawing import attribute, row
from kenoweb.places import address_of
from kenoweb.templatetags.keno import (
    ago,
    clock,
    meter,
    money,
    number,
    render_markdown,
    shown,
    truncatechars,
    word,
)
from kenoweb.templatetags.memories import about, coded, learned, origin
from memory.models import Fact

register = template.Library()

CURRENT = mark_safe(' aria-current="true"')
TIMES = {"used": "last_used_at", "new": "created_at"}
TAGS = 6


@register.simple_tag(takes_context=True)
def fact_row(context: template.Context) -> SafeString:
    fact, around, panel = context["fact"], context["set"], context.get("panel")
    shape = {"status": fact.status, "pinned": fact.pinned, "subject": bool(fact.subject)}
    words = {
        "pk": fact.pk,
        "current": CURRENT if panel and panel.fact.pk == fact.pk else "",
        "subject_query": quote(fact.subject),
        "about": about(fact.subject),
        "there": f"{around.url}{fact.pk}/{f'?{around.query}' if around.query else ''}",
        "lang": attribute("lang", fact.language),
        "text": shown(fact.text),
        "sure": meter(fact.confidence),
        "origin": origin(fact),
        "where": truncatechars(fact.chat, 24) if fact.chat_id else around.words["everywhere"],
        "when": ago(getattr(fact, TIMES.get(around.sort, "updated_at"))),
    }
    return row(context["request"], "facts/_drawn_row.html", shape, words, set=around)


@register.simple_tag(takes_context=True)
def episode_day_row(context: template.Context) -> SafeString:
    one = context["row"]
    tags = one.episode.tags[:TAGS]
    words = {
        "clock": clock(one.episode.started_at),
        "where": truncatechars(one.episode.chat, 40),
        "notes": mark_safe("".join(f"<span>{shown(note)}</span>" for note in one.notes)),
        "tags": mark_safe("".join(f'<span class="tag">{shown(tag)}</span> ' for tag in tags)),
    }
    return _episode(context, "episodes/_drawn_epi.html", words)


@register.simple_tag(takes_context=True)
def episode_row(context: template.Context) -> SafeString:
    one = context["row"]
    words = {
        "where": truncatechars(one.episode.chat, 28),
        "notes": shown(" · ".join(one.notes)),
        "when": ago(one.episode.started_at),
    }
    return _episode(context, "episodes/_drawn_row.html", words)


def _episode(context: template.Context, name: str, words: dict) -> SafeString:
    one, panel = context["row"], context.get("panel")
    episode = one.episode
    shape = {"look": one.look, "badge": one.badge, "flags": bool(episode.flags)}
    shape |= {"chat": bool(episode.chat_id)}
    words |= {
        "pk": one.pk,
        "url": one.url,
        "current": CURRENT if panel and panel.episode.pk == one.pk else "",
        "lang": attribute("lang", episode.language),
        "title": shown(truncatechars(one.title, 140)) or "…",
    }
    return row(context["request"], name, shape, words, list=context["list"])


@register.simple_tag(takes_context=True)
def pattern_row(context: template.Context) -> SafeString:
    pattern, around, panel = context["pattern"], context["list"], context.get("panel")
    shape = {"status": pattern.status, "used": bool(pattern.last_used_at)}
    words = {
        "pk": pattern.pk,
        "current": CURRENT if panel and panel.pattern.pk == pattern.pk else "",
        "there": f"{around.url}{pattern.pk}/{f'?{around.query}' if around.query else ''}",
        "lang": attribute("lang", pattern.language),
        "trigger": shown(pattern.trigger),
        "slug": shown(truncatechars(pattern.slug, 40)),
        "response": coded(truncatechars(pattern.response, 200)),
        "sure": meter(pattern.confidence, number=True),
        "uses": number(pattern.use_count),
        "when": ago(pattern.last_used_at),
    }
    return row(context["request"], "patterns/_drawn_row.html", shape, words, list=around)


@register.simple_tag(takes_context=True)
def night_line(context: template.Context) -> SafeString:
    line, request = context["line"], context["request"]
    change = line.change
    shape = {"tone": line.tone, "sign": line.sign, "undone": bool(change.undone_at)}
    shape |= {"linked": bool(line.url), "moved": bool(line.after), "kind": change.kind}
    shape |= {"evidence": len(change.evidence), "mode": change.mode}
    words = {
        "pk": change.pk,
        "text": shown(change.text),
        "before": line.before,
        "after": line.after,
        "url": line.url,
        "label": line.label,
        "by": change.undone_by,
    }
    return row(request, "nights/_drawn_line.html", shape, words)


@register.simple_tag(takes_context=True)
def proposal_row(context: template.Context) -> SafeString:
    one, request, desk = context["one"], context["request"], context.get("desk")
    words = {
        "page": address_of("proposals:detail", request.space.slug, one.pk),
        "current": CURRENT if desk and desk.proposal.pk == one.pk else "",
        "title": shown(one.title),
        "sure": number(one.confidence, 2),
        "kind": word(one, "kind"),
    }
    return row(request, "proposals/_row.html", {"icon": one.icon}, words, filter=context["filter"])


@register.simple_tag(takes_context=True)
def chat_line(context: template.Context) -> SafeString:
    """A message with what belongs to it, or a notice to the chat."""
    line, request = context["line"], context["request"]
    if line.notice:
        shape = {"gap": bool(line.gap), "notice": True}
        words = {"gap_words": shown(line.gap), "text": shown(line.notice.text)}
        return row(request, "chats/_drawn_line.html", shape, words)
    message, receipt, badges = line.message, line.receipt, line.badges
    shape = {"gap": bool(line.gap), "notice": False, "reply": line.is_reply}
    shape |= {"after": bool(line.learned or receipt or badges), "cost": bool(line.cost)}
    shape |= {"receipt": bool(receipt), "injected": bool(receipt and receipt.injected)}
    shape |= {"took": bool(receipt and receipt.ms.get("total"))}
    words = {
        "gap_words": shown(line.gap),
        "pk": message.pk,
        "current": CURRENT if line.chosen else "",
        "on": " on" if line.chosen else "",
        "who": shown(line.who),
        "clock": clock(message.sent_at, titled=True),
        "lang": attribute("lang", message.language),
        "text": render_markdown(message.text) if line.is_reply else shown(message.text),
        "learned": mark_safe("".join(_learned(context, fact) for fact in line.learned)),
        "page": address_of("chats:detail", request.space.slug, message.chat_id),
        "n": number(receipt.injected) if receipt else "",
        "tokens": number(receipt.tokens) if receipt else "",
        "ms": number(receipt.ms.get("total")) if receipt else "",
        "badges": format_html_join("", '<span class="badge {}">{}</span>', badges),
        "dollars": money(line.cost),
    }
    return row(request, "chats/_drawn_line.html", shape, words)


@register.simple_tag(takes_context=True)
def learned_row(context: template.Context) -> SafeString:
    return _learned(context, context["fact"])


def _learned(context: template.Context, fact: Fact) -> SafeString:
    """What was learned from a message, with its Undo or Redo."""
    request, look = context["request"], learned(fact)
    shape = {name: str(value) for name, value in look.items()}
    shape |= {"active": fact.status == Fact.Status.ACTIVE, "chat_pk": context["chat"].pk}
    words = {
        "pk": fact.pk,
        "page": address_of("facts:detail", request.space.slug, fact.pk),
        "lang": attribute("lang", fact.language),
        "text": shown(fact.text),
    }
    return row(request, "chats/_drawn_learned.html", shape, words)
