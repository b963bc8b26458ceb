from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from memory import patterns, rulings
from memory.history import actors
from memory.history import changes as history
from memory.models import Pattern
from tests.factories import make_chat, make_pattern, make_space

pytestmark = pytest.mark.django_db
ANA = actors.person("ana")


@pytest.fixture
def space():
    return make_space("home")


def learn(space, trigger="n8n + 401 error", response="Check ?token=", by="night", **more):
    return patterns.learn(space, trigger=trigger, response=response, by=by, **more)


@pytest.mark.parametrize(
    "values",
    [
        {"response": ""},
        {"trigger": "  "},
        {"confidence": 1.5},
        {"confidence": -0.1},
        {"confidence": "high"},
        {"confidence": True},
        {"confidence": float("nan")},
    ],
)
def test_a30_what_is_no_pattern_is_refused_with_a_sentence(space, values):
    with pytest.raises(patterns.Invalid, match=r"needs a trigger|from 0 to 1"):
        learn(space, **values)
    assert Pattern.objects.count() == 0


def test_a30_a_new_pattern_was_never_used_and_knows_when_it_came(space):
    pattern = learn(space).row
    assert (pattern.use_count, pattern.last_used_at) == (0, None)
    assert timezone.now() - pattern.created_at < timedelta(minutes=1)


def test_the_measured_case_covers_two_of_three_words(space):
    learn(space, confidence=0.95)
    said = "Me da un 401 cuando hago un POST al webhook de n8n"
    (found,) = patterns.match(space, text=said)
    assert round(found.score, 4) == 0.6333
    assert found.words == ("n8n", "401")


@pytest.mark.parametrize("said", ["How is the weather today?", "", "  ", "\x00"])
def test_a32_other_talk_matches_nothing(space, said):
    learn(space)
    assert patterns.match(space, text=said) == []


@pytest.mark.parametrize(
    ("trigger", "said", "matches"),
    [
        ("N8N Webhook", "n8n webhook issue", True),
        ("árbol", "el ÁRBOL verde", True),
        ("arbol", "el árbol verde", True),
        ("error", "terrorism", False),
        ("fix,bug", "this bug here", True),
        ("node.js", "we use Node.js here", True),
        ("node.js", "js in the node", False),
        ("go", "let us go home", True),
        ("日本", "日本へ行く", True),
        ("C++", "c is fine", True),
        ("+++ ,", "anything", False),
    ],
    ids=[
        "a32",
        "accent",
        "folded",
        "whole-words",
        "comma",
        "dots",
        "order",
        "short",
        "cjk",
        "c",
        "",
    ],
)
def test_triggers_match_whole_words_in_any_script(space, trigger, said, matches):
    learn(space, trigger=trigger)
    assert bool(patterns.match(space, text=said)) is matches


def test_the_best_comes_first_and_weak_ones_can_be_left_out(space):
    learn(space, "webhook", "a", confidence=0.4)
    learn(space, "webhook issue", "b", confidence=0.9)
    found = patterns.match(space, text="webhook issue")
    assert [m.pattern.response for m in found] == ["b", "a"]
    assert len(patterns.match(space, text="webhook issue", at_least=0.5)) == 1


@given(st.text(), st.text())
def test_coverage_never_exceeds_the_trigger(trigger, said):
    hits, of = patterns.coverage(trigger, f" {' '.join(patterns._words(said))} ")
    assert len(hits) <= of


def test_a_pattern_of_one_chat_stays_there_until_a_person_promotes_it(space):
    here, there = make_chat(space), make_chat(space)
    pattern = learn(space, chat=here).row
    assert patterns.match(space, text="n8n 401", chat=here)
    assert not patterns.match(space, text="n8n 401", chat=there)
    assert not patterns.match(space, text="n8n 401")
    with pytest.raises(actors.PersonNeeded):
        patterns.promote(pattern, by="night")
    patterns.promote(pattern, by=ANA)
    assert patterns.match(space, text="n8n 401", chat=there)


def test_patterns_of_another_space_are_never_seen(space):
    learn(make_space())
    assert patterns.match(space, text="n8n 401 error") == []


def test_uses_are_counted_and_are_no_change(space):
    pattern = learn(space).row
    patterns.reinforce([pattern])
    patterns.reinforce([pattern])
    pattern.refresh_from_db()
    assert pattern.use_count == 2
    assert pattern.last_used_at
    assert len(history.history(pattern)) == 1


def test_d2_learning_the_same_twice_makes_one_pattern(space):
    first = learn(space, confidence=0.6)
    again = learn(space, trigger="N8N + 401 error", confidence=0.8)
    assert (first.outcome, again.outcome) == ("new", "again")
    assert Pattern.objects.get().confidence == 0.8


@pytest.mark.django_db(transaction=True)
def test_two_habits_of_one_name_get_two_names_also_at_once(space):
    def write(n):
        try:
            return learn(space, response=f"answer {n}").row.slug
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        names = list(pool.map(write, range(4)))
    assert len(set(names)) == Pattern.objects.count() == 4


def test_a34_removing_by_name(space):
    kept = learn(space, "first one", slug="first").row
    learn(space, "second one", slug="second")
    patterns.unlearn(Pattern.objects.live().get(space=space, slug="second"), by=ANA)
    added = learn(space, "third one").row
    assert list(Pattern.objects.live().order_by("pk")) == [kept, added]


def test_unlearning_is_soft_and_undone(space):
    pattern = learn(space).row
    done = patterns.unlearn(pattern, by=ANA)
    assert patterns.match(space, text="n8n 401") == []
    history.undo_context(done.change_id, by=ANA)
    assert patterns.match(space, text="n8n 401")


def test_what_was_put_away_only_a_person_learns_again(space):
    patterns.unlearn(learn(space).row, by=ANA)
    assert learn(space, by="night").outcome == "refused"
    assert learn(space, by=ANA).outcome == "restored"


def test_restoring_where_the_name_is_taken_finds_another(space):
    old = learn(space, slug="x").row
    patterns.discard(old, by=ANA)
    learn(space, "other words", slug="x")
    patterns.restore(old, by=ANA)
    assert (old.status, old.slug) == ("active", "x-2")


def test_a_persons_wording_is_sticky(space):
    pattern = learn(space).row
    patterns.revise(pattern, response="Ask for the token", by=ANA)
    assert patterns.revise(pattern, response="other", by="night").outcome == "refused"
    assert patterns.unlearn(pattern, by="night").outcome == "refused"
    assert pattern.response == "Ask for the token"


def test_a_ruling_keeps_a_habit_out(space):
    rulings.forbid(space, text="Check ?token=", by=ANA)
    assert learn(space).outcome == "refused"


def test_the_trash_is_emptied_after_its_days(space):
    now = timezone.now()
    make_pattern(space, status="trashed", trashed_at=now - timedelta(days=8))
    make_pattern(space, status="trashed", trashed_at=now - timedelta(days=2))
    assert patterns.expire(space, now=now) == 1
    assert Pattern.objects.count() == 1
