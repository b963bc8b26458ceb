from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleep.clusters import group_same, pairs


def grouped(*texts, scopes=None):
    return group_same(texts, scopes or [None] * len(texts))


def test_the_same_saying_is_one_group():
    assert grouped("Ana likes tea", "ana likes tea.", "Bo likes rum") == [[0, 1], [2]]


def test_nearly_the_same_words_are_one_group():
    assert grouped(
        "n8n webhooks expect the token in the query string",
        "The n8n webhook expects its token in the query string",
    ) == [[0, 1]]


def test_a_word_inside_another_is_not_the_same():
    assert grouped("User likes golf", "User likes golfing trips on sunday mornings") == [[0], [1]]


def test_scopes_do_not_meet():
    assert grouped("Ana likes tea", "Ana likes tea", scopes=["chat 1", "chat 2"]) == [[0], [1]]


def test_nothing_groups_nothing():
    assert group_same([], []) == []


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.text(max_size=30), max_size=20))
def test_every_text_is_in_exactly_one_group(texts):
    groups = group_same(texts, [None] * len(texts))
    assert sorted(i for group in groups for i in group) == list(range(len(texts)))


@given(st.lists(st.sampled_from(["a b c", "b c d", "a b c d", "x y"]), max_size=12))
def test_pairs_are_ordered_and_of_one_scope(texts):
    scopes = [i % 2 for i in range(len(texts))]
    assert all(i < j and scopes[i] == scopes[j] for i, j in pairs(texts, scopes))
