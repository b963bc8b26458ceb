from datetime import UTC, datetime, timedelta
from itertools import count

from sleep.agreement import BelievedFact, ClaimView, judge_claims, shared_by_chats

DAY = datetime(2026, 2, 1, tzinfo=UTC)
_n = count(1)


def said(text, episode=0, *, chat=None, subject="Ana", day=1, **given):
    n = next(_n)
    return ClaimView(n, episode or n, chat, subject, text, text, DAY + timedelta(days=day), **given)


def known(text, *, chat=None, subject="Ana", day=0):
    return BelievedFact(next(_n), chat, subject, text, DAY + timedelta(days=day))


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
    claims = [said("Ana drinks tea", chat=1), said("Ana drinks tea", chat=2)]
    assert kinds(claims) == ["wait", "wait"]
    assert len(shared_by_chats(judge_claims(claims, []))) == 1


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
