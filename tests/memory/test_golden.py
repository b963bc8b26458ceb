"""Golden questions: what must be found stays found, and what breaks it can be taken back."""

import datetime as dt
import json
from itertools import cycle as cycled

import pytest
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from memory import erasure, jobs
from memory.facts import bulk
from memory.facts import service as facts
from memory.history import changes as history
from memory.history.actors import PersonNeeded, person
from memory.models import (
    EmbeddingModel,
    GoldenQuestion,
    GoldenRun,
    Notice,
    Parcel,
    Recall,
    SelfCheck,
)
from memory.models.fact import WEIGHTS
from memory.retrieval.recall import recall
from memory.spaces import service as spaces
from memory.tasks import ask_golden
from memory.trust import golden, replay
from memory.vectors import embed
from memory.vectors import store as embeddings
from sleep import cycle, proposals
from sleep.apply import TargetChanged
from sleep.models import Proposal, shown
from sleep.phases import improvement
from tests.factories import (
    make_chat,
    make_client,
    make_fact,
    make_member,
    make_message,
    make_parcel,
    make_receipt,
    make_space,
)

pytestmark = pytest.mark.django_db
ANA = person("ana")
# History is dated by its transaction: here every change must have its own.
REAL = pytest.mark.django_db(transaction=True)
TEXTS = (
    "Marta is allergic to peanuts",
    "Marta's dog is called Loki",
    "The alarm of the studio is armed at 22:00",
    "Adrian lives in Oaxaca",
)


@pytest.fixture
def space():
    space = make_space("home")
    for text in TEXTS:
        facts.remember(space, text=text, by=ANA, subject=text.split()[0].removesuffix("'s"))
    embeddings.backfill(space=space)
    return space


def fact(space, words):
    return space.facts.get(text__contains=words)


def keep(space, question, *, found="", **given):
    expected = [{"fact": fact(space, found).pk, "quote": fact(space, found).text}] if found else []
    return golden.keep(space, question=question, found=expected, by=ANA, **given).row


def run(space, why="hand"):
    return golden.run(space, why=why)


def test_a_question_is_green_while_its_fact_is_found_and_red_with_what_is_missing(space):
    row = keep(space, "What is Marta allergic to?", found="peanuts")
    assert (run(space).green, run(space).red) == (1, 0)
    facts.forget(fact(space, "peanuts"), by=ANA)
    assert run(space).red == 1
    row.refresh_from_db()
    assert row.broke == {"missing": ["Marta is allergic to peanuts"]}
    told = str(Notice.objects.get(space=space, kind="golden"))
    assert "“What is Marta allergic to?”. The next night only proposes." in told


def test_a_red_one_is_told_once(space):
    keep(space, "What is Marta allergic to?", found="peanuts")
    facts.forget(fact(space, "peanuts"), by=ANA)
    run(space), run(space)
    assert Notice.objects.filter(space=space, kind="golden").count() == 1


def test_words_that_must_not_be_said_and_facts_that_must_not_be_found(space):
    said = keep(space, "What is Marta's dog called?", unsaid=["Loki"])
    dog = fact(space, "Loki")
    seen = golden.keep(
        space, question="And the dog?", unfound=[{"fact": dog.pk, "quote": dog.text}], by=ANA
    ).row
    run(space)
    said.refresh_from_db(), seen.refresh_from_db()
    assert said.broke == {"said": ["Loki"]}
    assert seen.state == "red" or "found" not in seen.broke


def test_words_by_hand_are_found_in_any_memory(space):
    row = golden.keep(
        space, question="Where does Adrian live?", found=[{"quote": "Oaxaca"}], by=ANA
    )
    assert golden.check(row.row, now=timezone.now()).state == "green"


def test_another_fact_that_says_the_same_will_do_and_one_that_denies_it_will_not(space):
    row = keep(space, "Where does Adrian live?", found="Oaxaca")
    old = fact(space, "Oaxaca")
    facts.supersede(old, by=ANA, text="Adrian lives in Oaxaca, near the market")
    assert golden.check(row, now=timezone.now()).state == "green"
    facts.supersede(fact(space, "market"), by=ANA, text="Adrian does not live in Oaxaca any more")
    assert golden.check(row, now=timezone.now()).state == "red"


def test_another_number_is_another_answer(space):
    row = keep(space, "When is the alarm of the studio armed?", found="22:00")
    facts.revise(fact(space, "22:00"), by=ANA, text="The alarm of the studio is armed at 23:30")
    assert golden.check(row, now=timezone.now()).state == "red"


