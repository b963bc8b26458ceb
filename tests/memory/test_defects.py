"""What once went wrong on real conversations and on the user's own files stays mended.

The numbers are those of the two reviews that found it: 1 to 14 on learning, A to K on the mission.
"""

from datetime import timedelta

import pytest

from memory import transfer
from memory.extraction.changes_of_mind import find_superseded
from memory.extraction.grounding import is_grounded
from memory.facts import service as facts
from memory.guards import inspect as guards
from memory.identity import core
from memory.models import Episode, Fact, Message, Rule
from sleep import cycle, offer_proposals, proposals
from sleep.models import Proposal
from tests.bot.conftest import NOON, fake, space  # noqa: F401
from tests.conversations.test_offline import talk  # noqa: F401
from tests.factories import make_chat, make_member, make_user

pytestmark = pytest.mark.django_db


def believed():
    return [fact.text for fact in Fact.objects.live().order_by("pk")]


# 1


@pytest.mark.parametrize(
    ("said", "asked", "word"),
    [
        ("I'm pregnant with twins.", "Is Ana pregnant?", "twins"),
        ("Estoy embarazada de gemelos", "¿Ana está embarazada?", "gemelos"),
    ],
)
def test_01_what_ana_said_in_private_is_not_told_to_bo_in_the_group(talk, space, said, asked, word):  # noqa: F811
    group = make_chat(space, channel="fake", external_id="group")
    talk(said, author="Ana")
    assert word not in talk(asked, author="Bo", where=group)
    assert not Fact.objects.in_scope(group).filter(text__icontains=word).exists()


# 2


@pytest.mark.parametrize(
    "own",
    [
        "De acuerdo. Queda en nuestra conversación.",
        "Noted: Your mom is a hairdresser.",
        "I do not remember anything about that. Tell me, and I will.",
        "No recuerdo nada sobre eso. Cuéntamelo y lo recordaré.",
    ],
)
def test_02_no_sentence_of_keno_is_taken_for_an_attack(own):
    assert guards.inspect(own).flags == ()


def test_02_a_talk_of_clean_messages_is_a_clean_episode(talk):  # noqa: F811
    for said in ("Mi mamá es peluquera", "¿Dónde vive mi hermana?", "gracias", "hola"):
        talk(said)
    assert [episode.flags for episode in Episode.objects.all() if episode.flags] == []


# 3, 4


@pytest.mark.parametrize(
    "said",
    [
        "Sorry for the confusion",
        "Wait, let me show you",
        "Actually, never mind",
        "No, thanks a lot",
        "Remember the details?",
        "Perdón por la confusión",
        "Espera, te lo enseño",
    ],
)
def test_03_an_opening_word_makes_no_fact(talk, said):  # noqa: F811
    talk(said)
    assert believed() == []


def test_04_we_decided_makes_no_fact_of_the_whole_message(talk):  # noqa: F811
    talk(
        "The weather was awful today. We decided to skip lunch. Did you see the game? What a mess!"
    )
    assert not any("weather" in text or "mess" in text or "game" in text for text in believed())


# 5


@pytest.mark.parametrize(
    ("before", "said", "word"),
    [
        ("trabajo en Telmex", "Ya no trabajo en Telmex", "Telmex"),
        ("I'm allergic to peanuts", "I'm not allergic to peanuts anymore", "peanuts"),
        ("I live in Madrid", "I don't live in Madrid anymore", "Madrid"),
        ("fumo", "dejé de fumar", "fuma "),
    ],
)
def test_05_what_is_no_longer_true_ends_the_fact_and_never_becomes_a_positive_one(
    talk,  # noqa: F811
    before,
    said,
    word,
):
    talk(before, author="Marta")
    talk(said, author="Marta")
    positive = [text for text in believed() if word in text and not _denied(text)]
    assert positive == []


def _denied(text):
    words = f" {text.casefold()} "
    return any(no in words for no in (" no ", " not ", "n't ", "anymore", " dejó ", "stopped"))


