"""Ways to rank are stored, versioned and chosen per space."""

import pytest

from memory.models import RecallProfile
from memory.retrieval import features, profiles
from memory.retrieval.recall import recall
from tests.factories import make_fact, make_space

pytestmark = pytest.mark.django_db


def test_keno_is_the_default_and_knows_every_feature():
    keno = profiles.get(make_space())
    assert keno.name == "keno"
    assert set(keno.weights) == set(features.NAMES)


def test_what_counts_for_relevance_counts_upwards():
    weights = profiles.built_in("keno").weights
    assert [name for name, weight in weights.items() if weight < 0] == ["question", "crowd"]


def test_the_space_chooses():
    space = make_space(settings={"recall_profile": "classic"})
    assert profiles.get(space).formula == "classic"


def test_the_old_name_of_classic_is_still_understood():
    space = make_space(settings={"recall_profile": "seed004"})
    assert space.options.recall_profile == "classic"
    assert profiles.get(space) == profiles.get(space, "seed004") == profiles.built_in("classic")
    saved = profiles.save(space, name="mine", weights={}, by="person:ana")
    RecallProfile.objects.filter(pk=saved.pk).update(formula="seed004")
    assert profiles.get(space, "mine").formula == "classic"


def test_saving_makes_the_next_version_and_the_old_one_stays():
    space = make_space()
    first = profiles.save(space, name="careful", weights={"recency": 2}, by="person:ana")
    second = profiles.save(space, name="careful", weights={"recency": 3}, by="person:ana")
    assert (first.version, second.version) == (1, 2)
    assert profiles.get(space, "careful").weights["recency"] == 3
    assert profiles.get(space, "careful@1").weights["recency"] == 2
    assert (
        profiles.get(space, "careful").weights["words"]
        == profiles.built_in("keno").weights["words"]
    )
    assert profiles.names(space) == ["keno", "classic", "careful"]


def test_another_spaces_profile_is_unknown_here():
    profiles.save(make_space(), name="theirs", weights={}, by="person:bo")
    assert profiles.get(make_space(), "theirs").name == "keno"


@pytest.mark.parametrize("name", ["", "keno", "classic", "seed004", "a b", "../x", "é;--"])
def test_a_name_that_cannot_be_taken(name):
    with pytest.raises(profiles.Invalid, match="name of its own"):
        profiles.save(make_space(), name=name, weights={}, by="person:ana")
    assert not RecallProfile.objects.exists()


@pytest.mark.parametrize(
    "weights",
    [{"magic": 1}, {"words": "x"}, {"words": 51}, {"words": float("nan")}, {"words": None}],
)
def test_weights_that_cannot_be_used(weights):
    with pytest.raises(profiles.Invalid, match="from -50 to 50"):
        profiles.save(make_space(), name="mine", weights=weights, by="person:ana")


def test_other_weights_rank_otherwise_and_stand_on_the_receipt():
    space = make_space()
    make_fact(space, text="bread is baked daily", confidence=0.99)
    make_fact(space, text="bread", confidence=1.0, subject="")
    trial = profiles.built_in("keno").with_weights(
        dict.fromkeys(features.NAMES, 0) | {"confidence": 9}
    )
    result = recall(space, "is bread baked daily", profile=trial)
    assert [one.score for one in result.items] == [9, 8.91]
    profiles.save(space, name="trust-me", weights=trial.weights, by="person:ana")
    kept = recall(space, "is bread baked daily", profile="trust-me").receipt
    assert (kept.profile, kept.profile_version) == ("trust-me", 1)
