from datetime import UTC, datetime, timedelta
from itertools import count

from memory.models import Fact
from sleep.agreement import compare_facts, judge_claims, shared_by_chats
from sleep.models import Claim

DAY = datetime(2026, 2, 1, tzinfo=UTC)
_n = count(1)


def said(text, episode=0, *, chat=None, subject="Ana", day=1, **given):
    n = next(_n)
    return Claim(
        pk=n, episode_id=episode or n, chat_id=chat, subject=subject, text=text, quote=text,
        said_at=DAY + timedelta(days=day), **given,
    )  # fmt: skip


def known(text, *, chat=None, subject="Ana", day=0, **given):
    speaker, at = given.pop("speaker", ""), DAY + timedelta(days=day)
    fact = Fact(pk=next(_n), chat_id=chat, subject=subject, text=text, last_seen_at=at, **given)
    fact.speaker = speaker
    return fact


def across(*facts):
    """(old, new, whether it is a contradiction) of the last fact beside the others."""
    found = compare_facts(facts, {facts[-1].pk})
    return [(one.old.text, one.new.text, bool(one.why)) for one in found]


ANA = {"said_by": "Ana", "speaker": "telegram:1"}
STRANGER = {"said_by": "Ana", "speaker": "telegram:9"}


def kinds(claims, facts=()):
    return [verdict.kind for verdict in judge_claims(claims, list(facts))]


def test_n14_one_episode_waits_two_propose_three_are_believed():
    for n, kind in ((1, "wait"), (2, "propose"), (3, "believe")):
        assert kinds([said("Ana drinks green tea") for _ in range(n)]) == [kind]


def test_one_episode_repeating_itself_is_still_one():
    assert kinds(
        [said("Ana drinks tea", 7), said("Ana drinks tea.", 7), said("ana drinks tea", 7)]
    ) == ["wait"]


def test_what_someone_curated_is_believed_at_once():
    assert kinds([said("Ana drinks tea", curated=True)]) == ["believe"]


def test_what_is_known_is_not_learned_again():
    fact = known("Ana drinks green tea")
    assert kinds([said("Ana drinks green tea")], [fact]) == ["known"]
    assert kinds([said("Ana drinks green tea") for _ in range(3)], [fact]) == ["reinforce"]


def test_n14_a_contradiction_of_a_fact_is_always_put_to_a_person():
    fact = known("Ana lives in Guadalajara")
    (verdict,) = judge_claims([said("Ana moved to Oaxaca") for _ in range(5)], [fact])
    assert (verdict.kind, verdict.fact) == ("supersede", fact)


def test_a_change_of_mind_across_languages_or_kinds_is_put_to_a_person():
    for old, new in (
        ("Package manager: npm", "Gestor de paquetes: bun"),
        ("Ana prefers to talk in English", "Ana prefiere hablar en español"),
        ("Ana doesn't like cats very much", "Ana got a cat"),
        ("Ana is allergic to peanuts", "Ana ya no es alérgica al maní"),
    ):
        (verdict,) = judge_claims([said(new)], [fact := known(old)])
        assert (verdict.kind, verdict.fact) == ("supersede", fact)


def test_an_older_saying_does_not_overturn_a_newer_fact():
    assert kinds([said("Ana lives in Oaxaca", day=1)], [known("Ana lives in Lima", day=9)]) == [
        "older"
    ]


def test_claims_that_contradict_each_other_are_never_believed():
    claims = [said("Ana likes coffee", day=1) for _ in range(3)]
    claims += [said("Ana does not like coffee", day=5) for _ in range(3)]
    older, newer = judge_claims(claims, [])
    assert (older.kind, newer.kind) == ("older", "contested")
    assert len(newer.against) == 3


def test_chats_do_not_add_up():
    claims = [said("Ana drinks tea", chat=1, **ANA), said("Ana drinks tea", chat=2, **ANA)]
    assert kinds(claims) == ["wait", "wait"]
    assert len(shared_by_chats(judge_claims(claims, []))) == 1


def test_a_borrowed_name_confirms_and_contradicts_nobody():
    claims = [said("Ana drinks tea", chat=1, **ANA), said("Ana drinks tea", chat=1, **STRANGER)]
    assert kinds(claims) == ["wait", "wait"]
    claims = [said("Ana drinks tea", chat=1, **ANA), said("Ana drinks tea", chat=2, **STRANGER)]
    assert shared_by_chats(judge_claims(claims, [])) == []
    home = known("Ana lives in Lima", chat=1, **ANA)
    assert kinds([said("Ana moved to Oaxaca", chat=1, **STRANGER)], [home]) == ["wait"]
    assert across(home, known("Ana lives in Quito", chat=1, day=3, **STRANGER)) == []


def test_one_person_is_heard_across_chats_and_others_are_not():
    for old, new, contradicts in (
        ("Ana lives in Lima", "Ana moved to Oaxaca", True),
        ("A Ana no le gustan los gatos", "Ana got a cat", True),
        ("Ana is allergic to peanuts", "Ana is allergic to peanuts", False),
    ):
        first = known(old, chat=1, **ANA)
        again = known(new, chat=2, day=3, **ANA)
        assert across(first, again) == [(old, new, contradicts)]
        other = known(new, chat=2, day=3, said_by="Bo", speaker="telegram:2", subject="Bo")
        assert across(first, other) == []


def test_in_one_chat_only_what_cannot_hold_together_is_told():
    port = known("The port of n8n is 5678", chat=1, subject="")
    newer = known("The port of n8n is 5679", chat=1, subject="", day=3)
    assert across(port, newer) == [(port.text, newer.text, True)]
    assert across(port, known("The port of n8n is 5678", chat=1, subject="", day=3)) == []


def test_a_fact_of_another_chat_is_not_known_here():
    assert kinds([said("Ana drinks tea", chat=1)], [known("Ana drinks tea", chat=2)]) == ["wait"]


def test_the_wording_most_share_is_the_one_proposed():
    claims = [
        said("Ana drinks green tea in the mornings"),
        said("Ana drinks green tea in the morning"),
        said("Ana drinks green tea in the morning"),
    ]
    (verdict,) = judge_claims(claims, [])
    assert verdict.best.text == "Ana drinks green tea in the morning"
