import json

import pytest

from memory.identity import bootstrap, preferences
from memory.identity.bootstrap import DEFAULT, Profile, traits
from memory.models import Identity, Preference
from tests.factories import make_chat, make_space

GOOD = {
    "tone": "formal",
    "verbosity": "detailed",
    "language": "en",
    "emojiUsage": "none",
    "techContext": "Python",
    "confidence": 0.9,
}


@pytest.fixture
def space(db):
    space = make_space()
    bootstrap.start(space)
    return space


def say(space, *said, complete=None):
    steps = []
    for one in said:
        step = bootstrap.next_step(space, message=one, complete=complete)
        bootstrap.advance(space, step)
        steps.append(step)
    return steps


class TestTheConversation:
    def test_five_are_observed_then_checkpoint_boundaries_complete_075(self, space):
        steps = say(space, *(f"mensaje número {n}" for n in range(1, 9)))
        assert [step.phase for step in steps] == ["observing"] * 5 + [
            "checkpoint",
            "boundaries",
            "complete",
        ]
        assert [bool(step.script) for step in steps] == [False] * 5 + [True] * 3
        assert not bootstrap.is_active(space)

    def test_the_boundaries_are_kept_075(self, space):
        say(space, *["hola"] * 7, "Nunca hables de mi trabajo")
        assert Preference.objects.get(key="Límites").value == "Nunca hables de mi trabajo"

    def test_no_boundaries_are_no_boundaries(self, space):
        say(space, *["hola"] * 7, "No, gracias.")
        assert not Preference.objects.filter(key="Límites").exists()

    def test_spanish_by_default_and_english_when_the_profile_says_so_075(self, space):
        assert "esta es la impresión que tengo" in say(space, *["🙂"] * 6)[-1].script
        bootstrap.stop(space)
        bootstrap.start(space)
        english = say(space, *["x"] * 6, complete=lambda question: json.dumps(GOOD))
        assert "how I read you" in english[-1].script

    def test_what_the_person_corrects_is_kept(self, space):
        say(space, *["hola"] * 6, "Trátame de usted, por favor", "nada")
        assert Preference.objects.get(key="Corrección").value == "Trátame de usted, por favor"

    def test_asking_what_comes_next_changes_nothing(self, space):
        for _ in range(10):
            assert bootstrap.next_step(space, message="hola").phase == "observing"

    def test_a_tag_ends_it_and_keeps_what_is_known(self, space):
        say(space, "I would appreciate a formal answer about docker")
        bootstrap.finish(space)
        kept = dict(Preference.objects.values_list("key", "value"))
        assert kept["Tone"] == "a formal tone"
        assert kept["Tech"] == "docker"
        assert bootstrap.finish(space) == []

    def test_present_means_active_and_absent_done_078(self, space):
        assert bootstrap.is_active(space)
        bootstrap.stop(space)
        assert not bootstrap.is_active(space)
        assert not bootstrap.is_active(make_space())

    def test_answers_are_added_to_what_is_there_078(self, space):
        preferences.put(space, key="Timezone", value="Europe/Madrid", by="person:ana")
        say(space, *["hola"] * 8)
        keys = [one.key for one in preferences.active(space)]
        assert keys[0] == "Timezone"
        assert "Tono" in keys

    def test_a_persons_own_words_stand(self, space):
        preferences.put(space, key="Tono", value="como un pirata", by="person:ana")
        say(space, *["hola"] * 8)
        mine = [one.value for one in preferences.active(space) if one.sticky]
        assert mine == ["como un pirata"]

    def test_it_goes_on_in_its_chat_alone(self, db):
        chat, other = make_chat(), make_chat()
        bootstrap.start(chat.space, chat=chat.pk)
        assert bootstrap.is_active(chat.space, chat=chat.pk)
        assert not bootstrap.is_active(chat.space, chat=other.pk)

    def test_a_second_start_changes_nothing(self, space):
        say(space, "hola", "hola")
        assert not bootstrap.start(space)
        assert Identity.objects.get().bootstrap["count"] == 2

    def test_an_odd_stored_state_is_survived(self, space):
        odd = {"count": 7, "profile": {"a": 1}}
        Identity.objects.filter(space=space).update(bootstrap=odd)
        assert say(space, "nada")[0].completes


class TestTheProfile:
    @pytest.mark.parametrize(
        "answer",
        [
            "I cannot say.",
            "{",
            "[]",
            json.dumps(GOOD | {"tone": "pirate"}),
            json.dumps({name: GOOD[name] for name in GOOD if name != "confidence"}),
            json.dumps(GOOD | {"confidence": 7}),
            json.dumps(GOOD | {"confidence": True}),
            json.dumps(GOOD | {"techContext": ["x"]}),
            "{" * 5000 + "}" * 5000,
        ],
    )
    def test_what_is_no_profile_is_the_default_076(self, answer):
        found = bootstrap.infer(["hola"], complete=lambda question: answer)
        assert found == DEFAULT
        assert (found.tone, found.verbosity, found.language) == ("casual", "concise", "es")
        assert found.confidence == 0

    def test_an_error_of_the_model_is_the_default_076(self):
        assert bootstrap.infer(["hola"], complete=lambda question: 1 / 0) == DEFAULT

    def test_no_messages_are_the_default_and_ask_nobody_076(self):
        assert bootstrap.infer([" "], complete=lambda question: 1 / 0) == DEFAULT

    def test_json_inside_prose_is_found_076(self):
        answer = f"Here it is:\n```json\n{json.dumps(GOOD)}\n```\nHope that helps."
        found = bootstrap.infer(["hello"], complete=lambda question: answer)
        assert found == Profile("formal", "detailed", "en", "none", "Python", 0.9)

    def test_observed_without_a_model(self):
        seen = bootstrap.observe(["Estimado Keno, quisiera que usted me ayude con Docker 🙂"] * 6)
        assert (seen.tone, seen.language, seen.emoji) == ("formal", "es", "frequent")
        assert seen.tech == "docker"

    def test_unknown_is_not_said_aloud(self):
        assert "unknown" not in traits(Profile(language="en", emoji="occasional"))
        assert "emoji" not in traits(Profile(language="en", emoji="occasional"))