@REAL
def test_what_came_between_is_listed_and_its_undo_makes_it_green(space):
    row = keep(space, "What is Marta allergic to?", found="peanuts")
    run(space)
    pks = [fact(space, "peanuts").pk, fact(space, "Loki").pk]
    bulk.merge(space, pks, keep=pks[1], by=ANA)
    run(space)
    row.refresh_from_db()
    (step,) = golden.between(row)
    assert (step.why, step.by, step.hit) == ("merge", ANA, True)
    assert golden.undo(row, step.change, by=ANA)
    assert GoldenRun.objects.filter(space=space).order_by("pk").last().why == "undo"


@REAL
def test_a_change_of_weights_is_among_what_came_between(space):
    row = keep(space, "What is Marta allergic to?", found="peanuts")
    run(space)
    spaces.configure(space, values={"token_budget": 300}, by=ANA)
    facts.forget(fact(space, "peanuts"), by=ANA)
    run(space)
    row.refresh_from_db()
    assert {step.why for step in golden.between(row)} == {"memory settings", "forget"}


def test_a_person_may_say_that_the_new_answer_is_right(space):
    row = keep(space, "Where does Adrian live?", found="Oaxaca")
    facts.supersede(fact(space, "Oaxaca"), by=ANA, text="Adrian lives in Bogotá")
    run(space)
    row.refresh_from_db()
    assert row.state == "red"
    golden.accept(row, by=ANA)
    assert row.state == "green"
    assert [one["quote"] for one in row.found] == ["Adrian lives in Bogotá"]


def test_a_red_one_holds_what_the_night_would_do_alone(space):
    keep(space, "What is Marta allergic to?", found="peanuts")
    facts.forget(fact(space, "peanuts"), by=ANA)
    run(space)
    night = cycle.sleep(space, now=timezone.now() + dt.timedelta(days=60))
    assert night.held
    assert not night.changes.exists()
    facts.restore(space.facts.get(text__contains="peanuts"), by=ANA)
    run(space)
    assert not cycle.sleep(space, now=timezone.now() + dt.timedelta(days=62)).held


@pytest.mark.parametrize("what", ["night", "merge", "model", "vectors"])
def test_what_may_make_answers_worse_has_them_asked_by_a_job(space, what):
    keep(space, "What is Marta allergic to?", found="peanuts")
    ProcrastinateJob.objects.all().delete()
    if what == "night":
        cycle.sleep(space, now=timezone.now())
    elif what == "merge":
        bulk.merge(space, [fact(space, "peanuts").pk, fact(space, "Loki").pk], by=ANA)
    elif what == "vectors":
        what = "model"
        embeddings.switch(embeddings.active())
        assert not ProcrastinateJob.objects.filter(task_name=jobs.GOLDEN).exists()
        EmbeddingModel.objects.filter(active=True).update(name="another")
        embeddings.switch(embed.current())
    else:
        spaces.configure(space, values={"token_budget": 300}, by=ANA)
    (job,) = ProcrastinateJob.objects.filter(task_name=jobs.GOLDEN)
    assert job.args == {"space_id": space.pk, "why": what}
    ask_golden(**job.args)
    assert GoldenRun.objects.get(space=space).why == what


def test_a_space_without_golden_questions_has_no_job(space):
    spaces.configure(space, values={"token_budget": 300}, by=ANA)
    assert not ProcrastinateJob.objects.filter(task_name=jobs.GOLDEN).exists()


def test_an_erased_memory_is_not_missed_and_its_words_are_gone(space):
    row = keep(space, "What is Marta allergic to?", found="peanuts")
    other = keep(space, "What is the dog called?", found="Loki")
    erasure.purge(fact(space, "peanuts"), by=ANA)
    assert run(space).red == 0
    row.refresh_from_db()
    assert row.status == GoldenQuestion.Status.RETIRED
    assert "peanuts" not in str(row.found)
    assert not history.events_of(GoldenQuestion).filter(found__icontains="peanuts").exists()
    other.refresh_from_db()
    assert other.status == GoldenQuestion.Status.ACTIVE


def test_keeping_is_undone_and_retiring_too(space):
    done = golden.keep(space, question="Who?", found=[{"quote": "Marta"}], by=ANA)
    history.undo_context(done.change_id, by=ANA)
    done.row.refresh_from_db()
    assert done.row.status == "retired"
    assert golden.retire(done.row, by=ANA).outcome == "unchanged"


