"""Every hostile line through every writer: no exception, no lost row."""

from datetime import UTC, datetime

import pytest

from memory import identity, notices, patterns, rulings, working
from memory.chats import service as chats
from memory.episodes import service as episodes
from memory.facts import service as facts
from memory.history import actors
from memory.models import Chat, Episode, Fact, Message, Notice, Pattern, Preference, Rule, Ruling
from memory.text.normalise import clean, one_line
from tests import own_lines
from tests.factories import make_chat, make_space

pytestmark = pytest.mark.django_db
ANA = actors.person("ana")
NOW = datetime(2026, 2, 13, tzinfo=UTC)


@pytest.fixture
def lines():
    return own_lines.lines("naughty")


@pytest.fixture
def space():
    return make_space("home")


@pytest.fixture
def chat(space):
    return make_chat(space)


def says_something(line: str) -> bool:
    return bool(one_line(clean(line)))


@pytest.mark.parametrize("by", [ANA, "extraction"])
def test_facts_keep_every_line(space, lines, by):
    for n, line in enumerate(lines):
        done = facts.remember(space, text=line, quote=line, subject=f"{n} {line}", by=by)
        assert (done.row is not None) is says_something(line), ascii(line)
    assert Fact.objects.count() == sum(map(says_something, lines))
    for fact in Fact.objects.all():
        facts.revise(fact, text=f"{fact.text} too", by=ANA)
        facts.forget(fact, by=ANA)


def test_messages_keep_every_line(chat, lines):
    for line in lines:
        chats.receive(chat, text=line, author=line, author_id=line, external_id="")
        chats.receive(chat, text="x", external_id=f"{line} ")
        chats.set_context(chat, text=line, by=ANA)
    assert Message.objects.filter(chat=chat).count() > len(lines)


def test_chats_open_or_refuse_every_id(space, lines):
    for line in lines:
        try:
            chats.find_or_open(space, channel="telegram", external_id=line, title=line)
        except chats.BadChatId:
            continue
    assert Chat.objects.filter(key__regex=r"[^A-Za-z0-9_-]").count() == 0


def test_working_notes_take_every_line(chat, lines):
    for line in lines:
        working.write(chat, text=line, by=ANA)
        working.replace(chat, task=line, context=[line], pending=[line], notes=line, by=ANA)


def test_episodes_keep_every_line(space, lines):
    for line in lines:
        done = episodes.write(
            space, body=line, title=line, tags=[line], participants=[line], by="tag", started_at=NOW
        )
        assert (done.row is not None) is bool(clean(line).strip()), ascii(line)
        if done.row:
            episodes.from_markdown(episodes.as_markdown(done.row))
            episodes.discard(done.row, reason=line, by=ANA)
    assert Episode.objects.exists()


def test_episodes_are_made_of_every_line(chat, lines):
    for line in lines:
        message = chats.receive(chat, text=line, author="Ana").message
        episodes.follow(message)
    for episode in Episode.objects.filter(status="open"):
        episodes.close(episode, by="night")
    assert not Message.objects.filter(episode=None).exists()


def test_patterns_learn_every_line(space, lines):
    for line in lines:
        try:
            patterns.learn(space, trigger=line, response=line, slug=line, by="night")
        except patterns.Invalid:
            assert not says_something(line) or not clean(line).strip()
    assert Pattern.objects.exists()
    for line in lines[:60]:
        patterns.match(space, text=line)


def test_rulings_and_notices_take_every_line(space, lines):
    for n, line in enumerate(lines):
        rulings.forbid(space, text=line, reason=line, by=ANA)
        notices.tell(space, kind="x", key=f"{n}", text=lambda line=line: line)
    assert Ruling.objects.exists()
    assert Notice.objects.count() == len(lines)


def test_identity_takes_every_line(space, lines):
    for line in lines:
        identity.core.write(space, text=line, by=ANA)
        identity.preferences.put(space, key=line, value=line, section=line, by=ANA)
        identity.preferences.learn(space, sentence=line, by="tag")
        if clean(line).strip():
            rule = {"instruction": line, "category": line, "examples": [line], "forbidden": [line]}
            identity.rules.put(space, by=ANA, **rule)
    identity.prompt(space)
    identity.rules.violations_of(space, lines[:20])
    assert Rule.objects.exists()
    assert Preference.objects.exists()
