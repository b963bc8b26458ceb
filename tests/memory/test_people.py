"""Who facts speak of: found when they are written, never merged but by a person."""

import pytest

from memory import people
from memory.facts import service as facts
from memory.history import changes as history
from memory.models import Entity, Fact, Mention
from memory.text.kinship import relatives_in
from sleep import proposals
from sleep.models import Proposal
from sleep.phases.consolidation import ask_about_people
from tests.factories import (
    make_chat,
    make_chat_link,
    make_fact,
    make_member,
    make_message,
    make_space,
)

pytestmark = pytest.mark.django_db
BY = "person:ana"


def tell(message, text, subject="", **given):
    given = {"subject": subject or message.author, "said_by": message.author} | given
    done = facts.remember(
        message.space, text=text, by="extraction", chat=message.chat, message=message, **given
    )
    return done.row


def about(fact: Fact) -> Entity | None:
    return Mention.objects.select_related("entity").get(fact=fact, role="about").entity


def said(chat, text="hello", author="Ana", author_id="7", **given):
    return make_message(chat, text, author=author, author_id=author_id, **given)


@pytest.fixture
def chat():
    return make_chat()


def test_a_speaker_is_one_person_in_every_chat_of_the_space(chat):
    other = make_chat(chat.space)
    first = about(tell(said(chat), "Ana lives in Soria"))
    second = about(tell(said(other, author="Ana M."), "Ana M. keeps bees"))
    assert first == second
    assert first.accounts == ["telegram:7"]
    second.refresh_from_db()
    assert second.aliases == ["Ana M."]


def test_linked_accounts_are_one_person(chat):
    member = make_member(space=chat.space)
    make_chat_link(member, channel="telegram", author_id="7")
    web = make_chat(chat.space, channel="web")
    first = about(tell(said(chat), "Ana lives in Soria"))
    second = about(tell(said(web, author_id=str(member.user.pk)), "Ana keeps bees"))
    assert first == second
    assert sorted(first.accounts) == sorted(["telegram:7", f"web:{member.user.pk}"])


def test_a_name_in_two_chats_is_two_people_and_a_question(chat):
    other = make_chat(chat.space)
    here = about(tell(said(chat), "Marc plays the cello", "Marc"))
    there = about(tell(said(other, author="Bo", author_id="8"), "Marc is a plumber", "Marc"))
    assert here != there
    assert list(people.alike(chat.space)) == [(here, there)]
    assert about(tell(said(chat), "Marc is tall", "Marc")) == here


def test_two_who_talk_under_one_name_are_never_proposed(chat):
    tell(said(chat, author_id="7"), "Ana lives in Soria")
    tell(said(chat, author_id="8"), "Ana lives in Lugo")
    assert Entity.objects.count() == 2
    assert list(people.alike(chat.space)) == []


def test_a_name_that_may_mean_two_here_means_nobody(chat):
    tell(said(chat, author_id="7"), "Ana lives in Soria")
    tell(said(chat, author_id="8"), "Ana lives in Lugo")
    fact = tell(said(chat, author="Bo", author_id="9"), "Ana hates snow", "Ana")
    assert about(fact) is None


def test_who_takes_part_in_a_chat_is_meant_by_their_name_there(chat):
    lucia = people.speaker(said(chat, author="Lucía", author_id="9"))
    assert about(tell(said(chat), "A Lucía le encanta el cine", "Lucía")) == lucia
    elsewhere = make_chat(chat.space)
    assert about(tell(said(elsewhere), "Lucía sings", "Lucía")) != lucia


def test_kin_are_known_by_whose_they_are_in_both_languages(chat):
    message = said(chat)
    first = about(tell(message, "La suegra de Ana vive en Lima", "la suegra de Ana"))
    named = about(tell(message, "Ana's mother-in-law Rosario cooks well", "Rosario"))
    assert (first.relation, first.owner.name) == ("mother-in-law", "Ana")
    assert first != named
    assert named.relation == "mother-in-law"
    assert list(people.alike(chat.space)) == [(first, named)]


@pytest.mark.parametrize(
    ("text", "subject", "name", "relation"),
    [
        ("Ana's boss is Irene", "Ana's boss", "Irene", "boss"),
        ("Irene is Ana's boss", "Irene", "Irene", "boss"),
        ("La jefa de Ana es Nerea", "la jefa de Ana", "Nerea", "boss"),
        ("Nerea es la jefa de Ana", "Nerea", "Nerea", "boss"),
        ("Ana's dentist is Paul Vega", "Ana's dentist", "Paul Vega", "dentist"),
        ("Pablo es mi dentista", "Pablo", "Pablo", "dentist"),
        ("Pablo es dentista de Ana", "Pablo", "Pablo", "dentist"),
        ("Ana's best friend is Lola", "Ana's friend", "Lola", "friend"),
        ("El vecino de Ana se llama Julián", "Julián", "Julián", "neighbour"),
        ("El médico de Ana es el doctor Ruiz", "el médico de Ana", "Ruiz", "doctor"),
        ("La profesora de inglés de Ana es Kate", "la profesora de Ana", "Kate", "teacher"),
        ("La compañera de trabajo de Ana, Eva, canta", "la compañera de Ana", "Eva", "colleague"),
        ("Ana's boss is Irish", "Ana's boss", "Ana's boss", "boss"),
        ("La jefa de Ana es de Soria", "la jefa de Ana", "la jefa de Ana", "boss"),
    ],
)
def test_who_is_named_by_what_they_are_to_somebody(chat, text, subject, name, relation):
    found = about(tell(said(chat), text, subject))
    assert (found.name, found.relation, found.owner.name) == (name, relation, "Ana")