def test_a_question_needs_words_and_something_to_hold_it_to(space):
    with pytest.raises(golden.Invalid):
        golden.keep(space, question="Where?", by=ANA)
    with pytest.raises(PersonNeeded):
        golden.keep(space, question="Where?", unsaid=["x"], by="night")


def test_a_receipt_offers_what_its_reply_used(space):
    receipt = make_receipt(space, "What is Marta allergic to?", fact=fact(space, "peanuts"))
    (only,) = golden.from_receipt(receipt)
    assert only == ({"fact": fact(space, "peanuts").pk, "quote": TEXTS[0]}, True)


def test_a_question_of_a_chat_does_not_see_other_chats(space):
    chat, other = make_chat(space), make_chat(space)
    facts.remember(space, text="Adrian's boat is called Brisa", by=ANA, chat=other)
    row = keep(space, "What is Adrian's boat called?", unsaid=["Brisa"], chat=chat)
    assert golden.check(row, now=timezone.now()).state == "green"


def asked_before(space, *questions):
    for question in questions:
        recall(space, question)


def propose(space, kind, *rows, **after):
    return proposals.propose(
        space,
        kind,
        key=proposals.key(kind, *after.values()),
        title="try it",
        rows=rows,
        after=after,
    )


QUESTIONS = ("What is Marta allergic to?", "What is Marta's dog called?", "Where does Adrian live?")


@pytest.mark.parametrize("kind", ["add", "retire", "revise", "merge"])
def test_what_a_proposal_is_said_to_change_is_what_it_changes(space, kind):
    asked_before(space, *QUESTIONS)
    peanuts, loki = fact(space, "peanuts"), fact(space, "Loki")
    given = {
        "add": ([], {"text": "Marta is allergic to cats", "subject": "Marta"}),
        "retire": ([peanuts], {}),
        "revise": ([loki], {"text": "Marta's dog is called Thor"}),
        "merge": ([peanuts, loki], {"keep": loki.pk, "text": loki.text}),
    }
    rows, after = given[kind]
    proposal = propose(space, kind, *rows, **after)
    now, receipts = timezone.now(), replay.past(space)
    was = replay.answers(space, receipts, now=now)
    predicted = proposals.impact(proposal, now=now)
    assert replay.answers(space, receipts, now=now) == was
    proposal.refresh_from_db()
    assert proposal.status == "pending"
    member = make_member(space=space)
    proposals.approve(proposal, member=member, digest=proposal.digest)
    embeddings.backfill(space=space)
    became = replay.answers(space, receipts, now=now)
    changed = {pk: (was[pk], became[pk]) for pk in was if was[pk] != became[pk]}
    assert {one.receipt.pk: (one.before, one.after) for one in predicted.changed} == changed
    assert predicted.asked == len(QUESTIONS)
    assert changed


def test_memories_that_only_change_places_do_not_change_an_answer(space, monkeypatch):
    recall(space, "What is Marta allergic to?")
    proposal = propose(space, "add", text="Marta is allergic to walnuts as well")
    orders = cycled([["nuts", "dog"], ["dog", "nuts"]])
    monkeypatch.setattr(replay, "_texts", lambda _result: next(orders))
    assert proposals.impact(proposal).changed == []
    orders = cycled([["nuts", "dog"], ["dog"]])
    assert [one.gone for one in proposals.impact(proposal).changed] == [["nuts"]]


def test_what_was_asked_is_no_memory_that_its_own_answer_lacked(space):
    chat = make_chat(space)
    asked = make_message(chat, text="Is Ana allergic to peanuts or to walnuts?", author="Ana")
    receipt = recall(space, asked.text, chat=chat, message=asked).receipt
    told = replay.answers(space, [receipt], now=timezone.now())[receipt.pk]
    assert asked.text not in told
    assert told


def test_a_proposal_that_cannot_be_applied_says_why_and_changes_nothing(space):
    proposal = propose(space, "revise", fact(space, "Loki"), text="Marta's dog is called Thor")
    facts.revise(fact(space, "Loki"), by=ANA, text="Marta's dog is called Lola")
    with pytest.raises(TargetChanged):
        proposals.impact(proposal)
    assert fact(space, "Lola").status == "active"


def test_a_memory_without_which_the_answer_is_another_is_decisive_and_the_others_are_not(space):
    recall(space, "What is Marta allergic to?")
    answer, weights = golden.weigh(space.recalls.get(), now=timezone.now())
    assert "peanuts" in answer
    assert [one.text for one in weights if one.is_decisive] == ["Marta is allergic to peanuts"]
    assert all("peanuts" not in one.without for one in weights if one.is_decisive)