# 6


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("I prefer tea over coffee", "preference"),
        ("soy enfermera", "profile"),
        ("mi hermana vive en Quito", "relationship"),
    ],
)
def test_06_a_fact_keeps_its_category_and_how_sure_it_is(talk, said, category):  # noqa: F811
    talk(said)
    (fact,) = Fact.objects.live()
    assert (fact.category, fact.confidence != 0.8) == (category, True)


# 7


@pytest.mark.parametrize(
    "said",
    [
        "I recently surprisingly got a dog called Rex",
        "I used to be a teacher in Leeds",
        "mi hermano vive en Quito",
        "mi mamá es peluquera",
        "I stopped going after I started my training",
    ],
)
def test_07_a_retelling_is_right_or_the_person_s_own_words(talk, said):  # noqa: F811
    talk(said, author="Vanessa")
    wrong = ("surprisinglies", "uses to", "La hermano", "El mamá", " i started")
    assert not [text for text in believed() if any(bad in text for bad in wrong)]


# 8


@pytest.mark.parametrize(
    "said",
    ["I love the art", "I like going there", "I'm planning to make it again", "me encanta eso"],
)
def test_08_what_only_points_at_something_is_not_a_fact(talk, said):  # noqa: F811
    talk(said)
    assert believed() == []


# 9


@pytest.mark.parametrize("said", ["My dog is called Rex", "soy alérgica a las nueces"])
def test_09_a_message_is_learned_from_once(talk, said):  # noqa: F811
    talk(said)
    assert [fact.times_seen for fact in Fact.objects.all()] == [1]


# 10


SESSION = [
    "Hey Keno, the n8n webhook gives me a 401",
    "I send the bearer token in the header",
    "Yeah, Andrew! told me the webhook reads the query instead",
    "the webhook works with ?token= in the query",
    "great, the 401 is gone",
]


def test_10_one_session_is_one_to_three_episodes_named_by_what_was_said(talk):  # noqa: F811
    for said in SESSION:
        talk(said, author="Adrian")
    rows = list(Episode.objects.all())
    assert 1 <= len(rows) <= 3
    own = ("Noted", "All right", "I do not remember", "Tell me")
    assert not [row.title for row in rows if row.title.startswith(own)]
    tags = {tag for row in rows for tag in row.tags}
    assert not tags & {"keno", "the", "yeah", "hey", "andrew", "with"}


# 11


def test_11_nights_of_small_talk_propose_nothing(talk, space):  # noqa: F811
    for said in (
        "My umbrella broke",
        "what a day",
        "do you know my name?",
        "ok thanks",
        "what time?",
    ):
        talk(said)
    for day in range(1, 4):
        cycle.sleep(space, now=NOON + timedelta(days=day))
    assert [row.title for row in Proposal.objects.filter(status="pending")] == []


def test_11_a_change_of_mind_is_found(talk):  # noqa: F811
    talk("I don't like cats very much", author="Ana")
    talk("I got a cat, she is lovely", author="Ana")
    assert not any("like cats" in text for text in believed()) or Proposal.objects.exists()


# 13


def test_13_each_half_of_a_sentence_is_a_fact_of_its_own_and_is_corrected_alone(talk):  # noqa: F811
    talk("My birthday is March 14 and my sister Elena's is July 2nd", author="Ana")
    assert any("July 2" in text for text in believed())
    talk("No, my birthday is March 15", author="Ana")
    assert any("March 15" in text for text in believed())
    assert any("July 2" in text for text in believed())
    assert not any("March 14" in text for text in believed())


# 14: the answerer has its own tests (tests/llm/test_offline.py).


# A: test_limits.py has 45 phrasings; B, K: the whole way of a file.


@pytest.mark.parametrize(
    "limit", ["Never spend money without approval", "no borres archivos sin preguntar"]
)
def test_a_a_person_s_own_limit_is_kept_and_not_an_attack(space, limit):  # noqa: F811
    done = facts.remember(space, text=limit, by="tag")
    assert (done.outcome, done.row.flags) == ("new", [])


