import pytest

from memory import rulings
from memory.facts import service as facts
from memory.history import actors
from memory.history import changes as history
from memory.models import Ruling
from tests.factories import make_fact, make_space

pytestmark = pytest.mark.django_db
ANA = actors.person("ana")


@pytest.fixture
def space():
    return make_space("home")


@pytest.mark.parametrize(
    "said",
    [
        "Ana's salary is 40,000 euros",
        "  ana’s SALARY is 40,000 euros!",
        "The salary of Ana is 40,000 euros",
        "By the way, Ana's salary is 40,000 euros since May",
    ],
)
def test_a_ruling_catches_the_same_the_normalised_and_the_near(space, said):
    rulings.forbid(space, text="Ana's salary is 40,000 euros", by=ANA)
    assert rulings.forbidden(space, statement=said)


@pytest.mark.parametrize("said", ["Ana likes tea", "Ana works in Porto", "", "la la"])
def test_a_ruling_leaves_the_rest_alone(space, said):
    rulings.forbid(space, text="Ana's salary is 40,000 euros", by=ANA)
    assert rulings.forbidden(space, statement=said) is None


def test_a_ruling_in_spanish_catches_other_forms_of_its_words(space):
    rulings.forbid(space, text="Ana trabaja en el banco central", by=ANA)
    assert rulings.forbidden(space, statement="ana trabajaba en el Banco Central")


def test_meaning_is_asked_when_words_do_not_decide(space):
    rulings.forbid(space, text="Ana's salary", by=ANA)
    assert rulings.forbidden(space, statement="what she earns", near=lambda ruled, said: True)


def test_a_refused_saying_is_counted_and_gives_its_reason(space):
    rulings.forbid(space, text="Ana likes tea", by=ANA)
    done = facts.remember(space, text="Ana likes tea", by="extraction")
    assert done.outcome == "refused"
    assert "Ana likes tea" in done.reason
    assert Ruling.objects.get().times_obeyed == 1


def test_a_quote_does_not_smuggle_in_what_is_forbidden(space):
    rulings.forbid(space, text="Ana's salary is 40,000 euros", by=ANA)
    fact = facts.remember(
        space, text="Ana lives in Porto", quote="I'm Ana, salary 40,000 euros", by="tag"
    ).row
    assert fact.quote == ""


def test_rulings_of_another_space_do_not_count(space):
    rulings.forbid(make_space("work"), text="Ana likes tea", by=ANA)
    assert rulings.forbidden(space, statement="Ana likes tea") is None


def test_a_lifted_ruling_is_over_and_undo_brings_it_back(space):
    ruling = rulings.forbid(space, text="Ana likes tea", by=ANA).row
    done = rulings.lift(ruling, by=ANA)
    assert rulings.forbidden(space, statement="Ana likes tea") is None
    assert rulings.lift(ruling, by=ANA).outcome == "unchanged"
    history.undo_context(done.change_id, by=ANA)
    assert rulings.forbidden(space, statement="Ana likes tea")


def test_undoing_a_ruling_lifts_it(space):
    done = rulings.forbid(space, text="Ana likes tea", by=ANA)
    history.undo_context(done.change_id, by=ANA)
    assert rulings.forbidden(space, statement="Ana likes tea") is None


def test_ruling_twice_is_ruling_once(space):
    fact = make_fact(space, "Ana likes tea")
    rulings.forbid(space, text=fact.text, by=ANA)
    assert rulings.forbid(space, text=fact.text, fact=fact, by=ANA).outcome == "unchanged"
    rulings.keep(fact, by=ANA)
    assert rulings.keep(fact, by=ANA).outcome == "unchanged"
    assert Ruling.objects.count() == 2


@pytest.mark.parametrize("by", ["bot", "night:1", "person:", ""])
def test_only_a_person_rules(space, by):
    with pytest.raises(actors.PersonNeeded):
        rulings.forbid(space, text="Ana likes tea", by=by)


def test_what_is_ruled_to_be_kept_no_machine_changes(space):
    fact = make_fact(space, "Ana likes tea")
    rulings.keep(fact, by=ANA)
    assert facts.revise(fact, text="Ana likes coffee", by="night").outcome == "refused"
    assert facts.forget(fact, by="night").outcome == "refused"
    assert facts.revise(fact, text="Ana likes coffee", by=ANA).changed