def answered(space, question, **given):
    """A receipt of a reply, as a turn leaves it."""
    receipt = recall(space, question, chat=None).receipt
    reply = make_message(make_chat(space), role="assistant", text="So it is.", **given)
    Recall.objects.filter(pk=receipt.pk).update(reply=reply)
    return receipt, reply


def weights(space):
    return {one.text: [getattr(one, name) for name in WEIGHTS] for one in space.facts.all()}


def test_what_a_fact_was_to_past_answers_is_counted_once(space):
    answered(space, "What is Marta allergic to?")
    assert golden.weigh_past(space, now=timezone.now()) == 1
    counted = weights(space)
    assert counted["Marta is allergic to peanuts"] == [1, 0, 0, 0]
    assert sum(n for row in counted.values() for n in row[:2]) == 1
    assert golden.weigh_past(space, now=timezone.now()) == 0
    assert weights(space) == counted


@pytest.mark.parametrize("how", ["contradicted", "poor"])
def test_what_made_an_answer_wrong_is_counted_as_harmful(space, how):
    receipt, reply = answered(space, "What is Marta allergic to?")
    if how == "poor":
        SelfCheck.objects.create(space=space, reply=reply, quality="poor", score=0.1)
    else:
        receipt.items.filter(fact=fact(space, "peanuts")).update(mark="contradicted")
    golden.weigh_past(space, now=timezone.now())
    assert weights(space)["Marta is allergic to peanuts"] == [0, 0, 0, 1]


def test_only_what_no_answer_and_no_golden_question_needs_is_unneeded_with_the_proof(space):
    recall(space, "What is Marta allergic to?")
    keep(space, "What is Marta's dog called?", found="Loki")
    found, proof = golden.unneeded(space, list(space.facts.all()), now=timezone.now())
    assert {one.text for one in found} == {
        "The alarm of the studio is armed at 22:00",
        "Adrian lives in Oaxaca",
    }
    assert (proof.answers, proof.questions) == (1, 1)
    assert space.facts.live().count() == len(TEXTS)


def test_what_decided_an_answer_long_ago_is_needed_although_the_receipt_is_gone(space):
    space.facts.filter(text__contains="Oaxaca").update(decisive=1)
    found, _proof = golden.unneeded(space, list(space.facts.all()), now=timezone.now())
    assert "Adrian lives in Oaxaca" not in [one.text for one in found]


def test_the_night_proposes_to_forget_only_what_it_has_proven(space):
    then = timezone.now() - dt.timedelta(days=200)
    for n in range(30):
        make_fact(space, text=f"Shelf {n} holds {n} jars", subject="Cellar")
    space.facts.update(created_at=then, sticky=False)
    keep(space, "What is Marta allergic to?", found="peanuts")
    embeddings.backfill(space=space)
    cycle.sleep(space, now=timezone.now(), phases=(improvement.PHASE,))
    asked = Proposal.objects.get(space=space, kind="retire")
    targets = {one["id"] for one in asked.targets}
    assert targets
    assert fact(space, "peanuts").pk not in targets
    assert "No golden question would change without them" in shown(asked.rationale)


def test_where_no_answer_would_change_it_is_said_in_words(space):
    client = make_client(make_member(space=space).user, sudo=True)
    there = f"/s/home/facts/{fact(space, 'alarm').pk}/impact/"
    page = client.get(there).content.decode()
    assert "No past answer would change." in page
    assert "There is no past answer to ask again yet." in page
    asked_before(space, "What is Marta allergic to?")
    page = client.get(there).content.decode()
    assert "One was asked again, and came out the same." in page
    assert "0 of" not in page


def test_a_ruling_on_a_fact_and_an_import_say_which_answers_would_change(space):
    asked_before(space, *QUESTIONS)
    client = make_client(make_member(space=space).user, sudo=True)
    there = f"/s/home/facts/{fact(space, 'peanuts').pk}/impact/"
    assert "1 of 3 past answers would change" in client.get(there).content.decode()
    assert client.get(f"{there}?do=quiet").status_code == 200
    lines = [{"memory": "Marta is allergic to cats and dogs", "user_id": "Marta"}]
    parcel = make_parcel(space, json.dumps({"results": lines}).encode(), status="applied")
    there = f"/s/home/transfer/{parcel.pk}/impact/"
    assert "cannot be tried now" in client.get(there).content.decode()
    Parcel.objects.update(status="ready")
    page = client.get(there).content.decode()
    assert "of 3 past answers would change" in page
    assert "cats and dogs" in page
    assert not space.facts.filter(text__contains="cats").exists()