@pytest.mark.parametrize(
    "limit", ["Never spend money without approval", "No borres archivos sin preguntar"]
)
def test_a_a_limit_said_in_a_chat_waits_as_a_rule_and_becomes_one_when_a_person_agrees(
    talk,  # noqa: F811
    space,  # noqa: F811
    limit,
):
    talk(limit, author="Ana")
    assert (believed(), Rule.objects.count()) == ([], 0)
    offer_proposals.propose_offers(space, now=NOON + timedelta(days=1))
    row = Proposal.objects.get(kind="rule")
    member = make_member(space=space, user=make_user("ana"))
    proposals.approve(row, member=member, digest=row.digest)
    assert [rule.instruction for rule in Rule.objects.filter(status="active")] == [limit]


CORE = "# Core\n\n## Who I am\n- Mika: Bea's helper\n\n## Values\n1. Calm > haste\n"
PREFERENCES = (
    "# Learned\n\n## Limits\n- Never buy things without asking\n- No borres fotos sin permiso\n"
)
LESSON = (
    "# Errors\n\n## 2026-01-05: Guessed the port\n**Error**: Took 8080 without looking\n"
    "**Result**: It was 9000, an hour lost\n**Lesson**: Always read the compose file first\n"
)


def test_b_a_kenobot_folder_keeps_its_whole_identity(space, tmp_path):  # noqa: F811
    for name, words in {
        "identity/core.md": CORE,
        "identity/preferences.md": PREFERENCES,
        "semantic/errors.md": LESSON,
        "MEMORY.md": "# Memory\n- Communication style: Direct, no filler phrases\n",
        "chats/telegram-7/context.md": "In this chat we talk about the garden",
        "chats/telegram-7/summary.md": "# Summary\n\nBea fixed the pump.\n",
    }.items():
        file = tmp_path / "home" / "memory" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(words)
    report = transfer.run(space, tmp_path / "home", by="person:bea")
    assert report.total("quarantined") == 0
    assert core.read(space) == CORE.strip()
    assert space.preferences.filter(section="Limits", status="active").count() == 2
    assert Fact.objects.live().filter(kind="lesson", text__contains="compose file").exists()


def test_b_an_identity_from_before_the_three_layers_is_taken_when_there_is_no_other(
    space,  # noqa: F811
    tmp_path,
):
    file = tmp_path / "home" / "identities" / "kenobot.md"
    file.parent.mkdir(parents=True)
    file.write_text(CORE)
    (tmp_path / "home" / "memory").mkdir()
    (tmp_path / "home" / "memory" / "MEMORY.md").write_text("- Likes tea\n")
    transfer.run(space, tmp_path / "home", by="person:bea")
    assert core.read(space) == CORE.strip()


# D: test_grounding.py has fifty of each.


def test_d_the_first_example_of_the_seed_is_believed():
    said = "I prefer concise answers, no long explanations."
    assert is_grounded("User preference: prefers concise responses", said)


# I


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Package manager: npm", "Package manager: Bun"),
        ("Favorite editor: VS Code", "Favorite editor: Zed"),
        ("Timezone: America/Mexico_City", "Timezone: Europe/Madrid"),
        ("Adrian prefers Spanish", "Adrian prefers English"),
        ("use npm install", "use bun install"),
        ("Adrian uses npm", "Adrian uses Bun instead of npm"),
        ("Birthday: March 15", "Birthday: March 16"),
        ("Adrian lives in Lima", "Adrian vive en Quito"),
        ("Adrian doesn't like cats", "Adrian got a cat"),
        ("VPS: Hetzner", "VPS: Contabo"),
        ("Language: Spanish", "Language: English"),
        ("Adrian trabaja en Telmex", "Adrian works at Acme"),
    ],
)
def test_i_a_new_value_of_the_same_thing_is_a_change_of_mind(space, old, new):  # noqa: F811
    facts.remember(space, text=old, subject="Adrian", by="person:ana")
    found = find_superseded(space, None, new, "Adrian", whole_space=True)
    assert [one.fact.text for one in found] == [old]


# K: test_previews.py holds previews to it.


def test_k_a_secret_in_a_message_is_stored_nowhere(talk):  # noqa: F811
    secret = "hunter2" + "-Sunflower-" + "99"
    talk(f"my wifi password is {secret}")
    kept = [*Message.objects.values_list("text", flat=True), *believed()]
    kept += [f"{row.title} {row.body}" for row in Episode.objects.all()]
    assert not any(secret in one for one in kept)