def test_a_boss_without_a_name_gets_it_when_it_is_told(chat):
    message = said(chat)
    boss = about(tell(message, "Ana's boss lives in Lugo", "Ana's boss"))
    assert about(tell(message, "Ana's boss is Irene", "Ana's boss")) == boss
    boss.refresh_from_db()
    assert boss.name == "Irene"


@pytest.mark.parametrize(
    ("text", "subject", "name"),
    [
        ("Here's Ana's new address", "Here", "Ana"),
        ("There's a dog in the garden", "There", "Ana"),
        ("Aquí vive la hermana de Ana, Rosa", "Aquí", "Rosa"),
        ("Eso es de Ana", "Eso", "Ana"),
    ],
)
def test_a_word_that_only_points_is_never_a_person(chat, text, subject, name):
    assert about(tell(said(chat), text, subject)).name == name
    assert not Entity.objects.filter(name__in=[subject, "There", "Here"]).exists()


def test_an_only_one_of_a_kind_gets_its_name(chat):
    message = said(chat)
    dog = about(tell(message, "El perro de Ana odia los cohetes", "el perro de Ana"))
    again = about(tell(message, "Ana's dog is called Canelo", "Canelo"))
    assert dog == again
    assert (again.name, again.kind, again.aliases) == ("Canelo", "pet", ["el perro de Ana"])
    assert about(tell(message, "Ana's dog eats twice a day", "Ana's dog")) == again


def test_nobody_is_asked_whether_somebody_is_their_own_relative(chat):
    message = said(chat)
    tell(message, "Ana keeps bees")
    tell(message, "Ana's grandmother lives in Cuetzalan", "Ana's grandmother")
    assert list(people.alike(chat.space)) == []


def test_two_sisters_are_two(chat):
    message = said(chat)
    one = about(tell(message, "Ana's sister Elena is a pilot", "Elena"))
    two = about(tell(message, "Ana's sister Carla is a nurse", "Carla"))
    assert one != two
    assert list(people.alike(chat.space)) == []


def test_others_who_are_named_are_linked_too(chat):
    message = said(chat)
    tell(message, "Ana's dog is called Rex", "Rex")
    fact = tell(message, "Ana walks Rex at night")
    named = Mention.objects.filter(fact=fact, role="named").values_list("entity__name", flat=True)
    assert list(named) == ["Rex"]


def test_lore_is_a_kind_and_not_a_name(chat):
    fact = tell(said(chat), "The port of n8n is 5678", Fact.LORE, kind="lore")
    assert about(fact) is None
    assert not Entity.objects.filter(name__icontains="lore").exists()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Caddy renews the certificate by itself", "thing"),
        ("El puerto de Caddy es el 443", "thing"),
        ("Caddy lives next door", "person"),
        ("Caddy looks after the server", "person"),
    ],
)
def test_a_thing_is_not_a_person(chat, text, kind):
    assert about(tell(said(chat), text, "Caddy")).kind == kind


def test_what_was_taken_for_a_person_becomes_a_thing_and_a_person_never_does(chat):
    caddy = about(tell(said(chat), "Caddy is new", "Caddy"))
    assert caddy.kind == "person"
    tell(said(chat), "Caddy renews the certificate", "Caddy")
    ana = about(tell(said(chat), "Ana renews the certificate"))
    caddy.refresh_from_db()
    assert (caddy.kind, ana.kind) == ("thing", "person")


def test_what_waits_in_quarantine_is_about_nobody(chat):
    fact = tell(said(chat), "Mallory is the owner", "Mallory", suspicions=["odd"])
    assert not Mention.objects.filter(fact=fact).exists()
    facts.release(fact, by=BY)
    people.fill(chat.space)
    assert about(fact).name == "Mallory"


def test_merging_and_parting_are_undone_and_lose_nothing(chat):
    other = make_chat(chat.space)
    here = about(tell(said(chat), "Marc plays the cello", "Marc"))
    there = about(tell(said(other), "Marc is a plumber", "Marc"))
    done = people.merge(there, into=here, by=BY)
    assert people.facts_of(people.group(here)).count() == 2
    assert list(people.alike(chat.space)) == []
    history.undo_context(done.change_id, by=BY)
    there.refresh_from_db()
    assert there.merged_into is None
    assert people.facts_of(people.group(here)).count() == 1
    people.merge(there, into=here, by=BY)
    parted = people.part(there, by=BY)
    assert people.facts_of(people.group(there)).count() == 1
    history.undo_context(parted.change_id, by=BY)
    there.refresh_from_db()
    assert there.merged_into == here


