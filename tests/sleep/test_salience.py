import pytest

from sleep.claims import near_goal, weigh


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("An error occurred while processing", 0.4),
        ("Ocurrió un error al procesar", 0.4),
        ("The weather is nice today", 0.0),
        ("Hoy hace buen tiempo", 0.0),
    ],
    ids=["N10-error", "error-es", "N10-weather", "weather-es"],
)
def test_n10_the_score_is_the_sum_of_its_reasons(text, score):
    assert weigh(text).score == score


@pytest.mark.parametrize("text", ["Actually, the correct approach is…", "En realidad es en query"])
def test_n10_a_correction_passes_the_old_threshold(text):
    assert weigh(text).score >= 0.5


@pytest.mark.parametrize(
    "text",
    ["Usuario prefiere comunicarse en español", "User prefers to talk in English"],
    ids=["es", "en"],
)
def test_a_preference_weighs_the_same_in_both_languages(text):
    assert weigh(text).score >= 0.6


def test_n10_the_score_never_passes_one():
    text = "actually error failed solved new favorite decided"
    assert weigh(text, feedback="negative", goals=[text]).score == 1.0


def test_a_word_inside_another_word_is_no_cue():
    assert weigh("The renewal of the newsletter terror").score == 0


def test_what_was_curated_always_passes():
    assert weigh("nothing of note", curated=True).score == 1.0


def test_feedback_and_tags_count():
    assert "negative feedback" in weigh("hm", feedback="negative").reasons
    assert weigh("hm", tags=["Error"]).reasons == ("error",)


def test_a_goal_under_way_makes_it_matter():
    assert near_goal("I looked at the n8n webhook again", ["Debugging the n8n webhook"])
    assert not near_goal("We had pasta", ["Debugging the n8n webhook"])
