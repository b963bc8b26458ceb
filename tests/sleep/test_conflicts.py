import pytest

from sleep.clusters import contradict


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("Adrian lives in Guadalajara", "Adrian moved to Ciudad de México", "value"),
        ("Adrián vive en Guadalajara", "Adrián se mudó a Oaxaca", "value"),
        ("Ana works at Acme", "Ana works for Globex now", "value"),
        ("Ana's birthday is 9 May", "Ana's birthday is 12 June", "value"),
        ("El puerto de n8n es 5678", "El puerto de n8n es 5679", "value"),
        ("The deploy window is after 22:00", "The deploy window is 09:00", "value"),
        ("Ana likes coffee", "Ana does not like coffee", "negation"),
        ("A Ana le gusta el café", "A Ana no le gusta el café", "negation"),
        ("Ana loves mushrooms", "Ana hates mushrooms", "negation"),
        ("Deploys never happen on Fridays", "Deploys happen on Fridays", "negation"),
        ("Standup starts at 9:30", "Standup starts at 10:15", "number"),
    ],
)
def test_claims_that_exclude_each_other_are_found(one, other, why):
    assert contradict(one, other) == why
    assert contradict(other, one) == why


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana likes coffee", "Ana likes tea"),
        ("Ana lives in Lisbon", "Ana lives in Lisbon, Portugal"),
        ("Ana lives in Lisbon", "Bo lives in Porto"),
        (
            "Adrian se mudó a Ciudad de México, ya estamos",
            "Adrian vive en Ciudad de México, al sur",
        ),
        ("Ana is a developer", "Ana is tall"),
        ("Adrian prefers Spanish", "Adrian prefers short answers"),
        ("The port of n8n is 5678", "The port of Caddy is 443"),
        ("Ana's cat is called Miso", "Ana's dog is called Toro"),
        ("Ana likes coffee", "ana likes coffee."),
        ("", "Ana likes coffee"),
    ],
)
def test_claims_that_can_both_be_true_are_left_alone(one, other):
    assert contradict(one, other) == ""