def test_only_a_person_merges_and_nobody_with_another_space(chat):
    one, two = about(tell(said(chat), "Ana sings")), make_space()
    other = Entity.objects.create(space=two, name="Ana")
    with pytest.raises(people.CannotMerge):
        people.merge(one, into=other, by=BY)
    with pytest.raises(people.CannotMerge):
        people.merge(one, into=one, by=BY)
    with pytest.raises(Exception, match="Only a person"):
        people.merge(one, into=other, by="night")


def units(space, word):
    from kenoweb.facts.listing import UNINDEXED
    from kenoweb.ui.text_search import filter_by_text

    rows = Fact.objects.filter(space=space)
    return set(filter_by_text(rows, word, space=space, kind="fact", unindexed=UNINDEXED))


def test_a_fact_is_found_by_every_name_of_whom_it_is_about(chat):
    fact = tell(said(chat), "The cluster runs on three nodes", "Kubernetes")
    entity = about(fact)
    assert units(chat.space, "k8s") == set()
    done = people.revise(entity, by=BY, name="Kubernetes", aliases=["k8s"], kind="thing")
    assert units(chat.space, "k8s") == {fact}
    history.undo_context(done.change_id, by=BY)
    assert units(chat.space, "k8s") == set()


def test_the_names_of_one_chat_are_not_in_the_words_of_another(chat):
    other = make_chat(chat.space)
    here = about(tell(said(chat), "Marc plays the cello", "Marc"))
    fact = tell(said(other), "Marc is a plumber", "Marc")
    people.revise(here, by=BY, name="Marc", aliases=["Bunny"], kind="person")
    people.merge(about(fact), into=here, by=BY)
    assert fact not in units(chat.space, "Bunny")


def test_another_subject_or_chat_is_linked_anew(chat):
    fact = tell(said(chat), "Likes tea", "Ana")
    facts.revise(fact, by=BY, subject="Bo")
    assert about(fact).name == "Bo"
    assert about(fact).chat == chat
    facts.promote(fact, by=BY)
    assert about(fact).chat is None


def test_what_was_there_before_is_filled(chat):
    fact = make_fact(chat.space, "Ana lives in Soria", chat=chat)
    gone = make_fact(chat.space, "Ana lived in Lugo", chat=chat, status="superseded")
    assert people.fill(chat.space) == 2
    assert about(fact).name == "Ana"
    assert about(gone) == about(fact)
    assert people.fill(chat.space) == 0


def test_undoing_what_was_remembered_leaves_nobody_with_a_fact(chat):
    message = said(chat)
    done = facts.remember(
        chat.space, text="Marc sings", subject="Marc", by="extraction", chat=chat, message=message
    )
    history.undo_context(done.change_id, by=BY)
    assert not people.facts_of(people.group(about(done.row))).live().exists()


def test_a_night_asks_whether_a_name_in_two_chats_is_one_person(chat):
    other = make_chat(chat.space)
    here = about(tell(said(chat), "Marc plays the cello", "Marc"))
    there = about(tell(said(other), "Marc is a plumber", "Marc"))
    member = make_member(space=chat.space)
    assert ask_about_people(chat.space) == 1
    assert ask_about_people(chat.space) == 0
    proposal = Proposal.objects.get(kind="same")
    proposals.approve(proposal, member=member, digest=proposal.digest)
    there.refresh_from_db()
    assert there.merged_into == here
    proposals.undo(proposal, member=member)
    there.refresh_from_db()
    assert there.merged_into is None


def test_a_pair_that_was_declined_is_not_asked_again(chat):
    tell(said(chat), "Marc plays the cello", "Marc")
    tell(said(make_chat(chat.space)), "Marc is a plumber", "Marc")
    ask_about_people(chat.space)
    proposal = Proposal.objects.get(kind="same")
    member = make_member(space=chat.space)
    proposals.reject(proposal, member=member, digest=proposal.digest)
    assert ask_about_people(chat.space) == 0
    assert Entity.objects.filter(merged_into__isnull=False).count() == 0


def test_purging_the_last_fact_about_somebody_leaves_no_name_behind(chat):
    message = said(chat)
    first = tell(message, "Marc plays the cello", "Marc")
    last = tell(message, "Marc is tall", "Marc")
    facts.purge(first, by=BY)
    assert Entity.objects.filter(name="Marc").exists()
    facts.purge(last, by=BY)
    assert not Entity.objects.filter(name="Marc").exists()
    assert not history.events_of(Entity).filter(name="Marc").exists()
    assert Entity.objects.filter(name="Ana").exists()


def test_a_title_is_a_part_of_the_name():
    names = [one.name for one in relatives_in("Adrian's dentist is Dr. Ochoa")]
    assert names == ["Dr. Ochoa"]
